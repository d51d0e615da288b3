"""The graph and the archive as retrievers, in query engines and routers."""

import asyncio
import threading
import time
from typing import ClassVar

import pytest
from llama_index.core import MockEmbedding
from llama_index.core.base.base_selector import BaseSelector, SelectorResult, SingleSelection
from llama_index.core.instrumentation import get_dispatcher
from llama_index.core.instrumentation.event_handlers import BaseEventHandler
from llama_index.core.llms import MockLLM
from llama_index.core.query_engine import RetrieverQueryEngine
from llama_index.core.retrievers import RouterRetriever
from llama_index.core.schema import MetadataMode
from llama_index.core.tools import RetrieverTool

from ctx_core import Archive, ContextKernel, Node, Relation
from llamaindex_ctx import ArchiveRetriever, GraphContextRetriever, LlamaIndexEmbedder


@pytest.fixture
def kernel():
    kernel = ContextKernel.open("memory://")
    nodes = [
        Node(node_id="n0", node_kind="incident", title="Checkout slow"),
        Node(node_id="n1", node_kind="cause", title="Pool"),
    ]
    why = Relation(
        source_node_id="n0",
        target_node_id="n1",
        relation_type="CAUSED_BY",
        semantic_class="causal",
        rationale="pool exhausted",
    )
    kernel.update_context(root_node_id="n0", changes=[*nodes, why])
    return kernel


@pytest.fixture
def archive():
    archive = Archive(embedder=None)
    archive.append(
        "user-1", [{"role": "user", "content": f"Crate {n} holds part P-{n}.", "id": f"t{n}"} for n in range(9)]
    )
    return archive


def test_the_graph_comes_as_one_node_a_tier_with_its_revision_and_hash(kernel):
    nodes = GraphContextRetriever(kernel, "n0", max_tokens=500).retrieve("why?")
    assert any("pool exhausted" in node.node.get_content() for node in nodes)
    assert len({node.node_id for node in nodes}) == len(nodes)
    assert all(node.metadata["root_node_id"] == "n0" and node.metadata["content_hash"] for node in nodes)
    assert "revision" not in nodes[0].node.get_content(metadata_mode=MetadataMode.LLM)


async def test_or_as_one_node_a_fact_that_names_its_graph_nodes(kernel):
    nodes = await GraphContextRetriever(kernel, lambda _: "n0", by="fact").aretrieve("why?")
    (fact,) = [node for node in nodes if "pool exhausted" in node.node.get_content()]
    assert set(fact.metadata["node_ids"]) == {"n0", "n1"}


async def test_turns_come_best_first_with_distinct_ids_and_scores(archive):
    for nodes in (
        ArchiveRetriever(archive, "user-1", top_k=3).retrieve("what does crate 4 hold?"),
        await ArchiveRetriever(archive, "user-1", top_k=3).aretrieve("what does crate 4 hold?"),
    ):
        assert nodes[0].node.get_content() == "Crate 4 holds part P-4."
        assert len({node.node_id for node in nodes}) == 3
        assert [node.score for node in nodes] == sorted((node.score for node in nodes), reverse=True)
    assert ArchiveRetriever(archive, "user-2").retrieve("crate 4") == []


def test_both_work_in_a_query_engine(kernel, archive):
    for retriever, expected in (
        (GraphContextRetriever(kernel, "n0"), "pool exhausted"),
        (ArchiveRetriever(archive, "user-1"), "P-4"),
    ):
        engine = RetrieverQueryEngine.from_args(retriever, llm=MockLLM())
        assert expected in str(engine.query("what does crate 4 hold?"))


class PickFirst(BaseSelector):
    """A selector that needs no model."""

    def _get_prompts(self):
        return {}

    def _update_prompts(self, prompts):
        pass

    def _select(self, choices, query):
        return SelectorResult(selections=[SingleSelection(index=0, reason="first")])

    async def _aselect(self, choices, query):
        return self._select(choices, query)


async def test_both_can_be_routed_to(kernel, archive):
    for retriever, expected in (
        (GraphContextRetriever(kernel, "n0"), "pool exhausted"),
        (ArchiveRetriever(archive, "user-1"), "P-4"),
    ):
        tool = RetrieverTool.from_defaults(retriever, description="what is known")
        router = RouterRetriever(selector=PickFirst(), retriever_tools=[tool], llm=MockLLM())
        for nodes in (router.retrieve("what does crate 4 hold?"), await router.aretrieve("what does crate 4 hold?")):
            assert any(expected in node.node.get_content() for node in nodes)


async def test_an_async_search_runs_beside_the_loop(archive, monkeypatch):
    search, threads = archive.search, set()

    def slow(*args, **options):
        threads.add(threading.get_ident())
        time.sleep(0.05)
        return search(*args, **options)

    monkeypatch.setattr(archive, "search", slow)
    await asyncio.gather(*(ArchiveRetriever(archive, "user-1").aretrieve("crate 4") for _ in range(3)))
    assert threading.get_ident() not in threads


class Seen(BaseEventHandler):
    names: ClassVar[list[str]] = []

    def handle(self, event, **_):
        self.names.append(event.class_name())


def test_retrieval_events_are_sent(archive):
    seen = Seen()
    get_dispatcher().add_event_handler(seen)
    try:
        ArchiveRetriever(archive, "user-1").retrieve("crate 4")
    finally:
        get_dispatcher().event_handlers.remove(seen)
    assert {"RetrievalStartEvent", "RetrievalEndEvent"} <= set(seen.names)


def test_any_embedding_model_can_serve_an_archive():
    embedder = LlamaIndexEmbedder(MockEmbedding(embed_dim=8), similarity_floor=0.1)
    assert (embedder.dimension, embedder.similarity_floor) == (8, 0.1)
    assert [len(vector) for vector in embedder.embed(["a", "b"])] == [8, 8]
    archive = Archive(embedder=embedder)
    archive.append("user-1", [{"role": "user", "content": "hello there"}])
    archive.flush()
    assert archive.search("user-1", "hello")[0].cosine == pytest.approx(1.0)


@pytest.mark.parametrize("root", ["nowhere", "", " ", lambda _: None, lambda _: "nowhere"])
def test_a_root_that_is_not_there_gives_nothing(root):
    assert GraphContextRetriever(ContextKernel.open("memory://"), root).retrieve("why?") == []
