"""What a graph is made of: nodes, explained relations, details, and the bundle that holds them together.

Everything here is immutable, checks itself when it is built, and turns into plain JSON values and back.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final, cast

from ctx_core.errors import InvalidBundle, NodeNotFound
from ctx_core.graph.plain import (
    Plain,
    all_of,
    assign,
    canonical,
    count_or_none,
    digest,
    member,
    nested,
    parse_fields,
    require_id,
    require_interval,
    set_given_fields,
    strings,
    text_or_none,
    time_or_none,
    unique,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from datetime import datetime

    from ctx_core.graph.plain import Parser


class RelationClass(StrEnum):
    """What kind of statement a relation makes; declared from the most to the least explanatory."""

    CAUSAL = "causal"
    MOTIVATIONAL = "motivational"
    EVIDENTIAL = "evidential"
    CONSTRAINT = "constraint"
    PROCEDURAL = "procedural"
    STRUCTURAL = "structural"


class SourceKind(StrEnum):
    """Who or what stated a fact."""

    HUMAN = "human"
    AGENT = "agent"
    PROJECTION = "projection"
    DERIVED = "derived"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class Provenance(Plain):
    """Who said it, and when.

    Args:
        observed_at: A datetime or ISO 8601 text; its zone is kept.
    """

    source_kind: SourceKind | str = SourceKind.UNKNOWN
    source_agent: str | None = None
    observed_at: datetime | str | None = None

    def __post_init__(self) -> None:
        """Parse the kind and the time."""
        assign(self, "source_kind", member(SourceKind, self.source_kind, "source_kind"))
        assign(self, "source_agent", text_or_none(self.source_agent))
        assign(self, "observed_at", time_or_none(self.observed_at, "observed_at"))


@set_given_fields
@dataclass(frozen=True, kw_only=True)
class Node(Plain):
    """One thing of the graph: an incident, a decision, a task, an artifact.

    Args:
        node_kind: Free vocabulary of the application.
        status: Free vocabulary too, such as `active` or `blocked`.
        properties: Plain JSON values by name.
        valid_from: When the node began to exist, as a datetime or ISO 8601 text; None leaves it open.
        valid_until: When it ceased to exist; this moment no longer counts.
    """

    node_id: str
    node_kind: str = ""
    title: str = ""
    summary: str = ""
    status: str = ""
    labels: Sequence[str] = ()
    properties: Mapping[str, Any] = field(default_factory=dict, hash=False)
    provenance: Provenance | None = None
    valid_from: datetime | str | None = None
    valid_until: datetime | str | None = None

    def __post_init__(self) -> None:
        """Check the id and the times, and copy what the caller could still change."""
        require_id(self.node_id, "node_id of a node")
        for name in _NODE_TEXTS:
            assign(self, name, getattr(self, name) or "")
        assign(self, "labels", strings(self.labels))
        assign(self, "properties", {str(name): value for name, value in (self.properties or {}).items()})
        parse_fields(self, _NODE_PARSERS)
        require_interval(self.valid_from, self.valid_until, f"node {self.node_id!r}")


@set_given_fields
@dataclass(frozen=True, kw_only=True)
class Relation(Plain):
    """One directed, explained relation between two nodes.

    Args:
        semantic_class: A `RelationClass` or its value.
        rationale: Why the relation exists.
        motivation: What it is for.
        method: How it was established.
        caused_by_node_id: The node that brought this relation about.
        confidence: Free vocabulary (`high`, `low`) or a number in [0, 1].
        sequence: Step order along a chain, from 0.
        rank: Order among alternatives, from 0.
        valid_from: When it began to hold: a datetime or ISO 8601 text, as all times here; zones are kept.
        valid_until: When it ceased to hold; this moment no longer counts. It may not lie before `valid_from`.
        relation_id: An id of its own. When left out it is derived from everything the relation says, so two
            different relations of one type between the same two nodes both live.
    """

    source_node_id: str
    target_node_id: str
    relation_type: str
    semantic_class: RelationClass | str = RelationClass.STRUCTURAL
    rationale: str | None = None
    motivation: str | None = None
    method: str | None = None
    decision_id: str | None = None
    caused_by_node_id: str | None = None
    evidence: str | None = None
    confidence: str | float | None = None
    sequence: int | None = None
    rank: int | None = None
    occurred_at: datetime | str | None = None
    observed_at: datetime | str | None = None
    ingested_at: datetime | str | None = None
    valid_from: datetime | str | None = None
    valid_until: datetime | str | None = None
    provenance: Provenance | None = None
    relation_id: str = ""

    def __post_init__(self) -> None:
        """Parse class, numbers and times; blank text counts as none; derive the id."""
        for name in _RELATION_ENDS:
            require_id(getattr(self, name), f"{name} of a relation")
        assign(self, "semantic_class", member(RelationClass, self.semantic_class, "semantic_class"))
        parse_fields(self, _RELATION_PARSERS)
        if self.valid_from is not None and self.valid_until is not None:
            way = f"{self.source_node_id!r} --{self.relation_type}--> {self.target_node_id!r}"
            require_interval(self.valid_from, self.valid_until, f"relation {way}")
        if not self.relation_id:
            assign(self, "relation_id", f"rel-{digest(canonical(self))[:16]}")


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeDetail(Plain):
    """The long text that belongs to a node: a log, a config, an error trace.

    Args:
        content_hash: SHA-256 of `detail` in hex; derived when left out.
    """

    node_id: str
    detail: str = ""
    revision: int = 1
    content_hash: str = ""

    def __post_init__(self) -> None:
        """Check the id and derive the hash."""
        require_id(self.node_id, "node_id of a detail")
        assign(self, "detail", self.detail or "")
        assign(self, "content_hash", self.content_hash or digest(self.detail))


@dataclass(frozen=True, slots=True, kw_only=True)
class Bundle(Plain):
    """The part of a graph that a render starts from, checked and in canonical order.

    Nodes are held root first, then by id; relations by sequence, ends, type and id; details by node. So two bundles
    of the same facts are equal however they were put together. Facts stated twice are held once.

    Args:
        unread: How much of the graph was left out when the bundle was read: a count by relation class, and `nodes`.
            A render counts it among what it leaves out.
        warnings: What of the graph could not be read as it was.

    Raises:
        InvalidBundle: The root is missing, an id stands for two different things, or a relation or detail
            points outside of the bundle.
    """

    root_node_id: str
    nodes: Sequence[Node]
    relations: Sequence[Relation] = ()
    details: Sequence[NodeDetail] = ()
    revision: int | None = None
    unread: Mapping[str, int] = field(default_factory=dict[str, int], hash=False, compare=False)
    warnings: Sequence[str] = field(default=(), compare=False)
    nodes_by_id: Mapping[str, Node] = field(init=False, repr=False, compare=False)
    _content_hash: str | None = field(init=False, repr=False, compare=False, default=None)

    def __post_init__(self) -> None:
        """Check every invariant, and bring the parts into canonical order."""
        nodes = unique(all_of(Node, self.nodes), "node_id")
        if self.root_node_id not in nodes:
            raise InvalidBundle(f"root node {self.root_node_id!r} is not among the {len(nodes)} nodes of the bundle")
        relations = unique(all_of(Relation, self.relations), "relation_id").values()
        details = unique(all_of(NodeDetail, self.details), "node_id")
        _check_ends(relations, nodes)
        for node_id in details:
            if node_id not in nodes:
                raise InvalidBundle(f"a detail belongs to node {node_id!r}, which is not in the bundle")
        ids = [self.root_node_id, *sorted(nodes.keys() - {self.root_node_id})]
        assign(self, "nodes_by_id", {node_id: nodes[node_id] for node_id in ids})
        assign(self, "nodes", tuple(self.nodes_by_id.values()))
        assign(self, "relations", tuple(sorted(relations, key=_relation_order)))
        assign(self, "details", tuple(details[node_id] for node_id in ids if node_id in details))
        assign(self, "warnings", tuple(self.warnings))
        assign(self, "unread", {str(name): int(count) for name, count in self.unread.items() if count})

    @property
    def root(self) -> Node:
        """The node that the bundle is about."""
        return self.nodes_by_id[self.root_node_id]

    @property
    def content_hash(self) -> str:
        """SHA-256 in hex over everything the bundle says; the revision is not part of it."""
        if self._content_hash is None:
            rows = [[canonical(item) for item in items] for items in (self.nodes, self.relations, self.details)]
            assign(self, "_content_hash", digest(json.dumps([self.root_node_id, rows])))
        return cast("str", self._content_hash)

    def node(self, node_id: str) -> Node:
        """Return a node by id, or raise `NodeNotFound`."""
        if node_id not in self.nodes_by_id:
            raise NodeNotFound(node_id)
        return self.nodes_by_id[node_id]

    @classmethod
    def from_triples(cls, triples: Iterable[Sequence[str]], *, root_node_id: str | None = None) -> Bundle:
        """Build from (source, type, target) or (source, type, target, rationale) rows; the first source is the root."""
        from ctx_core.graph.convert import from_triples  # noqa: PLC0415 - conversions build on this module

        return from_triples(triples, root_node_id=root_node_id)

    @classmethod
    def from_networkx(cls, graph: Any, *, root_node_id: Any) -> Bundle:
        """Build from a networkx graph whose attributes carry the field names of `Node` and `Relation`."""
        from ctx_core.graph.convert import from_networkx  # noqa: PLC0415

        return from_networkx(graph, root_node_id=root_node_id)

    @classmethod
    def from_graph_documents(cls, documents: Iterable[Any], *, root_node_id: str) -> Bundle:
        """Build from objects with `nodes` (id, type, properties) and `relationships` (source, target, type, properties)."""
        from ctx_core.graph.convert import from_graph_documents  # noqa: PLC0415

        return from_graph_documents(documents, root_node_id=root_node_id)


def copy_node(node: Node) -> Node:
    """Return a node with properties of its own; everything else about a node is immutable."""
    copied = object.__new__(Node)
    assign(copied, "__dict__", {**vars(node), "properties": dict(node.properties)})
    return copied


_NODE_TEXTS: Final = ("node_kind", "title", "summary", "status")
_RELATION_ENDS: Final = ("source_node_id", "target_node_id", "relation_type")
_TEXTS: Final = ("rationale", "motivation", "method", "decision_id", "caused_by_node_id", "evidence")
_TIMES: Final = ("occurred_at", "observed_at", "ingested_at", "valid_from", "valid_until")
_NODE_PARSERS: Final[Mapping[str, Parser]] = {
    "provenance": lambda value, _: nested(Provenance, value),
    "valid_from": time_or_none,
    "valid_until": time_or_none,
}
_RELATION_PARSERS: Final[Mapping[str, Parser]] = {
    **dict.fromkeys(_TEXTS, lambda value, _: text_or_none(value)),
    **dict.fromkeys(("sequence", "rank"), count_or_none),
    **dict.fromkeys(_TIMES, time_or_none),
    "provenance": lambda value, _: nested(Provenance, value),
}
_UNORDERED: Final = 2**63


def _check_ends(relations: Iterable[Relation], nodes: Mapping[str, Node]) -> None:
    for relation in relations:
        for end in (relation.source_node_id, relation.target_node_id):
            if end not in nodes:
                way = f"{relation.source_node_id!r} --{relation.relation_type}--> {relation.target_node_id!r}"
                raise InvalidBundle(f"relation {way} has an end outside of the bundle: {end!r}")


def _relation_order(relation: Relation) -> tuple[int, str, str, str, str]:
    step = _UNORDERED if relation.sequence is None else relation.sequence
    return step, relation.source_node_id, relation.target_node_id, relation.relation_type, relation.relation_id
