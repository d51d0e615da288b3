"""Which hunks of a diff to show when not all of them fit."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from ctx_core.optimize.compressors.diff.format import visible
from ctx_core.optimize.compressors.relevance import has_trouble, hits, query_terms
from ctx_core.tokens import estimate

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ctx_core.optimize.compressors.diff.format import DiffFile, Ranges, Shown

# A hunk longer than this is shown in part rather than not at all.
_PIECE_ROWS: Final = 12
_HEADER_TOKENS: Final = 14
_NOTE_TOKENS: Final = 12
# The names of all files come first as long as they take no more of the room than this.
_NAMES_SHARE: Final = 0.4

_RANKS: Final = (
    (
        re.compile(
            r"(?:^|/)(?:tests?|specs?|__tests__|testdata|fixtures)/|(?:^|/)test_|_test\.|\.(?:test|spec)\.|Tests?\."
        ),
        2,
    ),
    (re.compile(r"(?:^|/)docs?/|\.(?:md|rst|txt|adoc|svg)$|(?:^|/)(?:CHANGELOG|LICENSE|AUTHORS)", re.IGNORECASE), 3),
    (re.compile(r"\.(?:json|ya?ml|toml|ini|cfg|lock)$"), 1),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """Some rows of a hunk, or (`hunk` None) the head of a file alone, with about what it costs in tokens; best `key` first."""

    key: tuple[int, ...]
    file: int
    hunk: int | None
    rows: tuple[int, int]
    cost: int


def pieces_by_worth(files: Sequence[DiffFile], *, query: str | None) -> list[Piece]:
    """Cut every hunk into pieces and order them: what the query names, then trouble, source before tests and docs."""
    terms = query_terms(query)
    pieces: list[Piece] = []
    for number, file in enumerate(files):
        rank = rank_of(file.name)
        named = hits(file.name, terms)
        cost = estimate("\n".join(file.head)) + (_NOTE_TOKENS if file.hunks else 1)
        pieces.append(Piece(key=(-named, 0, rank, 0, number), file=number, hunk=None, rows=(0, 0), cost=cost))
        for nth, (hunk, start, stop) in enumerate(_cut_all(file)):
            rows = file.hunks[hunk].rows[start:stop]
            text = "\n".join(rows)
            key = (-hits(text, terms) - named, -has_trouble(text), rank, nth, number)
            cost = estimate(text) + _HEADER_TOKENS + len(file.hunks[hunk].section) // 4
            pieces.append(Piece(key=key, file=number, hunk=hunk, rows=(start, stop), cost=cost))
    return sorted(pieces, key=lambda piece: piece.key)


def rank_of(name: str) -> int:
    """Rank a file by what it is for: 0 source, 1 configuration, 2 tests, 3 documents."""
    return next((rank for pattern, rank in _RANKS if pattern.search(name)), 0)


def _cut_all(file: DiffFile) -> Iterator[tuple[int, int, int]]:
    for number, hunk in enumerate(file.hunks):
        for start, stop in visible(hunk, 0):
            for at in range(start, stop, _PIECE_ROWS):
                yield number, at, min(at + _PIECE_ROWS, stop)


def fill(pieces: Sequence[Piece], room: int) -> Shown:
    """Take pieces while they fit into `room` tokens."""
    heads = {piece.file: piece for piece in pieces if piece.hunk is None}
    shown: dict[int, dict[int, Ranges]] = {}
    left = room
    if sum(piece.cost for piece in heads.values()) <= _NAMES_SHARE * room:
        shown = {file: {} for file in heads}
        left -= sum(piece.cost for piece in heads.values())
    for piece in pieces:
        cost = 0 if piece.file in shown else heads[piece.file].cost
        if piece.hunk is not None:
            cost += piece.cost
        if cost > left:
            continue
        left -= cost
        hunks = shown.setdefault(piece.file, {})
        if piece.hunk is not None:
            hunks.setdefault(piece.hunk, []).append(piece.rows)
    return {file: {hunk: _merged(ranges) for hunk, ranges in hunks.items()} for file, hunks in shown.items()}


def _merged(ranges: Ranges) -> Ranges:
    merged: Ranges = []
    for start, stop in sorted(ranges):
        if merged and merged[-1][1] == start:
            start = merged.pop()[0]  # noqa: PLW2901 - the range grows
        merged.append((start, stop))
    return merged
