"""What stays of a line that is too long to be quoted whole."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ctx_core.optimize.compressors.log.notes import missing_chars
from ctx_core.signals.severity import find_alarm
from ctx_core.tokens import whole_graphemes

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_NOTE: Final = 24


def excerpt(line: str, max_chars: int) -> str:
    """Return `line`, or its head, its first word of alarm and its tail, with a count of what is missing between them."""
    if len(line) <= max_chars + _NOTE:
        return line
    return _joined(line, _windows(line, max_chars))


def opening(line: str, max_chars: int) -> str:
    """Return `line`, or its first words, with a count of what is missing; a long word is finished."""
    if len(line) <= max_chars + _NOTE:
        return line
    end = line.find(" ", max_chars, 2 * max_chars)
    return _joined(line, [(0, whole_graphemes(line, end if end > 0 else max_chars))])


def _windows(line: str, max_chars: int) -> Iterator[tuple[int, int]]:
    head = whole_graphemes(line, max_chars // 2)
    tail = whole_graphemes(line, len(line) - max_chars // 4)
    yield 0, head
    signal = find_alarm(line, head, tail)
    if signal >= 0:
        width = max_chars // 4
        start = whole_graphemes(line, max(head, signal - width // 4))
        yield start, whole_graphemes(line, min(tail, start + width))
    yield tail, len(line)


def _joined(line: str, windows: Iterable[tuple[int, int]]) -> str:
    parts = []
    end = 0
    for start, stop in (*windows, (len(line), len(line))):
        if start > end:
            parts.append(missing_chars(start - end))
        parts.append(line[start:stop])
        end = stop
    return "".join(parts)
