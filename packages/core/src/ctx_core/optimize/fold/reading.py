"""From folded text back to its lines."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ctx_core.optimize.fold.notation import (
    HEADER,
    OPENING,
    TAGGED,
    Rule,
    read_cell,
    read_column,
    read_more,
    split_unquoted,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

# A forged block must not fill the memory: of our own, a character stands for fewer lines than this.
_LINES_PER_CHAR: Final = 100


def unfold(text: str) -> str:
    """Return `text` with every folded block as the lines it stands for; all else stays as it is."""
    if OPENING not in text:
        return text
    lines = iter(text.split("\n"))
    out: list[str] = []
    try:
        for line in lines:
            opened = HEADER.fullmatch(line) if line.startswith(OPENING) else None
            if opened is None:
                out.append(line)
            else:
                count = int(opened[1])
                if count > _LINES_PER_CHAR * len(text):
                    return text
                out += _Block(opened[2], opened[3], count).read(lines)
    except (IndexError, KeyError, ValueError):
        # Something that reads like a block of ours and is none.
        return text
    return "\n".join(out)


class _Template:
    """One record: literal text and the columns between it."""

    def __init__(self, marks: tuple[str, str]) -> None:
        self._opens, self._closes = marks
        self._lines: list[list[str | int]] = []
        self._rules: list[Rule] = []
        self._values: list[str] = []

    def add_line(self, text: str) -> None:
        """Take the next line of the first record."""
        parts: list[str | int] = []
        for number, piece in enumerate(text.split(self._opens)):
            inside, closed, literal = piece.partition(self._closes) if number else ("", "", piece)
            if closed:
                parts.append(len(self._rules))
                self._add_column(inside)
            parts.append(literal)
        self._lines.append(parts)

    def _add_column(self, inside: str) -> None:
        value, rule = read_column(inside)
        self._rules.append(rule)
        self._values.append(value)

    def take_row(self, cells: list[str]) -> None:
        """Move on to the next record."""
        own = 0
        for number, rule in enumerate(self._rules):
            if rule.same_as:
                continue
            before = self._values[number]
            cell = cells[own] if own < len(cells) else ""
            self._values[number] = read_cell(cell, before, rule.predict(before))
            own += 1

    def lines(self) -> Iterator[str]:
        """Yield the lines of the record."""
        for parts in self._lines:
            yield "".join([part if isinstance(part, str) else self._shown(part) for part in parts])

    def _shown(self, column: int) -> str:
        rule = self._rules[column]
        return self._values[rule.same_as - 1] if rule.same_as else rule.pad(self._values[column])


class _Block:
    def __init__(self, opens: str, closes: str, count: int) -> None:
        self._marks = (opens, closes)
        self._count = count
        self._templates: dict[str, _Template] = {}
        self._current: _Template | None = None
        self._pending: _Template | None = None
        self._out: list[str] = []

    def read(self, lines: Iterator[str]) -> list[str]:
        """Take lines until the block has given as many as it stands for."""
        while len(self._out) + self._pending_lines() < self._count:
            line = next(lines, None)
            if line is None:
                break
            self._read_line(line)
        self._settle()
        return self._out

    def _pending_lines(self) -> int:
        return sum(1 for _ in self._pending.lines()) if self._pending else 0

    def _settle(self) -> None:
        """Write the first record of a template, all of whose lines have been read."""
        if self._pending:
            self._out += self._pending.lines()
            self._pending = None

    def _read_line(self, line: str) -> None:
        tagged = TAGGED.match(line)
        rest = line[tagged.end() :] if tagged else line
        if tagged is None:
            self._settle()
            self._out.append(line.removeprefix("\\"))
        elif tagged[1] == "+" and self._pending:
            self._pending.add_line(rest)
        elif tagged[1] and tagged[1] not in self._templates:
            self._settle()
            self._pending = self._current = self._templates[tagged[1]] = _Template(self._marks)
            self._pending.add_line(rest)
        else:
            self._settle()
            self._current = self._templates[tagged[1]] if tagged[1] else self._current
            self._read_rows(rest)

    def _read_rows(self, text: str) -> None:
        template = self._current
        if template is None:
            return
        for row in split_unquoted(text, ";"):
            times = read_more(row)
            cells = [] if times else split_unquoted(row, ",")
            for _ in range(times or 1):
                if len(self._out) >= self._count:
                    raise ValueError(row)
                template.take_row(cells)
                self._out += template.lines()
