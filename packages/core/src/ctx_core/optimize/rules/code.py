"""The rule for source code."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from ctx_core.optimize.content import ContentType, Detection
from ctx_core.optimize.rules.languages import ANCHORS, LINES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ctx_core.optimize.rules.sample import Sample

_SHEBANG: Final = re.compile(r"#!\s*/\S*?/?(?:env\s+(?:-\S+\s+)*)?([a-z]+)[\d.]*(?:\s|$)")
_INTERPRETERS: Final = {
    **dict.fromkeys(("sh", "bash", "zsh", "dash", "ksh"), "shell"),
    "node": "javascript",
    "deno": "typescript",
}
_NUMBERED: Final = re.compile(r"\s*(\d{1,9})(?:\t|→|\s\|\s|:\s?| {2}|$)")
_LOOKS: Final = re.compile(
    r".*(?:[{};(,\[]|\)|\):|:|\"\"\")\s*$|\s{2,}\S|\s*(?://|/\*|\*|#|--)|@\w|[\w.]+ = \S|[\w.]+\(.*\)\s*$"
)


def code(sample: Sample) -> Detection | None:
    """Source code, by lines that hardly stand anywhere else; a listing with line numbers is code too."""
    if shebang := _SHEBANG.match(sample.head):
        name = shebang.group(1)
        return Detection(content_type=ContentType.CODE, language=_INTERPRETERS.get(name, name))
    lines = without_numbers([*sample.lines[:48], *sample.lines[48:][-16:]])
    looks = sum(1 for line in lines if _LOOKS.match(line))
    if looks < 0.2 * len(lines):
        return None
    anchored = {language: sum(1 for line in lines if anchor.match(line)) for language, anchor in ANCHORS.items()}
    scores = {
        language: sum(1 for line in lines if LINES[language].match(line)) + count
        for language, count in anchored.items()
        if count
    }
    # TypeScript is JavaScript with more: its own lines decide for it, and those of JavaScript count for it.
    if scores.get("typescript"):
        scores["typescript"] += scores.pop("javascript", 0)
    if not scores:
        return None
    language = max(scores, key=lambda name: scores[name])
    own = scores[language]
    is_dense = own >= 0.6 * len(lines) or (own >= 0.2 * len(lines) and looks >= 0.5 * len(lines))
    # Documentation quotes code in fences; a file that is mostly docstrings has none.
    is_sure = is_dense or (anchored[language] >= 3 and looks >= 0.35 * len(lines) and "```" not in sample.head)
    if is_sure or (own >= 0.1 * len(lines) and looks >= 0.4 * len(lines)):
        return Detection(content_type=ContentType.CODE, language=language, confidence=0.95 if is_sure else 0.5)
    return None


def without_numbers(lines: Sequence[str]) -> Sequence[str]:
    """Drop the line numbers that a viewer puts before lines, if they count up by one; `lines` itself if there are none."""
    heads = [_NUMBERED.match(line) for line in lines]
    numbers = [int(head[1]) for head in heads if head]
    steps = sum(1 for before, after in pairwise(numbers) if after == before + 1)
    if steps < max(2, 0.6 * len(lines)):
        return lines
    return [line[head.end() :] if head else line for line, head in zip(lines, heads, strict=True)]
