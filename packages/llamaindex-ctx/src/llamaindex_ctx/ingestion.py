"""Documents in fewer tokens before they are indexed, for those who ask for it."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from llama_index.core.bridge.pydantic import Field
from llama_index.core.schema import BaseNode, TransformComponent

from ctx_core import telemetry
from ctx_core.optimize.optimizer import ContextOptimizer
from llamaindex_ctx.nodes import text_of, with_result

if TYPE_CHECKING:
    from collections.abc import Sequence


class ContextTransform(TransformComponent):
    """Compresses documents at their natural level before they are indexed.

    Indexes stay at full fidelity unless this is put into an `IngestionPipeline`: compressing what is retrieved loses less
    than compressing what is searched.
    """

    max_tokens: int | None = Field(
        default=None, ge=32, description="The most tokens of one node; None: its natural level."
    )
    optimizer: ContextOptimizer = Field(default_factory=ContextOptimizer, exclude=True, description="Compresses.")

    @classmethod
    def class_name(cls) -> str:
        """Name the class for serialization."""
        return "ContextTransform"

    def __call__(self, nodes: Sequence[BaseNode], **kwargs: Any) -> list[BaseNode]:
        """Return copies of `nodes` with shorter texts; nodes without text come back as they are."""
        del kwargs
        return [self._shorter(node) for node in nodes]

    async def acall(self, nodes: Sequence[BaseNode], **kwargs: Any) -> list[BaseNode]:
        """Return what a call returns, worked out in a thread."""
        return await asyncio.to_thread(self, nodes, **kwargs)

    def _shorter(self, node: BaseNode) -> BaseNode:
        text = text_of(node)
        if not text.strip():
            return node
        try:
            return with_result(node, self.optimizer.optimize(text, max_tokens=self.max_tokens))
        except Exception as error:  # noqa: BLE001 - an ingestion must not fail because one document could not be shortened
            telemetry.degraded("llamaindex_ctx.ingestion", error)
            return node
