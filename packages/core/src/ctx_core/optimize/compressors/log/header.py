"""The header that a log puts before every line: a time, a host. Many tokens, and the same news each time."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import Final

_MONTH: Final = "(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)"
_TIME: Final = r"\d\d?[:.]\d\d[:.]\d\d(?:[.,:]\d+)?"
_CLOCK: Final = "|".join(
    (
        rf"\d{{4}}[-/.]\d\d[-/.]\d\d(?:[T _-]{_TIME})?",
        rf"\d{{8}}[-T ]{_TIME}",
        rf"(?:(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun),? )?{_MONTH} +\d\d?(?:,? \d{{4}})?(?= )",
        rf"\d\d?[-/ ]{_MONTH}[-/ ]\d{{2,4}}(?:[ :]{_TIME})?",
        rf"{_TIME}(?: [AP]M)?",
        r"\d\d[-/.]\d\d(?:[-/.]\d\d(?:\d\d)?)?(?=[ T]\d\d:)",
        r"\d{6} \d{6}(?= \d)",
        r"\d{10}(?:\d{3})?(?:\.\d+)?(?= )",
        r"\d{4}(?=\] )",
    )
)
_ZONE: Final = r"(?: ?(?:Z|UTC|GMT|[+-]\d\d:?\d\d))?"
_STAMP: Final = rf"[\[(<]?(?:(?:{_CLOCK}){_ZONE}[\])>,|]{{0,2}}[ \t]*)+"
_PLAIN: Final = re.compile(rf"(?:- )?{_STAMP}(?:[-|:] +)?")
# Some clusters write a time, the node, the time again and the node again.
_NAMED: Final = re.compile(rf"(\S+) {_STAMP}(?:\1(?:/\S+)? +)?")
_MOST: Final = 0.6
_NEARLY_ALL: Final = 0.9
_LEVELS: Final = frozenset("trace debug info notice warn warning error fatal at".split())  # noqa: SIM905


@dataclass(frozen=True, slots=True)
class Headless:
    """Lines without what stood before each of them.

    Args:
        lines: The lines.
        stamped: How many lost a time.
        host: The word that nearly all began with, after the time, and that was cut too.
    """

    lines: list[str]
    stamped: int = 0
    host: str | None = None


def without_header(lines: list[str]) -> Headless:
    """Cut the time before the lines of a log, if most lines bear one, and the host behind it, if it is always the same.

    In a log whose lines mostly bear no time, a time is part of the message and stays.
    """
    matches = [_PLAIN.match(line) for line in lines]
    stamped = sum(map(bool, matches))
    if stamped < _MOST * len(lines):
        return Headless(lines)
    # One space belongs to the stamp; what follows is the indentation of the message.
    lines = [
        line[len(match[0].rstrip()) :].removeprefix(" ") if match else line
        for line, match in zip(lines, matches, strict=True)
    ]
    if _NAMED.match(lines[len(lines) // 2]):
        lines = [_NAMED.sub(r"\1 ", line, count=1) if _NAMED.match(line) else line for line in lines]
    host = _common_first_word(lines)
    if host:
        lines = [line.removeprefix(host + " ") for line in lines]
    return Headless(lines, stamped, host)


def _common_first_word(lines: list[str]) -> str | None:
    counts = Counter(line.partition(" ")[0] for line in lines)
    word, count = counts.most_common(1)[0]
    is_name = word[:1].isalpha() and word[-1:].isalnum() and word.lower() not in _LEVELS
    return word if is_name and count >= _NEARLY_ALL * len(lines) else None
