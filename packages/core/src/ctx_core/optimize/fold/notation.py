"""The notation of folded text, as both sides know it.

A block begins with a header that says how many lines it stands for and which marks enclose what varies:

    [folded 214 lines: a| is a pattern, {…} varies in it; each row below it gives the next line's values, empty: as before or counted on]
    a|[{1 +1}/214] {cart}.spec.ts:{17}
    |,login,24;,admin
    a line of its own
    |,cart,90;12 more

- `a|` defines pattern `a` by its first record; `+|` goes on with the next line of that record.
- `|` begins rows of the pattern above, `a|` rows of a pattern that was defined before, divided by `;`, cells by `,`.
- An empty cell is as predicted: the value of the row before, or that value and a step (`{1 +1}`, and `{1 +1 to 214}` where
  it is counted on to the end), or another column (`{=2}`). `…` keeps the start of the value before and replaces its end.
  `12 more` are twelve rows as predicted.
- `{7 >6}` and `{7 <6}` say that the value is padded on the left or on the right.
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
HEADER: Final = re.compile(r"\[folded (\d{1,9}) lines: a\| is a pattern, (.)…(.) varies in it; [^\n]{1,120}\]")
TAGGED: Final = re.compile(r"([a-z]{0,2}|\+)\|")
_SAME: Final = re.compile(r"=(\d{1,4})")
_RULE: Final = re.compile(r"(?: ([<>])(\d{1,4}))?(?: ([+-]\d{1,10})(?: to \d{1,19})?)?\Z")
_MORE: Final = re.compile(r"(\d{1,9}) more")
TAIL: Final = "…"
QUOTE: Final = '"'
_MAX_TAGS: Final = 26 * 27
_NUMBER_DIGITS: Final = 19
# An end that is replaced must save more than the sign that says so.
_SHORT: Final = 3
_SPECIAL: Final = (QUOTE, TAIL)


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


def write_column(value: str, rule: Rule, *, last: str | None = None) -> str:
    """Return what stands between the marks: the first value, and how it goes on; `last` where it is counted on to the end."""
    if rule.same_as:
        return f"={rule.same_as}"
    padded = f" {rule.align}{rule.width}" if rule.align else ""
    counted = f" {rule.step:+d}" if rule.step else ""
    if counted and last is not None:
        counted += f" to {last}"
    if not padded and not counted and _SAME.fullmatch(value):
        counted = " +0"
    return f"{value}{padded}{counted}"


def read_column(inside: str) -> tuple[str, Rule]:
    """Return the first value of a column and its rule, from what stands between the marks."""
    same = _SAME.fullmatch(inside)
    if same:
        return "", Rule(same_as=int(same[1]))
    found = _RULE.search(inside)
    if found is None:
        return inside, Rule()
    rule = Rule(step=int(found[3] or 0), align=found[1] or "", width=int(found[2] or 0))
    return inside[: found.start()], rule


def write_more(count: int) -> str:
    """Return the row that stands for `count` rows as predicted."""
    return f"{count} more"


def read_more(row: str) -> int:
    """Return how many rows as predicted a row stands for; 0 where it is one of values."""
    found = _MORE.fullmatch(row)
    return int(found[1]) if found else 0


def is_number(value: str) -> bool:
    """Return True if `value` is a whole number short enough to count on."""
    return value.isascii() and value.isdigit() and len(value) < _NUMBER_DIGITS


def header(lines: int, marks: tuple[str, str]) -> str:
    """Return the first line of a block."""
    opens, closes = marks
    return (
        f"{OPENING}{lines} lines: a| is a pattern, {opens}…{closes} varies in it; "
        "each row below it gives the next line's values, empty: as before or counted on]"
    )


def holds_folded(text: str) -> bool:
    """Return True if a line of `text` opens a folded block."""
    return OPENING in text and any(HEADER.fullmatch(line) for line in text.split("\n") if line.startswith(OPENING))


def tag(number: int) -> str | None:
    """Return the name of a pattern, `a` to `zz`; None where there are no more."""
    if number >= _MAX_TAGS:
        return None
    first, second = divmod(number, 26)
    return (chr(96 + first) if first else "") + chr(97 + second)


def quote_line(line: str) -> str:
    """Return a line that is quoted, so that it does not read as a row."""
    return f"\\{line}" if line.startswith(("\\", OPENING)) or ("|" in line[:3] and TAGGED.match(line)) else line


def write_cell(value: str, before: str) -> str:
    """Return the cell of a value that is not as predicted."""
    if len(value) == len(before) and value[: _SHORT + 1] == before[: _SHORT + 1]:
        kept = _shared_start(before, value)
        tail = value[kept:]
        if kept > _SHORT and not any(map(tail.__contains__, (*SEPARATORS, QUOTE))):
            return TAIL + tail
    return quote_cell(value)


def quote_cell(value: str) -> str:
    """Return a value as a cell, in quotes where it would read as something else."""
    if not value or value[0] in _SPECIAL or "," in value or ";" in value or QUOTE in value:
        return QUOTE + value.replace(QUOTE, QUOTE * 2) + QUOTE
    return value


def needs_quotes(values: str) -> bool:
    """Return True if some of the values, which are joined, may have to be quoted."""
    return any(map(values.__contains__, (*SEPARATORS, *_SPECIAL)))


def _shared_start(some: str, other: str) -> int:
    """Return how many characters two values share at their start, back to where a word of it begins."""
    place = next((place for place, (a, b) in enumerate(zip(some, other, strict=False)) if a != b), len(other))
    back = place
    while back and other[back - 1].isalnum() and place - back < _SHORT:
        back -= 1
    return place if back and other[back - 1].isalnum() else back


def read_cell(cell: str, before: str, predicted: str) -> str:
    """Return the value of a cell."""
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
