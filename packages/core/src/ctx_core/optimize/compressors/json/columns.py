"""Turns alike objects into columns: nested objects become groups, what never changes moves into the heading."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from itertools import chain, pairwise
from typing import TYPE_CHECKING, Final

from ctx_core.optimize.compressors.json.words import ABSENT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from ctx_core.optimize.compressors.json.reader import Value

MIN_FILL: Final = 0.6
"""Rows that share fewer of their members than this make no table."""

_MIN_REFERENCE: Final = 4
_UNFIT: Final = re.compile(r'[",]')


@dataclass(slots=True)
class Column:
    """One member of every row, as written; a group where the member is itself an object.

    Args:
        name: The member's key, as written.
        cells: One written value per row; empty for a group.
        group: The columns of a group.
        fixed: What every cell says, or a pattern of another column's cells; such a column has no place in the rows.
    """

    name: str
    cells: list[str] = field(default_factory=list[str])
    group: list[Column] = field(default_factory=list["Column"])
    fixed: str | None = None

    def leaves(self) -> Iterator[Column]:
        """Yield the columns that hold cells."""
        if self.group:
            for column in self.group:
                yield from column.leaves()
        else:
            yield self

    def heading(self, separator: str) -> str:
        """Write the name, with the group's columns or the fixed value behind it."""
        if self.group:
            return f"{self.name}({separator.join([column.heading(separator) for column in self.group])})"
        return self.name if self.fixed is None else f"{self.name}={self.fixed}"


def shared_keys(rows: Sequence[Value | object]) -> tuple[str, ...] | None:
    """Return one key order that every object follows, or None where there is none or the objects differ too much."""
    shapes = {tuple(row) for row in rows if isinstance(row, dict)}
    if len(shapes) == 1:
        return next(iter(shapes))
    merged = _merge(sorted(shapes, key=lambda shape: (-len(shape), shape)))
    fill = sum(len(row) for row in rows if isinstance(row, dict)) / (len(merged) * len(rows) or 1)
    place = {key: index for index, key in enumerate(merged)}
    in_order = all(all(place[a] < place[b] for a, b in pairwise(shape)) for shape in shapes)
    return merged if in_order and fill >= MIN_FILL else None


def _merge(shapes: Sequence[tuple[str, ...]]) -> tuple[str, ...]:
    """Merge key orders; a key goes behind the key that it follows where it is first seen."""
    followers: dict[str | None, list[str]] = {}
    known: set[str] = set()
    for shape in shapes:
        previous = None
        for key in shape:
            if key not in known:
                known.add(key)
                followers.setdefault(previous, []).insert(0, key)
            previous = key
    merged: list[str] = []
    todo: list[str] = followers.get(None, [])[::-1]
    while todo:
        key = todo.pop()
        merged.append(key)
        todo.extend(followers.get(key, [])[::-1])
    return tuple(merged)


def columns_of(
    rows: Sequence[dict[str, Value] | object],
    *,
    key: Callable[[str], str],
    cell: Callable[[Value | object], str],
    is_whole: Callable[[Sequence[Value | object]], bool],
) -> list[Column] | None:
    """Return the rows' members as columns, or None where the rows are no alike objects.

    Args:
        rows: Objects, or `ABSENT`.
        key: Writes a key.
        cell: Writes a value.
        is_whole: Says whether objects are better written whole, in one cell each, than as a group.
    """
    keys = shared_keys(rows)
    if not keys:
        return None
    columns: list[Column] = []
    for name, values in zip(keys, _transposed(rows, keys), strict=True):
        group = None
        if any(value.__class__ is dict for value in values):
            present = [value for value in values if value is not ABSENT]
            if all(value and value.__class__ is dict for value in present) and not is_whole(present):
                group = columns_of(values, key=key, cell=cell, is_whole=is_whole)
        columns.append(Column(key(name), group=group) if group else Column(key(name), cells=[*map(cell, values)]))
    return columns


def _transposed(rows: Sequence[dict[str, Value] | object], keys: tuple[str, ...]) -> Sequence[Sequence[Value | object]]:
    if all(isinstance(row, dict) and len(row) == len(keys) for row in rows):
        return [*zip(*[row.values() for row in rows if isinstance(row, dict)], strict=True)]
    return [[row.get(key, ABSENT) if isinstance(row, dict) else ABSENT for row in rows] for key in keys]


def settle(columns: Sequence[Column]) -> list[Column]:
    """Move constants and columns that repeat another one into the heading; return the columns that stay in the rows."""
    leaves = [*chain.from_iterable(column.leaves() for column in columns)]
    for leaf in leaves:
        if len(leaf.cells) > 1 and leaf.cells.count(leaf.cells[0]) == len(leaf.cells):
            leaf.fixed = _without_comma(leaf.cells[0])
    leaves = [leaf for leaf in leaves if leaf.fixed is None]
    if leaves and len(leaves[0].cells) > 2:
        _refer(leaves)
    return [leaf for leaf in leaves if leaf.fixed is None]


def _without_comma(cell: str) -> str:
    """Quote a bare word that holds a comma: in a heading, a bare comma says that commas stand between the cells."""
    return f'"{cell}"' if "," in cell and cell[0] not in '"[{&*' else cell


def _refer(leaves: Sequence[Column]) -> None:
    """Write columns that hold another column's cells between a fixed start and end as a pattern, such as `/users/<id>`."""
    names = [leaf.name for leaf in leaves]
    by_length = sorted(leaves, key=lambda leaf: len(leaf.cells[0]))
    sources = [s for s in by_length if len(s.cells[0]) >= _MIN_REFERENCE and names.count(s.name) == 1]
    referred: set[str] = set()
    for leaf in reversed(by_length):
        if leaf.name in referred:
            continue
        for source in sources:
            start, found, end = leaf.cells[0].partition(source.cells[0])
            if not found or source is leaf or source.fixed is not None or _UNFIT.search(start + end):
                continue
            if [f"{start}{cell}{end}" for cell in source.cells] == leaf.cells:
                leaf.fixed = f"{start}<{source.name}>{end}"
                referred.add(source.name)
                break
