"""Messages of LangChain become the core's and come back as the very same objects."""

import pytest
from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    ChatMessage,
    FunctionMessage,
    HumanMessage,
    RemoveMessage,
    SystemMessage,
    ToolMessage,
)

from ctx_core.errors import InvalidInput
from ctx_core.messages import Message, ToolCall
from langchain_ctx.messages import all_to_core, all_to_host, to_core, to_host

CALL = {"id": "c1", "name": "look_up", "args": {"city": "Köln", "deep": {"n": 1}}, "type": "tool_call"}
MESSAGES = [
    SystemMessage("rules", id="s"),
    SystemMessage("rules", additional_kwargs={"__openai_role__": "developer"}),
    HumanMessage("hi", name="user-1"),
    HumanMessage([{"type": "text", "text": "see"}, {"type": "image_url", "image_url": {"url": "data:,"}}]),
    HumanMessage(["plain", {"type": "text", "text": "see"}]),
    HumanMessage([]),
    AIMessage("", tool_calls=[CALL]),
    AIMessageChunk("partial"),
    ToolMessage("found", tool_call_id="c1", artifact={"raw": [1]}, status="error", name="look_up"),
    FunctionMessage("found", name="old"),
    ChatMessage(content="x", role="critic"),
]


@pytest.mark.parametrize("message", MESSAGES, ids=lambda message: message.type)
def test_an_unchanged_message_is_the_same_object(message):
    assert to_host(to_core(message)) is message


def test_roles_calls_and_results_are_read():
    roles = [message.role for message in all_to_core(MESSAGES)]
    assert roles == [
        "system", "developer", "user", "user", "user", "user", "assistant", "assistant", "tool", "tool", "critic",
    ]  # fmt: skip
    assert to_core(MESSAGES[6]).tool_calls == (
        ToolCall(id="c1", name="look_up", arguments='{"city": "Köln", "deep": {"n": 1}}'),
    )
    assert to_core(MESSAGES[8]).tool_call_id == "c1"


def test_a_garbled_call_still_has_to_be_answered():
    message = AIMessage("", invalid_tool_calls=[{"id": "c2", "name": "f", "args": "{", "error": "no JSON"}])
    assert to_core(message).tool_calls == (ToolCall(id="c2", name="f", arguments="{"),)


def test_changed_text_keeps_everything_else():
    message = ToolMessage(
        "long", tool_call_id="c1", id="t", artifact={"raw": [1]}, status="error", name="f", additional_kwargs={"a": 1}
    )
    out = to_host(to_core(message).with_text("short"))
    assert out == message.model_copy(update={"content": "short"})
    assert message.content == "long"


def test_changed_text_leaves_other_blocks_alone():
    image = {"type": "image_url", "image_url": {"url": "data:,"}}
    message = HumanMessage([{"type": "text", "text": "long"}, image], id="h")
    assert to_host(to_core(message).with_text("short")).content == [{"type": "text", "text": "short"}, image]


def test_messages_of_the_core_become_new_ones_with_ids():
    made = [
        Message(role="system", content="s"),
        Message(role="developer", content="d"),
        Message(role="user", content=[{"type": "text", "text": "u"}]),
        Message(role="assistant", tool_calls=(ToolCall(id="1", name="f", arguments='{"x": 1}'), ToolCall(id="2", name="g", arguments="{"))),
        Message(role="tool", content="r", tool_call_id="1", name="f"),
        Message(role="critic", content="c"),
    ]  # fmt: skip
    out = all_to_host(made)
    assert [message.type for message in out] == ["system", "system", "human", "ai", "tool", "chat"]
    assert len({message.id for message in out}) == len(out)
    assert out[1].additional_kwargs == {"__openai_role__": "developer"}
    assert out[2].additional_kwargs["lc_source"] == "ctx"
    assert out[3].tool_calls[0]["args"] == {"x": 1}
    assert out[3].invalid_tool_calls[0]["id"] == "2"
    assert [message.role for message in all_to_core(out)] == [message.role for message in made]


def test_an_instruction_to_the_graph_is_no_message():
    with pytest.raises(InvalidInput, match="RemoveMessage"):
        to_core(RemoveMessage(id="x"))
