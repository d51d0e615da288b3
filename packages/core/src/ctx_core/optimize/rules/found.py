"""Rules for what tools print about files: diffs, and lines that a search found."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from ctx_core.optimize.content import ContentType, Detection
from ctx_core.optimize.rules.logs import STAMPED

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ctx_core.optimize.rules.sample import Sample

_DIFF: Final = re.compile(
    r"^(?:diff (?:--git|--cc|-\w+ |\S+ \S+$)|--- .+\n\+\+\+ .+\n@@ |Index: .+\n={20,}|@@ -\d+(?:,\d+)? \+\d+(?:,\d+)? @@|\*\*\* .+\n--- .+\n\*{10,})",
    re.MULTILINE,
)
# A diff below more lines than a commit message has is quoted in something else, unless a commit is what it stands below.
_MAX_LINES_BEFORE: Final = 60
_COMMIT: Final = re.compile(
    r"commit [0-9a-f]{7,64}\b.*\n(?:Merge: .*\n)?Author: +.*<|From [0-9a-f]{40,64} Mon Sep 17 00:00:00 2001\n|tag \S+\nTagger: "
)
_MAX_MESSAGE_CHARS: Final = 100_000

_PATH: Final = r"(?:[A-Za-z]:\\)?[^\s:\"'(){}<>|=;,]+"
_HIT: Final = re.compile(rf"{_PATH}(?::\d+(?::\d+)?:|-\d+-)(?!\d\d(?::\d\d)?\b)|(?=\S*/){_PATH}:(?!//|:|\s*$)|--$")
_HIT_PATH: Final = re.compile(r"(?:[A-Za-z]:)?[^\s:]*(?:/|\\|\.[A-Za-z]\w{0,9}[:-]|file[:-])")
_BELOW: Final = re.compile(r"\d+[:-]|:|--$")
_NOTE: Final = re.compile(r"\[.*\]$")
# What compilers and linters print has a message after the column, where a search has the line itself.
_DIAGNOSTIC: Final = re.compile(
    r"\S+?:\d+:\d+: \S|\S+?:\d+(?::\d+)?:\s*(?i:fatal |internal )?(?i:error|warning|note|info|undefined)\b"
)

_DIFF_FOUND: Final = Detection(content_type=ContentType.DIFF, language="diff")


def diff(sample: Sample) -> Detection | None:
    """Unified, git, svn and context diffs, with or without a commit before them."""
    return _DIFF_FOUND if _is_commit(sample) or _is_near_top(sample) else None


def _is_commit(sample: Sample) -> bool:
    """Say whether this is a commit with its diff, however long its message; git indents what a message quotes."""
    return _COMMIT.match(sample.head) is not None and "\ndiff --git " in sample.text[:_MAX_MESSAGE_CHARS]


def _is_near_top(sample: Sample) -> bool:
    match = _DIFF.search(sample.head)
    if match is None:
        return False
    before = sample.head[: match.start()]
    return before.count("\n") <= _MAX_LINES_BEFORE and "```" not in before


def search(sample: Sample) -> Detection | None:
    """Output of grep and ripgrep: `path:line:text`, context lines, or hits below a path."""
    lines = sample.lines
    if len(lines) < 2 or sample.share(_DIAGNOSTIC) > 0.3 or sample.share(STAMPED) > 0.3:
        return None
    others = [line for line in lines if line != "--" and not (_HIT.match(line) and _HIT_PATH.match(line))]
    if len(others) <= 0.3 * len(lines) or _are_below_paths(others):
        return Detection(content_type=ContentType.SEARCH)
    return None


def _are_below_paths(lines: Sequence[str]) -> bool:
    paths = [line for line in lines if not _BELOW.match(line) and not _NOTE.match(line)]
    are_paths = all(" " not in line and _HIT_PATH.match(line) for line in paths)
    return bool(paths) and are_paths and len(paths) <= 0.6 * len(lines)
