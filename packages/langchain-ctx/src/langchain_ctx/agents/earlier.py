"""What is no longer shown of a thread, as one text that a model can read and search."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from ctx_core.errors import NotFound
from ctx_core.markers import escape, quote_lines
from ctx_core.optimize.ccr import excerpt, last_hint, own_ref
from ctx_core.tokens import whole_graphemes
from langchain_ctx.messages import to_core
from langchain_ctx.originals import originals_in

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from collections.abc import Set as AbstractSet

    from langchain_core.messages import BaseMessage

    from ctx_core.optimize.optimizer import ContextOptimizer
    from langchain_ctx.tools import RetrievalArguments

EARLIER: Final = "earlier"
"""The reference under which the retrieval tool of an agent gives all of it."""

DESCRIPTION: Final = (
    "Returns the full original of content that was shortened, or earlier messages of this conversation, page by page. "
    "Shortened content ends in a line `<!-- CCR:… -->`; pass the digits after `CCR:` as `ref`. "
    f"Pass `{EARLIER}` as `ref`, and a `query`, for messages and tool results that are no longer shown."
)
NOTHING: Final = "Nothing has left the conversation yet."
# Two sentences of ordinary length.
_LONGEST: Final = 320
_WORD: Final = re.compile(r"\w+")
_SENTENCE: Final = re.compile(r"(?<=[.!?。！？])\s+|\n")


def earlier_text(messages: Sequence[BaseMessage], optimizer: ContextOptimizer) -> list[tuple[str, str]]:
    """Return who said what, oldest first, tool results as the tools gave them.

    Lines of a message are indented under its first, so that none of them reads as another message.
    """
    return [_told(message, optimizer) for message in messages]


def answer(told: list[tuple[str, str]], asked: RetrievalArguments, *, page_chars: int) -> str:
    """Return the part that a model asked for."""
    if not told:
        return NOTHING
    if asked.query:
        found = list(_matching(told, asked.query))
        text = "\n".join(found) if found else f"[none of {len(told)} earlier messages holds a word of {asked.query!r}]"
    else:
        text = "\n\n".join(f"{who}:\n{said}" for who, said in told)
    return excerpt(text, lines=asked.excerpt()["lines"], page=asked.page, page_chars=page_chars)


def _matching(told: list[tuple[str, str]], query: str) -> Iterator[str]:
    """Yield the sentences that hold a word of the query, each with who said it."""
    words = {word.lower() for word in _WORD.findall(query)}
    for at, (who, said) in enumerate(told, start=1):
        hits = [_around(part, words) for part in _SENTENCE.split(said) if any(word in part.lower() for word in words)]
        if hits:
            yield f"{at} {who}: {' … '.join(part.strip() for part in hits)}"


def _around(part: str, words: AbstractSet[str]) -> str:
    """Return a sentence, or of a line that is none, such as JSON, what stands around the words."""
    if len(part) <= _LONGEST:
        return part
    low, shown, end = part.lower(), list[str](), 0
    for at in sorted(low.find(word) for word in words if word in low):
        if at >= end:
            end = whole_graphemes(part, min(len(part), at + _LONGEST // 2))
            shown.append(part[whole_graphemes(part, max(0, at - _LONGEST // 2)) : end])
    return " … ".join(shown)


def _told(message: BaseMessage, optimizer: ContextOptimizer) -> tuple[str, str]:
    turn = to_core(message)
    who = f"{turn.role} {turn.name}" if turn.name else turn.role
    calls = (f"called {call.name} {call.arguments}" for call in turn.tool_calls)
    said = "\n".join(originals_in(message)) or _original(turn.text, optimizer) or turn.text
    return who, quote_lines(escape("\n".join(part for part in (said, *calls) if part)))


def _original(text: str, optimizer: ContextOptimizer) -> str | None:
    """Return the original that the hint at the end of a text names, if its owner has it."""
    ref = own_ref(last_hint(text) or "")
    try:
        return optimizer.retrieve(ref) if ref else None
    except NotFound:
        return None
