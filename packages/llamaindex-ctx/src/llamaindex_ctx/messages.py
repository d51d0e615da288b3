"""Chat messages between LlamaIndex and ctx."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ctx_core.messages import Message, ToolCall, as_tool_call
from ctx_core.rehydrate.turns import Turn, as_time

if TYPE_CHECKING:
    from collections.abc import Iterable

    from llama_index.core.llms import ChatMessage


def to_message(message: ChatMessage) -> Message:
    """Return a `ChatMessage` as a core message; text becomes text, other blocks travel along as plain JSON."""
    blocks = [_block(block) for block in message.blocks]
    calls = [call for block in message.blocks if (call := _tool_call(block)) is not None]
    calls += [as_tool_call(call) for call in map(_plain, message.additional_kwargs.get("tool_calls") or ()) if call]
    text = [block for block in blocks if isinstance(block, str)]
    known = {call.id: call for call in calls}
    return Message(
        role=str(message.role.value),
        content=text[0] if len(blocks) == len(text) == 1 else "\n".join(text) if len(text) == len(blocks) else blocks,
        tool_calls=tuple(known.values()),
        tool_call_id=message.additional_kwargs.get("tool_call_id"),
        name=message.additional_kwargs.get("name"),
        created_at=as_time(message.additional_kwargs.get("created_at")),
        source=message,
    )


def to_turns(messages: Iterable[ChatMessage], *, session_id: str | None = None) -> list[Turn]:
    """Return messages as turns to archive; a message that says nothing and calls nothing is left out."""
    turns = [Turn.of(to_message(message), session_id=session_id) for message in messages]
    return [turn for turn in turns if turn.text.strip() or turn.tool_calls]


def _block(block: Any) -> str | dict[str, Any]:
    if getattr(block, "block_type", None) == "text":
        return str(block.text)
    return {"type": block.block_type, **block.model_dump(mode="json", exclude={"block_type"}, exclude_none=True)}


def _tool_call(block: Any) -> ToolCall | None:
    if getattr(block, "block_type", None) != "tool_call":
        return None
    return as_tool_call({"id": block.tool_call_id, "name": block.tool_name, "args": block.tool_kwargs})


def _plain(call: Any) -> dict[str, Any]:
    return call if isinstance(call, dict) else call.model_dump() if hasattr(call, "model_dump") else {}
