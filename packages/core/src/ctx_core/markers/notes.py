"""The notes that stand where content was left out, and the hint that names an original."""

from __future__ import annotations

from typing import Final

HINT_LENGTH: Final = 12
"""How many hex digits of an original's hash a hint shows."""

NOT_KEPT: Final = "[the full content could not be kept]"
"""Stands in place of a hint where no store took the original."""

SHORTENED: Final = " … [shortened]"
"""Ends a text that was cut to fit a block."""


def hint(ref: str, *, retrieval_tool: str | None = None) -> str:
    """Return the line that tells a reader how to get an original back; it names a tool only when one is bound."""
    with_tool = f" with the tool {retrieval_tool}" if retrieval_tool else ""
    return f"<!-- CCR:{ref[:HINT_LENGTH]} — full content available via retrieval{with_tool} -->"


def same_as_chunk(number: int) -> str:
    """Return the note that stands for a chunk that repeats an earlier one, counted from 1."""
    return f"[same as chunk {number}]"


def as_in_chunk(number: int) -> str:
    """Return the note that stands for a passage that an earlier chunk holds, counted from 1."""
    return f"[as in chunk {number}]"


def page_of(page: int, pages: int) -> str:
    """Return the note that ends one page of an original."""
    return f"[page {page} of {pages}]"
