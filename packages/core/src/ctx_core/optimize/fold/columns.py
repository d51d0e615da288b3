"""What differs between alike lines, as columns of values, and how each column goes on from row to row."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from ctx_core.optimize.fold.notation import Rule, is_number

if TYPE_CHECKING:
    from collections.abc import Sequence

_RUN: Final = re.compile(r"([^0-9A-Za-z.]+)")
_CLOCK: Final = re.compile(r"\d\d:\d\d")
_MAX_RUNS: Final = 24
_MAX_STEP: Final = 10**9
_MOSTLY: Final = 0.5


@dataclass(slots=True)
class Column:
    """The values of one place, one for each record."""

    values: Sequence[str]
    rule: Rule = field(default_factory=Rule)


def find_columns(lines: Sequence[Sequence[str]]) -> list[str | Column]:
    """Return the literal text and the columns of alike lines, which are cut at white space."""
    pieces: list[str | Column] = []
    slots = [*zip(*lines, strict=True)]
    place = 0
    while place < len(slots):
        values = slots[place]
        gap = slots[place + 1] if place + 1 < len(slots) else None
        if (gap is not None and place % 2 == 0 and len({*gap}) > 1 and (padded := _padded(values, gap, "<"))) or (
            place % 2 and len({*values}) > 1 and (padded := _padded(slots[place + 1], values, ">"))
        ):
            pieces += padded
            place += 2
        else:
            pieces += _pieces_of(values)
            place += 1
    return pieces


def _padded(words: Sequence[str], gaps: Sequence[str], align: str) -> list[str | Column] | None:
    """Return words that stand in a column of fixed width, `gaps` of spaces beside them; None where they do not."""
    least = min(gaps, key=len)
    if not least and align == "<":
        return None
    if any(gap.strip(" ") for gap in gaps):
        return None
    sizes = {len(word) + len(gap) - len(least) for word, gap in zip(words, gaps, strict=True) if len(gap) > len(least)}
    if len(sizes) != 1:
        return None
    width = sizes.pop()
    if any(max(width, len(word)) != len(word) + len(gap) - len(least) for word, gap in zip(words, gaps, strict=True)):
        return None
    column = Column(words, Rule(align=align, width=width))
    return [least, column] if align == ">" else [column, least]


def _pieces_of(values: Sequence[str]) -> list[str | Column]:
    """Return the values of one word, cut where all of them have the same signs between their runs of letters and digits."""
    if len({*values}) == 1:
        return [values[0]]
    if "@" in values[0]:
        # An address stays whole, so that whoever redacts or looks for addresses finds it.
        return [Column(values)]
    if not _CLOCK.search(values[0]):
        cut = [_RUN.split(value) for value in values]
        signs = cut[0][1::2]
        if len(cut[0]) <= _MAX_RUNS and all(each[1::2] == signs for each in cut):
            return [piece for run in zip(*cut, strict=True) for piece in _stripped(run)]
    return _stripped(values)


def _stripped(values: Sequence[str]) -> list[str | Column]:
    """Take off what all values begin and end with, at the border of a word or a number."""
    if len({*values}) == 1:
        return [values[0]]
    head = _border(_shared(values), values)
    rest = [value[len(head) :] for value in values]
    turned = [value[::-1] for value in rest]
    tail = _border(_shared(turned), turned)
    rest = [value[: len(value) - len(tail)] for value in rest]
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
    if not all(map(is_number, values)):
        return 0
    step, times = Counter(int(after) - int(before) for before, after in pairwise(values)).most_common(1)[0]
    return step if times >= _MOSTLY * (len(values) - 1) and abs(step) < _MAX_STEP else 0
