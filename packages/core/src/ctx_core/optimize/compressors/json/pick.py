"""Which fields and rows of a written document stay when not all of them may."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from ctx_core.optimize.compressors.base import Omission
from ctx_core.optimize.compressors.json.layout import Block, Fields, Line, Table, packed
from ctx_core.optimize.compressors.relevance import hits, query_terms
from ctx_core.optimize.compressors.rows import GAP_COST, order_rows
from ctx_core.signals.severity import Severity, find_alarms

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_LONG_ARRAY: Final = 20
_URGENT: Final = -1.0
_NAME_END: Final = re.compile(r"[=(\[{]")
_LEAST: Final = 2  # tokens of a field or row


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


def ranked(lines: Sequence[Line], *, price: float, room: float, query: str | None = None) -> list[Unit]:
    """Return the fields and rows of a written document, those that stay longest first.

    Args:
        lines: The document.
        price: Tokens of a character.
        room: Tokens of fields or rows in one line after which the others are left out.
        query: What the reader wants to know.
    """
    units: list[Unit] = []
    todo: list[tuple[Line, tuple[Line, ...]]] = [(line, ()) for line in lines]
    while todo:
        line, around = todo.pop()
        if isinstance(line, Block):
            todo.extend([(child, (line, *around)) for child in line.lines])
            continue
        parts = line.rows if isinstance(line, Table) else line.parts
        costs = [price * (len(part) + 1) for part in parts]
        if isinstance(line, Table):
            order = order_rows(parts, line.columns, costs, room=room, query=query)
            units += _in_order(line, order, costs, (line, *around))
        elif len(parts) > _LONG_ARRAY and around and isinstance(around[0], Block) and around[0].end == "]":
            order = order_rows(parts, [parts], costs, room=room, query=query)
            units += _in_order(line, order, costs, around)
        else:
            units += _part_units(line, costs, around, query_terms(query))
    return sorted(units, key=lambda unit: unit.rank)


def pick(units: Sequence[Unit], room: float, *, price: float) -> Picked:
    """Take units in their order until `room` tokens are used, with what has to be written around them."""
    picked = Picked()
    for unit in units:
        if room < _LEAST:
            break
        line, index = unit.place
        near = picked.members.get(line, ())
        cost = unit.cost + GAP_COST * (1 - (index - 1 in near) - (index + 1 in near))
        if cost > room:
            continue
        closed = [holder for holder in unit.holders if id(holder) not in picked.holders]
        cost += sum([_holder_cost(holder, price) for holder in closed])
        if cost <= room:
            room -= cost
            picked.holders.update(map(id, closed))
            picked.members.setdefault(line, set()).add(index)
    return picked


def _holder_cost(holder: Line, price: float) -> float:
    if isinstance(holder, Block):
        return price * (len(holder.start) + len(holder.end) + 2) + GAP_COST
    return price * (len(holder.heading) + 1) + GAP_COST if isinstance(holder, Table) else 0


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


def _part_units(
    fields: Fields, costs: Sequence[float], holders: tuple[Line, ...], terms: tuple[str, ...]
) -> Iterator[Unit]:
    depth, count = len(holders), len(costs)
    urgent = set(find_alarms(fields.parts, least=Severity.SUSPECT))
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
            self.out.append("\n ".join([self.out.pop(), *table.rows]))
            return
        previous = -1
        for row in sorted(kept):
            self._note_rows(table.places[row] - previous - 1)
            self.out.append(f" {table.rows[row]}")
            previous = table.places[row]
        self._note_rows(table.total - previous - 1)
        lost = table.total - len(kept)
        self.omissions.append(Omission(what="rows", count=lost, where=_inside(where, table.heading)))

    def _note_rows(self, missing: int) -> None:
        if missing:
            self.out.append(f" {_note(missing, 'rows')}")

    def _kept(self, line: Fields | Table, count: int) -> set[int] | range:
        return range(count) if self._picked is None else self._picked.members.get(id(line), set())


def _note(missing: int, what: str) -> str:
    return f"…{missing} {what if missing > 1 else what[:-1]}"


def _inside(where: str, start: str) -> str:
    """Return the path of a member whose line starts with `start`."""
    name = _NAME_END.split(start, maxsplit=1)[0]
    return f"{where}.{name}" if name else where
