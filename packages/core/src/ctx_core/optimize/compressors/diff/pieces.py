"""A diff in pieces, each with what it is worth and how much stands before it."""

from __future__ import annotations

import re
from operator import add
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from ctx_core.optimize.compressors.diff.format import Excerpt, Head, excerpts, name_in, read_diff, rows_pattern
from ctx_core.optimize.compressors.relevance import has_trouble, hits

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ctx_core.optimize.compressors.diff.format import Hunk, Numbers

# What is longer than this is shown in part rather than not at all.
_PIECE_ROWS: Final = 12

_PARAGRAPH: Final = re.compile(rf"(?:.*+\n){{1,{_PIECE_ROWS}}}+")

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

UNITS: Final = ("files", "other lines", "changed lines", "context lines")
Counts: TypeAlias = tuple[int, ...]
"""How many of each unit."""
NOTHING: Final[Counts] = (0,) * len(UNITS)


class Piece(NamedTuple):
    """The head of a file, lines between files, or some rows of a hunk; the best first.

    Args:
        key: Less is better: what the query names, then trouble, source before tests and docs, the start of each.
        start: Where it starts in the text.
        stop: Where it stops.
        before: What stands before it in all.
        behind: The same, and what it holds.
        head: The head that it stands under; None for one.
        hunk: The hunk that it is of, if any.
        first: The numbers of its first row.
        lines: How many lines of each version it holds.
    """

    key: tuple[int, ...]
    start: int
    stop: int
    before: Counts
    behind: Counts
    head: Piece | None = None
    hunk: Hunk | None = None
    first: Numbers = ()
    lines: Numbers = ()


def pieces_of(text: str, terms: tuple[str, ...]) -> Iterator[Piece]:
    """Yield the pieces of a diff in their order.

    Args:
        text: Ends with a newline.
        terms: Words of the query.
    """
    rank = named = nth = number = 0
    head, seen = None, NOTHING
    for part in read_diff(text):
        if isinstance(part, Head):
            name = name_in(text, part)
            rank, named, nth = rank_of(name), hits(name, terms), 0
            for later, (start, stop) in enumerate([part[:2]] if name else _paragraphs(text, part)):
                number, before = number + 1, seen
                seen = _sum(before, (1, 0, 0, 0) if name else (0, text.count("\n", start, stop), 0, 0))
                head = Piece((-named, 0, rank, later, number), start, stop, before, seen)
                yield head
            continue
        for start, stop, first, rows in _cut(text, part):
            shown, before = text[start:stop], seen
            key = (-named - hits(shown, terms), -has_trouble(shown), rank, nth, number)
            seen = _sum(before, (0, 0, rows.changed, rows.unchanged))
            yield Piece(key, start, stop, before, seen, head, part, first, rows.lines)
            nth += 1


def _paragraphs(text: str, head: Head) -> list[tuple[int, int]]:
    """Cut what stands between files, such as the message of a commit."""
    found = [lines.span() for lines in _PARAGRAPH.finditer(text, head.start, head.stop)]
    return found or [(head.start, head.stop)]


def _sum(some: Counts, more: Counts) -> Counts:
    return tuple(map(add, some, more))


def _cut(text: str, hunk: Hunk) -> Iterable[Excerpt]:
    if hunk.rows.unchanged + hunk.rows.changed <= _PIECE_ROWS:
        # Nobody asks for the numbers of a whole hunk: they stand in its header.
        return (Excerpt(hunk.body, hunk.stop, (), hunk.rows),)
    pattern = rows_pattern(hunk.parents, f"{{1,{_PIECE_ROWS}}}")
    return excerpts(text, hunk, (match.span() for match in pattern.finditer(text, hunk.body, hunk.stop)))


def rank_of(name: str) -> int:
    """Rank a file by what it is for: 0 source, 1 configuration, 2 tests, 3 documents."""
    return next((rank for pattern, rank in _RANKS if pattern.search(name)), 0)
