"""Every mark that this package writes into a prompt, and the escaping that keeps content from forging one.

Write a block with `write_block`, and put content into it through `escape`; put the text of a turn through `quote_lines` too.
"""

from ctx_core.markers.blocks import Tag, quote_lines, write_block
from ctx_core.markers.escaping import escape, has_marker
from ctx_core.markers.notes import (
    HINT_LENGTH,
    NOT_KEPT,
    SHORTENED,
    as_in_chunk,
    hint,
    page_of,
    same_as_chunk,
)
from ctx_core.markers.written import find_blocks, is_written, remember_block, split_blocks

__all__ = [
    "HINT_LENGTH",
    "NOT_KEPT",
    "SHORTENED",
    "Tag",
    "as_in_chunk",
    "escape",
    "find_blocks",
    "has_marker",
    "hint",
    "is_written",
    "page_of",
    "quote_lines",
    "remember_block",
    "same_as_chunk",
    "split_blocks",
    "write_block",
]
