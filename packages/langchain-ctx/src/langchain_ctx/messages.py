"""LangChain messages to the core's, and back to the very same objects where nothing changed."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final
from uuid import uuid4

from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    ChatMessage,
    FunctionMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
)

from ctx_core.errors import InvalidInput
from ctx_core.messages import Content, Message, ToolCall
from langchain_ctx.originals import is_whole

if TYPE_CHECKING:
    from collections.abc import Iterable

# Chunks subclass their messages, so `isinstance` and not `.type` tells the role.
_ROLES: Final[tuple[tuple[type[BaseMessage], str], ...]] = (
    (HumanMessage, "user"),
    (AIMessage, "assistant"),
    (ToolMessage, "tool"),
    (FunctionMessage, "tool"),
    (SystemMessage, "system"),
)


def to_core(message: BaseMessage) -> Message:
    """Return `message` as the core sees it; its `source` is the message itself."""
    return Message(
        role=_role(message),
        content=message.content,
        id=message.id,
        name=message.name,
        tool_calls=_tool_calls(message),
        tool_call_id=message.tool_call_id if isinstance(message, ToolMessage) else None,
        verbatim=is_whole(message),
        source=message,
    )


def to_host(message: Message) -> BaseMessage:
    """Return the LangChain message that `message` came from, with its content replaced if that changed.

    Id, name, artifact, status and everything else of the source are kept. A message the core made gets a fresh id, and one in the user's
    name says so under `lc_source`.
    """
    source = message.source
    if not isinstance(source, BaseMessage):
        return _fresh(message)
    if message.content == source.content:
        return source
    return source.model_copy(update={"content": host_content(message.content)})


def all_to_core(messages: Iterable[BaseMessage]) -> list[Message]:
    """Return all `messages` as the core sees them."""
    return [to_core(message) for message in messages]


def all_to_host(messages: Iterable[Message]) -> list[BaseMessage]:
    """Return all `messages` as LangChain messages."""
    return [to_host(message) for message in messages]


def host_content(content: Content) -> str | list[str | dict[Any, Any]]:
    """Return content as LangChain declares it: text, or a list of texts and dicts."""
    return content if isinstance(content, str) else [b if isinstance(b, str) else dict(b) for b in content]


def _role(message: BaseMessage) -> str:
    if isinstance(message, SystemMessage):
        return str(message.additional_kwargs.get("__openai_role__", "system"))
    if isinstance(message, ChatMessage):
        return message.role
    role = next((role for kind, role in _ROLES if isinstance(message, kind)), None)
    if role is None:
        raise InvalidInput(f"a {type(message).__name__} is an instruction to LangGraph, not a message of a prompt")
    return role


def _tool_calls(message: BaseMessage) -> tuple[ToolCall, ...]:
    if not isinstance(message, AIMessage):
        return ()
    # A call the model garbled still has to be answered, so it pairs like the others.
    calls = [*message.tool_calls, *message.invalid_tool_calls]
    return tuple(ToolCall(id=c["id"] or "", name=c["name"] or "", arguments=_json(c["args"])) for c in calls)


def _json(arguments: dict[str, Any] | str | None) -> str:
    return arguments if isinstance(arguments, str) else json.dumps(arguments or {}, ensure_ascii=False, default=str)


def _fresh(message: Message) -> BaseMessage:
    content = host_content(message.content)
    id_ = message.id or str(uuid4())
    match message.role:
        case "system":
            return SystemMessage(content, id=id_, name=message.name)
        case "developer":
            return SystemMessage(content, id=id_, name=message.name, additional_kwargs={"__openai_role__": "developer"})
        case "user":
            return HumanMessage(content, id=id_, name=message.name, additional_kwargs={"lc_source": "ctx"})
        case "assistant":
            return AIMessage(content, id=id_, name=message.name, **_host_calls(message.tool_calls))
        case "tool":
            return ToolMessage(content, id=id_, name=message.name, tool_call_id=message.tool_call_id or "")
        case role:
            return ChatMessage(content=content, id=id_, role=role)


def _host_calls(calls: Iterable[ToolCall]) -> dict[str, list[dict[str, Any]]]:
    """Sort calls into those whose arguments parse and those whose do not, as LangChain keeps them apart."""
    valid: list[dict[str, Any]] = []
    invalid: list[dict[str, Any]] = []
    for call in calls:
        try:
            args = json.loads(call.arguments or "{}")
        except ValueError:
            args = None
        if isinstance(args, dict):
            valid.append({"id": call.id, "name": call.name, "args": args, "type": "tool_call"})
        else:
            garbled = {"args": call.arguments, "error": "the arguments are not a JSON object"}
            invalid.append({"id": call.id, "name": call.name, "type": "invalid_tool_call", **garbled})
    return {"tool_calls": valid, "invalid_tool_calls": invalid}
