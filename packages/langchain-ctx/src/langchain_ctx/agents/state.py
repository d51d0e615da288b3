"""What the middleware keeps in an agent's state beside messages: plain JSON, checkpointed, and no part of input or output."""

from typing import Annotated, Any, NotRequired

from langchain.agents import AgentState
from langchain.agents.middleware.types import PrivateStateAttr


def merged(left: dict[str, Any] | None, right: dict[str, Any] | None) -> dict[str, Any]:
    """Return the notes of all instances, each under its name, the newer one of each."""
    return {**(left or {}), **(right or {})}


class ContextState(AgentState[Any]):
    """An agent's state with the notes of its context middleware; what belongs to a message stands in the message."""

    ctx: NotRequired[Annotated[dict[str, Any], PrivateStateAttr, merged]]
