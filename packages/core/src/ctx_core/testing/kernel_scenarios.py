"""The conformance suite of a whole kernel: what callers may rely on, whichever stores it stands on."""

# ruff: noqa: D102 - the name of a test says what it shows

from __future__ import annotations

import random
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

import pytest

from ctx_core.errors import (
    ContentHashConflict,
    IdempotencyConflict,
    NodeNotFound,
    RevisionConflict,
    StoreError,
    StoreUnavailable,
)
from ctx_core.graph.model import Node, NodeDetail, Relation
from ctx_core.kernel.commands import Change
from ctx_core.kernel.erasure import RewritableLog
from ctx_core.kernel.kernel import ContextKernel
from ctx_core.kernel.ports import KernelStores
from ctx_core.kernel.projection import Projection

if TYPE_CHECKING:
    from pathlib import Path

    from ctx_core.kernel.ports import GraphStore

ROOT = "incident"


def a_story() -> list[Any]:
    """Return the changes that tell a small story: an incident, its cause, the fix, and a bystander."""
    return [
        Node(node_id=ROOT, node_kind="incident", title="Checkout is down", status="open"),
        Node(node_id="cause", node_kind="finding", title="The pool ran dry"),
        Node(node_id="fix", node_kind="task", title="Raise the pool size", status="done"),
        Node(node_id="bystander", node_kind="service", title="Mail service"),
        _relation(ROOT, "cause", "causal", "connections leaked after the retry change"),
        _relation("cause", "fix", "motivational", "a larger pool buys a day"),
        _relation("bystander", ROOT, "structural", "same cluster"),
        NodeDetail(node_id="cause", detail="pool exhausted: 200 of 200 in use"),
    ]


def _relation(source: str, target: str, semantic_class: str, rationale: str) -> Relation:
    return Relation(
        source_node_id=source,
        target_node_id=target,
        relation_type="LEADS_TO",
        semantic_class=semantic_class,
        rationale=rationale,
        relation_id=f"{source}->{target}",
    )


class _BrokenOnce:
    """A graph store whose next `failures` writes fail."""

    def __init__(self, graph: Any) -> None:
        self._graph = graph
        self.failures = 1

    def write(self, writes: Any) -> None:
        if self.failures:
            self.failures -= 1
            raise StoreUnavailable("the graph is away")
        self._graph.write(writes)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._graph, name)


class KernelSuite:
    """What every kernel must hold; give the fixture `stores`, empty every time."""

    @pytest.fixture
    def kernel(self, stores: KernelStores) -> ContextKernel:
        """Return a kernel over the stores under test."""
        return ContextKernel.over(stores)

    def test_a_read_shows_what_was_just_written(self, kernel: ContextKernel) -> None:
        accepted = kernel.update_context(root_node_id=ROOT, role="dev", changes=a_story())
        view = kernel.get_context(ROOT, role="dev")
        assert accepted.is_projected
        assert {node.node_id for node in view.bundle.nodes} == {ROOT, "cause", "fix"}
        assert [detail.detail for detail in view.bundle.details] == ["pool exhausted: 200 of 200 in use"]
        assert "connections leaked after the retry change" in view.text

    def test_a_read_names_the_revision_and_hash_that_the_next_command_expects(self, kernel: ContextKernel) -> None:
        kernel.update_context(root_node_id=ROOT, role="dev", changes=a_story())
        for _ in range(3):
            view = kernel.get_context(ROOT, role="dev")
            kernel.update_context(
                root_node_id=ROOT,
                role="dev",
                changes=[Node(node_id=ROOT, title=f"after {view.revision}")],
                expected_revision=view.revision,
                expected_content_hash=view.content_hash,
            )
        view = kernel.get_context(ROOT, role="dev")
        assert (view.revision, view.bundle.root.title) == (4, "after 3")
        assert kernel.get_context(ROOT, role="ops").revision == 0

    def test_a_key_is_accepted_once_and_returns_the_first_outcome(self, kernel: ContextKernel) -> None:
        command = {"root_node_id": ROOT, "role": "dev", "changes": a_story(), "idempotency_key": "k"}
        first = kernel.update_context(**command)
        kernel.update_context(root_node_id=ROOT, role="dev", changes=[Node(node_id=ROOT, title="newer")])
        again = kernel.update_context(**command, expected_revision=99)
        assert (again.revision, again.content_hash, again.event_id) == (1, first.content_hash, first.event_id)
        assert (first.is_replay, again.is_replay) == (False, True)
        assert kernel.get_context(ROOT, role="dev").bundle.root.title == "newer"

    def test_a_key_with_other_content_is_refused_with_both_hashes(self, kernel: ContextKernel) -> None:
        first = kernel.update_context(root_node_id=ROOT, role="dev", changes=a_story(), idempotency_key="k")
        with pytest.raises(IdempotencyConflict) as conflict:
            kernel.update_context(root_node_id=ROOT, role="dev", changes=a_story()[:1], idempotency_key="k")
        assert conflict.value.expected == first.content_hash
        assert kernel.get_context(ROOT, role="dev").revision == 1

    def test_keys_of_two_aggregates_do_not_meet(self, kernel: ContextKernel) -> None:
        for role in ("dev", "ops"):
            accepted = kernel.update_context(
                root_node_id=ROOT, role=role, changes=[Node(node_id=ROOT, title=role)], idempotency_key="k"
            )
            assert not accepted.is_replay

    @pytest.mark.parametrize("expected", [0, 2])
    def test_a_wrong_expected_revision_changes_nothing(self, kernel: ContextKernel, expected: int) -> None:
        kernel.update_context(root_node_id=ROOT, role="dev", changes=a_story())
        with pytest.raises(RevisionConflict) as conflict:
            kernel.update_context(
                root_node_id=ROOT, role="dev", changes=[Node(node_id=ROOT)], expected_revision=expected
            )
        assert (conflict.value.expected, conflict.value.actual) == (expected, 1)
        view = kernel.get_context(ROOT, role="dev")
        assert (view.revision, view.bundle.root.title) == (1, "Checkout is down")

    def test_expecting_revision_zero_means_must_be_new(self, kernel: ContextKernel) -> None:
        accepted = kernel.update_context(root_node_id=ROOT, role="dev", changes=a_story(), expected_revision=0)
        assert accepted.revision == 1

    def test_a_wrong_content_hash_is_refused_even_before_the_first_event(self, kernel: ContextKernel) -> None:
        command = {"root_node_id": ROOT, "role": "dev", "changes": a_story(), "expected_content_hash": "0" * 64}
        with pytest.raises(ContentHashConflict):
            kernel.update_context(**command)
        kernel.update_context(root_node_id=ROOT, role="dev", changes=a_story())
        with pytest.raises(ContentHashConflict):
            kernel.update_context(**command)
        assert kernel.get_context(ROOT, role="dev").revision == 1

    def test_every_operation_projects(self, kernel: ContextKernel) -> None:
        def change(operation: str, kind: str, entity_id: str, **payload: Any) -> None:
            item = Change(operation=operation, entity_kind=kind, entity_id=entity_id, payload=payload)
            kernel.update_context(root_node_id=ROOT, role="dev", changes=[item])

        ends = {"source_node_id": ROOT, "target_node_id": "n", "relation_type": "HAS"}
        change("CREATE", "node", ROOT, title="root")
        change("CREATE", "node", "n", title="old", status="open")
        change("UPSERT", "relation", "r", **ends, rationale="first")
        change("CREATE", "detail", "n", detail="text")
        change("UPDATE", "node", "n", title="new")
        change("UPDATE", "relation", "r", rationale="second")
        change("UPDATE", "detail", "n", detail="other text")
        view = kernel.get_context(ROOT, role="dev")
        assert view.bundle.node("n") == Node(node_id="n", title="new", status="open")
        assert [relation.rationale for relation in view.bundle.relations] == ["second"]
        assert [(detail.detail, detail.revision) for detail in view.bundle.details] == [("other text", 7)]
        change("DELETE", "detail", "n")
        change("DELETE", "relation", "r")
        assert kernel.get_node_detail("n").detail is None
        assert [node.node_id for node in kernel.get_context(ROOT, role="dev").bundle.nodes] == [ROOT]
        change("DELETE", "node", "n")
        with pytest.raises(NodeNotFound):
            kernel.get_node_detail("n")

    def test_depth_and_direction_bound_what_is_read(self, kernel: ContextKernel) -> None:
        kernel.update_context(root_node_id=ROOT, role="dev", changes=a_story())

        def ids(**options: Any) -> set[str]:
            return {node.node_id for node in kernel.get_context(ROOT, role="dev", **options).bundle.nodes}

        assert ids(depth=1) == {ROOT, "cause"}
        assert ids(direction="in") == {ROOT, "bystander"}
        assert ids(direction="both") == {ROOT, "cause", "fix", "bystander"}

    def test_a_root_that_others_point_at_is_explained_by_them(self, kernel: ContextKernel) -> None:
        kernel.update_context(root_node_id=ROOT, role="dev", changes=a_story())
        assert "connections leaked after the retry change" in kernel.get_context("cause", role="dev").text
        outward = kernel.get_context("cause", role="dev", direction="out")
        assert {node.node_id for node in outward.bundle.nodes} == {"cause", "fix"}

    def test_limits_are_arguments_and_what_was_not_read_is_counted(self, kernel: ContextKernel) -> None:
        parts = [Node(node_id=f"n{number:02d}", title=f"Part {number}") for number in range(30)]
        changes = [Node(node_id=ROOT), *parts]
        changes += [_relation(ROOT, part.node_id, "structural", "") for part in parts]
        changes += [_relation("n29", "n28", "causal", "the valve leaks"), _relation(ROOT, "n29", "causal", "it is wet")]
        kernel.update_context(root_node_id=ROOT, role="dev", changes=changes)
        crowded = kernel.get_context(ROOT, role="dev", max_relations=3)
        assert (crowded.crowded, crowded.is_cut) == ((ROOT,), True)
        assert crowded.unread == {"structural": 27}
        assert {"it is wet", "the valve leaks"} <= {relation.rationale for relation in crowded.bundle.relations}
        small = kernel.get_context(ROOT, role="dev", max_nodes=3)
        assert {node.node_id for node in small.bundle.nodes} == {ROOT, "n29", "n28"}
        assert small.unread == {"structural": 28, "nodes": 28}
        assert small.rendered.omitted["nodes"] == 28
        everything = kernel.get_context(ROOT, role="dev")
        assert (everything.is_cut, everything.unread) == (False, {})

    def test_a_question_about_a_moment_is_answered_with_what_held_then(self, kernel: ContextKernel) -> None:
        moved = "2026-03-01T00:00:00Z"
        kernel.update_context(
            root_node_id="ana",
            changes=[
                Node(node_id="ana"),
                Node(node_id="madrid"),
                Node(node_id="lisbon", valid_from="2020-01-01"),
                replace(_relation("ana", "madrid", "evidential", "she said so"), valid_until=moved),
                replace(_relation("ana", "lisbon", "evidential", "she moved"), valid_from=moved),
            ],
        )
        cities = {
            as_of: sorted(node.node_id for node in kernel.get_context("ana", as_of=as_of).bundle.nodes)[1:]
            for as_of in ("2026-02-28", "2026-03-01", None)
        }
        assert cities == {"2026-02-28": ["madrid"], "2026-03-01": ["lisbon"], None: ["lisbon", "madrid"]}
        assert kernel.get_context("ana").superseded == {"ana->madrid": "ana->lisbon"}
        assert kernel.get_context_path("ana", "madrid", as_of=moved).fallback is not None
        session = kernel.rehydrate_session("ana", roles=["default"], as_of="2026-01-01")
        assert "lisbon" not in session.contexts["default"].bundle.nodes_by_id
        with pytest.raises(NodeNotFound):
            kernel.get_node_detail("lisbon", as_of="2019-12-31")

    def test_an_update_that_turns_an_interval_round_breaks_no_read(self, kernel: ContextKernel) -> None:
        relation = replace(_relation(ROOT, "cause", "causal", "it leaked"), valid_from="2026-03-01")
        change = Change(
            operation="UPDATE",
            entity_kind="relation",
            entity_id=f"{ROOT}->cause",
            payload={"valid_until": "2026-02-01"},
        )
        kernel.update_context(root_node_id=ROOT, changes=[*a_story()[:2], relation])
        kernel.update_context(root_node_id=ROOT, changes=[change])
        view = kernel.get_context(ROOT)
        assert [relation.valid_from for relation in view.bundle.relations] == [None]
        assert any("valid_from" in warning for warning in view.warnings)

    def test_a_path_leads_to_its_target_and_shows_what_lies_below(self, kernel: ContextKernel) -> None:
        below = [Node(node_id="below", title="Below"), _relation("fix", "below", "structural", "part of it")]
        kernel.update_context(root_node_id=ROOT, role="dev", changes=[*a_story(), *below])
        view = kernel.get_context_path(ROOT, "fix", role="dev")
        assert view.path == (ROOT, "cause", "fix")
        assert {node.node_id for node in view.bundle.nodes} == {ROOT, "cause", "fix", "below"}
        assert view.fallback is None

    def test_without_a_path_the_answer_says_what_it_is_instead(self, kernel: ContextKernel) -> None:
        kernel.update_context(root_node_id=ROOT, role="dev", changes=a_story())
        view = kernel.get_context_path("fix", "cause", role="dev")
        assert view.bundle.root_node_id == "cause"
        assert view.fallback is not None
        assert "no path" in view.fallback
        with pytest.raises(NodeNotFound):
            kernel.get_context_path(ROOT, "nowhere", role="dev")

    def test_a_session_shows_each_role_and_can_be_read_back(self, kernel: ContextKernel) -> None:
        kernel.update_context(root_node_id=ROOT, role="dev", changes=a_story())
        session = kernel.rehydrate_session(ROOT, roles=["dev", "ops"], snapshot_ttl_seconds=60)
        assert {role: view.revision for role, view in session.contexts.items()} == {"dev": 1, "ops": 0}
        assert session.snapshot_id is not None
        snapshot = kernel.get_snapshot(session.snapshot_id)
        assert snapshot is not None
        assert snapshot.bundle == session.contexts["dev"].bundle
        assert snapshot.texts == {role: view.text for role, view in session.contexts.items()}
        assert kernel.get_snapshot("snapshot-unknown") is None

    def test_a_projection_that_failed_is_made_up_for_by_the_next_read(self, stores: KernelStores) -> None:
        graph = _BrokenOnce(stores.graph)
        graph.failures = 0
        kernel = ContextKernel(
            events=stores.events,
            graph=cast("GraphStore", graph),
            details=stores.details,
            progress=stores.progress,
            snapshots=stores.snapshots,
        )
        kernel.update_context(root_node_id=ROOT, changes=a_story())
        graph.failures = 1
        with pytest.raises(StoreUnavailable):
            kernel.update_context(root_node_id=ROOT, changes=[Node(node_id=ROOT, title="second")])
        other = ContextKernel(
            events=stores.events,
            graph=stores.graph,
            details=stores.details,
            progress=stores.progress,
            snapshots=stores.snapshots,
        )
        view = other.get_context(ROOT)
        assert (view.revision, view.bundle.root.title) == (2, "second")
        accepted = kernel.update_context(
            root_node_id=ROOT, changes=[Node(node_id=ROOT, title="third")], expected_revision=view.revision
        )
        assert (accepted.revision, kernel.get_context(ROOT).revision) == (3, 3)

    def test_a_read_goes_on_while_what_it_lacks_cannot_be_projected(self, stores: KernelStores) -> None:
        graph = _BrokenOnce(stores.graph)
        graph.failures = 0
        kernel = ContextKernel(
            events=stores.events,
            graph=cast("GraphStore", graph),
            details=stores.details,
            progress=stores.progress,
            snapshots=stores.snapshots,
        )
        kernel.update_context(root_node_id=ROOT, changes=a_story())
        graph.failures = 2
        with pytest.raises(StoreUnavailable):
            kernel.update_context(root_node_id=ROOT, changes=[Node(node_id=ROOT, title="second")])
        view = kernel.get_context(ROOT)
        assert view.revision == 1
        assert any("the graph is away" in warning for warning in view.warnings)
        assert kernel.get_context(ROOT).revision == 2

    def test_a_replay_projects_what_was_never_projected(self, stores: KernelStores) -> None:
        broken = KernelStores(
            events=stores.events,
            graph=cast("GraphStore", _BrokenOnce(stores.graph)),
            details=stores.details,
            progress=stores.progress,
            snapshots=stores.snapshots,
            writing=stores.writing,
            reading=stores.reading,
        )
        kernel = ContextKernel.over(broken)
        command = {"root_node_id": ROOT, "role": "dev", "changes": a_story(), "idempotency_key": "k"}
        with pytest.raises(StoreUnavailable):
            kernel.update_context(**command)
        assert kernel.update_context(**command).revision == 1
        assert kernel.get_context(ROOT, role="dev").revision == 1

    def test_what_is_exported_without_a_node_says_nothing_of_it(self, kernel: ContextKernel, tmp_path: Path) -> None:
        accepted = kernel.update_context(root_node_id=ROOT, changes=a_story())
        path = tmp_path / "log.jsonl"
        assert kernel.export_log(path, without=["cause"]) == 1
        log = path.read_text(encoding="utf-8")
        assert all(word not in log for word in ("pool ran dry", "connections leaked", "buys a day", "200 of 200"))
        with ContextKernel.open("memory://") as copy:
            copy.import_log(path)
            view = copy.get_context(ROOT)
            assert {node.node_id for node in view.bundle.nodes} == {ROOT}
            assert (view.revision, view.content_hash) == (1, accepted.content_hash)

    def test_erasing_a_node_reaches_the_log_or_says_how(self, kernel: ContextKernel) -> None:
        command = {"root_node_id": ROOT, "changes": a_story(), "idempotency_key": "k"}
        kernel.update_context(**command)
        if not isinstance(kernel.stores.events, RewritableLog):
            with pytest.raises(StoreError, match="export_log"):
                kernel.erase_nodes(["cause"], root_node_id=ROOT)
            return
        kernel.erase_nodes(["cause"], root_node_id=ROOT)
        log = b"".join(item.event.to_json() for item in kernel.stores.events.read())
        assert all(word not in log for word in (b"pool ran dry", b"connections leaked", b"buys a day", b"200 of 200"))
        assert {node.node_id for node in kernel.get_context(ROOT).bundle.nodes} == {ROOT}
        assert kernel.update_context(**command).is_replay
        with ContextKernel.open("memory://") as rebuilt:
            rebuilt.projection.catch_up(kernel.stores.events)
            assert rebuilt.projection.content_hash() == kernel.projection.content_hash()

    def test_eight_writers_on_one_aggregate_lose_no_update(self, kernel: ContextKernel) -> None:
        def write(number: int) -> int:
            node = Node(node_id=f"n{number}", title=str(number))
            return kernel.update_context(root_node_id=ROOT, role="dev", changes=[node]).revision

        with ThreadPoolExecutor(8) as pool:
            revisions = list(pool.map(write, range(40)))
        assert sorted(revisions) == list(range(1, 41))
        assert len(kernel.stores.graph.nodes([f"n{number}" for number in range(40)])) == 40

    def test_any_order_with_repetitions_gives_the_same_read_model(self, stores: KernelStores) -> None:
        source = ContextKernel.open("memory://")
        source.update_context(root_node_id=ROOT, role="dev", changes=a_story())
        for number in range(30):
            changes = [
                Change(operation="UPDATE", entity_kind="node", entity_id=ROOT, payload={"summary": f"step {number}"}),
                Node(node_id=f"n{number % 7}", title=f"title {number}"),
                _relation(ROOT, f"n{number % 7}", "causal", f"because {number}"),
                NodeDetail(node_id=f"n{number % 5}", detail=f"text {number}"),
                Change(operation="DELETE", entity_kind="node", entity_id=f"n{(number + 3) % 7}"),
            ]
            source.update_context(root_node_id=ROOT, role=f"role {number % 3}", changes=changes)
        events = list(source.stores.events.read())
        delivered = [*events, *events[::3]]
        random.Random(7).shuffle(delivered)  # noqa: S311 - the same disorder every time
        projection = Projection(graph=stores.graph, details=stores.details, progress=stores.progress)
        for start in range(0, len(delivered), 4):
            projection.apply(delivered[start : start + 4])
        assert projection.content_hash() == source.projection.content_hash()
        assert projection.progress.checkpoint(projection.consumer).processed == len(events)
