"""Which relations are read first where there are too many, and which are followed against their arrow."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ctx_core.graph.model import RelationClass

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ctx_core.graph.model import Relation

_CLASSES: Final = tuple(RelationClass)
_CLASS_RANK: Final[Mapping[str, int]] = {str(relation_class): rank for rank, relation_class in enumerate(_CLASSES)}
_REASONS: Final = ("rationale", "motivation", "evidence")
# Ranks of relations that state a reason come first, class by class, and those of bare relations after them.
_FIRST_BARE_RANK: Final = len(_CLASSES)
# A relation that only says how things are put together is followed along its arrow alone, and so is a step without a reason.
# All others explain: by the reason they state, or by their class.
EXPLANATORY_RANKS: Final = tuple(
    rank
    for rank in range(2 * _FIRST_BARE_RANK)
    if _CLASSES[rank % _FIRST_BARE_RANK] is not RelationClass.STRUCTURAL
    and rank != _FIRST_BARE_RANK + _CLASS_RANK[RelationClass.PROCEDURAL]
)
_EXPLANATORY: Final = frozenset(EXPLANATORY_RANKS)


def rank_of_values(values: Mapping[str, object]) -> int:
    """Return the place of a relation, given its plain fields, in the order of reading."""
    class_rank = _CLASS_RANK.get(str(values.get("semantic_class", RelationClass.STRUCTURAL)), len(_CLASSES) - 1)
    return class_rank if any(map(values.get, _REASONS)) else _FIRST_BARE_RANK + class_rank


def rank_of(relation: Relation) -> int:
    """Return the place of a relation in the order of reading."""
    class_rank = _CLASS_RANK[relation.semantic_class]
    is_bare = relation.rationale is relation.motivation is relation.evidence is None
    return _FIRST_BARE_RANK + class_rank if is_bare else class_rank


def class_of_rank(rank: int) -> RelationClass:
    """Return the relation class that a rank stands for."""
    return _CLASSES[rank % len(_CLASSES)]


def is_explanatory(relation: Relation) -> bool:
    """Return True if a relation explains something, and is followed both ways."""
    return rank_of(relation) in _EXPLANATORY
