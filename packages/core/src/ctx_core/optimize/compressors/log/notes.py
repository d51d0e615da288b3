"""The notes that a compressed log carries in place of what it left out, and how they are recognised."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from ctx_core.optimize.compressors.log.header import Header

LEGEND_COST: Final = 20
"""The most tokens that a legend takes."""

_LEGEND: Final = re.compile(
    r"\[log: ([0-9][0-9,]{0,14}) of ([0-9][0-9,]{0,14}) lines(?:, times(?: and \S+)? cut)?\]\n?"
)
_GAP: Final = re.compile(r"\[… ([0-9][0-9,]{0,14}) lines?\]")
_GAPS: Final = re.compile(rf"^{_GAP.pattern}$", re.MULTILINE)
_CHARS: Final = re.compile(r"\[… ([0-9][0-9,]{0,14}) chars\]")


def legend(kept: int, total: int, header: Header) -> str:
    """State how many lines are shown, and what was cut from each."""
    cut = f", times and {header.host} cut" if header.host else ", times cut" if header.stamped else ""
    return f"[log: {kept:,} of {total:,} lines{cut}]"


def gap(count: int) -> str:
    """State how many lines are missing at a place."""
    return f"[… {count:,} line{'s' if count > 1 else ''}]"


def missing_chars(count: int) -> str:
    """State how many characters are missing within a line."""
    return f"[… {count:,} chars]"


def passed_states(count: int) -> str:
    """State how many states of a progress bar came before the one that is shown."""
    return f"[… {count:,} states before]"


def read_gap(line: str) -> int:
    """Return how many lines a gap stands for, or 0 if `line` is none."""
    match = _GAP.fullmatch(line)
    return _number(match[1]) if match else 0


def read_missing_chars(line: str) -> int:
    """Return how many characters an excerpt left out."""
    return sum(map(_number, _CHARS.findall(line)))


def without_legend(text: str) -> str:
    """Return a compressed log without its first line, any other text as it is."""
    return _LEGEND.sub("", text, count=1) if is_compressed(text) else text


def is_compressed(text: str) -> bool:
    """Say whether `text` is a compressed log: its legend, lines and gaps add up."""
    match = _LEGEND.match(text)
    if not match:
        return False
    kept, total = map(_number, match.groups())
    gaps = _GAPS.findall(text, match.end())
    rest = text[match.end() :].removesuffix("\n")
    return kept + sum(map(_number, gaps)) == total and (rest.count("\n") + 1 if rest else 0) == kept + len(gaps)


def _number(digits: str) -> int:
    return int(digits.replace(",", ""))
