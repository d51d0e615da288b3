"""Which turn a turn is: its place in the conversation, not its words.

Hosts that give every message an id need nothing from here. For the others there are two ways:

- Who holds the whole conversation calls `identify` with all of it and appends the turns that leave. The same conversation,
  longer the next time, gives the same turns the same ids, so that nothing is kept twice.
- Who holds only what is new appends it as it is. The archive knows what came before and tells the two `Yes, please.` apart.
"""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Any, Final

from ctx_core.rehydrate.turns import Turn

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from ctx_core.messages import Message

_PLACED: Final = "at:"
# Two people who say four turns in a row again, word for word, did not: somebody handed them over again.
_LEAST_REPLAY: Final = 4
# The same at the very beginning of a conversation: a greeting and its answer.
_LEAST_OPENING: Final = 2
# Places of one text that are looked at, so that a conversation of nothing but `ok` stays linear.
_MOST_PLACES: Final = 8
# What a host writes anew for every call is no part of what was said before.
_NOT_SAID: Final = ("system", "developer")


class Numbering:
    """Gives the turns of one conversation, in order, ids that say where they stand."""

    def __init__(self) -> None:
        self._previous = ""
        self._before: Mapping[str, int] = {}
        self._times: Counter[str] = Counter()

    def ahead(self) -> Numbering:
        """Return what numbers the turns that come next and leaves this one as it is; it lasts until this one goes on."""
        numbering = Numbering()
        numbering._previous, numbering._before = self._previous, self._times
        return numbering

    def place(self, turn: Turn, digest: str) -> Turn:
        """Return the next turn; one without an id of its own gets one from its words, the turn before it and their n-th time."""
        if not turn.is_unnamed:
            placed = turn
        else:
            mark = hashlib.sha256(f"{self._previous} {digest}".encode()).hexdigest()[:32]
            self._times[mark] += 1
            nth = self._before.get(mark, 0) + self._times[mark]
            placed = turn.with_id(f"{_PLACED}{mark}" + (f"#{nth}" if nth > 1 else ""))
        if turn.role not in _NOT_SAID:
            self._previous = digest
        return placed


def identify(messages: Iterable[Message | Turn | Mapping[str, Any]], *, session_id: str | None = None) -> list[Turn]:
    """Return every message of a conversation as a turn that has an id; ids that the host gave are kept.

    Give all messages from the first one on, and append those that leave:

    ```python
    turns = identify(history, session_id="s1")
    archive.append("user-1", turns[:10], session_id="s1")
    ```

    Args:
        messages: The whole conversation, oldest first.
        session_id: The conversation they belong to.
    """
    numbering = Numbering()
    turns = (Turn.of(message, session_id=session_id) for message in messages)
    return [numbering.place(turn, turn.digest()) for turn in turns]


class Talk:
    """What is known of one conversation: which texts were said where, so that a history handed over again is recognised."""

    def __init__(self) -> None:
        self._numbering = Numbering()
        self._said: list[str] = []
        self._places: defaultdict[str, list[int]] = defaultdict(list)
        self._replaying: int | None = None

    def add(self, turn: Turn, digest: str) -> Turn:
        """Take in the next turn and return it with its id."""
        placed = self._numbering.place(turn, digest)
        self._places[digest].append(len(self._said))
        self._said.append(digest)
        return placed

    def ahead(self) -> Numbering:
        """Return what numbers the turns that come next."""
        return self._numbering.ahead()

    def known(self, run: Sequence[str]) -> tuple[int, int | None]:
        """Return how many turns at the start of `run` were handed over before, and where the repetition goes on, if it may."""
        if self._replaying is not None:
            length = self._length(self._replaying, run)
            if length and self._is_whole(self._replaying, length, run):
                return length, self._replaying + length
        places = self._places.get(run[0], []) if run else []
        best = (0, None)
        for at in {*places[:1], *places[-_MOST_PLACES:]}:
            length = self._length(at, run)
            opening = at == 0 and length >= min(_LEAST_OPENING, len(self._said))
            if length > best[0] and self._is_whole(at, length, run) and (opening or length >= _LEAST_REPLAY):
                best = length, at + length
        return best

    def skip(self, run: Sequence[str]) -> int:
        """Return how many turns at the start of `run` are a repetition, and remember where it goes on."""
        length, self._replaying = self.known(run)
        return length

    def _length(self, at: int, run: Sequence[str]) -> int:
        length = 0
        for one, other in zip(run, self._said[at : at + len(run)], strict=False):
            if one != other:
                break
            length += 1
        return length

    def _is_whole(self, at: int, length: int, run: Sequence[str]) -> bool:
        """Say whether the repetition ends only where what was given or what is known ends: else it is a likeness."""
        return length == len(run) or at + length == len(self._said)
