"""Retrievers over a kernel's graph and over an archive."""

from collections.abc import Callable
from datetime import datetime
from typing import Any, Literal

from langchain_core.callbacks import AsyncCallbackManagerForRetrieverRun, CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import run_in_executor
from pydantic import SkipValidation

from ctx_core.kernel.kernel import ContextKernel
from ctx_core.kernel.views import ContextView
from ctx_core.rehydrate.archive import Archive
from ctx_core.rehydrate.turns import ScoredTurn


class GraphContextRetriever(BaseRetriever):
    """Retrieves what a kernel's graph says about a root: its tiers, or its facts one by one, most salient first.

    The metadata names the root, the revision and hash that were read, the graph nodes the text speaks of, and a score in
    (0, 1] that falls with salience.

    Args:
        kernel: Holds the graph.
        root: Id of the root, or a function from the query to one.
        max_tokens: The most tokens of all documents together.
        by: `tier` gives one document a tier, `fact` one document a rendered fact.
        k: The most documents; None gives all.
        direction: Which way relations are followed; see `ContextKernel.get_context`.
        as_of: Only what held at this moment; None reads everything.
    """

    kernel: SkipValidation[ContextKernel]
    root: str | Callable[[str], str]
    max_tokens: int = 1000
    by: Literal["tier", "fact"] = "tier"
    k: int | None = None
    direction: str = "explained"
    as_of: datetime | str | None = None

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun, k: int | None = None
    ) -> list[Document]:
        del run_manager
        root = self.root if isinstance(self.root, str) else self.root(query)
        view = self.kernel.get_context(root, max_tokens=self.max_tokens, direction=self.direction, as_of=self.as_of)
        parts = _tiers(view) if self.by == "tier" else _facts(view)
        return [_graph_document(view, *part, rank) for rank, part in enumerate(parts[: k or self.k])]

    async def _aget_relevant_documents(
        self, query: str, *, run_manager: AsyncCallbackManagerForRetrieverRun, k: int | None = None
    ) -> list[Document]:
        return await run_in_executor(None, self._get_relevant_documents, query, run_manager=run_manager.get_sync(), k=k)


class ArchiveRetriever(BaseRetriever):
    """Retrieves archived turns of one user, best first, with role, time, session and scores in the metadata.

    Args:
        archive: Holds the turns.
        user_id: Whose turns are searched; no other's are ever read.
        k: The most turns.
        max_age_days: Older turns are left out; None searches all.
    """

    archive: SkipValidation[Archive]
    user_id: str
    k: int = 5
    max_age_days: float | None = None

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun, k: int | None = None
    ) -> list[Document]:
        del run_manager
        found = self.archive.search(self.user_id, query, top_k=k or self.k, max_age_days=self.max_age_days)
        return [_turn_document(hit) for hit in found]

    async def _aget_relevant_documents(
        self, query: str, *, run_manager: AsyncCallbackManagerForRetrieverRun, k: int | None = None
    ) -> list[Document]:
        return await run_in_executor(None, self._get_relevant_documents, query, run_manager=run_manager.get_sync(), k=k)


def _tiers(view: ContextView) -> list[tuple[str, str, list[str]]]:
    spoken_of: dict[str, dict[str, None]] = {}
    for section in view.rendered.sections:
        spoken_of.setdefault(section.tier, {}).update(dict.fromkeys(view.rendered.nodes_of(section)))
    return [(str(tier), text, [*spoken_of.get(tier, {})]) for tier, text in view.rendered.tiers.items() if text]


def _facts(view: ContextView) -> list[tuple[str, str, list[str]]]:
    return [
        (section.relation_id or f"{section.kind}:{section.node_id}", section.text, [*view.rendered.nodes_of(section)])
        for section in view.rendered.sections
    ]


def _graph_document(view: ContextView, part: str, text: str, node_ids: list[str], rank: int) -> Document:
    metadata: dict[str, Any] = {
        "ctx_root_node_id": view.root_node_id,
        "ctx_part": part,
        "ctx_revision": view.revision,
        "ctx_content_hash": view.content_hash,
        "ctx_node_ids": node_ids,
        "ctx_score": 1 / (1 + rank),
    }
    return Document(
        page_content=text, id=f"{view.root_node_id}/{view.rendered.content_hash[:12]}/{part}", metadata=metadata
    )


def _turn_document(hit: ScoredTurn) -> Document:
    turn = hit.turn
    metadata: dict[str, Any] = {
        "role": turn.role,
        "name": turn.name,
        "created_at": turn.created_at.isoformat() if turn.created_at else None,
        "session_id": turn.session_id,
        "ctx_score": hit.score,
        "ctx_cosine": hit.cosine,
    }
    kept = {key: value for key, value in metadata.items() if value is not None}
    return Document(page_content=turn.text, id=turn.id, metadata=kept)
