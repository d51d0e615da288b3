"""Retrievers over the graph and over archived turns."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Literal

from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.schema import NodeWithScore, TextNode

from ctx_core.errors import NodeNotFound
from ctx_core.telemetry import degraded

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from llama_index.core.schema import QueryBundle

    from ctx_core.kernel.kernel import ContextKernel
    from ctx_core.kernel.views import ContextView
    from ctx_core.rehydrate.archive import Archive, ScoredTurn


class GraphContextRetriever(BaseRetriever):
    """Retrieves what the kernel's graph says about a root: its tiers, or its facts one by one.

    Every node's metadata names the root, revision and hash that were read, and the graph nodes it speaks of.

    Args:
        kernel: Holds the graph.
        root: Id of the root, or a function from the query to one, or to None; a root that is not there gives nothing, with a log entry.
        max_tokens: The most tokens of all text together.
        by: `tier` gives one node a tier, `fact` one node a rendered fact.
        direction: Which way relations are followed; see `ContextKernel.get_context`.
        as_of: Only what held at this moment; None reads everything.
    """

    def __init__(
        self,
        kernel: ContextKernel,
        root: str | Callable[[str], str | None],
        *,
        max_tokens: int = 1000,
        by: Literal["tier", "fact"] = "tier",
        direction: str = "explained",
        as_of: datetime | str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self._kernel = kernel
        self._root = root
        self._max_tokens = max_tokens
        self._by = by
        self._direction = direction
        self._as_of = as_of

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        root = self._root(query_bundle.query_str) if callable(self._root) else self._root
        if not root or not root.strip():
            degraded("reading the graph", NodeNotFound("the query names no root"))
            return []
        try:
            view = self._kernel.get_context(
                root, max_tokens=self._max_tokens, direction=self._direction, as_of=self._as_of
            )
        except NodeNotFound as error:
            degraded(f"reading the graph around {root!r}", error)
            return []
        return _tiers(view) if self._by == "tier" else _facts(view)

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return await asyncio.to_thread(self._retrieve, query_bundle)


class ArchiveRetriever(BaseRetriever):
    """Retrieves archived turns of one user, best first; scores are the archive's, higher is better.

    Args:
        archive: Holds the turns.
        user_id: Whose turns are searched.
        top_k: The most turns.
    """

    def __init__(self, archive: Archive, user_id: str, *, top_k: int = 5, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._archive = archive
        self._user_id = user_id
        self._top_k = top_k

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        hits = self._archive.search(self._user_id, query_bundle.query_str, top_k=self._top_k)
        return [_turn_node(hit, self._user_id) for hit in hits]

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return await asyncio.to_thread(self._retrieve, query_bundle)


def _tiers(view: ContextView) -> list[NodeWithScore]:
    ranked = [(tier, text) for tier, text in view.rendered.tiers.items() if text]
    return [
        _graph_node(view, f"{tier}", text, [view.root_node_id], score=1.0 / (1 + at))
        for at, (tier, text) in enumerate(ranked)
    ]


def _facts(view: ContextView) -> list[NodeWithScore]:
    sections = view.rendered.sections
    return [
        _graph_node(view, f"{at}", section.text, [*view.rendered.nodes_of(section)], score=1.0 - at / len(sections))
        for at, section in enumerate(sections)
    ]


def _graph_node(view: ContextView, part: str, text: str, node_ids: list[str], *, score: float) -> NodeWithScore:
    metadata = {
        "root_node_id": view.root_node_id,
        "part": part,
        "revision": view.revision,
        "content_hash": view.content_hash,
        "node_ids": node_ids,
    }
    hidden = list(metadata)
    node = TextNode(
        id_=f"ctx:{view.root_node_id}:{view.rendered.content_hash}:{part}",
        text=text,
        metadata=metadata,
        excluded_llm_metadata_keys=hidden,
        excluded_embed_metadata_keys=hidden,
    )
    return NodeWithScore(node=node, score=score)


def _turn_node(hit: ScoredTurn, user_id: str) -> NodeWithScore:
    turn = hit.turn
    metadata = {
        "role": turn.role,
        "name": turn.name,
        "created_at": turn.created_at.isoformat() if turn.created_at else None,
        "session_id": turn.session_id,
    }
    shown = {key: value for key, value in metadata.items() if value is not None}
    hidden = [key for key in shown if key == "session_id"]
    node = TextNode(id_=f"ctx:{user_id}:{turn.id}", text=turn.text, metadata=shown, excluded_llm_metadata_keys=hidden)
    return NodeWithScore(node=node, score=hit.score)
