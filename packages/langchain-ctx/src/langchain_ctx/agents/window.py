"""What an agent's state gives up before a model call, and what it gets back."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, TypeVar

from ctx_core import telemetry
from ctx_core.messages import Message, message_tokens
from ctx_core.optimize.optimizer import MIN_BUDGET
from ctx_core.rehydrate.identity import identify
from ctx_core.rehydrate.summary import map_beside_notes, without_notes
from langchain_ctx.messages import all_to_core, all_to_host
from langchain_ctx.updates import channel_update

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from langchain_core.messages import BaseMessage

    from ctx_core.engine.engine import ContextEngine
    from langchain_ctx.agents.state import Memory

LEAST_BUDGET: Final = 64
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """The part of a thread that the model sees.

    Args:
        engine: Does the work.
        max_tokens: Budget of a prompt.
        low_water: Share of the room that stays in use when turns leave.
    """

    engine: ContextEngine
    max_tokens: int
    low_water: float

    @property
    def message_limit(self) -> int:
        """The most tokens of one message."""
        return max(int(self.max_tokens * self.engine.shares.message), MIN_BUDGET)

    def shrunk(self, message: Message, *, scope: str) -> Message:
        """Return a message with its texts optimized, their originals kept for the owner that `scope` names."""

        def shorten(text: str) -> str:
            return self.engine.optimize(text, self.message_limit, owner=scope).compressed

        return message.map_text(lambda text: map_beside_notes(text, shorten))

    def turn_over(
        self, messages: Sequence[BaseMessage], memory: Memory, *, owner: str, session_id: str | None, scope: str
    ) -> tuple[list[BaseMessage], Memory]:
        """Return the changes to the messages channel, and what to remember: turns leave, and what is referred to comes back."""
        given = all_to_core(messages)
        asked = next((m for m in reversed(given) if m.role == "user" and _said([m])), None)
        reserve = self.guarded("rehydrate", lambda: self._comeback(asked), otherwise=0)
        room = max(self.max_tokens - memory.overhead - reserve, LEAST_BUDGET)
        kept = self.guarded("evict", lambda: self._evicted(given, room, owner, session_id, scope), otherwise=given)
        # What has only just left may be what the user refers to; and the prefix is another one now anyway.
        if asked and (asked.id != memory.asked or kept is not given):
            block = self.guarded("rehydrate", lambda: self._block(kept, reserve, owner, session_id), otherwise="")
            memory = replace(memory, asked=asked.id, block=block)
        return (channel_update(messages, all_to_host(kept)) if kept is not given else []), memory

    def _comeback(self, asked: Message | None) -> int:
        """Return the most tokens that may come back; 0 for a message that does not look back."""
        rehydrator = self.engine.rehydrator
        if asked is None or rehydrator.detector.detect(_said([asked])[0].text) is None:
            return 0
        return min(int(self.max_tokens * self.engine.shares.rehydrated), rehydrator.config.max_tokens)

    def _evicted(
        self, given: list[Message], room: int, owner: str, session_id: str | None, scope: str
    ) -> list[Message]:
        """Return what stays; what leaves is in the archive by then."""
        shrunk = [self.shrunk(message, scope=scope) if self._is_pasted(message) else message for message in given]
        evictor = self.engine.evictor
        if not evictor.evict(shrunk, max_tokens=room).evicted:
            return given
        window = evictor.evict(shrunk, max_tokens=int(room * self.low_water))
        gone = {id(message.source) for message in window.evicted}
        said = _said(given)
        turns = [turn for turn, one in zip(identify(said), said, strict=True) if id(one.source) in gone]
        self.engine.archive.append(owner, turns, session_id=session_id)
        return window.messages

    def _is_pasted(self, message: Message) -> bool:
        """Say whether what a user says is so long that the prompt shows it shortened; a note on it does not count."""
        said = without_notes(message)[0] if message.role == "user" else None
        return said is not None and message_tokens(said, self.engine.counter) > self.message_limit

    def _block(self, messages: Sequence[Message], max_tokens: int, owner: str, session_id: str | None) -> str:
        rehydrator = self.engine.rehydrator_within(max_tokens)
        return rehydrator.rehydrate(_said(messages), user_id=owner, session_id=session_id).block

    def guarded(self, stage: str, work: Callable[[], _T], *, otherwise: _T) -> _T:
        """Return what `work` returns; where it raises, warn and return `otherwise`, unless the engine is strict."""
        try:
            return work()
        except Exception as error:
            if self.engine.strict:
                raise
            telemetry.degraded(stage, error)
            return otherwise


def _said(messages: Iterable[Message]) -> list[Message]:
    """Return the messages without the notes of earlier evictions, which nobody said."""
    said = (without_notes(message)[0] for message in messages)
    return [message for message in said if message is not None]
