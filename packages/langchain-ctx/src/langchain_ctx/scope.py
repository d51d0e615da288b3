"""Whose turn it is: the user and session that a run is configured with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from langchain_core.runnables import RunnableConfig


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """Whose archive and which session, thread and graph a prompt belongs to."""

    user_id: str | None = None
    session_id: str | None = None
    graph_root: str | None = None


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


def _member(place: Any, name: str) -> object:
    return place.get(name) if isinstance(place, Mapping) else getattr(place, name, None)
