"""Messages keep whatever content they came with."""

import pickle
from dataclasses import FrozenInstanceError

import pytest

from ctx_core.errors import InvalidInput
from ctx_core.messages import Message, ToolCall, as_message, message_tokens
from ctx_core.tokens import TokenCounter

IMAGE = {"type": "image_url", "image_url": {"url": "data:image/png;base64," + "A" * 100_000}}
THINKING = {"type": "thinking", "thinking": "step by step", "signature": "abc"}


@pytest.mark.parametrize(
    "call",
    [
        {"id": "c1", "type": "function", "function": {"name": "bin", "arguments": '{"n": 1}'}},
        {"id": "c1", "name": "bin", "args": {"n": 1}},
        {"id": "c1", "name": "bin", "input": {"n": 1}, "type": "tool_use"},
        ToolCall(id="c1", name="bin", arguments='{"n": 1}'),
    ],
)
def test_tool_calls_of_every_host_read_the_same(call):
    message = Message(role="ai", tool_calls=[call])
    assert message.role == "assistant"
    assert message.tool_calls == (ToolCall(id="c1", name="bin", arguments='{"n": 1}'),)


def test_null_content_beside_tool_calls_is_empty_text():
    assert as_message({"role": "assistant", "content": None, "tool_calls": None}).text == ""


def test_text_is_replaced_and_other_blocks_stay():
    message = Message(role="user", content=[THINKING, {"type": "text", "text": "long", "cache_control": {}}, IMAGE])
    assert message.with_text("short").content == [
        THINKING,
        {"type": "text", "text": "short", "cache_control": {}},
        IMAGE,
    ]
    assert message.content[1]["text"] == "long"


def test_each_text_block_is_mapped_where_it_stands():
    message = Message(role="user", content=["a", IMAGE, {"type": "text", "text": "b"}])
    assert message.map_text(str.upper).content == ["A", IMAGE, {"type": "text", "text": "B"}]
    assert message.map_text(str) is message


def test_an_image_is_not_billed_as_text():
    assert message_tokens(Message(role="user", content=[IMAGE]), TokenCounter()) < 2_000


def test_a_messages_source_travels_along_and_is_not_compared():
    source = object()
    message = Message(role="user", content="hi", source=source)
    assert message == Message(role="user", content="hi")
    assert message.with_text("ho").source is source
    assert "source" not in repr(message)


def test_messages_are_immutable_and_pickle():
    message = Message(role="user", content="hi")
    with pytest.raises(FrozenInstanceError):
        message.content = "ho"  # pyright: ignore[reportAttributeAccessIssue]
    assert pickle.loads(pickle.dumps(message)) == message


@pytest.mark.parametrize("bad", ["text", {"content": "no role"}, 7])
def test_what_is_no_message_is_the_callers_error(bad):
    with pytest.raises(InvalidInput):
        as_message(bad)
