"""Source code as an outline: which rows say what there is, and which only how it is done."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from enum import Enum, auto
from typing import Final

_NOTED: Final = re.compile(r"… (\d{1,9}) lines?\b")
_MAX_DEPTH: Final = 32
_MARGIN: Final = re.compile(r"\s*(?:\*(?!/)|//[/!]?|#+)?\s*")


class Kind(Enum):
    """What a run of rows is."""

    BODY = auto()  # statements
    DATA = auto()  # items of a collection
    DOC = auto()  # text


@dataclass(frozen=True, slots=True)
class Region:
    """Rows, from `start` up to `stop`, that an outline leaves out; `function` numbers the function they belong to."""

    start: int
    stop: int
    kind: Kind
    function: int | None = None


@dataclass(frozen=True, slots=True)
class Unit:
    """A declaration or statement; one that holds others (`is_container`) has its own rows ahead of and after theirs."""

    start: int
    stop: int
    own: tuple[tuple[int, int], ...]
    parent: int | None = None

    def to(self, stop: int) -> Unit:
        """Return the unit with the rows up to `stop`, too."""
        return replace(self, stop=stop, own=(*self.own[:-1], (self.own[-1][0], stop)))


@dataclass(slots=True)
class Outline:
    """The rows of a source, what of them may go, and in which units.

    Args:
        rows: The lines.
        statement: A line that stands for statements left out.
        comment: A line that stands for items left out.
        regions: What an outline leaves out.
        units: Declarations and statements, outer ones ahead of what they hold.
        functions: How many functions there are.
    """

    rows: list[str]
    statement: str
    comment: str
    regions: list[Region] = field(default_factory=list)
    units: list[Unit] = field(default_factory=list)
    functions: int = 0

    def hidden(self, shown: set[int]) -> bytearray:
        """Mark the rows that an outline leaves out, but for the bodies of the functions in `shown`."""
        dropped = bytearray(len(self.rows))
        for region in self.regions:
            if region.function not in shown:
                dropped[region.start : region.stop] = b"\1" * (region.stop - region.start)
        return dropped

    def only(self, units: set[int], hidden: bytearray) -> bytearray:
        """Mark all rows but those of some units that are not `hidden`."""
        dropped = bytearray(b"\1" * len(self.rows))
        for number in units:
            for start, stop in self.units[number].own:
                dropped[start:stop] = hidden[start:stop]
        return dropped

    def bodies(self) -> dict[int, str]:
        """Return what is left out of each function."""
        bodies: dict[int, str] = {}
        for region in self.regions:
            if region.function is not None:
                rows = "\n".join(self.rows[region.start : region.stop])
                bodies[region.function] = f"{bodies[region.function]}\n{rows}" if region.function in bodies else rows
        return bodies

    def head(self, unit: Unit, hidden: bytearray) -> str:
        """Return the rows that a unit has in the outline, without those of what it holds."""
        return "\n".join(self.rows[at] for start, stop in unit.own for at in range(start, stop) if not hidden[at])

    def depth(self, number: int) -> int:
        """Return in how many other units a unit stands."""
        depth, parent = 0, self.units[number].parent
        while parent is not None and depth < _MAX_DEPTH:
            depth, parent = depth + 1, self.units[parent].parent
        return depth

    def text(self, dropped: bytearray) -> tuple[str, int]:
        """Write the rows that are not dropped, a note in the place of every run of others; return their number, too."""
        regions = {(region.start, region.stop): region.kind for region in self.regions}
        lines: list[str] = []
        total = at = 0
        while at < len(self.rows):
            stop = dropped.find(1 - dropped[at], at)
            stop = len(self.rows) if stop < 0 else stop
            run = self.rows[at:stop]
            if dropped[at] and any(map(str.strip, run)):
                count = sum(map(lines_in, run))
                total += count
                lines.append(self._note(run, count, regions.get((at, stop), Kind.BODY)))
            else:
                lines += run
            at = stop
        return "\n".join(lines), total

    def _note(self, run: list[str], count: int, kind: Kind) -> str:
        said = f"{count} lines" if count > 1 else "1 line"
        first = next(row for row in run if row.strip())
        margin = _MARGIN.match(first)
        indent = first[: len(first) - len(first.lstrip())]
        match kind:
            case Kind.BODY:
                return indent + self.statement.format(said)
            case Kind.DATA:
                return indent + self.comment.format(said)
            case Kind.DOC:
                return f"{margin[0] if margin else ''}… {said}"


def lines_in(row: str) -> int:
    """Count the lines that a row stands for: what a note says, else one."""
    noted = _NOTED.search(row)
    return int(noted[1]) if noted else 1
