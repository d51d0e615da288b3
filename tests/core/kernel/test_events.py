"""Events are read and written as their published schema says, and that schema only grows."""

import importlib.util
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctx_core import Node, UpdateContext
from ctx_core.errors import InvalidInput
from ctx_core.kernel.commands import Aggregate
from ctx_core.kernel.events import Clock, aggregate_id, compose, event_id_of, parse_event

GENERATOR = Path(__file__).parents[3] / "docs" / "reference" / "events" / "generate.py"


@pytest.fixture(scope="module")
def generate() -> Any:
    spec = importlib.util.spec_from_file_location("generate_events", GENERATOR)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def an_event(**fields):
    command = UpdateContext(
        root_node_id="root", changes=[Node(node_id="n", properties={"deep": [{"x": None}]})], **fields
    )
    return compose(command, revision=1, clock=5)


def test_the_published_schema_is_what_the_code_writes(generate, capsys):
    assert generate.main(["--check"]) == 0, capsys.readouterr().out
    schema = json.loads(generate.SCHEMA.read_text())
    validation = pytest.importorskip("jsonschema")
    validation.Draft202012Validator(schema).validate(json.loads(an_event(idempotency_key="k").to_json()))


def test_the_check_tells_a_breaking_change_from_an_addition(generate):
    schema = generate.schema()
    grown = json.loads(json.dumps(schema))
    grown["$defs"]["ContextUpdatedData"]["properties"]["tenant"] = {"type": "string"}
    assert list(generate.breaks(schema, grown)) == []
    assert list(generate.breaks(grown, schema)) == ["ContextUpdatedData.tenant is gone"]
    schema["properties"]["clock"] = {"type": "string"}
    schema["required"].remove("event_id")
    assert list(generate.breaks(grown, schema))[:2] == [
        "ContextUpdated.clock changed its shape",
        "ContextUpdated.event_id may be missing",
    ]


def test_an_event_comes_back_as_it_was():
    event = an_event(requested_by="someone")
    assert parse_event(event.to_json()) == event


def test_fields_of_a_later_minor_version_are_skipped_and_a_later_major_one_is_refused():
    body = json.loads(an_event().to_json())
    assert parse_event(json.dumps({**body, "schema_version": "1.7", "tenant": "x"})).event_id == body["event_id"]
    with pytest.raises(InvalidInput, match="schema_version"):
        parse_event(json.dumps({**body, "schema_version": "2.0"}))


@pytest.mark.parametrize("field", ["event_id", "clock", "data", "aggregate_id"])
def test_what_is_wrong_is_named_and_content_is_not_quoted(field):
    body = json.loads(an_event(requested_by="private-name").to_json())
    del body[field]
    with pytest.raises(InvalidInput, match=field) as error:
        parse_event(json.dumps(body))
    assert "private-name" not in str(error.value)


def test_one_key_makes_one_event_id_in_its_aggregate():
    def command(**fields: Any) -> UpdateContext:
        values = {"root_node_id": "a", "changes": [Node(node_id="n")], "idempotency_key": "k", **fields}
        return UpdateContext(**values)

    assert event_id_of(command()) == event_id_of(command(changes=[Node(node_id="m")]))
    others = [
        command(role="ops"),
        command(root_node_id="b"),
        command(idempotency_key="l"),
        command(idempotency_key=None),
    ]
    assert len({event_id_of(item) for item in [command(), *others]}) == 5


@given(*[st.text("ab./% ", min_size=1)] * 4)
def test_two_aggregates_never_share_an_id(root, role, other_root, other_role):
    one, two = Aggregate(root, role), Aggregate(other_root, other_role)
    assert (aggregate_id(one) == aggregate_id(two)) == (one == two)


def test_a_clock_never_stands_still_and_follows_what_it_is_told():
    clock = Clock()
    ticks = [clock.tick() for _ in range(1000)]
    assert ticks == sorted(set(ticks))
    ahead = ticks[-1] + 10**12
    assert clock.tick(after=ahead) > ahead
    assert clock.tick() > ahead + 1


def test_changes_keep_their_order_however_many_an_event_has():
    event = compose(UpdateContext(root_node_id="a", changes=[Node(node_id="a")]), revision=1, clock=1)
    stamps = [event.stamp(index) for index in (0, 9, 9_999, 10_000, 99_999, 100_000)]
    assert stamps == sorted(stamps)
