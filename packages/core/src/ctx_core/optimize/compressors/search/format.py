"""Search results as data: which file, which line, match or context, however grep or ripgrep were asked to print them."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Final, NamedTuple

# No line number starts with a zero, but the minutes and days of a date in a path or a log do.
_NUMBER: Final = r"[1-9]\d{0,8}"
_PATH: Final = r"(?:[A-Za-z]:[\\/])?[^:\"'<>\t*?|]{1,400}"
_MATCH: Final = re.compile(rf"({_PATH}):({_NUMBER}:.*)", re.DOTALL)
_BARE: Final = re.compile(r"((?:[A-Za-z]:[\\/])?[^:\"'<>\s*?|]{1,400})(:.*)", re.DOTALL)
_CONTEXT: Final = re.compile(rf"-(?={_NUMBER}-)")
_RECORD: Final = re.compile(rf"(?:{_NUMBER})?[:-]")
_NUMBERED: Final = re.compile(rf"{_NUMBER}[:-]")
_PARTS: Final = re.compile(r"([:-])")
_DIGITS: Final = re.compile(r"\d+")
_BEGIN: Final = re.compile(rf"(?:{_NUMBER})?:|{_NUMBER}-")
_MOMENT: Final = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d$")
_NOTE: Final = re.compile(r"\[(?:…|same at) [^\n]*\]")
# A path of more dashes than this is not looked at any further.
_MAX_DASHES: Final = 16


class Kind(Enum):
    """What a line of search results is."""

    MATCH = auto()
    CONTEXT = auto()
    NOTE = auto()
    OTHER = auto()


class Entry(NamedTuple):
    """One line of a file, without the file's name.

    Args:
        line: `12:text`, `12-text`, `:text`, or a note of an earlier shortening.
        kind: What it is.
        number: The line number; empty where the results have none.
        body: The text of the line.
    """

    line: str
    kind: Kind
    number: str = ""
    body: str = ""

    @property
    def shape(self) -> str:
        """The text of the line, all numbers alike."""
        return _DIGITS.sub("0", self.body)


@dataclass(slots=True, kw_only=True)
class FileResults:
    """The results in one file; without a path, lines that belong to no file."""

    path: str | None
    entries: list[Entry] = field(default_factory=list)

    @property
    def heading(self) -> list[str]:
        """The line that names the file; a path that would read as a numbered line gets a `./`."""
        if self.path is None:
            return []
        return [f"./{self.path}" if _RECORD.match(self.path) else self.path]


def read_results(text: str) -> list[FileResults]:
    """Group search results by file, in their order; only separators and blank lines between groups go."""
    lines = text.split("\n")
    named = _named(lines)
    groups = [FileResults(path=None)]
    for at, line in enumerate(lines):
        group, record = groups[-1], named[at]
        if record is not None:
            if group.path != record[0]:
                groups.append(FileResults(path=record[0]))
            groups[-1].entries.append(_entry(record[1]))
        elif _NOTE.fullmatch(line):
            group.entries.append(Entry(line, Kind.NOTE))
        elif _continues(group, line):
            if line != "--":
                group.entries.append(_entry(line))
        elif _is_heading(lines, named, at):
            groups.append(FileResults(path=line))
        elif line or group.path is None or not _is_group(lines, named, at + 1):
            if group.path is not None:
                groups.append(FileResults(path=None))
            groups[-1].entries.append(Entry(line, Kind.OTHER))
    return [group for group in groups if group.entries or group.path is not None]


def _entry(record: str) -> Entry:
    number, mark, body = _PARTS.split(record, 1)
    return Entry(record, Kind.MATCH if mark == ":" else Kind.CONTEXT, number, body)


def _continues(group: FileResults, line: str) -> bool:
    """Say whether a line without a path belongs to the file above it, or to the one file that was searched."""
    if group.path is None:
        return _NUMBERED.match(line) is not None and all(entry.kind is not Kind.OTHER for entry in group.entries[-1:])
    return _RECORD.match(line) is not None


def _is_group(lines: list[str], named: list[tuple[str, str] | None], at: int) -> bool:
    return at < len(lines) and (named[at] is not None or _is_heading(lines, named, at))


def _is_heading(lines: list[str], named: list[tuple[str, str] | None], at: int) -> bool:
    following = lines[at + 1 : at + 2]
    return bool(lines[at].strip() and following) and named[at + 1] is None and _BEGIN.match(following[0]) is not None


# ---------------------------------------------------------------- paths


def _named(lines: list[str]) -> list[tuple[str, str] | None]:
    """Split each line that begins with a path into the path and the rest.

    A path may hold what looks like the rest, such as the dashes of a date; only a path that also stands in a line of
    its own right is taken to end there.
    """
    matches = [_split(line, _MATCH) for line in lines]
    if sum(pair is not None for pair in matches) < 0.1 * len(lines):
        bare = [_split(line, _BARE) for line in lines]
        if sum(pair is not None for pair in bare) >= 0.5 * len(lines):
            matches = bare
    known = {pair[0] for pair in matches if pair is not None}
    return [
        (_context(line, known) if "-" in (line if pair is None else pair[0]) else None) or pair
        for line, pair in zip(lines, matches, strict=True)
    ]


def _split(line: str, pattern: re.Pattern[str]) -> tuple[str, str] | None:
    match = pattern.match(line)
    if match is None:
        return None
    path = match[1]
    if _NUMBERED.match(line) and (" " in path or path.isdigit()):
        return None
    is_path = (
        "/" in path or "\\" in path or "." in path or (pattern is _MATCH and " " not in path and not path.isdigit())
    )
    return (path, match[2]) if is_path and not (path[-1].isdigit() and _MOMENT.search(path)) else None


def _context(line: str, known: set[str]) -> tuple[str, str] | None:
    """Read `path-12-text` where a match names the path; the text may hold what looks like a match."""
    for nth, dash in enumerate(_CONTEXT.finditer(line)):
        if nth == _MAX_DASHES:
            return None
        if line[: dash.start()] in known:
            return line[: dash.start()], line[dash.end() :]
    return None
