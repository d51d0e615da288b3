"""The header that a log puts before every line: a time, a host. Many tokens, and the same news each time."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

_MONTH: Final = "(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)"
_TIME: Final = r"\d\d?[:.]\d\d[:.]\d\d(?:[.,:]\d+)?"
_CLOCK: Final = "|".join(
    (
        rf"\d{{4}}[-/.]\d\d[-/.]\d\d(?:[T _-]{_TIME})?",
        rf"\d{{8}}[-T ]{_TIME}",
        rf"[\w.-]*\d{{4}}-\d\d-\d\d_{_TIME}",
        rf"(?:(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun),? )?{_MONTH} +\d\d?(?:,? \d{{4}})?(?= )",
        rf"\d\d?[-/ ]{_MONTH}[-/ ]\d{{2,4}}(?:[ :]{_TIME})?",
        rf"{_TIME}(?: [AP]M)?",
        r"\d\d?[-/.]\d\d?(?:[-/.]\d\d(?:\d\d)?)?(?=,?[ T]\d\d?:)",
        r"\d{6} \d{6}(?= )",
        r"\d{10}(?:\d{3})?(?:\.\d+)?(?= )",
        r"\d{4}(?=\] | \d\d:\d\d)",
        r"\d\d[OE]\+?(?= )",  # GitLab: which stream
    )
)
_ZONE: Final = r"(?: ?(?:Z|UTC|GMT|[+-]\d\d:?\d\d))?"
_STAMP: Final = rf"[\[(<]?(?:(?:{_CLOCK}){_ZONE}[\])>,|]{{0,2}}[ \t]*)+"
# `gh run view --log` names the job and the step in every line.
_LABELS: Final = r"(?:[^\t\n]{1,80}\t){2}"
# A level, a service or a label may stand before the time; it is kept.
_BEFORE: Final = rf"(?:<\d+>\d? ?|- )?(?P<before>\[?[A-Z]+\]?:? +|[\w.-]+ +\| |[IWEF](?=\d{{4}} \d\d:)|{_LABELS}(?=\ufeff?\d))?\ufeff?"
_PLAIN: Final = re.compile(rf"{_BEFORE}(?:{_STAMP}|(?:time|ts|timestamp)=\"?(?:{_CLOCK}){_ZONE}\"?)")
# Some clusters write a time, the node, the time again and the node again.
_LABELLED: Final = re.compile(_LABELS)
_NAMED: Final = re.compile(rf"(\S+) {_STAMP}(?:\1(?:/\S+)? +)?")
_HOST: Final = re.compile(r"([A-Za-z][\w.-]+\w) (?! *[-|:])")
_SEPARATORS: Final = ("- ", "| ", ": ")
_MOST: Final = 0.6
_NEARLY_ALL: Final = 0.9
_NO_HOST: Final = frozenset("trace debug info notice warn warning error fatal at".split())  # noqa: SIM905


@dataclass(frozen=True, slots=True)
class Header:
    """What was cut from before the lines of a log.

    Args:
        stamped: How many lines lost a time.
        host: The word that nearly all lines began with, after the time, and that was cut too.
        steps: The lines that name a job and its step; those below them that named the same no longer do.
    """

    stamped: int = 0
    host: str | None = None
    steps: tuple[int, ...] = ()


def without_header(lines: list[str]) -> tuple[list[str], Header]:
    """Cut the time before the lines of a log, if most lines bear one, and the host behind it, if it is always the same.

    In a log whose lines mostly bear no time, a time is part of the message and stays.
    """
    matches = [_PLAIN.match(line) for line in lines]
    stamped = sum(map(bool, matches))
    if stamped < _MOST * len(lines):
        return lines, Header()
    lines = [_cut(line, match) if match else line for line, match in zip(lines, matches, strict=True)]
    for separator in _SEPARATORS:
        if sum(line.startswith(separator) for line in lines) >= _NEARLY_ALL * stamped:
            lines = [line.removeprefix(separator) for line in lines]
    if _NAMED.match(lines[len(lines) // 2]):
        lines = [_NAMED.sub(r"\1 ", line, count=1) if _NAMED.match(line) else line for line in lines]
    lines, steps = _without_repeated_labels(lines)
    host = _common_first_word(lines)
    if host:
        lines = [line.removeprefix(host + " ") for line in lines]
    return lines, Header(stamped, host, steps)


def _without_repeated_labels(lines: list[str]) -> tuple[list[str], tuple[int, ...]]:
    """Name a job and its step where they begin alone, and say where that is."""
    labels = [match[0] if (match := _LABELLED.match(line)) else "" for line in lines]
    if sum(map(bool, labels)) < _MOST * len(lines):
        return lines, ()
    steps = [number for number, (above, label) in enumerate(pairwise(["", *labels])) if label != above]
    named = frozenset(steps)
    cut = [line if number in named else line[len(labels[number]) :] for number, line in enumerate(lines)]
    return cut, tuple(steps)


def _cut(line: str, stamp: re.Match[str]) -> str:
    # One space belongs to the stamp; what follows is the indentation of the message.
    stamped = stamp[0].rstrip()
    rest = line[len(stamped) :] if stamped.endswith("|") else line[len(stamped) :].removeprefix(" ")
    return stamp["before"] + rest if stamp["before"] else rest


def _common_first_word(lines: list[str]) -> str | None:
    counts = Counter(match[1] for line in lines if (match := _HOST.match(line)))
    word, count = counts.most_common(1)[0] if counts else ("", 0)
    return word if count >= _NEARLY_ALL * len(lines) and word.lower() not in _NO_HOST else None
