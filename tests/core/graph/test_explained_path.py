"""The explained path is found among chains that look like it."""

import crowds
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctx_core.graph.explained_path import find_explained_path
from ctx_core.graph.model import Bundle, Node, Relation
from ctx_core.graph.render import render
from ctx_core.graph.tiers import Tier
from ctx_core.testing.graphs import bundles, chain


def graph(*edges, root="r"):
    """Build a bundle from (source, target, class, rationale) rows with further fields as a mapping."""
    relations = [
        Relation.from_dict(
            {
                "source_node_id": source,
                "target_node_id": target,
                "relation_type": "LEADS_TO",
                "semantic_class": semantic_class,
                **({"rationale": rationale} if rationale else {}),
                **(said[0] if said else {}),
            }
        )
        for source, target, semantic_class, rationale, *said in edges
    ]
    ids = dict.fromkeys([root, *(end for r in relations for end in (r.source_node_id, r.target_node_id))])
    return Bundle(root_node_id=root, nodes=[Node(node_id=node_id) for node_id in ids], relations=relations)


def path(bundle, **how):
    return [f"{r.source_node_id}>{r.target_node_id}" for r in find_explained_path(bundle, **how).relations]


@given(bundles(), st.data())
def test_a_spine_is_connected_repeats_nothing_and_passes_the_focus(bundle, data):
    focus = data.draw(st.none() | st.sampled_from(sorted(bundle.nodes_by_id)))
    spine = find_explained_path(bundle, focus=focus)
    reached = {bundle.root_node_id, focus or bundle.root_node_id}
    for relation in spine.relations:
        ends = {relation.source_node_id, relation.target_node_id}
        assert reached & ends
        reached |= ends
    assert len({r.relation_id for r in spine.relations}) == len(spine.relations)
    assert spine.node_ids[0] == bundle.root_node_id
    assert set(spine.node_ids) == reached


def test_the_linked_chain_beats_a_longer_one_with_stronger_classes():
    true = [
        ("r", "a", "procedural", "why a", {"sequence": 1, "method": "log"}),
        ("a", "b", "evidential", "why b", {"sequence": 2, "method": "log"}),
    ]
    other = [(f"x{n}" if n else "r", f"x{n + 1}", "causal", None) for n in range(6)]
    assert path(graph(*true, *other)) == ["r>a", "a>b"]


def test_a_cycle_does_not_trap_the_path():
    edges = [
        ("r", "a", "causal", "why a"),
        ("a", "b", "causal", "why b"),
        ("b", "a", "structural", None),
        ("b", "c", "causal", "why c"),
        ("c", "r", "causal", None),
    ]
    assert path(graph(*edges))[:3] == ["r>a", "a>b", "b>c"]


def test_self_loops_are_no_steps():
    assert path(graph(("r", "r", "causal", "because"), ("r", "a", "structural", None))) == ["r>a"]


def test_of_parallel_relations_the_explained_one_is_taken():
    spine = find_explained_path(graph(("r", "a", "causal", None), ("r", "a", "structural", "the switch stuck")))
    assert [relation.rationale for relation in spine.relations] == ["the switch stuck"]


def test_a_diamond_takes_its_better_side():
    edges = [
        ("r", "a", "causal", "why a"),
        ("r", "b", "causal", None),
        ("a", "d", "causal", "why d"),
        ("b", "d", "causal", None),
    ]
    assert path(graph(*edges)) == ["r>a", "a>d"]


def test_causes_that_point_at_the_root_are_followed_upstream():
    edges = [
        ("r", "part", "structural", None),
        ("pool", "r", "causal", "pool exhausted"),
        ("lock", "pool", "causal", "table locked"),
    ]
    assert path(graph(*edges)) == ["pool>r", "lock>pool"]


def test_a_chain_that_begins_midway_does_not_divert_the_path():
    edges = [
        ("r", "a", "causal", "why a", {"sequence": 1}),
        ("a", "b", "causal", "why b", {"method": "log"}),
        ("a", "x", "causal", "why x", {"sequence": 1}),
        ("a", "y", "causal", "why y", {"sequence": 1}),
    ]
    assert path(graph(*edges)) == ["r>a", "a>b"]


def test_upstream_too_a_named_cause_outweighs_a_stronger_class():
    edges = [
        ("part", "r", "causal", "why it rang", {"caused_by_node_id": "lock"}),
        ("noise", "part", "causal", "a noise"),
        ("lock", "part", "evidential", "the lock froze"),
    ]
    assert path(graph(*edges)) == ["part>r", "lock>part"]


def test_a_hub_of_equal_reasons_is_spine_as_a_whole():
    edges = [("r", f"n{n}", "causal", f"reason {n}") for n in range(5)] + [
        ("r", f"m{n}", "structural", None) for n in range(5)
    ]
    assert len(path(graph(*edges))) == 5


def test_the_focus_bends_the_path():
    edges = [
        ("r", "a", "causal", "strong", {"method": "log", "sequence": 1}),
        ("a", "b", "causal", "strong"),
        ("r", "c", "structural", None),
        ("c", "d", "structural", None),
    ]
    bundle = graph(*edges)
    assert path(bundle) == ["r>a", "a>b"]
    assert path(bundle, focus="d") == ["r>c", "c>d"]
    assert path(bundle, focus="a") == ["r>a", "a>b"]
    assert path(bundle, focus="r") == ["r>a", "a>b"]


def test_a_focus_that_only_arrows_the_wrong_way_reach_is_reached():
    edges = [("a", "r", "structural", None), ("a", "b", "structural", None), ("island", "b", "structural", None)]
    bundle = graph(*edges)
    assert path(bundle, focus="a") == ["a>r", "a>b"]
    assert path(bundle, focus="island") == ["a>r", "a>b", "island>b"]


def test_a_focus_that_no_path_reaches_is_told_beside_the_spine():
    bundle = graph(("r", "a", "causal", "why a"), ("x", "y", "causal", "why y"))
    assert path(bundle, focus="x") == ["r>a", "x>y"]
    lonely = Bundle(root_node_id="r", nodes=[Node(node_id="r"), Node(node_id="x", title="The far one")])
    assert path(lonely, focus="x") == []
    assert "The far one" in render(lonely, focus="x").tiers[Tier.L1]


def test_a_doubted_relation_comes_after_its_equal_and_before_a_weaker_class():
    edges = [
        ("r", "a", "evidential", "rumour", {"confidence": "low"}),
        ("r", "b", "evidential", "seen", {"confidence": 0.9}),
        ("r", "c", "causal", "heard", {"confidence": "low"}),
    ]
    assert path(graph(*edges)) == ["r>c", "r>b", "r>a"]


def test_a_deep_chain_needs_no_recursion_and_ends_though_nothing_numbers_it():
    edges = [(f"n{n}" if n else "r", f"n{n + 1}", "causal", f"why {n}") for n in range(5000)]
    assert path(graph(*edges)) == ["r>n1", *(f"n{n}>n{n + 1}" for n in range(1, 20))]
    assert len(path(graph(*edges), focus="n4000")) >= 4000


@pytest.mark.parametrize(
    ("how", "floor"),
    [
        ({}, 1.0),
        ({"missing": 0.3}, 0.97),
        ({"lies": 0.3}, 0.97),
        ({"mislabelled": True}, 1.0),
        ({"shortcuts": 8}, 0.99),
        ({"cycles": 30}, 0.97),
        ({"missing": 0.2, "lies": 0.2, "shortcuts": 6, "cycles": 20}, 0.8),
    ],
)
def test_the_true_chain_is_found_among_look_alikes(how, floor):
    found = total = 0
    for seed in range(6):
        for hops, branches in ((3, 1), (5, 3), (8, 5)):
            hidden = chain(seed, hops=hops, branches=branches, **how)
            ids = {relation.relation_id for relation in find_explained_path(hidden.bundle).relations}
            found += sum(relation.relation_id in ids for relation in hidden.true_path)
            total += hops
    assert found / total >= floor


@given(bundles(), st.integers(30, 300))
def test_a_step_of_the_spine_outlives_everything_beside_it(bundle, budget):
    shown = render(bundle, max_tokens=budget)
    lines = {section.relation_id: section.text for section in shown.sections if section.kind == "relation"}
    on_path = {relation.relation_id for relation in shown.path.relations}
    if set(lines) - on_path:
        assert on_path <= set(lines)


@pytest.mark.parametrize("kind", crowds.KINDS)
def test_the_numbered_story_outweighs_any_crowd_that_carries_more(kind):
    found = total = 0
    for seed in range(4):
        for hops, count in ((4, 60), (8, 120)):
            bundle, story = crowds.crowd(kind, seed, hops=hops, count=count)
            text = render(bundle, max_tokens=64 * hops).text
            found += sum(relation.rationale in text for relation in story)
            total += hops
    assert found / total >= 0.95


@pytest.mark.parametrize("kind", crowds.KINDS)
def test_a_focus_at_the_end_of_the_story_brings_the_story(kind):
    bundle, story = crowds.crowd(kind, 0)
    end = story[-1].source_node_id if kind.startswith("causes") else story[-1].target_node_id
    ids = {relation.relation_id for relation in find_explained_path(bundle, focus=end).relations}
    assert sum(relation.relation_id in ids for relation in story) >= 5


def test_numbers_in_a_row_come_in_the_order_of_the_author():
    edges = [(f"n{n}" if n else "r", f"n{n + 1}", "structural", f"why {n}", {"sequence": n}) for n in range(5)]
    assert path(graph(*reversed(edges))) == ["r>n1", "n1>n2", "n2>n3", "n3>n4", "n4>n5"]


def test_numbers_that_lead_to_the_root_are_followed_from_it():
    edges = [("b", "a", "causal", "mid", {"sequence": 2}), ("a", "r", "causal", "last", {"sequence": 3})]
    assert path(graph(*edges, ("c", "b", "causal", "first", {"sequence": 1}))) == ["a>r", "b>a", "c>b"]


def test_a_number_by_itself_is_no_story():
    edges = [
        ("r", "a", "structural", None, {"sequence": 7}),
        ("a", "b", "structural", None, {"sequence": 3}),
        ("r", "c", "causal", "the switch stuck"),
    ]
    assert path(graph(*edges))[0] == "r>c"


def test_a_story_goes_on_over_a_step_that_was_left_unnumbered():
    edges = [(f"n{n}" if n else "r", f"n{n + 1}", "causal", f"why {n}", {"sequence": n}) for n in range(6) if n != 4]
    hole = [("n4", "n5", "causal", "why 4")]
    aside = [("n6", "x", "causal", "aside", {"method": "log", "evidence": "trace"})]
    assert path(graph(*edges, *hole, *aside))[-1] == "n5>n6"
