"""The lines of a written document: fields, tables and blocks of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

_WIDTH: Final = 160
"""Fields share a line up to about this many characters: spaces join words into fewer tokens than newlines do."""


@dataclass(slots=True)
class Table:
    """A run of alike objects: a heading, then one line per row.

    Args:
        heading: Names the columns, the fixed values and the number of rows.
        rows: The written rows.
        columns: The same cells by column.
        places: The numbers of the written rows among all rows.
        total: How many rows there are.
    """

    heading: str
    rows: list[str]
    columns: list[list[str]]
    places: Sequence[int]
    total: int


@dataclass(slots=True)
class Fields:
    """Fields or items that need no line of their own."""

    parts: list[str]


@dataclass(slots=True)
class Block:
    """An object or array with lines between its brackets."""

    start: str
    lines: list[Line]
    end: str


Line = Fields | Table | Block


def append(lines: list[Line], part: str) -> None:
    """Add one field or item."""
    if lines and isinstance(lines[-1], Fields):
        lines[-1].parts.append(part)
    else:
        lines.append(Fields([part]))


def extend(lines: list[Line], line: Line) -> None:
    """Add a line; fields join the fields before them."""
    if isinstance(line, Fields):
        for part in line.parts:
            append(lines, part)
    else:
        lines.append(line)


def wrapped(start: str, lines: list[Line], end: str) -> Line:
    """Put brackets around lines; a few short fields become one field."""
    if not lines:
        return Fields([f"{start}{end}"])
    only = lines[0] if len(lines) == 1 else None
    if isinstance(only, Fields) and sum(map(len, only.parts)) + len(only.parts) <= _WIDTH:
        return Fields([f"{start}{' '.join(only.parts)}{end}"])
    return Block(start, lines, end)


def packed(parts: Iterable[str]) -> Iterator[str]:
    """Put parts into lines of about 160 characters."""
    line = ""
    for part in parts:
        if line and len(line) + len(part) >= _WIDTH:
            yield line
            line = part
        else:
            line = f"{line} {part}" if line else part
    if line:
        yield line
