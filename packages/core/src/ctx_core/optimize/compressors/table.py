"""CSV, TSV, Markdown and box tables, and listings in columns: rows by importance, as they were written."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from itertools import repeat, zip_longest
from typing import TYPE_CHECKING, Final

from ctx_core.optimize.compressors.aim import aim
from ctx_core.optimize.compressors.base import Budget, Compressed, Omission
from ctx_core.optimize.compressors.rows import AMPLE, GAP_COST, odd_rows, order_rows, row_costs
from ctx_core.tokens import estimate

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from collections.abc import Set as AbstractSet

_LONG_ROWS: Final = 60
_LONG_CHARS: Final = 8_000
_ODD_SHARE: Final = 0.5
_MAX_RECORD_LINES: Final = 50

_NOTE: Final = re.compile(r" ?…(\d{1,12}) rows?")
_NOTE_ENDS: Final = (" row", " rows")
_RULE: Final = re.compile(r"[\s|+:=─═┼╪╬├┤╠╣┌┬┐└┴┘╔╦╗╚╩╝-]*[-=─═]{2,}[\s|+:=─═┼╪╬├┤╠╣┌┬┐└┴┘╔╦╗╚╩╝-]*")
_DELIMITERS: Final = ("\t", ",", ";", "|")
_CELL: Final = {
    delimiter: re.compile(rf'(?:^|{re.escape(delimiter)})("(?:[^"]|"")*"|[^{re.escape(delimiter)}]*)')
    for delimiter in _DELIMITERS
}
_MAX_COLUMNS: Final = 24
"""Columns that say how much a row differs from the others: 60 of them took 13 ms in 32 KB of numbers."""

_SAMPLE: Final = 64
"""Rows that tell how many cells a row has."""

_CHUNK: Final = 512
"""Rows that are cut into cells at once."""

_GAP: Final = re.compile(r"\s{2,}|\t")


@dataclass(slots=True)
class Grid:
    """A table as it was written.

    Args:
        head: What stands before the rows, such as their names.
        rows: The rows; one may span lines.
        columns: The cells by column, as far as most rows have them.
        tail: What stands behind the rows.
        indent: What stands before a note.
        notes: The rows that are notes of an earlier shortening, and how many rows each stands for.
    """

    head: list[str]
    rows: list[str]
    columns: Iterable[Sequence[str]]
    tail: list[str]
    indent: str = ""
    notes: dict[int, int] = field(init=False)

    def __post_init__(self) -> None:
        found = [(number, _NOTE.fullmatch(row)) for number, row in enumerate(self.rows) if row.endswith(_NOTE_ENDS)]
        self.notes = {number: int(note[1]) for number, note in found if note}


class TableCompressor:
    """Keeps the names of the columns and the rows that matter most."""

    def compress(self, text: str, budget: Budget, *, query: str | None = None) -> Compressed:
        """Return `text` without the ordinary rows of a long table; over budget, with as many rows as there is room for."""
        if budget.max_tokens is not None and budget.fits(text):
            return Compressed(text=text)
        grid = _read(text)
        if budget.max_tokens is not None:
            return within(grid, budget, query=query)
        is_long = len(grid.rows) >= _LONG_ROWS and len(text) >= _LONG_CHARS
        if not is_long or grid.notes:
            return Compressed(text=text)
        return _written(grid, odd_rows(grid.rows, grid.columns, share=_ODD_SHARE, query=query))


def within(grid: Grid, budget: Budget, *, query: str | None, frame: AbstractSet[int] = frozenset()) -> Compressed:
    """Take rows in the order of their importance while there is room.

    Args:
        grid: The table.
        budget: Says how much room there is.
        query: What the reader wants to know.
        frame: Rows that go before all others.
    """
    costs = row_costs(grid.rows, budget.counter)
    order, _ = order_rows(grid.rows, grid.columns, costs, room=AMPLE * (budget.max_tokens or 0), query=query)
    order = [*sorted(frame), *(row for row in order if row not in frame)]
    around = estimate("\n".join([*grid.head, *grid.tail]))
    return aim(lambda room: _written(grid, _taken(order, costs, room)), budget, reserve=around) or _written(grid, ())


def _taken(order: Sequence[int], costs: Sequence[float], room: float) -> set[int]:
    kept = {-1, len(costs)}
    for row in order:
        if room < 1:
            break
        cost = costs[row] + GAP_COST * (1 - (row - 1 in kept) - (row + 1 in kept))
        if cost <= room:
            room -= cost
            kept.add(row)
    return kept - {-1, len(costs)}


def _written(grid: Grid, kept: Iterable[int]) -> Compressed:
    """Return the rows of `kept` in their order, with a counted note wherever some are missing."""
    kept = {*kept} - grid.notes.keys()
    out, missing, previous = [*grid.head], 0, -1
    for row in sorted({*kept, *grid.notes}):
        missing += row - previous - 1
        previous = row
        if row in grid.notes:
            missing += grid.notes[row]
            continue
        out += [grid.indent + _note(missing), grid.rows[row]] if missing else [grid.rows[row]]
        missing = 0
    missing += len(grid.rows) - previous - 1
    out += [grid.indent + _note(missing)] if missing else []
    lost = len(grid.rows) - len(kept) - len(grid.notes)
    omissions = (Omission(what="rows", count=lost),) if lost else ()
    return Compressed(text="\n".join([*out, *grid.tail]), omissions=omissions)


def _note(missing: int) -> str:
    return f"…{missing} {'rows' if missing > 1 else 'row'}"


def _read(text: str) -> Grid:
    lines = text.split("\n")
    end = text.rstrip().count("\n") + 1
    lines, tail = lines[:end], lines[end:]
    start = _head_lines(lines)
    body = lines[start:]
    if body and _RULE.fullmatch(body[-1]):
        tail = [body.pop(), *tail]
    delimiter = _delimiter(lines[:20])
    rows = _records(body) if delimiter in ("\t", ",", ";") else body
    return Grid(lines[:start], rows, _Columns(rows, delimiter), tail)


def _head_lines(lines: Sequence[str]) -> int:
    """Return how many lines name the columns: those up to the last rule near the top, or one."""
    rules = [index for index, line in enumerate(lines[:4]) if _RULE.fullmatch(line)]
    return rules[-1] + 1 if rules else min(1, len(lines))


def _delimiter(lines: Sequence[str]) -> str | None:
    """Return what stands between the cells of every line, a comma before a bar; None in a listing."""
    filled = [line for line in lines if line.strip() and not _RULE.fullmatch(line)]
    shares = {d: sum(d in line for line in filled) / max(1, len(filled)) for d in _DELIMITERS}
    best = max(_DELIMITERS, key=lambda d: shares[d])
    return best if shares[best] >= 0.9 else None


def _records(lines: list[str]) -> list[str]:
    """Join the lines of a record whose quoted cell spans them; a quote that never closes joins none."""
    records, done = list[str](), 0
    for start in [index for index, line in enumerate(lines) if '"' in line and line.count('"') % 2]:
        if start < done:
            continue
        near = range(start + 1, min(len(lines), start + _MAX_RECORD_LINES))
        end = next((index + 1 for index in near if lines[index].count('"') % 2), start + 1)
        records += [*lines[done:start], "\n".join(lines[start:end])]
        done = end
    return records + lines[done:]


class _Columns:
    """Cuts the cells of one column out of the rows at a time: all cells at once take ten times the memory of the text."""

    def __init__(self, rows: Sequence[str], delimiter: str | None) -> None:
        self._rows = rows
        self._delimiter = delimiter

    def __iter__(self) -> Iterator[Sequence[str]]:
        sample = self._rows[:: 1 + len(self._rows) // _SAMPLE]
        widths = sorted([len(_cells(row, self._delimiter)) for row in sample])
        texts: list[list[str]] = [[] for _ in range(min(widths[len(widths) // 2], _MAX_COLUMNS) if widths else 0)]
        for start in range(0, len(self._rows), _CHUNK):
            columns = self._cut(self._rows[start : start + _CHUNK], len(texts))
            for text, column in zip(texts, columns, strict=False):
                text.append("\n".join(column))
        while texts:
            yield [*map(str.strip, "\n".join(texts.pop(0)).split("\n"))]

    def _cut(self, rows: Sequence[str], width: int) -> Iterable[Sequence[str]]:
        """Cut rows into at least `width` columns; rows that nothing is odd about by one call for all of them."""
        delimiter = self._delimiter
        if delimiter and {*map(str.count, rows, repeat(delimiter))} == {width - 1}:
            text = delimiter.join(rows)
            if '"' not in text:
                cells = text.split(delimiter)
                return [cells[column::width] for column in range(width)]
        ragged = [_cells(row, delimiter) for row in rows]
        return [column[1:] for column in zip_longest([""] * width, *ragged, fillvalue="")]


def _cells(row: str, delimiter: str | None) -> list[str]:
    """Cut one row into its cells, none of which spans lines any more."""
    if delimiter is None:
        row = row.strip()
        return _GAP.split(row) if _GAP.search(row) else row.split()
    if '"' not in row:
        return row.split(delimiter)
    return [cell.strip().strip('"').replace("\n", " ") for cell in _CELL[delimiter].findall(row)]
