"""What a caller asks of the kernel, and what it gets back when the kernel accepts."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, Final, TypeAlias, cast

from ctx_core.errors import InvalidInput
from ctx_core.graph.model import Node, NodeDetail, Relation

DEFAULT_ROLE: Final = "default"
# Revision, clock and place in the command make up a stamp of fixed width, which holds four digits for the place.
MAX_CHANGES: Final = 10_000
# Half of what an index entry of Neo4j may hold (8,167 bytes), for an entry holds a prefix beside the id.
MAX_ID_BYTES: Final = 4_000
# Readers in many languages stop at some hundred levels; no payload that a person thought of comes near.
MAX_NESTING: Final = 100


class Operation(StrEnum):
    """What happens to an entity."""

    CREATE = "CREATE"
    UPDATE = "UPDATE"
    UPSERT = "UPSERT"
    DELETE = "DELETE"


class EntityKind(StrEnum):
    """What an entity is."""

    NODE = "node"
    RELATION = "relation"
    DETAIL = "detail"


@dataclass(frozen=True, slots=True, order=True)
class Aggregate:
    """The unit of consistency: one root node as one role sees it."""

    root_node_id: str
    role: str = DEFAULT_ROLE

    def __str__(self) -> str:
        return f"context {self.root_node_id!r} of role {self.role!r}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One change of one entity.

    Args:
        operation: CREATE and UPSERT write the whole entity, UPDATE only the fields it names (None clears one),
            DELETE removes it. An UPDATE of something that does not exist waits until it does.
        entity_id: The id of a node, of the node a detail belongs to, or of a relation. A relation without one is
            known by its ends and type.
        payload: The entity's fields by name, as plain JSON values.
        reason: Why; kept in the log.
        scopes: Whom it concerns; kept in the log.
    """

    operation: Operation | str = Operation.UPSERT
    entity_kind: EntityKind | str
    entity_id: str = ""
    payload: Mapping[str, Any] = field(default_factory=dict, hash=False)
    reason: str | None = None
    scopes: Sequence[str] = ()

    def __post_init__(self) -> None:
        """Read operation and kind, and check the payload against the entity it describes."""
        operation = _member(Operation, str(self.operation).upper(), "operation")
        kind = _member(EntityKind, str(self.entity_kind).lower(), "entity kind")
        if not _is_within(self.payload, MAX_NESTING):
            raise InvalidInput(f"the payload of {self.entity_id!r} is nested more than {MAX_NESTING} levels deep")
        whole = operation in (Operation.CREATE, Operation.UPSERT)
        entity_id, payload = _CHECKED[kind](self.entity_id, dict(self.payload), whole=whole)
        if operation is Operation.DELETE:
            payload = {}
        _set(self, operation=operation, entity_kind=kind, entity_id=entity_id, payload=payload)
        _set(self, scopes=tuple(self.scopes), reason=self.reason or None)

    def to_dict(self) -> dict[str, Any]:
        """Return all fields as plain JSON values."""
        return {f.name: getattr(self, f.name) for f in fields(self)} | {"scopes": list(self.scopes)}


AnyChange: TypeAlias = "Change | Mapping[str, Any] | Node | Relation | NodeDetail"


def as_change(value: AnyChange | object) -> Change:
    """Return a change; a node, relation or detail stands for its UPSERT, and `payload_json` may hold the payload as text."""
    match value:
        case Change():
            return value
        case Node():
            return Change(entity_kind=EntityKind.NODE, entity_id=value.node_id, payload=value.to_dict())
        case Relation():
            return Change(entity_kind=EntityKind.RELATION, entity_id=value.relation_id, payload=value.to_dict())
        case NodeDetail():
            return Change(entity_kind=EntityKind.DETAIL, entity_id=value.node_id, payload={"detail": value.detail})
        case Mapping():
            return _change_from(dict(cast("Mapping[str, Any]", value)))
        case _:
            raise InvalidInput(f"a change is a Change, a mapping, or a part of a graph, not {type(value).__name__}")


@dataclass(frozen=True, slots=True, kw_only=True)
class UpdateContext:
    """Ask for changes to the graph under one root node, on behalf of one role.

    Args:
        changes: `Change` objects, mappings of their fields, or nodes, relations and details to upsert.
        idempotency_key: Accepted once per aggregate; sending it again returns the first outcome.
        expected_revision: Refuse unless the aggregate is at this revision; 0 means "must be new".
        expected_content_hash: Refuse unless the aggregate's last event has this hash.
        occurred_at: When it happened, as a datetime or ISO 8601 text; now when left out. Without a zone it counts as UTC.
        allow_empty: Accept an empty list of changes as a revision that changes nothing.
    """

    root_node_id: str
    role: str = DEFAULT_ROLE
    changes: Sequence[AnyChange] = ()
    idempotency_key: str | None = None
    expected_revision: int | None = None
    expected_content_hash: str | None = None
    requested_by: str | None = None
    occurred_at: datetime | str | None = None
    correlation_id: str | None = None
    causation_id: str | None = None
    allow_empty: bool = False

    def __post_init__(self) -> None:
        """Check every field that can be checked without a store."""
        for name in ("root_node_id", "role"):
            require_text(getattr(self, name), name)
        for name in ("idempotency_key", "correlation_id", "causation_id"):
            if getattr(self, name) is not None:
                require_text(getattr(self, name), name)
        try:
            _set(self, changes=tuple(as_change(change) for change in self.changes))
        except RecursionError:
            raise InvalidInput(f"a payload is nested more than {MAX_NESTING} levels deep") from None
        if not self.changes and not self.allow_empty:
            raise InvalidInput("changes is empty; pass allow_empty=True for a revision that changes nothing")
        if len(self.changes) > MAX_CHANGES:
            raise InvalidInput(
                f"{len(self.changes)} changes in one command, and at most {MAX_CHANGES} are taken: send them as several"
                " commands, or call ContextKernel.load(), which splits them"
            )
        if self.expected_revision is not None and self.expected_revision < 0:
            raise InvalidInput(f"expected_revision must be 0 or more, not {self.expected_revision}")
        _set(self, occurred_at=_zoned(self.occurred_at))

    @property
    def aggregate(self) -> Aggregate:
        """What the command is about."""
        return Aggregate(self.root_node_id, self.role)

    @property
    def checked_changes(self) -> tuple[Change, ...]:
        """The changes, all of them `Change` objects."""
        return cast("tuple[Change, ...]", self.changes)

    @property
    def content_hash(self) -> str:
        """SHA-256 in hex over the canonical JSON of the changes, reasons and scopes included."""
        return canonical_hash([change.to_dict() for change in self.checked_changes])


@dataclass(frozen=True, slots=True, kw_only=True)
class Accepted:
    """What became of a command.

    Args:
        revision: The aggregate's revision after it.
        content_hash: The hash to expect in the next command.
        is_replay: The idempotency key had been accepted before, and this is the first outcome again.
        is_projected: The read model shows it already; otherwise a worker will bring it there.
    """

    root_node_id: str
    role: str
    revision: int
    content_hash: str
    event_id: str
    accepted_at: datetime
    is_replay: bool = False
    is_projected: bool = True
    warnings: tuple[str, ...] = ()


def canonical_json(value: object) -> str:
    """Return the one JSON text of a plain value: sorted keys, no spaces, no NaN, no half of a surrogate pair."""
    try:
        text = json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False, ensure_ascii=False)
        text.encode()
    except UnicodeEncodeError:
        raise InvalidInput("a payload holds half of a surrogate pair, which no store can keep") from None
    except (TypeError, ValueError) as error:
        raise InvalidInput(f"a payload must be plain JSON values: {error}") from None
    return text


def canonical_hash(value: object) -> str:
    """Return the SHA-256 in hex of the canonical JSON of a plain value."""
    return hashlib.sha256(canonical_json(value).encode()).hexdigest()


def require_text(value: object, name: str) -> str:
    """Return `value`, which must be text that is not blank."""
    if not isinstance(value, str) or not value.strip():
        raise InvalidInput(f"{name} must be text that is not blank, not {value!r}")
    if "\0" in value or any("\ud800" <= character <= "\udfff" for character in value):
        raise InvalidInput(f"{name} holds a character that no store can keep: {value[:80]!r}")
    if len(value) * 4 > MAX_ID_BYTES and (size := len(value.encode())) > MAX_ID_BYTES:
        raise InvalidInput(
            f"{name} {value[:40]!r}… has {size} bytes, and at most {MAX_ID_BYTES} can be indexed; name it by a hash"
        )
    return value


def _zoned(value: datetime | str | None) -> datetime | None:
    try:
        moment = datetime.fromisoformat(value) if isinstance(value, str) else value
        return moment.replace(tzinfo=UTC) if moment is not None and moment.tzinfo is None else moment
    except (AttributeError, ValueError):
        raise InvalidInput(f"occurred_at must be a time, not {value!r}") from None


def _change_from(values: dict[str, Any]) -> Change:
    if "payload_json" in values:
        text = values.pop("payload_json")
        try:
            values["payload"] = json.loads(text) if text else {}
        except ValueError as error:
            raise InvalidInput(f"payload_json of {values.get('entity_id')!r} is not JSON: {error}") from None
        if not isinstance(values["payload"], dict):
            raise InvalidInput(f"payload_json of {values.get('entity_id')!r} is not a JSON object")
    try:
        return Change(**values)
    except TypeError as error:
        raise InvalidInput(f"a change cannot be read: {error}") from None


def _check_node(entity_id: str, payload: dict[str, Any], *, whole: bool) -> tuple[str, dict[str, Any]]:
    node_id = _one_id(entity_id, payload.pop("node_id", ""), "node")
    entity = Node.from_dict({**payload, "node_id": node_id}).to_dict()
    del entity["node_id"]
    return node_id, _as_written(entity, payload, whole=whole)


def _check_relation(entity_id: str, payload: dict[str, Any], *, whole: bool) -> tuple[str, dict[str, Any]]:
    payload = {**payload.pop("explanation", {}), **payload}
    named = entity_id or payload.get("relation_id")
    relation_id = _one_id(entity_id, payload.pop("relation_id", ""), "relation") if named else ""
    ends = {} if whole or not relation_id else dict.fromkeys(_ENDS, "?")
    entity = Relation.from_dict({**ends, **payload})
    for name in _ENDS:
        require_text(getattr(entity, name), name)
    relation_id = relation_id or f"rel-{canonical_hash([getattr(entity, name) for name in _ENDS])[:16]}"
    written = entity.to_dict()
    del written["relation_id"]
    return relation_id, _as_written(written, payload, whole=whole)


def _check_detail(entity_id: str, payload: dict[str, Any], *, whole: bool) -> tuple[str, dict[str, Any]]:
    node_id = _one_id(entity_id, payload.pop("node_id", ""), "detail")
    if whole and "detail" not in payload:
        raise InvalidInput(f"the payload of the detail of {node_id!r} has no 'detail'")
    NodeDetail.from_dict({"detail": "", **payload, "node_id": node_id})
    return node_id, {"detail": payload["detail"]} if "detail" in payload else {}


_ENDS: Final = ("source_node_id", "target_node_id", "relation_type")
_CHECKED: Final = {
    EntityKind.NODE: _check_node,
    EntityKind.RELATION: _check_relation,
    EntityKind.DETAIL: _check_detail,
}


def _is_within(value: object, levels: int) -> bool:
    match value:
        case Mapping():
            parts = cast("Mapping[str, object]", value).values()
        case list() | tuple():
            parts = cast("Sequence[object]", value)
        case _:
            return True
    return levels > 0 and all(_is_within(part, levels - 1) for part in parts)


def _as_written(entity: dict[str, Any], payload: Mapping[str, Any], *, whole: bool) -> dict[str, Any]:
    """Return the whole entity, or of a partial one only the fields that the payload names; empty ones become None."""
    return entity if whole else {name: entity.get(name) for name in payload}


def _one_id(entity_id: str, inner: str, what: str) -> str:
    if entity_id and inner and entity_id != inner:
        raise InvalidInput(f"a {what} has the entity_id {entity_id!r}, and another one in its payload: {inner!r}")
    return require_text(entity_id or inner, f"entity_id of a {what}")


def _member(kind: type[Operation | EntityKind], value: str, what: str) -> Any:
    try:
        return kind(value.strip())
    except ValueError:
        raise InvalidInput(f"unknown {what} {value!r}; known are {', '.join(kind)}") from None


def _set(target: object, **values: object) -> None:
    for name, value in values.items():
        object.__setattr__(target, name, value)
