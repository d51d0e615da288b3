"""A log as it is read: the lines a terminal would show, without their headers, and what an earlier pass left out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ctx_core.optimize.compressors.log.clean import plain
from ctx_core.optimize.compressors.log.header import Header, without_header
from ctx_core.optimize.compressors.log.notes import read_gap, without_legend
from ctx_core.optimize.compressors.log.runners import Steps, steps

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True, kw_only=True)
class Log:
    """A log, line by line.

    Args:
        shown: The text as a terminal would show it.
        states: How many states of progress bars were passed over.
        lines: Its lines, headers cut.
        hidden: How many lines of the original stand behind a line that is a note of an earlier pass.
        header: What was cut before the lines.
        steps: The steps of a CI run.
    """

    shown: str
    states: int
    lines: list[str]
    hidden: Mapping[int, int]
    header: Header
    steps: Steps

    def count(self, start: int, end: int) -> int:
        """Count the lines of the original from one place to another."""
        return end - start + sum(gap - 1 for number, gap in self.hidden.items() if start <= number < end)


def read(text: str) -> Log:
    """Read a log from its text."""
    shown, states = plain(text)
    lines, header = without_header(without_legend(shown).removesuffix("\n").split("\n"))
    hidden = {number: gap for number, line in enumerate(lines) if line.startswith("[") and (gap := read_gap(line))}
    for number in hidden:
        lines[number] = ""
    return Log(shown=shown, states=states, lines=lines, hidden=hidden, header=header, steps=steps(lines))
