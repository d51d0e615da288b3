"""The engine: one call that prepares a prompt within one token budget.

```text
messages ─ optimize ─ evict ─ rehydrate ─ attach ─ align ─▶ prompt
              │         │         ▲          ▲
             CCR     archive ─────┘     graph, chunks
```

Each stage is isolated: one that fails is skipped with a warning and a metric, and the messages go on as they were.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field, replace
from threading import Lock
from typing import TYPE_CHECKING, Any, Final

from ctx_core.cache import RecentCache
from ctx_core.engine.preparation import Preparation, Request
from ctx_core.errors import InvalidInput
from ctx_core.messages import as_messages
from ctx_core.optimize.align import CacheAligner
from ctx_core.optimize.ccr import content_hash, owner_scope
from ctx_core.optimize.optimizer import CompressResult, ContextOptimizer
from ctx_core.rehydrate.archive import Archive
from ctx_core.rehydrate.evict import Evictor
from ctx_core.rehydrate.rehydrator import Rehydrator, RehydratorConfig
from ctx_core.tokens import RememberingCounter, TokenCounter, encoding_for_model
from ctx_core.working_set import WindowShares, WorkingSetMemory

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from ctx_core.engine.report import Prepared
    from ctx_core.kernel.kernel import ContextKernel
    from ctx_core.messages import Message
    from ctx_core.settings import CtxSettings

_LEAST_BUDGET: Final = 64
"""The smallest budget: below it, what frames a message would take all of it."""

_REMEMBERED: Final = 2048
"""How many results are remembered, so that a growing chat is not compressed again at every turn."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shares:
    """How the budget is shared, each as the most it may take in [0, 1]; what one leaves over is the history's.

    Args:
        message: One tool output or pasted text; the same at every turn, so that what was sent once stays byte-stable.
        graph: Text of the graph.
        chunks: Retrieved chunks.
        rehydrated: Turns that came back.
        window: How what is left is shared between messages as they are and what is told of those that left.
    """

    message: float = 0.25
    graph: float = 0.15
    chunks: float = 0.3
    rehydrated: float = 0.15
    window: WindowShares = field(default_factory=WindowShares)


class ContextEngine:
    """Prepares prompts: compresses tool outputs, archives what leaves the window, brings back what is asked for.

    The default needs no server, no key and no network. Safe to share between threads.

    Args:
        optimizer: Compresses contents and keeps their originals.
        archive: Keeps the turns that leave the window.
        kernel: Holds the graph that `graph_root` names; one in memory by default.
        aligner: Keeps the prompt's prefix byte-stable.
        evictor: Chooses the turns that leave.
        rehydration: When and how turns come back.
        shares: How the budget is shared.
        counter: Counts tokens.
        strict: Raise where a stage fails, instead of skipping it with a warning.
    """

    def __init__(
        self,
        *,
        optimizer: ContextOptimizer | None = None,
        archive: Archive | None = None,
        kernel: ContextKernel | None = None,
        aligner: CacheAligner | None = None,
        evictor: Evictor | None = None,
        rehydration: RehydratorConfig | None = None,
        shares: Shares | None = None,
        counter: TokenCounter | None = None,
        strict: bool = False,
    ) -> None:
        self.counter = counter or RememberingCounter()
        self.optimizer = optimizer or ContextOptimizer(counter=self.counter)
        self.archive = archive or Archive()
        self._kernel = kernel
        self.aligner = aligner or CacheAligner()
        self.evictor = evictor or Evictor(counter=self.counter)
        self.rehydrator = Rehydrator(self.archive, config=rehydration, counter=self.counter)
        self.shares = shares or Shares()
        self.strict = strict
        self.memory = WorkingSetMemory()
        self._remembered: RecentCache[tuple[str, str, int], CompressResult] = RecentCache(_REMEMBERED)
        self._lock = Lock()

    @classmethod
    def from_settings(cls, settings: CtxSettings, **overrides: Any) -> ContextEngine:
        """Build an engine on the stores that `settings` name."""
        counter = RememberingCounter(encoding_for_model(settings.model or ""))
        parts: dict[str, Any] = {
            "optimizer": ContextOptimizer(settings.ccr_store(), counter=counter),
            "archive": settings.archive(),
            "kernel": settings.kernel(),
            "rehydration": settings.rehydrator.config(),
            "counter": counter,
        }
        return cls(**(parts | overrides))

    @property
    def kernel(self) -> ContextKernel:
        """The kernel that holds the graph; made on first use where none was given."""
        with self._lock:
            if self._kernel is None:
                from ctx_core.kernel.kernel import ContextKernel  # noqa: PLC0415 - pydantic, for those who use a graph

                self._kernel = ContextKernel.open("memory://")
            return self._kernel

    def prepare(
        self,
        messages: Sequence[Message | Mapping[str, Any]],
        *,
        user_id: str | None = None,
        session_id: str | None = None,
        conversation_id: str | None = None,
        max_tokens: int = 8000,
        chunks: Sequence[str] = (),
        graph_root: str | None = None,
        query: str | None = None,
        now: datetime | None = None,
        owner: str | None = None,
        tools: Sequence[Mapping[str, Any]] = (),
        working_set: bool = True,
    ) -> Prepared:
        """Return the prompt for the model's next turn, within `max_tokens` wherever that can be reached.

        Args:
            messages: The conversation so far, oldest first; mappings in OpenAI's form are accepted.
            user_id: Whose archive is written and searched; without it, nothing is archived and nothing comes back.
            session_id: Stored with archived turns.
            conversation_id: Under which prefix drift is followed; the session or user by default.
            max_tokens: The budget of the whole prompt, at least 64.
            chunks: Retrieved texts to put before the model.
            graph_root: A node of the kernel's graph whose context to put before the model.
            query: What chunks are ranked by; the last user message by default.
            now: What "yesterday" is relative to; the present by default.
            owner: The scope of the originals that are kept; the user's by default, else the conversation's.
            tools: Schemas of the tools that the model may call, in OpenAI's, Anthropic's or LangChain's form. Their parameters
                say which earlier values may be needed; they are not counted.
            working_set: Tell what earlier messages said, chosen by what the step needs. Without it, messages that leave are
                summed up in a sentence each.

        Raises:
            InvalidInput: A budget below 64, or something that is no message.
        """
        if max_tokens < _LEAST_BUDGET:
            raise InvalidInput(f"max_tokens must be at least {_LEAST_BUDGET}, not {max_tokens}")
        conversation = conversation_id or session_id
        request = Request(
            messages=as_messages(messages),
            max_tokens=max_tokens,
            user_id=user_id,
            session_id=session_id,
            conversation_id=conversation or user_id or "",
            scope=owner_scope(user_id=user_id, conversation_id=conversation) if owner is None else owner,
            chunks=chunks,
            graph_root=graph_root,
            query=query,
            now=now,
            tools=tools,
            working_set=working_set,
        )
        return Preparation(self, request).run()

    async def aprepare(self, messages: Sequence[Message | Mapping[str, Any]], **options: Any) -> Prepared:
        """Return what `prepare` returns, worked out in a thread."""
        return await asyncio.to_thread(self.prepare, messages, **options)

    def optimize(self, text: str, limit: int, *, owner: str = "") -> CompressResult:
        """Return `text` at its natural level, or within `limit` tokens where that is longer; remembered by content.

        The original is kept for `owner`, unless the engine's optimizer has a scope of its own.
        """
        optimizer = self.optimizer_for(owner)
        key = optimizer.scope, content_hash(text), limit
        result = self._remembered.get(key)
        if result is not None:
            return result
        result = optimizer.optimize(text)
        if result.compressed_tokens > limit:
            result = optimizer.optimize(text, max_tokens=limit)
        return self._remembered.put(key, result)

    def optimizer_for(self, owner: str) -> ContextOptimizer:
        """Return the optimizer that keeps and finds the originals of `owner`; one with a scope of its own stays as it is."""
        return self.optimizer if self.optimizer.scope else self.optimizer.scoped(owner)

    def retrieve(self, ref: str, *, user_id: str | None = None, conversation_id: str | None = None, **part: Any) -> str:
        """Return an original that `prepare` kept for a user, or else for a conversation; see `ContextOptimizer.retrieve`."""
        return self.optimizer_for(owner_scope(user_id=user_id, conversation_id=conversation_id)).retrieve(ref, **part)

    def rehydrator_within(self, max_tokens: int) -> Rehydrator:
        """Return the rehydrator with a budget for its block."""
        config = replace(self.rehydrator.config, max_tokens=max_tokens)
        return Rehydrator(self.archive, config=config, counter=self.counter)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_lock"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._lock = Lock()
