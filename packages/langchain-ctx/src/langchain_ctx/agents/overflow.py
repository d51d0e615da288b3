"""What a model turned out to read: a limit that was learned from a refusal holds for the thread and that model."""

from __future__ import annotations

from collections import OrderedDict
from threading import Lock
from typing import TYPE_CHECKING, Any, Final

from langchain_core.messages import AIMessage

from langchain_ctx.originals import note_of, with_note

if TYPE_CHECKING:
    from collections.abc import Sequence

_MOST_THREADS: Final = 4096


class LearnedLimits:
    """Limits by thread and model: in the answers of the thread, and in this process for threads that are not kept."""

    def __init__(self) -> None:
        self._known: OrderedDict[tuple[str, str], int] = OrderedDict()
        self._lock = Lock()

    def get(self, messages: Sequence[Any], *, thread: str, model: str) -> int | None:
        """Return the most tokens that a model took in a thread; None if it refused nothing yet."""
        for message in reversed(messages):
            limits = note_of(message).get("limits") if isinstance(message, AIMessage) else None
            if isinstance(limits, dict) and isinstance(limits.get(model), int):
                return limits[model]
        with self._lock:
            return self._known.get((thread, model))

    def learn(self, limit: int, *, thread: str, model: str) -> None:
        """Remember for this process what a model took."""
        with self._lock:
            self._known[thread, model] = limit
            if len(self._known) > _MOST_THREADS:
                self._known.popitem(last=False)

    def __getstate__(self) -> dict[str, Any]:
        return {}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__()


def with_limit(message: AIMessage, *, model: str, limit: int) -> AIMessage:
    """Return an answer that says which limit was learned before it came."""
    limits = {**(note_of(message).get("limits") or {}), model: limit}
    noted = with_note(message, limits=limits)
    assert isinstance(noted, AIMessage)  # noqa: S101 - for the type alone
    return noted
