"""Diffs as places in a text: heads and hunks, read by the counts in hunk headers, and headers for parts of hunks."""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import product
from operator import add, gt, sub
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

Numbers: TypeAlias = tuple[int, ...]
"""A line number in each old version, then in the new one."""

# `@@ -1,3 +1,4 @@ section`, and with one range more per parent in the combined diff of a merge. No row of a hunk looks like it.
_HUNK: Final = re.compile(r"^(@@{1,4}) ((?:-\d{1,9}(?:,\d{1,9})? )+\+\d{1,9}(?:,\d{1,9})?) \1(?!@)(.*)\n", re.MULTILINE)
_RANGE: Final = re.compile(r"[-+](\d+),?(\d*)")
_FILE: Final = re.compile(r"^(?:diff |Index: |=== (?:modified|added|removed|renamed) )", re.MULTILINE)
_NAME: Final = re.compile(
    r"^(?:diff --git \S*? (?:b/)?(.+)|diff --(?:cc|combined) (.+)|diff -r \S+ (?:-r \S+ )?(.+)|Index: (.+)"
    r"|=== \w+ \w+ '(.+)'|\+\+\+ (?:b/)?([^\t\n]+))",
    re.MULTILINE,
)


class Head(NamedTuple):
    """Lines ahead of the hunks of a file, or between files.

    Args:
        start: Where it starts in the text.
        stop: Where it stops.
        has_hunks: Whether hunks follow.
    """

    start: int
    stop: int
    has_hunks: bool


class Rows(NamedTuple):
    """What some rows of a hunk are.

    Args:
        unchanged: How many are context.
        changed: How many were added or removed.
        lines: How many are lines of each version.
    """

    unchanged: int
    changed: int
    lines: Numbers


class Hunk(NamedTuple):
    """One hunk; a marker for a missing newline belongs to the row that it describes.

    Args:
        ranges: Start and count of each version, as the header has them.
        section: What follows the last `@@`.
        start: Where the header starts in the text.
        body: Where the rows start.
        stop: Where they stop.
        rows: What they are.
    """

    ranges: list[tuple[str, str]]
    section: str
    start: int
    body: int
    stop: int
    rows: Rows

    @property
    def parents(self) -> int:
        """How many old versions there are, and signs before each row."""
        return len(self.ranges) - 1

    @property
    def first(self) -> Numbers:
        """The numbers of the first row."""
        # An empty range names the line before it.
        return tuple([int(start) + (count == "0") for start, count in self.ranges])


class Excerpt(NamedTuple):
    """Some rows of a hunk.

    Args:
        start: Where they start in the text.
        stop: Where they stop.
        first: The numbers of the first of them.
        rows: What they are.
    """

    start: int
    stop: int
    first: Numbers
    rows: Rows


def read_diff(text: str, at: int = 0) -> Iterator[Head | Hunk]:
    """Yield the parts of a unified diff of git, Subversion, Mercurial, Bazaar or `diff -u`: a head, its hunks, the next head.

    Args:
        text: Ends with a newline.
        at: Where to begin: at a head or a hunk.
    """
    for match in _HUNK.finditer(text, at):
        hunk = _read_hunk(text, match)
        if hunk is None:
            continue
        if hunk.start > at or at == 0:
            yield from _heads(text, at, hunk.start, has_hunks=True)
        yield hunk
        at = hunk.stop
    if at < len(text):
        yield from _heads(text, at, len(text), has_hunks=False)


def _heads(text: str, start: int, stop: int, *, has_hunks: bool) -> Iterator[Head]:
    for file in _FILE.finditer(text, start + 1, stop):
        yield Head(start, file.start(), has_hunks=False)
        start = file.start()
    yield Head(start, stop, has_hunks)


def name_in(text: str, head: Head) -> str:
    """Return the path of the new version, as far as the head tells."""
    match = _NAME.search(text, head.start, head.stop)
    return (match[match.lastindex or 0]).strip() if match else ""


def is_diff(text: str) -> bool:
    """Say whether there is a hunk or the head of a file."""
    return _NAME.search(text) is not None or any(isinstance(part, Hunk) for part in read_diff(text))


def _read_hunk(text: str, header: re.Match[str]) -> Hunk | None:
    fence, versions, section = header.groups()
    ranges = _RANGE.findall(versions)
    if len(ranges) != len(fence):
        return None
    counts = tuple([int(count) if count else 1 for _, count in ranges])
    start, body = header.span()
    parents = len(counts) - 1
    found = rows_pattern(parents, "*").match(text, body)
    stop = found.end() if found else body
    rows = classify(text, body, stop, parents)
    if rows.lines != counts and any(map(gt, rows.lines, counts)):
        stop = _end_by_counts(text, body, stop, counts)
        rows = classify(text, body, stop, parents)
    return Hunk(ranges, section, start, body, stop, rows)


def _end_by_counts(text: str, at: int, stop: int, left: Sequence[int]) -> int:
    """Return where the counts of the header are used up: what follows a hunk may look like more of its rows."""
    parents = len(left) - 1
    for size in (256, 16, 1):
        for rows in rows_pattern(parents, f"{{1,{size}}}").finditer(text, at, stop):
            after = list(map(sub, left, classify(text, at, rows.end(), parents).lines))
            if min(after) < 0:
                break
            left, at = after, rows.end()
    return at


@lru_cache
def rows_pattern(parents: int, times: str) -> re.Pattern[str]:
    """Match so many rows of a hunk, each with the marker that describes it."""
    return _rows(f"[ +-]{{{parents}}}", times)


@lru_cache
def context_pattern(parents: int, rows: int) -> re.Pattern[str]:
    """Match runs of at least so many rows of context."""
    return _rows(f" {{{parents}}}", f"{{{rows},}}")


def _rows(signs: str, times: str) -> re.Pattern[str]:
    """Match rows that begin with these signs; a bare newline is an empty context line."""
    return re.compile(rf"^(?:(?:{signs}.*+|\r?+)\n(?:\\.*+\n)?+){times}+", re.MULTILINE)


def classify(text: str, start: int, stop: int, parents: int) -> Rows:
    """Tell what the rows from `start` to `stop` are; at both, a line starts."""
    rows = text.count("\n", start, stop) - text.count("\n\\", start - 1, stop)
    if parents > 1:
        return _classify_merged(text, start, stop, parents, rows)
    removed, added = text.count("\n-", start - 1, stop), text.count("\n+", start - 1, stop)
    changed = removed + added
    return Rows(rows - changed, changed, (rows - added, rows - removed))


def _classify_merged(text: str, start: int, stop: int, parents: int, rows: int) -> Rows:
    changed, lines = 0, [rows] * (parents + 1)
    for signs, lacking in _signs(parents):
        count = text.count(signs, start - 1, stop)
        changed += count
        for version in lacking:
            lines[version] -= count
    return Rows(rows - changed, changed, tuple(lines))


@lru_cache
def _signs(parents: int) -> list[tuple[str, list[int]]]:
    """Return what a changed row begins with, after the newline before it, and the versions of which such a row is no line."""
    signs = map("".join, product(" +-", repeat=parents))
    return [(f"\n{each}", _lacking(each)) for each in signs if each.strip()]


def _lacking(signs: str) -> list[int]:
    if "-" in signs:
        return [version for version, sign in enumerate(f"{signs} ") if sign != "-"]
    return [version for version, sign in enumerate(signs) if sign == "+"]


def excerpts(text: str, hunk: Hunk, places: Iterable[tuple[int, int]]) -> Iterator[Excerpt]:
    """Yield the rows of a hunk that stand at some places, in order."""
    parents, first, at = hunk.parents, hunk.first, hunk.body
    for start, stop in places:
        if at < start:
            first = tuple(map(add, first, classify(text, at, start, parents).lines))
        rows = classify(text, start, stop, parents)
        yield Excerpt(start, stop, first, rows)
        first, at = tuple(map(add, first, rows.lines)), stop


def header(first: Numbers, lines: Numbers, section: str) -> str:
    """Write the header of so many lines of each version, from the numbers of the first."""
    fence = "@" * len(first)
    ranges = list(map(_range, first, lines))
    return f"{fence} -{' -'.join(ranges[:-1])} +{ranges[-1]} {fence}{section}\n"


def _range(start: int, count: int) -> str:
    if count == 0:
        return f"{start - 1},0"
    return str(start) if count == 1 else f"{start},{count}"
