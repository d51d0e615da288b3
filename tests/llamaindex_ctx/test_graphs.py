"""Property graphs become bundles: each relation once, parallel ones kept, reasons carried over."""

import pytest
from llama_index.core.graph_stores import SimplePropertyGraphStore
from llama_index.core.graph_stores.types import ChunkNode, EntityNode, Relation
from llama_index.core.indices import PropertyGraphIndex
from llama_index.core.llms import MockLLM
from llama_index.core.schema import QueryBundle

from ctx_core import RelationClass
from ctx_core.errors import InvalidInput, NodeNotFound
from llamaindex_ctx import ContextPGRetriever, bundle_from_property_graph


def store_of(*triplets, nodes=()):
    store = SimplePropertyGraphStore()
    names = {name for source, _, target, *_ in triplets for name in (source, target)} | set(nodes)
    store.upsert_nodes(
        [EntityNode(name=name, label="service", properties={"summary": f"about {name}"}) for name in sorted(names)]
    )
    store.upsert_relations(
        [
            Relation(label=label, source_id=source, target_id=target, properties=dict(*more))
            for source, label, target, *more in triplets
        ]
    )
    return store


def edges(bundle):
    return sorted((r.source_node_id, r.relation_type, r.target_node_id) for r in bundle.relations)


def test_a_chain_is_followed_once_per_triple():
    store = store_of(("A", "TO", "B"), ("B", "TO", "C"), ("C", "TO", "D"))
    assert edges(bundle_from_property_graph(store, "A", depth=3)) == [
        ("A", "TO", "B"),
        ("B", "TO", "C"),
        ("C", "TO", "D"),
    ]
    assert edges(bundle_from_property_graph(store, "A", depth=1)) == [("A", "TO", "B")]


def test_loops_and_two_way_edges_appear_once_each():
    store = store_of(("A", "TO", "B"), ("B", "TO", "A"), ("A", "SELF", "A"))
    assert edges(bundle_from_property_graph(store, "A", depth=4)) == [
        ("A", "SELF", "A"),
        ("A", "TO", "B"),
        ("B", "TO", "A"),
    ]


def test_a_triple_upserted_twice_is_one_relation():
    store = store_of(("A", "TO", "B"))
    store.upsert_relations([Relation(label="TO", source_id="A", target_id="B")])
    assert len(bundle_from_property_graph(store, "A").relations) == 1


def test_parallel_relations_with_other_properties_both_live():
    class Parallel:
        """A store that, unlike the in-memory one, keeps parallel relations."""

        def get_triplets(self, **_):
            a, b = EntityNode(name="A"), EntityNode(name="B")
            return [
                (a, Relation(label="KNOWS", source_id="A", target_id="B", properties={"since": since}), b)
                for since in (2020, 2021, 2020)
            ]

        def get(self, **_):
            return [EntityNode(name="A")]

    assert len(bundle_from_property_graph(Parallel(), "A").relations) == 2


def test_a_relation_whose_node_was_deleted_is_left_out():
    store = store_of(("A", "TO", "B"), ("A", "TO", "C"))
    del store.graph.nodes["B"]  # what deleting B leaves behind: its relation stays
    assert edges(bundle_from_property_graph(store, "A")) == [("A", "TO", "C")]


def test_classes_come_from_the_users_table_and_explanations_from_properties():
    store = store_of(("A", "CAUSES", "B", {"rationale": "pool exhausted", "sequence": 2}), ("A", "NEAR", "C"))
    bundle = bundle_from_property_graph(store, "A", classes={"CAUSES": "causal"})
    causes = next(r for r in bundle.relations if r.relation_type == "CAUSES")
    assert (causes.semantic_class, causes.rationale, causes.sequence) == (RelationClass.CAUSAL, "pool exhausted", 2)
    assert next(r for r in bundle.relations if r.relation_type == "NEAR").semantic_class is RelationClass.STRUCTURAL
    assert {node.node_id: node.summary for node in bundle.nodes}["B"] == "about B"


def test_chunks_are_nodes_with_a_title():
    store = SimplePropertyGraphStore()
    store.upsert_nodes([ChunkNode(text="long text " * 40, id_="chunk-1")])
    (node,) = bundle_from_property_graph(store, "chunk-1").nodes
    assert len(node.title) <= 80


def test_what_is_not_there_or_cannot_be_is_an_error():
    store = store_of(("A", "TO", "B"))
    with pytest.raises(NodeNotFound, match="'Z' not found"):
        bundle_from_property_graph(store, "Z")
    with pytest.raises(InvalidInput, match="depth"):
        bundle_from_property_graph(store, "A", depth=-1)


async def test_a_sub_retriever_gives_the_reasons_first():
    store = store_of(("checkout", "CAUSES", "payment", {"rationale": "pool exhausted"}), ("checkout", "NEAR", "cart"))
    retriever = ContextPGRetriever(store, classes={"CAUSES": "causal"}, max_tokens=200)
    index = PropertyGraphIndex.from_existing(store, llm=MockLLM(), embed_kg_nodes=False)
    for nodes in (
        index.as_retriever(sub_retrievers=[retriever]).retrieve("why is checkout slow?"),
        await index.as_retriever(sub_retrievers=[retriever]).aretrieve("why is checkout slow?"),
    ):
        assert any("pool exhausted" in node.node.get_content() for node in nodes)


def a_store(*relations):
    store = SimplePropertyGraphStore()
    ends = {end for relation in relations for end in (relation.source_id, relation.target_id)}
    store.upsert_nodes([EntityNode(name=name) for name in sorted(ends)])
    store.upsert_relations(list(relations))
    return store


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("sequence", "first"),
        ("sequence", -1),
        ("sequence", [1]),
        ("semantic_class", "because"),
        ("valid_from", "last spring"),
    ],
)
def test_a_property_that_cannot_be_used_is_a_warning_and_the_rest_is_read(name, value):
    said = {name: value, "rationale": "the valve leaks"}
    store = a_store(Relation(label="CAUSES", source_id="a", target_id="b", properties=said))
    bundle = bundle_from_property_graph(store, "a", classes={"CAUSES": "causal"})
    (relation,) = bundle.relations
    assert (relation.rationale, relation.semantic_class) == ("the valve leaks", "causal")
    assert bundle.warnings == (f"relation 'a' --CAUSES--> 'b': {name} {value!r} cannot be used",)


def test_an_interval_turned_round_keeps_its_end_and_a_blank_label_gets_a_name():
    said = {"valid_from": "2026-03-01", "valid_until": "2026-02-01", "sequence": 2.0, "semantic_class": "Causal"}
    store = a_store(Relation(label=" ", source_id="a", target_id="b", properties=said))
    bundle = bundle_from_property_graph(store, "a")
    (relation,) = bundle.relations
    assert (relation.relation_type, relation.sequence, relation.semantic_class) == ("RELATES_TO", 2, "causal")
    assert relation.valid_from is None
    assert relation.valid_until is not None
    assert len(bundle.warnings) == 1


def test_a_blank_id_is_left_out_with_a_warning():
    store = a_store(
        Relation(label="HAS", source_id="a", target_id=" "), Relation(label="HAS", source_id="a", target_id="b")
    )
    bundle = bundle_from_property_graph(store, "a")
    assert {node.node_id for node in bundle.nodes} == {"a", "b"}
    assert "blank id" in bundle.warnings[0]


def test_what_is_explained_is_taken_first_and_what_is_not_taken_is_counted():
    bare = [Relation(label="HAS", source_id="a", target_id=f"n{number}") for number in range(30)]
    cause = Relation(label="CAUSES", source_id="a", target_id="z", properties={"rationale": "the valve leaks"})
    bundle = bundle_from_property_graph(a_store(*bare, cause), "a", classes={"CAUSES": "causal"}, max_nodes=5)
    assert "z" in bundle.nodes_by_id
    assert bundle.unread == {"structural": 27, "nodes": 27}


def test_a_root_that_is_not_there_does_not_hide_the_others():
    store = a_store(Relation(label="CAUSES", source_id="a", target_id="b", properties={"rationale": "it leaks"}))
    found = ContextPGRetriever(store, roots=["gone", "a"]).retrieve("why?")
    assert ["it leaks" in item.node.get_content() for item in found] == [True]


@pytest.mark.parametrize(
    "query",
    [
        "what did paul graham found?",
        "What is Paul Graham's company?",
        "Tell me about PAUL GRAHAM",
        "who wrote “Paul Graham”?",
        "What is Paul Graham’s company?",
    ],
)
def test_a_name_is_found_whatever_its_case_its_possessive_and_its_quotes(query):
    store = SimplePropertyGraphStore()
    store.upsert_nodes([EntityNode(name="Paul Graham"), EntityNode(name="YC")])
    store.upsert_relations([Relation(label="FOUNDED", source_id="Paul Graham", target_id="YC")])
    (found,) = ContextPGRetriever(store).retrieve_from_graph(QueryBundle(query))
    assert found.node.metadata["root_node_id"] == "Paul Graham"


@pytest.mark.parametrize("root", ["", "  ", "nowhere"])
def test_a_root_that_cannot_be_read_is_skipped(root):
    store = SimplePropertyGraphStore()
    store.upsert_nodes([EntityNode(name="a")])
    found = ContextPGRetriever(store, roots=[root, "a"]).retrieve_from_graph(QueryBundle("why?"))
    assert [node.node.metadata["root_node_id"] for node in found] == ["a"]


def test_a_name_that_ends_like_a_possessive_is_found_too():
    store = SimplePropertyGraphStore()
    store.upsert_nodes([EntityNode(name="Miller's")])
    (found,) = ContextPGRetriever(store).retrieve_from_graph(QueryBundle("Is miller's open?"))
    assert found.node.metadata["root_node_id"] == "Miller's"
