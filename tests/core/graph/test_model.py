"""A bundle checks itself, and says the same however it was put together."""

import pickle
from datetime import datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctx_core.errors import InvalidBundle, NodeNotFound
from ctx_core.graph.model import Bundle, Node, NodeDetail, Provenance, Relation, RelationClass
from ctx_core.testing.graphs import bundles

A, B = Node(node_id="a", title="Alarm"), Node(node_id="b", title="Fuse")


def cause(**said):
    return Relation(source_node_id="a", target_node_id="b", relation_type="CAUSED_BY", **said)


@given(bundles(), st.randoms())
def test_insertion_order_and_repetition_do_not_matter(bundle, random):
    def shuffled(items):
        return random.sample([*items, *items[:1]], k=len(items) + len(items[:1]))

    other = Bundle(
        root_node_id=bundle.root_node_id,
        nodes=shuffled(bundle.nodes),
        relations=shuffled(bundle.relations),
        details=shuffled(bundle.details),
    )
    assert other == bundle
    assert other.content_hash == bundle.content_hash


@given(bundles())
def test_round_trip_through_plain_values_and_pickle(bundle):
    assert Bundle.from_dict(bundle.to_dict()) == bundle
    assert pickle.loads(pickle.dumps(bundle)) == bundle


@given(bundles())
def test_the_hash_follows_the_content_and_not_the_revision(bundle):
    values = bundle.to_dict()
    assert Bundle.from_dict({**values, "revision": 7}).content_hash == bundle.content_hash
    extra = {"node_id": "one more"}
    assert Bundle.from_dict({**values, "nodes": [*values["nodes"], extra]}).content_hash != bundle.content_hash


def test_two_relations_of_one_type_between_two_nodes_both_live():
    bundle = Bundle(
        root_node_id="a", nodes=[A, B], relations=[cause(rationale="overload"), cause(rationale="age"), cause()]
    )
    assert len(bundle.relations) == 3


@pytest.mark.parametrize(
    ("build", "culprit"),
    [
        (lambda: Bundle(root_node_id="r", nodes=[A]), "'r'"),
        (lambda: Bundle(root_node_id="a", nodes=[A, Node(node_id="a", title="Other")]), "'a'"),
        (lambda: Bundle(root_node_id="a", nodes=[A], relations=[cause()]), "'b'"),
        (lambda: Bundle(root_node_id="a", nodes=[A], details=[NodeDetail(node_id="z", detail="log")]), "'z'"),
        (
            lambda: Bundle(
                root_node_id="a",
                nodes=[A],
                details=[NodeDetail(node_id="a", detail="one"), NodeDetail(node_id="a", detail="two")],
            ),
            "'a'",
        ),
        (
            lambda: Bundle(
                root_node_id="a",
                nodes=[A, B],
                relations=[cause(relation_id="r1"), cause(relation_id="r1", rationale="age")],
            ),
            "'r1'",
        ),
        (lambda: Bundle.from_dict({"root_node_id": "a", "nodes": [A, "b"]}), "'b'"),
        (lambda: Node(node_id=" "), "node_id"),
        (lambda: Node.from_dict({"node_id": None}), "node_id"),
        (lambda: cause(semantic_class="because"), "known are causal, motivational"),
        (lambda: cause(sequence=-1), "sequence"),
        (lambda: cause(sequence=True), "sequence"),
        (lambda: cause(valid_from="yesterday"), "'yesterday'"),
        (lambda: Provenance(source_kind="robot"), "human, agent"),
        (lambda: Node.from_dict({"node_id": "a", "colour": "red"}), "'colour'"),
        (lambda: Relation.from_dict({"source_node_id": "a"}), "Relation"),
    ],
)
def test_a_broken_invariant_names_the_culprit(build, culprit):
    with pytest.raises(InvalidBundle, match=culprit):
        build()


def test_times_are_parsed_and_zones_kept():
    relation = cause(observed_at="2026-03-01T08:30:00+02:00", valid_until="2026-03-01T06:30:00Z", occurred_at=" ")
    assert relation.observed_at == datetime(2026, 3, 1, 8, 30, tzinfo=timezone(timedelta(hours=2)))
    assert relation.to_dict()["observed_at"] == "2026-03-01T08:30:00+02:00"
    assert relation.observed_at == relation.valid_until
    assert relation.occurred_at is None


def test_what_the_caller_still_holds_cannot_change_a_node():
    labels, properties = ["x"], {"zone": "eu"}
    node = Node(node_id="a", labels=labels, properties=properties)
    labels.append("y")
    properties["zone"] = "us"
    assert (node.labels, node.properties) == (("x",), {"zone": "eu"})
    assert hash(node) == hash(Node(node_id="a", labels=("x",)))


def test_empty_values_stay_out_of_plain_values():
    assert cause(rationale="  ").to_dict() == {
        "source_node_id": "a",
        "target_node_id": "b",
        "relation_type": "CAUSED_BY",
        "semantic_class": "structural",
        "relation_id": cause().relation_id,
    }


def test_parts_may_be_given_as_plain_values():
    node = {"node_id": "a", "provenance": {"source_kind": "human", "source_agent": "Ana"}}
    bundle = Bundle.from_dict({"root_node_id": "a", "nodes": [node]})
    assert bundle.root.provenance == Provenance(source_kind="human", source_agent="Ana")
    assert bundle.node("a") is bundle.root
    with pytest.raises(NodeNotFound):
        bundle.node("b")


def test_classes_are_declared_from_most_to_least_explanatory():
    assert list(RelationClass) == ["causal", "motivational", "evidential", "constraint", "procedural", "structural"]
