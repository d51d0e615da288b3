"""Very long lines, cut."""

from __future__ import annotations

import re
from typing import Final

from ctx_core.tokens import whole_graphemes

_LONG_LINE: Final = 600
_LINE_HEAD: Final = 300
_CUT: Final = re.compile(r" \[… (\d{1,12}) characters\]$")


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
