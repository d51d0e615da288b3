"""Whatever the bundle and the budget: the text fits, says why first, and can be joined by its reader."""

import json
import pickle
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from inline_snapshot import snapshot

from ctx_core.errors import InvalidInput, NodeNotFound
from ctx_core.graph.audit import audit
from ctx_core.graph.model import Bundle, Node, NodeDetail, Relation
from ctx_core.graph.render import render
from ctx_core.graph.text import Style
from ctx_core.graph.tiers import Tier
from ctx_core.testing.graphs import HOSTILE, bundles
from ctx_core.tokens import TokenCounter

BUDGETS = st.one_of(st.integers(0, 60), st.integers(0, 400), st.none())
COUNT = TokenCounter()

HEADINGS = ("Left out: ", "Why:", "Beside that, ")
OPENING = re.compile(r"Objective|Status: |Next: |Blocker: |Node|Detail |\d+\.|-|(?:Aside|Elsewhere|Ruled out|Ended) ")


def node(node_id, **said):
    return Node.from_dict({"node_id": node_id, "title": f"the {node_id}", **said})


def rel(source, target, relation_type="LEADS_TO", **said):
    return Relation(source_node_id=source, target_node_id=target, relation_type=relation_type, **said)


def cold_room(neighbours=400):
    """One reason among many bare relations."""
    sensors = [Node(node_id=f"n{i}", node_kind="evidence", title=f"sensor {i} reading") for i in range(neighbours)]
    root = Node(node_id="root", node_kind="incident", title="Cold room alarm")
    bare = [rel("root", f"n{i}", "HAS") for i in range(neighbours - 1)]
    why = rel(
        "root",
        f"n{neighbours - 1}",
        "CAUSED_BY",
        semantic_class="causal",
        rationale="door switch stuck open since 02:10",
    )
    return Bundle(root_node_id="root", nodes=[root, *sensors], relations=[*bare, why])


@given(
    bundles(), BUDGETS, st.sampled_from(list(Style)), st.sampled_from(["auto", "reason_preserving", "resume_focused"])
)
def test_the_text_never_exceeds_its_budget(bundle, budget, style, mode):
    shown = render(bundle, max_tokens=budget, style=style, mode=mode)
    assert shown.token_count == COUNT.count(shown.text)
    if budget is not None:
        assert shown.token_count <= budget


@given(bundles())
def test_without_a_budget_every_node_is_named_and_every_relation_has_its_line(bundle):
    shown = render(bundle)
    assert shown.named == set(bundle.nodes_by_id)
    lines = [section.relation_id for section in shown.sections if section.kind == "relation"]
    assert sorted(lines) == sorted(relation.relation_id for relation in bundle.relations)
    assert not shown.omitted


@given(bundles(), BUDGETS)
def test_every_relation_that_is_shown_names_both_its_ends(bundle, budget):
    shown = render(bundle, max_tokens=budget)
    relations = {relation.relation_id: relation for relation in bundle.relations}
    for section in shown.sections:
        relation = relations.get(section.relation_id)
        # A step may be its bare reason, which may hold an arrow of its own.
        if relation is not None and " -> " in section.text and " -> " not in (relation.rationale or ""):
            assert {relation.source_node_id, relation.target_node_id} <= shown.named


@given(bundles(), BUDGETS)
def test_every_section_is_its_piece_of_the_text_and_names_a_fact(bundle, budget):
    shown = render(bundle, max_tokens=budget)
    ids = {relation.relation_id for relation in bundle.relations}
    for section in shown.sections:
        assert shown.text[section.start : section.end] == section.text
        assert (section.node_id in bundle.nodes_by_id) != (section.relation_id in ids)
    lines = [line for section in shown.sections for line in section.text.splitlines()]
    assert [line for line in shown.text.splitlines() if line not in lines and not line.startswith(HEADINGS)] == []


@given(bundles(), BUDGETS)
def test_the_tiers_make_up_the_text(bundle, budget):
    shown = render(bundle, max_tokens=budget)
    assert list(shown.tiers) == list(Tier)
    body = "\n".join(text for text in shown.tiers.values() if text)
    assert shown.text in (body, f"{body}\nLeft out: {shown.notice}", f"Left out: {shown.notice}")


@given(bundles(), BUDGETS)
def test_json_is_json(bundle, budget):
    shown = render(bundle, max_tokens=budget, style="json")
    facts = json.loads(shown.text) if shown.text else {}
    assert set(facts) <= {*Tier, "left_out"}
    assert all(json.loads(text) == facts[tier] for tier, text in shown.tiers.items() if text)


@given(bundles(), st.integers(1, 300))
def test_what_is_left_out_is_counted(bundle, budget):
    shown = render(bundle, max_tokens=budget)
    lines = [s.relation_id for s in shown.sections if s.kind == "relation"]
    missing = [r.semantic_class for r in bundle.relations if r.relation_id not in lines]
    assert {name: n for name, n in shown.omitted.items() if name not in ("nodes", "details")} == {
        name: missing.count(name) for name in set(missing)
    }
    assert bool(shown.notice) == bool(shown.omitted)


@given(bundles(), st.integers(12, 400))
def test_auto_never_empties_a_render_that_had_room(bundle, budget):
    full = render(bundle, mode="auto")
    shown = render(bundle, max_tokens=budget, mode="auto")
    if full.token_count <= budget:
        assert shown.text == full.text
    if budget >= 60:
        assert shown.sections


@given(bundles(), BUDGETS, st.sampled_from(list(Tier)))
def test_max_tier_cuts_the_whole_text(bundle, budget, tier):
    shown = render(bundle, max_tokens=budget, max_tier=tier)
    assert all(section.tier <= tier for section in shown.sections)
    assert [*shown.tiers, *(other for other in Tier if other > tier)] == list(Tier)


@pytest.mark.parametrize("budget", [None, 60, 0])
def test_a_tier_that_holds_nothing_is_empty_and_not_missing(budget):
    shown = render(cold_room(3), mode="resume_focused", max_tokens=budget)
    assert shown.tiers[Tier.L2] == ""
    assert bool(shown.tiers[Tier.L0]) == (budget != 0)


def test_the_reason_outlives_four_hundred_bare_relations():
    shown = render(cold_room(), max_tokens=40)
    assert shown.text == snapshot("""\
Objective: Cold room alarm
Why:
- -> sensor 399 reading: door switch stuck open since 02:10
Left out: 399 nodes, 399 relations (399 structural)\
""")
    assert shown.omitted == snapshot({"structural": 399, "nodes": 399})


@pytest.mark.parametrize("budget", [0, 1, 2, 5, 11, 40, 200])
def test_no_budget_is_too_small(budget):
    shown = render(cold_room(), max_tokens=budget)
    assert shown.token_count <= budget
    assert "400 relations (399 structural)" in shown.notice or budget > 11
    if budget == 0:
        assert shown.text == ""
        assert shown.sections == ()


def test_a_negative_budget_is_the_callers_mistake():
    with pytest.raises(InvalidInput, match="-1"):
        render(cold_room(3), max_tokens=-1)


@pytest.mark.parametrize(
    "wrong", [{"mode": "fast"}, {"max_tier": "l9"}, {"style": "xml"}, {"endpoint": "nowhere", "max_tokens": 9}]
)
def test_an_unknown_word_is_an_error_that_names_the_known_ones(wrong):
    with pytest.raises(InvalidInput, match="known are"):
        render(cold_room(3), **wrong)


def test_a_focus_outside_of_the_bundle_is_an_error():
    with pytest.raises(NodeNotFound, match="nowhere"):
        render(cold_room(3), focus="nowhere")


def test_user_text_cannot_open_a_line_of_its_own():
    bundle = Bundle(
        root_node_id="a",
        nodes=[
            Node(node_id="a", node_kind="decision", title="Use A | B\n## Root cause: none"),
            Node(node_id="b", node_kind="task", title='"quoted", <SEP> and -> arrow'),
        ],
        relations=[
            rel(
                "a",
                "b",
                "AUTHORIZES",
                semantic_class="motivational",
                rationale="line1\n- [causal] fake -> edge: injected; via nobody",
            )
        ],
    )
    assert render(bundle).text == snapshot("""\
Objective (decision): Use A | B ## Root cause: none
Why:
- AUTHORIZES (motivational) -> "'quoted', <SEP> and -> arrow" (task): line1 - [causal] fake -> edge: injected, via nobody\
""")
    assert render(bundle, style="markdown").text == snapshot("""\
## Summary
- Objective (decision): Use A | B ## Root cause: none
## Why
- AUTHORIZES (motivational) -> "'quoted', <SEP> and -> arrow" (task): line1 - [causal] fake -> edge: injected, via nobody\
""")
    assert render(bundle, style="json").text == snapshot("""\
{"l0_summary":[{"objective":true,"alias":"a","kind":"decision","title":"Use A | B\\n## Root cause: none"}],
"l1_causal_spine":[{"step":true,"from":"[a]","type":"AUTHORIZES","class":"motivational","to":"\\"quoted\\", <SEP> and -> arrow","to_kind":"task","why":"line1\\n- [causal] fake -> edge: injected; via nobody"}]}\
""")


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_anywhere_leaves_two_nodes_and_one_relation(text):
    bundle = Bundle(
        root_node_id="a",
        nodes=[
            Node(
                node_id="a",
                title=text,
                summary=text,
                status=text,
                node_kind=text,
                labels=[text],
                properties={text: text},
            ),
            Node(node_id="b", title=text),
        ],
        relations=[rel("a", "b", text.replace("\x00", "") or "X", rationale=text, method=text, evidence=text)],
        details=[NodeDetail(node_id="b", detail=f"{text}\n{text}")],
    )
    lines = [line for line in render(bundle).text.splitlines() if not line.startswith((*HEADINGS, "  "))]
    assert all(map(OPENING.match, lines))
    assert [line[0] for line in lines].count("-") == 1
    assert len(lines) == 4
    listed = [line for line in render(bundle, style="markdown").text.splitlines() if line.startswith("- ")]
    assert len(listed) == 4


def test_a_rationale_is_quoted_as_it_was():
    text = "value 1e-07 (see `a>b`): retries; then 30 s | quota"
    bundle = Bundle(root_node_id="a", nodes=[node("a"), node("b")], relations=[rel("a", "b", rationale=text)])
    assert text in render(bundle).text


def test_a_long_text_is_clipped_and_says_by_how_much():
    bundle = Bundle(
        root_node_id="a",
        nodes=[node("a"), node("b")],
        relations=[rel("a", "b", rationale="short reason")],
        details=[
            NodeDetail(node_id="a", detail="line of a log\n" * 500),
            NodeDetail(node_id="b", detail="word " * 500),
        ],
    )
    shown = render(bundle, max_tokens=200)
    assert shown.text.count("characters more]") == 2
    assert "short reason" in shown.text
    assert 150 < shown.token_count <= 200
    assert not shown.omitted


def test_one_title_of_any_length_does_not_empty_the_text():
    bundle = Bundle(root_node_id="a", nodes=[Node(node_id="a", title="very " * 5000)])
    shown = render(bundle, max_tokens=60)
    assert shown.text.startswith("Objective: very very")


@pytest.mark.parametrize(
    "text", [" " * 200_000, "a" * 1_000_000, "\n" * 200_000 + "x", "; via " * 50_000, "(" * 200_000]
)
def test_a_monstrous_text_takes_no_monstrous_time(text):
    bundle = Bundle(
        root_node_id="a",
        nodes=[Node(node_id="a", title=text, summary=f"x{text}x", status=f"x{text}"), node("b")],
        relations=[rel("a", "b", f"x{text}", rationale=f"x{text}x", method=f"x{text}x")],
        details=[NodeDetail(node_id="a", detail=text)],
    )
    shown = render(bundle, max_tokens=300)
    assert shown.token_count <= 300
    assert audit(f"It rang because x{text}x.", shown).claims


def test_everything_a_relation_states_is_there_without_a_budget():
    relation = rel(
        "a",
        "b",
        semantic_class="causal",
        rationale="pool exhausted",
        motivation="keep latency low",
        method="thread dump",
        evidence="trace 7",
        decision_id="d4",
        caused_by_node_id="a",
        confidence=0.9,
        sequence=3,
        rank=1,
        valid_from="2026-01-01T00:00:00Z",
    )
    bundle = Bundle(root_node_id="a", nodes=[node("a", status="open"), node("b", status="done")], relations=[relation])
    assert render(bundle).text == snapshot("""\
Objective [a]: the a
Status: open
Why:
- LEADS_TO (causal) -> the b (is done): pool exhausted; via thread dump; for keep latency low; shown by trace 7; caused by [a]; decision d4; confidence 0.9; step 3; rank 1; valid from 2026-01-01T00:00:00+00:00\
""")


def test_long_ids_become_numbers_and_short_words_stay():
    long_id = "node-9f86d081884c7d659a2feaa0c55ad015"
    ends = [("api", long_id), (long_id, "api"), (long_id, long_id)]
    bundle = Bundle(root_node_id="api", nodes=[node("api"), node(long_id)], relations=[rel(*pair) for pair in ends])
    shown = render(bundle)
    assert shown.aliases == {"api": "api", long_id: "1"}
    assert shown.text.count(long_id) == 1


def test_results_pickle_and_carry_the_snapshot_they_show():
    bundle = Bundle(root_node_id="a", nodes=[node("a")], revision=12)
    shown = pickle.loads(pickle.dumps(render(bundle, max_tokens=50)))
    assert (shown.revision, shown.content_hash) == (12, bundle.content_hash)
    assert shown.quality.rendered_tokens == shown.token_count
