"""Marks that tell a provider up to where to cache a prompt, for providers that do not find out by themselves."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeVar

from langchain_core.messages import BaseMessage, HumanMessage, ToolMessage

from ctx_core.optimize.align.providers import rule_for
from langchain_ctx.models import model_name, unwrapped

if TYPE_CHECKING:
    from collections.abc import Sequence

    from langchain_core.language_models import BaseChatModel
    from langchain_core.messages import SystemMessage

_M = TypeVar("_M", bound=BaseMessage)

# Told by the package of the model's class, so that no integration has to be installed. OpenAI, Gemini, DeepSeek and
# vLLM cache every prefix unasked.
_PROVIDERS: Final = {"langchain_anthropic": "anthropic"}
_MARK: Final = {"cache_control": {"type": "ephemeral"}}
_POINT: Final = {"cachePoint": {"type": "default"}}


def marked(
    system: SystemMessage | None, messages: Sequence[BaseMessage], *, model: BaseChatModel, tokens: int, tail: int
) -> tuple[SystemMessage | None, list[BaseMessage]]:
    """Return the prompt with one mark behind the system prompt and one behind the last stable message.

    Nothing is marked where the provider caches unasked, where a mark stands already, or where the prompt is shorter than
    what the provider caches.

    Args:
        system: The system prompt.
        messages: The conversation.
        model: The model that is about to read it.
        tokens: Length of the prompt.
        tail: How many messages at the end differ from call to call.
    """
    provider = _provider_of(unwrapped(model))
    if provider is None or tokens < rule_for(provider, model_name(model)).minimum or _has_mark([system, *messages]):
        return system, list(messages)
    mark = _with_point if provider == "bedrock" else _with_mark
    out = list(messages)
    ends = (at for at in reversed(range(len(out) - tail)) if isinstance(out[at], (HumanMessage, ToolMessage)))
    at = next((at for at in ends if out[at].content), None)
    if at is not None:
        out[at] = mark(out[at])
    return (mark(system) if system is not None and system.content else system), out


def _provider_of(model: Any) -> str | None:
    for cls in type(model).__mro__:
        package = cls.__module__.partition(".")[0]
        if package in _PROVIDERS:
            return _PROVIDERS[package]
        if package == "langchain_aws" and cls.__name__ == "ChatBedrockConverse":
            return "bedrock"
    return None


def _has_mark(messages: Sequence[BaseMessage | None]) -> bool:
    blocks = (
        block for message in messages if message and isinstance(message.content, list) for block in message.content
    )
    return any(isinstance(block, dict) and ("cache_control" in block or "cachePoint" in block) for block in blocks)


def _with_mark(message: _M) -> _M:
    content: list[Any] = (
        [{"type": "text", "text": message.content}] if isinstance(message.content, str) else list(message.content)
    )
    last = {"type": "text", "text": content[-1]} if isinstance(content[-1], str) else content[-1]
    return message.model_copy(update={"content": [*content[:-1], {**last, **_MARK}]})


def _with_point(message: _M) -> _M:
    """Return a message with a cache point behind it, as Bedrock has it."""
    content: list[Any] = (
        [{"type": "text", "text": message.content}] if isinstance(message.content, str) else list(message.content)
    )
    return message.model_copy(update={"content": [*content, _POINT]})
