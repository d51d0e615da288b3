"""Bundles from what other libraries call a graph; their objects are only looked at, never imported."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Any, Final

from ctx_core.errors import InvalidBundle
from ctx_core.graph.model import Bundle, Node, Relation

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

_NODE_FIELDS: Final = frozenset(f.name for f in fields(Node)) - {"node_id", "properties"}
_RELATION_FIELDS: Final = frozenset(f.name for f in fields(Relation)) - {"source_node_id", "target_node_id"}
# What other graphs call the same thing, best name first.
_NODE_NAMES: Final = {"node_kind": ("kind", "type"), "title": ("name", "label"), "summary": ("description",)}
_RELATION_NAMES: Final = {
    "relation_type": ("type", "relation", "label"),
    "semantic_class": ("class",),
    "rationale": ("reason", "description", "because"),
    "caused_by_node_id": ("caused_by",),
}


def from_triples(triples: Iterable[Sequence[str]], *, root_node_id: str | None = None) -> Bundle:
    """Build from (source, type, target) or (source, type, target, rationale) rows; the first source is the root.

    A row with a rationale is taken as causal, one without as structural.
    """
    relations = [_from_triple(row) for row in triples]
    if root_node_id is None:
        if not relations:
            raise InvalidBundle("no triple names a root; pass root_node_id")
        root_node_id = relations[0].source_node_id
    ids = [root_node_id, *(end for r in relations for end in (r.source_node_id, r.target_node_id))]
    nodes = [Node(node_id=node_id, title=node_id) for node_id in dict.fromkeys(ids)]
    return Bundle(root_node_id=root_node_id, nodes=nodes, relations=relations)


def _from_triple(row: Sequence[str]) -> Relation:
    if isinstance(row, str) or len(row) not in (3, 4):
        raise InvalidBundle(f"a triple is (source, type, target) with an optional rationale, not {row!r}")
    source, relation_type, target, *rest = map(str, row)
    rationale = rest[0] if rest else None
    return Relation(
        source_node_id=source,
        target_node_id=target,
        relation_type=relation_type,
        semantic_class="causal" if rationale else "structural",
        rationale=rationale,
    )


def from_networkx(graph: Any, *, root_node_id: Any) -> Bundle:
    """Build from a (multi) graph of networkx; an undirected edge is taken in the order in which it is listed.

    Attributes named as fields of `Node` and `Relation` fill them, common other names too (`type`, `label`, `reason`);
    further node attributes become properties.
    """
    nodes = [_node(str(node_id), attributes) for node_id, attributes in graph.nodes(data=True)]
    relations = [
        _relation(str(source), str(target), attributes) for source, target, attributes in graph.edges(data=True)
    ]
    return Bundle(root_node_id=str(root_node_id), nodes=nodes, relations=relations)


def from_graph_documents(documents: Iterable[Any], *, root_node_id: str) -> Bundle:
    """Build from objects with `nodes` (id, type, properties) and `relationships` (source, target, type, properties).

    Nodes that several documents name are one node; what the later ones add to it is kept.
    """
    attributes: dict[str, dict[str, Any]] = {}
    relations: list[Relation] = []
    for document in documents:
        for relationship in document.relationships:
            source, target = relationship.source, relationship.target
            for node in (source, target):
                attributes.setdefault(str(node.id), {}).update({"type": node.type, **node.properties})
            said = {"type": relationship.type, **relationship.properties}
            relations.append(_relation(str(source.id), str(target.id), said))
        for node in document.nodes:
            attributes.setdefault(str(node.id), {}).update({"type": node.type, **node.properties})
    nodes = [_node(node_id, said) for node_id, said in attributes.items()]
    return Bundle(root_node_id=root_node_id, nodes=nodes, relations=relations)


def _node(node_id: str, attributes: Mapping[Any, Any]) -> Node:
    said, rest = _fields(attributes, _NODE_FIELDS, _NODE_NAMES)
    said.setdefault("title", node_id)
    return Node(node_id=node_id, properties={**rest.pop("properties", {}), **rest}, **said)


def _relation(source: str, target: str, attributes: Mapping[Any, Any]) -> Relation:
    said, _ = _fields(attributes, _RELATION_FIELDS, _RELATION_NAMES)
    said.setdefault("relation_type", "RELATES_TO")
    return Relation(source_node_id=source, target_node_id=target, **said)


def _fields(
    attributes: Mapping[Any, Any], known: frozenset[str], other_names: Mapping[str, Sequence[str]]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Split attributes into those that fill a field, under its name or another, and the rest."""
    rest = {str(name): value for name, value in attributes.items()}
    said = {name: rest.pop(name) for name in known & rest.keys()}
    for name, others in other_names.items():
        found = next((other for other in others if rest.get(other)), None)
        if name not in said and found is not None:
            said[name] = rest.pop(found)
    return said, rest
