"""The one way in which the plug-in hands messages to the engine: legal for every provider, and archived for whoever they belong to."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from ctx_core.rehydrate.pairs import repair_tool_pairs
from ctx_core.rehydrate.rehydrator import Rehydrator
from langchain_ctx.messages import all_to_host

if TYPE_CHECKING:
    from collections.abc import Sequence

    from langchain_core.messages import BaseMessage

    from ctx_core.engine.engine import ContextEngine
    from ctx_core.engine.report import Report
    from ctx_core.messages import Message
    from langchain_ctx.scope import Scope

_FOR_THREADS: WeakKeyDictionary[ContextEngine, ContextEngine] = WeakKeyDictionary()


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """Messages that are ready to send, what was done to them, and which of those given are not among them."""

    messages: list[BaseMessage]
    report: Report
    left: list[Message]


def prepare(
    engine: ContextEngine,
    messages: Sequence[Message],
    scope: Scope,
    *,
    max_tokens: int,
    owner: str | None = None,
    **options: Any,
) -> Prompt:
    """Return the prompt for `messages` within a budget.

    What leaves it is archived first: for the run's user, or else for its thread. A run with neither has no archive. A call
    that nobody answered, such as that of an interrupted run, is answered by a note.
    """
    given = repair_tool_pairs(messages)
    prepared = engine_for(engine, scope).prepare(
        given,
        user_id=scope.user_id or scope.session_id,
        session_id=scope.session_id,
        conversation_id=scope.session_id or scope.user_id,
        graph_root=scope.graph_root,
        owner=scope.owner if owner is None else owner,
        max_tokens=max_tokens,
        **options,
    )
    left = [given[row.index] for row in prepared.report.messages if row.archived]
    return Prompt(messages=all_to_host(prepared.messages), report=prepared.report, left=left)


def engine_for(engine: ContextEngine, scope: Scope) -> ContextEngine:
    """Return the engine for whoever a run belongs to: turns of threads without a user are kept apart from those of users."""
    if scope.user_id or not scope.session_id:
        return engine
    other = _FOR_THREADS.get(engine)
    if other is None or other.strict != engine.strict:
        other = copy(engine)
        other.archive = engine.archive.of_threads
        other.rehydrator = Rehydrator(other.archive, config=engine.rehydrator.config, counter=engine.counter)
        _FOR_THREADS[engine] = other
    return other
