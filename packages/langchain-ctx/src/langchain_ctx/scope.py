"""Whose turn it is: the user and session that a run is configured with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from langchain_core.runnables import ensure_config
from langgraph.runtime import get_runtime

from ctx_core.optimize.ccr import owner_scope

if TYPE_CHECKING:
    from langchain_core.runnables import RunnableConfig

    from ctx_core.optimize.optimizer import ContextOptimizer


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """Whose archive and which session, thread and graph a prompt belongs to."""

    user_id: str | None = None
    session_id: str | None = None
    graph_root: str | None = None

    @property
    def owner(self) -> str:
        """The scope of the originals: the user's, else the conversation's; empty if neither is known."""
        return owner_scope(user_id=self.user_id, conversation_id=self.session_id)


def scope_of(
    config: RunnableConfig | None,
    context: object = None,
    *,
    user_id: str | None = None,
    session_id: str | None = None,
    graph_root: str | None = None,
) -> Scope:
    """Return the scope of a run: what was given, else the run's `context`, else `config["configurable"]`.

    The keys looked for are `user_id`, `session_id` (or LangGraph's `thread_id`) and `graph_root`. Nothing is guessed:
    a run without a user has no archive.
    """
    configurable = (config or {}).get("configurable") or {}

    def look_up(*names: str) -> str | None:
        found = (_member(place, name) for place in (context, configurable) for name in names)
        return next((str(value) for value in found if value is not None), None)

    return Scope(
        user_id=user_id or look_up("user_id"),
        session_id=session_id or look_up("session_id", "thread_id"),
        graph_root=graph_root or look_up("graph_root"),
    )


def optimizer_of_run(
    optimizer: ContextOptimizer, config: RunnableConfig | None = None, *, user_id: str | None = None
) -> ContextOptimizer:
    """Return `optimizer` for the originals of whoever the current run is for; one with a scope of its own as it is.

    Outside any run that names a user or a conversation, originals belong to no one in particular.
    """
    if optimizer.scope:
        return optimizer
    scope = scope_of(config or ensure_config(), _run_context(), user_id=user_id)
    return optimizer.scoped(scope.owner)


def _run_context() -> object:
    try:
        runtime = get_runtime()
    except (KeyError, RuntimeError):
        return None  # outside of any run
    # Within a run that is no graph's there is none either.
    return getattr(runtime, "context", None)


def _member(place: Any, name: str) -> object:
    return place.get(name) if isinstance(place, Mapping) else getattr(place, name, None)
