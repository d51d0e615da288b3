"""Nodes, relations and details in SQLite."""

from __future__ import annotations

import json
from collections import Counter
from itertools import groupby, product
from operator import itemgetter
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
_COLUMNS: Final = "SELECT r.{near}, r.rank, r.sequence, r.relation_id, r.{far}, r.said"
# Which ends exist is looked up once for all rows; a join would look it up for each.
_ROWS: Final = (
    _COLUMNS
    + """
    FROM json_each(:ids) AS ids
    CROSS JOIN relations AS r ON r.{near} = ids.value AND r.live{ranks}{holds}
    LIMIT :most"""
)
# No smaller than the true number, and a walk of the index alone.
_CROWDS: Final = """
    SELECT r.{near} FROM relations AS r
    WHERE r.{near} IN (SELECT value FROM json_each(:ids)) AND r.live{ranks}
    GROUP BY r.{near} HAVING count(*) > :limit"""
# Of a crowded node only what is in reach counts, in the order of reading.
_IN_REACH: Final = """
    FROM relations AS r
    CROSS JOIN nodes AS n ON n.node_id = r.{far} AND n.live{far_holds}
    WHERE r.{near} = :id AND r.live{ranks}{holds}
        AND (:among IS NULL OR r.{far} IN (SELECT value FROM json_each(:among)))"""
_FIRST_ROWS: Final = _COLUMNS + _IN_REACH + " ORDER BY r.rank, r.sequence, r.relation_id LIMIT :limit"
_COUNTS: Final = "SELECT r.rank, count(*)" + _IN_REACH + " GROUP BY r.rank"
# Where nodes have more relations than this on average, some may have too many to be read whole.
_USUAL_DEGREE: Final = 20


class _Queries(NamedTuple):
    rows: str
    crowds: str
    first_rows: str
    counts: str


def _queries(*, is_outward: bool, is_timed: bool, only_explanatory: bool) -> _Queries:
    near, far = ("source", "target") if is_outward else ("target", "source")
    parts = {name: _HOLDS.format(table=table) if is_timed else "" for name, table in _HELD.items()}
    parts["ranks"] = f" AND r.rank IN {EXPLANATORY_RANKS}" if only_explanatory else ""
    return _Queries(*(query.format(near=near, far=far, **parts) for query in (_ROWS, _CROWDS, _FIRST_ROWS, _COUNTS)))


_HELD: Final = {"holds": "r", "far_holds": "n"}
_QUERIES: Final[Mapping[tuple[bool, ...], _Queries]] = {
    flags: _queries(is_outward=flags[0], is_timed=flags[1], only_explanatory=flags[2])
    for flags in product((True, False), repeat=3)
}
# A relation as it is read: near end, rank, sequence, id, far end, and what it says.
_Row = tuple[str, int, int, str, str, str]
_NEAR: Final = itemgetter(0)
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
        with self._database.reading() as connection:
            rows = _select_nodes(connection, "node_id, said", node_ids, as_of)
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
        with self._database.reading() as connection:
            reading = _Reading(connection, limit=limit, among=among, as_of=as_of)
            for is_outward in _WAYS[direction]:
                is_bounded = direction is Direction.EXPLAINED and not is_outward
                reading.read(node_ids, is_outward=is_outward, only_explanatory=is_bounded)
            said, crowded = reading.select()
        wanted = [(relation_id, text) for relation_id, text in said.items() if relation_id not in known]
        found = tuple(as_relation(relation_id, values) for relation_id, values in _parsed(wanted))
        return Adjacency(relations=found, crowded=crowded)

    def state(self) -> str:
        """Return a text that differs after every write of nodes, relations or details, also of another process."""
        with self._database.reading() as connection:
            return connection.execute("SELECT state FROM read_model").fetchone()[0]

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
    """One read of relations."""

    def __init__(
        self,
        connection: sqlite3.Connection,
        *,
        limit: int,
        among: Collection[str] | None,
        as_of: datetime | None,
    ) -> None:
        self._connection = connection
        self._limit = limit
        self._among = None if among is None else frozenset(among)
        self._as_of = as_of
        self._parameters: dict[str, Any] = {
            "limit": limit,
            "among": None if among is None else as_list(among),
            "moment": as_microseconds(as_of),
        }
        self._rows: dict[bool, list[_Row]] = {}
        self._counts: dict[tuple[str, bool], Counter[str]] = {}

    def read(self, node_ids: Collection[str], *, is_outward: bool, only_explanatory: bool) -> None:
        """Read the rows around nodes in one direction, and only the first ones where there are far too many."""
        queries = _QUERIES[is_outward, self._as_of is not None, only_explanatory]
        most = max(self._limit, _USUAL_DEGREE * len(node_ids))
        rows = self._run(queries.rows, ids=as_list(node_ids), most=most + 1)
        if len(rows) > most:
            crowds = {near for (near,) in self._run(queries.crowds, ids=as_list(node_ids))}
            others = [node_id for node_id in node_ids if node_id not in crowds]
            rows = self._run(queries.rows, ids=as_list(others), most=-1)
            for node_id in sorted(crowds):
                rows += self._run(queries.first_rows, id=node_id)
                count = self._counts[node_id, is_outward] = Counter()
                for rank, number in self._run(queries.counts, id=node_id):
                    count[str(class_of_rank(rank))] += number
        self._rows[is_outward] = sorted(rows)

    def select(self) -> tuple[dict[str, str], dict[tuple[str, bool], Counter[str]]]:
        """Return what the relations in reach say, by id, and the counts of those nodes that have too many."""
        ends = {end for rows in self._rows.values() for row in rows for end in (row[0], row[4])}
        living = {node_id for (node_id,) in _select_nodes(self._connection, "node_id", ends, self._as_of)}
        inside = living if self._among is None else living & self._among
        said: dict[str, str] = {}
        for is_outward, rows in self._rows.items():
            for near, around in groupby(rows, _NEAR):
                if near not in living:
                    continue
                found = [row for row in around if row[4] in inside]
                if len(found) > self._limit:
                    self._counts[near, is_outward] = Counter(str(class_of_rank(row[1])) for row in found)
                said.update([(row[3], row[5]) for row in found[: self._limit]])
        crowded = {
            key: count for key, count in self._counts.items() if key[0] in living and count.total() > self._limit
        }
        return said, crowded

    def _run(self, query: str, **parameters: Any) -> list[Any]:
        return self._connection.execute(query, {**self._parameters, **parameters}).fetchall()


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


def _select_nodes(
    connection: sqlite3.Connection, columns: str, node_ids: Collection[str], as_of: datetime | None
) -> list[Any]:
    query = f"SELECT {columns} FROM nodes AS n WHERE live AND node_id IN (SELECT value FROM json_each(:ids))"  # noqa: S608 - our own names
    holds = "" if as_of is None else _HOLDS.format(table="n")
    return connection.execute(query + holds, {"ids": as_list(node_ids), "moment": as_microseconds(as_of)}).fetchall()


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
        connection.execute("UPDATE read_model SET state = hex(randomblob(16))")
