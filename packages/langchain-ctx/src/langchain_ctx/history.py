"""A chat history whose turns live in an archive, where rehydration and search find them again."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from langchain_core.chat_history import BaseChatMessageHistory
from langchain_core.messages import BaseMessage, message_to_dict, messages_from_dict

from ctx_core.errors import InvalidInput
from ctx_core.rehydrate.identity import identify
from ctx_core.rehydrate.turns import Turn
from langchain_ctx.messages import to_core, to_host

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ctx_core.rehydrate.archive import Archive

# The message as LangChain has it travels beside its text, in the block that LangChain reserves for what is not standard.
_BLOCK: Final = "non_standard"
_KEY: Final = "langchain"


class ArchivedChatMessageHistory(BaseChatMessageHistory):
    """The messages of one session of one user, kept in an archive.

    Every message comes back as it was added: tool calls, artifacts, ids, status, metadata. Artifacts are plain JSON, or
    models that come back as their fields.

    Args:
        archive: Keeps the messages.
        user_id: Whose history it is.
        session_id: Which conversation it is.
        now: The time new messages are stamped with; the present by default.
    """

    def __init__(
        self, archive: Archive, *, user_id: str, session_id: str, now: Callable[[], datetime] | None = None
    ) -> None:
        super().__init__()
        self.archive = archive
        self.user_id = user_id
        self.session_id = session_id
        self._now = now or _utc_now

    @property
    def messages(self) -> list[BaseMessage]:  # pyright: ignore[reportIncompatibleVariableOverride] - a property, as LangChain asks
        """All messages of the session, oldest first."""
        turns = self.archive.export(self.user_id, threads=False)
        return [_message(turn) for turn in turns if turn.session_id == self.session_id]

    def add_messages(self, messages: Sequence[BaseMessage]) -> None:
        """Add messages to the end of the session."""
        if not messages:
            return
        now, said = self._now(), self.messages
        # By its place in the session a message has the same id here as where an engine lets it leave the prompt.
        placed = identify(map(to_core, [*said, *messages]), session_id=self.session_id)[len(said) :]
        turns = [_turn(message, turn.id, now) for message, turn in zip(messages, placed, strict=True)]
        self.archive.append(self.user_id, turns, session_id=self.session_id)

    def clear(self) -> None:
        """Remove the session for good; the user's other sessions stay."""
        self.archive.delete(self.user_id, session_id=self.session_id)


def _utc_now() -> datetime:
    return datetime.now(UTC)


def _turn(message: BaseMessage, id_: str, now: datetime) -> Turn:
    seen = to_core(message)
    said = [seen.text] if seen.text else []
    whole = {"type": _BLOCK, "value": {_KEY: _plain(message_to_dict(message))}}
    return Turn(
        role=seen.role,
        content=[*({"type": "text", "text": text} for text in said), whole],
        id=id_,
        name=seen.name,
        created_at=now,
        tool_calls=seen.tool_calls,
        tool_call_id=seen.tool_call_id,
    )


def _message(turn: Turn) -> BaseMessage:
    for block in turn.content if not isinstance(turn.content, str) else ():
        if not isinstance(block, str) and block.get("type") == _BLOCK and _KEY in (block.get("value") or {}):
            return messages_from_dict([block["value"][_KEY]])[0]
    # A turn that was archived by something else, such as an eviction.
    return to_host(turn.as_message())


def _plain(value: dict[str, Any]) -> dict[str, Any]:
    try:
        return json.loads(json.dumps(value))
    except (TypeError, ValueError) as error:
        raise InvalidInput(
            f"a message of the history is not plain JSON: {error}; artifacts and metadata must be"
        ) from error
