"""Registers of the kernel turned into parts of a graph, the same way in every store."""

from __future__ import annotations

from dataclasses import MISSING, dataclass, fields
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final, Generic, NamedTuple, TypeVar

from ctx_core.errors import StoreCorrupt
from ctx_core.graph.model import Node, NodeDetail, Provenance, Relation, RelationClass
from ctx_core.graph.plain import assign, require_interval, with_zone
from ctx_core.kernel.problems import report_problem
from ctx_core.kernel.reading_order import rank_of_values

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ctx_core.kernel.last_writer_wins import Register

_Entity = TypeVar("_Entity", Node, Relation)

_UNORDERED: Final = 2**53
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)


def as_node(node_id: str, values: Mapping[str, Any]) -> Node:
    """Return the node that a register's values say."""
    return _NODE.build(node_id, values)


def as_relation(relation_id: str, values: Mapping[str, Any]) -> Relation:
    """Return the relation that a register's values say."""
    return _RELATION.build(relation_id, values)


def as_detail(node_id: str, values: Mapping[str, Any]) -> NodeDetail:
    """Return the detail that a register's values say."""
    return NodeDetail.from_dict({**values, "node_id": node_id})


class Edge(NamedTuple):
    """What a store indexes of a relation.

    Args:
        rank: The place in the order of reading; see `kernel.reading_order`.
        sequence: The step number, or a large number where there is none.
        valid_from: In microseconds since 1970; None for an open start.
        valid_until: In microseconds since 1970; None for an open end.
    """

    source: str | None
    target: str | None
    rank: int
    sequence: int
    valid_from: int | None
    valid_until: int | None


def edge_of(register: Register) -> Edge:
    """Return what a store indexes of a relation's register."""
    values = register.values
    sequence = values.get("sequence")
    return Edge(
        source=values.get("source_node_id"),
        target=values.get("target_node_id"),
        rank=rank_of_values(values),
        sequence=sequence if isinstance(sequence, int) else _UNORDERED,
        valid_from=as_microseconds(values.get("valid_from")),
        valid_until=as_microseconds(values.get("valid_until")),
    )


def validity_of(register: Register) -> tuple[int | None, int | None]:
    """Return from when until when an entity holds, in microseconds since 1970; None where an end is open."""
    values = register.values
    return as_microseconds(values.get("valid_from")), as_microseconds(values.get("valid_until"))


def as_microseconds(moment: object) -> int | None:
    """Return a time, or the ISO 8601 text of one, in microseconds since 1970; None for what is no time."""
    if isinstance(moment, str):
        try:
            moment = datetime.fromisoformat(moment)
        except ValueError:
            return None
    return (with_zone(moment) - _EPOCH) // _MICROSECOND if isinstance(moment, datetime) else None


@dataclass(frozen=True)
class _Builder(Generic[_Entity]):
    """Builds entities from values that were checked when they were written.

    Checking them again costs more than reading them. So what has the expected shape is filled in as it is; anything else
    goes through the constructor, and through a repair where that refuses.

    Args:
        required: Fields that have to be texts.
        defaults: The value of every field that is not stored.
        parsers: How fields are read that are stored as something else.
        copied: Fields that hold a dictionary of their own.
    """

    kind: type[_Entity]
    id_field: str
    required: tuple[str, ...]
    defaults: Mapping[str, Any]
    parsers: Mapping[str, Callable[[Any], Any]]
    copied: Sequence[str]

    def build(self, entity_id: str, values: Mapping[str, Any]) -> _Entity:
        """Return the entity, without those of its fields that cannot be read."""
        if values.keys() <= self.defaults.keys():
            try:
                return self._fill(entity_id, values)
            except (KeyError, TypeError, ValueError):
                pass  # the repair finds out what it was
        return self._repair(entity_id, values)

    def _fill(self, entity_id: str, values: Mapping[str, Any]) -> _Entity:
        filled: dict[str, Any] = {**self.defaults, **values, self.id_field: entity_id}
        parsers = self.parsers
        for name in self.required:
            if type(filled[name]) is not str:
                raise TypeError(name)
        for name, value in values.items():
            if name in parsers and value is not None:
                filled[name] = parsers[name](value)
        for name in self.copied:
            filled[name] = dict(filled[name] or {})
        if filled["valid_until"] is not None and filled["valid_from"] is not None:
            require_interval(filled["valid_from"], filled["valid_until"], entity_id)
        entity = object.__new__(self.kind)
        assign(entity, "__dict__", filled)
        return entity

    def _repair(self, entity_id: str, values: Mapping[str, Any]) -> _Entity:
        ids = {self.id_field: entity_id, **{name: values.get(name) for name in self.required}}
        said, dropped = dict(ids), [name for name in values if not self._is_readable({**ids, name: values[name]})]
        said.update((name, value) for name, value in values.items() if name not in dropped)
        if not self._is_readable(said):
            # An update of one end can turn an interval round. The end is kept: what is over must not look current.
            dropped.append("valid_from")
            said.pop("valid_from", None)
        try:
            entity = self.kind.from_dict(said)
        except ValueError as error:
            raise StoreCorrupt(f"the {self.kind.__name__} {entity_id!r} cannot be read: {error}") from None
        report_problem(
            f"{self.kind.__name__.lower()} {entity_id!r}: {', '.join(sorted(dropped))} cannot be used and is ignored"
        )
        return entity

    def _is_readable(self, values: Mapping[str, Any]) -> bool:
        try:
            self.kind.from_dict(values)
        except ValueError:
            return False
        return True


def _texts(value: Any) -> tuple[str, ...]:
    if isinstance(value, str):
        raise TypeError("labels are a list")
    return tuple(value)


def _whole_number(value: Any) -> int:
    if type(value) is not int:
        raise TypeError("a number is no whole number")
    return value


def _builder(kind: Any, id_field: str, required: tuple[str, ...], parsers: Mapping[str, Any]) -> Any:
    shown = [f for f in fields(kind) if f.init]
    return _Builder(
        kind=kind,
        id_field=id_field,
        required=required,
        defaults={f.name: None if f.default is MISSING else f.default for f in shown},
        parsers=parsers,
        copied=[f.name for f in shown if f.default_factory is dict],
    )


_TIMES: Final = dict.fromkeys(
    ("occurred_at", "observed_at", "ingested_at", "valid_from", "valid_until"), datetime.fromisoformat
)
_NODE: Final[_Builder[Node]] = _builder(
    Node,
    "node_id",
    (),
    {
        "labels": _texts,
        "provenance": Provenance.from_dict,
        "valid_from": datetime.fromisoformat,
        "valid_until": datetime.fromisoformat,
    },
)
_RELATION: Final[_Builder[Relation]] = _builder(
    Relation,
    "relation_id",
    ("source_node_id", "target_node_id", "relation_type"),
    {
        "semantic_class": {str(member): member for member in RelationClass}.__getitem__,
        "sequence": _whole_number,
        "rank": _whole_number,
        "provenance": Provenance.from_dict,
        **_TIMES,
    },
)
