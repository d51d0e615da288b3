"""A whole kernel in one SQLite file."""

from __future__ import annotations

from ctx_core.kernel.ports import KernelStores
from ctx_core.stores.sqlite.database import SqliteDatabase, path_of
from ctx_core.stores.sqlite.graph import SqliteDetailStore, SqliteGraphStore
from ctx_core.stores.sqlite.log import SqliteEventStore, SqliteProgressStore, SqliteSnapshotStore


def open_sqlite_stores(url: str) -> KernelStores:
    """Open or create the file of `sqlite:///context.db`; its folder must exist."""
    database = SqliteDatabase(path_of(url))
    graph = SqliteGraphStore(database)
    return KernelStores(
        events=SqliteEventStore(database),
        graph=graph,
        details=SqliteDetailStore(database),
        progress=SqliteProgressStore(database),
        snapshots=SqliteSnapshotStore(database),
        writing=database.writing,
        reading=database.reading,
        state=graph.state,
        close=database.close,
    )
