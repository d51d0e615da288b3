"""The message orders that providers accept: a list of what is wrong, empty for a legal prompt."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

Provider: TypeAlias = Literal["openai", "anthropic", "gemini"]


def order_faults(messages: Sequence[BaseMessage], provider: Provider) -> list[str]:
    """Return every reason for which `provider` would refuse `messages`, each with the position it is about."""
    return [fault for rule in _RULES[provider] for fault in rule(messages)]


def assert_legal_order(messages: Sequence[BaseMessage]) -> None:
    """Fail unless every provider accepts `messages`."""
    faults = {provider: order_faults(messages, provider) for provider in _RULES}
    assert not any(faults.values()), f"{faults} in {[message.type for message in messages]}"


def _calls_are_answered(messages: Sequence[BaseMessage]) -> Iterator[str]:
    """Every call is answered once, right behind the message that makes it, and nothing else is answered."""
    open_calls: list[str] = []
    for at, message in enumerate(messages):
        if isinstance(message, ToolMessage):
            if message.tool_call_id in open_calls:
                open_calls.remove(message.tool_call_id)
            else:
                yield f"{at}: a tool result answers no open call: {message.tool_call_id[:40]!r}"
            continue
        yield from (f"{at}: call {call[:40]!r} was not answered before this" for call in open_calls)
        open_calls = _call_ids(message)
    yield from (f"{len(messages)}: call {call[:40]!r} is not answered" for call in open_calls)


def _call_ids(message: BaseMessage) -> list[str]:
    if not isinstance(message, AIMessage):
        return []
    return [call["id"] or "" for call in (*message.tool_calls, *message.invalid_tool_calls)]


def _system_leads(messages: Sequence[BaseMessage]) -> Iterator[str]:
    talk = False
    for at, message in enumerate(messages):
        if isinstance(message, SystemMessage) and talk:
            yield f"{at}: a system message stands behind the talk"
        talk = talk or not isinstance(message, SystemMessage)


def _user_opens(messages: Sequence[BaseMessage]) -> Iterator[str]:
    first = next(((at, m) for at, m in enumerate(messages) if not isinstance(m, SystemMessage)), None)
    if first is not None and not isinstance(first[1], HumanMessage):
        yield f"{first[0]}: the talk opens with {first[1].type!r} and not with the user"


def _nothing_is_empty(messages: Sequence[BaseMessage]) -> Iterator[str]:
    for at, message in enumerate(messages):
        if not message.content and not _call_ids(message):
            yield f"{at}: the {message.type!r} message is empty"


def _calls_follow_user_or_result(messages: Sequence[BaseMessage]) -> Iterator[str]:
    for at, message in enumerate(messages[1:], start=1):
        if _call_ids(message) and not isinstance(messages[at - 1], (HumanMessage, ToolMessage)):
            yield f"{at}: a call follows {messages[at - 1].type!r}"


def _someone_speaks(messages: Sequence[BaseMessage]) -> Iterator[str]:
    if all(isinstance(message, SystemMessage) for message in messages):
        yield "0: there is no message to answer"


_Rule: TypeAlias = "Callable[[Sequence[BaseMessage]], Iterable[str]]"
_RULES: Final[dict[Provider, tuple[_Rule, ...]]] = {
    "openai": (_calls_are_answered,),
    "anthropic": (_calls_are_answered, _system_leads, _user_opens, _nothing_is_empty, _someone_speaks),
    "gemini": (_calls_are_answered, _system_leads, _user_opens, _calls_follow_user_or_result, _someone_speaks),
}
