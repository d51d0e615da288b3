"""The first line of the compact form, which says how to read the others."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ctx_core.optimize.content import COMPACT_JSON

if TYPE_CHECKING:
    from collections.abc import Set as AbstractSet

TABLE: Final = "name(columns) heads its rows, which are indented; column=x is x in every row"
TEXT: Final = "column:str holds strings"
PATTERN: Final = "column~x<y> is x, then column y"
ABSENT: Final = "- is absent"
BLANK: Final = "nothing between commas is null"
RECORD: Final = "@1(…) has the columns of @1"
TAG: Final = "*1 is what follows &1 again"
EMBEDDED: Final = "json{…} is a string that holds JSON"
PREFIX: Final = "$1 stands for its text"

_ORDER: Final = (TABLE, TEXT, PATTERN, ABSENT, BLANK, RECORD, EMBEDDED, TAG, PREFIX)


def opening(used: AbstractSet[str], *, is_lines: bool) -> str:
    """Return what opens a document: a mark before its first line, or a line that says how to read the others.

    Args:
        used: What has to be explained; a short document explains itself.
        is_lines: Whether the document was JSON lines.
    """
    mark = f"{COMPACT_JSON}l" if is_lines else COMPACT_JSON
    return f"{mark}: {'; '.join(rule for rule in _ORDER if rule in used)}\n" if used else f"{mark} "
