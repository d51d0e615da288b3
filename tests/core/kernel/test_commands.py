"""A command is checked before any store sees it, and its hash is of what it says and nothing else."""

import pickle
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctx_core import Bundle, ContextKernel
from ctx_core.errors import InvalidInput
from ctx_core.graph.model import Node, NodeDetail, Relation
from ctx_core.kernel.commands import Change, UpdateContext, as_change

RELATION: dict[str, Any] = {"source_node_id": "a", "target_node_id": "b", "relation_type": "LEADS_TO"}


def a_command(*changes, **fields):
    return UpdateContext(root_node_id="root", changes=changes or [Node(node_id="root")], **fields)


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"root_node_id": " "}, "root_node_id"),
        ({"role": ""}, "role"),
        ({"changes": []}, "changes is empty"),
        ({"idempotency_key": " "}, "idempotency_key"),
        ({"expected_revision": -1}, "expected_revision"),
        ({"changes": [{"entity_kind": "nodes", "entity_id": "n"}]}, "unknown entity kind 'nodes'"),
        ({"changes": [{"entity_kind": "node", "entity_id": "n", "operation": "MERGE"}]}, "unknown operation 'MERGE'"),
        ({"changes": [{"entity_kind": "node", "entity_id": ""}]}, "entity_id"),
        ({"changes": [{"entity_kind": "node", "entity_id": "n", "payload": {"titel": "x"}}]}, "titel"),
        ({"changes": [{"entity_kind": "node", "entity_id": "n", "payload": {"node_id": "m"}}]}, "'m'"),
        ({"changes": [{"entity_kind": "relation", "entity_id": "r", "payload": {}}]}, "Relation"),
        ({"changes": [{"entity_kind": "detail", "entity_id": "n", "payload": {}}]}, "no 'detail'"),
        ({"changes": [{"entity_kind": "node", "entity_id": "n", "payload_json": "{"}]}, "not JSON"),
        ({"changes": [{"entity_kind": "node", "entity_id": "n", "kind": "x"}]}, "cannot be read"),
        ({"changes": ["node"]}, "not str"),
        ({"occurred_at": "soon"}, "occurred_at"),
        ({"occurred_at": 5}, "occurred_at"),
        ({"root_node_id": "a\0b"}, "no store can keep"),
        ({"root_node_id": "a\ud800"}, "no store can keep"),
    ],
)
def test_bad_input_is_refused_and_named(fields, says):
    values: dict[str, Any] = {"root_node_id": "root", "changes": [Node(node_id="root")], **fields}
    with pytest.raises(InvalidInput, match=says):
        UpdateContext(**values)


@pytest.mark.parametrize("value", [float("nan"), "half \ud83d"])
def test_values_that_no_store_can_keep_are_refused(value):
    command = a_command(Node(node_id="n", properties={"x": value}))
    with pytest.raises(InvalidInput, match="payload"):
        _ = command.content_hash


@pytest.mark.parametrize("levels", [150, 900, 20_000])
def test_a_payload_that_is_nested_too_deep_is_refused(levels):
    value: Any = "core"
    for _ in range(levels):
        value = [value]
    with pytest.raises(InvalidInput, match="nested"):
        a_command(Node(node_id="n", properties={"x": value}))


def test_parts_of_a_graph_stand_for_their_upsert():
    relation = Relation(**RELATION, rationale="because")
    changes = [
        as_change(item) for item in (Node(node_id="n", title="T"), relation, NodeDetail(node_id="n", detail="d"))
    ]
    assert [(change.operation, change.entity_kind, change.entity_id) for change in changes] == [
        ("UPSERT", "node", "n"),
        ("UPSERT", "relation", relation.relation_id),
        ("UPSERT", "detail", "n"),
    ]
    assert changes[1].payload["rationale"] == "because"


def test_a_relation_without_an_id_is_known_by_its_ends_and_type():
    first = Change(entity_kind="relation", payload={**RELATION, "rationale": "one"})
    second = Change(entity_kind="relation", payload={**RELATION, "rationale": "two"})
    other = Change(entity_kind="relation", payload={**RELATION, "relation_type": "BLOCKS"})
    assert first.entity_id == second.entity_id != other.entity_id
    assert Change(operation="DELETE", entity_kind="relation", payload=RELATION).entity_id == first.entity_id


def test_an_update_names_only_the_fields_that_change():
    change = Change(operation="update", entity_kind="node", entity_id="n", payload={"title": "new", "summary": None})
    assert change.payload == {"title": "new", "summary": None}


@pytest.mark.parametrize("text", ["", "ab", "a"])
def test_content_that_only_reads_alike_has_another_hash(text):
    one = a_command(Change(entity_kind="node", entity_id="ab", payload={"title": f"c{text}"}))
    two = a_command(Change(entity_kind="node", entity_id="a", payload={"title": f"bc{text}"}))
    assert one.content_hash != two.content_hash


def test_reasons_and_scopes_are_part_of_the_hash():
    plain = a_command(Change(entity_kind="node", entity_id="n"))
    reason = a_command(Change(entity_kind="node", entity_id="n", reason="asked for"))
    scoped = a_command(Change(entity_kind="node", entity_id="n", scopes=["ops"]))
    assert len({plain.content_hash, reason.content_hash, scoped.content_hash}) == 3


@given(st.dictionaries(st.text("abc", min_size=1), st.integers() | st.text("xyz")))
def test_the_order_of_keys_does_not_change_the_hash(properties):
    backwards = dict(reversed(properties.items()))
    one, two = (a_command(Node(node_id="n", properties=values)) for values in (properties, backwards))
    assert one.content_hash == two.content_hash


def test_commands_are_plain_values():
    command = a_command(idempotency_key="k")
    assert pickle.loads(pickle.dumps(command)) == command
    changes = [{"entity_kind": "node", "entity_id": "n", "payload": {"title": "x"}}]
    UpdateContext(root_node_id="root", changes=changes)
    assert changes == [{"entity_kind": "node", "entity_id": "n", "payload": {"title": "x"}}]


@pytest.mark.parametrize(
    "changes",
    [
        [Node(node_id="x" * 10_000)],
        [Relation(source_node_id="a", target_node_id="ä" * 2_001, relation_type="HAS", relation_id="r")],
        [NodeDetail(node_id="x" * 10_000, detail="text")],
        [{"operation": "DELETE", "entity_kind": "relation", "entity_id": "x" * 10_000}],
    ],
)
def test_an_id_that_no_index_can_hold_is_refused_before_the_log_takes_it(changes):
    with ContextKernel.open() as kernel:
        with pytest.raises(InvalidInput, match="bytes, and at most 4000 can be indexed"):
            kernel.update_context(root_node_id="a", changes=changes)
        with pytest.raises(InvalidInput, match="root_node_id"):
            kernel.update_context(root_node_id="x" * 10_000, changes=[Node(node_id="a")])
        assert kernel.stores.events.last_position() == 0


def test_a_command_with_too_many_changes_says_how_to_split_it():
    with pytest.raises(InvalidInput, match=r"10001 changes .* ContextKernel\.load"):
        UpdateContext(root_node_id="a", changes=[Node(node_id="a")] * 10_001)


def test_a_load_is_split_into_commands_and_can_be_sent_again():
    changes = [Node(node_id="hub"), *(Node(node_id=f"n{number}") for number in range(10_050))]
    with ContextKernel.open() as kernel:
        first = kernel.load(changes, root_node_id="hub", idempotency_key="import")
        again = kernel.load(changes, root_node_id="hub", idempotency_key="import")
        assert [(accepted.revision, accepted.is_replay) for accepted in first] == [(1, False), (2, False)]
        assert [(accepted.revision, accepted.is_replay) for accepted in again] == [(1, True), (2, True)]
        assert len(kernel.stores.graph.nodes([node.node_id for node in changes])) == 10_051


def test_a_load_needs_a_root_unless_it_is_a_bundle():
    with ContextKernel.open() as kernel:
        with pytest.raises(InvalidInput, match="root_node_id is missing"):
            kernel.load([Node(node_id="a")])
        kernel.load(Bundle(root_node_id="a", nodes=[Node(node_id="a", title="A")]), role="dev")
        assert kernel.get_context("a", role="dev").revision == 1
