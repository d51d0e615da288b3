"""What matters first: how well a relation is explained, and the order that follows from it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ctx_core.graph.model import RelationClass

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from ctx_core.graph.model import Bundle, Relation

CLASS_RANK: Final[Mapping[str, int]] = {relation_class: rank for rank, relation_class in enumerate(RelationClass)}

# The classes that causal density counts; a graph of rules alone explains no event.
DENSITY_CLASSES: Final = frozenset({RelationClass.CAUSAL, RelationClass.MOTIVATIONAL, RelationClass.EVIDENTIAL})

# A stated reason outweighs everything else a relation carries: a class is one word that a writer may have picked
# wrongly, a rationale is a sentence that somebody wrote. A named cause says what a relation continues.
_REASON: Final = 2.0
_PURPOSE: Final = 0.5
_NUMBER: Final = 1.0
_CAUSE: Final = 1.0
# A method, evidence, a decision or a confidence breaks ties and no more: all four weigh less than the step from one
# class to the next.
_TIE: Final = 0.02
_CLASSES: Final[Mapping[str, float]] = {
    RelationClass.CAUSAL: 1.0,
    RelationClass.MOTIVATIONAL: 0.8,
    RelationClass.EVIDENTIAL: 0.6,
    RelationClass.CONSTRAINT: 0.5,
    RelationClass.PROCEDURAL: 0.3,
    RelationClass.STRUCTURAL: 0.1,
}
_FIRST: Final = (0, 1)


def strength(relation: Relation) -> float:
    """Return how well a relation is explained, from 0.1 (a bare structural one) to 6.6."""
    total, cause = _CLASSES[relation.semantic_class], relation.caused_by_node_id
    if relation.rationale is not None:
        total += _REASON
    elif relation.motivation is not None or relation.evidence is not None:
        total += _PURPOSE
    if relation.sequence is not None and not begins(relation):
        total += _NUMBER
    if cause is not None:
        # Where it names its own source as its cause, it says that it continues what led there.
        total += _CAUSE if cause != relation.source_node_id else 2 * _CAUSE
    return total + _TIE * count_statements(relation)


def count_statements(relation: Relation) -> int:
    """Return how much a relation states beside its reason, from 0 to 4; it breaks ties and no more."""
    said = (relation.method, relation.evidence, relation.decision_id)
    return 3 - said.count(None) + (0 if is_doubted(relation) else 1)


def begins(relation: Relation) -> bool:
    """Say whether a relation calls itself the first step of a chain; that speaks for it only where a path begins."""
    return relation.sequence in _FIRST


def is_doubted(relation: Relation) -> bool:
    """Say whether its own author gave the relation a low confidence."""
    confidence = relation.confidence
    if confidence is None:
        return False
    return confidence < 0.5 if isinstance(confidence, (int, float)) else confidence.strip().lower() == "low"


def is_explained(relation: Relation) -> bool:
    """Say whether a relation states a reason, a purpose, or what shows it."""
    return bool(relation.rationale or relation.motivation or relation.evidence)


def reason(relation: Relation) -> str | None:
    """Return the best answer the relation has to *why*: its rationale, or else its motivation."""
    return relation.rationale or relation.motivation


def by_salience(relations: Iterable[Relation], depths: Mapping[str, int]) -> list[Relation]:
    """Order relations most salient first: by class, then by the depth of their nearer end; ties keep their order."""
    depth_of = depths.get

    def key(relation: Relation) -> int:
        source, target = depth_of(relation.source_node_id, _FAR), depth_of(relation.target_node_id, _FAR)
        return 2 * _FAR * CLASS_RANK[relation.semantic_class] + (min(target, source))

    return sorted(relations, key=key)


def depths(bundle: Bundle, start: Iterable[str]) -> dict[str, int]:
    """Return how many relations, in any direction, each node is away from the nodes in `start`."""
    neighbours: dict[str, list[str]] = {}
    for relation in bundle.relations:
        neighbours.setdefault(relation.source_node_id, []).append(relation.target_node_id)
        neighbours.setdefault(relation.target_node_id, []).append(relation.source_node_id)
    found = dict.fromkeys(start, 0)
    ring, depth = list(found), 0
    while ring:
        depth += 1
        reached = [other for node in ring for other in neighbours.get(node, ())]
        ring = [node for node in dict.fromkeys(reached) if node not in found]
        found.update(dict.fromkeys(ring, depth))
    return found


def causal_density(bundle: Bundle) -> float:
    """Return the share of relations that are causal, motivational or evidential; 0 where there are none."""
    if not bundle.relations:
        return 0.0
    return sum(relation.semantic_class in DENSITY_CLASSES for relation in bundle.relations) / len(bundle.relations)


_FAR: Final = 1 << 30
