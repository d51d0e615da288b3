"""What the engine reports: every number and reason of one prepared prompt."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ctx_core.graph.render import RenderedContext
    from ctx_core.messages import Message
    from ctx_core.optimize.align import Aligned
    from ctx_core.optimize.optimizer import CompressResult
    from ctx_core.rehydrate.rehydrator import Rehydrated
    from ctx_core.working_set.selection import Chosen


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageReport:
    """What happened to one message.

    Args:
        index: Position among the messages given.
        role: Its role.
        kind: Content type where it was optimized, else None.
        tokens_before: Its tokens as given.
        tokens_after: Its tokens in the prompt; 0 when it left the window.
        ccr_hash: Reference of its original, if it was compressed.
        archived: Whether it left the window.
    """

    index: int
    role: str
    kind: str | None
    tokens_before: int
    tokens_after: int
    ccr_hash: str | None = None
    archived: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What the engine did, in numbers and reasons.

    Args:
        tokens_before: Tokens of the messages given, chunks and graph not counted.
        tokens_after: Tokens of the prompt.
        max_tokens: The budget.
        fits: Whether the prompt is within the budget; a warning says why where it is not.
        messages: One entry per message given, in order.
        rehydrated: What came back and why, if a user was named.
        graph: The rendered graph, if a root was named.
        chunks: One result per chunk.
        working_set: Every piece of what left that the prompt still tells, and why.
        aligned: What moved to the tail, and what a provider's cache still serves.
        timings_ms: Wall time per stage.
        warnings: One line per stage that was skipped, and per promise that could not be kept.
    """

    tokens_before: int
    tokens_after: int
    max_tokens: int
    fits: bool
    messages: tuple[MessageReport, ...]
    rehydrated: Rehydrated | None = None
    graph: RenderedContext | None = None
    chunks: tuple[CompressResult, ...] = ()
    aligned: Aligned | None = None
    working_set: tuple[Chosen, ...] = ()
    timings_ms: Mapping[str, float] = field(default_factory=dict[str, float])
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """A prompt that is ready to send, and the report of how it came about."""

    messages: list[Message]
    report: Report
