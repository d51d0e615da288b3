"""Nodes, relations and details in SQLite."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ctx_core.kernel.commands import EntityKind
from ctx_core.kernel.ports import Adjacency, Direction
from ctx_core.kernel.register import Register, merge_all
from ctx_core.stores.entities import as_detail, as_node, as_relation, ends, salience
from ctx_core.stores.sqlite.database import as_list

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Collection, Iterator, Sequence

    from ctx_core.graph.model import Node, NodeDetail, Relation
    from ctx_core.kernel.register import Write
    from ctx_core.stores.sqlite.database import SqliteDatabase

# One bounded walk of an index per node: the cost of a hub is the limit, not its size.
_AROUND: Final = """
SELECT ids.value, r.relation_id, r.rank, r.sequence, r.state
FROM json_each(:ids) AS ids JOIN relations AS r ON r.relation_id IN (
    SELECT x.relation_id FROM relations AS x
    WHERE x.{near} = ids.value AND x.live
      AND EXISTS (SELECT 1 FROM nodes AS n WHERE n.node_id = x.{far} AND n.live)
      AND EXISTS (SELECT 1 FROM nodes AS n WHERE n.node_id = x.{near} AND n.live)
      AND (:among IS NULL OR x.{far} IN (SELECT value FROM json_each(:among)))
    ORDER BY x.rank, x.sequence, x.relation_id LIMIT :limit + 1
)
"""
_WAYS: Final = {
    Direction.OUT: (_AROUND.format(near="source", far="target"),),
    Direction.IN: (_AROUND.format(near="target", far="source"),),
    Direction.BOTH: (_AROUND.format(near="source", far="target"), _AROUND.format(near="target", far="source")),
}


class SqliteGraphStore:
    """Nodes and relations as registers, with indexes for both directions."""

    def __init__(self, database: SqliteDatabase) -> None:
        self._database = database

    def write(self, writes: Sequence[Write]) -> None:
        """Merge writes of nodes and relations, all or none."""
        nodes = [write for write in writes if write.kind is EntityKind.NODE]
        relations = [write for write in writes if write.kind is EntityKind.RELATION]
        with self._database.writing() as connection:
            if nodes:
                _merge(connection, "nodes", "node_id", nodes)
            if relations:
                _merge_relations(connection, relations)

    def nodes(self, node_ids: Collection[str]) -> dict[str, Node]:
        """Return those of the nodes that exist."""
        with self._database.reading() as connection:
            rows = connection.execute(
                "SELECT node_id, state FROM nodes WHERE live AND node_id IN (SELECT value FROM json_each(?))",
                (as_list(node_ids),),
            ).fetchall()
        return {node_id: as_node(node_id, Register.from_json(state).values) for node_id, state in rows}

    def relations(
        self, node_ids: Collection[str], *, direction: Direction, limit: int, among: Collection[str] | None = None
    ) -> Adjacency:
        """Return the most explanatory relations of each node."""
        kept: dict[str, Relation] = {}
        crowded: set[str] = set()
        inside = None if among is None else as_list(among)
        parameters = {"ids": as_list(node_ids), "limit": limit, "among": inside}
        with self._database.reading() as connection:
            for query in _WAYS[direction]:
                rows = connection.execute(query, parameters).fetchall()
                counts: dict[str, int] = {}
                for node_id, relation_id, _, _, state in sorted(rows, key=lambda row: (row[2], row[3], row[1])):
                    counts[node_id] = counts.get(node_id, 0) + 1
                    if counts[node_id] > limit:
                        crowded.add(node_id)
                    elif relation_id not in kept:
                        kept[relation_id] = as_relation(relation_id, Register.from_json(state).values)
        return Adjacency(relations=tuple(kept.values()), crowded=frozenset(crowded))

    def scan(self) -> Iterator[Node | Relation]:
        """Yield all nodes, then all relations."""
        with self._database.reading() as connection:
            nodes = connection.execute("SELECT node_id, state FROM nodes WHERE live").fetchall()
            relations = connection.execute("SELECT relation_id, state FROM relations WHERE live").fetchall()
        for node_id, state in nodes:
            yield as_node(node_id, Register.from_json(state).values)
        for relation_id, state in relations:
            yield as_relation(relation_id, Register.from_json(state).values)


class SqliteDetailStore:
    """Details by node."""

    def __init__(self, database: SqliteDatabase) -> None:
        self._database = database

    def write(self, writes: Sequence[Write]) -> None:
        """Merge writes of details."""
        with self._database.writing() as connection:
            _merge(connection, "details", "node_id", writes)

    def details(self, node_ids: Collection[str]) -> dict[str, NodeDetail]:
        """Return those of the details that exist."""
        with self._database.reading() as connection:
            rows = connection.execute(
                "SELECT node_id, state FROM details WHERE live AND node_id IN (SELECT value FROM json_each(?))",
                (as_list(node_ids),),
            ).fetchall()
        return {node_id: as_detail(node_id, Register.from_json(state).values) for node_id, state in rows}

    def scan(self) -> Iterator[NodeDetail]:
        """Yield all details."""
        with self._database.reading() as connection:
            rows = connection.execute("SELECT node_id, state FROM details WHERE live").fetchall()
        for node_id, state in rows:
            yield as_detail(node_id, Register.from_json(state).values)


def _registers(connection: sqlite3.Connection, table: str, key: str, writes: Sequence[Write]) -> dict[str, Register]:
    rows = connection.execute(
        f"SELECT {key}, state FROM {table} WHERE {key} IN (SELECT value FROM json_each(?))",  # noqa: S608 - our own names
        (as_list({write.entity_id for write in writes}),),
    )
    return {entity_id: Register.from_json(state) for entity_id, state in rows}


def _merge(connection: sqlite3.Connection, table: str, key: str, writes: Sequence[Write]) -> None:
    changed = merge_all(_registers(connection, table, key, writes), writes)
    connection.executemany(
        f"INSERT OR REPLACE INTO {table} VALUES (?, ?, ?)",  # noqa: S608 - our own names
        [(entity_id, state.is_live, state.to_json()) for entity_id, state in changed.items()],
    )


def _merge_relations(connection: sqlite3.Connection, writes: Sequence[Write]) -> None:
    changed = merge_all(_registers(connection, "relations", "relation_id", writes), writes)
    connection.executemany(
        "INSERT OR REPLACE INTO relations VALUES (?, ?, ?, ?, ?, ?, ?)",
        [(key, state.is_live, *ends(state), *salience(state), state.to_json()) for key, state in changed.items()],
    )
