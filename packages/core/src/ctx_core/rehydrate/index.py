"""What one user's search needs in memory: turns, who follows whom, words, vectors."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from math import log1p
from typing import TYPE_CHECKING, Final

from ctx_core.rehydrate.identity import Talk
from ctx_core.rehydrate.lexical import Bm25, is_blank, words
from ctx_core.rehydrate.vectors import VectorTable
from ctx_core.rehydrate.views import View

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ctx_core.rehydrate.blobs import Archived
    from ctx_core.rehydrate.turns import Turn
    from ctx_core.rehydrate.vectors import Row


# Twenty words say as much as two hundred; a tool output is no better an answer for its length.
_MOST_WORDS: Final = 20


@dataclass(frozen=True, slots=True)
class Entry:
    """One indexed turn.

    Args:
        turn: The turn.
        at_ms: When it was said, in milliseconds since 1970; 0 if unknown.
        terms: Stems of its words, in order.
        asks: Whether it ends with a question.
        speaker: Its name, case-folded.
        is_blank: Whether nothing can be seen of its text.
    """

    turn: Turn
    at_ms: int
    terms: tuple[str, ...]
    asks: bool
    speaker: str | None
    is_blank: bool


class TurnIndex:
    """All archived turns of one user in the order they were said, each once; turns are only ever added."""

    def __init__(self) -> None:
        self.entries: list[Entry] = []
        self.before: list[int | None] = []
        self.after: list[int | None] = []
        self.words = Bm25()
        self.speakers: set[str] = set()
        self.vectors: VectorTable | None = None
        self._talks: defaultdict[str | None, Talk] = defaultdict(Talk)
        self._attempts: set[str] = set()
        self._seen: set[tuple[str | None, str, str]] = set()
        self._said_before: set[tuple[str | None, str, str, str]] = set()
        self._latest: dict[str | None, int] = {}
        self._substance: list[float] = []
        self._substance_view: View | None = None

    def __len__(self) -> int:
        return len(self.entries)

    def add(self, archived: Archived) -> list[int]:
        """Add the turns of a blob that are not here yet; return the position of every turn of the blob, -1 for a repeat."""
        if archived.attempt is not None:
            if archived.attempt in self._attempts:  # its answer was lost, and it was given again
                return [-1] * len(archived.turns)
            self._attempts.add(archived.attempt)
        digests = [turn.digest() for turn in archived.turns]
        known = self._known(archived.turns, digests)
        for session, run in _unnamed_runs(archived.turns).items():
            self._talks[session].skip([digests[at] for at in run])
        places: list[int] = []
        for at, (turn, digest) in enumerate(zip(archived.turns, digests, strict=True)):
            if at in known or (turn.session_id, turn.id, digest) in self._seen:
                places.append(-1)
                continue
            placed = self._talks[turn.session_id].add(turn, digest)
            self._seen.add((placed.session_id, placed.id, digest))
            self._said_before.add(_said(turn))
            places.append(self._append(placed, archived.evicted_at_ms))
        if self.vectors is not None:
            self.vectors.extend(len(self.entries) - len(self.vectors))
        return places

    def unknown(self, turns: Sequence[Turn]) -> list[Turn]:
        """Return those of `turns` that are not here; where others of them are, the rest is named by its place."""
        digests = [turn.digest() for turn in turns]
        known = self._known(turns, digests)
        if not known:
            return list(turns)
        ahead = {session: self._talks[session].ahead() for session in {turn.session_id for turn in turns}}
        return [
            ahead[turn.session_id].place(turn, digest)
            for at, (turn, digest) in enumerate(zip(turns, digests, strict=True))
            if at not in known
        ]

    def _known(self, turns: Sequence[Turn], digests: Sequence[str]) -> set[int]:
        """Return which of `turns` are here: by their ids, or as a conversation that was handed over again."""
        known = {
            at
            for at, turn in enumerate(turns)
            if (turn.session_id, turn.id, digests[at]) in self._seen
            or (not turn.is_unnamed and _said(turn) in self._said_before)
        }
        for session, run in _unnamed_runs(turns).items():
            length, _ = self._talks[session].known([digests[at] for at in run])
            known.update(run[:length])
        return known

    def _append(self, turn: Turn, evicted_at_ms: int) -> int:
        at = len(self.entries)
        terms = tuple(words(turn.text))
        said = int(turn.created_at.timestamp() * 1000) if turn.created_at else evicted_at_ms
        previous = self._latest.get(turn.session_id)
        speaker = turn.name.casefold() if turn.name else None
        self.entries.append(Entry(turn, said, terms, _asks(turn.text), speaker, is_blank(turn.text)))
        self.before.append(previous)
        self.after.append(None)
        if previous is not None:
            self.after[previous] = at
        self._latest[turn.session_id] = at
        self.words.add(terms)
        self._substance_view = None
        self._substance.append(log1p(min(len(terms), _MOST_WORDS)))
        if speaker:
            self.speakers.add(speaker)
        return at

    def substance(self) -> View:
        """Return how much each turn says, by its number of words."""
        if self._substance_view is None:
            self._substance_view = View(self._substance)
        return self._substance_view

    def sessions_between(self, first: int, last: int, *, but: str | None) -> set[str | None]:
        """Return the conversations from the `first` to the `last`, counted from 1, or backwards from -1, the latest.

        Args:
            first: The first one.
            last: The last one.
            but: The conversation that is going on, which is none of the past ones.
        """
        sessions = list(dict.fromkeys(entry.turn.session_id for entry in self.entries if entry.turn.session_id))
        if first < 0:
            past = [session for session in sessions if session != but]
            return set(past[first : len(past) + last + 1]) if -first <= len(past) else set()
        return set(sessions[max(first, 1) - 1 : last])

    def companions(self, at: int, *, with_answers: bool) -> list[int]:
        """Return the turns that belong to one: the call of a result and all its results, and the answer or question beside it.

        Between user and assistant the position tells which is which, whatever the punctuation: what the assistant says answers
        what the user said before it. Among people only a question mark does.
        """
        found: set[int] = set()
        call = self._call_of(at)
        if call is not None:
            found = {call, *self._results_of(call)}
        elif with_answers:
            found = {i for i in (self._answer_to(at), self._question_of(at)) if i is not None}
        return sorted(found - {at})

    def _answer_to(self, at: int) -> int | None:
        after = self.after[at]
        if after is None or self.entries[after].turn.tool_calls:
            return None
        asked, answered = self.entries[at], self.entries[after]
        return after if asked.asks or (asked.turn.role, answered.turn.role) == ("user", "assistant") else None

    def _question_of(self, at: int) -> int | None:
        before = self.before[at]
        return before if before is not None and self._answer_to(before) == at else None

    def _call_of(self, at: int) -> int | None:
        turn = self.entries[at].turn
        if turn.role != "tool":
            return at if turn.tool_calls else None
        caller = self.before[at]
        while caller is not None:
            if any(call.id == turn.tool_call_id for call in self.entries[caller].turn.tool_calls):
                return caller
            caller = self.before[caller]
        return None

    def _results_of(self, call: int) -> list[int]:
        open_ids = {one.id for one in self.entries[call].turn.tool_calls}
        found: list[int] = []
        at = self.after[call]
        while at is not None and open_ids:
            turn = self.entries[at].turn
            if turn.role == "tool" and turn.tool_call_id in open_ids:
                found.append(at)
                open_ids.discard(turn.tool_call_id)
            at = self.after[at]
        return found

    def set_vectors(self, places: Sequence[int], vectors: Sequence[Row]) -> None:
        """Give the turns at `places` their vectors; all of one index have one length."""
        if not vectors:
            return
        if self.vectors is None:
            self.vectors = VectorTable(len(vectors[0]))
            self.vectors.extend(len(self.entries))
        for at, vector in zip(places, vectors, strict=True):
            if at >= 0:
                self.vectors.set(at, vector)


def _asks(text: str) -> bool:
    """Say whether a turn ends with a question; a caption in brackets behind it does not count."""
    said = text.rstrip()
    if said.endswith("]"):
        before, opening, caption = said[:-1].rpartition("[")
        if opening and "]" not in caption:
            said = before.rstrip()
    return said.endswith(("?", "？"))


def _unnamed_runs(turns: Sequence[Turn]) -> dict[str | None, list[int]]:
    """Return which turns without an id each conversation has, in order."""
    runs: defaultdict[str | None, list[int]] = defaultdict(list)
    for at, turn in enumerate(turns):
        if turn.is_unnamed:
            runs[turn.session_id].append(at)
    return runs


def _said(turn: Turn) -> tuple[str | None, str, str, str]:
    """Return what makes two copies of a turn one, where one host keeps more beside the words, such as its own form or a time."""
    return turn.session_id, turn.id, turn.role, turn.text
