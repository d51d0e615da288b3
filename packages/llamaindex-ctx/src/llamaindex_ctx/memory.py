"""A memory block that archives what `Memory` flushes, and brings back what the user refers to."""

from __future__ import annotations

import asyncio
from collections.abc import Callable  # noqa: TC003 - pydantic reads the types of fields
from datetime import datetime
from itertools import groupby
from typing import TYPE_CHECKING, Any

from llama_index.core.bridge.pydantic import Field, PrivateAttr, field_serializer, field_validator
from llama_index.core.memory import BaseMemoryBlock

from ctx_core import telemetry
from ctx_core.rehydrate.archive import Archive
from ctx_core.rehydrate.inject import shorten_block
from ctx_core.rehydrate.rehydrator import Rehydrator, RehydratorConfig
from ctx_core.tokens import TokenCounter
from llamaindex_ctx.addresses import open_address, write_address
from llamaindex_ctx.messages import to_message, to_turns

if TYPE_CHECKING:
    from llama_index.core.llms import ChatMessage


def _now() -> datetime:
    """Return the present in the zone of this machine."""
    return datetime.now().astimezone()


class RehydrationMemoryBlock(BaseMemoryBlock[str]):
    """Keeps flushed messages in an archive, and returns the right ones when the user refers back to them.

    ```python
    block = RehydrationMemoryBlock(user_id="user-1", priority=1)
    memory = Memory.from_defaults(token_limit=4000, memory_blocks=[block])
    ```

    Turns are dated by `created_at` in a message's `additional_kwargs`, where the host writes it. As JSON, the block carries the
    archive's address and none of its secrets; the restored block has the default embedder, config and clock.

    Nothing here is tied to an event loop or a session: blocks in several processes may share an archive.
    """

    name: str = Field(default="rehydrated", description="The name of the block in the prompt.")
    description: str | None = Field(default="Earlier messages that the user refers to.", description="What it holds.")
    user_id: str = Field(description="Whose archive is written and searched.")
    archive: Archive = Field(default_factory=Archive, description="Where flushed messages are kept.")
    config: RehydratorConfig = Field(
        default_factory=RehydratorConfig, exclude=True, description="When and how turns come back."
    )

    clock: Callable[[], datetime] = Field(
        default=_now,
        exclude=True,
        description="The present, in the zone of the user: what `yesterday` is counted from.",
    )

    _waiting: list[ChatMessage] = PrivateAttr(default_factory=list)

    @field_serializer("archive")
    def _write_archive(self, archive: Archive) -> dict[str, Any]:
        return write_address(archive)

    @field_validator("archive", mode="before")
    @classmethod
    def _read_archive(cls, given: Any) -> Any:
        return open_address(given) if isinstance(given, dict) else given

    async def _aget(self, messages: list[ChatMessage] | None = None, **block_kwargs: Any) -> str:
        """Return the recovered turns as one block of text; empty when the last user message does not look back."""
        return await asyncio.to_thread(self._recover, list(messages or ()), block_kwargs.get("session_id"))

    async def _aput(self, messages: list[ChatMessage]) -> None:
        """Archive flushed messages; a store that is down is logged, never fails the chat, and gets them later."""
        await asyncio.to_thread(self._keep, list(messages))

    async def atruncate(self, content: str, tokens_to_truncate: int) -> str | None:
        """Return the block without its least relevant turns, or None where nothing useful would be left."""
        counter = TokenCounter()
        return shorten_block(content, counter=counter, max_tokens=counter.count(content) - tokens_to_truncate) or None

    def _recover(self, messages: list[ChatMessage], session_id: str | None) -> str:
        self._keep([])
        given = [to_message(message) for message in messages]
        rehydrator = Rehydrator(self.archive, config=self.config)
        found = rehydrator.rehydrate(given, user_id=self.user_id, now=self.clock(), session_id=session_id)
        return found.block

    def _keep(self, messages: list[ChatMessage]) -> None:
        """Archive messages; `Memory` flushes each only once, so those that cannot be stored now are kept and tried again."""
        waiting, self._waiting = [*self._waiting, *messages], []
        try:
            while waiting:
                session = _session_of(waiting[0])
                _, of_session = next(groupby(waiting, key=_session_of))
                run = list(of_session)
                # All of a session at once: a history that is handed over again is known by its run of messages.
                self.archive.append(self.user_id, to_turns(run, session_id=session), session_id=session)
                del waiting[: len(run)]
        except Exception as error:  # noqa: BLE001 - a failing store never fails the chat
            telemetry.degraded("llamaindex_ctx.memory", error)
            self._waiting = [*waiting, *self._waiting]


def _session_of(message: ChatMessage) -> str | None:
    return message.additional_kwargs.get("session_id")
