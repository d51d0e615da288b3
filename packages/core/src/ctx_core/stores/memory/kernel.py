"""The kernel's stores in plain dictionaries, for tests and for as long as a process lives."""

from __future__ import annotations

import threading
import time
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from ctx_core.errors import RevisionConflict
from ctx_core.kernel.commands import Aggregate, EntityKind
from ctx_core.kernel.ports import Adjacency, Checkpoint, Direction, Head, KernelStores, RecordedEvent, Watermark
from ctx_core.kernel.register import Register, merge_all
from ctx_core.stores.entities import as_detail, as_node, as_relation, ends, salience

if TYPE_CHECKING:
    from collections.abc import Collection, Generator, Iterator, Sequence

    from ctx_core.graph.model import Node, NodeDetail, Relation
    from ctx_core.kernel.events import ContextUpdated
    from ctx_core.kernel.register import Write

_ABSENT: Final = object()


class _Tables:
    """Named dictionaries under one lock; what is put during a failing transaction is taken back."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._undo: list[tuple[dict[Any, Any], Any, Any]] | None = None

    def __getstate__(self) -> dict[str, Any]:
        with self._lock:
            return {name: value for name, value in vars(self).items() if name != "_lock"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._lock = threading.RLock()

    @contextmanager
    def transaction(self) -> Generator[None]:
        """Hold the lock, and undo every `put` if the block fails."""
        with self._lock:
            if self._undo is not None:
                yield
                return
            self._undo = []
            try:
                yield
            except BaseException:
                for table, key, value in reversed(self._undo):
                    if value is _ABSENT:
                        table.pop(key, None)
                    else:
                        table[key] = value
                raise
            finally:
                self._undo = None

    def put(self, table: dict[Any, Any], key: Any, value: Any) -> None:
        """Set one entry of a table, so that it can be undone."""
        if self._undo is not None:
            self._undo.append((table, key, table.get(key, _ABSENT)))
        table[key] = value


class MemoryEventStore:
    """The log as a dictionary from position to event."""

    def __init__(self, tables: _Tables) -> None:
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

    def read(self, *, after: int = 0) -> Iterator[RecordedEvent]:
        """Yield every event behind a position, oldest first."""
        position = after + 1
        while recorded := self._log.get(position):
            yield recorded
            position += 1

    def last_position(self) -> int:
        """Return the place of the newest event."""
        return len(self._log)


class MemoryGraphStore:
    """Nodes and relations, with the relations of each node kept beside it."""

    def __init__(self, tables: _Tables) -> None:
        self._tables = tables
        self._registers: dict[EntityKind, dict[str, Register]] = {EntityKind.NODE: {}, EntityKind.RELATION: {}}
        self._around: dict[tuple[Direction, str | None], frozenset[str]] = {}

    def write(self, writes: Sequence[Write]) -> None:
        """Merge writes of nodes and relations."""
        with self._tables.transaction():
            for kind, registers in self._registers.items():
                for entity_id, after in merge_all(registers, (w for w in writes if w.kind is kind)).items():
                    if kind is EntityKind.RELATION:
                        self._reattach(entity_id, registers.get(entity_id, Register()), after)
                    self._tables.put(registers, entity_id, after)

    def nodes(self, node_ids: Collection[str]) -> dict[str, Node]:
        """Return those of the nodes that exist."""
        found = {node_id: self._registers[EntityKind.NODE].get(node_id) for node_id in node_ids}
        return {node_id: as_node(node_id, state.values) for node_id, state in found.items() if state and state.is_live}

    def relations(
        self, node_ids: Collection[str], *, direction: Direction, limit: int, among: Collection[str] | None = None
    ) -> Adjacency:
        """Return the most explanatory relations of each node."""
        ways = (Direction.OUT, Direction.IN) if direction is Direction.BOTH else (direction,)
        kept: dict[str, Relation] = {}
        crowded: set[str] = set()
        with self._tables.transaction():
            for node_id in node_ids:
                for way in ways:
                    around = self._around.get((way, node_id), frozenset())
                    ids = self._most_salient(around if among is None else self._leading_to(around, way, set(among)))
                    crowded |= {node_id} if len(ids) > limit else set()
                    kept.update((relation_id, self._relation(relation_id)) for relation_id in ids[:limit])
        return Adjacency(relations=tuple(kept.values()), crowded=frozenset(crowded))

    def scan(self) -> Iterator[Node | Relation]:
        """Yield all nodes, then all relations, by id."""
        yield from self.nodes(sorted(self._registers[EntityKind.NODE])).values()
        for relation_id, state in sorted(self._registers[EntityKind.RELATION].items()):
            if state.is_live:
                yield self._relation(relation_id)

    def _relation(self, relation_id: str) -> Relation:
        return as_relation(relation_id, self._registers[EntityKind.RELATION][relation_id].values)

    def _leading_to(self, relation_ids: Collection[str], way: Direction, among: set[str]) -> list[str]:
        far = 1 if way is Direction.OUT else 0
        relations = self._registers[EntityKind.RELATION]
        return [relation_id for relation_id in relation_ids if ends(relations[relation_id])[far] in among]

    def _most_salient(self, relation_ids: Collection[str]) -> list[str]:
        relations, nodes = self._registers[EntityKind.RELATION], self._registers[EntityKind.NODE]
        whole = [
            relation_id
            for relation_id in relation_ids
            if all(end in nodes and nodes[end].is_live for end in ends(relations[relation_id]))
        ]
        return sorted(whole, key=lambda relation_id: (salience(relations[relation_id]), relation_id))

    def _reattach(self, relation_id: str, before: Register, after: Register) -> None:
        for register, is_there in ((before, False), (after, after.is_live)):
            for way, end in zip((Direction.OUT, Direction.IN), ends(register), strict=True):
                ids = self._around.get((way, end), frozenset())
                changed = ids | {relation_id} if is_there else ids - {relation_id}
                self._tables.put(self._around, (way, end), changed)


class MemoryDetailStore:
    """Details by node."""

    def __init__(self, tables: _Tables) -> None:
        self._tables = tables
        self._registers: dict[str, Register] = {}

    def write(self, writes: Sequence[Write]) -> None:
        """Merge writes of details."""
        with self._tables.transaction():
            for node_id, after in merge_all(self._registers, writes).items():
                self._tables.put(self._registers, node_id, after)

    def details(self, node_ids: Collection[str]) -> dict[str, NodeDetail]:
        """Return those of the details that exist."""
        found = {node_id: self._registers.get(node_id) for node_id in node_ids}
        return {
            node_id: as_detail(node_id, state.values) for node_id, state in found.items() if state and state.is_live
        }

    def scan(self) -> Iterator[NodeDetail]:
        """Yield all details, by node id."""
        yield from self.details(sorted(self._registers)).values()


class MemoryProgressStore:
    """What each consumer has projected."""

    def __init__(self, tables: _Tables) -> None:
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

    def __init__(self, tables: _Tables) -> None:
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
    tables = _Tables()
    return KernelStores(
        events=MemoryEventStore(tables),
        graph=MemoryGraphStore(tables),
        details=MemoryDetailStore(tables),
        progress=MemoryProgressStore(tables),
        snapshots=MemorySnapshotStore(tables),
        writing=tables.transaction,
        reading=tables.transaction,
    )


def _head_after(event: ContextUpdated) -> Head:
    return Head(revision=event.data.revision, content_hash=event.data.content_hash, clock=event.clock)
