"""The kept lines in their order, with a count at every place where lines are missing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ctx_core.optimize.compressors.base import Compressed, Omission
from ctx_core.optimize.compressors.log import notes

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from ctx_core.optimize.compressors.log.reading import Log


def render(log: Log, kept: Mapping[int, str], *, with_legend: bool) -> Compressed:
    """Return the kept lines, each gap counted in its place, under a legend that counts them all."""
    total = len(log.lines)
    out = []
    omissions = list(passed_states(log))
    if log.header.stamped:
        omissions.append(Omission(what="times", count=log.header.stamped))
    previous = -1
    for number in [*sorted(kept), total]:
        if gap := log.count(previous + 1, number):
            out.append(notes.gap(gap))
            omissions.append(Omission(what="lines", count=gap, where=f"lines {previous + 2}-{number}"))
        if number < total:
            out.append(kept[number])
            if kept[number] is not log.lines[number]:
                count = notes.read_missing_chars(kept[number])
                omissions.append(Omission(what="characters", count=count, where=f"line {number + 1}"))
        previous = number
    if with_legend and (log.header.stamped or len(kept) < total):
        out.insert(0, notes.legend(len(kept), log.count(0, total), log.header))
    end = "\n" if log.shown.endswith("\n") else ""
    return Compressed(text="\n".join(out) + end, omissions=tuple(omissions))


def passed_states(log: Log) -> Iterator[Omission]:
    """Yield what resolving progress bars left out, if it did."""
    if log.states:
        yield Omission(what="progress states", count=log.states)
