"""One SQLite file in WAL mode: many readers, one writer at a time, and transactions that nest."""

from __future__ import annotations

import json
import sqlite3
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote, urlsplit

from ctx_core.errors import InvalidSettings, StoreCorrupt, StoreUnavailable
from ctx_core.stores.sqlite.layout import lay_out

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable

_BUSY_SECONDS: Final = 5.0


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
            lay_out(connection, self._path)

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

    def purge(self) -> None:
        """Rewrite the file and empty its journal, so that nothing is left of what was removed or replaced."""
        with self._writer, self._translated():
            connection = self._take()
            try:
                connection.execute("VACUUM")
                connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            finally:
                self._give_back(connection)

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
