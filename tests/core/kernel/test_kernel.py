"""What holds for a kernel beyond the conformance suite: transactions, copies, threads, and the log as a file."""

import pickle
from typing import Any

import pytest

from ctx_core import ContextKernel, Node, UpdateContext
from ctx_core.errors import (
    Conflict,
    InvalidInput,
    InvalidSettings,
    NodeNotFound,
    RevisionConflict,
    StoreUnavailable,
)
from ctx_core.kernel.commands import Change
from ctx_core.kernel.ports import KernelStores
from ctx_core.kernel.projection import Projection
from ctx_core.testing.kernel_scenarios import ROOT, a_story


@pytest.fixture(params=["memory", "sqlite"])
def url(request, tmp_path):
    return "memory://" if request.param == "memory" else f"sqlite:///{tmp_path}/context.db"


@pytest.fixture
def kernel(url):
    with ContextKernel.open(url) as kernel:
        yield kernel


class Broken:
    def __init__(self, store):
        self._store = store

    def write(self, writes):
        raise StoreUnavailable("away")

    def __getattr__(self, name):
        return getattr(self._store, name)


@pytest.mark.parametrize("part", ["graph", "details"])
def test_append_key_and_projection_are_one_transaction(kernel, part):
    stores = kernel.stores
    parts: dict[str, Any] = {name: getattr(stores, name) for name in KernelStores.__dataclass_fields__}
    parts[part] = Broken(parts[part])
    broken = ContextKernel.over(KernelStores(**parts))
    with pytest.raises(StoreUnavailable):
        broken.update_context(root_node_id=ROOT, changes=a_story(), idempotency_key="k")
    assert stores.events.last_position() == 0
    assert list(stores.graph.scan()) == list(stores.details.scan()) == []
    accepted = kernel.update_context(root_node_id=ROOT, changes=a_story(), idempotency_key="k")
    assert (accepted.revision, accepted.is_replay) == (1, False)


def test_a_command_object_and_its_fields_are_the_same(kernel):
    first = kernel.update_context(UpdateContext(root_node_id=ROOT, changes=a_story(), idempotency_key="k"))
    again = kernel.update_context(root_node_id=ROOT, changes=a_story(), idempotency_key="k")
    assert again.event_id == first.event_id
    with pytest.raises(InvalidInput, match="not both"):
        kernel.update_context(UpdateContext(root_node_id=ROOT, changes=a_story()), role="dev")
    with pytest.raises(InvalidInput, match="rolle"):
        kernel.update_context(root_node_id=ROOT, changes=a_story(), rolle="dev")
    with pytest.raises(InvalidInput, match="requested_by"):
        kernel.update_context(root_node_id=ROOT, changes=a_story(), requested_by=7)
    with pytest.raises(InvalidInput, match="dict"):
        kernel.update_context({"root_node_id": ROOT})


def test_an_update_of_nothing_waits_and_says_so(kernel):
    kernel.update_context(root_node_id=ROOT, changes=[Node(node_id=ROOT)])
    late = Change(operation="UPDATE", entity_kind="node", entity_id="n", payload={"status": "done"})
    accepted = kernel.update_context(root_node_id=ROOT, changes=[late])
    assert accepted.warnings == ("UPDATE of node 'n' waits: no such node exists yet",)
    with pytest.raises(NodeNotFound):
        kernel.get_node_detail("n")


def test_an_empty_command_is_a_revision_only_when_asked_for(kernel):
    accepted = kernel.update_context(root_node_id=ROOT, changes=[], allow_empty=True)
    assert (accepted.revision, accepted.warnings) == (1, ("the command changes nothing",))


def test_a_conflict_tells_what_to_expect_next(kernel):
    kernel.update_context(root_node_id=ROOT, changes=a_story())
    with pytest.raises(RevisionConflict) as conflict:
        kernel.update_context(root_node_id=ROOT, changes=a_story(), expected_revision=5)
    assert pickle.loads(pickle.dumps(conflict.value)).actual == 1


def test_a_rebuild_from_the_log_equals_the_live_read_model(kernel):
    for number in range(12):
        kernel.update_context(
            root_node_id=ROOT, role=f"role {number % 3}", changes=[*a_story(), Node(node_id=f"n{number}")]
        )
    kernel.update_context(root_node_id=ROOT, changes=[Change(operation="DELETE", entity_kind="node", entity_id="n3")])
    fresh = ContextKernel.open().stores
    rebuilt = Projection(graph=fresh.graph, details=fresh.details, progress=fresh.progress)
    assert rebuilt.catch_up(kernel.stores.events) == 13
    assert rebuilt.content_hash() == kernel.projection.content_hash()
    assert rebuilt.catch_up(kernel.stores.events) == 0


def test_a_log_moves_to_another_kernel_as_a_file(kernel, tmp_path):
    for number in range(5):
        kernel.update_context(
            root_node_id=ROOT, changes=[*a_story(), Node(node_id=f"n{number}")], idempotency_key=str(number)
        )
    assert kernel.export_log(tmp_path / "log.jsonl") == 5
    with ContextKernel.open(f"sqlite:///{tmp_path}/copy.db") as copy:
        assert copy.import_log(tmp_path / "log.jsonl") == 5
        assert copy.projection.content_hash() == kernel.projection.content_hash()
        assert copy.get_context(ROOT).revision == 5
        again = copy.update_context(root_node_id=ROOT, changes=[*a_story(), Node(node_id="n2")], idempotency_key="2")
        assert (again.is_replay, again.revision) == (True, 3)
        with pytest.raises(Conflict):
            copy.import_log(tmp_path / "log.jsonl")


@pytest.mark.parametrize(
    "harm", [lambda lines: lines[:-1], lambda lines: [*lines[:2], *lines[3:]], lambda lines: lines[1:]]
)
def test_a_damaged_log_changes_nothing(kernel, tmp_path, harm):
    source = ContextKernel.open()
    for number in range(3):
        source.update_context(root_node_id=f"root {number}", changes=[Node(node_id=f"root {number}")])
    path = tmp_path / "log.jsonl"
    source.export_log(path)
    path.write_text("".join(harm(path.read_text().splitlines(keepends=True))))
    with pytest.raises(InvalidInput):
        kernel.import_log(path)
    assert kernel.stores.events.last_position() == 0
    assert list(kernel.stores.graph.scan()) == []


def test_a_kernel_can_be_copied(kernel, url):
    kernel.update_context(root_node_id=ROOT, changes=a_story())
    with pickle.loads(pickle.dumps(kernel)) as copy:
        assert copy.get_context(ROOT).text == kernel.get_context(ROOT).text
        assert copy.update_context(root_node_id=ROOT, changes=a_story()).revision == 2
        assert (kernel.get_context(ROOT).revision == 2) == url.startswith("sqlite")


async def test_every_call_has_an_async_twin(kernel):
    await kernel.aupdate_context(root_node_id=ROOT, changes=a_story())
    assert (await kernel.aget_context(ROOT, depth=1)).bundle == kernel.get_context(ROOT, depth=1).bundle
    assert (await kernel.aget_context_path(ROOT, "fix")).path == (ROOT, "cause", "fix")
    session = await kernel.arehydrate_session(ROOT, roles=["default"], snapshot_ttl_seconds=60)
    assert await kernel.aget_snapshot(session.snapshot_id) is not None
    assert (await kernel.aget_node_detail("cause")).detail is not None


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda kernel: kernel.get_context(" "), "root_node_id"),
        (lambda kernel: kernel.get_context(ROOT, role=""), "role"),
        (lambda kernel: kernel.get_context(ROOT, depth=-1), "depth"),
        (lambda kernel: kernel.get_context(ROOT, direction="up"), "direction"),
        (lambda kernel: kernel.get_context_path(ROOT, ""), "target_node_id"),
        (lambda kernel: kernel.rehydrate_session(ROOT, roles=[]), "roles"),
        (lambda kernel: kernel.rehydrate_session(ROOT, roles="dev"), "roles"),
        (lambda kernel: kernel.rehydrate_session(ROOT, roles=["dev"], snapshot_ttl_seconds=0), "snapshot_ttl_seconds"),
        (lambda kernel: kernel.get_node_detail(""), "node_id"),
    ],
)
def test_bad_questions_are_refused_and_named(kernel, call, says):
    kernel.update_context(root_node_id=ROOT, changes=a_story())
    with pytest.raises(InvalidInput, match=says):
        call(kernel)


def test_a_missing_root_is_not_found_even_if_relations_lead_to_it(kernel):
    kernel.update_context(
        root_node_id=ROOT, changes=[item for item in a_story() if getattr(item, "node_id", "") != "fix"]
    )
    with pytest.raises(NodeNotFound, match="'fix'"):
        kernel.get_context("fix")


@pytest.mark.parametrize("url", ["postgres://host/db", "context.db", "", "redis://host"])
def test_only_known_schemes_open_a_kernel(url):
    with pytest.raises(InvalidSettings, match="sqlite"):
        ContextKernel.open(url)


def test_scopes_must_be_the_same_set(kernel):
    check = kernel.validate_scope(["b", "a", " a ", ""], ["a", "c"])
    assert (check.is_allowed, check.missing, check.extra) == (False, ("b",), ("c",))
    assert check.reason == "missing b; not required c"
    assert kernel.validate_scope(["a"], ["a", "a"]).is_allowed
