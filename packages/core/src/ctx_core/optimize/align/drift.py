"""What a conversation's next request still shares with the one before it."""

from __future__ import annotations

import json
from array import array
from collections import OrderedDict
from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ctx_core.messages import Message
    from ctx_core.optimize.align.providers import CacheRule
    from ctx_core.tokens import TokenCounter

_EXCERPT_CHARS: Final = 80
_INSTRUCTIONS: Final = ("system", "developer")


@dataclass(frozen=True, slots=True, kw_only=True)
class Drift:
    """What changed ahead of the tail since the previous call of the conversation.

    Args:
        changed: Where the first difference stands, such as `tools` or `message 0 (system), line 3`; None on the first
            call, and when this request only adds to the previous one.
        excerpt: How that place begins now.
        stable_tokens: How many tokens stand ahead of the first difference.
        served_tokens: How many of them the provider's cache would serve.
        total_tokens: How many tokens this request has, the tail apart.
    """

    changed: str | None = None
    excerpt: str = ""
    stable_tokens: int = 0
    served_tokens: int = 0
    total_tokens: int = 0

    @property
    def served_share(self) -> float:
        """The part of the request that comes from the cache, in [0, 1]."""
        return self.served_tokens / self.total_tokens if self.total_tokens else 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """The tools or one message of a request, as text.

    Args:
        label: What it is, for a reader.
        head: What a provider hashes beside the text: role, name, tool calls.
        text: The text.
        blocks: How many content blocks it has.
        is_instruction: Whether it is a system or developer message, which are the ones that should never change.
    """

    label: str
    head: str
    text: str
    blocks: int = 1
    is_instruction: bool = False

    def digest(self) -> bytes:
        """Hash the part."""
        return _hash(f"{self.head}\0{self.text}", 16)


@dataclass(frozen=True, slots=True)
class Mark:
    """A part as it is remembered: hashes and lengths, no text."""

    digest: bytes
    tokens: int
    line_digests: array[int]


class Memory:
    """The last request of each conversation; the least recently used conversation is forgotten first."""

    def __init__(self, max_conversations: int) -> None:
        self._marks: OrderedDict[str, list[Mark]] = OrderedDict()
        self._max_conversations = max_conversations

    def __len__(self) -> int:
        return len(self._marks)

    def get(self, conversation_id: str) -> list[Mark]:
        """Return the parts of the last request, empty if there was none."""
        return self._marks.get(conversation_id, [])

    def put(self, conversation_id: str, marks: list[Mark]) -> None:
        """Remember a request in the place of the last one."""
        self._marks[conversation_id] = marks
        self._marks.move_to_end(conversation_id)
        while len(self._marks) > self._max_conversations:
            self._marks.popitem(last=False)


def parts_of(messages: Sequence[Message], tools: Sequence[Mapping[str, Any]] | None) -> list[Part]:
    """Return the request in the order in which providers hash it: tools first, then the messages."""
    parts = [_part(number, message) for number, message in enumerate(messages)]
    if tools:
        parts.insert(0, Part(label="tools", head="tools", text=json.dumps(tools, ensure_ascii=False, default=str)))
    return parts


def _part(number: int, message: Message) -> Part:
    calls = [(call.id, call.name, call.arguments) for call in message.tool_calls]
    content = message.content
    return Part(
        label=f"message {number} ({message.role})",
        head=repr((message.role, message.name, message.tool_call_id, calls)),
        text=content if isinstance(content, str) else json.dumps(content, ensure_ascii=False, default=str),
        blocks=1 if isinstance(content, str) else max(1, len(content)),
        is_instruction=message.role in _INSTRUCTIONS,
    )


def mark_all(parts: Sequence[Part], before: Sequence[Mark], counter: TokenCounter) -> list[Mark]:
    """Hash and count the parts; what stands where it stood before is not counted again."""
    marks: list[Mark] = []
    for number, part in enumerate(parts):
        digest = part.digest()
        if number < len(before) and before[number].digest == digest:
            marks.append(before[number])
            continue
        lines = array("Q", map(_line_digest, part.text.split("\n")) if part.is_instruction else ())
        marks.append(Mark(digest, counter.count(part.head) + counter.count(part.text), lines))
    return marks


def compare(
    parts: Sequence[Part], marks: Sequence[Mark], before: Sequence[Mark], *, counter: TokenCounter, rule: CacheRule
) -> Drift:
    """Find the first difference between a request and the one before, and what a cache would serve ahead of it."""
    total = sum(mark.tokens for mark in marks)
    if not before:
        return Drift(total_tokens=total)
    pairs = zip(marks, before, strict=False)
    shared = next(
        (at for at, (now, then) in enumerate(pairs) if now.digest != then.digest), min(len(marks), len(before))
    )
    stable = sum(mark.tokens for mark in marks[:shared])
    changed, excerpt = None, ""
    if shared < len(before):
        changed = parts[shared].label if shared < len(parts) else f"message {shared} is gone"
    if shared < len(before) and shared < len(parts):
        line = _first_changed_line(marks[shared], before[shared])
        lines = parts[shared].text.split("\n")
        if line is not None:
            changed = f"{changed}, line {line + 1}"
            stable += counter.count("\n".join(lines[:line]))
        excerpt = (lines[line or 0] if (line or 0) < len(lines) else "")[:_EXCERPT_CHARS]
    blocks_since = sum(part.blocks for part in parts[shared:])
    served = rule.served(stable, blocks_since=blocks_since)
    return Drift(changed=changed, excerpt=excerpt, stable_tokens=stable, served_tokens=served, total_tokens=total)


def _first_changed_line(now: Mark, then: Mark) -> int | None:
    if not now.line_digests or not then.line_digests:
        return None
    pairs = zip(now.line_digests, then.line_digests, strict=False)
    return next((at for at, (a, b) in enumerate(pairs) if a != b), min(len(now.line_digests), len(then.line_digests)))


def _line_digest(line: str) -> int:
    return int.from_bytes(_hash(line, 8), "little")


def _hash(text: str, size: int) -> bytes:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=size).digest()
