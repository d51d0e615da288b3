"""Which fields and rows of a written document stay when not all of them may."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from ctx_core.optimize.compressors.base import Omission
from ctx_core.optimize.compressors.json.layout import Block, Fields, Line, Table, packed
from ctx_core.optimize.compressors.relevance import hits, query_terms
from ctx_core.optimize.compressors.rows import alarms, order_rows, rough_cost

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_GAP_COST: Final = 5  # `…12 rows` and its newline
_LONG_ARRAY: Final = 20
_URGENT: Final = -1.0


@dataclass(slots=True)
class Unit:
    """One field or row that may stay.

    Args:
        rank: From 0 to 1, lower stays longer; below 0 outlives all others.
        cost: Tokens.
        place: The identity of its `Fields` or `Table`, and its number there.
        holders: What has to be written around it, innermost first.
    """

    rank: float
    cost: float
    place: tuple[int, int]
    holders: tuple[Line, ...]


@dataclass(slots=True)
class Picked:
    """What stays: the numbers of the parts or rows of each `Fields` or `Table`, by identity, and which holders are open."""

    members: dict[int, set[int]] = field(default_factory=dict[int, set[int]])
    holders: set[int] = field(default_factory=set[int])


def ranked(lines: Sequence[Line], *, query: str | None = None) -> list[Unit]:
    """Return every field and row of a written document, those that stay longest first."""
    units: list[Unit] = []
    todo: list[tuple[Line, tuple[Line, ...]]] = [(line, ()) for line in lines]
    while todo:
        line, around = todo.pop()
        if isinstance(line, Block):
            todo.extend([(child, (line, *around)) for child in line.lines])
        elif isinstance(line, Table):
            units += _row_units(line, (line, *around), query)
        else:
            units += _part_units(line, around, query)
    return sorted(units, key=lambda unit: unit.rank)


def pick(units: Sequence[Unit], room: float) -> Picked:
    """Take units in their order until `room` tokens are used, with what has to be written around them."""
    picked = Picked()
    for unit in units:
        if unit.cost + _GAP_COST > room:
            continue
        closed = [holder for holder in unit.holders if id(holder) not in picked.holders]
        needed = unit.cost + _GAP_COST + sum(_holder_cost(holder) for holder in closed)
        if needed <= room:
            room -= needed
            picked.holders.update(id(holder) for holder in closed)
            line, index = unit.place
            picked.members.setdefault(line, set()).add(index)
    return picked


def _holder_cost(holder: Line) -> float:
    if isinstance(holder, Block):
        return rough_cost(holder.start) + rough_cost(holder.end) + _GAP_COST
    return rough_cost(holder.heading) + _GAP_COST if isinstance(holder, Table) else 0


def _row_units(table: Table, holders: tuple[Line, ...], query: str | None) -> Iterator[Unit]:
    costs = [*map(rough_cost, table.rows)]
    order = order_rows(table.rows, table.columns, costs, query=query)
    yield from _in_order(table, order, costs, holders)
    if not table.rows:
        yield Unit(0.0, 0.0, (id(table), 0), holders)


def _in_order(
    line: Fields | Table, order: tuple[list[int], int], costs: Sequence[float], holders: tuple[Line, ...]
) -> Iterator[Unit]:
    """Rank what stands in one line by its place in an order: by the share of tokens that go before it."""
    numbers, urgent = order
    total, before = sum(costs) or 1.0, 0.0
    for position, number in enumerate(numbers):
        rank = _URGENT if position < urgent else before / total
        yield Unit(rank, costs[number], (id(line), number), holders)
        before += costs[number]


def _part_units(fields: Fields, holders: tuple[Line, ...], query: str | None) -> Iterator[Unit]:
    costs = [*map(rough_cost, fields.parts)]
    if len(costs) > _LONG_ARRAY and holders and isinstance(holders[0], Block) and holders[0].end == "]":
        yield from _in_order(fields, order_rows(fields.parts, [fields.parts], costs, query=query), costs, holders)
        return
    depth, count, terms = len(holders), len(costs), query_terms(query)
    urgent = set(alarms(fields.parts))
    for index, part in enumerate(fields.parts):
        if index in urgent:
            rank = _URGENT
        elif hits(part, terms):
            rank = _URGENT / 2
        else:
            # Outer fields say what the document is; of many, the first and the last say most.
            rank = depth / (depth + 4) + min(index, 2 * (count - 1 - index)) / (2 * count)
        yield Unit(rank, costs[index], (id(fields), index), holders)


def write(lines: Sequence[Line], picked: Picked | None) -> tuple[list[str], list[Omission]]:
    """Return the text lines, with a counted note wherever something is missing; None keeps everything."""
    writer = _Writer(picked)
    writer.write(lines, "items", "$")
    return writer.out, writer.omissions


class _Writer:
    def __init__(self, picked: Picked | None) -> None:
        self._picked = picked
        self.out: list[str] = []
        self.omissions: list[Omission] = []

    def write(self, lines: Sequence[Line], what: str, where: str) -> None:
        """Write `lines`; runs of what is missing, over the borders of lines too, become one note."""
        missing = lost = 0
        parts: list[str] = []
        for line in lines:
            if isinstance(line, Fields):
                kept = self._kept(line, len(line.parts))
                for index, part in enumerate(line.parts):
                    if index in kept:
                        parts += [_note(missing, what), part] if missing else [part]
                        missing = 0
                    else:
                        missing, lost = missing + 1, lost + 1
            elif self._picked is None or id(line) in self._picked.holders:
                self.out += packed([*parts, _note(missing, what)] if missing else parts)
                parts, missing = [], 0
                self._write_holder(line, where)
            else:
                missing, lost = missing + 1, lost + 1
        self.out += packed([*parts, _note(missing, what)] if missing else parts)
        if lost:
            self.omissions.append(Omission(what=what, count=lost, where=where))

    def _write_holder(self, line: Block | Table, where: str) -> None:
        if isinstance(line, Table):
            self._write_table(line, where)
            return
        self.out.append(line.start)
        self.write(line.lines, "fields" if line.end == "}" else "items", _inside(where, line.start))
        self.out.append(line.end)

    def _write_table(self, table: Table, where: str) -> None:
        self.out.append(table.heading)
        kept = self._kept(table, len(table.rows))
        if len(kept) == table.total or not table.rows:
            self.out += table.rows
            return
        previous = -1
        for row in sorted(kept):
            self._note_rows(table.places[row] - previous - 1)
            self.out.append(table.rows[row])
            previous = table.places[row]
        self._note_rows(table.total - previous - 1)
        lost = table.total - len(kept)
        self.omissions.append(Omission(what="rows", count=lost, where=_inside(where, table.heading)))

    def _note_rows(self, missing: int) -> None:
        if missing:
            self.out.append(_note(missing, "rows"))

    def _kept(self, line: Fields | Table, count: int) -> set[int] | range:
        return range(count) if self._picked is None else self._picked.members.get(id(line), set())


def _note(missing: int, what: str) -> str:
    return f"…{missing} {what if missing > 1 else what[:-1]}"


def _inside(where: str, start: str) -> str:
    """Return the path of a member whose line starts with `start`."""
    name, found, _ = start.partition("(")[0].partition("=")
    return f"{where}.{name}" if found else where
