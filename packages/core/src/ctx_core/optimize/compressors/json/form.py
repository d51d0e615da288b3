"""Writes a JSON tree in fewer tokens: `key=value` fields, and one table for every run of alike objects."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Final, cast

from ctx_core.optimize.compressors.base import Budget, Omission
from ctx_core.optimize.compressors.json import legend
from ctx_core.optimize.compressors.json.columns import Column, columns_of, settle
from ctx_core.optimize.compressors.json.layout import Line, Piece, Table, joined, packed, share_rows, wrapped
from ctx_core.optimize.compressors.json.reader import SCALARS, Embedded, Members, Object, Pairs, Value
from ctx_core.optimize.compressors.json.survey import NO_REPETITION, Survey
from ctx_core.optimize.compressors.json.words import ABSENT, CommaWords, FieldWords, Keys, Words, prefers_commas
from ctx_core.optimize.compressors.rows import odd_rows, row_costs

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_CONTAINERS: Final = frozenset({Object, list, Pairs, Embedded})

_MIN_ROWS: Final = 2

_MAX_ROW: Final = 600
"""Characters of the mean row from which single fields, not rows, are what a budget chooses from."""

_ODD_SHARE: Final = 0.5
"""Of a table that is longer than the natural level, at least this share of the rows is written: those that differ most.

On public data every row that people asked for is among the first third of that order.
"""

_MAX_LISTED: Final = 120
"""Characters up to which the cells of the only column share a line."""

_COUNTED: Final = 10
"""Rows from which a heading says how many they are: fewer are seen at a glance."""

_SLICE: Final = 128
"""Items of an array that are let go of together."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Record:
    """Objects of one shape that stand here and there: each is written as `@1(…)`, its keys once at the top."""

    name: str
    heading: str
    columns: list[Column]
    rows: dict[int, int]


class Form:
    """Writes one document; `lines` are what it wrote, `records` the headings of the records among them.

    Args:
        root: The document.
        find_repeats: Say what the document repeats once.
        budget: Where it asks for the natural level, nothing will ask for less: leave out of tables that are longer the rows
            that differ least, and release the document while writing it, because it takes up to ten times the memory of its
            text.
        max_chars: Cut longer strings in their middle, and make no table of objects that are longer than a few fields.
        query: What the reader wants to know.
    """

    def __init__(
        self,
        root: Value,
        *,
        find_repeats: bool = False,
        budget: Budget | None = None,
        max_chars: int | None = None,
        query: str | None = None,
    ) -> None:
        self._survey = Survey(root) if find_repeats else NO_REPETITION
        self._tags = 0
        self._words = Words(self._survey.texts.keys(), name=self._new_tag, max_chars=max_chars)
        self._comma_words = CommaWords(self._survey.texts.keys(), name=self._new_tag, max_chars=max_chars)
        self._plain_words = Words(max_chars=max_chars)
        self._plain_comma_words = CommaWords(max_chars=max_chars)
        self._keys = Keys()
        self._field_words = FieldWords(self._words, self._keys)
        self._has_tables = self._has_patterns = self._has_embedded = self._has_wide_rows = self._has_texts = False
        self._is_partial = max_chars is not None
        self._budget = budget or Budget(max_tokens=0)
        self.is_last = self._budget.max_tokens is None
        self._query = query
        self._written_objects: dict[int, str] = {}
        self._records: dict[tuple[str, ...], _Record | None] = {}
        self.lines = self._document(root)
        self.records = [f"{record.name}({record.heading})" for record in self._records.values() if record]
        self._survey = NO_REPETITION
        self._records.clear()

    @property
    def omissions(self) -> list[Omission]:
        """What was cut out of long strings."""
        cut = self._words.cut + self._comma_words.cut
        return [Omission(what="characters", count=cut)] if cut else []

    @property
    def used(self) -> set[str]:
        """Which rules of the notation a reader has to know."""
        checks = {
            legend.TABLE: self._has_tables,
            legend.TEXT: self._has_texts,
            legend.PATTERN: self._has_patterns,
            legend.ABSENT: ABSENT in self._words or ABSENT in self._comma_words,
            legend.BLANK: None in self._comma_words,
            legend.EMBEDDED: self._has_embedded,
            legend.RECORD: bool(self.records),
            legend.TAG: self._tags > 0,
        }
        return {rule for rule, is_used in checks.items() if is_used}

    @property
    def written(self) -> Iterator[object]:
        """Every distinct scalar that was written."""
        return chain(self._words, self._comma_words)

    def reads_in_parts(self, max_chars: int) -> bool:
        """Say whether each field and row can be read without the others, and none is longer than a budget should choose from."""
        if self._tags or self.records or self._has_wide_rows:
            return False
        return all(len(value) <= max_chars for value in self.written if isinstance(value, str))

    def _new_tag(self) -> str:
        self._tags += 1
        return str(self._tags)

    def _document(self, root: Value) -> list[Line]:
        if isinstance(root, Object):
            table = self._keyed_table("", root)
            return joined([table] if table else self._fields(root))
        return joined([self._block("", root)])

    # One value in one line -------------------------------------------------

    def _inline(self, value: Value | object) -> str:
        """Write any value within a line."""
        if isinstance(value, Object):
            tag, is_known = self._reference(value)
            return tag if is_known else f"{tag}{self._record(value) or self._inline_object(value)}"
        if isinstance(value, Pairs):
            return self._inline_object(value)
        if isinstance(value, Embedded):
            self._has_embedded = True
            return f"json{self._inline(value.value)}"
        if isinstance(value, list):
            words = self._words
            return f"[{' '.join([words[x] if x.__class__ in SCALARS else self._inline(x) for x in value])}]"
        return self._words[value]

    def _inline_object(self, value: Members) -> str:
        words, keys, members = self._field_words, self._keys, zip(value.keys, value.values, strict=True)
        fields = [
            f"{keys[key]}{words[member] if member.__class__ in SCALARS else _behind_key(self._inline(member))}"
            for key, member in members
        ]
        return f"{{{' '.join(fields)}}}"

    def _reference(self, value: Object) -> tuple[str, bool]:
        """Return the tag of an object that stands in the document more than once, and whether it was already written."""
        number = self._survey.number(value)
        if number not in self._survey.repeated:
            return "", False
        if number in self._written_objects:
            return f"*{self._written_objects[number]}", True
        self._written_objects[number] = self._new_tag()
        return f"&{self._written_objects[number]}", False

    def _record(self, value: Object) -> str:
        """Write an object whose keys many others share by its values only; empty where it shares its keys with few."""
        if not self._survey.shapes:
            return ""
        keys = value.keys
        if keys not in self._records:
            self._records[keys] = self._new_record(value)
        record = self._records[keys]
        if record is None:
            return ""
        row = record.rows.get(self._survey.number(value) or 0)
        if row is None:
            return ""
        return f"{record.name}({' '.join([self._inline(column.values[row]) for column in record.columns])})"

    def _new_record(self, value: Object) -> _Record | None:
        alike = self._survey.shapes.get(value.keys, [])
        columns = columns_of(alike, key=self._keys.__getitem__, is_whole=self._are_written_whole)
        if not columns:
            return None
        kept = settle(columns, write=lambda value, _: self._plain(value, self._plain_words))
        return _Record(
            name=f"@{len(self._records) + 1}",
            heading=" ".join([column.heading(" ") for column in columns]),
            columns=kept,
            rows={self._survey.number(row) or 0: index for index, row in enumerate(alike)},
        )

    def _constant(self, value: Value | object, words: Words, uses: int) -> str:
        """Write what every row of a table holds; where the document holds it nowhere else, nothing will refer to it."""
        if isinstance(value, str) and self._survey.texts.get(value) == uses:
            return self._plain(value, self._plain_comma_words if words is self._comma_words else self._plain_words)
        return self._cell(value, words)

    def _plain(self, value: Value | object, words: Words) -> str:
        """Write a scalar or a list of scalars without tags."""
        return f"[{' '.join([words[x] for x in value])}]" if isinstance(value, list) else words[value]

    # One value in lines of its own -----------------------------------------

    def _fields(self, value: Members) -> list[Piece]:
        words, keys, block = self._field_words, self._keys, self._block
        return [
            f"{keys[key]}{words[member]}" if member.__class__ in SCALARS else block(keys[key], member)
            for key, member in zip(value.keys, value.values, strict=True)
        ]

    def _items(self, items: list[Value]) -> Sequence[Piece]:
        if not self.is_last or len(items) <= _SLICE:
            return self._pieces(items)
        is_flat = SCALARS.issuperset(map(type, items))
        written = chain.from_iterable(map(self._pieces, _drained(items)))
        return [*(packed(cast("Iterator[str]", written)) if is_flat else written)]

    def _pieces(self, items: list[Value]) -> Sequence[Piece]:
        words, block = self._words, self._block
        if SCALARS.issuperset(map(type, items)):
            return words.write_all(items)
        return [words[item] if item.__class__ in SCALARS else block("", item) for item in items]

    def _block(self, start: str, value: Value, joint: str = "=") -> Piece:
        """Write a container behind `start`, which is empty, a key, or ends with `json`; `joint` goes before what is no bracket."""
        if isinstance(value, Object):
            return self._object(start, value, joint if start else "")
        if isinstance(value, list):
            return self._row_table(start, value) or wrapped(f"{start}[", self._items(value), "]")
        if isinstance(value, Pairs):
            return wrapped(f"{start}{{", self._fields(value), "}")
        self._has_embedded = True
        return self._block(f"{start}{joint if start else ''}json", cast("Embedded", value).value, "")

    def _object(self, start: str, value: Object, joint: str) -> Piece:
        tag, is_known = self._reference(value) if self._survey.repeated else ("", False)
        record = self._record(value) if self._survey.shapes and not is_known else ""
        if is_known or record:
            return f"{start}{joint}{tag}{record}"
        if tag:
            return wrapped(f"{start}{joint}{tag}{{", self._fields(value), "}")
        return self._keyed_table(start, value) or wrapped(f"{start}{{", self._fields(value), "}")

    # Tables ----------------------------------------------------------------

    def _row_table(self, start: str, items: list[Value]) -> Table | str | None:
        if len(items) < _MIN_ROWS or items[0].__class__ in SCALARS:
            return None
        kinds = set(map(type, items))
        if kinds == {Object}:
            return self._table(start, items)
        if kinds != {list} or not all(items):
            return None
        rows = [*chain.from_iterable(cast("list[list[Value]]", items))]
        if set(map(type, rows)) != {Object}:
            return None
        sizes = [str(len(item)) for item in cast("list[list[Value]]", items)]
        size = sizes[0] if len(set(sizes)) == 1 else " ".join(sizes)
        return self._table(f"{start}[{len(items)}][{size}]", rows)

    def _keyed_table(self, start: str, value: Object) -> Table | str | None:
        if len(value.keys) < _MIN_ROWS or value[-1].__class__ is not Object:
            return None
        rows = [*value.values]
        if set(map(type, rows)) != {Object}:
            return None
        return self._table(start, rows, Column("KEY", value.keys))

    def _table(self, start: str, rows: list[Value], *names: Column) -> Table | str | None:
        """Write objects, one a line, or in one line what differs by one member; None where they have too little in common."""
        columns = columns_of(rows, key=self._keys.__getitem__, is_whole=self._are_written_whole)
        if not columns:
            return None
        columns, total = [*names, *columns], len(rows)
        words, separator = self._words, " "
        if len(columns) > 1 and prefers_commas(rows):
            words, separator = self._comma_words, ","
        if self.is_last:
            rows.clear()
        kept = self._settled(columns, words)
        heading = separator.join([column.heading(separator) for column in columns])
        self._has_tables = True
        self._has_patterns = self._has_patterns or "~" in heading
        # Members of an object have names to be looked up by; items of an array are instances.
        places = range(total) if names else self._places(kept, words, total)
        if len(places) < total:
            for column in kept:
                column.values = [column.values[place] for place in places]
        cells = self._cells(kept, words)
        written = [*map(separator.join, zip(*cells, strict=True))]
        if len(kept) == 1 and separator == " " and total < _COUNTED and sum(map(len, written)) < _MAX_LISTED:
            return f"{start}({heading})[{' '.join(written)}]"
        if not (self._is_partial or names) and len(kept) > 1:
            written = share_rows(written, self._new_tag)
        if sum(map(len, written)) > _MAX_ROW * len(written):
            if self._is_partial:
                return None
            self._has_wide_rows = True
        start = f"{start}[{total}]" if not start.endswith("]") and (total >= _COUNTED or not kept) else start
        return Table(f"{start}({heading})", written, [] if self.is_last else cells, places, total)

    def _settled(self, columns: list[Column], words: Words) -> list[Column]:
        """Move what need not stand in the rows into the heading; return the columns of the rows."""
        kept = settle(columns, write=lambda value, uses: self._constant(value, words, uses))
        for column in kept:
            column.is_text = words.are_number_like(column.values)
        self._has_texts = self._has_texts or any(column.is_text for column in kept)
        return kept

    def _places(self, columns: Sequence[Column], words: Words, total: int) -> Sequence[int]:
        """Return the numbers of the rows to write: all of them, or of a long table those that differ from the rest."""
        if not self.is_last:
            return range(total)
        scalars = [column for column in columns if _holds_scalars(column)]
        preview = partial(self._preview, words=words)
        rows = [*map(" ".join, zip(*map(preview, scalars), strict=True))]
        tokens = sum(row_costs(rows, self._budget.counter))
        if tokens <= self._budget.natural_tokens:
            return range(total)
        share = max(_ODD_SHARE, self._budget.natural_tokens / tokens)
        # Written again, because to hold all cells at once would take as much memory as the text.
        return odd_rows(rows, map(preview, scalars), share=share, query=self._query)

    def _preview(self, column: Column, words: Words) -> list[str]:
        """Write a column of scalars without tags."""
        words = words if self._is_flat(column) else self._plain_words
        return words.write_texts(column.values) if column.is_text else words.write_all(column.values)

    def _cells(self, columns: Sequence[Column], words: Words) -> list[list[str]]:
        """Write all cells: row by row where some may define what others refer to."""
        cells = [self._preview(column, words) if self._is_flat(column) else [] for column in columns]
        rich = [(column, out) for column, out in zip(columns, cells, strict=True) if not out]
        for row in range(len(rich[0][0].values) if rich else 0):
            for column, out in rich:
                out.append(self._cell(column.values[row], words))
        return cells

    def _cell(self, value: Value | object, words: Words) -> str:
        return self._inline(value) if value.__class__ in _CONTAINERS else words[value]

    def _is_flat(self, column: Column) -> bool:
        return _holds_scalars(column) and self._survey.texts.keys().isdisjoint(column.values)

    def _are_written_whole(self, values: Sequence[Value | object]) -> bool:
        """Say whether a column of objects is mostly references."""
        numbers = {self._survey.number(cast("Value", value)) for value in values}
        return None not in numbers and 1 < len(numbers) <= len(values) // 2


def _drained(items: list[Value]) -> Iterator[list[Value]]:
    """Yield the items some at once, and let go of them."""
    for start in range(0, len(items), _SLICE):
        some = items[start : start + _SLICE]
        items[start : start + _SLICE] = [None] * len(some)
        yield some


def _holds_scalars(column: Column) -> bool:
    return _CONTAINERS.isdisjoint(map(type, column.values))


def _behind_key(written: str) -> str:
    """Return a container as it stands behind its key: its bracket says enough, anything else needs `=`."""
    return written if written[0] in "{[" else f"={written}"
