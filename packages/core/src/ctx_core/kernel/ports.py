"""What the kernel needs from stores: one protocol per kind of thing that is kept, and the set of them."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
    from datetime import datetime

    from ctx_core.graph.model import Node, NodeDetail, Relation
    from ctx_core.kernel.commands import Aggregate
    from ctx_core.kernel.events import ContextUpdated
    from ctx_core.kernel.last_writer_wins import Write


class Direction(StrEnum):
    """Which way relations are followed: `explained` is out, and in as well where a relation explains something."""

    EXPLAINED = "explained"
    OUT = "out"
    IN = "in"
    BOTH = "both"


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedEvent:
    """An event and its place in the log; places grow, and need not be dense."""

    position: int
    event: ContextUpdated


@dataclass(frozen=True, slots=True, kw_only=True)
class Head:
    """How far an aggregate has come: revision 0 means that it does not exist yet."""

    revision: int = 0
    content_hash: str | None = None
    clock: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Adjacency:
    """Relations around some nodes.

    Args:
        relations: Each once; both ends exist.
        crowded: Nodes that have more relations than the limit allowed: how many of each class they have in all, by node
            and by whether the node is their source.
    """

    relations: tuple[Relation, ...] = ()
    crowded: Mapping[tuple[str, bool], Mapping[str, int]] = field(default_factory=dict[Any, Any], hash=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpoint:
    """How far a consumer has come: the highest position it projected, and how many events in all."""

    position: int = 0
    processed: int = 0
    updated_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Watermark:
    """Up to which revision of an aggregate the read model is complete, and that revision's content hash."""

    revision: int = 0
    content_hash: str | None = None


class EventStore(Protocol):
    """The append-only log: the authority that everything else is derived from."""

    def append(self, event: ContextUpdated) -> RecordedEvent:
        """Keep an event, idempotency key included; `RevisionConflict` unless it is its aggregate's next revision."""
        ...

    def head(self, aggregate: Aggregate) -> Head:
        """Return how far an aggregate has come."""
        ...

    def find(self, aggregate: Aggregate, idempotency_key: str) -> RecordedEvent | None:
        """Return the event that an aggregate accepted under a key."""
        ...

    def read(self, *, after: int = 0, aggregate: Aggregate | None = None) -> Iterator[RecordedEvent]:
        """Yield every event behind a position, oldest first; with `aggregate`, only those of one."""
        ...

    def last_position(self) -> int:
        """Return the place of the newest event; 0 for an empty log."""
        ...


class GraphStore(Protocol):
    """Nodes and relations of the read model."""

    def write(self, writes: Sequence[Write]) -> None:
        """Merge writes of nodes and relations, all or none."""
        ...

    def nodes(self, node_ids: Collection[str], *, as_of: datetime | None = None) -> dict[str, Node]:
        """Return those of the nodes that exist, by id; with `as_of`, that existed then."""
        ...

    def relations(
        self,
        node_ids: Collection[str],
        *,
        direction: Direction,
        limit: int,
        among: Collection[str] | None = None,
        as_of: datetime | None = None,
        known: Collection[str] = (),
    ) -> Adjacency:
        """Return at most `limit` relations per node and direction, in the order of reading; both ends exist.

        Args:
            node_ids: Where to look.
            direction: Which way; `explained` takes in those against the arrow that explain something.
            limit: The most relations of one node in one direction.
            among: Only relations whose other end is one of these nodes count.
            as_of: Only relations and nodes that held then count.
            known: Ids of relations that the caller holds: they count, but may be left out of the answer.
        """
        ...

    def scan(self) -> Iterator[Node | Relation]:
        """Yield all nodes and all relations, in any order; relations with an end that does not exist too."""
        ...


class DetailStore(Protocol):
    """Long texts of nodes."""

    def write(self, writes: Sequence[Write]) -> None:
        """Merge writes of details."""
        ...

    def details(self, node_ids: Collection[str]) -> dict[str, NodeDetail]:
        """Return those of the details that exist, by node id, in one round trip."""
        ...

    def scan(self) -> Iterator[NodeDetail]:
        """Yield all details, in any order."""
        ...


class ProgressStore(Protocol):
    """What consumers of the log have projected."""

    def processed(self, consumer: str, event_ids: Collection[str]) -> set[str]:
        """Return those of the events that a consumer has projected."""
        ...

    def record(self, consumer: str, events: Sequence[RecordedEvent]) -> None:
        """Note that a consumer has projected events; noting one twice changes nothing."""
        ...

    def checkpoint(self, consumer: str) -> Checkpoint:
        """Return how far a consumer has come."""
        ...

    def watermark(self, consumer: str, aggregate: Aggregate) -> Watermark:
        """Return up to which revision, without a gap, a consumer has projected an aggregate."""
        ...


class SnapshotStore(Protocol):
    """Kept results of sessions."""

    def save(self, snapshot_id: str, document: str, *, ttl_seconds: float) -> None:
        """Keep a document for a time."""
        ...

    def load(self, snapshot_id: str) -> str | None:
        """Return a document unless it was never kept or its time ran out."""
        ...


def _nothing() -> None:
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelStores:
    """All that a kernel stands on.

    Args:
        writing: Opens what makes append and projection one transaction, where one store holds both.
        reading: Opens one consistent view over several reads, where the store can give one.
        state: Names the state of graph and details, as the view of `reading` shows it: two equal names mean the same
            content. None where the stores cannot tell.
        close: Lets go of connections.
    """

    events: EventStore
    graph: GraphStore
    details: DetailStore
    progress: ProgressStore
    snapshots: SnapshotStore
    writing: Callable[[], AbstractContextManager[object]] = nullcontext
    reading: Callable[[], AbstractContextManager[object]] = nullcontext
    state: Callable[[], str | None] = _nothing
    close: Callable[[], None] = _nothing
