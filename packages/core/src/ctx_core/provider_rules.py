"""What each provider wants to stay together in a prompt, as tables; everything that lets messages leave goes by them.

A message is sent whole or not at all, so what binds blocks of one message needs no rule. These bind messages:

- a call and its result, wherever the host writes them: in fields, in blocks, in a later message of the same turn;
- a call that a program of the provider made, and the call that runs that program;
- reasoning that ends a message, and the message that goes on from it;
- the thinking that opens the turn in progress, and the rest of that turn.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from ctx_core.messages import Content, Message


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderRules:
    """What binds messages for one provider.

    Args:
        calls: Types of blocks that call something, and where each holds its id.
        results: Types of blocks that answer, and where each names the call.
        server_calls: Calls that the provider runs itself.
        server_results: Their results, which stand in assistant messages.
        reasoning: Types of blocks that the item behind them must follow.
        source: The page on which the provider documents it. Written from knowledge of it; check it before a figure is relied on.
    """

    calls: Mapping[str, str]
    results: Mapping[str, str]
    server_calls: Mapping[str, str] = field(default_factory=dict[str, str])
    server_results: Mapping[str, str] = field(default_factory=dict[str, str])
    reasoning: frozenset[str] = frozenset()
    source: str


_SERVER_RESULTS: Final = (
    "web_search_tool_result",
    "web_fetch_tool_result",
    "code_execution_tool_result",
    "bash_code_execution_tool_result",
    "text_editor_code_execution_tool_result",
    "tool_search_tool_result",
    "mcp_tool_result",
    "server_tool_result",
)

PROVIDER_RULES: Final[Mapping[str, ProviderRules]] = {
    "anthropic": ProviderRules(
        calls={"tool_use": "id"},
        results={"tool_result": "tool_use_id"},
        server_calls={"server_tool_use": "id", "mcp_tool_use": "id"},
        server_results=dict.fromkeys(_SERVER_RESULTS, "tool_use_id"),
        reasoning=frozenset(("thinking", "redacted_thinking")),
        source="https://platform.claude.com/docs/en/build-with-claude/extended-thinking, …/agents-and-tools/tool-use/overview",
    ),
    "openai": ProviderRules(
        calls={"function_call": "call_id", "custom_tool_call": "call_id", "computer_call": "call_id"}
        | {"local_shell_call": "call_id", "shell_call": "call_id", "apply_patch_call": "call_id"}
        | {"mcp_approval_request": "id"},
        results={"function_call_output": "call_id", "custom_tool_call_output": "call_id"}
        | {"computer_call_output": "call_id", "local_shell_call_output": "call_id", "shell_call_output": "call_id"}
        | {"apply_patch_call_output": "call_id", "mcp_approval_response": "approval_request_id"},
        reasoning=frozenset(("reasoning",)),
        source="https://platform.openai.com/docs/guides/reasoning, …/docs/guides/function-calling",
    ),
    "google": ProviderRules(
        # Its signatures stand in the message of the call itself, and so stay with it.
        calls={},
        results={},
        server_calls={"executable_code": "id"},
        server_results={"code_execution_result": "tool_call_id"},
        source="https://ai.google.dev/gemini-api/docs/thought-signatures",
    ),
    "bedrock": ProviderRules(
        calls={"toolUse": "toolUseId"},
        results={"toolResult": "toolUseId"},
        reasoning=frozenset(("reasoningContent", "reasoning_content")),
        source="https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ContentBlock.html",
    ),
    "langchain": ProviderRules(
        calls={"tool_call": "id", "invalid_tool_call": "id"},
        results={},
        server_calls={"server_tool_call": "id", "server_tool_call_chunk": "id"},
        server_results={"server_tool_result": "tool_call_id"},
        reasoning=frozenset(("reasoning",)),
        source="https://docs.langchain.com/oss/python/langchain/messages",
    ),
}


def _joined(*names: str) -> dict[str, tuple[str, ...]]:
    """Return, for each type of block in any of the tables, every field that may hold the id."""
    out: dict[str, tuple[str, ...]] = {}
    for rules in PROVIDER_RULES.values():
        for name in names:
            for type_, key in getattr(rules, name).items():
                # An older form of a block leaves `call_id` out and has an `id`.
                out[type_] = tuple(dict.fromkeys((*out.get(type_, ()), key, "id")))
    return out


CALLS: Final = _joined("calls")
RESULTS: Final = _joined("results")
_SERVER_CALLS: Final = _joined("server_calls")
_SERVER_ANSWERS: Final = _joined("server_results")
_REASONING: Final = frozenset(type_ for rules in PROVIDER_RULES.values() for type_ in rules.reasoning)
_THINKING: Final = PROVIDER_RULES["anthropic"].reasoning | PROVIDER_RULES["bedrock"].reasoning


def typed_blocks(content: Content) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield each block that is a mapping, with its type; Bedrock's form names the type by the only key."""
    for block in () if isinstance(content, str) else content:
        if not isinstance(block, Mapping):
            continue
        type_ = block.get("type")
        if isinstance(type_, str):
            yield type_, block
            continue
        for key, inner in block.items():
            yield key, inner if isinstance(inner, Mapping) else block
            break


def ids_in(content: Content, table: Mapping[str, Sequence[str]]) -> list[str]:
    """Return the ids in the blocks that a table names, in order."""
    return [_id_of(block, table[type_]) for type_, block in typed_blocks(content) if type_ in table]


def _id_of(block: Mapping[str, Any], keys: Sequence[str]) -> str:
    return next((str(block[key]) for key in keys if block.get(key)), "")


def server_call_ids(message: Message) -> list[str]:
    """Return the ids of the calls in a message that the provider runs itself."""
    return ids_in(message.content, _SERVER_CALLS)


def needed_ids(message: Message) -> list[str]:
    """Return the ids of provider-run calls that a message goes on from: of results, and of programs that made a call."""
    callers = (block.get("caller") for _, block in typed_blocks(message.content))
    programs = [str(caller["tool_id"]) for caller in callers if isinstance(caller, Mapping) and caller.get("tool_id")]
    return [ref for ref in (*ids_in(message.content, _SERVER_ANSWERS), *programs) if ref]


def is_unfinished(message: Message) -> bool:
    """Say whether the next assistant message goes on from this one: it ends in reasoning, or waits for the provider."""
    if message.role != "assistant" or isinstance(message.content, str) or message.tool_calls:
        return False
    types = [type_ for type_, _ in typed_blocks(message.content)]
    return bool(types) and (types[-1] in _REASONING or types[-1] in _SERVER_CALLS)


def is_opened_by_thinking(message: Message) -> bool:
    """Say whether thinking stands first in a message."""
    return next((type_ for type_, _ in typed_blocks(message.content)), "") in _THINKING


def open_turn(messages: Sequence[Message]) -> int:
    """Return where the turn in progress begins: behind the last message in which the user says something."""
    for at in reversed(range(len(messages))):
        if messages[at].role == "user" and not _only_answers(messages[at]):
            return at + 1
    return 0


def _only_answers(message: Message) -> bool:
    types = [type_ for type_, _ in typed_blocks(message.content)]
    return (
        bool(types)
        and not isinstance(message.content, str)
        and len(types) == len(message.content)
        and all(type_ in RESULTS for type_ in types)
    )


def thinking_opener(messages: Sequence[Message]) -> int | None:
    """Return the position of the thinking that must stay at the start of the turn in progress; None where nothing must.

    Each message of a turn may bring thinking of its own, and then any of them may come first.
    """
    turn = [at for at in range(open_turn(messages), len(messages)) if messages[at].role == "assistant"]
    if not turn or not is_opened_by_thinking(messages[turn[0]]):
        return None
    return None if all(is_opened_by_thinking(messages[at]) for at in turn) else turn[0]


def takes_only_results(messages: Sequence[Message]) -> bool:
    """Say whether the prompt's last message must hold results and nothing else, since a program of the provider waits for them."""
    last = next((message for message in reversed(messages) if message.role == "assistant"), None)
    if last is None or (messages[-1].role == "user" and not _only_answers(messages[-1])):
        return False
    return any(type_ in CALLS and block.get("caller", {}).get("tool_id") for type_, block in typed_blocks(last.content))
