"""Nodes, relations and details in SQLite."""

from __future__ import annotations

import json
from collections import Counter
from itertools import product
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from ctx_core.kernel.commands import EntityKind
from ctx_core.kernel.last_writer_wins import merge_all
from ctx_core.kernel.ports import Adjacency, Direction
from ctx_core.kernel.reading_order import EXPLANATORY_RANKS, class_of_rank
from ctx_core.stores.entities import as_detail, as_microseconds, as_node, as_relation
from ctx_core.stores.sqlite.database import as_list
from ctx_core.stores.sqlite.rows import detail_row, node_row, register_of, relation_row

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
    from datetime import datetime

    from ctx_core.graph.model import Node, NodeDetail, Relation
    from ctx_core.kernel.last_writer_wins import Register, Write
    from ctx_core.stores.sqlite.database import SqliteDatabase

_HOLDS: Final = """
    AND ifnull({table}.valid_from <= :moment, 1) AND ifnull({table}.valid_until > :moment, 1)"""
# What is asked of the index alone: relations with both ends, and where the limit, the direction and the time say so.
_IN_REACH: Final = """
    FROM json_each(:ids) AS ids
    CROSS JOIN nodes AS m ON m.node_id = ids.value AND m.live{near_holds}
    CROSS JOIN relations AS r ON r.{near} = m.node_id AND r.live{ranks}{holds}
    CROSS JOIN nodes AS n ON n.node_id = r.{far} AND n.live{far_holds}
    WHERE (:among IS NULL OR r.{far} IN (SELECT value FROM json_each(:among)))"""
# Without the far ends: no smaller than the true number, and a walk of the index alone.
_CROWDS: Final = """
    SELECT r.{near} FROM relations AS r
    WHERE r.{near} IN (SELECT value FROM json_each(:ids)) AND r.live{ranks}
    GROUP BY r.{near} HAVING count(*) > :limit"""
_ROWS: Final = "SELECT r.{near}, r.rank, r.sequence, r.relation_id, r.rowid" + _IN_REACH
_FIRST_ROWS: Final = _ROWS + " ORDER BY r.rank, r.sequence, r.relation_id LIMIT :limit"
_COUNTS: Final = "SELECT r.rank, count(*)" + _IN_REACH + " GROUP BY r.rank"


class _Queries(NamedTuple):
    crowds: str
    rows: str
    first_rows: str
    counts: str


def _queries(*, is_outward: bool, is_timed: bool, only_explanatory: bool) -> _Queries:
    near, far = ("source", "target") if is_outward else ("target", "source")
    parts = {name: _HOLDS.format(table=table) if is_timed else "" for name, table in _HELD.items()}
    parts["ranks"] = f" AND r.rank IN {EXPLANATORY_RANKS}" if only_explanatory else ""
    return _Queries(*(query.format(near=near, far=far, **parts) for query in (_CROWDS, _ROWS, _FIRST_ROWS, _COUNTS)))


_HELD: Final = {"near_holds": "m", "holds": "r", "far_holds": "n"}
_QUERIES: Final[Mapping[tuple[bool, ...], _Queries]] = {
    flags: _queries(is_outward=flags[0], is_timed=flags[1], only_explanatory=flags[2])
    for flags in product((True, False), repeat=3)
}
_WAYS: Final[Mapping[Direction, tuple[bool, ...]]] = {
    Direction.EXPLAINED: (True, False),
    Direction.BOTH: (True, False),
    Direction.OUT: (True,),
    Direction.IN: (False,),
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
                _merge(connection, "nodes", "node_id", nodes, node_row)
            if relations:
                _merge(connection, "relations", "relation_id", relations, relation_row)

    def nodes(self, node_ids: Collection[str], *, as_of: datetime | None = None) -> dict[str, Node]:
        """Return those of the nodes that exist."""
        query = "SELECT node_id, said FROM nodes AS n WHERE live AND node_id IN (SELECT value FROM json_each(:ids))"
        holds = "" if as_of is None else _HOLDS.format(table="n")
        with self._database.reading() as connection:
            parameters = {"ids": as_list(node_ids), "moment": as_microseconds(as_of)}
            rows = connection.execute(query + holds, parameters).fetchall()
        return {node_id: as_node(node_id, values) for node_id, values in _parsed(rows)}

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
        """Return the most explanatory relations of each node."""
        crowded: dict[tuple[str, bool], Counter[str]] = {}
        wanted: dict[str, int] = {}
        parameters: dict[str, Any] = {
            "limit": limit,
            "among": None if among is None else as_list(among),
            "moment": as_microseconds(as_of),
        }
        with self._database.reading() as connection:
            for is_outward in _WAYS[direction]:
                is_bounded = direction is Direction.EXPLAINED and not is_outward
                reading = _Reading(connection, _QUERIES[is_outward, as_of is not None, is_bounded], parameters)
                rows, counts = reading.around(node_ids)
                crowded.update(((node_id, is_outward), count) for node_id, count in counts.items())
                wanted.update((row[3], row[4]) for row in rows if row[3] not in known)
            found = connection.execute(
                "SELECT relation_id, said FROM relations WHERE rowid IN (SELECT value FROM json_each(?))",
                (json.dumps(list(wanted.values())),),
            ).fetchall()
        by_id = {relation_id: as_relation(relation_id, values) for relation_id, values in _parsed(found)}
        return Adjacency(relations=tuple(by_id[relation_id] for relation_id in wanted), crowded=crowded)

    def scan(self) -> Iterator[Node | Relation]:
        """Yield all nodes, then all relations."""
        with self._database.reading() as connection:
            nodes = connection.execute("SELECT node_id, said FROM nodes WHERE live").fetchall()
            relations = connection.execute("SELECT relation_id, said FROM relations WHERE live").fetchall()
        for node_id, said in nodes:
            yield as_node(node_id, json.loads(said))
        for relation_id, said in relations:
            yield as_relation(relation_id, json.loads(said))


class _Reading:
    """One direction of one read of relations."""

    def __init__(self, connection: sqlite3.Connection, queries: _Queries, parameters: Mapping[str, Any]) -> None:
        self._connection = connection
        self._queries = queries
        self._parameters = parameters

    def around(self, node_ids: Collection[str]) -> tuple[list[Any], dict[str, Counter[str]]]:
        """Return the rows around nodes in the order of reading, and how many there are where they are too many."""
        limit: int = self._parameters["limit"]
        maybe_crowded = {row[0] for row in self._run(self._queries.crowds, node_ids)}
        rows = self._run(self._queries.rows, [node_id for node_id in node_ids if node_id not in maybe_crowded])
        rows.sort()
        counts: dict[str, Counter[str]] = {}
        for node_id in sorted(maybe_crowded):
            rows += self._run(self._queries.first_rows, [node_id])
            count: Counter[str] = Counter()
            for rank, number in self._run(self._queries.counts, [node_id]):
                count[str(class_of_rank(rank))] += number
            if count.total() > limit:
                counts[node_id] = count
        return rows, counts

    def _run(self, query: str, node_ids: Collection[str]) -> list[Any]:
        return self._connection.execute(query, {**self._parameters, "ids": as_list(node_ids)}).fetchall()


class SqliteDetailStore:
    """Details by node."""

    def __init__(self, database: SqliteDatabase) -> None:
        self._database = database

    def write(self, writes: Sequence[Write]) -> None:
        """Merge writes of details."""
        with self._database.writing() as connection:
            _merge(connection, "details", "node_id", writes, detail_row)

    def details(self, node_ids: Collection[str]) -> dict[str, NodeDetail]:
        """Return those of the details that exist."""
        with self._database.reading() as connection:
            rows = connection.execute(
                "SELECT node_id, said FROM details WHERE live AND node_id IN (SELECT value FROM json_each(?))",
                (as_list(node_ids),),
            ).fetchall()
        return {node_id: as_detail(node_id, values) for node_id, values in _parsed(rows)}

    def scan(self) -> Iterator[NodeDetail]:
        """Yield all details."""
        with self._database.reading() as connection:
            rows = connection.execute("SELECT node_id, said FROM details WHERE live").fetchall()
        for node_id, said in rows:
            yield as_detail(node_id, json.loads(said))


def _parsed(rows: Sequence[tuple[str, str]]) -> Iterable[tuple[str, Any]]:
    """Return rows of an id and JSON with the JSON parsed: in one text, which is a third faster than one by one."""
    values = json.loads(f"[{','.join(said for _, said in rows)}]")
    return zip((entity_id for entity_id, _ in rows), values, strict=True)


def _merge(
    connection: sqlite3.Connection,
    table: str,
    key: str,
    writes: Sequence[Write],
    row_of: Callable[[str, Register], tuple[Any, ...]],
) -> None:
    found = connection.execute(
        f"SELECT {key}, said, state FROM {table} WHERE {key} IN (SELECT value FROM json_each(?))",  # noqa: S608 - our own names
        (as_list({write.entity_id for write in writes}),),
    )
    before = {entity_id: register_of(said, state) for entity_id, said, state in found}
    rows = [row_of(entity_id, state) for entity_id, state in merge_all(before, writes).items()]
    if rows:
        places = ", ".join("?" * len(rows[0]))
        connection.executemany(f"INSERT OR REPLACE INTO {table} VALUES ({places})", rows)  # noqa: S608 - our own names
