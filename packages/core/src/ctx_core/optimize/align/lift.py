"""Lifts the volatile lines out of a prompt and leaves the rest byte for byte."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from ctx_core.optimize.align.volatile import is_record_field, is_volatile

if TYPE_CHECKING:
    from collections.abc import Iterator

# A cheap sign that a line may hold one of the labels; most lines of a prompt hold none.
_HINT: Final = re.compile(
    r"date|time|today|\bnow\b|clock|\bid\b|uuid|request|\breq\b|session|trace|\brun\b|span|correlation|conversation|thread"
    r"|chat|invocation|execution|\bturn\b|nonce|cache|generated|rendered|received|\bsent\b|dir|folder|path|cwd|workspace"
    r"|sandbox|scratch|tmp|file|datum|heute|zeit|fecha|hora|heure|当前|现在|今天|現在|本日",
    re.IGNORECASE,
)
# Every value but a weekday's name holds a digit.
_VALUE: Final = re.compile(r"\d|day\b|曜|周|星期", re.IGNORECASE)
_SENTENCE_END: Final = re.compile(r"(?<=[.!?;。])\s+")
_FENCE: Final = re.compile(r"\s*(```|~~~)")
_QUOTED_TAG: Final = re.compile(
    r"<(/?)(examples?|documents?|doc|file|source|quote|transcript|email|log|article|page|attachment|history)\b[^<>]*>",
    re.IGNORECASE,
)
_EXAMPLE: Final = re.compile(
    r"\b(?:examples?|e\.g\.|for instance|sample|template|format|formatted|looks? like|like this|as follows|such as)\b[^\n]{0,80}:\s*$",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Lifted:
    """A prompt without its volatile lines, and those lines in their order."""

    text: str
    lines: tuple[str, ...]


@lru_cache(maxsize=64)
def lift(text: str) -> Lifted:
    """Take out lines, or sentences at home in a longer line, that are about the request; quoted material stays whole."""
    if not _HINT.search(text):
        return Lifted(text=text, lines=())
    lines = text.split("\n")
    kept: list[str] = []
    moved: list[str] = []
    for at, (line, is_quoted) in enumerate(zip(lines, _quoted(lines), strict=True)):
        if is_quoted or not _VALUE.search(line) or not _HINT.search(line):
            kept.append(line)
            continue
        rest, lifted = _lift_line(lines, at)
        moved += lifted
        if rest or not lifted:
            kept.append(rest)
    if not moved:
        return Lifted(text=text, lines=())
    stable = "\n".join(kept)
    return Lifted(text=stable if text.startswith("\n") else stable.lstrip("\n"), lines=tuple(moved))


def _lift_line(lines: list[str], at: int) -> tuple[str, list[str]]:
    line = lines[at]
    if is_volatile(line) and (is_volatile(line, beside_fields=True) or not _is_beside_fields(lines, at)):
        return "", [line.strip()]
    rest: list[str] = []
    lifted: list[str] = []
    for sentence in _SENTENCE_END.split(line):
        # A sentence in a longer line is less sure to be a label, so a bare one stays.
        is_lifted = _VALUE.search(sentence) is not None and is_volatile(sentence, beside_fields=True)
        (lifted if is_lifted else rest).append(sentence)
    if not lifted:
        return line, []
    return (" ".join(rest), lifted) if rest else ("", [line.strip()])


def _is_beside_fields(lines: list[str], at: int) -> bool:
    beside = (*lines[max(0, at - 1) : at], *lines[at + 1 : at + 2])
    return any(is_record_field(line) and not all(map(is_volatile, _SENTENCE_END.split(line))) for line in beside)


def _quoted(lines: list[str]) -> Iterator[bool]:
    """Say of each line whether it stands in a code fence, a document, or an example."""
    fence: str | None = None
    depth = 0
    is_example = False
    for line in lines:
        opening = _FENCE.match(line)
        if opening and fence in (None, opening[1]):
            fence = None if fence else opening[1]
        is_example = (is_example and bool(line.strip())) or line.lstrip().startswith(">")
        yield bool(opening or fence or depth or is_example)
        for closing, _ in _QUOTED_TAG.findall(line) if "<" in line else ():
            depth = max(0, depth - 1) if closing else depth + 1
        is_example = is_example or (line.rstrip().endswith(":") and _EXAMPLE.search(line) is not None)
