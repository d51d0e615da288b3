"""Graphs of other libraries become bundles, and say the same."""

from types import SimpleNamespace

import networkx as nx
import pytest

from ctx_core.errors import InvalidBundle
from ctx_core.graph.model import Bundle, Node, RelationClass
from ctx_core.graph.render import render


def test_triples_make_a_bundle_whose_first_source_is_the_root():
    bundle = Bundle.from_triples([("alarm", "CAUSED_BY", "door", "switch stuck"), ("door", "PART_OF", "cold room")])
    assert bundle.root_node_id == "alarm"
    assert [(r.semantic_class, r.rationale) for r in bundle.relations] == [
        (RelationClass.CAUSAL, "switch stuck"),
        (RelationClass.STRUCTURAL, None),
    ]
    assert "CAUSED_BY (causal) -> door: switch stuck" in render(bundle).text


def test_a_root_may_be_named_beside_the_triples():
    assert Bundle.from_triples([("a", "T", "b")], root_node_id="b").root.node_id == "b"
    assert Bundle.from_triples([], root_node_id="a").nodes == (Node(node_id="a", title="a"),)


@pytest.mark.parametrize("triples", [[], [("a", "T")], ["abc"]])
def test_what_is_no_triple_is_named(triples):
    with pytest.raises(InvalidBundle, match="triple"):
        Bundle.from_triples(triples)


def test_a_networkx_multigraph_keeps_its_parallel_edges_and_attributes():
    graph = nx.MultiDiGraph()
    graph.add_node(1, kind="incident", label="Alarm", zone="north")
    graph.add_edge(1, 2, type="CAUSED_BY", semantic_class="causal", reason="switch stuck", sequence=1)
    graph.add_edge(1, 2, type="CAUSED_BY", semantic_class="causal", reason="seal worn")
    bundle = Bundle.from_networkx(graph, root_node_id=1)
    assert bundle.root == Node(node_id="1", node_kind="incident", title="Alarm", properties={"zone": "north"})
    assert [r.rationale for r in bundle.relations] == ["switch stuck", "seal worn"]


def test_an_undirected_networkx_graph_is_taken_too():
    assert Bundle.from_networkx(nx.path_graph(3), root_node_id=0).relations[0].relation_type == "RELATES_TO"


def test_graph_documents_are_merged_by_node_id():
    alarm = SimpleNamespace(id="alarm", type="Incident", properties={"name": "Cold room alarm"})
    door = SimpleNamespace(id="door", type="Part", properties={})
    later = SimpleNamespace(id="door", type="Part", properties={"status": "open", "colour": "grey"})
    cause = SimpleNamespace(
        source=alarm, target=door, type="CAUSED_BY", properties={"rationale": "switch stuck", "class": "causal"}
    )
    documents = [
        SimpleNamespace(nodes=[alarm, door], relationships=[cause]),
        SimpleNamespace(nodes=[later], relationships=[]),
    ]
    bundle = Bundle.from_graph_documents(documents, root_node_id="alarm")
    assert bundle.root.title == "Cold room alarm"
    assert bundle.node("door").status == "open"
    assert bundle.node("door").properties == {"colour": "grey"}
    assert bundle.relations[0].semantic_class is RelationClass.CAUSAL
