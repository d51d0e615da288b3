"""The kept lines in their order, with a count at every place where lines are missing."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from ctx_core.optimize.compressors.base import Compressed, Omission

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ctx_core.optimize.compressors.log.header import Headless

LEGEND_COST: Final = 20
_LEGEND: Final = re.compile(r"\[log: ([\d,]+) of ([\d,]+) lines[^\]\n]*\]\n?")
_CHARS: Final = re.compile(r"\[… ([\d,]+) chars\]")
_GAP: Final = re.compile(r"^\[… ([\d,]+) lines?[^\]\n]*\]$", re.MULTILINE)


def render(log: Headless, kept: Mapping[int, str]) -> Compressed:
    """Return the kept lines under a legend, each gap counted in its place."""
    lines = log.lines
    out = [f"[log: {len(kept):,} of {len(lines):,} lines{_cuts(log)}]"]
    omissions = [Omission(what="times", count=log.stamped)] if log.stamped else []
    previous = -1
    for index in [*sorted(kept), len(lines)]:
        if gap := index - previous - 1:
            out.append(f"[… {gap:,} line{'s' if gap > 1 else ''}]")
            omissions.append(Omission(what="lines", count=gap, where=f"lines {previous + 2}-{index}"))
        if index < len(lines):
            out.append(kept[index])
            if kept[index] is not lines[index]:
                omissions.append(Omission(what="characters", count=_missing(kept[index]), where=f"line {index + 1}"))
        previous = index
    return Compressed(text="\n".join(out), omissions=tuple(omissions))


def _cuts(log: Headless) -> str:
    if not log.stamped:
        return ""
    return f", times and {log.host} cut" if log.host else ", times cut"


def _missing(excerpt: str) -> int:
    return sum(int(count.replace(",", "")) for count in _CHARS.findall(excerpt))


def is_rendered(text: str) -> bool:
    """Say whether `text` is a rendered log: its legend, lines and gaps add up."""
    legend = _LEGEND.match(text)
    if not legend:
        return False
    kept, total = (int(number.replace(",", "")) for number in legend.groups())
    gaps = [int(gap.replace(",", "")) for gap in _GAP.findall(text, legend.end())]
    rest = text[legend.end() :]
    return kept + sum(gaps) == total and (rest.count("\n") + 1 if rest else 0) == kept + len(gaps)
