"""Diffs as data: files, hunks and rows, read by the counts in hunk headers, and cut without making a header untrue."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import lru_cache
from operator import add, sub
from typing import TYPE_CHECKING, Final, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterator

# A new header costs about twelve tokens, as much as this many characters of code.
_GAP_CHARS: Final = 40
# `@@ -1,3 +1,4 @@ section`, and with one range more per parent in the combined diff of a merge.
_HUNK: Final = re.compile(r"(@@+) ((?:-\d{1,9}(?:,\d{1,9})? )+\+\d{1,9}(?:,\d{1,9})?) (@@+)(.*)", re.DOTALL)
_FILE: Final = re.compile(r"diff |Index: |=== (?:modified|added|removed|renamed) ")
_NAME: Final = re.compile(
    r"diff --git \S*? (?:b/)?(.+)|diff --(?:cc|combined) (.+)|diff -r \S+ (?:-r \S+ )?(.+)|Index: (.+)"
    r"|=== \w+ \w+ '(.+)'|\+\+\+ (?:b/)?([^\t]+)"
)


Ranges: TypeAlias = "list[tuple[int, int]]"


@dataclass(frozen=True, slots=True, kw_only=True)
class Hunk:
    """One hunk; a marker for a missing newline is part of the row that it describes.

    Args:
        header: The header as it was.
        starts: Number of the first line in each old version, then in the new one.
        section: What follows the last `@@`.
        rows: The lines, prefix included.
        steps: For each row, 1 or 0 for each version: whether the row is a line of it.
    """

    header: str
    starts: tuple[int, ...]
    section: str
    rows: list[str] = field(default_factory=list)
    steps: list[tuple[int, ...]] = field(default_factory=list)

    def changed(self, start: int = 0, stop: int | None = None) -> int:
        """Count the added and removed lines among the rows from `start` to `stop`."""
        return sum(0 in step for step in self.steps[start:stop])


@dataclass(slots=True, kw_only=True)
class DiffFile:
    """The lines ahead of a file's hunks, and the hunks; text between files is a file without hunks."""

    head: list[str] = field(default_factory=list)
    hunks: list[Hunk] = field(default_factory=list)

    @property
    def name(self) -> str:
        """The path of the new version, as far as the head tells."""
        for line in self.head:
            match = _NAME.match(line)
            if match:
                return next(filter(None, match.groups()), "").strip()
        return ""

    def changed(self) -> int:
        """Count the added and removed lines."""
        return sum(hunk.changed() for hunk in self.hunks)


def read_diff(text: str) -> list[DiffFile]:
    """Split a unified diff of git, Subversion, Mercurial, Bazaar or `diff -u` into files; every line is kept."""
    lines = text.split("\n")
    files = [DiffFile()]
    at = 0
    while at < len(lines):
        line = lines[at]
        at += 1
        hunk, left = _open_hunk(line)
        if hunk is not None:
            at = _read_rows(lines, at, left, hunk)
            files[-1].hunks.append(hunk)
            continue
        if files[-1].hunks or (_FILE.match(line) and files[-1].head):
            files.append(DiffFile())
        files[-1].head.append(line)
    return files


def _open_hunk(line: str) -> tuple[Hunk | None, tuple[int, ...]]:
    match = _HUNK.match(line) if line.startswith("@@") else None
    if match is None:
        return None, ()
    ranges = [(int(start), int(count or 1)) for start, _, count in (r[1:].partition(",") for r in match[2].split(" "))]
    if len(match[1]) != len(ranges) or match[3] != match[1]:
        return None, ()
    # An empty range names the line before it.
    starts = tuple(start if count else start + 1 for start, count in ranges)
    return Hunk(header=line, starts=starts, section=match[4]), tuple(count for _, count in ranges)


def _read_rows(lines: list[str], at: int, left: tuple[int, ...], hunk: Hunk) -> int:
    """Read rows until the counts of the header are used up or a line is no row; return where the hunk ends."""
    rows, steps, width = hunk.rows, hunk.steps, len(left) - 1
    while at < len(lines):
        line = lines[at]
        if line.startswith("\\") and rows:
            rows[-1] += f"\n{line}"
        else:
            step = _step(line[:width], width) if any(left) else None
            if step is None:
                break
            left = tuple(map(sub, left, step))
            if min(left) < 0:
                break
            rows.append(line)
            steps.append(step)
        at += 1
    return at


@lru_cache(maxsize=512)
def _step(signs: str, width: int) -> tuple[int, ...] | None:
    """Return in which versions a row with this prefix stands; a bare newline is an empty context line."""
    signs = signs.rstrip("\r") or " " * width
    if len(signs) < width or signs.strip(" +-"):
        return None
    if "-" in signs:
        return (*(int(sign == "-") for sign in signs), 0)
    return (*(int(sign == " ") for sign in signs), 1)


def visible(hunk: Hunk, context: int) -> Ranges:
    """Return which rows stand within `context` rows of a change, as ranges; a gap cheaper than a header is no gap."""
    ranges: Ranges = []
    for at, step in enumerate(hunk.steps):
        if 0 not in step:
            continue
        start, stop = max(0, at - context), min(len(hunk.rows), at + context + 1)
        if ranges and (start <= ranges[-1][1] or _is_short(hunk.rows[ranges[-1][1] : start])):
            start = ranges.pop()[0]
        ranges.append((start, stop))
    return ranges or [(0, len(hunk.rows))]


def _is_short(rows: list[str]) -> bool:
    return len(rows) < _GAP_CHARS and sum(map(len, rows)) < _GAP_CHARS


def cut(hunk: Hunk, ranges: Ranges) -> Iterator[tuple[int, int, list[str]]]:
    """Yield, for each range of rows, how many context and changed lines were left out before it and the hunk it makes.

    What was left out after the last one comes with no lines.
    """
    position, section = 0, hunk.section
    numbers = hunk.starts
    for start, stop in [*ranges, (len(hunk.rows), len(hunk.rows))]:
        changed = hunk.changed(position, start)
        first = _after(numbers, hunk.steps[position:start])
        numbers = _after(first, hunk.steps[start:stop])
        whole = (start, stop) == (0, len(hunk.rows))
        header = hunk.header if whole else _header(first, numbers, section)
        yield start - position - changed, changed, [header, *hunk.rows[start:stop]] if stop > start else []
        position, section = stop, ""


def _after(numbers: tuple[int, ...], steps: list[tuple[int, ...]]) -> tuple[int, ...]:
    """Return the line numbers after these rows."""
    return tuple(map(add, numbers, map(sum, zip(*steps, strict=True)))) if steps else numbers


def _header(first: tuple[int, ...], after: tuple[int, ...], section: str) -> str:
    fence = "@" * len(first)
    spans = [_span(start, stop - start) for start, stop in zip(first, after, strict=True)]
    old = " ".join(f"-{span}" for span in spans[:-1])
    return f"{fence} {old} +{spans[-1]} {fence}{section}"


def _span(start: int, count: int) -> str:
    if count == 0:
        return f"{start - 1},0"
    return str(start) if count == 1 else f"{start},{count}"
