"""The event log, and what consumers made of it, in SQLite."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from ctx_core.errors import InvalidInput, RevisionConflict, StoreCorrupt
from ctx_core.kernel.events import parse_event
from ctx_core.kernel.ports import Checkpoint, Head, RecordedEvent, Watermark
from ctx_core.stores.sqlite.database import as_list

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Collection, Iterator, Sequence

    from ctx_core.kernel.commands import Aggregate
    from ctx_core.kernel.events import ContextUpdated
    from ctx_core.stores.sqlite.database import SqliteDatabase

_PAGE: Final = 500


class SqliteEventStore:
    """The append-only log; the idempotency key is a unique column of the event itself."""

    def __init__(self, database: SqliteDatabase) -> None:
        self._database = database

    def append(self, event: ContextUpdated) -> RecordedEvent:
        """Keep an event as its aggregate's next revision."""
        data = event.data
        with self._database.writing() as connection:
            head = self.head(event.aggregate)
            if data.revision != head.revision + 1:
                raise RevisionConflict(str(event.aggregate), expected=data.revision - 1, actual=head.revision)
            position = connection.execute(
                "INSERT INTO events (event_id, root_node_id, role, revision, content_hash, clock, idempotency_key, body)"
                " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    event.event_id,
                    data.root_node_id,
                    data.role,
                    data.revision,
                    data.content_hash,
                    event.clock,
                    data.idempotency_key,
                    event.to_json().decode(),
                ),
            ).lastrowid
        return RecordedEvent(position=position or 0, event=event)

    def head(self, aggregate: Aggregate) -> Head:
        """Return how far an aggregate has come."""
        with self._database.reading() as connection:
            row = connection.execute(
                "SELECT revision, content_hash, clock FROM events WHERE root_node_id = ? AND role = ?"
                " ORDER BY revision DESC LIMIT 1",
                (aggregate.root_node_id, aggregate.role),
            ).fetchone()
        return Head(revision=row[0], content_hash=row[1], clock=row[2]) if row else Head()

    def find(self, aggregate: Aggregate, idempotency_key: str) -> RecordedEvent | None:
        """Return the event that an aggregate accepted under a key."""
        with self._database.reading() as connection:
            row = connection.execute(
                "SELECT position, body FROM events WHERE root_node_id = ? AND role = ? AND idempotency_key = ?",
                (aggregate.root_node_id, aggregate.role, idempotency_key),
            ).fetchone()
        return _recorded(*row) if row else None

    def read(self, *, after: int = 0, aggregate: Aggregate | None = None) -> Iterator[RecordedEvent]:
        """Yield every event behind a position, oldest first, a page at a time."""
        of_one = "" if aggregate is None else " AND root_node_id = ? AND role = ?"
        query = f"SELECT position, body FROM events WHERE position > ?{of_one} ORDER BY position LIMIT ?"  # noqa: S608
        who = () if aggregate is None else (aggregate.root_node_id, aggregate.role)
        while True:
            with self._database.reading() as connection:
                rows = connection.execute(query, (after, *who, _PAGE)).fetchall()
            for position, body in rows:
                yield _recorded(position, body)
                after = position
            if len(rows) < _PAGE:
                return

    def last_position(self) -> int:
        """Return the place of the newest event."""
        with self._database.reading() as connection:
            return connection.execute("SELECT coalesce(max(position), 0) FROM events").fetchone()[0]

    def rewrite(self, recorded: Sequence[RecordedEvent]) -> None:
        """Replace the bodies of events."""
        with self._database.writing() as connection:
            connection.executemany(
                "UPDATE events SET body = ? WHERE position = ?",
                [(item.event.to_json().decode(), item.position) for item in recorded],
            )

    def purge(self) -> None:
        """Write what was replaced over with zeros, in the file and in the journal beside it."""
        self._database.purge()


class SqliteProgressStore:
    """What each consumer has projected."""

    def __init__(self, database: SqliteDatabase) -> None:
        self._database = database

    def processed(self, consumer: str, event_ids: Collection[str]) -> set[str]:
        """Return those of the events that a consumer has projected."""
        with self._database.reading() as connection:
            rows = connection.execute(
                "SELECT event_id FROM processed WHERE consumer = ? AND event_id IN (SELECT value FROM json_each(?))",
                (consumer, as_list(event_ids)),
            ).fetchall()
        return {row[0] for row in rows}

    def record(self, consumer: str, events: Sequence[RecordedEvent]) -> None:
        """Note that a consumer has projected events."""
        with self._database.writing() as connection:
            for item in events:
                added = connection.execute(
                    "INSERT OR IGNORE INTO processed VALUES (?, ?)", (consumer, item.event.event_id)
                )
                if added.rowcount:
                    _count(connection, consumer, item.position)
                    _advance(connection, consumer, item.event)

    def checkpoint(self, consumer: str) -> Checkpoint:
        """Return how far a consumer has come."""
        with self._database.reading() as connection:
            row = connection.execute(
                "SELECT position, processed, updated_at FROM checkpoints WHERE consumer = ?", (consumer,)
            ).fetchone()
        if row is None:
            return Checkpoint()
        return Checkpoint(position=row[0], processed=row[1], updated_at=datetime.fromisoformat(row[2]))

    def watermark(self, consumer: str, aggregate: Aggregate) -> Watermark:
        """Return up to which revision a consumer has projected an aggregate."""
        with self._database.reading() as connection:
            row = connection.execute(
                "SELECT revision, content_hash FROM watermarks WHERE consumer = ? AND root_node_id = ? AND role = ?",
                (consumer, aggregate.root_node_id, aggregate.role),
            ).fetchone()
        return Watermark(revision=row[0], content_hash=row[1]) if row else Watermark()


class SqliteSnapshotStore:
    """Kept sessions; those whose time is out go when the next one comes."""

    def __init__(self, database: SqliteDatabase) -> None:
        self._database = database

    def save(self, snapshot_id: str, document: str, *, ttl_seconds: float) -> None:
        """Keep a document for a time."""
        now = time.time()
        with self._database.writing() as connection:
            connection.execute("DELETE FROM snapshots WHERE expires_at <= ?", (now,))
            connection.execute(
                "INSERT OR REPLACE INTO snapshots VALUES (?, ?, ?)", (snapshot_id, document, now + ttl_seconds)
            )

    def load(self, snapshot_id: str) -> str | None:
        """Return a document unless its time ran out."""
        with self._database.reading() as connection:
            row = connection.execute(
                "SELECT document FROM snapshots WHERE snapshot_id = ? AND expires_at > ?", (snapshot_id, time.time())
            ).fetchone()
        return row[0] if row else None


def _count(connection: sqlite3.Connection, consumer: str, position: int) -> None:
    connection.execute(
        "INSERT INTO checkpoints VALUES (?, ?, 1, ?) ON CONFLICT (consumer) DO UPDATE SET"
        " position = max(position, excluded.position), processed = processed + 1, updated_at = excluded.updated_at",
        (consumer, position, datetime.now(UTC).isoformat()),
    )


def _advance(connection: sqlite3.Connection, consumer: str, event: ContextUpdated) -> None:
    """Move the watermark over every revision that is there without a gap."""
    who = (consumer, event.data.root_node_id, event.data.role)
    connection.execute(
        "INSERT OR REPLACE INTO ahead VALUES (?, ?, ?, ?, ?)", (*who, event.data.revision, event.data.content_hash)
    )
    same = "consumer = ? AND root_node_id = ? AND role = ?"
    row = connection.execute(f"SELECT revision FROM watermarks WHERE {same}", who).fetchone()  # noqa: S608 - constant
    revision = row[0] if row else 0
    while nearest := connection.execute(
        f"SELECT content_hash FROM ahead WHERE {same} AND revision = ?",  # noqa: S608 - constant
        (*who, revision + 1),
    ).fetchone():
        revision += 1
        connection.execute("INSERT OR REPLACE INTO watermarks VALUES (?, ?, ?, ?, ?)", (*who, revision, nearest[0]))
    connection.execute(f"DELETE FROM ahead WHERE {same} AND revision <= ?", (*who, revision))  # noqa: S608 - constant


def _recorded(position: int, body: str) -> RecordedEvent:
    try:
        return RecordedEvent(position=position, event=parse_event(body))
    except InvalidInput as error:
        raise StoreCorrupt(f"the event at position {position} cannot be read: {error}") from None
