"""What the middleware keeps in an agent's state: plain JSON, checkpointed, and no part of input or output."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Annotated, Any, NotRequired, Self
from uuid import uuid4

from langchain.agents import AgentState
from langchain.agents.middleware.types import PrivateStateAttr


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """What one instance of the middleware remembers of one thread.

    Args:
        owner: Whose archive is used where the run names no user: a random name, so that it can be nobody else's.
        overhead: Tokens of system prompt and tools at the last model call, rounded up.
        asked: Id of the user message that `block` was looked up for.
        block: What came back for it.
    """

    owner: str = field(default_factory=lambda: uuid4().hex)
    overhead: int = 0
    asked: str | None = None
    block: str = ""

    @classmethod
    def of(cls, kept: Mapping[str, Any] | None) -> Self:
        """Return what a checkpoint kept, fresh if it kept nothing; what another version kept beside it is left out."""
        known = {f.name for f in fields(cls)}
        return cls(**{name: value for name, value in (kept or {}).items() if name in known})


def merged(left: dict[str, Any] | None, right: dict[str, Any] | None) -> dict[str, Any]:
    """Return the memories of all instances, each under its name, the newer one of each."""
    return {**(left or {}), **(right or {})}


class ContextState(AgentState[Any]):
    """An agent's state with the memories of its context middleware."""

    ctx: NotRequired[Annotated[dict[str, Any], PrivateStateAttr, merged]]
