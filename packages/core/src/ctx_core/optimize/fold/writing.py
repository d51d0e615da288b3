"""From lines to folded text."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from ctx_core.optimize.fold.columns import Column, find_columns, set_rules
from ctx_core.optimize.fold.groups import Lines, find_records
from ctx_core.optimize.fold.notation import MARKS, OPENING, REPEATED, RULE, header, quote_line, tag, write_cell
from ctx_core.tokens import estimate

if TYPE_CHECKING:
    from collections.abc import Sequence

_ROW_CHARS: Final = 100
"""Rows stand side by side up to this width, as in a paragraph."""

_LEAST_RECORDS: Final = 3
_LEAST_LINES: Final = 5
_SAVED_SHARE: Final = 0.1
"""A template that saves less than this of its lines is not worth reading."""

_HEADER_TOKENS: Final = 32
_SAMPLE_CHARS: Final = 4_000
# What is folded whole gets shorter than a part of it: templates are told once.
_CLEARLY: Final = 2.5


def fold(text: str, *, most_chars: int | None = None) -> str:
    """Return `text` with alike lines folded, or `text` itself where that saves too little; `unfold` gives `text` back.

    Args:
        text: Any string.
        most_chars: A folded form that would be clearly longer than this is not made.
    """
    marks = next((pair for pair in MARKS if pair[0] not in text and pair[1] not in text), None)
    if text.count("\n") < _LEAST_LINES or marks is None or OPENING in text:
        return text
    if len(text) > 4 * _SAMPLE_CHARS and not _pays(text, most_chars):
        return text
    lines = Lines(text)
    records = find_records(lines.kinds)
    templates = _templates(lines, records, marks)
    saved = sum([template.saved for template in templates.values()])
    if saved <= _HEADER_TOKENS:
        return text
    return "\n".join([header(text.count("\n") + 1, marks), *_body(lines, records, templates)])


def _pays(text: str, most_chars: int | None) -> bool:
    """Return True if what stands in the middle of a long text can be folded, and enough."""
    start = text.find("\n", len(text) // 2) + 1
    sample = text[start : max(text.rfind("\n", start, start + _SAMPLE_CHARS), start)]
    shorter = fold(sample)
    share = len(shorter) / max(1, len(sample))
    return shorter is not sample and (most_chars is None or share * len(text) < _CLEARLY * most_chars)


@dataclass(slots=True)
class _Template:
    """A record that occurs again: its first occurrence as written, and a row for each next one."""

    first: list[str]
    rows: list[str]
    saved: float
    tag: str = ""
    taken: int = 0


def _templates(
    lines: Lines, records: Sequence[tuple[int, ...]], marks: tuple[str, str]
) -> dict[tuple[int, ...], _Template]:
    starts: dict[tuple[int, ...], list[int]] = defaultdict(list)
    place = 0
    for record in records:
        if record[0] >= 0:
            starts[record].append(place)
        place += len(record)
    templates: dict[tuple[int, ...], _Template] = {}
    for record, places in starts.items():
        if len(places) >= _LEAST_RECORDS:
            template = _template(lines, len(record), places, marks)
            if template is not None and (name := tag(len(templates))):
                template.tag = name
                templates[record] = template
    return templates


def _template(lines: Lines, size: int, places: Sequence[int], marks: tuple[str, str]) -> _Template | None:
    """Return the template of records of `size` lines that begin at `places`; None where it saves too little."""
    pieces = [find_columns([lines.parts[place + offset] for place in places]) for offset in range(size)]
    columns = [piece for line in pieces for piece in line if isinstance(piece, Column)]
    set_rules(columns)
    first: list[str] = []
    for offset, line in enumerate(pieces):
        first += ["".join([_shown(piece, marks) for piece in line]), *[""] * lines.blanks[places[0] + offset]]
    own = [column for column in columns if not column.rule.same_as]
    rows = [
        ",".join(
            [
                write_cell(column.values[row], column.values[row - 1], column.rule.predict(column.values[row - 1]))
                for column in own
            ]
        ).rstrip(",")
        for row in range(1, len(places))
    ]
    before = estimate("\n".join([line for place in places for line in lines.written(place, place + size)]))
    after = estimate("\n".join(first)) + estimate("\n".join(rows)) + 2 * size
    if after > (1 - _SAVED_SHARE) * before:
        return None
    return _Template(first, rows, before - after)


def _shown(piece: str | Column, marks: tuple[str, str]) -> str:
    """Return literal text, or the first value of a column in marks, behind its rule."""
    if isinstance(piece, str):
        return piece
    opens, closes = marks
    rule, value = str(piece.rule), piece.values[0]
    if piece.rule.same_as:
        return f"{opens}{rule}{closes}"
    if rule or value.startswith("=") or RULE.match(value):
        value = f"{rule}:{value}"
    return f"{opens}{value}{closes}"


def _body(lines: Lines, records: Sequence[tuple[int, ...]], templates: dict[tuple[int, ...], _Template]) -> list[str]:
    out: list[str] = []
    rows = _Rows(out)
    place = 0
    for record in records:
        template = templates.get(record)
        if template is None:
            rows.close()
            out += map(quote_line, lines.written(place, place + len(record)))
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
            self._rows.append(f"{REPEATED}{self._empty}")
            self._chars += 3
        self._empty = 0

    def close(self) -> None:
        """Write the rows so far; what follows belongs to no template yet, or to the same."""
        self._end_run()
        if self._rows:
            self._out.append(f"{self._named}|{';'.join(self._rows)}")
            self._rows = []
            self._chars = 0
            self._named = ""
