"""What CI systems and test runners write around the output: steps, echoed scripts, rules of dashes."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ctx_core.optimize.compressors.log.templates import Template

_STEP: Final = ("##[group]Run ", "::group::Run ")
_MARKS: Final = ("##[", "::", "section_start:", "section_end:", "[Pipeline]", "Post job cleanup.")
_STEP_END: Final = ("##[endgroup]", "::endgroup::")
_EVENT: Final = re.compile(
    r"\s*(?:\S+ +){0,8}?[\[<(]?(?:TRACE|DEBUG|INFO|NOTICE|WARN(?:ING)?|ERR(?:OR)?|FATAL|SEVERE|CRITICAL|Info|info|Error|error|Warning|warn|notice|debug|[VDIWEF](?= ))[\]>)]?[:\s]|(?:\S+ ){0,3}?[\w./()@-]+(?:\[\d+\])?: "
)
_MOST: Final = 0.7
_FEW: Final = 0.05
_SAMPLE: Final = 300
_LAST_WORD: Final = re.compile(
    r"^##\[error\]|^::error|[Ee]xit(?:ed)? (?:with )?(?:code|status)|^(?:Finished:|make(?:\[\d+\])?: \*\*\*)"
)
_GUTTER: Final = 12
_WORD: Final = re.compile(r"[^\W\d_]")
_LETTER: Final = re.compile(r"\w")


@dataclass(frozen=True, slots=True)
class Steps:
    """The steps of a CI run.

    Args:
        starts: The lines that name a step, in order.
        echoed: The lines that show a step's script and settings before it runs.
    """

    starts: list[int]
    echoed: frozenset[int]


def steps(lines: Sequence[str], named: Iterable[int] = ()) -> Steps:
    """Find the steps of a CI run, beside those that its header `named`; most logs have none."""
    starts: list[int] = []
    echoed: list[int] = []
    is_open = False
    for number, line in enumerate(lines):
        if line.startswith(_MARKS):
            if line.startswith(_STEP):
                starts.append(number)
                is_open = True
            elif is_open and line.startswith(_STEP_END):
                echoed += range(starts[-1], number)
                is_open = False
    return Steps(sorted({*starts, *named}), frozenset(echoed))


def is_event_log(lines: Sequence[str], templates: Sequence[Template], *, stamped: bool) -> bool:
    """Say whether most lines are events of their own, so that the lines around one say nothing about it.

    Either a level or a speaker's name stands before the messages, or a time or number does and next to nothing is indented.
    """
    sample = templates[:: len(templates) // _SAMPLE + 1]
    total = sum(template.count for template in sample)
    headed = numbered = ragged = 0
    for template in sample:
        line = lines[template.first]
        if is_step_mark(line):
            return False
        headed += template.count if _EVENT.match(line) else 0
        numbered += template.count if stamped or line[:1].isdigit() or line[:1] == "{" else 0
        ragged += template.count if not line[:1].strip() else 0
    return headed >= _MOST * total or (numbered >= _MOST * total and ragged < _FEW * total)


def ends_step(line: str) -> bool:
    """Say whether a line is the last word of a step: what follows is another matter."""
    return bool(_LAST_WORD.search(line))


def is_step_mark(line: str) -> bool:
    """Say whether a line is written by the CI system to begin or end a step, or to judge it."""
    return line.startswith(_MARKS)


def is_gutter(line: str) -> bool:
    """Say whether a line is short and holds no word, such as the margin of a quoted source."""
    return len(line) <= _GUTTER and not _WORD.search(line)


def is_rule(line: str) -> bool:
    """Say whether a line holds no letter or digit: blank, or drawn."""
    return not _LETTER.search(line)
