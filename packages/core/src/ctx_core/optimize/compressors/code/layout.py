"""Reads an outline off the layout of the lines, for languages without a grammar."""

from __future__ import annotations

import re
from collections import Counter
from typing import Final

from ctx_core.optimize.compressors.code.outline import Kind, Outline, Region, Unit

_HEAD: Final = re.compile(
    r"\s*(?:(?:export|public|private|protected|internal|static|async|abstract|final|override|virtual|inline|suspend|open|pub|local"
    r"|default|unsafe|const|fileprivate|mutating|@\w+)\s+)*(?:def|func|fun|fn|function|sub|proc|method|procedure|init|defp?|task)\b.*"
    r"|\s*(?:[\w<>\[\],.*&:?~]+\s+){0,6}[\w~:.#$]+\s*(?:<[^<>]*>)?\s*\([^;]*\)[^;=]*\{\s*"
)
_NOT_HEAD: Final = re.compile(
    r"\s*(?:if|else|elif|for|foreach|while|switch|catch|return|do|try|match|when|unless|until|case|with)\b"
)
_CLASS: Final = re.compile(r"\b(?:class|interface|struct|enum|trait|object|module|namespace|extension|protocol)\b")
_MIN_BODY_ROWS: Final = 3
_MAX_HEAD_CHARS: Final = 400
_TAB: Final = 8


def read_layout(rows: list[str]) -> Outline:
    """Return an outline in which the rows that are indented under a function's head are its body."""
    mark = _comment_mark(rows)
    outline = Outline(rows=rows, statement=mark, comment=mark)
    indents = [_indent(row) for row in rows]
    at = 0
    while at < len(rows):
        stop = at + 1
        if (
            len(rows[at]) <= _MAX_HEAD_CHARS
            and _HEAD.match(rows[at])
            and not _NOT_HEAD.match(rows[at])
            and not _CLASS.search(rows[at])
        ):
            stop = _end_of_body(rows, indents, at)
            if stop - at > _MIN_BODY_ROWS:
                outline.regions.append(Region(at + 1, stop, Kind.BODY, outline.functions))
            outline.functions += 1
        outline.units.append(Unit(at, stop, ((at, stop),)))
        at = stop
    return outline


def _end_of_body(rows: list[str], indents: list[int], head: int) -> int:
    """Return the row after the last one that is indented deeper than the head."""
    stop = at = head + 1
    while at < len(rows) and (not rows[at].strip() or indents[at] > indents[head]):
        if rows[at].strip():
            stop = at + 1
        at += 1
    return stop


def _indent(row: str) -> int:
    expanded = row.expandtabs(_TAB)
    return len(expanded) - len(expanded.lstrip())


def _comment_mark(rows: list[str]) -> str:
    marks = Counter(mark for row in rows for mark in ("//", "#", "--", ";") if row.lstrip().startswith(mark))
    if marks:
        return f"{marks.most_common(1)[0][0]} … {{}}"
    return "// … {}" if any(row.rstrip().endswith(("{", ";")) for row in rows) else "# … {}"
