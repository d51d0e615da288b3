"""Graph and archive as retrievers."""

from dataclasses import dataclass, field
from datetime import UTC, datetime

import pytest
from langchain_tests.integration_tests import RetrieversIntegrationTests

from ctx_core import Archive, Bundle, ContextKernel, Node, Relation, Turn, render
from langchain_ctx import ArchiveRetriever, GraphContextRetriever


@pytest.fixture(scope="module")
def kernel():
    return _kernel()


def _kernel():
    kernel = ContextKernel.open("memory://")
    nodes = [
        Node(node_id=f"n{n}", node_kind="step", title=f"Step {n}", summary=f"What step {n} did.") for n in range(5)
    ]
    relations = [
        Relation(
            source_node_id=f"n{n}",
            target_node_id=f"n{n + 1}",
            relation_type="LED_TO",
            semantic_class="causal",
            rationale=f"step {n} needed it",
        )
        for n in range(4)
    ]
    kernel.update_context(root_node_id="n0", changes=[*nodes, *relations])
    return kernel


def _graph_retriever(**options):
    return GraphContextRetriever(kernel=_kernel(), root="n0", by="fact", **options)


def _archive_retriever(**options):
    archive = Archive(embedder=None)
    archive.append("user-1", [Turn(id=str(n), role="user", content=f"The boat number {n} is blue.") for n in range(5)])
    return ArchiveRetriever(archive=archive, user_id="user-1", **options)


class TestGraphRetriever(RetrieversIntegrationTests):
    @property
    def retriever_constructor(self):
        return _graph_retriever

    @property
    def retriever_constructor_params(self):
        return {}

    @property
    def retriever_query_example(self):
        return "why?"


class TestArchiveRetriever(RetrieversIntegrationTests):
    @property
    def retriever_constructor(self):
        return _archive_retriever

    @property
    def retriever_constructor_params(self):
        return {}

    @property
    def retriever_query_example(self):
        return "blue boat"


def test_a_document_a_tier(kernel):
    out = GraphContextRetriever(kernel=kernel, root="n0").invoke("why?")
    assert 1 < len(out) <= 3
    view = kernel.get_context("n0", max_tokens=1000)
    for document in out:
        assert document.page_content in view.text
        assert document.metadata["ctx_revision"] == view.revision
        assert document.metadata["ctx_content_hash"] == view.content_hash
        assert set(document.metadata["ctx_node_ids"]) <= {f"n{n}" for n in range(5)}
        assert document.metadata["ctx_node_ids"]
        assert 0 < document.metadata["ctx_score"] <= 1
    assert len({document.id for document in out}) == len(out)


def test_a_document_a_fact(kernel):
    out = GraphContextRetriever(kernel=kernel, root="n0", by="fact").invoke("why?")
    known = {f"n{n}" for n in range(5)}
    assert all(
        document.metadata["ctx_node_ids"] and set(document.metadata["ctx_node_ids"]) <= known for document in out
    )
    relation = next(document for document in out if "needed it" in document.page_content)
    assert len(relation.metadata["ctx_node_ids"]) == 2


def test_the_root_can_follow_from_the_query(kernel):
    retriever = GraphContextRetriever(kernel=kernel, root=lambda query: query.split()[-1])
    assert retriever.invoke("what about n3")[0].metadata["ctx_root_node_id"] == "n3"


async def test_async_gives_the_same(kernel):
    retriever = GraphContextRetriever(kernel=kernel, root="n0", by="fact")
    assert await retriever.ainvoke("why?", k=2) == retriever.invoke("why?", k=2)


def test_archived_turns_say_who_when_and_where(archive):
    turn = Turn(
        id="t1",
        role="user",
        name="Ann",
        content="The key is in locker 12.",
        created_at=datetime(2026, 3, 1, tzinfo=UTC),
    )
    archive.append("user-1", [turn], session_id="s1")
    (out,) = ArchiveRetriever(archive=archive, user_id="user-1").invoke("where is the key")
    assert (out.id, out.page_content) == ("t1", "The key is in locker 12.")
    assert "ctx_score" in out.metadata
    assert out.metadata.items() >= {
        "role": "user", "name": "Ann", "session_id": "s1", "created_at": "2026-03-01T00:00:00+00:00"
    }.items()  # fmt: skip
    assert ArchiveRetriever(archive=archive, user_id="user-2").invoke("where is the key") == []


def test_graph_documents_become_a_bundle_that_says_why():
    @dataclass
    class GraphNode:
        id: str
        type: str = "Node"
        properties: dict[str, str] = field(default_factory=dict)

    @dataclass
    class Relationship:
        source: GraphNode
        target: GraphNode
        type: str
        properties: dict[str, str] = field(default_factory=dict)

    @dataclass
    class GraphDocument:
        nodes: list[GraphNode]
        relationships: list[Relationship]

    pump, valve = GraphNode("pump", "Incident"), GraphNode("valve", "Decision", {"title": "Replace the valve"})
    led_to = Relationship(pump, valve, "LED_TO", {"rationale": "the valve had corroded", "semantic_class": "causal"})
    bundle = Bundle.from_graph_documents([GraphDocument([pump, valve], [led_to])], root_node_id="pump")
    assert "the valve had corroded" in render(bundle).text
