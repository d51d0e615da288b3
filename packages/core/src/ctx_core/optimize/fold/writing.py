"""From lines to folded text."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING, Final

from ctx_core.optimize.fold.columns import Column, find_columns, set_rules
from ctx_core.optimize.fold.groups import Lines, find_records
from ctx_core.optimize.fold.notation import MARKS, OPENING, header, quote_line, tag, write_column, write_more
from ctx_core.tokens import estimate

if TYPE_CHECKING:
    from collections.abc import Container, Sequence

_ROW_CHARS: Final = 100
"""Rows stand side by side up to this width, as in a paragraph."""

_LEAST_RECORDS: Final = 3
_LEAST_LINES: Final = 5
_SAVED_SHARE: Final = 0.1
"""A template that saves less than this of its lines is not worth reading."""

_HEADER_TOKENS: Final = 36
_WINDOWS: Final = 3
_WINDOW_CHARS: Final = 2_000
_ALIKE: Final = 0.3
"""Where fewer of the lines are alike, no fold saves the quarter that it must save of what people write."""

_LONG: Final = 8
_SAMPLED: Final = 24
"""Records of a kind that say whether very many of them are worth looking at: taken from everywhere, they differ by more than neighbours."""

_CLEARLY: Final = 1.3
"""The share by which an estimate of rows may exceed their count: on public logs it is .8 to 1.35 of it."""


def fold(text: str, *, most_tokens: int | None = None) -> str:
    """Return `text` with alike lines folded, or `text` itself where that saves too little; `unfold` gives `text` back.

    Args:
        text: Any string.
        most_tokens: A folded form that would clearly take more is not made.
    """
    marks = next((pair for pair in MARKS if pair[0] not in text and pair[1] not in text), None)
    if text.count("\n") < _LEAST_LINES or OPENING in text or marks is None:
        return text
    block = _Block(text, marks)
    is_made = block.make_templates(inf if most_tokens is None else _CLEARLY * most_tokens)
    return block.write() if is_made and block.saved > _HEADER_TOKENS else text


def may_fold(text: str) -> bool:
    """Return True unless a long text holds next to no alike lines at some places of it."""
    if len(text) <= _WINDOWS * 2 * _WINDOW_CHARS:
        return True
    for part in range(_WINDOWS):
        start = text.find("\n", len(text) * part // _WINDOWS) + 1
        kinds = Lines(text[start : start + _WINDOW_CHARS]).kinds
        if len(kinds) - kinds.count(-1) >= _ALIKE * len(kinds):
            return True
    return False


@dataclass(slots=True)
class _Template:
    """A record that occurs again: its first occurrence as written, and a row for each next one."""

    first: list[str]
    rows: list[str]
    saved: float
    tag: str = ""
    taken: int = 0


class _Block:
    """A text as records, with the templates of those that occur again."""

    def __init__(self, text: str, marks: tuple[str, str]) -> None:
        self._text = text
        self._marks = marks
        self._lines = Lines(text)
        self._records = find_records(self._lines.kinds)
        self._starts: dict[tuple[int, ...], list[int]] = {}
        place = 0
        for record in self._records:
            if record[0] >= 0:
                self._starts.setdefault(record, []).append(place)
            place += len(record)
        self._templates: dict[tuple[int, ...], _Template] = {}

    def make_templates(self, most_tokens: float) -> bool:
        """Make the template of each record that occurs again; return False as soon as the result is sure to exceed `most_tokens`."""
        again = {record: places for record, places in self._starts.items() if len(places) >= _LEAST_RECORDS}
        tokens = self._estimate_quoted(again) if most_tokens < inf else 0
        # The longest ones first: where the result would be too long, they show it soonest.
        for record, places in sorted(again.items(), key=lambda item: -len(item[0]) * len(item[1])):
            if tokens > most_tokens:
                return False
            if len(places) > _LONG * _SAMPLED:
                some = _make_template(self._lines, len(record), places[:: len(places) // _SAMPLED], self._marks)
                if (
                    some
                    and tokens + estimate("\n".join(some.rows)) * len(places) / len(some.rows) > _LONG * most_tokens
                ):
                    return False
            template = _make_template(self._lines, len(record), places, self._marks)
            if template is None:
                tokens += estimate("\n".join(self._write_lines(len(record), places)))
            else:
                self._templates[record] = template
                tokens += estimate("\n".join([*template.first, *template.rows]))
        for number, record in enumerate(filter(self._templates.__contains__, [*again])):
            self._templates[record].tag = tag(number) or ""
        self._templates = {record: template for record, template in self._templates.items() if template.tag}
        return tokens <= most_tokens

    def _estimate_quoted(self, again: Container[tuple[int, ...]]) -> int:
        """Estimate the tokens of the lines that are written as they are."""
        quoted: list[str] = []
        place = 0
        for record in self._records:
            if record not in again:
                quoted += self._lines.texts[place : place + len(record)]
            place += len(record)
        return estimate("\n".join(quoted))

    def _write_lines(self, size: int, places: Sequence[int]) -> list[str]:
        return [line for place in places for line in self._lines.written(place, place + size)]

    @property
    def saved(self) -> float:
        """The tokens that templates save."""
        return sum([template.saved for template in self._templates.values()])

    def write(self) -> str:
        """Return the folded text."""
        return "\n".join([header(self._text.count("\n") + 1, self._marks), *self._body()])

    def _body(self) -> list[str]:
        out: list[str] = []
        rows = _Rows(out)
        place = 0
        for record in self._records:
            template = self._templates.get(record)
            if template is None:
                rows.close()
                out += map(quote_line, self._lines.written(place, place + len(record)))
            elif not template.taken:
                rows.close()
                tags = [template.tag, *["+"] * (len(template.first) - 1)]
                out += [f"{name}|{line}" for name, line in zip(tags, template.first, strict=True)]
                rows.template = template
            else:
                rows.add(template, template.rows[template.taken - 1])
            if template is not None:
                template.taken += 1
            place += len(record)
        rows.close()
        return out


def _make_template(lines: Lines, size: int, places: Sequence[int], marks: tuple[str, str]) -> _Template | None:
    """Return the template of records of `size` lines that begin at `places`; None where it saves too little."""
    pieces = [find_columns(lines.cut([place + offset for place in places])) for offset in range(size)]
    columns = [piece for line in pieces for piece in line if isinstance(piece, Column)]
    set_rules(columns)
    first: list[str] = []
    for offset, line in enumerate(pieces):
        shown = "".join([piece if isinstance(piece, str) else _write_first(piece, marks) for piece in line])
        first += [shown, *[""] * lines.blanks[places[0] + offset]]
    cells = [column.cells() for column in columns if not column.rule.same_as]
    rows = [row.rstrip(",") for row in map(",".join, zip(*cells, strict=True))] if cells else [""] * (len(places) - 1)
    before = estimate("\n".join([line for place in places for line in lines.written(place, place + size)]))
    after = estimate("\n".join(first)) + estimate("\n".join(rows)) + 2 * size
    if after > (1 - _SAVED_SHARE) * before:
        return None
    return _Template(first, rows, before - after)


def _write_first(column: Column, marks: tuple[str, str]) -> str:
    """Return the first value of a column in marks, with its rule."""
    opens, closes = marks
    return f"{opens}{write_column(column.values[0], column.rule, last=column.last_counted())}{closes}"


class _Rows:
    """Writes rows side by side; those that are all as predicted are counted."""

    def __init__(self, out: list[str]) -> None:
        self._out = out
        self._rows: list[str] = []
        self._chars = 0
        self._empty = 0
        self._named = ""
        self.template: _Template | None = None

    def add(self, template: _Template, row: str) -> None:
        """Take the next row."""
        if template is not self.template:
            self.close()
            self._named = template.tag
            self.template = template
        if not row:
            self._empty += 1
            return
        self._end_run()
        self._rows.append(row)
        self._chars += len(row) + 1
        if self._chars > _ROW_CHARS:
            self.close()

    def _end_run(self) -> None:
        if self._empty:
            self._rows.append(write_more(self._empty))
            self._chars += len(self._rows[-1]) + 1
        self._empty = 0

    def close(self) -> None:
        """Write the rows so far; what follows belongs to no template yet, or to the same."""
        self._end_run()
        if self._rows:
            self._out.append(f"{self._named}|{';'.join(self._rows)}")
            self._rows = []
            self._chars = 0
            self._named = ""
