"""Archived turns: what one is, and its plain JSON form."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from ctx_core.messages import Content, Message, ToolCall, as_message, as_tool_call, text_of

if TYPE_CHECKING:
    from collections.abc import Mapping

_FROM_CONTENT: Final = "sha256:"


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """One turn of a conversation that is kept outside the window.

    Args:
        role: `system`, `developer`, `user`, `assistant` or `tool`.
        content: Text, or content blocks exactly as the host has them; None counts as no text.
        id: The host's id. Empty marks a turn without one: the archive tells such turns apart by their place in the conversation.
        name: Who speaks, where that is more than the role.
        created_at: When it was said. Without a zone it counts as UTC; ISO text and seconds since 1970 are read too, and
            what is no time at all counts as undated.
        tool_calls: Calls an assistant turn makes.
        tool_call_id: The call that a tool turn answers.
        session_id: The conversation it belongs to.
    """

    role: str
    content: Content = ""
    id: str = ""
    name: str | None = None
    created_at: datetime | None = None
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str | None = None
    session_id: str | None = None
    _digest: str = field(default="", init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Normalise what hosts write in more than one way."""
        message = Message(role=self.role, content=self.content, tool_calls=self.tool_calls)
        object.__setattr__(self, "role", message.role)
        object.__setattr__(self, "content", message.content)
        object.__setattr__(self, "tool_calls", message.tool_calls)
        object.__setattr__(self, "created_at", as_time(self.created_at))
        if not self.id:
            object.__setattr__(self, "id", f"{_FROM_CONTENT}{self.digest()}")

    @property
    def is_unnamed(self) -> bool:
        """Whether the host gave no id, so that only the place in the conversation says which turn it is."""
        return self.id.startswith(_FROM_CONTENT)

    @property
    def text(self) -> str:
        """The text of the turn: its string, or its text blocks joined by newlines."""
        return text_of(self.content)

    def digest(self) -> str:
        """Return a hash of everything said in the turn and of who said it when; worked out once."""
        if not self._digest:
            said = json.dumps(turn_to_json(self) | {"id": "-"}, sort_keys=True, default=str)
            object.__setattr__(self, "_digest", hashlib.sha256(said.encode("utf-8", "replace")).hexdigest()[:32])
        return self._digest

    def with_id(self, id_: str) -> Turn:
        """Return the turn under another id."""
        turn = replace(self, id=id_)
        object.__setattr__(turn, "_digest", self._digest)
        return turn

    @classmethod
    def of(cls, message: Message | Turn | Mapping[str, Any], *, session_id: str | None = None) -> Turn:
        """Return a turn for a message, in `session_id` unless it names its own."""
        if isinstance(message, Turn):
            return message if message.session_id or not session_id else replace(message, session_id=session_id)
        message = as_message(message)
        fields: dict[str, Any] = {name: getattr(message, name) for name in _FIELDS}
        fields |= {"id": message.id or "", "session_id": session_id}
        return cls(**fields)

    def as_message(self) -> Message:
        """Return the turn as a message."""
        return Message(**{name: getattr(self, name) for name in _FIELDS})


_FIELDS = ("role", "content", "id", "name", "created_at", "tool_calls", "tool_call_id")


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoredTurn:
    """A turn that was found.

    Args:
        turn: The turn.
        score: How well it answers, over everything considered; only the order means something across queries.
        cosine: Similarity of its text to the query in [-1, 1], or None where it has no vector.
        lexical: Share of the query's weighted words that the turn holds, in [0, 1].
        dated: Whether the query names a time and the turn is of that time.
        position: Where the turn stands among all of the user's turns, oldest first.
        beside: Turns that belong to it, by position: the calls or results of its tools, its question or answer.
    """

    turn: Turn
    score: float
    cosine: float | None
    lexical: float = 0.0
    dated: bool = False
    position: int = 0
    beside: tuple[tuple[int, Turn], ...] = ()


def as_time(value: Any) -> datetime | None:
    """Read a time; without a zone it is UTC, a number is seconds (or, beyond the year 5000, milliseconds) since 1970."""
    try:
        if isinstance(value, str):
            value = datetime.fromisoformat(value.strip())
        elif isinstance(value, int | float) and not isinstance(value, bool):
            value = datetime.fromtimestamp(value / 1000 if abs(value) > 1e11 else value, UTC)
    except (ValueError, OverflowError, OSError):
        return None
    if not isinstance(value, datetime):
        return None
    return value if value.tzinfo else value.replace(tzinfo=UTC)


def turn_to_json(turn: Turn) -> dict[str, Any]:
    """Return the turn as plain JSON; the first two keys are all that other readers of an archive need."""
    optional = {
        "id": turn.id,
        "name": turn.name,
        "createdAt": turn.created_at.isoformat() if turn.created_at else None,
        "toolCalls": [{"id": call.id, "name": call.name, "arguments": call.arguments} for call in turn.tool_calls],
        "toolCallId": turn.tool_call_id,
        "sessionId": turn.session_id,
    }
    content = turn.content if isinstance(turn.content, str) else list(turn.content)
    return {"role": turn.role, "content": content, **{key: value for key, value in optional.items() if value}}


def turn_from_json(raw: Mapping[str, Any], *, session_id: str | None = None) -> Turn:
    """Read a turn back; what is missing is left empty."""
    content = raw.get("content")
    if isinstance(content, list):
        content = [block for block in content if isinstance(block, str | dict)]
    return Turn(
        role=str(raw.get("role") or "user"),
        content=content if isinstance(content, str | list) else "",
        id=str(raw.get("id") or ""),
        name=raw.get("name"),
        created_at=as_time(raw.get("createdAt")),
        tool_calls=tuple(as_tool_call(call) for call in raw.get("toolCalls") or ()),
        tool_call_id=raw.get("toolCallId"),
        session_id=raw.get("sessionId") or session_id,
    )
