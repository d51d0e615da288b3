"""Numbers about a render: what it cost, what it came from, and what of it was kept."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from ctx_core.graph.salience import causal_density, is_explained

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from ctx_core.graph.explained_path import ExplainedPath
    from ctx_core.graph.model import Bundle, Relation
    from ctx_core.tokens import TokenCounter

# Above this many characters the raw text is counted on a sample: exact counting would cost more than rendering.
_SAMPLE_CHARACTERS: Final = 100_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Quality:
    """How a render relates to its bundle; every ratio but the first lies in [0, 1].

    Args:
        raw_equivalent_tokens: What the bundle would cost as one plain sentence per node, relation and detail.
        rendered_tokens: What the text costs.
        compression_ratio: Raw by rendered tokens. It rises when facts are dropped: read it beside the kept shares.
        causal_density: Share of the bundle's relations that are causal, motivational or evidential.
        noise_ratio: Share of the bundle's nodes, the root aside, that no relation with a reason touches.
        detail_coverage: Share of the bundle's nodes that have a detail.
        spine_retention: Share of the spine's relations that the text shows with their reason.
        explanation_coverage: Share of all relations with a reason that the text shows with it.
        node_coverage: Share of the bundle's nodes that the text names.
    """

    raw_equivalent_tokens: int
    rendered_tokens: int
    compression_ratio: float
    causal_density: float
    noise_ratio: float
    detail_coverage: float
    spine_retention: float
    explanation_coverage: float
    node_coverage: float


def measure(
    bundle: Bundle,
    spine: ExplainedPath,
    *,
    rendered_tokens: int,
    told: Collection[str],
    named: int,
    counter: TokenCounter,
) -> Quality:
    """Return the numbers of a render that told the relations `told` in full and named `named` nodes."""
    raw = raw_equivalent_tokens(bundle, counter)
    explained = [relation for relation in bundle.relations if is_explained(relation)]
    touched = {end for relation in explained for end in (relation.source_node_id, relation.target_node_id)}
    neighbours = len(bundle.nodes) - 1
    noise = sum(node_id not in touched for node_id in bundle.nodes_by_id if node_id != bundle.root_node_id)
    return Quality(
        raw_equivalent_tokens=raw,
        rendered_tokens=rendered_tokens,
        compression_ratio=raw / rendered_tokens if rendered_tokens else 0.0,
        causal_density=causal_density(bundle),
        noise_ratio=noise / neighbours if neighbours else 0.0,
        detail_coverage=len(bundle.details) / len(bundle.nodes),
        spine_retention=_share(spine.relations, told),
        explanation_coverage=_share(explained, told),
        node_coverage=named / len(bundle.nodes),
    )


def raw_equivalent_tokens(bundle: Bundle, counter: TokenCounter) -> int:
    """Return what the bundle costs as plain sentences; a large one is counted on a sample and scaled."""
    raw = "\n".join(_sentences(bundle))
    if len(raw) <= _SAMPLE_CHARACTERS:
        return counter.count(raw)
    step = len(raw) // 20
    sample = [raw[start : start + _SAMPLE_CHARACTERS // 20] for start in range(0, len(raw), step)]
    return round(counter.count_all(sample) * len(raw) / sum(map(len, sample)))


def _sentences(bundle: Bundle) -> Iterator[str]:
    for node in bundle.nodes:
        yield f"Node {node.node_id}. Kind: {node.node_kind}. Title: {node.title}. Status: {node.status}. Summary: {node.summary}."
    for relation in bundle.relations:
        ends = f"{relation.source_node_id} relates to {relation.target_node_id} by {relation.relation_type}"
        yield f"Relation: {ends}. Class: {relation.semantic_class}."
        said = (relation.rationale, relation.motivation, relation.method, relation.evidence, relation.decision_id)
        yield from (f"{text}." for text in said if text)
    for detail in bundle.details:
        yield f"Detail of {detail.node_id}: {detail.detail}"


def _share(relations: Collection[Relation], told: Collection[str]) -> float:
    return sum(relation.relation_id in told for relation in relations) / len(relations) if relations else 1.0
