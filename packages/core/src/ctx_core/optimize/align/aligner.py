"""The aligner: what is about the request goes to the tail, so that everything ahead of it stays byte-stable."""

from __future__ import annotations

from dataclasses import dataclass, replace
from threading import Lock
from typing import TYPE_CHECKING, Any, Final

from ctx_core.markers import Tag, escape, write_block
from ctx_core.messages import Message, text_of
from ctx_core.optimize.align.drift import Drift, Memory, compare, mark_all, parts_of
from ctx_core.optimize.align.lift import lift
from ctx_core.optimize.align.providers import rule_for
from ctx_core.optimize.align.tools import align_tools
from ctx_core.provider_rules import takes_only_results
from ctx_core.tokens import TokenCounter

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ctx_core.messages import Block

_INSTRUCTIONS: Final = ("system", "developer")


@dataclass(frozen=True, slots=True, kw_only=True)
class Aligned:
    """A request whose prefix is the same as long as its task is.

    Args:
        messages: The messages, the moved lines at their end.
        moved: The lines that moved, as they were.
        drift: What changed since the previous call of the conversation, the tail apart.
        tools: The tools in canonical order; None when none were given.
    """

    messages: list[Message]
    moved: tuple[str, ...]
    drift: Drift
    tools: list[dict[str, Any]] | None = None


class CacheAligner:
    """Keeps the prefix of a conversation's requests byte-stable, so that a provider's prompt cache serves it.

    Providers hash a prompt from its first byte, so one clock in the system prompt voids the cache for all that follows.
    One aligner may serve any number of threads and conversations; it remembers hashes, never text.

    Args:
        provider: Whose cache to reckon with: `openai`, `anthropic`, `bedrock`, `gemini`, `deepseek` or `vllm`.
        model: A model of theirs, where its rule differs from that of its siblings.
        counter: Counts tokens.
        max_conversations: How many conversations to remember.

    Raises:
        InvalidInput: The provider is not known.
    """

    def __init__(
        self,
        *,
        provider: str = "openai",
        model: str | None = None,
        counter: TokenCounter | None = None,
        max_conversations: int = 1000,
    ) -> None:
        self.rule = rule_for(provider, model)
        self._counter = counter or TokenCounter()
        self._max_conversations = max_conversations
        self._memory = Memory(max_conversations)
        self._lock = Lock()

    def __getstate__(self) -> dict[str, Any]:
        """Pickle the settings; the memory of conversations stays with this process."""
        return {key: value for key, value in vars(self).items() if key not in ("_memory", "_lock")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state, _memory=Memory(state["_max_conversations"]), _lock=Lock())

    align_tools = staticmethod(align_tools)

    def align(
        self,
        messages: Sequence[Message],
        *,
        conversation_id: str,
        tools: Sequence[Mapping[str, Any]] | None = None,
    ) -> Aligned:
        """Move what is about the request behind everything else, and say what drifted since the previous call.

        The moved lines become the end of the last message if that is the user's, else a user message of their own, so
        the messages of the history stay as they were sent.
        """
        # Where a program of the provider waits for results, nothing else may stand at the end.
        stable, moved = (list(messages), ()) if takes_only_results(messages) else _lift_all(messages)
        ordered = None if tools is None else align_tools(tools)
        return Aligned(
            messages=_with_tail(stable, moved),
            moved=moved,
            drift=self._drift(stable, ordered, conversation_id),
            tools=ordered,
        )

    def _drift(
        self, stable: Sequence[Message], tools: Sequence[Mapping[str, Any]] | None, conversation_id: str
    ) -> Drift:
        parts = parts_of(stable, tools)
        with self._lock:
            before = self._memory.get(conversation_id)
        marks = mark_all(parts, before, self._counter)
        with self._lock:
            self._memory.put(conversation_id, marks)
        return compare(parts, marks, before, counter=self._counter, rule=self.rule)


def _lift_all(messages: Sequence[Message]) -> tuple[list[Message], tuple[str, ...]]:
    moved: list[str] = []

    def stable_text(text: str) -> str:
        lifted = lift(text)
        moved.extend(lifted.lines)
        return lifted.text

    kept: list[Message] = []
    for message in messages:
        stable = message.map_text(stable_text) if message.role in _INSTRUCTIONS else message
        if stable is not message:
            stable = _without_empty_blocks(stable)
        if stable is message or stable.content:
            kept.append(stable)
    return kept, tuple(moved)


def _without_empty_blocks(message: Message) -> Message:
    """Leave out text blocks that have become empty, which providers refuse."""
    if isinstance(message.content, str):
        return message
    return replace(message, content=[block for block in message.content if text_of([block]) or not _is_text(block)])


def _is_text(block: Block) -> bool:
    return isinstance(block, str) or block.get("type", "text") == "text"


def _with_tail(stable: list[Message], moved: tuple[str, ...]) -> list[Message]:
    if not moved:
        return stable
    tail = write_block(Tag.REQUEST, map(escape, moved))
    # An answer that the model is to go on with, or whose tool results are still to come, stays last.
    end = len(stable) - (bool(stable) and stable[-1].role == "assistant")
    return [*_ending_with(stable[:end], tail), *stable[end:]]


def _ending_with(messages: list[Message], tail: str) -> list[Message]:
    if not messages or messages[-1].role != "user":
        return [*messages, Message(role="user", content=tail)]
    last = messages[-1]
    content = (
        f"{last.content}\n\n{tail}"
        if isinstance(last.content, str)
        else [*last.content, {"type": "text", "text": tail}]
    )
    return [*messages[:-1], replace(last, content=content)]
