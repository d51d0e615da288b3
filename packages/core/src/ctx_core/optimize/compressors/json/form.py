"""Writes a JSON tree in fewer tokens: `key=value` fields, and one table for every run of alike objects."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Final, cast

from ctx_core.optimize.compressors.base import Omission
from ctx_core.optimize.compressors.json.columns import Column, columns_of, settle
from ctx_core.optimize.compressors.json.reader import SCALARS, Pairs, Value, children
from ctx_core.optimize.compressors.json.repeats import repeated_objects
from ctx_core.optimize.compressors.json.words import CommaWords, Keys, Words

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

_WIDTH: Final = 160
"""Fields share a line up to about this many characters: spaces join words into fewer tokens than newlines do."""

_MIN_ROWS: Final = 2

_MAX_ROW: Final = 600
"""Characters of the mean row from which single fields, not rows, are what a budget chooses from."""

_SAMPLE: Final = 24
"""Rows that decide whether a table's cells stand between commas or spaces."""


@dataclass(slots=True)
class Table:
    """A run of alike objects: a heading, then one line per row.

    Args:
        heading: Names the columns, the fixed values and the number of rows.
        rows: The written rows.
        columns: The same cells by column.
    """

    heading: str
    rows: list[str]
    columns: list[list[str]]


@dataclass(slots=True)
class Fields:
    """Fields or items that need no line of their own."""

    parts: list[str]

    @property
    def width(self) -> int:
        """Characters of all parts in one line."""
        return sum(map(len, self.parts)) + len(self.parts) - 1


@dataclass(slots=True)
class Block:
    """An object or array with lines between its brackets."""

    start: str
    lines: list[Line]
    end: str


Line = Fields | Table | Block


class Form:
    """Writes one document; `lines` are what it wrote."""

    def __init__(self, root: Value, *, find_repeats: bool, max_chars: int | None = None) -> None:
        self._words = Words(max_chars)
        self._comma_words = CommaWords(max_chars)
        self._keys = Keys()
        self._repeated = repeated_objects(root) if find_repeats else {}
        self._is_partial = max_chars is not None
        self._defined: dict[int, str] = {}
        self.lines = self._document(root)

    @property
    def has_references(self) -> bool:
        """Whether some object is written as a reference to an equal one."""
        return bool(self._defined)

    @property
    def omissions(self) -> list[Omission]:
        """What was cut out of long strings."""
        cut = self._words.cut + self._comma_words.cut
        return [Omission(what="characters", count=cut)] if cut else []

    @property
    def written(self) -> Iterator[object]:
        """Every distinct scalar that was written."""
        return chain(self._words, self._comma_words)

    def _document(self, root: Value) -> list[Line]:
        if isinstance(root, dict):
            table = self._keyed_table("", root)
            return [table] if table else self._fields(root.items())
        return [self._block("", root)]

    # One value in one line -------------------------------------------------

    def _inline(self, value: Value | object) -> str:
        """Write any value within a line."""
        if isinstance(value, dict):
            tag, is_known = self._reference(value)
            return tag if is_known else f"{tag}{self._inline_object(value.items())}"
        if isinstance(value, Pairs):
            return self._inline_object(value)
        if isinstance(value, list):
            words = self._words
            return f"[{' '.join([words[x] if x.__class__ in SCALARS else self._inline(x) for x in value])}]"
        return self._words[value]

    def _inline_object(self, members: Iterable[tuple[str, Value]]) -> str:
        words, keys = self._words, self._keys
        fields = [f"{keys[key]}={words[x] if x.__class__ in SCALARS else self._inline(x)}" for key, x in members]
        return f"{{{' '.join(fields)}}}"

    def _reference(self, value: dict[str, Value]) -> tuple[str, bool]:
        """Return the tag of an object that stands in the document more than once, and whether it was already written."""
        number = self._repeated.get(id(value))
        if number is None:
            return "", False
        name = self._defined.get(number)
        if name is not None:
            return f"*{name}", True
        self._defined[number] = str(len(self._defined) + 1)
        return f"&{self._defined[number]}", False

    # One value in lines of its own -----------------------------------------

    def _fields(self, members: Iterable[tuple[str, Value]]) -> list[Line]:
        words, keys = self._words, self._keys
        lines: list[Line] = []
        for key, value in members:
            if value.__class__ in SCALARS:
                _append(lines, f"{keys[key]}={words[value]}")
            else:
                _extend(lines, self._block(keys[key], value))
        return lines

    def _block(self, key: str, value: Value) -> Line:
        """Write a container behind its key."""
        name = f"{key}=" if key else ""
        if isinstance(value, list):
            return self._row_table(key, value) or _wrapped(f"{name}[", self._items(value), "]")
        if isinstance(value, Pairs):
            return _wrapped(f"{name}{{", self._fields(value), "}")
        if isinstance(value, dict):
            tag, is_known = self._reference(value)
            if is_known:
                return Fields([f"{name}{tag}"])
            table = None if tag else self._keyed_table(key, value)
            return table or _wrapped(f"{name}{tag}{{", self._fields(value.items()), "}")
        return Fields([f"{name}{self._words[value]}"])

    def _items(self, items: list[Value]) -> list[Line]:
        lines: list[Line] = []
        for item in items:
            if item.__class__ in SCALARS:
                _append(lines, self._words[item])
            else:
                _extend(lines, self._block("", item))
        return lines

    # Tables ----------------------------------------------------------------

    def _row_table(self, key: str, items: list[Value]) -> Table | None:
        if len(items) < _MIN_ROWS:
            return None
        if all(item.__class__ is dict for item in items):
            return self._table(f"{key}[{len(items)}]", items)
        if not all(item.__class__ is list and item for item in items):
            return None
        rows = [*chain.from_iterable(cast("list[list[Value]]", items))]
        if not all(row.__class__ is dict for row in rows):
            return None
        sizes = [str(len(item)) for item in cast("list[list[Value]]", items)]
        size = sizes[0] if len(set(sizes)) == 1 else " ".join(sizes)
        return self._table(f"{key}[{len(items)}][{size}]", rows)

    def _keyed_table(self, key: str, members: dict[str, Value]) -> Table | None:
        if len(members) < _MIN_ROWS or not all(member.__class__ is dict for member in members.values()):
            return None
        names = Column("KEY", cells=[self._keys[name] for name in members])
        return self._table(f"{key}{{{len(members)}}}", [*members.values()], names)

    def _table(self, start: str, rows: Sequence[Value], *names: Column) -> Table | None:
        words = self._comma_words if _prefers_commas(rows) else self._words
        columns = columns_of(
            cast("Sequence[dict[str, Value]]", rows),
            key=self._keys.__getitem__,
            cell=lambda value: self._inline(value) if isinstance(value, (dict, list, Pairs)) else words[value],
            is_whole=self._are_written_whole,
        )
        if columns is None:
            return None
        columns = [*names, *columns]
        if len(columns) == 1 and words is self._comma_words:
            return None
        separator = "," if words is self._comma_words else " "
        cells = [column.cells for column in settle(columns)]
        heading = separator.join([column.heading(separator) for column in columns])
        written = [*map(separator.join, zip(*cells, strict=True))]
        if self._is_partial and sum(map(len, written)) > _MAX_ROW * len(written):
            return None
        return Table(f"{start}({heading})", written, cells)

    def _are_written_whole(self, values: Sequence[Value | object]) -> bool:
        """Say whether a column of objects is mostly references."""
        numbers = [self._repeated.get(id(value)) for value in values]
        return None not in numbers and 1 < len(set(numbers)) <= len(numbers) // 2


def _append(lines: list[Line], part: str) -> None:
    if lines and isinstance(lines[-1], Fields):
        lines[-1].parts.append(part)
    else:
        lines.append(Fields([part]))


def _extend(lines: list[Line], line: Line) -> None:
    if isinstance(line, Fields):
        for part in line.parts:
            _append(lines, part)
    else:
        lines.append(line)


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


def _wrapped(start: str, lines: list[Line], end: str) -> Line:
    """Put brackets around lines; a few short fields stay a field themselves."""
    if not lines:
        return Fields([f"{start}{end}"])
    if len(lines) == 1 and isinstance(lines[0], Fields) and lines[0].width <= _WIDTH:
        return Fields([f"{start}{' '.join(lines[0].parts)}{end}"])
    return Block(start, lines, end)


def _prefers_commas(rows: Sequence[Value]) -> bool:
    """Say whether commas between cells cost less: they spare spaced strings their quotes, but a space joins a word."""
    gain = 0
    todo: list[Value] = [*rows[:_SAMPLE]]
    while todo:
        for value in children(todo.pop()):
            if isinstance(value, str):
                gain += (2 if " " in value else -1) - 2 * ("," in value)
            elif isinstance(value, dict):
                todo.append(value)
            else:
                gain += value is None
    return gain > 0
