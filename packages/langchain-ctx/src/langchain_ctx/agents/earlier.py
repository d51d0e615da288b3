"""What left the window of a thread, as one text that a model can read and search."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ctx_core.errors import NotFound
from ctx_core.markers import escape, quote_lines
from ctx_core.optimize.ccr import last_hint, own_ref

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ctx_core.engine.engine import ContextEngine
    from ctx_core.optimize.optimizer import ContextOptimizer
    from ctx_core.rehydrate.turns import Turn

EARLIER: Final = "earlier"
"""The reference under which the retrieval tool of an agent gives all of it."""

DESCRIPTION: Final = (
    "Returns the full original of content that was shortened, or earlier messages of this conversation, page by page. "
    "Shortened content ends in a line `<!-- CCR:… -->`; pass the digits after `CCR:` as `ref`. "
    f"Pass `{EARLIER}` as `ref`, and a `query`, for messages and tool results that are no longer shown."
)


def earlier_turns(engine: ContextEngine, *, owner: str, session_id: str | None, scope: str = "") -> str:
    """Return every turn of a session that is in the archive, oldest first, tool results as the tools gave them.

    Lines of a turn are indented under its first, so that none of them reads as another turn.
    """
    turns, optimizer = engine.archive.export(owner), engine.optimizer_for(scope)
    return "\n\n".join(_told(turn, optimizer) for turn in turns if turn.session_id == session_id)


def _told(turn: Turn, optimizer: ContextOptimizer) -> str:
    who = f"{turn.role} {turn.name}" if turn.name else turn.role
    calls = (f"called {call.name} {call.arguments}" for call in turn.tool_calls)
    said = next(_originals(turn.text, optimizer), turn.text)
    return quote_lines(escape("\n".join((f"{who}:", *(part for part in (said, *calls) if part)))))


def _originals(text: str, optimizer: ContextOptimizer) -> Iterator[str]:
    """Yield the original that the hint at the end of a text names, if this scope holds it."""
    if ref := own_ref(last_hint(text) or ""):
        try:
            yield optimizer.retrieve(ref)
        except NotFound:
            return
