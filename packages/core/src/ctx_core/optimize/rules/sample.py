"""A bounded look at a text: detection costs the same for 10 KB and for 10 MB."""

from __future__ import annotations

import re
from functools import cached_property
from typing import Final

_HEAD_CHARS: Final = 6_000
_WINDOW_CHARS: Final = 3_000
_ANSI: Final = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]")


class Sample:
    """The head of a text, and windows from its middle and its end, as lines without colour codes."""

    max_line: Final = 400
    max_lines: Final = 64

    def __init__(self, text: str) -> None:
        self.text = text
        self.size = len(text)
        self._counts: dict[re.Pattern[str], int] = {}

    @cached_property
    def head(self) -> str:
        """The first few thousand characters."""
        return self._plain(self.text[:_HEAD_CHARS])

    @cached_property
    def tail(self) -> str:
        """The last few thousand characters that `head` does not hold."""
        return self._plain(self.text[max(_HEAD_CHARS, self.size - _WINDOW_CHARS) :])

    @cached_property
    def lines(self) -> list[str]:
        """Lines that are not blank, up to 64 each from the head, the middle and the tail, cut after 400 characters."""
        windows = [self.head if self.size <= _HEAD_CHARS else _without_last(self.head)]
        if self.size > _HEAD_CHARS + 2 * _WINDOW_CHARS:
            middle = self.size // 2
            windows.append(_without_last(_without_first(self._plain(self.text[middle : middle + _WINDOW_CHARS]))))
        windows.append(_without_first(self.tail))
        lines = (window.split("\n", self.max_lines)[: self.max_lines] for window in windows)
        return [line[: self.max_line] for window in lines for line in window if line and not line.isspace()]

    @cached_property
    def edges(self) -> tuple[str, str]:
        """The first and the last character that is no white space."""
        start = self.text[:_HEAD_CHARS].lstrip("\ufeff \t\r\n")[:1]
        return start, self.text[-_HEAD_CHARS:].rstrip()[-1:]

    def share(self, pattern: re.Pattern[str]) -> float:
        """Return the share of the sampled lines at whose start `pattern` matches."""
        return self.count(pattern) / len(self.lines) if self.lines else 0.0

    def count(self, pattern: re.Pattern[str]) -> int:
        """Return the number of sampled lines at whose start `pattern` matches; several rules may ask for one."""
        if pattern not in self._counts:
            self._counts[pattern] = sum(map(bool, map(pattern.match, self.lines)))
        return self._counts[pattern]

    @staticmethod
    def _plain(text: str) -> str:
        text = text.replace("\r\n", "\n")
        return _ANSI.sub("", text) if "\x1b" in text else text


def _without_first(window: str) -> str:
    """Drop the line that a window starts in the middle of."""
    return window.partition("\n")[2] or window


def _without_last(window: str) -> str:
    """Drop the line that a window ends in the middle of."""
    return window.rpartition("\n")[0] or window
