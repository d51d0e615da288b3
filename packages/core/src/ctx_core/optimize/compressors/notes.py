"""Counts of what was left out, in words."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from ctx_core.tokens import whole_graphemes

if TYPE_CHECKING:
    from collections.abc import Mapping

_LONG_LINE: Final = 600
_LINE_HEAD: Final = 300
_CUT: Final = re.compile(r" \[… (\d{1,12}) characters\]$")
_PLURAL: Final = re.compile(r"\b(line|file|note|bodie|matche)s\b")
_SINGULAR: Final = re.compile(r"\b(line|file|note|body|match)\b")
_IRREGULAR: Final = {"bodie": "body", "matche": "match"}


def spelled(tally: Mapping[str, int]) -> str:
    """Write counts as `3 files, 1 changed line`."""
    return ", ".join(f"{count} {what if count != 1 else singular(what)}" for what, count in tally.items())


def singular(what: str) -> str:
    """Return the singular of a unit such as `changed lines`."""
    return _PLURAL.sub(lambda match: _IRREGULAR.get(match[1], match[1]), what)


def plural(what: str) -> str:
    """Return the plural of a unit such as `changed line`."""
    return _SINGULAR.sub(lambda match: {"body": "bodies", "match": "matches"}.get(match[1], f"{match[1]}s"), what)


def shortened(line: str) -> str:
    """Cut a very long line, such as one of minified code, and say how many characters that leaves out."""
    if len(line) <= _LONG_LINE:
        return line
    head = line[: whole_graphemes(line, _LINE_HEAD)]
    return f"{head} [… {len(line) - len(head)} characters]"


def characters_cut(line: str) -> int:
    """Return how many characters a shortened line says it leaves out."""
    match = _CUT.search(line, max(0, len(line) - 40))
    return int(match[1]) if match else 0
