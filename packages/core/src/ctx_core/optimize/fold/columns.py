"""What differs between alike lines, as columns of values, and how each column goes on from row to row."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from operator import sub
from typing import TYPE_CHECKING, Final

from ctx_core.optimize.fold.notation import Rule, is_number, needs_quotes, quote_cell, write_cell

if TYPE_CHECKING:
    from collections.abc import Sequence

# Signs between the runs of letters and digits of a word. A dot joins: versions, addresses and fractions are one value.
_SIGNS: Final = re.compile(r"([^0-9A-Za-z.\n]+|\n)")
# In words that hold ids, hyphens and underscores join as well.
_SIGNS_OF_IDS: Final = re.compile(r"([^0-9A-Za-z._\n-]+|\n)")
# Letters and digits by turns, as in hashes, UUIDs and the names of pods; `rope12` and `12ms` are none.
_ID: Final = re.compile(r"[0-9][A-Za-z]+[0-9]|[A-Za-z][0-9]+[A-Za-z]")
_CLOCK: Final = re.compile(r"\d\d:\d\d")
_DOTS_OF_IP: Final = 3
_MAX_RUNS: Final = 24
_MAX_STEP: Final = 10**9
_MOSTLY: Final = 0.5
_TAILED_FROM: Final = 5
"""Values of fewer characters have no end that is shorter to give than all of it."""


@dataclass(slots=True)
class Column:
    """The values of one place, one for each record.

    Args:
        values: The values.
        rule: How they go on.
        is_whole: Whether each value is an id or an address, which is never cut.
    """

    values: Sequence[str]
    rule: Rule = field(default_factory=Rule)
    is_whole: bool = False

    def cells(self) -> list[str]:
        """Return the cell of each value but the first."""
        before = self.values
        rule = self.rule
        if rule.step:
            predicted: Sequence[str] = [*map(rule.predict, before)]
        else:
            predicted = before
        following = before[1:]
        joined = "".join({*before})
        is_plain = "" not in before and not needs_quotes(joined)
        if is_plain and (self.is_whole or max(map(len, before)) < _TAILED_FROM):
            return ["" if value == as_before else value for value, as_before in zip(following, predicted, strict=False)]
        if self.is_whole:
            return [
                "" if value == guess else quote_cell(value) for value, guess in zip(following, predicted, strict=False)
            ]
        return [
            "" if value == guess else write_cell(value, above)
            for value, above, guess in zip(following, before, predicted, strict=False)
        ]

    def last_counted(self) -> str | None:
        """Return the last value if all are counted on from the first; None where they are not."""
        if not self.rule.step:
            return None
        counted = all(self.rule.predict(a) == b for a, b in zip(self.values, self.values[1:], strict=False))
        return self.values[-1] if counted else None


def find_columns(slots: Sequence[Sequence[str]]) -> list[str | Column]:
    """Return the literal text and the columns of alike lines, given the words and, between them, the gaps of all lines."""
    pieces: list[str | Column] = []
    varies = [slot.count(slot[0]) != len(slot) for slot in slots]
    place = 0
    while place < len(slots):
        values = slots[place]
        gap = slots[place + 1] if place + 1 < len(slots) else None
        if (gap is not None and place % 2 == 0 and varies[place + 1] and (padded := _padded(values, gap, "<"))) or (
            place % 2 and varies[place] and (padded := _padded(slots[place + 1], values, ">"))
        ):
            pieces += padded
            place += 2
        else:
            pieces += _pieces_of(values) if varies[place] else (values[0],)
            place += 1
    return pieces


def _padded(words: Sequence[str], gaps: Sequence[str], align: str) -> list[str | Column] | None:
    """Return words that stand in a column of fixed width, `gaps` of spaces beside them; None where they do not."""
    sizes = [*map(len, gaps)]
    least = min(sizes)
    if (not least and align == "<") or "".join({*gaps}).strip(" "):
        return None
    widths = [len(word) + size - least for word, size in zip(words, sizes, strict=True)]
    wanted = {width for width, size in zip(widths, sizes, strict=True) if size > least}
    if len(wanted) != 1:
        return None
    width = wanted.pop()
    if any(max(width, len(word)) != found for word, found in zip(words, widths, strict=True)):
        return None
    column = Column(words, Rule(align=align, width=width), is_whole=_holds_ids(words))
    return [" " * least, column] if align == ">" else [column, " " * least]


def _holds_ids(values: Sequence[str]) -> bool:
    joined = "\n".join(values)
    return "@" in joined or _ID.search(joined) is not None


def _pieces_of(values: Sequence[str]) -> list[str | Column]:
    """Return the values of one word, cut where all of them have the same signs between their runs of letters and digits."""
    joined = "\n".join(values)
    if "@" in joined:
        # An address stays whole, so that whoever redacts or looks for addresses finds it.
        return [Column(values, is_whole=True)]
    if _CLOCK.search(values[0]):
        return _stripped(values)
    holds_ids = _ID.search(joined) is not None
    runs = _cut(joined, len(values), _SIGNS_OF_IDS if holds_ids else _SIGNS)
    if runs is None:
        return [Column(values, is_whole=True)] if holds_ids else _stripped(values)
    return [piece for run in runs for piece in _stripped(run)]


def _cut(joined: str, count: int, signs: re.Pattern[str]) -> list[list[str]] | None:
    """Cut all values at once into runs and signs; None where their signs differ."""
    flat = signs.split(joined)
    width = (len(flat) + 1) // count
    if width * count != len(flat) + 1 or width > 2 * _MAX_RUNS:
        return None
    if count > 1 and {*flat[width - 1 :: width]} != {"\n"}:
        return None
    runs = [flat[place::width] for place in range(width - 1)]
    return runs if all(run.count(run[0]) == count for run in runs[1::2]) else None


def _stripped(values: Sequence[str]) -> list[str | Column]:
    """Take off what all values begin and end with, at the border of a word or a number; an id stays whole."""
    if values.count(values[0]) == len(values):
        return [values[0]]
    if not _CLOCK.search(values[0]) and (values[0].count(".") == _DOTS_OF_IP or _ID.search("\n".join(values))):
        return [Column(values, is_whole=True)]
    head = _border(_shared(values), values)
    rest = [value[len(head) :] for value in values]
    turned = [value[::-1] for value in rest]
    tail = _border(_shared(turned), turned)
    rest = [value[: len(value) - len(tail)] for value in rest] if tail else rest
    return [head, Column(rest), tail[::-1]]


def _shared(values: Sequence[str]) -> str:
    """Return what all values begin with: as much as the first and the last of them in order of the alphabet do."""
    first, last = min(values), max(values)
    return first[: next((place for place, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), len(first))]


def _border(shared: str, values: Sequence[str]) -> str:
    """Shorten what values share until it ends at no letter or digit, or with a letter before digits."""
    end = len(shared)
    if end and shared[-1].isalpha() and all(value[end : end + 1].isdigit() for value in values):
        return shared
    while end and shared[end - 1].isalnum():
        end -= 1
    return shared[:end]


def set_rules(columns: Sequence[Column]) -> None:
    """Find for each column what its values follow from."""
    seen: dict[tuple[str, ...], int] = {}
    for number, column in enumerate(columns, 1):
        values = tuple(column.values)
        if values in seen and not column.rule.align:
            column.rule = Rule(same_as=seen[values])
            continue
        if not column.rule.align:
            seen.setdefault(values, number)
        column.rule = Rule(step=_step(values), align=column.rule.align, width=column.rule.width)


def _step(values: Sequence[str]) -> int:
    """Return by how much most values are more than the one before them; 0 where most are alike, or no numbers."""
    if not is_number(values[0]) or not all(map(is_number, values)):
        return 0
    numbers = [*map(int, values)]
    step, times = Counter(map(sub, numbers[1:], numbers)).most_common(1)[0]
    return step if times >= _MOSTLY * (len(values) - 1) and abs(step) < _MAX_STEP else 0
