"""Which hunks of a diff to show when not all of them fit."""

from __future__ import annotations

import re
from collections import Counter
from heapq import nsmallest
from operator import add, sub
from typing import TYPE_CHECKING, Final

from ctx_core.optimize.compressors.diff.format import header
from ctx_core.optimize.compressors.diff.pieces import NOTHING, UNITS, Piece, pieces_of
from ctx_core.optimize.compressors.relevance import query_terms
from ctx_core.select.notes import spell_counts
from ctx_core.tokens import estimate

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_NOTE_TOKENS: Final = 12
# No piece costs less, so no more of them than this allows can be shown.
_LEAST_TOKENS: Final = 8
# The names of all files come first as long as they take no more of the room than this.
_NAMES_SHARE: Final = 0.4
# Missing context is counted at the end alone.
_NOTED: Final = UNITS[:-1]
_FILE_LINES: Final = re.compile(r"^--- (.+)\n\+\+\+ (.+)\n", re.MULTILINE)


class Pick:
    """The best pieces of a diff.

    Args:
        text: The diff; it ends with a newline.
        max_tokens: The most tokens that are going to be shown.
        query: What the reader wants to know.
    """

    def __init__(self, text: str, max_tokens: int, query: str | None) -> None:
        self._text = text
        self._heads: list[Piece] = []
        self._costs: dict[int, int] = {}
        self._total = NOTHING
        self._most = max_tokens // _LEAST_TOKENS
        self._best = nsmallest(self._most, self._listed(pieces_of(text, query_terms(query))))

    def _listed(self, pieces: Iterable[Piece]) -> Iterator[Piece]:
        for piece in pieces:
            if piece.hunk is None and len(self._heads) <= self._most:
                self._heads.append(piece)
            self._total = piece.behind
            yield piece

    def drawn(self, room: int) -> tuple[str, Counter[str]]:
        """Return the best pieces that cost up to `room` tokens by estimate, and what is missing in all; in place stands a count."""
        out: list[str] = []
        end = Piece((), 0, 0, self._total, self._total)
        hunk, behind, shown = None, NOTHING, NOTHING
        for piece in [*_joined(self._chosen(room)), end]:
            missing = {
                unit: count for unit, count in zip(_NOTED, map(sub, piece.before, behind), strict=False) if count
            }
            if missing:
                out.append(f"[… {spell_counts(missing)} left out]\n")
            out.append(self._shown(piece, is_first=piece.hunk is not hunk))
            shown = tuple(map(add, shown, map(sub, piece.behind, piece.before)))
            hunk, behind = piece.hunk, piece.behind
        return "".join(out), Counter(dict(zip(UNITS, map(sub, self._total, shown), strict=True)))

    def _shown(self, piece: Piece, *, is_first: bool) -> str:
        rows = self._text[piece.start : piece.stop]
        hunk = piece.hunk
        if hunk is None:
            return _without_implied(rows)
        if (piece.start, piece.stop) == (hunk.body, hunk.stop):
            return self._text[hunk.start : hunk.stop]
        return header(piece.first, piece.lines, hunk.section if is_first else "") + rows

    def _chosen(self, room: int) -> list[Piece]:
        names = self._heads if len(self._heads) <= self._most else []
        left = room - sum(map(self._cost, names))
        if left < (1 - _NAMES_SHARE) * room:
            names, left = [], room
        chosen = {piece.start: piece for piece in names}
        for piece in self._best:
            new = [each for each in (piece.head, piece) if each and each.start not in chosen]
            cost = sum(map(self._cost, new))
            if cost <= left:
                chosen.update((each.start, each) for each in new)
                left -= cost
            if left < _LEAST_TOKENS:
                break
        return sorted(chosen.values(), key=lambda piece: piece.start)

    def _cost(self, piece: Piece) -> int:
        if piece.start not in self._costs:
            note = _NOTE_TOKENS if piece.hunk is None else 0
            self._costs[piece.start] = estimate(self._shown(piece, is_first=True)) + note
        return self._costs[piece.start]


def _joined(pieces: Iterable[Piece]) -> list[Piece]:
    """Put neighbours of one hunk together."""
    joined: list[Piece] = []
    for piece in pieces:
        last = joined[-1] if joined else None
        if last and piece.hunk is not None and piece.hunk is last.hunk and piece.start == last.stop:
            lines = tuple(map(add, last.lines, piece.lines))
            joined[-1] = last._replace(stop=piece.stop, lines=lines, behind=piece.behind)
        else:
            joined.append(piece)
    return joined


def _without_implied(head: str) -> str:
    """Leave out `---` and `+++` where the `diff --git` line has said it."""
    names = _FILE_LINES.search(head)
    if names and f"diff --git {names[1]} {names[2]}\n" in head:
        return head[: names.start()] + head[names.end() :]
    return head
