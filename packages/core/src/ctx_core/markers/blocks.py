"""The blocks that stand in a prompt, and how text is quoted in them."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

from ctx_core.markers.written import remember_block

if TYPE_CHECKING:
    from collections.abc import Iterable


class Tag(StrEnum):
    """The names of the blocks that this package writes into a prompt."""

    CONTEXT = "context"
    EARLIER = "earlier-conversation-summary"
    REHYDRATED = "rehydrated-context"
    REQUEST = "request-context"
    WORKING_SET = "working-set"


def write_block(tag: Tag, lines: Iterable[str]) -> str:
    """Return `lines` between the tags of a block, which is known for ours from now on; see `split_blocks`.

    Content among the lines must have been escaped.
    """
    block = "\n".join((f"<{tag}>", *lines, f"</{tag}>"))
    remember_block(block)
    return block


def quote_lines(text: str, indent: str = "  ") -> str:
    """Return `text` with every line but the first indented, so that none of them begins like an entry of its own.

    Everything that `str.splitlines` takes for the end of a line becomes a plain line end.
    """
    return f"\n{indent}".join(text.splitlines())
