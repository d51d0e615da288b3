"""What was read last, kept for as long as the read model stays as it was."""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

_Read = TypeVar("_Read")


class KeptReads(Generic[_Read]):
    """The last few reads of one state of the read model; safe to share between threads.

    A read of thousands of relations is spent on building them. An agent asks for the same context step after step, and
    between two writes the answer is the same.
    """

    def __init__(self, size: int) -> None:
        self._size = size
        # Replaced as a whole and never changed, so that no lock is needed.
        self._kept: tuple[str | None, dict[Hashable, _Read]] = None, {}

    def get(self, state: str | None, key: Hashable, read: Callable[[], _Read]) -> _Read:
        """Return what was read under a key in this state, or read it; a state that is None keeps nothing."""
        if state is None:
            return read()
        kept_state, kept = self._kept
        if kept_state != state:
            # What may have been erased since is not held any longer.
            self._kept, kept = (None, {}), {}
        if key in kept:
            return kept[key]
        found = read()
        newest = [*kept.items(), (key, found)][-self._size :]
        self._kept = state, dict(newest)
        return found
