"""Marks that tell a provider up to where to cache a prompt, for providers that do not find out by themselves."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeVar

from langchain_core.messages import BaseMessage, HumanMessage, ToolMessage

from ctx_core.optimize.align.providers import rule_for

if TYPE_CHECKING:
    from collections.abc import Sequence

    from langchain_core.language_models import BaseChatModel
    from langchain_core.messages import SystemMessage

_M = TypeVar("_M", bound=BaseMessage)

# Told by the package of the model's class, so that no integration has to be installed. OpenAI, Gemini, DeepSeek and
# vLLM cache every prefix unasked.
_PROVIDERS: Final = {"langchain_anthropic": "anthropic"}
_MARK: Final = {"cache_control": {"type": "ephemeral"}}


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
    provider = _provider_of(model)
    if provider is None or tokens < rule_for(provider, _model_name(model)).minimum or _has_mark([system, *messages]):
        return system, list(messages)
    out = list(messages)
    ends = (at for at in reversed(range(len(out) - tail)) if isinstance(out[at], (HumanMessage, ToolMessage)))
    at = next((at for at in ends if out[at].content), None)
    if at is not None:
        out[at] = _with_mark(out[at])
    return (_with_mark(system) if system is not None and system.content else system), out


def _provider_of(model: BaseChatModel) -> str | None:
    packages = (cls.__module__.partition(".")[0] for cls in type(model).__mro__)
    return next((_PROVIDERS[package] for package in packages if package in _PROVIDERS), None)


def _model_name(model: BaseChatModel) -> str | None:
    name = getattr(model, "model", None) or getattr(model, "model_name", None)
    return name if isinstance(name, str) else None


def _has_mark(messages: Sequence[BaseMessage | None]) -> bool:
    blocks = (
        block for message in messages if message and isinstance(message.content, list) for block in message.content
    )
    return any(isinstance(block, dict) and "cache_control" in block for block in blocks)


def _with_mark(message: _M) -> _M:
    content: list[Any] = (
        [{"type": "text", "text": message.content}] if isinstance(message.content, str) else list(message.content)
    )
    last = {"type": "text", "text": content[-1]} if isinstance(content[-1], str) else content[-1]
    return message.model_copy(update={"content": [*content[:-1], {**last, **_MARK}]})
