"""The kernel's stores in plain dictionaries, for tests and for as long as a process lives."""

from __future__ import annotations

import time
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from ctx_core.errors import RevisionConflict
from ctx_core.kernel.ports import Checkpoint, Head, KernelStores, RecordedEvent, Watermark
from ctx_core.stores.memory.graph import MemoryDetailStore, MemoryGraphStore
from ctx_core.stores.memory.tables import Tables

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from ctx_core.kernel.commands import Aggregate
    from ctx_core.kernel.events import ContextUpdated


class MemoryEventStore:
    """The log as a dictionary from position to event."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables
        self._log: dict[int, RecordedEvent] = {}
        self._heads: dict[Aggregate, Head] = {}
        self._keys: dict[tuple[Aggregate, str], int] = {}

    def append(self, event: ContextUpdated) -> RecordedEvent:
        """Keep an event as its aggregate's next revision."""
        with self._tables.transaction():
            head, data = self.head(event.aggregate), event.data
            if data.revision != head.revision + 1:
                raise RevisionConflict(str(event.aggregate), expected=data.revision - 1, actual=head.revision)
            recorded = RecordedEvent(position=len(self._log) + 1, event=event)
            put = self._tables.put
            put(self._log, recorded.position, recorded)
            put(self._heads, event.aggregate, _head_after(event))
            if data.idempotency_key is not None:
                put(self._keys, (event.aggregate, data.idempotency_key), recorded.position)
            return recorded

    def head(self, aggregate: Aggregate) -> Head:
        """Return how far an aggregate has come."""
        return self._heads.get(aggregate, Head())

    def find(self, aggregate: Aggregate, idempotency_key: str) -> RecordedEvent | None:
        """Return the event that an aggregate accepted under a key."""
        position = self._keys.get((aggregate, idempotency_key))
        return None if position is None else self._log[position]

    def read(self, *, after: int = 0, aggregate: Aggregate | None = None) -> Iterator[RecordedEvent]:
        """Yield every event behind a position, oldest first."""
        position = after + 1
        while recorded := self._log.get(position):
            if aggregate is None or recorded.event.aggregate == aggregate:
                yield recorded
            position += 1

    def last_position(self) -> int:
        """Return the place of the newest event."""
        return len(self._log)

    def rewrite(self, recorded: Sequence[RecordedEvent]) -> None:
        """Replace the bodies of events."""
        with self._tables.transaction():
            for item in recorded:
                self._tables.put(self._log, item.position, item)

    def purge(self) -> None:
        """Do nothing: what was replaced is gone."""


class MemoryProgressStore:
    """What each consumer has projected."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables
        self._done: dict[tuple[str, str], bool] = {}
        self._checkpoints: dict[str, Checkpoint] = {}
        self._hashes: dict[tuple[str, Aggregate, int], str] = {}
        self._watermarks: dict[tuple[str, Aggregate], Watermark] = {}

    def processed(self, consumer: str, event_ids: Collection[str]) -> set[str]:
        """Return those of the events that a consumer has projected."""
        return {event_id for event_id in event_ids if (consumer, event_id) in self._done}

    def record(self, consumer: str, events: Sequence[RecordedEvent]) -> None:
        """Note that a consumer has projected events."""
        with self._tables.transaction():
            for item in events:
                if (consumer, item.event.event_id) not in self._done:
                    self._record(consumer, item)

    def checkpoint(self, consumer: str) -> Checkpoint:
        """Return how far a consumer has come."""
        return self._checkpoints.get(consumer, Checkpoint())

    def watermark(self, consumer: str, aggregate: Aggregate) -> Watermark:
        """Return up to which revision a consumer has projected an aggregate."""
        return self._watermarks.get((consumer, aggregate), Watermark())

    def _record(self, consumer: str, item: RecordedEvent) -> None:
        put, aggregate, data = self._tables.put, item.event.aggregate, item.event.data
        put(self._done, (consumer, item.event.event_id), value=True)
        before = self.checkpoint(consumer)
        after = Checkpoint(
            position=max(before.position, item.position),
            processed=before.processed + 1,
            updated_at=datetime.now(UTC),
        )
        put(self._checkpoints, consumer, after)
        put(self._hashes, (consumer, aggregate, data.revision), data.content_hash)
        mark = self.watermark(consumer, aggregate)
        while content_hash := self._hashes.get((consumer, aggregate, mark.revision + 1)):
            mark = Watermark(revision=mark.revision + 1, content_hash=content_hash)
        put(self._watermarks, (consumer, aggregate), mark)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Kept:
    document: str
    until: float


class MemorySnapshotStore:
    """Kept sessions, forgotten when their time is out."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables
        self._kept: dict[str, _Kept] = {}

    def save(self, snapshot_id: str, document: str, *, ttl_seconds: float) -> None:
        """Keep a document for a time."""
        now = time.time()
        with self._tables.transaction():
            for expired in [key for key, kept in self._kept.items() if kept.until <= now]:
                del self._kept[expired]
            self._kept[snapshot_id] = _Kept(document=document, until=now + ttl_seconds)

    def load(self, snapshot_id: str) -> str | None:
        """Return a document unless its time ran out."""
        kept = self._kept.get(snapshot_id)
        return kept.document if kept is not None and kept.until > time.time() else None


def open_memory_stores(_url: str = "memory://") -> KernelStores:
    """Return empty stores that share one lock and one transaction."""
    tables = Tables()
    return KernelStores(
        events=MemoryEventStore(tables),
        graph=MemoryGraphStore(tables),
        details=MemoryDetailStore(tables),
        progress=MemoryProgressStore(tables),
        snapshots=MemorySnapshotStore(tables),
        writing=tables.transaction,
        reading=tables.transaction,
        state=tables.state,
    )


def _head_after(event: ContextUpdated) -> Head:
    return Head(revision=event.data.revision, content_hash=event.data.content_hash, clock=event.clock)
