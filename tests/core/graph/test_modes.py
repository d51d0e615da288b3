"""AUTO follows its four signals, explains itself, and drops nothing that fits."""

import pytest

from ctx_core.graph.model import Bundle, Node, Relation
from ctx_core.graph.modes import Endpoint, RehydrationMode, resolve_mode
from ctx_core.graph.render import render

REASONS, RESUME = RehydrationMode.REASON_PRESERVING, RehydrationMode.RESUME_FOCUSED


def graph(nodes, *, causal, of):
    ids = [f"n{n}" for n in range(nodes)]
    relations = [
        Relation(
            source_node_id="n0",
            target_node_id=ids[n % nodes],
            relation_type=f"T{n}",
            semantic_class="causal" if n < causal else "constraint",
        )
        for n in range(of)
    ]
    return Bundle(root_node_id="n0", nodes=[Node(node_id=node_id) for node_id in ids], relations=relations)


@pytest.mark.parametrize(
    ("budget", "nodes", "causal", "how", "mode"),
    [
        (None, 20, 0, {}, REASONS),
        (600, 20, 19, {}, RESUME),
        (600, 20, 20, {}, REASONS),
        (599, 20, 49, {}, RESUME),
        (599, 20, 50, {}, REASONS),
        (1199, 20, 49, {"focus": "n1"}, RESUME),
        (1200, 20, 49, {"focus": "n1"}, REASONS),
        (1199, 20, 49, {"endpoint": Endpoint.FOCUSED_PATH}, RESUME),
        (300, 20, 30, {"endpoint": Endpoint.SESSION}, REASONS),
        (299, 20, 30, {"endpoint": "session"}, RESUME),
    ],
)
def test_auto_at_its_boundaries(budget, nodes, causal, how, mode):
    choice = resolve_mode("auto", graph(nodes, causal=causal, of=100), max_tokens=budget, **how)
    assert choice.mode is mode
    assert choice.reason


@pytest.mark.parametrize("mode", [REASONS, RESUME])
def test_a_mode_asked_for_is_taken(mode):
    choice = resolve_mode(mode, graph(20, causal=0, of=1), max_tokens=1)
    assert (choice.mode, choice.reason) == (mode, "asked for by the caller")


def test_the_result_names_the_mode_and_the_reason():
    shown = render(graph(20, causal=10, of=100), max_tokens=200)
    assert shown.mode is RESUME
    assert "10 tokens per node" in shown.mode_reason
    assert "0.10 of the relations" in shown.mode_reason


def structural():
    parts = [Node(node_id=f"part{n}", title=f"part {n}") for n in range(6)]
    relations = [
        Relation(source_node_id="hub", target_node_id=part.node_id, relation_type="HAS", semantic_class="structural")
        for part in parts
    ]
    return Bundle(root_node_id="hub", nodes=[Node(node_id="hub", title="Hub"), *parts], relations=relations)


def test_auto_keeps_a_structural_graph_that_has_room():
    shown = render(structural(), max_tokens=4096)
    assert shown.mode is RESUME
    assert shown.text == render(structural()).text
    assert not shown.omitted


def test_resume_asked_for_by_name_keeps_only_the_spine():
    relations = [
        Relation(
            source_node_id="hub",
            target_node_id="part0",
            relation_type="FAILED",
            semantic_class="causal",
            rationale="it wore out",
        ),
        *structural().relations,
    ]
    shown = render(Bundle(root_node_id="hub", nodes=structural().nodes, relations=relations), mode="resume_focused")
    assert "it wore out" in shown.text
    assert "part 3" not in shown.text
    assert shown.omitted["structural"] == 6


def test_resume_tells_the_spine_in_full_before_other_reasons():
    def rel(target, rationale, **said):
        return Relation(
            source_node_id="a",
            target_node_id=target,
            relation_type="T",
            semantic_class="causal",
            rationale=rationale,
            **said,
        )

    bundle = Bundle(
        root_node_id="a",
        nodes=[Node(node_id="a"), Node(node_id="b", summary="full story of b"), Node(node_id="c")],
        relations=[
            rel("b", "the main reason", method="long careful review", sequence=1),
            rel("c", "another reason that stands beside"),
        ],
    )
    resumed, preserved = (
        render(bundle, max_tokens=62, mode=mode, max_tier=None) for mode in ("auto", "reason_preserving")
    )
    assert "another reason" in preserved.text
    assert resumed.mode is REASONS
    assert "long careful review" in render(bundle, max_tokens=62, mode="resume_focused").text
