"""The notation of folded text, as both sides know it.

A block begins with a header that says how many lines it stands for and which marks enclose what varies:

    [folded 214 lines: {…} varies; rows give it for each next line, empty: as before or counted on, ~: its end]
    a|[{+1:1}/214] {cart}.spec.ts:{17}
    |,login,24;,admin
    a line of its own
    |,cart,~1

- `a|` defines template `a` by its first record; `+|` goes on with the next line of that record.
- `|` begins rows of the template above, `a|` rows of a template that was defined before, divided by `;`, cells by `,`.
- An empty cell is as predicted: the value of the row before, or, by the rule before the colon, that value and a step (`+1:`),
  or another column (`=2`). `~` replaces the end of the value before. `×12` are twelve rows as predicted.
- `>6:` and `<6:` say that the value is padded on the left or on the right.
- Any other line is quoted; a backslash stands before one that would read as a row.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

OPENING: Final = "[folded "
MARKS: Final = (("{", "}"), ("‹", "›"), ("«", "»"), ("⟨", "⟩"), ("❴", "❵"))
"""What may enclose the parts that vary; the first pair that the text itself does not use."""

SEPARATORS: Final = (",", ";")
HEADER: Final = re.compile(r"\[folded (\d{1,9}) lines: (.)…(.) varies; [^\n]{1,120}\]")
TAGGED: Final = re.compile(r"([a-z]{0,2}|\+)\|")
RULE: Final = re.compile(r"(?:=(\d{1,4}))?(?:([<>])(\d{1,4}))?(?:\+(-?\d{1,9}))?:")
REPEATED: Final = "×"
TAIL: Final = "~"
QUOTE: Final = '"'
_MAX_TAGS: Final = 26 * 27


@dataclass(frozen=True, slots=True)
class Rule:
    """How the next value of a column follows from what stands before it.

    Args:
        same_as: The column, from 1, that it always equals; 0 where it has values of its own.
        step: What is added to the number before it.
        align: `<` or `>` if the value is padded to `width`.
        width: See `align`.
    """

    same_as: int = 0
    step: int = 0
    align: str = ""
    width: int = 0

    def predict(self, before: str) -> str:
        """Return the value that an empty cell stands for."""
        if not self.step or not is_number(before):
            return before
        following = int(before) + self.step
        if following < 0:
            return before
        return str(following).zfill(len(before)) if before[0] == "0" else str(following)

    def pad(self, value: str) -> str:
        """Return the value as it stands in the line."""
        if self.align == ">":
            return value.rjust(self.width)
        return value.ljust(self.width) if self.align else value

    def __str__(self) -> str:
        if self.same_as:
            return f"={self.same_as}"
        return f"{self.align}{self.width or ''}" + (f"+{self.step}" if self.step else "")


def is_number(value: str) -> bool:
    """Return True if `value` is a whole number short enough to count on."""
    return value.isascii() and value.isdigit() and len(value) < _NUMBER_DIGITS


_NUMBER_DIGITS: Final = 19


def header(lines: int, marks: tuple[str, str]) -> str:
    """Return the first line of a block."""
    opens, closes = marks
    return f"{OPENING}{lines} lines: {opens}…{closes} varies; rows give it for each next line, empty: as before or counted on, ~: its end]"


def holds_folded(text: str) -> bool:
    """Return True if a line of `text` opens a folded block."""
    return OPENING in text and any(HEADER.fullmatch(line) for line in text.split("\n") if line.startswith(OPENING))


def tag(number: int) -> str | None:
    """Return the name of a template, `a` to `zz`; None where there are no more."""
    if number >= _MAX_TAGS:
        return None
    first, second = divmod(number, 26)
    return (chr(96 + first) if first else "") + chr(97 + second)


def quote_line(line: str) -> str:
    """Return a line that is quoted, so that it does not read as a row."""
    return f"\\{line}" if line.startswith(("\\", OPENING)) or TAGGED.match(line) else line


def write_cell(value: str, before: str, predicted: str) -> str:
    """Return the cell of a value."""
    if value == predicted:
        return ""
    if "@" not in value and len(value) == len(before) and len(value) > _SHORT:
        kept = _shared_start(before, value)
        tail = value[kept:]
        if kept > _SHORT and not any(map(tail.__contains__, (*SEPARATORS, QUOTE))):
            return TAIL + tail
    if not value or value[0] in _SPECIAL or "," in value or ";" in value or QUOTE in value:
        return QUOTE + value.replace(QUOTE, QUOTE * 2) + QUOTE
    return value


_SHORT: Final = 3
_SPECIAL: Final = (QUOTE, TAIL, REPEATED)


def _shared_start(some: str, other: str) -> int:
    """Return how many characters two values share at their start, back to where a word of it begins."""
    place = next((place for place, (a, b) in enumerate(zip(some, other, strict=False)) if a != b), len(other))
    back = place
    while back and other[back - 1].isalnum() and place - back < _SHORT:
        back -= 1
    return place if back and other[back - 1].isalnum() else back


def read_cell(cell: str, before: str, predicted: str) -> str:
    """Return the value of a cell that `write_cell` wrote."""
    if not cell:
        return predicted
    if cell[0] == TAIL:
        return before[: len(before) - len(cell) + 1] + cell[1:]
    if cell[0] == QUOTE:
        return cell[1:-1].replace(QUOTE * 2, QUOTE)
    return cell


def split_unquoted(text: str, separator: str) -> list[str]:
    """Split `text` at separators that stand outside of quotes."""
    if QUOTE not in text:
        return text.split(separator)
    parts: list[str] = []
    for piece in text.split(separator):
        if parts and parts[-1].count(QUOTE) % 2:
            parts[-1] += separator + piece
        else:
            parts.append(piece)
    return parts
