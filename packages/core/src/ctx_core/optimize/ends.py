"""The two ends of a text that is too long to be read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ctx_core.tokens import whole_graphemes

if TYPE_CHECKING:
    from ctx_core.tokens import TokenCounter


def cut_ends(text: str, max_tokens: int, *, counter: TokenCounter) -> tuple[str, str]:
    """Return a head and a tail of `text`, each in at most half of `max_tokens`; what stands between them is not looked at."""
    half = max_tokens // 2
    head = counter.clip(text, half)
    size = min(len(head), len(text) - len(head))
    while size:
        start = len(text) - size
        if whole_graphemes(text, start) == start and counter.count(text[start:]) <= half:
            break
        # A character less where one was split, a tenth less where it is too long.
        size -= 1 if whole_graphemes(text, start) != start else max(1, size // 10)
    return head, text[len(text) - size :]
