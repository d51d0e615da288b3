"""Events to read model: idempotent, in any order, from any number of workers."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain, islice
from typing import TYPE_CHECKING, Final, TypeVar

from ctx_core.errors import InvalidInput
from ctx_core.kernel.commands import EntityKind, Operation, canonical_hash
from ctx_core.kernel.last_writer_wins import Effect, Write
from ctx_core.telemetry import degraded, metric

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from ctx_core.graph.model import Node, NodeDetail, Relation
    from ctx_core.kernel.commands import Aggregate
    from ctx_core.kernel.events import ContextUpdated
    from ctx_core.kernel.ports import DetailStore, EventStore, GraphStore, ProgressStore, RecordedEvent

CONSUMER: Final = "context-projection"
_REBUILD_BATCH: Final = 200
# What a store merges in one transaction: a server keeps all of it in memory until it commits.
_WRITES: Final = 2_000

_Item = TypeVar("_Item")

_EFFECTS: Final = {
    Operation.CREATE: Effect.REPLACE,
    Operation.UPSERT: Effect.REPLACE,
    Operation.UPDATE: Effect.PATCH,
    Operation.DELETE: Effect.REMOVE,
}


def writes_of(event: ContextUpdated) -> list[Write]:
    """Return what an event writes; `InvalidInput` where it could not be read back."""
    return [_write(event, index) for index in range(len(event.data.changes))]


def _write(event: ContextUpdated, index: int) -> Write:
    try:
        change = event.data.changes[index].change()
    except InvalidInput as error:
        raise InvalidInput(f"change {index} of event {event.event_id!r}: {error}") from None
    effect, values = _EFFECTS[Operation(change.operation)], dict(change.payload)
    if change.entity_kind is EntityKind.DETAIL and effect is not Effect.REMOVE:
        # A detail is one text, so an update of it is the whole of it.
        effect, values = Effect.REPLACE, {"detail": "", **values, "revision": event.data.revision}
    return Write(
        kind=EntityKind(change.entity_kind),
        entity_id=change.entity_id,
        stamp=event.stamp(index),
        effect=effect,
        fields=values,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Projection:
    """Brings events into the read model, once per consumer and event id."""

    graph: GraphStore
    details: DetailStore
    progress: ProgressStore
    consumer: str = CONSUMER

    def apply(self, recorded: Sequence[RecordedEvent]) -> int:
        """Project the events that are new to this consumer, and return how many those were.

        A crash between the steps is harmless: the events come again, and writing them again changes nothing.
        """
        by_id = {item.event.event_id: item for item in recorded}
        known = self.progress.processed(self.consumer, by_id.keys())
        fresh = [item for event_id, item in by_id.items() if event_id not in known]
        if not fresh:
            return 0
        writes = [write for item in fresh for write in writes_of(item.event)]
        in_detail = [write for write in writes if write.kind is EntityKind.DETAIL]
        in_graph = [write for write in writes if write.kind is not EntityKind.DETAIL]
        for page in _batches(in_graph, _WRITES):
            self.graph.write(page)
        for page in _batches(in_detail, _WRITES):
            self.details.write(page)
        self.progress.record(self.consumer, fresh)
        metric("ctx.projection.events", len(fresh))
        return len(fresh)

    def catch_up(self, events: EventStore, *, after: int = 0, aggregate: Aggregate | None = None) -> int:
        """Project everything in the log behind a position that is not projected yet; 0 rebuilds an empty read model.

        With `aggregate`, only what belongs to that one.
        """
        return sum(
            self._apply_readable(batch)
            for batch in _batches(events.read(after=after, aggregate=aggregate), _REBUILD_BATCH)
        )

    def _apply_readable(self, recorded: Sequence[RecordedEvent]) -> int:
        """Project events as a worker would, without those that it would bury."""
        try:
            return self.apply(recorded)
        except InvalidInput as error:
            if len(recorded) == 1:
                degraded("projecting an event", error)
                return 0
        return sum(self._apply_readable([item]) for item in recorded)

    def content_hash(self) -> str:
        """Return the SHA-256 in hex of the whole read model; equal hashes mean equal nodes, relations and details."""
        # Stores sort text each in their own way, so the order here is that of the hashes.
        hashes = sorted(map(_entity_hash, chain(self.graph.scan(), self.details.scan())))
        return canonical_hash(hashes)


def _entity_hash(entity: Node | Relation | NodeDetail) -> str:
    return canonical_hash([type(entity).__name__, entity.to_dict()])


def _batches(items: Iterable[_Item], size: int) -> Iterator[list[_Item]]:
    rest = iter(items)
    while batch := list(islice(rest, size)):
        yield batch
