"""Diffs as data: files, hunks and rows, read by the counts in hunk headers, and cut without making a header untrue."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from operator import itemgetter, sub
from typing import TYPE_CHECKING, Final, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

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
Shown: TypeAlias = "Mapping[int, Mapping[int, Ranges]]"
"""The rows to show, by the number of the file and of the hunk in it; a file that is not here has not even its head shown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hunk:
    """One hunk; a marker for a missing newline is part of the row that it describes.

    Args:
        header: The header as it was.
        starts: Number of the first line in each old version, then in the new one.
        section: What follows the last `@@`.
        rows: The lines, prefix included.
        versions: For each version, a 1 for each row that is a line of it and a 0 for each other row.
        unchanged: A 1 for each row of context and a 0 for each added or removed one.
    """

    header: str
    starts: tuple[int, ...]
    section: str
    rows: list[str]
    versions: tuple[bytes, ...]
    unchanged: bytes

    def changed(self, start: int = 0, stop: int | None = None) -> int:
        """Count the added and removed lines among the rows from `start` to `stop`."""
        return self.unchanged.count(0, start, stop)

    def changes(self) -> Iterator[tuple[int, int]]:
        """Yield each run of added and removed lines, as a range of rows."""
        start = self.unchanged.find(0)
        while start >= 0:
            stop = self.unchanged.find(1, start)
            stop = len(self.unchanged) if stop < 0 else stop
            yield start, stop
            start = self.unchanged.find(0, stop)

    def numbers_after(self, numbers: tuple[int, ...], start: int, stop: int) -> tuple[int, ...]:
        """Return the line numbers behind the rows from `start` to `stop`, which begin with these numbers."""
        return tuple(
            number + version.count(1, start, stop) for number, version in zip(numbers, self.versions, strict=True)
        )


# Without slots, so that what is asked of a file at every drawing is found out once.
@dataclass(frozen=True, kw_only=True)
class DiffFile:
    """The lines ahead of a file's hunks, and the hunks; text between files is a file without hunks."""

    head: list[str] = field(default_factory=list)
    hunks: list[Hunk] = field(default_factory=list)

    @cached_property
    def name(self) -> str:
        """The path of the new version, as far as the head tells."""
        for line in self.head:
            match = _NAME.match(line)
            if match:
                return next(filter(None, match.groups()), "").strip()
        return ""

    @cached_property
    def changed(self) -> int:
        """How many lines were added and removed."""
        return sum(hunk.changed() for hunk in self.hunks)


def read_diff(text: str) -> list[DiffFile]:
    """Split a unified diff of git, Subversion, Mercurial, Bazaar or `diff -u` into files; every line is kept."""
    lines = text.split("\n")
    files = [DiffFile()]
    at = 0
    while at < len(lines):
        hunk, stop = _read_hunk(lines, at)
        if hunk is not None:
            files[-1].hunks.append(hunk)
        else:
            if files[-1].hunks or (_FILE.match(lines[at]) and files[-1].head):
                files.append(DiffFile())
            files[-1].head.append(lines[at])
        at = stop
    return files


def _read_hunk(lines: list[str], at: int) -> tuple[Hunk | None, int]:
    """Read the hunk whose header stands at `at`, if one does; return where what follows begins."""
    header = lines[at]
    match = _HUNK.match(header) if header.startswith("@@") else None
    if match is None:
        return None, at + 1
    ranges = [(int(start), int(count or 1)) for start, _, count in (r[1:].partition(",") for r in match[2].split(" "))]
    if len(match[1]) != len(ranges) or match[3] != match[1]:
        return None, at + 1
    rows, steps, stop = _read_rows(lines, at + 1, tuple(count for _, count in ranges))
    hunk = Hunk(
        header=header,
        # An empty range names the line before it.
        starts=tuple(start if count else start + 1 for start, count in ranges),
        section=match[4],
        rows=rows,
        versions=tuple(bytes(map(itemgetter(version), steps)) for version in range(len(ranges))),
        unchanged=bytes(map(all, steps)),
    )
    return hunk, stop


def _read_rows(lines: list[str], at: int, left: tuple[int, ...]) -> tuple[list[str], list[tuple[int, ...]], int]:
    """Read rows until the counts of the header are used up or a line is no row; return where the hunk ends, too."""
    rows: list[str] = []
    steps: list[tuple[int, ...]] = []
    width = len(left) - 1
    for stop in range(at, len(lines)):
        line = lines[stop]
        step = _step(line[:width], width)
        if step is not None:
            left = tuple(map(sub, left, step))
            if min(left) < 0:
                return rows, steps, stop
            rows.append(line)
            steps.append(step)
        # A second marker describes nothing, and a row that grew by each of many would be copied for each.
        elif line.startswith("\\") and rows and not lines[stop - 1].startswith("\\"):
            rows[-1] += f"\n{line}"
        else:
            return rows, steps, stop
    return rows, steps, len(lines)


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
    for first, last in hunk.changes():
        start, stop = max(0, first - context), min(len(hunk.rows), last + context)
        if ranges and (start <= ranges[-1][1] or _is_short(hunk.rows[ranges[-1][1] : start])):
            start = ranges.pop()[0]
        ranges.append((start, stop))
    return ranges or [(0, len(hunk.rows))]


def _is_short(rows: list[str]) -> bool:
    return len(rows) < _GAP_CHARS and sum(map(len, rows)) < _GAP_CHARS


def cut(hunk: Hunk, ranges: Sequence[tuple[int, int]]) -> Iterator[tuple[int, int, list[str]]]:
    """Yield, for each range of rows, how many context and changed lines were left out before it and the hunk it makes.

    What was left out after the last one comes with no lines.
    """
    if not ranges:
        yield hunk.unchanged.count(1), hunk.changed(), []
        return
    position, section = 0, hunk.section
    numbers = hunk.starts
    for start, stop in [*ranges, (len(hunk.rows), len(hunk.rows))]:
        changed = hunk.changed(position, start)
        rows: list[str] = []
        if stop > start:
            first = hunk.numbers_after(numbers, position, start)
            numbers = hunk.numbers_after(first, start, stop)
            whole = (start, stop) == (0, len(hunk.rows))
            rows = [hunk.header if whole else _header(first, numbers, section), *hunk.rows[start:stop]]
        yield start - position - changed, changed, rows
        position, section = stop, ""


def _header(first: tuple[int, ...], after: tuple[int, ...], section: str) -> str:
    fence = "@" * len(first)
    spans = [_span(start, stop - start) for start, stop in zip(first, after, strict=True)]
    old = " ".join(f"-{span}" for span in spans[:-1])
    return f"{fence} {old} +{spans[-1]} {fence}{section}"


def _span(start: int, count: int) -> str:
    if count == 0:
        return f"{start - 1},0"
    return str(start) if count == 1 else f"{start},{count}"
