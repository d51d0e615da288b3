"""The tables of a kernel's SQLite file, and how a file of an earlier format becomes one of this."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ctx_core.errors import StoreCorrupt

if TYPE_CHECKING:
    import sqlite3

FORMAT_VERSION: Final = 3
# "ctxk" in ASCII: tells our files from other SQLite files.
_APPLICATION_ID: Final = 0x6374786B

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
# `said` holds the fields as they stand, `state` what else is needed to merge a write that is still to come.
_READ_MODEL: Final = """
CREATE TABLE nodes (
    node_id TEXT PRIMARY KEY,
    live INTEGER NOT NULL,
    valid_from INTEGER,
    valid_until INTEGER,
    said TEXT NOT NULL,
    state TEXT NOT NULL
);
CREATE INDEX nodes_live ON nodes (node_id, valid_from, valid_until) WHERE live;
CREATE TABLE relations (
    relation_id TEXT PRIMARY KEY,
    live INTEGER NOT NULL,
    source TEXT,
    target TEXT,
    rank INTEGER NOT NULL,
    sequence INTEGER NOT NULL,
    valid_from INTEGER,
    valid_until INTEGER,
    said TEXT NOT NULL,
    state TEXT NOT NULL
);
CREATE INDEX relations_out ON relations (source, rank, sequence, relation_id, target, valid_from, valid_until) WHERE live;
CREATE INDEX relations_in ON relations (target, rank, sequence, relation_id, source, valid_from, valid_until) WHERE live;
CREATE TABLE details (node_id TEXT PRIMARY KEY, live INTEGER NOT NULL, said TEXT NOT NULL, state TEXT NOT NULL);
"""
# Another random text after every write, so that a reader can tell whether what it kept still holds.
_STATE: Final = """
CREATE TABLE read_model (state TEXT NOT NULL);
INSERT INTO read_model VALUES ('');
"""


def lay_out(connection: sqlite3.Connection, path: str) -> None:
    """Create the tables in an empty file, or bring those of an earlier format up to date."""
    owner, version = (connection.execute(f"PRAGMA {name}").fetchone()[0] for name in ("application_id", "user_version"))
    tables = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
    if tables and owner != _APPLICATION_ID:
        raise StoreCorrupt(f"{path} is an SQLite file of something else; a kernel needs one of its own")
    if tables and not 1 <= version <= FORMAT_VERSION:
        raise StoreCorrupt(f"{path} has format {version}; this version reads formats 1 to {FORMAT_VERSION}")
    if not tables:
        _create(connection, _SCHEMA)
        _create(connection, _READ_MODEL)
        connection.execute(f"PRAGMA application_id={_APPLICATION_ID}")
    if version == 1:
        _bring_up_to_format_2(connection)
    if version < FORMAT_VERSION:
        _create(connection, _STATE)
    connection.execute(f"PRAGMA user_version={FORMAT_VERSION}")


def _create(connection: sqlite3.Connection, schema: str) -> None:
    for statement in schema.split(";\n"):
        connection.execute(statement)


def _bring_up_to_format_2(connection: sqlite3.Connection) -> None:
    """Fill the columns that format 1 did not have from the state that it kept."""
    from ctx_core.kernel.last_writer_wins import Register  # noqa: PLC0415 - hardly any file needs this
    from ctx_core.stores.sqlite.rows import detail_row, node_row, relation_row  # noqa: PLC0415

    for index in ("relations_out", "relations_in"):
        connection.execute(f"DROP INDEX {index}")
    rows_of = {"nodes": node_row, "relations": relation_row, "details": detail_row}
    for table in rows_of:
        connection.execute(f"ALTER TABLE {table} RENAME TO old_{table}")
    _create(connection, _READ_MODEL)
    for table, key in (("nodes", "node_id"), ("relations", "relation_id"), ("details", "node_id")):
        old = connection.execute(f"SELECT {key}, state FROM old_{table}")  # noqa: S608 - our own names
        rows = (rows_of[table](entity_id, Register.from_json(state)) for entity_id, state in old)
        values = {"nodes": "?, ?, ?, ?, ?, ?", "relations": "?, ?, ?, ?, ?, ?, ?, ?, ?, ?", "details": "?, ?, ?, ?"}
        connection.executemany(f"INSERT INTO {table} VALUES ({values[table]})", rows)  # noqa: S608
        connection.execute(f"DROP TABLE old_{table}")
