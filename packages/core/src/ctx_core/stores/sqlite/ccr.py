"""Originals kept in an SQLite file, across restarts and between processes."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, Any, Final, Self

from ctx_core.errors import ContentExpired, ContentNotFound
from ctx_core.optimize.ccr import HASH_LENGTH, content_hash, decode, encode, normalized_ref
from ctx_core.stores.sqlite.database import SqliteDatabase, path_of

if TYPE_CHECKING:
    from collections.abc import Callable

_SCHEMA: Final = (
    (
        "CREATE TABLE IF NOT EXISTS original (scope BLOB NOT NULL, ref TEXT NOT NULL, content BLOB, stored_at REAL NOT NULL, "
        "PRIMARY KEY (scope, ref))"
    ),
    "CREATE INDEX IF NOT EXISTS original_by_age ON original (stored_at) WHERE content IS NOT NULL",
)
# Files of versions that knew no scopes: what they hold belongs to callers who name no owner.
_HAS_OLD: Final = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'ccr'"
_FROM_OLD: Final = (
    "INSERT OR IGNORE INTO original (scope, ref, content, stored_at) SELECT X'', ref, content, stored_at FROM ccr",
    "DROP TABLE ccr",
)
# Storing again renews the time an original has left.
_PUT: Final = """
INSERT INTO original (scope, ref, content, stored_at) VALUES (?, ?, ?, ?)
ON CONFLICT (scope, ref) DO UPDATE SET content = excluded.content, stored_at = excluded.stored_at
"""
# The hash stays, so that what has gone can be told from what never was.
_EXPIRE: Final = "UPDATE original SET content = NULL WHERE stored_at <= ? AND content IS NOT NULL"
_GET: Final = "SELECT content, stored_at FROM original WHERE scope = ? AND ref >= ? AND ref <= ? LIMIT 2"
_COUNT: Final = "SELECT count(*) FROM original WHERE scope = ? AND content IS NOT NULL"
_DELETE: Final = "DELETE FROM original WHERE scope = ?"


class SqliteCcrStore:
    """Keeps originals in one SQLite file, which may be the file of a kernel too.

    Args:
        path: The file; a URL `sqlite:///context.db` is understood as well.
        ttl_seconds: How long an original can be had after it was last stored; None keeps it for good.
        clock: Seconds since some epoch that outlives the process.
    """

    def __init__(
        self, path: str | os.PathLike[str], *, ttl_seconds: float | None = None, clock: Callable[[], float] = time.time
    ) -> None:
        where = os.fspath(path)
        self._path = path_of(where) if where.startswith("sqlite:") else where
        self._ttl_seconds = ttl_seconds
        self._clock = clock
        self._database = self._opened()

    def put(self, content: str, *, scope: str = "") -> str:
        """Store `content` for a scope and return its full hash."""
        ref, now = content_hash(content), self._clock()
        with self._database.writing() as connection:
            connection.execute(_PUT, (encode(scope), ref, encode(content), now))
            if self._ttl_seconds is not None:
                connection.execute(_EXPIRE, (now - self._ttl_seconds,))
        return ref

    def get(self, ref: str, *, scope: str = "") -> str:
        """Return the original that a scope holds under `ref`."""
        prefix = normalized_ref(ref)
        if prefix is None:
            raise ContentNotFound(ref)
        with self._database.reading() as connection:
            rows = connection.execute(_GET, (encode(scope), prefix, prefix.ljust(HASH_LENGTH, "f"))).fetchall()
        if len(rows) != 1:
            raise ContentNotFound(ref)
        content, stored_at = rows[0]
        if content is None or self._is_expired(stored_at):
            raise ContentExpired(ref)
        return decode(content)

    def delete_scope(self, scope: str) -> int:
        """Forget all that a scope holds, hashes included; return how many originals that were."""
        with self._database.writing() as connection:
            held: int = connection.execute(_COUNT, (encode(scope),)).fetchone()[0]
            connection.execute(_DELETE, (encode(scope),))
        return held

    def close(self) -> None:
        """Close the file."""
        self._database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_database"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._database = self._opened()

    def _opened(self) -> SqliteDatabase:
        database = SqliteDatabase(self._path)
        with database.writing() as connection:
            for statement in _SCHEMA:
                connection.execute(statement)
            if connection.execute(_HAS_OLD).fetchone():
                for statement in _FROM_OLD:
                    connection.execute(statement)
        return database

    def _is_expired(self, stored_at: float) -> bool:
        return self._ttl_seconds is not None and self._clock() - stored_at >= self._ttl_seconds
