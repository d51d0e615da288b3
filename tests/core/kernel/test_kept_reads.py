"""A read that is answered from memory says what a read of the stores would say."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ctx_core import ContextKernel, Node, NodeDetail, Relation
from ctx_core.kernel.kept_reads import KeptReads

IDS = st.sampled_from("abc")
TEXTS = st.sampled_from(("one", "two", "three"))
CHANGES = st.one_of(
    st.builds(lambda i, text: Node(node_id=i, title=text), IDS, TEXTS),
    st.builds(lambda i, text: NodeDetail(node_id=i, detail=text), IDS, TEXTS),
    st.builds(
        lambda a, b, why: Relation(source_node_id=a, target_node_id=b, relation_type="CAUSES", rationale=why),
        IDS,
        IDS,
        TEXTS,
    ),
    st.builds(lambda i: {"operation": "DELETE", "entity_kind": "node", "entity_id": i}, st.sampled_from("bc")),
)


@pytest.fixture(params=["memory", "sqlite"])
def kernel(request, tmp_path):
    url = "memory://" if request.param == "memory" else f"sqlite:///{tmp_path}/context.db"
    with ContextKernel.open(url) as kernel:
        yield kernel


@pytest.mark.parametrize("name", ["memory", "sqlite"])
@settings(max_examples=25)
@given(changes=st.lists(CHANGES, max_size=8))
def test_every_read_sees_every_write(name, tmp_path_factory, changes):
    url = "memory://" if name == "memory" else f"sqlite:///{tmp_path_factory.mktemp('kept')}/context.db"
    with ContextKernel.open(url) as kernel:
        unkept = ContextKernel.over(replace(kernel.stores, state=lambda: None))
        kernel.update_context(root_node_id="a", changes=[Node(node_id="a")])
        for change in changes:
            kernel.update_context(root_node_id="a", changes=[change])
            views = [reader.get_context("a", max_tokens=200) for reader in (kernel, kernel, unkept)]
            assert len({(view.text, view.bundle.content_hash) for view in views}) == 1


def test_what_a_caller_does_to_a_node_does_not_reach_the_next_read(kernel):
    kernel.update_context(root_node_id="a", changes=[Node(node_id="a", properties={"zone": "eu"})])
    for _ in range(3):
        properties = kernel.get_context("a").bundle.root.properties
        assert properties == {"zone": "eu"}
        properties["zone"] = "us"


def test_a_write_that_was_undone_is_not_seen_later(kernel):
    kernel.update_context(root_node_id="a", changes=[Node(node_id="a", title="kept")])

    def write_read_and_fail():
        with kernel.stores.writing():
            kernel.update_context(root_node_id="a", changes=[Node(node_id="a", title="undone")])
            assert kernel.get_context("a").bundle.root.title == "undone"
            raise RuntimeError("undo")

    with pytest.raises(RuntimeError, match="undo"):
        write_read_and_fail()
    assert kernel.get_context("a").bundle.root.title == "kept"
    kernel.update_context(root_node_id="a", changes=[Node(node_id="a", title="newer")])
    assert kernel.get_context("a").bundle.root.title == "newer"


def test_only_the_last_reads_of_one_state_are_kept():
    reads, kept = [], KeptReads(2)
    for state, key in (
        ("1", "a"),
        ("1", "a"),
        ("1", "b"),
        ("1", "c"),
        ("1", "a"),
        ("2", "a"),
        (None, "a"),
        (None, "a"),
    ):
        assert kept.get(state, key, lambda: reads.append((state, key)) or key) == key  # noqa: B023 - called at once
    assert reads == [("1", "a"), ("1", "b"), ("1", "c"), ("1", "a"), ("2", "a"), (None, "a"), (None, "a")]
