"""Writes a JSON tree in fewer tokens: `key=value` fields, and one table for every run of alike objects."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import chain
from typing import TYPE_CHECKING, Final, cast

from ctx_core.optimize.compressors.json.columns import Column, columns_of, settle
from ctx_core.optimize.compressors.json.reader import SCALARS, Pairs, Value, children
from ctx_core.optimize.compressors.json.repeats import repeated_objects
from ctx_core.optimize.compressors.json.words import CommaWords, Keys, Words

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

_WIDTH: Final = 160
"""Fields share a line up to about this many characters: spaces join words into fewer tokens than newlines do."""

_MIN_ROWS: Final = 2

_SAMPLE: Final = 24
"""Rows that decide whether a table's cells stand between commas or spaces."""


@dataclass(slots=True)
class Table:
    """A run of alike objects: a heading, then one line per row.

    Args:
        heading: Names the columns, the fixed values and the number of rows.
        rows: The written rows.
        members: What each row was written from.
    """

    heading: str
    rows: list[str]
    members: Sequence[Value] = field(repr=False)


Line = str | Table


class Form:
    """Writes one document; `lines` are what it wrote."""

    def __init__(self, root: Value, *, find_repeats: bool) -> None:
        self._words = Words()
        self._comma_words = CommaWords()
        self._keys = Keys()
        self._repeated = repeated_objects(root) if find_repeats else {}
        self._defined: dict[int, str] = {}
        self.lines = self._document(root)

    @property
    def has_references(self) -> bool:
        """Whether some object is written as a reference to an equal one."""
        return bool(self._defined)

    @property
    def written(self) -> Iterator[object]:
        """Every distinct scalar that was written."""
        return chain(self._words, self._comma_words)

    def _document(self, root: Value) -> list[Line]:
        if isinstance(root, dict):
            table = self._keyed_table("", root)
            return [table] if table else self._fields(root.items())
        return self._block("", root)

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
        packed = _Packed()
        words, keys = self._words, self._keys
        for key, value in members:
            if value.__class__ in SCALARS:
                packed.add(f"{keys[key]}={words[value]}")
            else:
                packed.extend(self._block(keys[key], value))
        return packed.lines

    def _block(self, key: str, value: Value) -> list[Line]:
        """Write a container behind its key."""
        name = f"{key}=" if key else ""
        if isinstance(value, list):
            table = self._row_table(key, value)
            return [table] if table else _wrapped(f"{name}[", self._items(value), "]")
        if isinstance(value, Pairs):
            return _wrapped(f"{name}{{", self._fields(value), "}")
        if isinstance(value, dict):
            tag, is_known = self._reference(value)
            if is_known:
                return [f"{name}{tag}"]
            table = None if tag else self._keyed_table(key, value)
            return [table] if table else _wrapped(f"{name}{tag}{{", self._fields(value.items()), "}")
        return [f"{name}{self._words[value]}"]

    def _items(self, items: list[Value]) -> list[Line]:
        packed = _Packed()
        for item in items:
            if item.__class__ in SCALARS:
                packed.add(self._words[item])
            else:
                packed.extend(self._block("", item))
        return packed.lines

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
        return Table(f"{start}({heading})", [*map(separator.join, zip(*cells, strict=True))], rows)

    def _are_written_whole(self, values: Sequence[Value | object]) -> bool:
        """Say whether a column of objects is mostly references."""
        numbers = [self._repeated.get(id(value)) for value in values]
        return None not in numbers and 1 < len(set(numbers)) <= len(numbers) // 2


class _Packed:
    """Lines that short fields share."""

    def __init__(self) -> None:
        self.lines: list[Line] = []
        self._room = 0

    def add(self, part: str) -> None:
        if len(part) < self._room:
            self.lines[-1] = f"{self.lines[-1]} {part}"
            self._room -= len(part) + 1
        else:
            self.lines.append(part)
            self._room = _WIDTH - len(part)

    def extend(self, block: list[Line]) -> None:
        if len(block) == 1 and isinstance(block[0], str):
            self.add(block[0])
        else:
            self.lines.extend(block)
            self._room = 0


def _wrapped(start: str, lines: list[Line], end: str) -> list[Line]:
    """Put brackets around lines, within the line where there is but one."""
    if not lines:
        return [f"{start}{end}"]
    if len(lines) == 1 and isinstance(lines[0], str):
        return [f"{start}{lines[0]}{end}"]
    return [start, *lines, end]


def _prefers_commas(rows: Sequence[Value]) -> bool:
    """Say whether commas between cells cost less: they spare spaced strings their quotes and null its word."""
    spaced = others = nulls = 0
    todo: list[Value] = [*rows[:_SAMPLE]]
    while todo:
        for value in children(todo.pop()):
            if value is None:
                nulls += 1
            elif value.__class__ is str and " " in cast("str", value) and "," not in cast("str", value):
                spaced += 1
            elif value.__class__ is dict:
                todo.append(value)
            else:
                others += 1
    return 2 * spaced + nulls > others
