"""What a graph is made of: nodes, explained relations, details, and the bundle that holds them together.

Everything here is immutable, checks itself when it is built, and turns into plain JSON values and back.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final, Self, TypeVar, cast

from ctx_core.errors import InvalidBundle, NodeNotFound

if TYPE_CHECKING:
    from collections.abc import Iterable


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


class _Plain:
    """Conversion to and from plain JSON values, field by field."""

    __slots__ = ()

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as plain JSON values; None and empty values are left out."""
        named = ((f.name, getattr(self, f.name)) for f in fields(cast("Any", self)) if f.init)
        return {name: _plain(value) for name, value in named if value not in _EMPTY}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """Build from what `to_dict` returned; an unknown key is an error that names the known ones."""
        known = {f.name for f in fields(cast("Any", cls)) if f.init}
        unknown = sorted(set(values) - known)
        if unknown:
            raise InvalidBundle(f"{cls.__name__} has no field {unknown[0]!r}; known are {', '.join(sorted(known))}")
        try:
            return cls(**values)
        except TypeError as error:
            raise InvalidBundle(f"{cls.__name__} cannot be built: {error}") from error


@dataclass(frozen=True, slots=True, kw_only=True)
class Provenance(_Plain):
    """Who said it, and when.

    Args:
        observed_at: A datetime or ISO 8601 text; its zone is kept.
    """

    source_kind: SourceKind | str = SourceKind.UNKNOWN
    source_agent: str | None = None
    observed_at: datetime | str | None = None

    def __post_init__(self) -> None:
        """Parse the kind and the time."""
        _set(self, "source_kind", _member(SourceKind, self.source_kind, "source_kind"))
        _set(self, "source_agent", _text(self.source_agent))
        _set(self, "observed_at", _time(self.observed_at, "observed_at"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Node(_Plain):
    """One thing of the graph: an incident, a decision, a task, an artifact.

    Args:
        node_kind: Free vocabulary of the application.
        status: Free vocabulary too, such as `active` or `blocked`.
        properties: Plain JSON values by name.
    """

    node_id: str
    node_kind: str = ""
    title: str = ""
    summary: str = ""
    status: str = ""
    labels: Sequence[str] = ()
    properties: Mapping[str, Any] = field(default_factory=dict, hash=False)
    provenance: Provenance | None = None

    def __post_init__(self) -> None:
        """Check the id, and copy what the caller could still change."""
        _require_id(self.node_id, "node_id of a node")
        for name in ("node_kind", "title", "summary", "status"):
            _set(self, name, getattr(self, name) or "")
        _set(self, "labels", _strings(self.labels))
        _set(self, "properties", dict(self.properties or {}))
        _set(self, "provenance", _nested(Provenance, self.provenance))


@dataclass(frozen=True, slots=True, kw_only=True)
class Relation(_Plain):
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
        valid_from: A datetime or ISO 8601 text, as all times here; zones are kept.
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
        _require_id(self.source_node_id, "source_node_id of a relation")
        _require_id(self.target_node_id, "target_node_id of a relation")
        _require_id(self.relation_type, "relation_type of a relation")
        _set(self, "semantic_class", _member(RelationClass, self.semantic_class, "semantic_class"))
        for name in _RELATION_TEXTS:
            _set(self, name, _text(getattr(self, name)))
        for name in ("sequence", "rank"):
            _set(self, name, _count(getattr(self, name), name))
        for name in _RELATION_TIMES:
            _set(self, name, _time(getattr(self, name), name))
        _set(self, "provenance", _nested(Provenance, self.provenance))
        _set(self, "relation_id", self.relation_id or f"rel-{_digest(_row(self))[:16]}")


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeDetail(_Plain):
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
        _require_id(self.node_id, "node_id of a detail")
        _set(self, "detail", self.detail or "")
        _set(self, "content_hash", self.content_hash or _digest(self.detail))


@dataclass(frozen=True, slots=True, kw_only=True)
class Bundle(_Plain):
    """The part of a graph that a render starts from, checked and in canonical order.

    Nodes are held root first, then by id; relations by sequence, ends, type and id; details by node. So two bundles
    of the same facts are equal however they were put together. Facts stated twice are held once.

    Raises:
        InvalidBundle: The root is missing, an id stands for two different things, or a relation or detail
            points outside of the bundle.
    """

    root_node_id: str
    nodes: Sequence[Node]
    relations: Sequence[Relation] = ()
    details: Sequence[NodeDetail] = ()
    revision: int | None = None
    nodes_by_id: Mapping[str, Node] = field(init=False, repr=False, compare=False)
    _content_hash: str | None = field(init=False, repr=False, compare=False, default=None)

    def __post_init__(self) -> None:
        """Check every invariant, and bring the parts into canonical order."""
        nodes = _unique(_all(Node, self.nodes), "node_id")
        if self.root_node_id not in nodes:
            raise InvalidBundle(f"root node {self.root_node_id!r} is not among the {len(nodes)} nodes of the bundle")
        relations = _unique(_all(Relation, self.relations), "relation_id").values()
        details = _unique(_all(NodeDetail, self.details), "node_id")
        _check_ends(relations, nodes)
        for node_id in details:
            if node_id not in nodes:
                raise InvalidBundle(f"a detail belongs to node {node_id!r}, which is not in the bundle")
        ids = [self.root_node_id, *sorted(nodes.keys() - {self.root_node_id})]
        _set(self, "nodes_by_id", {node_id: nodes[node_id] for node_id in ids})
        _set(self, "nodes", tuple(self.nodes_by_id.values()))
        _set(self, "relations", tuple(sorted(relations, key=_relation_order)))
        _set(self, "details", tuple(details[node_id] for node_id in ids if node_id in details))

    @property
    def root(self) -> Node:
        """The node that the bundle is about."""
        return self.nodes_by_id[self.root_node_id]

    @property
    def content_hash(self) -> str:
        """SHA-256 in hex over everything the bundle says; the revision is not part of it."""
        if self._content_hash is None:
            rows = [[_row(item) for item in items] for items in (self.nodes, self.relations, self.details)]
            _set(self, "_content_hash", _digest(json.dumps([self.root_node_id, rows])))
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


_EMPTY: Final = (None, "", (), {})
_RELATION_TEXTS: Final = ("rationale", "motivation", "method", "decision_id", "caused_by_node_id", "evidence")
_RELATION_TIMES: Final = ("occurred_at", "observed_at", "ingested_at", "valid_from", "valid_until")
_UNORDERED: Final = 2**63

_E = TypeVar("_E", bound=StrEnum)
_P = TypeVar("_P", bound=_Plain)


def _set(target: object, name: str, value: object) -> None:
    object.__setattr__(target, name, value)


def _plain(value: Any) -> Any:
    if isinstance(value, _Plain):
        return value.to_dict()
    if isinstance(value, StrEnum):
        return value.value
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in cast("Mapping[Any, Any]", value).items()}
    if isinstance(value, (tuple, list)):
        return [_plain(item) for item in cast("Sequence[Any]", value)]
    return value


def _row(item: _Plain) -> str:
    """Say everything about an item in one canonical line of JSON."""
    values = [getattr(item, f.name) for f in fields(cast("Any", item)) if f.init]
    return json.dumps(values, default=_plain_or_text, sort_keys=True)


def _plain_or_text(value: Any) -> Any:
    plain = _plain(value)
    return str(value) if plain is value else plain


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _require_id(value: object, what: str) -> None:
    if not isinstance(value, str) or not value.strip():
        raise InvalidBundle(f"the {what} must be text that is not blank, not {value!r}")


def _member(kind: type[_E], value: object, what: str) -> _E:
    try:
        return kind(str(value).strip())
    except ValueError:
        known = ", ".join(kind)
        raise InvalidBundle(f"unknown {what} {value!r}; known are {known}") from None


def _text(value: str | None) -> str | None:
    return value if value is not None and str(value).strip() else None


def _strings(values: Sequence[str] | None) -> tuple[str, ...]:
    return (values,) if isinstance(values, str) else tuple(values or ())


def _count(value: object, what: str) -> int | None:
    if value is None:
        return None
    text = str(value).strip()
    if isinstance(value, bool) or not (text.isascii() and text.isdigit()):
        raise InvalidBundle(f"{what} must be a whole number from 0, not {value!r}")
    return int(text)


def _time(value: datetime | str | None, what: str) -> datetime | None:
    if value is None or isinstance(value, datetime):
        return value
    if not value.strip():
        return None
    try:
        return datetime.fromisoformat(value.strip())
    except ValueError:
        raise InvalidBundle(f"{what} must be an ISO 8601 time, not {value!r}") from None


def _nested(kind: type[_P], value: Any) -> _P | None:
    return kind.from_dict(value) if isinstance(value, Mapping) else value


def _all(kind: type[_P], items: Iterable[Any]) -> list[_P]:
    built = [kind.from_dict(item) if isinstance(item, Mapping) else item for item in items]
    for item in built:
        if not isinstance(item, kind):
            raise InvalidBundle(f"expected a {kind.__name__}, not {item!r}")
    return built


def _unique(items: Iterable[_P], key: str) -> dict[str, _P]:
    found: dict[str, _P] = {}
    for item in items:
        identity = getattr(item, key)
        if found.setdefault(identity, item) != item:
            raise InvalidBundle(f"two different {type(item).__name__}s carry the {key} {identity!r}")
    return found


def _check_ends(relations: Iterable[Relation], nodes: Mapping[str, Node]) -> None:
    for relation in relations:
        for end in (relation.source_node_id, relation.target_node_id):
            if end not in nodes:
                way = f"{relation.source_node_id!r} --{relation.relation_type}--> {relation.target_node_id!r}"
                raise InvalidBundle(f"relation {way} has an end outside of the bundle: {end!r}")


def _relation_order(relation: Relation) -> tuple[int, str, str, str, str]:
    step = _UNORDERED if relation.sequence is None else relation.sequence
    return step, relation.source_node_id, relation.target_node_id, relation.relation_type, relation.relation_id
