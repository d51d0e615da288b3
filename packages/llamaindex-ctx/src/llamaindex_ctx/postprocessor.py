"""Retrieved nodes in fewer tokens, before a synthesizer or chat engine sees them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from llama_index.core.bridge.pydantic import Field
from llama_index.core.postprocessor.types import BaseNodePostprocessor
from llama_index.core.schema import MetadataMode, NodeWithScore, QueryBundle

from ctx_core import telemetry
from ctx_core.optimize.optimizer import CompressResult, ContextOptimizer
from llamaindex_ctx.events import ContextOptimizedEvent, dispatcher
from llamaindex_ctx.nodes import text_of, with_result

if TYPE_CHECKING:
    from collections.abc import Sequence

_LEAST = 32


class ContextPostprocessor(BaseNodePostprocessor):
    """Compresses the text of retrieved nodes under a budget; ids, scores, order, relationships and metadata stay.

    Budgets count what the synthesizer really sends: the text together with the metadata that the model gets to see.
    Nodes are copied, never changed. A stage that fails leaves the nodes as they were.

    ```python
    index.as_query_engine(node_postprocessors=[ContextPostprocessor(max_tokens=2000)])
    ```
    """

    max_tokens: int | None = Field(default=None, ge=_LEAST, description="The most tokens of all nodes together.")
    max_tokens_per_node: int | None = Field(default=None, ge=_LEAST, description="The most tokens of one node.")
    optimizer: ContextOptimizer = Field(
        default_factory=ContextOptimizer, exclude=True, description="Compresses, and keeps the originals."
    )

    @classmethod
    def class_name(cls) -> str:
        """Name the class for serialization."""
        return "ContextPostprocessor"

    def _postprocess_nodes(
        self, nodes: list[NodeWithScore], query_bundle: QueryBundle | None = None
    ) -> list[NodeWithScore]:
        if not nodes:
            return []
        try:
            results = self._optimized(nodes, query_bundle.query_str if query_bundle else None)
        except Exception as error:  # noqa: BLE001 - a retrieval must not fail because its results could not be shortened
            telemetry.degraded("llamaindex_ctx.postprocessor", error)
            return list(nodes)
        out = [
            found if result is None else found.model_copy(update={"node": with_result(found.node, result)})
            for found, result in zip(nodes, results, strict=True)
        ]
        self._tell([result for result in results if result is not None])
        return out

    def _optimized(self, nodes: Sequence[NodeWithScore], query: str | None) -> list[CompressResult | None]:
        """Return one result per node; None for nodes without text, such as images."""
        texts = [text_of(found.node) for found in nodes]
        extra = [self._metadata_tokens(found, text) for found, text in zip(nodes, texts, strict=True)]
        held = [at for at, text in enumerate(texts) if text.strip()]
        results: list[CompressResult | None] = [None] * len(nodes)
        for at in held:
            limit = self.max_tokens_per_node
            results[at] = self.optimizer.optimize(
                texts[at], max_tokens=None if limit is None else max(limit - extra[at], _LEAST), query=query
            )
        used = sum(extra) + sum(result.compressed_tokens for result in results if result)
        if self.max_tokens is None or used <= self.max_tokens:
            return results
        room = max(self.max_tokens - sum(extra), _LEAST * len(held))
        jointly = self.optimizer.optimize_many([texts[at] for at in held], max_tokens=room, query=query)
        for at, result in zip(held, jointly, strict=True):
            results[at] = result
        return results

    def _metadata_tokens(self, found: NodeWithScore, text: str) -> int:
        """Count what the synthesizer sends beside the text."""
        sent = found.node.get_content(metadata_mode=MetadataMode.LLM)
        return self.optimizer.counter.count(sent.replace(text, "", 1)) if sent != text else 0

    def _tell(self, results: Sequence[CompressResult]) -> None:
        before = sum(result.original_tokens for result in results)
        after = sum(result.compressed_tokens for result in results)
        dispatcher.event(ContextOptimizedEvent(texts=len(results), tokens_before=before, tokens_after=after))
