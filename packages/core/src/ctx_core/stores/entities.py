"""Registers of the kernel turned into parts of a graph, the same way in every store."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from ctx_core.errors import StoreCorrupt
from ctx_core.graph.model import Node, NodeDetail, Relation, RelationClass

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ctx_core.kernel.register import Register

_CLASS_RANK: Final = {str(semantic_class): rank for rank, semantic_class in enumerate(RelationClass)}
_UNORDERED: Final = 2**53


def as_node(node_id: str, values: Mapping[str, Any]) -> Node:
    """Return the node that a register's values say."""
    return _built(Node, node_id, {**values, "node_id": node_id})


def as_relation(relation_id: str, values: Mapping[str, Any]) -> Relation:
    """Return the relation that a register's values say."""
    return _built(Relation, relation_id, {**values, "relation_id": relation_id})


def as_detail(node_id: str, values: Mapping[str, Any]) -> NodeDetail:
    """Return the detail that a register's values say."""
    return _built(NodeDetail, node_id, {**values, "node_id": node_id})


def ends(register: Register) -> tuple[str | None, str | None]:
    """Return the source and target that a relation's register names."""
    values = register.values
    return values.get("source_node_id"), values.get("target_node_id")


def salience(register: Register) -> tuple[int, int]:
    """Return what a relation is kept for first where there are too many: its class, then its place in a sequence."""
    values = register.values
    rank = _CLASS_RANK.get(values.get("semantic_class", RelationClass.STRUCTURAL), len(_CLASS_RANK))
    return rank, int(values.get("sequence", _UNORDERED))


def _built(kind: Any, entity_id: str, values: Mapping[str, Any]) -> Any:
    try:
        return kind.from_dict(values)
    except ValueError as error:
        raise StoreCorrupt(f"the {kind.__name__} {entity_id!r} cannot be read: {error}") from None
