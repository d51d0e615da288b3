"""When a node or relation holds: valid time as half-open intervals, and what took the place of what."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, cast

from ctx_core.errors import InvalidInput
from ctx_core.graph.plain import with_zone

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ctx_core.graph.model import Node, Relation


def parse_moment(value: datetime | str, name: str = "as_of") -> datetime:
    """Return a point in time with a zone, from a datetime, ISO 8601 text or `now`; without a zone it counts as UTC.

    ```python
    from ctx_core.graph.validity import parse_moment

    assert parse_moment("2026-03-01").isoformat() == "2026-03-01T00:00:00+00:00"
    ```
    """
    if value == "now":
        return datetime.now(UTC)
    try:
        return with_zone(datetime.fromisoformat(value) if isinstance(value, str) else value)
    except (AttributeError, TypeError, ValueError):
        raise InvalidInput(f"{name} must be a datetime, ISO 8601 text or 'now', not {value!r}") from None


def is_valid_at(item: Node | Relation, moment: datetime) -> bool:
    """Return True if a node or relation holds at a moment; an open end holds for ever."""
    start, end = cast("datetime | None", item.valid_from), cast("datetime | None", item.valid_until)
    moment = with_zone(moment)
    return (start is None or with_zone(start) <= moment) and (end is None or moment < with_zone(end))


def find_successors(relations: Iterable[Relation]) -> dict[str, str]:
    """Return the id of the relation that took each relation's place, by the id of the one that ended.

    One relation succeeds another if it has the same source and type and starts in the moment in which the other ends.
    Where several do, it is the first by target and id.
    """
    starting: dict[tuple[str, str, datetime], list[Relation]] = {}
    ended: list[Relation] = []
    for relation in relations:
        if isinstance(relation.valid_from, datetime):
            starting.setdefault(_slot(relation, relation.valid_from), []).append(relation)
        if isinstance(relation.valid_until, datetime):
            ended.append(relation)
    found: dict[str, str] = {}
    for relation in ended:
        others = starting.get(_slot(relation, cast("datetime", relation.valid_until)), ())
        heirs = sorted((o.target_node_id, o.relation_id) for o in others if o.relation_id != relation.relation_id)
        if heirs:
            found[relation.relation_id] = heirs[0][1]
    return found


def _slot(relation: Relation, moment: datetime) -> tuple[str, str, datetime]:
    return relation.source_node_id, relation.relation_type, with_zone(moment)
