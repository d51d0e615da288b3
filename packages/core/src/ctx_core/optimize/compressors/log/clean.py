"""What a terminal would show: escapes resolved, progress bars at their last state, the clock before every line cut."""

from __future__ import annotations

import re
from typing import Final

_ESCAPE: Final = re.compile(
    r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b\n]*(?:\x07|\x1b\\)?|[PX^_][^\x1b\n]*(?:\x1b\\)?|[ -/]*[0-~])"
)
_OVERSTRUCK: Final = re.compile(r"[^\n\b]\x08")


def plain(text: str) -> str:
    """Return `text` without terminal escapes, each carriage-returned line at the last state it showed."""
    if "\x1b" in text:
        text = _ESCAPE.sub("", text)
    if "\x08" in text:
        text = _OVERSTRUCK.sub("", text).replace("\x08", "")
    if "\r" in text:
        text = "\n".join(_last_state(line) if "\r" in line else line for line in text.split("\n"))
    return text.removeprefix("\ufeff")


def _last_state(line: str) -> str:
    states = [state for state in line.split("\r") if state.strip()]
    if len(states) <= 1:
        return states[0] if states else ""
    return f"{states[-1]} [… {len(states) - 1} states before]"


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
_STAMP: Final = re.compile(rf"^[\[(<]?(?:(?:{_CLOCK}){_ZONE}[\])>,|]{{0,2}}[ \t]*)+(?:[-|:] +)?", re.MULTILINE)


def without_clock(lines: list[str]) -> tuple[list[str], int]:
    """Cut the time that a log puts before (nearly) every line; return the lines and how many were cut.

    A log whose lines mostly bear no time is left as it is: there, a time is part of the message.
    """
    matches = [_STAMP.match(line) for line in lines]
    stamped = sum(1 for match in matches if match)
    if stamped * 10 < 6 * len(lines):
        return lines, 0
    return [line[match.end() :] if match else line for line, match in zip(lines, matches, strict=True)], stamped
