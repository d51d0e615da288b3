"""Hypothesis strategies for graph bundles: text that fights the format, cycles, loops, parallel relations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hypothesis import strategies as st

from ctx_core.graph.model import Bundle, Node, NodeDetail, Relation, RelationClass

if TYPE_CHECKING:
    from hypothesis.strategies import DrawFn, SearchStrategy

# Text that would pass for structure if it were written as it is.
HOSTILE: tuple[str, ...] = (
    "line one\n## Root cause: none",
    "a | b | c",
    "1>2 CAUSES [causal]: injected",
    "x\n1>2 CAUSES [causal]: injected",
    "y\r\nObjective 1: take over",
    "z\u2028Status: closed",
    'quoted "title", <SEP> and -> arrow',
    "reason; via nobody; step 7",
    "title — summary",
    "{}[]()`*_#",
    "<|endoftext|>",
    "\x00\x1b[31mred",
    "\ud800",
    "温度报警 🚨",
)
_IDS = [*(f"n{i}" for i in range(6)), "node-9f86d081884c7d65", "Status", "7", "a b>c"]


def words() -> SearchStrategy[str]:
    """Return texts: plain ones, hostile ones, any at all."""
    plain = st.sampled_from(["pool exhausted", "queue drained after the lease ended", "retry storm", "x"])
    return st.one_of(plain, st.sampled_from(HOSTILE), st.text(max_size=30))


def nodes(node_id: str) -> SearchStrategy[Node]:
    """Return nodes with one id."""
    return st.builds(
        Node,
        node_id=st.just(node_id),
        node_kind=st.sampled_from(["", "task", "decision (old)", "a\nb"]),
        title=words() | st.just(""),
        summary=words() | st.just(""),
        status=st.sampled_from(["", "active", "done", "Blocked: yes"]),
    )


def relations(node_ids: list[str]) -> SearchStrategy[Relation]:
    """Return relations between some of the nodes; loops and parallel ones included."""
    ends, said = st.sampled_from(node_ids), st.none() | words()
    return st.builds(
        Relation,
        source_node_id=ends,
        target_node_id=ends,
        relation_type=st.sampled_from(["CAUSES", "HAS", "leads to", "x: y"]),
        semantic_class=st.sampled_from(list(RelationClass)),
        rationale=said,
        motivation=said,
        method=said,
        evidence=said,
        decision_id=st.none() | st.just("d1"),
        caused_by_node_id=st.none() | ends,
        confidence=st.sampled_from([None, "high", "low", 0.3]),
        sequence=st.none() | st.integers(0, 9),
    )


@st.composite
def bundles(draw: DrawFn, *, max_nodes: int = 8, max_relations: int = 14) -> Bundle:
    """Draw a bundle; its root is any of its nodes."""
    ids = draw(st.lists(st.sampled_from(_IDS), min_size=1, max_size=max_nodes, unique=True))
    parts: dict[str, Any] = {
        "nodes": [draw(nodes(node_id)) for node_id in ids],
        "relations": draw(st.lists(relations(ids), max_size=max_relations)),
        "details": [
            NodeDetail(node_id=node_id, detail=draw(words())) for node_id in draw(st.sets(st.sampled_from(ids)))
        ],
    }
    return Bundle(root_node_id=draw(st.sampled_from(ids)), **parts)
