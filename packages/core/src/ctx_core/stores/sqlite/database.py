"""One SQLite file in WAL mode: many readers, one writer at a time, and transactions that nest."""

from __future__ import annotations

import json
import sqlite3
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote, urlsplit

from ctx_core.errors import InvalidSettings, StoreCorrupt, StoreUnavailable

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable

FORMAT_VERSION: Final = 1
# "ctxk" in ASCII: tells our files from other SQLite files.
_APPLICATION_ID: Final = 0x6374786B
_BUSY_SECONDS: Final = 5.0

_SCHEMA: Final = """
CREATE TABLE events (
    position INTEGER PRIMARY KEY AUTOINCREMENT,
    event_id TEXT NOT NULL,
    root_node_id TEXT NOT NULL,
    role TEXT NOT NULL,
    revision INTEGER NOT NULL,
    content_hash TEXT NOT NULL,
    clock INTEGER NOT NULL,
    idempotency_key TEXT,
    body TEXT NOT NULL,
    UNIQUE (root_node_id, role, revision)
);
CREATE UNIQUE INDEX events_by_key ON events (root_node_id, role, idempotency_key) WHERE idempotency_key IS NOT NULL;
CREATE TABLE nodes (node_id TEXT PRIMARY KEY, live INTEGER NOT NULL, state TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE relations (
    relation_id TEXT PRIMARY KEY,
    live INTEGER NOT NULL,
    source TEXT,
    target TEXT,
    rank INTEGER NOT NULL,
    sequence INTEGER NOT NULL,
    state TEXT NOT NULL
);
CREATE INDEX relations_out ON relations (source, rank, sequence, relation_id, target) WHERE live;
CREATE INDEX relations_in ON relations (target, rank, sequence, relation_id, source) WHERE live;
CREATE TABLE details (node_id TEXT PRIMARY KEY, live INTEGER NOT NULL, state TEXT NOT NULL);
CREATE TABLE processed (consumer TEXT, event_id TEXT, PRIMARY KEY (consumer, event_id)) WITHOUT ROWID;
CREATE TABLE checkpoints (
    consumer TEXT PRIMARY KEY,
    position INTEGER NOT NULL,
    processed INTEGER NOT NULL,
    updated_at TEXT NOT NULL
);
CREATE TABLE watermarks (
    consumer TEXT,
    root_node_id TEXT,
    role TEXT,
    revision INTEGER NOT NULL,
    content_hash TEXT NOT NULL,
    PRIMARY KEY (consumer, root_node_id, role)
) WITHOUT ROWID;
CREATE TABLE ahead (
    consumer TEXT,
    root_node_id TEXT,
    role TEXT,
    revision INTEGER,
    content_hash TEXT NOT NULL,
    PRIMARY KEY (consumer, root_node_id, role, revision)
) WITHOUT ROWID;
CREATE TABLE snapshots (snapshot_id TEXT PRIMARY KEY, document TEXT NOT NULL, expires_at REAL NOT NULL);
"""


class SqliteDatabase:
    """Connections to one file, handed out for one transaction each; safe to share between threads."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._current = threading.local()
        self._idle: list[sqlite3.Connection] = []
        self._lock = threading.Lock()
        self._writer = threading.RLock()
        self._is_closed = False
        with self.writing() as connection:
            self._lay_out(connection)

    @contextmanager
    def writing(self) -> Generator[sqlite3.Connection]:
        """Open a transaction that no other writer can enter; inside another one, join it."""
        # SQLite waits by polling, a tenth of a second at a time; threads of one process take turns without it.
        with self._writer, self._transaction("BEGIN IMMEDIATE") as connection:
            yield connection

    @contextmanager
    def reading(self) -> Generator[sqlite3.Connection]:
        """Open one consistent view; inside another transaction, join it."""
        with self._transaction("BEGIN") as connection:
            yield connection

    def close(self) -> None:
        """Close every connection that is not in use; the others close when their transaction ends."""
        with self._lock:
            self._is_closed = True
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()

    @contextmanager
    def _transaction(self, begin: str) -> Generator[sqlite3.Connection]:
        joined: sqlite3.Connection | None = getattr(self._current, "connection", None)
        if joined is not None:
            yield joined
            return
        with self._translated():
            connection = self._take()
            try:
                connection.execute(begin)
                self._current.connection = connection
                yield connection
                connection.execute("COMMIT")
            except BaseException:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                raise
            finally:
                self._current.connection = None
                self._give_back(connection)

    def _take(self) -> sqlite3.Connection:
        with self._lock:
            if self._is_closed:
                raise StoreUnavailable(f"{self._path} was closed")
            if self._idle:
                return self._idle.pop()
        connection = sqlite3.connect(
            self._path, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False, cached_statements=64
        )
        # WAL lets readers go on while one writes; with it, NORMAL loses no commit when a process is killed.
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("PRAGMA synchronous=NORMAL")
        return connection

    def _give_back(self, connection: sqlite3.Connection) -> None:
        with self._lock:
            if not self._is_closed:
                self._idle.append(connection)
                return
        connection.close()

    @contextmanager
    def _translated(self) -> Generator[None]:
        try:
            yield
        except sqlite3.OperationalError as error:
            if "locked" in str(error) or "busy" in str(error):
                raise StoreUnavailable(
                    f"another process writes to {self._path} and held it for more than {_BUSY_SECONDS:g} s"
                ) from error
            raise StoreUnavailable(f"{self._path}: {error}") from error
        except sqlite3.DatabaseError as error:
            raise StoreCorrupt(f"{self._path}: {error}") from error

    def _lay_out(self, connection: sqlite3.Connection) -> None:
        owner, version = (
            connection.execute(f"PRAGMA {name}").fetchone()[0] for name in ("application_id", "user_version")
        )
        tables = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
        if tables and owner != _APPLICATION_ID:
            raise StoreCorrupt(f"{self._path} is an SQLite file of something else; a kernel needs one of its own")
        if tables and version != FORMAT_VERSION:
            raise StoreCorrupt(f"{self._path} has format {version}; this version reads format {FORMAT_VERSION}")
        if not tables:
            for statement in _SCHEMA.split(";\n"):
                connection.execute(statement)
            connection.execute(f"PRAGMA application_id={_APPLICATION_ID}")
            connection.execute(f"PRAGMA user_version={FORMAT_VERSION}")


def path_of(url: str) -> str:
    """Return the path in `sqlite:///relative.db` or `sqlite:////absolute.db`."""
    parts = urlsplit(url)
    path = unquote(parts.path[1:])
    if parts.netloc or not path or path == ":memory:":
        raise InvalidSettings(f"{url!r} names no file; write sqlite:///context.db, or memory:// to keep nothing")
    return path


def as_list(values: Iterable[str]) -> str:
    """Return values as the JSON array that `json_each` reads."""
    return json.dumps(list(values))
