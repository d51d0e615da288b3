"""The lines of a written document: fields, tables and blocks of them."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, cast

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

_WIDTH: Final = 400
"""Fields share a line up to about this many characters: spaces join words into fewer tokens than newlines do."""

_MIN_SHARED_ROW: Final = 12
"""Characters of a row from which a reference to it costs less."""


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
Piece = str | Table | Block
"""What one value is written as: a field or item, or lines of its own."""


def joined(pieces: Iterable[Piece]) -> list[Line]:
    """Return the lines of an object or array; fields that stand side by side become one."""
    lines: list[Line] = []
    fields: list[str] = []
    for piece in pieces:
        if not isinstance(piece, str):
            lines.append(piece)
            fields = []
            continue
        if not fields:
            lines.append(Fields(fields))
        fields.append(piece)
    return lines


def wrapped(start: str, pieces: Sequence[Piece], end: str) -> Piece:
    """Put brackets around what an object or array holds; a few short fields become one field."""
    try:
        inside = " ".join(cast("Sequence[str]", pieces))
    except TypeError:  # not all are fields
        inside = None
    if inside is not None and len(inside) < _WIDTH:
        return f"{start}{inside}{end}"
    return Block(start, joined(pieces), end)


def packed(parts: Iterable[str]) -> Iterator[str]:
    """Put parts into lines of about 400 characters."""
    line = ""
    for part in parts:
        if line and len(line) + len(part) >= _WIDTH:
            yield line
            line = part
        else:
            line = f"{line} {part}" if line else part
    if line:
        yield line


def share_rows(rows: list[str], new_tag: Callable[[], str]) -> list[str]:
    """Write rows that stand in a table more than once in full only where they come first."""
    if len(set(rows)) == len(rows):
        return rows
    counts, tags = Counter(rows), dict[str, str]()
    shared: list[str] = []
    for row in rows:
        if row in tags:
            shared.append(f"*{tags[row]}")
        elif counts[row] > 1 and len(row) >= _MIN_SHARED_ROW:
            tags[row] = new_tag()
            shared.append(f"&{tags[row]} {row}")
        else:
            shared.append(row)
    return shared
