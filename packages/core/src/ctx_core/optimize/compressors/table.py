"""CSV, TSV, Markdown and box tables, and listings in columns: rows by importance, as they were written."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import partial
from itertools import zip_longest
from typing import TYPE_CHECKING, Final

from ctx_core.optimize.compressors.aim import aim
from ctx_core.optimize.compressors.base import Budget, Compressed, Omission
from ctx_core.optimize.compressors.rows import odd_rows, order_rows, rough_cost
from ctx_core.tokens import estimate

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from collections.abc import Set as AbstractSet

_LONG_ROWS: Final = 60
_LONG_CHARS: Final = 8_000
_ODD_SHARE: Final = 0.5
_GAP_COST: Final = 5
_MAX_RECORD_LINES: Final = 50

_NOTE: Final = re.compile(r"…(\d+) rows?")
_RULE: Final = re.compile(r"[\s|+:=─═┼╪╬├┤╠╣┌┬┐└┴┘╔╦╗╚╩╝-]*[-=─═]{2,}[\s|+:=─═┼╪╬├┤╠╣┌┬┐└┴┘╔╦╗╚╩╝-]*")
_DELIMITERS: Final = ("\t", ",", ";", "|")
_CELL: Final = {
    delimiter: re.compile(rf'(?:^|{re.escape(delimiter)})("(?:[^"]|"")*"|[^{re.escape(delimiter)}]*)')
    for delimiter in _DELIMITERS
}
_MAX_COLUMNS: Final = 60
_SAMPLE: Final = 512
"""Rows that tell how many cells a row has, and rows cut into cells at once."""

_GAP: Final = re.compile(r"\s{2,}|\t")


@dataclass(frozen=True, slots=True)
class Grid:
    """A table as it was written.

    Args:
        head: What stands before the rows, such as their names.
        rows: The rows; one may span lines.
        columns: The cells by column, as far as most rows have them.
        tail: What stands behind the rows.
    """

    head: list[str]
    rows: list[str]
    columns: Iterable[Sequence[str]]
    tail: list[str]


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
        if not is_long or any(map(_NOTE.fullmatch, grid.rows)):
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
    costs = [*map(rough_cost, grid.rows)]
    order, _ = order_rows(grid.rows, grid.columns, costs, query=query)
    order = [*sorted(frame), *(row for row in order if row not in frame)]
    around = estimate("\n".join([*grid.head, *grid.tail]))
    return aim(lambda room: _written(grid, _taken(order, costs, room)), budget, reserve=around) or _written(grid, ())


def _taken(order: Sequence[int], costs: Sequence[float], room: float) -> set[int]:
    kept: set[int] = set()
    for row in order:
        if costs[row] + _GAP_COST <= room:
            room -= costs[row] + _GAP_COST
            kept.add(row)
    return kept


def _written(grid: Grid, kept: Iterable[int]) -> Compressed:
    """Return the rows of `kept` in their order, with a counted note wherever some are missing."""
    kept = set(kept)
    out, missing, lost = [*grid.head], 0, 0
    for index, row in enumerate(grid.rows):
        earlier = _NOTE.fullmatch(row) if row.startswith("…") else None
        if earlier or index not in kept:
            missing += int(earlier[1]) if earlier else 1
            lost += 0 if earlier else 1
            continue
        out += [_note(missing), row] if missing else [row]
        missing = 0
    out += [_note(missing)] if missing else []
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
    rows = [*_records(body)] if delimiter in ("\t", ",", ";") else body
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


def _records(lines: Sequence[str]) -> Iterator[str]:
    """Join the lines of a record whose quoted cell spans them; a quote that never closes joins none."""
    index = 0
    while index < len(lines):
        end, quotes = index + 1, lines[index].count('"')
        while quotes % 2 and end < min(len(lines), index + _MAX_RECORD_LINES):
            quotes += lines[end].count('"')
            end += 1
        if quotes % 2:
            end = index + 1
        yield "\n".join(lines[index:end])
        index = end


class _Columns:
    """Cuts the cells of one column out of the rows at a time: all cells at once take ten times the memory of the text."""

    def __init__(self, rows: Sequence[str], delimiter: str | None) -> None:
        self._rows = rows
        self._cells = partial(_cells, delimiter=delimiter)

    def __iter__(self) -> Iterator[Sequence[str]]:
        sample = self._rows[:: 1 + len(self._rows) // _SAMPLE]
        widths = sorted([len(self._cells(row)) for row in sample])
        texts: list[list[str]] = [[] for _ in range(min(widths[len(widths) // 2], _MAX_COLUMNS) if widths else 0)]
        for start in range(0, len(self._rows), _SAMPLE):
            cells = [self._cells(row) for row in self._rows[start : start + _SAMPLE]]
            blank = [""] * len(texts)
            for text, column in zip(texts, zip_longest(blank, *cells, fillvalue=""), strict=False):
                text.append("\n".join(column[1:]))
        while texts:
            yield [*map(str.strip, "\n".join(texts.pop(0)).split("\n"))]


def _cells(row: str, delimiter: str | None) -> list[str]:
    """Cut one row into its cells, none of which spans lines any more."""
    if delimiter is None:
        row = row.strip()
        return _GAP.split(row) if _GAP.search(row) else row.split()
    if '"' not in row:
        return row.split(delimiter)
    return [cell.strip().strip('"').replace("\n", " ") for cell in _CELL[delimiter].findall(row)]
