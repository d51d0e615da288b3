"""Stack traces of Python, Java, JavaScript, Go, Rust, .NET, C++ and Ruby: which lines are frames, and which of them matter."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ctx_core.optimize.compressors.log.templates import Template

# A thread's name or the like may stand before a frame; traces are told apart by it.
_FRAME: Final = re.compile(
    r"""(?x)
    (?P<thread>(?:\[[^\]\n]{1,60}\]\ ?|\S{1,60}\ \|\ )?)\s*(?:E\s+)?
    (?: at\ (?:\S+\ )?\S*\(.*\)?$                    # Java, JavaScript, .NET: at f(file:1)
      | at\ \S+:\d+(?::\d+)?$                         # JavaScript, Rust: at file:1:2
      | at\ [\w.$<>`\[\],]+\(.*\)\ in\ .*:line\ \d+   # .NET: at A.B() in file:line 1
      | File\ ".*",\ line\ \d+                        # Python
      | \#\d+:?\s+(?:0x[0-9a-f]+\b|\S+\ \(|[\w:~<>]+\()  # gdb, sanitizers, PHP
      | \d+:\s+(?:0x[0-9a-f]+\ -\ )?[\w<{][\w:<>{}\#&\ ]*(?:::|$)  # Rust
      | from\ \S+:\d+:in\b                           # Ruby
      | \S+\.go:\d+(?:\ \+0x[0-9a-f]+)?$             # Go
      | \.\.\.\ \d+\ (?:more|common\ frames)
    )
    """
)
_LIBRARY: Final = re.compile(
    r"(?:site|dist)-packages|node_modules|node:|internal/|\bjavax?\.|\b(?:jdk|sun)\.|org\.(?:junit|apache|springframework|gradle|eclipse|hibernate)"
    r"|/rustc/|\.cargo/registry|\b(?:core|std|alloc|tokio)::|/usr/(?:lib|include|local/lib|local/go)|\bruntime[./]|\bSystem\.|\bMicrosoft\.|<frozen|/lib/python|\bpluggy\b|libc\.so|\.\.\. \d+"
)
# How far apart the frames of one trace stand, and those of a recursion: a frame may be three lines long.
_NEXT: Final = 4
_PITCH: Final = 3


@dataclass(frozen=True, slots=True)
class Frame:
    """A frame of a trace, the first of its kind: recursion and repeated traces show the same ones.

    Args:
        line: Its number.
        worth: In (0, 1]; the ends of a trace and the caller's own code are worth most.
        has_source: Whether the next line quotes its source.
    """

    line: int
    worth: float
    has_source: bool


def frames(lines: Sequence[str], templates: Iterable[Template]) -> list[Frame]:
    """Return the distinct frames of a log, trace by trace."""
    of_thread: dict[str, list[int]] = {}
    for template in templates:
        if template.severity or not _FRAME.match(lines[template.first]):
            continue
        for shape in template.shapes:
            thread = _FRAME.match(lines[shape[0]])
            of_thread.setdefault(thread["thread"] if thread else "", []).extend(_ends(shape))
    return [frame for numbers in of_thread.values() for trace in _traces(numbers) for frame in _ranked(lines, trace)]


def _ends(shape: list[int]) -> list[int]:
    """Return where a frame first stands, and where its recursion ends, if it recurs."""
    first, last = shape[0], shape[-1]
    recurs = 0 < last - first <= _PITCH * len(shape)
    return [first, last] if recurs else [first]


def _traces(numbers: list[int]) -> list[list[int]]:
    traces: list[list[int]] = []
    for number in sorted(numbers):
        if traces and number - traces[-1][-1] <= _NEXT:
            traces[-1].append(number)
        else:
            traces.append([number])
    return traces


def _ranked(lines: Sequence[str], trace: list[int]) -> list[Frame]:
    last = len(trace) - 1
    return [
        Frame(
            number,
            (0.25 if _LIBRARY.search(lines[number]) else 1.0) / (1 + min(depth, last - depth)),
            'File "' in lines[number] and number + 1 < len(lines),
        )
        for depth, number in enumerate(trace)
    ]
