"""An answer that invents, alters or misplaces a reason is caught; one that repeats the context is not."""

import json
import pickle
from collections import Counter, defaultdict

import pytest
from hypothesis import given

from ctx_core.graph.audit import Verdict, audit
from ctx_core.graph.model import Bundle, Node, NodeDetail, Relation
from ctx_core.graph.render import render
from ctx_core.testing.answers import planted_answers, site_graph
from ctx_core.testing.graphs import bundles, words

WHY_POOL, WHY_LOCK = "the pool was exhausted after 40 retries", "a nightly vacuum locked the orders table"


def outage(*, explained=True):
    nodes = [
        Node(node_id="checkout", title="Checkout errors"),
        Node(node_id="pool-12", title="Connection pool"),
        Node(node_id="db-7", title="Orders database"),
        Node(node_id="cdn-3", title="Image cache"),
        Node(node_id="dns-4", title="Name server"),
    ]

    def rel(source, target, rationale, **said):
        ends = {"source_node_id": source, "target_node_id": target}
        said = {"rationale": rationale, "decision_id": "d4", **said} if explained else {}
        return Relation.from_dict({**ends, "relation_type": "CAUSED_BY", "semantic_class": "causal", **said})

    relations = [
        rel("checkout", "pool-12", WHY_POOL, sequence=1),
        rel("pool-12", "db-7", WHY_LOCK, sequence=2),
        rel("cdn-3", "dns-4", "the zone file was truncated during an upload"),
    ]
    return Bundle(root_node_id="checkout", nodes=nodes, relations=relations)


def verdicts(answer, shown=None):
    report = audit(answer, shown or render(outage()))
    return [(claim.text, claim.verdict) for claim in report.claims]


@pytest.fixture(scope="module")
def planted():
    """Share of planted answers of each kind whose every claim got a right verdict, and what was called supported."""
    right, called = defaultdict(list), Counter()
    for seed in range(10):
        bundle = site_graph(seed)
        shown = render(bundle)
        for answer in planted_answers(bundle, seed):
            found = {claim.verdict for claim in audit(answer.text, shown).claims}
            wrong = found - answer.right - ({Verdict.SUPPORTED} if answer.kind == "invented id" else set())
            right[answer.kind].append(bool(found & answer.right) and not wrong)
            if answer.kind not in ("invented id", "not available", "retold in other words"):
                called[Verdict.SUPPORTED in answer.right, found == {Verdict.SUPPORTED}] += 1
    return right, called


def test_planted_reasons_are_told_apart(planted):
    right, called = planted
    assert sum(map(len, right.values())) > 500
    recall = called[True, True] / (called[True, True] + called[True, False])
    precision = called[True, True] / (called[True, True] + called[False, True])
    assert (recall >= 0.95, precision >= 0.95) == (True, True)


@pytest.mark.parametrize(
    ("kind", "floor"),
    [
        ("copied", 1.0),
        ("lightly edited", 0.95),
        ("copied into JSON", 1.0),
        ("another number", 0.95),
        ("denied", 0.95),
        ("made up", 0.95),
        ("reason of another node", 0.95),
        ("invented id", 0.95),
        ("not available", 1.0),
        ("retold in other words", 0.4),
    ],
)
def test_each_kind_of_planted_answer(planted, kind, floor):
    right, _ = planted
    assert sum(right[kind]) / len(right[kind]) >= floor


def test_reasons_in_free_text_have_their_place():
    answer = f"Checkout failed because {WHY_POOL}. The root cause is that {WHY_LOCK}."
    report = audit(answer, render(outage()))
    assert [answer[claim.start : claim.end] for claim in report.supported] == [WHY_POOL, WHY_LOCK]
    assert not report.is_fabricated
    assert report.supported_ratio == 1.0


@pytest.mark.parametrize(
    ("answer", "verdict"),
    [
        ("It failed because a certificate expired.", Verdict.UNFOUNDED),
        ("It failed because the pool was exhausted after 90 retries.", Verdict.CONTRADICTED),
        ("It failed because the pool was never exhausted after 40 retries.", Verdict.CONTRADICTED),
        ("Checkout errors: the zone file was truncated during an upload.", Verdict.CONTRADICTED),
        ("The Image cache failed because the zone file was truncated during an upload.", Verdict.SUPPORTED),
        ("The pool was exhausted after 40 retries, which is why it failed.", Verdict.SUPPORTED),
        ("The orders table locked by the nightly vacuum.", Verdict.SUPPORTED),
        ("No reason is recorded.", Verdict.CONTRADICTED),
        ("Connection pool caused Checkout errors.", Verdict.SUPPORTED),
        ("Orders database led to Checkout errors.", Verdict.SUPPORTED),
        ("Checkout errors caused Orders database.", Verdict.CONTRADICTED),
        ("Checkout errors were caused by Connection pool.", Verdict.SUPPORTED),
        ("Name server led to Checkout errors.", Verdict.UNFOUNDED),
        ("It failed because a nightly vacuum led to locked orders.", Verdict.SUPPORTED),
        ("Checkout errors occur because of the Connection pool.", Verdict.SUPPORTED),
        ("It failed due to the Orders database.", Verdict.SUPPORTED),
        ("The Orders database is slow because of Checkout errors.", Verdict.CONTRADICTED),
        ("It failed because of a fire near the Orders database.", Verdict.UNFOUNDED),
        ("**Root cause:** `the pool was exhausted after 40 retries`", Verdict.SUPPORTED),
        ("See pool-12.", Verdict.SUPPORTED),
        ("See pool-99.", Verdict.UNFOUNDED),
        ("It was decided in d4.", Verdict.SUPPORTED),
    ],
)
def test_one_claim_one_verdict(answer, verdict):
    assert [found for _, found in verdicts(answer)] == [verdict]


def test_small_talk_claims_nothing():
    report = audit("Thank you. Let me look at the dashboards first, and I will come back to you.", render(outage()))
    assert report.claims == ()
    assert report.supported_ratio == 1.0


def test_what_the_budget_cut_is_not_called_invented():
    shown = render(outage(), max_tokens=20)
    assert WHY_LOCK not in shown.text
    report = audit(f"It failed because {WHY_LOCK}.", shown)
    assert [claim.text for claim in report.cut] == [WHY_LOCK]
    assert not report.is_fabricated
    nothing = render(outage(), max_tokens=0)
    assert [found for _, found in verdicts("The reason is not available.", nothing)] == [Verdict.CUT]
    assert [found for _, found in verdicts("See db-7.", nothing)] == [Verdict.CUT]


def test_reasons_of_a_hub_belong_to_their_own_branch():
    told = {"The lift stands still.": "its rope is worn", "The lobby is dark.": "a fuse blew at noon"}
    nodes = [Node(node_id=f"seen{n}", title=title) for n, title in enumerate(told)]
    causes = [Node(node_id=f"why{n}", title=f"Finding {n}") for n in range(2)]
    relations = [
        relation
        for n, why in enumerate(told.values())
        for relation in (
            Relation(
                source_node_id="house", target_node_id=f"seen{n}", relation_type="SEEN", semantic_class="evidential"
            ),
            Relation(
                source_node_id=f"seen{n}",
                target_node_id=f"why{n}",
                relation_type="BECAUSE",
                semantic_class="causal",
                rationale=why,
            ),
        )
    ]
    house = Node(node_id="house", title="House report")
    shown = render(Bundle(root_node_id="house", nodes=[house, *nodes, *causes], relations=relations))
    assert [v for _, v in verdicts("The lift stands still because its rope is worn.", shown)] == [Verdict.SUPPORTED]
    assert [v for _, v in verdicts("The lift stands still because a fuse blew at noon.", shown)] == [
        Verdict.CONTRADICTED
    ]
    assert [v for _, v in verdicts("The house report says so because a fuse blew at noon.", shown)] == [
        Verdict.SUPPORTED
    ]


def test_a_reason_that_only_the_summary_shows_is_shown():
    rule = Relation(
        source_node_id="freeze",
        target_node_id="task",
        relation_type="LIMITS",
        semantic_class="constraint",
        rationale="no deployment before Friday noon",
    )
    bundle = Bundle(
        root_node_id="root", nodes=[Node(node_id=name) for name in ("root", "freeze", "task")], relations=[rule]
    )
    shown = render(bundle, max_tier="l0_summary")
    assert verdicts("It waits because there is no deployment before Friday noon.", shown)[0][1] is Verdict.SUPPORTED


def test_citing_metadata_that_is_not_there_is_caught():
    answer = {"failure_point": "db-7", "reason": "", "reason_source": "graph_metadata", "confidence": "high"}
    bare = audit(answer, render(outage(explained=False)))
    assert bare.cites_what_is_not_there
    assert bare.is_fabricated
    assert not audit(answer, render(outage())).cites_what_is_not_there


def test_inventing_a_reason_where_there_was_one_is_caught():
    answer = {"failure_point": "db-7", "reason": "a certificate expired", "reason_source": "graph_metadata"}
    report = audit(answer, render(outage()))
    assert not report.cites_what_is_not_there
    assert [(claim.name, claim.verdict) for claim in report.claims] == [
        ("failure_point", Verdict.SUPPORTED),
        ("reason", Verdict.UNFOUNDED),
    ]
    assert report.is_fabricated


def test_saying_that_there_is_no_reason_is_right_when_there_is_none():
    answer = {"failure_point": "db-7", "restart_node": "pool-12", "reason": "none", "reason_source": "not_available"}
    report = audit(answer, render(outage(explained=False)))
    assert {claim.verdict for claim in report.claims} == {Verdict.SUPPORTED}
    assert not report.is_fabricated


def test_places_in_a_json_answer_are_places_in_its_text():
    answer = json.dumps({"failure_point": "db-7", "restart_node": "pool-3", "reason": f'"{WHY_POOL}" and so on'})
    report = audit(answer, render(outage()))
    assert [answer[claim.start : claim.end] for claim in report.claims][:2] == ["db-7", "pool-3"]
    assert WHY_POOL in answer[report.claims[2].start : report.claims[2].end]


def test_a_detail_supports_what_it_says():
    bundle = Bundle(
        root_node_id="a",
        nodes=[Node(node_id="a", title="Alarm")],
        details=[NodeDetail(node_id="a", detail="02:10 door open\n02:14 compressor tripped on overload")],
    )
    assert verdicts("It rang because the compressor tripped on overload.", render(bundle))[0][1] is Verdict.SUPPORTED


def test_a_wider_bundle_may_hold_the_truth():
    shown = render(outage(explained=False))
    report = audit(f"It failed because {WHY_POOL}.", shown, bundle=outage())
    assert [claim.verdict for claim in report.claims] == [Verdict.CUT]


@pytest.mark.parametrize("style", ["lines", "markdown", "json"])
def test_every_style_can_be_audited(style):
    shown = render(outage(), style=style)
    assert verdicts(f"It failed because {WHY_POOL}.", shown) == [(WHY_POOL, Verdict.SUPPORTED)]


@given(bundles(), words())
def test_any_answer_gets_a_report_and_true_places(bundle, answer):
    report = audit(answer, render(bundle, max_tokens=60))
    assert all(answer[claim.start : claim.end] == claim.text for claim in report.claims if not claim.name)
    assert pickle.loads(pickle.dumps(report)) == report


def test_a_reason_may_be_the_method_too_and_be_quoted_over_two_lines():
    why = Relation(
        source_node_id="n0",
        target_node_id="n0",
        relation_type="CAUSES",
        semantic_class="causal",
        rationale="line one\n## Root cause: none",
        method="line one\n## Root cause: none",
    )
    shown = render(Bundle(root_node_id="n0", nodes=[Node(node_id="n0", title="pool exhausted")], relations=[why]))
    (claim,) = audit({"reason": why.rationale}, shown).claims
    assert claim.verdict is Verdict.SUPPORTED


@given(bundles())
def test_a_quoted_reason_is_never_called_invented(bundle):
    shown = render(bundle)
    for relation in bundle.relations:
        if relation.rationale and len(relation.rationale.split()) > 2 and relation.rationale.isascii():
            claims = audit({"reason": relation.rationale}, shown).claims
            assert Verdict.UNFOUNDED not in {claim.verdict for claim in claims}
