"""Conformance suites of the kernel's ports: subclass one, give its fixture, and inherit what every adapter must hold.

```python
class TestMyGraphStore(GraphStoreSuite):
    @pytest.fixture
    def graph(self):
        return MyGraphStore(...)
```

A fixture must give an empty store every time.
"""

# ruff: noqa: D102 - the name of a test says what it shows

from __future__ import annotations

import itertools
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from typing import Any

import pytest

from ctx_core.errors import RevisionConflict
from ctx_core.graph.model import Node, NodeDetail, Relation
from ctx_core.kernel.commands import Aggregate, EntityKind, UpdateContext
from ctx_core.kernel.events import ContextUpdated, compose
from ctx_core.kernel.last_writer_wins import Effect, Write
from ctx_core.kernel.ports import (
    DetailStore,
    Direction,
    EventStore,
    GraphStore,
    Head,
    ProgressStore,
    RecordedEvent,
    SnapshotStore,
    Watermark,
)
from ctx_core.kernel.problems import collect_problems

# Ids that break stores which build names by joining text.
AWKWARD_IDS = ("a.b", "a b", "a*", ">", "a:b", "a/b", "{a}", "ä€😀", "a%2Eb", "x" * 300, "'); DROP TABLE nodes; --")


def an_event(revision: int = 1, *, root: str = "root", role: str = "dev", **fields: Any) -> ContextUpdated:
    """Return an event as accepting a small command would make it."""
    fields.setdefault("changes", [Node(node_id=root, title=f"title {revision}")])
    command = UpdateContext(root_node_id=root, role=role, **fields)
    return compose(command, revision=revision, clock=1_000 + revision)


def a_write(entity_id: str, stamp: str, effect: Effect = Effect.REPLACE, **fields: Any) -> Write:
    """Return the write of a node."""
    return Write(kind=EntityKind.NODE, entity_id=entity_id, stamp=stamp, effect=effect, fields=fields)


def a_relation(source: str, target: str, stamp: str = "1", effect: Effect = Effect.REPLACE, **fields: Any) -> Write:
    """Return the write of a relation whose id is made of its ends."""
    ends = {"source_node_id": source, "target_node_id": target, "relation_type": "LEADS_TO"}
    relation_id = fields.pop("relation_id", f"{source}->{target}")
    return Write(kind=EntityKind.RELATION, entity_id=relation_id, stamp=stamp, effect=effect, fields={**ends, **fields})


class EventStoreSuite:
    """What every event log must hold; give the fixture `events`."""

    def test_keeps_events_in_the_order_of_their_positions(self, events: EventStore) -> None:
        kept = [events.append(an_event(revision)) for revision in (1, 2, 3)]
        assert list(events.read()) == kept
        assert list(events.read(after=kept[0].position)) == kept[1:]
        assert events.last_position() == kept[-1].position
        assert sorted({item.position for item in kept}) == [item.position for item in kept]

    def test_an_empty_log_has_no_head(self, events: EventStore) -> None:
        assert events.head(Aggregate("root", "dev")) == Head()
        assert events.last_position() == 0
        assert list(events.read()) == []

    def test_the_head_is_the_last_event_of_the_aggregate_alone(self, events: EventStore) -> None:
        first = events.append(an_event(1)).event
        events.append(an_event(1, role="ops"))
        events.append(an_event(1, root="other"))
        head = events.head(Aggregate("root", "dev"))
        assert head == Head(revision=1, content_hash=first.data.content_hash, clock=first.clock)

    @pytest.mark.parametrize("revision", [1, 3, 7])
    def test_refuses_any_revision_but_the_next(self, events: EventStore, revision: int) -> None:
        events.append(an_event(1))
        with pytest.raises(RevisionConflict) as conflict:
            events.append(an_event(revision))
        assert (conflict.value.expected, conflict.value.actual) == (revision - 1, 1)
        assert len(list(events.read())) == 1

    def test_finds_an_event_by_the_key_of_its_aggregate(self, events: EventStore) -> None:
        mine = events.append(an_event(1, idempotency_key="k"))
        other = events.append(an_event(1, role="ops", idempotency_key="k"))
        assert events.find(Aggregate("root", "dev"), "k") == mine
        assert events.find(Aggregate("root", "ops"), "k") == other
        assert events.find(Aggregate("root", "dev"), "other") is None

    def test_awkward_ids_never_share_an_aggregate(self, events: EventStore) -> None:
        for root, role in itertools.product(AWKWARD_IDS, ("dev", "a.b")):
            events.append(an_event(1, root=root, role=role, idempotency_key=f"{root} {role}"))
        for root, role in itertools.product(AWKWARD_IDS, ("dev", "a.b")):
            assert events.head(Aggregate(root, role)).revision == 1
            found = events.find(Aggregate(root, role), f"{root} {role}")
            assert found is not None
            assert found.event.aggregate == Aggregate(root, role)

    def test_one_of_many_writers_wins_each_revision(self, events: EventStore) -> None:
        def race(writer: int) -> int:
            try:
                events.append(an_event(1, requested_by=f"writer {writer}"))
            except RevisionConflict:
                return 0
            return 1

        with ThreadPoolExecutor(8) as pool:
            assert sum(pool.map(race, range(8))) == 1
        assert len(list(events.read())) == 1


class GraphStoreSuite:
    """What every graph must hold; give the fixture `graph`."""

    def test_a_node_comes_back_whole(self, graph: GraphStore) -> None:
        node = Node(
            node_id="n",
            node_kind="task",
            title="T",
            summary="S",
            status="open",
            labels=["a"],
            properties={"x": [1, {}]},
        )
        fields = {name: value for name, value in node.to_dict().items() if name != "node_id"}
        graph.write([a_write("n", "1", **fields)])
        assert graph.nodes(["n", "absent"]) == {"n": node}

    def test_a_relation_comes_back_whole_and_once(self, graph: GraphStore) -> None:
        relation = Relation(
            source_node_id="a",
            target_node_id="b",
            relation_type="LEADS_TO",
            semantic_class="causal",
            rationale="because",
            confidence=0.5,
            sequence=3,
            valid_from="2026-01-02T03:04:05+02:00",
            relation_id="r",
        )
        fields = {name: value for name, value in relation.to_dict().items() if name != "relation_id"}
        fields = {name: value for name, value in fields.items() if name not in ("source_node_id", "target_node_id")}
        graph.write([a_write("a", "1"), a_write("b", "1"), a_relation("a", "b", relation_id="r", **fields)])
        around = graph.relations(["a", "b"], direction=Direction.BOTH, limit=9)
        assert around.relations == (relation,)

    def test_an_older_write_never_overwrites_a_newer_state(self, graph: GraphStore) -> None:
        graph.write([a_write("n", "2", title="new")])
        graph.write([a_write("n", "1", title="old")])
        assert graph.nodes(["n"])["n"].title == "new"

    def test_partial_writes_add_up_in_any_order(self, graph: GraphStore) -> None:
        writes = [
            a_write("n", "1", title="one", status="open"),
            a_write("n", "2", Effect.PATCH, title="two"),
            a_write("n", "3", Effect.PATCH, summary="three"),
        ]
        for number, order in enumerate(itertools.permutations(writes)):
            for write in order:
                graph.write([_renamed(write, f"n{number}")])
            assert graph.nodes([f"n{number}"])[f"n{number}"] == Node(
                node_id=f"n{number}", title="two", status="open", summary="three"
            )

    def test_what_was_removed_stays_away_when_an_older_write_comes_late(self, graph: GraphStore) -> None:
        graph.write([a_write("a", "1"), a_write("b", "1")])
        graph.write([a_write("a", "3", Effect.REMOVE)])
        graph.write([a_write("a", "2", title="late")])
        assert set(graph.nodes(["a", "b"])) == {"b"}
        graph.write([a_write("a", "4", title="back")])
        assert graph.nodes(["a"])["a"].title == "back"

    def test_a_relation_waits_for_both_of_its_ends(self, graph: GraphStore) -> None:
        graph.write([a_relation("a", "b")])
        graph.write([a_write("a", "1")])
        assert graph.relations(["a"], direction=Direction.OUT, limit=9).relations == ()
        assert graph.nodes(["a", "b"]).keys() == {"a"}
        graph.write([a_write("b", "1")])
        assert len(graph.relations(["a"], direction=Direction.OUT, limit=9).relations) == 1

    def test_the_relations_of_a_removed_node_go_and_return_with_it(self, graph: GraphStore) -> None:
        graph.write([a_write("a", "1"), a_write("b", "1"), a_relation("a", "b")])
        graph.write([a_write("b", "2", Effect.REMOVE)])
        assert graph.relations(["a"], direction=Direction.OUT, limit=9).relations == ()
        graph.write([a_write("b", "3")])
        assert len(graph.relations(["a"], direction=Direction.OUT, limit=9).relations) == 1

    def test_a_relation_can_be_removed_before_it_arrives(self, graph: GraphStore) -> None:
        graph.write([a_write("a", "1"), a_write("b", "1")])
        removal = Write(kind=EntityKind.RELATION, entity_id="a->b", stamp="2", effect=Effect.REMOVE)
        graph.write([removal])
        graph.write([a_relation("a", "b", "1")])
        assert graph.relations(["a"], direction=Direction.OUT, limit=9).relations == ()

    def test_a_relation_that_changes_its_ends_leaves_the_old_ones(self, graph: GraphStore) -> None:
        graph.write([a_write(node_id, "1") for node_id in "abc"])
        graph.write([a_relation("a", "b", "1", relation_id="r")])
        graph.write([a_relation("c", "b", "2", relation_id="r")])
        assert graph.relations(["a"], direction=Direction.OUT, limit=9).relations == ()
        assert len(graph.relations(["b"], direction=Direction.IN, limit=9).relations) == 1

    def test_two_relations_of_one_type_between_two_nodes_both_live(self, graph: GraphStore) -> None:
        graph.write([a_write("a", "1"), a_write("b", "1")])
        graph.write([a_relation("a", "b", relation_id=name, rationale=name) for name in ("first", "second")])
        found = graph.relations(["a"], direction=Direction.OUT, limit=9).relations
        assert {relation.rationale for relation in found} == {"first", "second"}

    def test_follows_relations_one_way_or_both(self, graph: GraphStore) -> None:
        graph.write([a_write(node_id, "1") for node_id in "abc"])
        graph.write([a_relation("a", "b"), a_relation("b", "c")])
        assert _found(graph, "b") == {
            Direction.OUT: {"b->c"},
            Direction.IN: {"a->b"},
            Direction.BOTH: {"a->b", "b->c"},
            Direction.EXPLAINED: {"b->c"},
        }

    @pytest.mark.parametrize(
        ("said", "is_followed"),
        [
            ({"semantic_class": "causal"}, True),
            ({"semantic_class": "constraint"}, True),
            ({"semantic_class": "procedural", "rationale": "it is the next step"}, True),
            ({"semantic_class": "procedural"}, False),
            ({"semantic_class": "structural", "rationale": "same cluster"}, False),
            ({}, False),
        ],
    )
    def test_what_explains_is_followed_against_its_arrow_and_the_rest_is_not(
        self, graph: GraphStore, said: dict[str, Any], is_followed: bool
    ) -> None:
        graph.write([a_write(node_id, "1") for node_id in "ab"])
        graph.write([a_relation("a", "b", **said)])
        assert _found(graph, "b")[Direction.EXPLAINED] == ({"a->b"} if is_followed else set())
        assert _found(graph, "a")[Direction.EXPLAINED] == {"a->b"}

    def test_a_hub_gives_its_most_explanatory_relations_and_says_that_there_are_more(self, graph: GraphStore) -> None:
        graph.write([a_write("hub", "1"), *(a_write(f"n{number}", "1") for number in range(30))])
        graph.write([a_relation("hub", f"n{number}", sequence=number) for number in range(30)])
        graph.write([a_relation("hub", "n29", "2", sequence=29, semantic_class="causal")])
        around = graph.relations(["hub", "n0"], direction=Direction.OUT, limit=3)
        assert [relation.target_node_id for relation in around.relations] == ["n29", "n0", "n1"]
        assert around.crowded == {("hub", True): {"causal": 1, "structural": 29}}

    def test_what_states_a_reason_is_read_before_what_does_not(self, graph: GraphStore) -> None:
        graph.write([a_write("hub", "1"), *(a_write(f"n{number}", "1") for number in range(4))])
        said: tuple[dict[str, Any], ...] = (
            {"semantic_class": "causal"},
            {},
            {"rationale": "it was seen"},
            {"evidence": "a log"},
        )
        graph.write([a_relation("hub", f"n{number}", **fields) for number, fields in enumerate(said)])
        read = [
            [relation.target_node_id for relation in around.relations]
            for limit in (2, 3)
            for around in [graph.relations(["hub"], direction=Direction.OUT, limit=limit)]
        ]
        assert read == [["n2", "n3"], ["n2", "n3", "n0"]]

    def test_a_question_about_a_moment_sees_what_held_then(self, graph: GraphStore) -> None:
        moved = "2026-03-01T01:00:00+01:00"
        graph.write([a_write("ana", "1"), a_write("old", "1", valid_until="2026-04-01"), a_write("new", "1")])
        graph.write([a_relation("ana", "old", valid_until=moved), a_relation("ana", "new", valid_from=moved)])
        at = {
            day: [
                relation.target_node_id
                for relation in graph.relations(["ana"], direction=Direction.OUT, limit=1, as_of=_day(day)).relations
            ]
            for day in ("2026-02-28", "2026-03-01", "2026-05-01")
        }
        assert at == {"2026-02-28": ["old"], "2026-03-01": ["new"], "2026-05-01": ["new"]}
        assert graph.nodes(["old", "new"], as_of=_day("2026-05-01")).keys() == {"new"}
        assert graph.relations(["old"], direction=Direction.IN, limit=9, as_of=_day("2026-05-01")).relations == ()
        assert len(graph.relations(["ana"], direction=Direction.OUT, limit=9).relations) == 2

    def test_a_stored_value_that_cannot_be_used_is_left_out_and_told(self, graph: GraphStore) -> None:
        graph.write([a_write("a", "1", title="A", labels="x", bogus=1), a_write("b", "1")])
        graph.write([a_relation("a", "b", valid_from="2026-03-01", valid_until="2026-04-01", sequence="first")])
        patch = a_relation("a", "b", "2", Effect.PATCH, valid_until="2026-02-01", semantic_class="cause")
        graph.write([patch])
        with collect_problems() as problems:
            assert graph.nodes(["a"])["a"].title == "A"
            (relation,) = graph.relations(["a"], direction=Direction.OUT, limit=9).relations
        assert (relation.semantic_class, relation.sequence, relation.valid_from) == ("structural", None, None)
        assert relation.valid_until == datetime.fromisoformat("2026-02-01")
        assert any("'a->b'" in problem and "sequence" in problem for problem in problems)

    def test_what_the_caller_holds_counts_against_the_limit(self, graph: GraphStore) -> None:
        graph.write([a_write("hub", "1"), *(a_write(f"n{number}", "1") for number in range(4))])
        graph.write([a_relation("hub", f"n{number}", sequence=number) for number in range(4)])
        around = graph.relations(["hub"], direction=Direction.OUT, limit=2, known=["hub->n0"])
        assert {relation.target_node_id for relation in around.relations} <= {"n0", "n1"}
        assert around.crowded == {("hub", True): {"structural": 4}}

    def test_a_hub_can_be_asked_for_what_leads_to_some_nodes_alone(self, graph: GraphStore) -> None:
        graph.write([a_write("hub", "1"), *(a_write(f"n{number}", "1") for number in range(9))])
        graph.write([a_relation("hub", f"n{number}", sequence=number) for number in range(9)])
        around = graph.relations(["hub"], direction=Direction.BOTH, limit=2, among=["n8", "n7"])
        assert [relation.target_node_id for relation in around.relations] == ["n7", "n8"]
        assert around.crowded == {}

    def test_scans_every_node_and_relation_that_exists(self, graph: GraphStore) -> None:
        graph.write([a_write("a", "1"), a_write("gone", "1"), a_relation("a", "later")])
        graph.write([a_write("gone", "2", Effect.REMOVE)])
        kinds = sorted((type(item).__name__, getattr(item, "node_id", "")) for item in graph.scan())
        assert kinds == [("Node", "a"), ("Relation", "")]

    def test_awkward_ids_and_texts_are_only_text(self, graph: GraphStore) -> None:
        graph.write([a_write(name, "1", title=name, properties={name: name}) for name in AWKWARD_IDS])
        graph.write([a_relation(name, "a.b", rationale=name) for name in AWKWARD_IDS])
        found = graph.nodes(AWKWARD_IDS)
        assert {node_id: node.title for node_id, node in found.items()} == dict(
            zip(AWKWARD_IDS, AWKWARD_IDS, strict=True)
        )
        assert len(graph.relations(AWKWARD_IDS, direction=Direction.OUT, limit=9).relations) == len(AWKWARD_IDS)

    def test_many_writers_of_one_node_leave_the_newest_state(self, graph: GraphStore) -> None:
        def write(number: int) -> None:
            graph.write(
                [
                    a_write("n", f"{number:02d}", title=f"title {number}"),
                    a_write("m", f"{number:02d}", Effect.PATCH if number else Effect.REPLACE, status=f"s{number}"),
                    a_relation("n", "m", f"{number:02d}", rationale=f"because {number}"),
                ]
            )

        with ThreadPoolExecutor(8) as pool:
            list(pool.map(write, reversed(range(24))))
        nodes = graph.nodes(["n", "m"])
        assert (nodes["n"].title, nodes["m"].status) == ("title 23", "s23")
        (relation,) = graph.relations(["n"], direction=Direction.OUT, limit=9).relations
        assert relation.rationale == "because 23"


class DetailStoreSuite:
    """What every store of details must hold; give the fixture `details`."""

    def test_keeps_the_newest_text(self, details: DetailStore) -> None:
        details.write([_detail("n", "2", "new")])
        details.write([_detail("n", "1", "old"), _detail("m", "1", "other\r\n\t€😀")])
        found = details.details(["n", "m", "absent"])
        assert {node_id: detail.detail for node_id, detail in found.items()} == {"n": "new", "m": "other\r\n\t€😀"}

    def test_a_removed_text_stays_away(self, details: DetailStore) -> None:
        removal = Write(kind=EntityKind.DETAIL, entity_id="n", stamp="2", effect=Effect.REMOVE)
        details.write([removal])
        details.write([_detail("n", "1", "late")])
        assert details.details(["n"]) == {}

    def test_names_the_revision_that_wrote_it(self, details: DetailStore) -> None:
        details.write([_detail("n", "1", "text", revision=7)])
        assert details.details(["n"])["n"] == NodeDetail(node_id="n", detail="text", revision=7)

    def test_scans_every_detail_and_takes_awkward_ids(self, details: DetailStore) -> None:
        details.write([_detail(name, "1", name) for name in AWKWARD_IDS])
        assert {item.node_id: item.detail for item in details.scan()} == dict(
            zip(AWKWARD_IDS, AWKWARD_IDS, strict=True)
        )

    def test_many_writers_leave_the_newest_text(self, details: DetailStore) -> None:
        def write(number: int) -> None:
            details.write([_detail("n", f"{number:03d}", f"text {number}")])

        with ThreadPoolExecutor(8) as pool:
            list(pool.map(write, reversed(range(50))))
        assert details.details(["n"])["n"].detail == "text 49"


class ProgressStoreSuite:
    """What every store of progress must hold; give the fixture `progress`."""

    def test_remembers_events_per_consumer(self, progress: ProgressStore) -> None:
        item = _recorded(1)
        progress.record("one", [item])
        ids = [item.event.event_id, "other"]
        assert progress.processed("one", ids) == {item.event.event_id}
        assert progress.processed("two", ids) == set()

    def test_counts_each_event_once_and_never_goes_back(self, progress: ProgressStore) -> None:
        items = [_recorded(revision) for revision in (1, 2, 3)]
        progress.record("one", items[1:])
        progress.record("one", items)
        checkpoint = progress.checkpoint("one")
        assert (checkpoint.position, checkpoint.processed) == (items[-1].position, 3)
        assert checkpoint.updated_at is not None

    def test_a_watermark_stops_in_front_of_a_gap(self, progress: ProgressStore) -> None:
        items = {revision: _recorded(revision) for revision in range(1, 6)}
        aggregate = items[1].event.aggregate
        seen: list[int] = []
        for revision in (2, 1, 5, 4, 3):
            progress.record("one", [items[revision]])
            seen.append(progress.watermark("one", aggregate).revision)
        assert seen == [0, 2, 2, 2, 5]
        last = items[5].event.data.content_hash
        assert progress.watermark("one", aggregate) == Watermark(revision=5, content_hash=last)
        assert progress.watermark("one", Aggregate("root", "else")) == Watermark()

    def test_many_workers_record_at_once(self, progress: ProgressStore) -> None:
        items = [_recorded(revision) for revision in range(1, 41)]
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(lambda item: progress.record("one", [item]), reversed(items)))
        assert progress.checkpoint("one").processed == 40
        assert progress.watermark("one", items[0].event.aggregate).revision == 40


class SnapshotStoreSuite:
    """What every store of snapshots must hold; give the fixture `snapshots`."""

    def test_gives_back_what_it_keeps(self, snapshots: SnapshotStore) -> None:
        snapshots.save("s", '{"text": "ä€😀"}', ttl_seconds=60)
        assert snapshots.load("s") == '{"text": "ä€😀"}'
        assert snapshots.load("other") is None

    def test_forgets_when_the_time_is_out_even_below_a_second(self, snapshots: SnapshotStore) -> None:
        snapshots.save("s", "text", ttl_seconds=0.05)
        time.sleep(0.1)
        assert snapshots.load("s") is None


def _found(graph: GraphStore, node_id: str) -> dict[Direction, set[str]]:
    return {
        way: {relation.relation_id for relation in graph.relations([node_id], direction=way, limit=9).relations}
        for way in Direction
    }


def _day(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(hour=12, tzinfo=UTC)


def _renamed(write: Write, entity_id: str) -> Write:
    return Write(kind=write.kind, entity_id=entity_id, stamp=write.stamp, effect=write.effect, fields=write.fields)


def _detail(node_id: str, stamp: str, text: str, revision: int = 1) -> Write:
    fields = {"detail": text, "revision": revision}
    return Write(kind=EntityKind.DETAIL, entity_id=node_id, stamp=stamp, effect=Effect.REPLACE, fields=fields)


def _recorded(revision: int) -> RecordedEvent:
    return RecordedEvent(position=revision * 10, event=an_event(revision))
