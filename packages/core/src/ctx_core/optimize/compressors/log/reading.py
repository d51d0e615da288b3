"""A log as it is read: the lines a terminal would show, without their headers, and what an earlier pass left out."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING

from ctx_core.optimize.compressors.log.clean import plain
from ctx_core.optimize.compressors.log.header import Header, without_header
from ctx_core.optimize.compressors.log.notes import read_gap, without_legend
from ctx_core.optimize.compressors.log.runners import Steps, steps

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True, slots=True, kw_only=True)
class Log:
    """A log, line by line.

    Args:
        shown: The text as a terminal would show it.
        states: How many states of progress bars were passed over.
        lines: Its lines, headers cut.
        hidden: The lines that are notes of an earlier pass, in order.
        hidden_sums: How many lines of the original, themselves not counted, stand behind the first n of them.
        header: What was cut before the lines.
        steps: The steps of a CI run.
    """

    shown: str
    states: int
    lines: list[str]
    hidden: Sequence[int]
    hidden_sums: Sequence[int]
    header: Header
    steps: Steps

    def count(self, start: int, end: int) -> int:
        """Count the lines of the original from one place to another."""
        first, last = bisect_left(self.hidden, start), bisect_left(self.hidden, end)
        return end - start + self.hidden_sums[last] - self.hidden_sums[first]


def read(text: str) -> Log:
    """Read a log from its text."""
    shown, states = plain(text)
    lines, header = without_header(without_legend(shown).removesuffix("\n").split("\n"))
    gaps = {number: gap for number, line in enumerate(lines) if line.startswith("[") and (gap := read_gap(line))}
    for number in gaps:
        lines[number] = ""
    return Log(
        shown=shown,
        states=states,
        lines=lines,
        hidden=list(gaps),
        hidden_sums=list(accumulate((gap - 1 for gap in gaps.values()), initial=0)),
        header=header,
        steps=steps(lines, header.steps),
    )
