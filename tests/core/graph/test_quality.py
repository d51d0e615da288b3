"""The numbers of a render say what it cost and what it kept."""

import pytest

from ctx_core.graph.model import Bundle, Node, NodeDetail, Relation
from ctx_core.graph.quality import raw_equivalent_tokens
from ctx_core.graph.render import render
from ctx_core.testing.graphs import chain
from ctx_core.tokens import TokenCounter


def small():
    def rel(target, semantic_class, rationale=None):
        return Relation(
            source_node_id="a",
            target_node_id=target,
            relation_type="T",
            semantic_class=semantic_class,
            rationale=rationale,
        )

    return Bundle(
        root_node_id="a",
        nodes=[Node(node_id=node_id, title=f"item {node_id}") for node_id in "abcd"],
        relations=[
            rel("b", "causal", "it broke"),
            rel("c", "structural"),
            rel("d", "structural"),
            rel("d", "constraint", "policy"),
        ],
        details=[NodeDetail(node_id="a", detail="a log line")],
    )


def test_everything_shown_keeps_everything():
    quality = render(small()).quality
    assert (quality.spine_retention, quality.explanation_coverage, quality.node_coverage) == (1.0, 1.0, 1.0)
    assert quality.causal_density == pytest.approx(0.25)
    assert quality.noise_ratio == pytest.approx(1 / 3)
    assert quality.detail_coverage == pytest.approx(0.25)


def test_what_is_cut_shows_in_what_is_kept_and_not_in_the_density():
    full, cut = render(small()).quality, render(small(), max_tokens=16).quality
    assert cut.explanation_coverage < full.explanation_coverage
    assert cut.compression_ratio > full.compression_ratio
    assert cut.causal_density == full.causal_density


def test_an_empty_text_has_no_ratio_to_boast_of():
    quality = render(small(), max_tokens=0).quality
    assert (quality.rendered_tokens, quality.compression_ratio, quality.spine_retention) == (0, 0.0, 0.0)


def test_a_reason_whose_line_lost_it_does_not_count_as_told():
    bundle = Bundle(
        root_node_id="a",
        nodes=[Node(node_id="a", title="A"), Node(node_id="b", title="B")],
        relations=[
            Relation(
                source_node_id="a",
                target_node_id="b",
                relation_type="T",
                semantic_class="causal",
                rationale="word " * 60,
            )
        ],
    )
    shown = render(bundle, max_tokens=14)
    assert "- T (causal) -> B" in shown.text
    assert shown.quality.spine_retention == 0.0


def test_large_raw_text_is_sampled_closely():
    bundle = chain(3, hops=60, branches=5).bundle
    counter = TokenCounter()
    small_part = chain(3, hops=8, branches=5).bundle
    assert raw_equivalent_tokens(small_part, counter) > 0
    raw = raw_equivalent_tokens(bundle, counter)
    per_relation = raw / len(bundle.relations)
    exact = raw_equivalent_tokens(small_part, counter) / len(small_part.relations)
    assert per_relation == pytest.approx(exact, rel=0.15)
