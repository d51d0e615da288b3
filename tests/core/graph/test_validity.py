"""Valid time: what holds at a moment, and what took the place of what."""

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctx_core import Bundle, Node, Relation, render
from ctx_core.errors import InvalidBundle, InvalidInput
from ctx_core.graph.validity import find_successors, is_valid_at, parse_moment

MOMENTS = st.datetimes(
    min_value=datetime.fromisoformat("2020-01-01"),
    max_value=datetime.fromisoformat("2030-01-01"),
    timezones=st.sampled_from([UTC, timezone(timedelta(hours=5, minutes=30)), None]),
)


def lives_in(city, **said):
    return Relation(source_node_id="ana", relation_type="LIVES_IN", target_node_id=city, relation_id=city, **said)


@given(MOMENTS, MOMENTS, MOMENTS)
def test_an_interval_holds_from_its_start_until_just_before_its_end(one, other, moment):
    start, end = sorted((one, other), key=parse_moment)
    relation = lives_in("madrid", valid_from=start, valid_until=end)
    expected = parse_moment(start) <= parse_moment(moment) < parse_moment(end)
    assert is_valid_at(relation, moment) == expected
    node = Node(node_id="n", valid_from=start.isoformat(), valid_until=end.isoformat())
    assert is_valid_at(node, moment) == expected


def test_an_open_end_holds_for_ever():
    assert is_valid_at(lives_in("madrid"), datetime(1900, 1, 1, tzinfo=UTC))
    assert is_valid_at(lives_in("madrid", valid_from="2026-01-01"), parse_moment("2900-01-01"))
    assert not is_valid_at(lives_in("madrid", valid_until="2026-01-01"), parse_moment("2026-01-01"))


@pytest.mark.parametrize("build", [lambda **said: lives_in("madrid", **said), lambda **said: Node(node_id="n", **said)])
def test_an_interval_that_ends_before_it_starts_is_refused_and_named(build):
    with pytest.raises(InvalidBundle, match=r"valid_until 2026-02-01.* before valid_from 2026-03-01"):
        build(valid_from="2026-03-01", valid_until="2026-02-01T00:00:00Z")


def test_what_starts_when_another_ends_took_its_place():
    moved = "2026-03-01T00:00:00Z"
    relations = [
        lives_in("madrid", valid_until=moved),
        lives_in("lisbon", valid_from="2026-03-01T01:00:00+01:00", valid_until="2026-05-01"),
        lives_in("porto", valid_from="2026-06-01"),
    ]
    assert find_successors(relations) == {"madrid": "lisbon"}


@pytest.mark.parametrize("value", ["soon", 12, None])
def test_what_is_no_time_is_refused(value):
    with pytest.raises(InvalidInput, match="as_of must be a datetime"):
        parse_moment(value)


def test_what_was_never_read_counts_as_left_out():
    bundle = Bundle(root_node_id="a", nodes=[Node(node_id="a")], unread={"causal": 2, "structural": 3, "nodes": 4})
    shown = render(bundle)
    assert shown.omitted == {"causal": 2, "structural": 3, "nodes": 4}
    assert shown.text.endswith("Left out: 4 nodes, 5 relations (3 structural)")
    assert Bundle.from_dict(bundle.to_dict()).unread == bundle.unread
