"""Retrieved nodes in fewer tokens, before a synthesizer or chat engine sees them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from llama_index.core.bridge.pydantic import Field
from llama_index.core.postprocessor.types import BaseNodePostprocessor
from llama_index.core.schema import NodeWithScore, QueryBundle  # noqa: TC002 - pydantic may read the signatures

from ctx_core import telemetry
from ctx_core.optimize.optimizer import MIN_BUDGET, ContextOptimizer
from llamaindex_ctx.events import ContextOptimizedEvent, dispatcher
from llamaindex_ctx.joint import Fitted, count_frame, count_joined, fit, show_less_metadata
from llamaindex_ctx.nodes import text_of, with_result

if TYPE_CHECKING:
    from collections.abc import Sequence

    from llama_index.core.schema import BaseNode

    from ctx_core.optimize.optimizer import CompressResult


class ContextPostprocessor(BaseNodePostprocessor):
    """Compresses the text of retrieved nodes under a budget; ids, scores, order, relationships and metadata stay.

    Budgets count what the synthesizer really sends: the text together with the metadata that the model gets to see.
    Metadata that leaves no room for the text is hidden from the model, the longest values first. Where a joint budget has no
    room for all nodes, the least relevant are emptied behind one note that names their text; no node is dropped.
    Nodes are copied, never changed. A stage that fails leaves the nodes as they were.

    ```python
    index.as_query_engine(node_postprocessors=[ContextPostprocessor(max_tokens=2000)])
    ```
    """

    max_tokens: int | None = Field(default=None, ge=MIN_BUDGET, description="The most tokens of all nodes together.")
    max_tokens_per_node: int | None = Field(default=None, ge=MIN_BUDGET, description="The most tokens of one node.")
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
            fitted = self._fitted(nodes, query_bundle.query_str if query_bundle else None)
        except Exception as error:  # noqa: BLE001 - a retrieval must not fail because its results could not be shortened
            telemetry.degraded("llamaindex_ctx.postprocessor", error)
            return list(nodes)
        self._tell(fitted.results)
        return [
            found if node is found.node else found.model_copy(update={"node": node})
            for found, node in zip(nodes, fitted.nodes, strict=True)
        ]

    def _fitted(self, found: Sequence[NodeWithScore], query: str | None) -> Fitted:
        """Shorten each node by itself, and all of them jointly where that is not enough."""
        given = [self._within_limit(one.node) for one in found]
        out: list[BaseNode] = list(given)
        results: list[CompressResult] = []
        for at, node in enumerate(given):
            if text_of(node).strip():
                results.append(self.optimizer.optimize(text_of(node), max_tokens=self._room_of(node), query=query))
                out[at] = with_result(node, results[-1])
        if self.max_tokens is None or count_joined(out, self.optimizer) <= self.max_tokens:
            return Fitted(out, results)
        scored = [one.model_copy(update={"node": node}) for one, node in zip(found, given, strict=True)]
        return fit(
            scored, self.max_tokens, optimizer=self.optimizer, query=query, max_tokens_per_node=self.max_tokens_per_node
        )

    def _within_limit(self, node: BaseNode) -> BaseNode:
        """Hide metadata that leaves no room for the text."""
        if self.max_tokens_per_node is None:
            return node
        least = MIN_BUDGET if text_of(node).strip() else 0
        return show_less_metadata(node, self.max_tokens_per_node - least, self.optimizer)

    def _room_of(self, node: BaseNode) -> int | None:
        limit = self.max_tokens_per_node
        return None if limit is None else max(limit - count_frame(node, self.optimizer), MIN_BUDGET)

    def _tell(self, results: Sequence[CompressResult]) -> None:
        before = sum(result.original_tokens for result in results)
        after = sum(result.compressed_tokens for result in results)
        dispatcher.event(ContextOptimizedEvent(texts=len(results), tokens_before=before, tokens_after=after))
