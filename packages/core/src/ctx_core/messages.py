"""Chat messages as every room sees them: immutable, and lossless whatever shape their content has."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias, cast

from ctx_core.errors import InvalidInput
from ctx_core.media import bill_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from collections.abc import Set as AbstractSet
    from datetime import datetime

    from ctx_core.tokens import TokenCounter

Role: TypeAlias = Literal["system", "developer", "user", "assistant", "tool"]
Block: TypeAlias = "str | Mapping[str, Any]"
Content: TypeAlias = "str | Sequence[Block]"

_CALLS = frozenset(("tool_use", "tool_call", "function_call"))
_ROLES = {"human": "user", "ai": "assistant", "model": "assistant", "function": "tool", "chatbot": "assistant"}


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    """One call of a tool; `arguments` is the JSON text as the model wrote it."""

    id: str
    name: str
    arguments: str = "{}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One chat message.

    Args:
        role: `system`, `developer`, `user`, `assistant` or `tool`; the hosts' other names for them are accepted.
        content: Text, or a list of content blocks (text, image, thinking, …) exactly as the host has it.
        tool_calls: Calls an assistant message makes; mappings in OpenAI's, LangChain's or Anthropic's form are accepted.
        tool_call_id: The call that a `tool` message answers.
        verbatim: Never shortened: what goes to people, what was asked for whole.
        source: The host's own object; carried along untouched and not compared.
    """

    role: str
    content: Content = ""
    id: str | None = None
    name: str | None = None
    created_at: datetime | None = None
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str | None = None
    verbatim: bool = field(default=False, compare=False)
    source: Any = field(default=None, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Normalise the role and the tool calls."""
        object.__setattr__(self, "role", _ROLES.get(self.role, self.role))
        # Hosts send null content beside tool calls, null for no calls, and calls as mappings of their own form.
        if cast("Any", self.content) is None:
            object.__setattr__(self, "content", "")
        calls = cast("Iterable[ToolCall | Mapping[str, Any]] | None", self.tool_calls)
        object.__setattr__(self, "tool_calls", tuple(as_tool_call(call) for call in calls or ()))

    @property
    def text(self) -> str:
        """The text of the message: its string, or its text blocks joined by newlines."""
        return text_of(self.content)

    def with_text(self, text: str) -> Message:
        """Return this message with its text replaced; other blocks stay where they are."""
        return replace(self, content=replace_text(self.content, text))

    def map_text(self, transform: Callable[[str], str]) -> Message:
        """Return this message with `transform` applied to each piece of text; itself when nothing changed."""
        if isinstance(self.content, str):
            changed = transform(self.content)
            return self if changed == self.content else replace(self, content=changed)
        blocks = [_map_block(block, transform) for block in self.content]
        return self if blocks == list(self.content) else replace(self, content=blocks)


def as_tool_call(call: ToolCall | Mapping[str, Any]) -> ToolCall:
    """Read a tool call in OpenAI's (`function`), LangChain's (`args`) or Anthropic's (`input`) form."""
    if isinstance(call, ToolCall):
        return call
    function = cast("Mapping[str, Any]", call.get("function") or call)
    arguments = next((function[key] for key in ("arguments", "args", "input") if key in function), "{}")
    text = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
    return ToolCall(id=str(call.get("id") or ""), name=str(function.get("name") or ""), arguments=text)


def as_message(message: Message | Mapping[str, Any]) -> Message:
    """Return a message, reading a mapping in OpenAI's form; unknown keys are refused."""
    if isinstance(message, Message):
        return message
    if not isinstance(cast("Any", message), Mapping):
        raise InvalidInput(f"a message is a Message or a mapping, not {type(message).__name__}")
    known = {"role", "content", "id", "name", "created_at", "tool_calls", "tool_call_id"}
    if "role" not in message:
        raise InvalidInput("a message needs a role")
    return Message(
        source=message, **{key: value for key, value in message.items() if key in known and value is not None}
    )


def as_messages(messages: Iterable[Message | Mapping[str, Any]]) -> list[Message]:
    """Return all `messages` as `Message` objects."""
    return [as_message(message) for message in messages]


def text_of(content: Content) -> str:
    """Return the text in `content`: text blocks joined by newlines, blocks of other kinds left out."""
    if isinstance(content, str):
        return content
    return "\n".join(text for block in content if (text := _block_text(block)) is not None)


def replace_text(content: Content, text: str) -> Content:
    """Return `content` with `text` in the place of its first text block; further text blocks go, other blocks stay."""
    if isinstance(content, str):
        return text
    out: list[Block] = []
    placed = False
    for block in content:
        if _block_text(block) is None:
            out.append(block)
        elif not placed:
            placed = True
            out.append(text if isinstance(block, str) else {**block, "text": text})
    return out if placed else [{"type": "text", "text": text}, *out]


def _block_text(block: Block) -> str | None:
    if isinstance(block, str):
        return block
    text = block.get("text")
    return text if block.get("type") in ("text", "input_text", "output_text", None) and isinstance(text, str) else None


# Where blocks that are no text blocks hold text: documents, search results, results of tools.
_TEXTS_IN: Final[Mapping[str, tuple[str, ...]]] = {
    "document": ("source",),
    "search_result": ("content",),
    "tool_result": ("content",),
    "content": ("content",),
    "text-plain": ("text",),
    "function_call_output": ("output",),
}


def _map_block(block: Block, transform: Callable[[str], str]) -> Block:
    text = _block_text(block)
    if text is None:
        return block if isinstance(block, str) else _map_inside(block, transform)
    changed = transform(text)
    if changed == text:
        return block
    return changed if isinstance(block, str) else {**block, "text": changed}


def _map_inside(block: Mapping[str, Any], transform: Callable[[str], str]) -> Mapping[str, Any]:
    type_ = str(block.get("type"))
    if type_ == "text" and isinstance(block.get("data"), str):  # the source of a document
        keys: tuple[str, ...] = ("data",)
    else:
        keys = _TEXTS_IN.get(type_, ())
    changed: dict[str, Any] = {}
    for key in keys:
        value = block.get(key)
        if isinstance(value, str):
            changed[key] = transform(value)
        elif isinstance(value, Mapping):
            changed[key] = _map_block(value, transform)
        elif isinstance(value, Sequence):
            changed[key] = [_map_block(item, transform) for item in value]
    return block if all(changed[key] == block[key] for key in changed) else {**block, **changed}


# Chat formats add about four tokens a message for its role and delimiters (OpenAI's cookbook on counting tokens).
_MESSAGE_OVERHEAD = 4


def message_tokens(message: Message, counter: TokenCounter) -> int:
    """Count the tokens a message takes in a prompt: text, tool calls, blocks, and the format's own overhead."""
    tokens = _MESSAGE_OVERHEAD + (counter.count(message.name) + 1 if message.name else 0)
    tokens += sum(counter.count(call.name) + counter.count(call.arguments) + 3 for call in message.tool_calls)
    if isinstance(message.content, str):
        return tokens + counter.count(message.content)
    # Hosts write a call into the content and beside it; it is sent once.
    called = {call.id for call in message.tool_calls if call.id}
    return tokens + sum(_block_tokens(block, counter, called) for block in message.content)


def _block_tokens(block: Block, counter: TokenCounter, called: AbstractSet[str]) -> int:
    text = _block_text(block)
    if text is not None:
        return counter.count(text)
    if not isinstance(block, Mapping):
        return 0
    if str(block.get("type")) in _CALLS:
        is_beside = str(block.get("call_id") or block.get("id")) in called
        return 0 if is_beside else counter.count(json.dumps(block, ensure_ascii=False, default=str))
    bill = bill_of(block)
    return bill.tokens + counter.count(bill.text)
