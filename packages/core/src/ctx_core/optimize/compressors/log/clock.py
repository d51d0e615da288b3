"""The time that a log puts before its lines: many tokens, little news."""

from __future__ import annotations

import re
from typing import Final

_MONTH: Final = "(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)"
_TIME: Final = r"\d\d?:\d\d:\d\d(?:[.,:]\d+)?"
_CLOCK: Final = "|".join(
    (
        rf"\d{{4}}[-/.]\d\d[-/.]\d\d(?:[T _-]{_TIME})?",
        rf"\d{{8}}[-T ]{_TIME}",
        rf"(?:(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun),? )?{_MONTH} +\d\d?(?:,? \d{{4}})?(?= )",
        rf"\d\d?[-/ ]{_MONTH}[-/ ]\d{{2,4}}",
        rf"{_TIME}(?: [AP]M)?",
        r"\d\d[-/.]\d\d(?:[-/.]\d\d(?:\d\d)?)?(?=[ T]\d\d:)",
        r"\d{6} \d{6}(?= \d)",
        r"\d{10}(?:\d{3})?(?:\.\d+)?(?= )",
        r"\d{4}(?=\] )",
    )
)
_ZONE: Final = r"(?: ?(?:Z|UTC|GMT|[+-]\d\d:?\d\d))?"
_STAMP: Final = re.compile(rf"[\[(<]?(?:(?:{_CLOCK}){_ZONE}[\])>,|]{{0,2}}[ \t]*)+(?:[-|:] +)?")
_MOST: Final = 0.6


def without_clock(lines: list[str]) -> tuple[list[str], int]:
    """Cut the time before the lines of a log, if most lines bear one; return the lines and how many were cut.

    In a log whose lines mostly bear no time, a time is part of the message and stays.
    """
    matches = [_STAMP.match(line) for line in lines]
    stamped = sum(map(bool, matches))
    if stamped < _MOST * len(lines):
        return lines, 0
    # One space belongs to the clock; what follows is the indentation of the message.
    return [
        line[len(match[0].rstrip()) :].removeprefix(" ") if match else line
        for line, match in zip(lines, matches, strict=True)
    ], stamped
