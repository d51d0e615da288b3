"""Nodes and relations as a property graph.

A `CtxNode` stands for each node, created or still awaited, and a `RELATED_TO` for each relation that lives. A
`CtxRelation` beside them holds the register of a relation, so that a removal can arrive before what it removes.
"""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING, Any, Final

from ctx_core.kernel.commands import EntityKind, canonical_json
from ctx_core.kernel.last_writer_wins import Register, merge_all
from ctx_core.kernel.ports import Adjacency, Direction
from ctx_core.kernel.reading_order import EXPLANATORY_RANKS, class_of_rank
from ctx_core.stores.entities import as_microseconds, as_node, as_relation, edge_of, validity_of
from ctx_core.stores.neo4j.connection import Neo4jConnection

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence
    from datetime import datetime

    from neo4j import ManagedTransaction

    from ctx_core.graph.model import Node, Relation
    from ctx_core.kernel.last_writer_wins import Write
    from ctx_core.stores.address import Credentials

_SCHEMA: Final = (
    "CREATE CONSTRAINT ctx_node_id IF NOT EXISTS FOR (n:CtxNode) REQUIRE (n.space, n.node_id) IS UNIQUE",
    "CREATE CONSTRAINT ctx_relation_id IF NOT EXISTS FOR (r:CtxRelation) REQUIRE (r.space, r.relation_id) IS UNIQUE",
    "CREATE INDEX ctx_related_to_id IF NOT EXISTS FOR ()-[e:RELATED_TO]-() ON (e.space, e.relation_id)",
    "CREATE INDEX ctx_node_kind IF NOT EXISTS FOR (n:CtxNode) ON (n.node_kind)",
    "CREATE INDEX ctx_node_status IF NOT EXISTS FOR (n:CtxNode) ON (n.status)",
)

# Setting a property locks what was merged, so what is read here cannot change before it is written back.
_LOCK_NODES: Final = """
UNWIND $ids AS id
MERGE (n:CtxNode {space: $space, node_id: id}) ON CREATE SET n.live = false
SET n.space = $space
RETURN n.node_id, n.state
"""
_LOCK_RELATIONS: Final = """
UNWIND $ids AS id
MERGE (r:CtxRelation {space: $space, relation_id: id}) ON CREATE SET r.live = false
SET r.space = $space
RETURN r.relation_id, r.state
"""
_SET_NODES: Final = """
UNWIND $rows AS row
MATCH (n:CtxNode {space: $space, node_id: row.id})
SET n.live = row.live, n.state = row.state, n.node_kind = row.node_kind, n.title = row.title, n.status = row.status,
    n.valid_from = row.valid_from, n.valid_until = row.valid_until
"""
_SET_RELATIONS: Final = """
UNWIND $rows AS row
MATCH (r:CtxRelation {space: $space, relation_id: row.id})
SET r.live = row.live, r.state = row.state
"""
_DROP_EDGES: Final = """
UNWIND $ids AS id
MATCH ()-[e:RELATED_TO {space: $space, relation_id: id}]->()
DELETE e
"""
_DRAW_EDGES: Final = """
UNWIND $rows AS row
MERGE (a:CtxNode {space: $space, node_id: row.source}) ON CREATE SET a.live = false
MERGE (b:CtxNode {space: $space, node_id: row.target}) ON CREATE SET b.live = false
CREATE (a)-[e:RELATED_TO {space: $space, relation_id: row.id}]->(b)
SET e.relation_type = row.relation_type, e.semantic_class = row.semantic_class,
    e.rank = row.rank, e.sequence = row.sequence, e.values = row.values,
    e.valid_from = row.valid_from, e.valid_until = row.valid_until
"""
# An end that is open is null, and what compares with null is null.
_HOLDS: Final = (
    "($moment IS NULL OR coalesce({0}.valid_from <= $moment, true) AND coalesce({0}.valid_until > $moment, true))"
)
_NODES: Final = f"""
UNWIND $ids AS id
MATCH (n:CtxNode {{space: $space, node_id: id}}) WHERE n.live AND {_HOLDS.format("n")}
RETURN n.node_id, n.state
"""
_IN_REACH: Final = f"""
    MATCH (n)-->(m:CtxNode) WHERE m.live AND ($among IS NULL OR m.node_id IN $among) AND ($ranks IS NULL OR e.rank IN $ranks)
        AND {_HOLDS.format("e")} AND {_HOLDS.format("m")}"""
# One row per relation and no more: a hub costs its limit, and no path is enumerated.
_AROUND: Final = f"""
UNWIND $ids AS id
MATCH (n:CtxNode {{space: $space, node_id: id}}) WHERE n.live AND {_HOLDS.format("n")}
CALL (n) {{{_IN_REACH}
    RETURN e ORDER BY e.rank, e.sequence, e.relation_id LIMIT $limit
}}
RETURN id, e.relation_id, e.values
"""
_COUNTS: Final = f"""
UNWIND $ids AS id
MATCH (n:CtxNode {{space: $space, node_id: id}})
CALL (n) {{{_IN_REACH}
    RETURN e.rank AS rank, count(*) AS number
}}
RETURN id, rank, number
"""
_ARROWS: Final = {True: "-[e:RELATED_TO]->", False: "<-[e:RELATED_TO]-"}
_WAYS: Final = {
    Direction.EXPLAINED: (True, False),
    Direction.BOTH: (True, False),
    Direction.OUT: (True,),
    Direction.IN: (False,),
}
_ALL_NODES: Final = "MATCH (n:CtxNode {space: $space}) WHERE n.live RETURN n.node_id, n.state"
_ALL_RELATIONS: Final = "MATCH (r:CtxRelation {space: $space}) WHERE r.live RETURN r.relation_id, r.state"


class Neo4jGraphStore:
    """Nodes and relations; needs Neo4j 5.23 or later, Community or Enterprise, one server or a cluster."""

    def __init__(self, connection: Neo4jConnection) -> None:
        self._connection = connection
        connection.execute(*_SCHEMA)

    def write(self, writes: Sequence[Write]) -> None:
        """Merge writes of nodes and relations, all or none."""
        nodes = [write for write in writes if write.kind is EntityKind.NODE]
        relations = [write for write in writes if write.kind is EntityKind.RELATION]

        def merge(transaction: ManagedTransaction) -> None:
            if nodes:
                self._merge_nodes(transaction, nodes)
            if relations:
                self._merge_relations(transaction, relations)

        self._connection.write(merge)

    def nodes(self, node_ids: Collection[str], *, as_of: datetime | None = None) -> dict[str, Node]:
        """Return those of the nodes that exist."""
        parameters = {"ids": list(node_ids), "moment": as_microseconds(as_of)}
        rows = self._connection.read(lambda transaction: self._rows(transaction, _NODES, **parameters))
        return {node_id: as_node(node_id, Register.from_json(state).values) for node_id, state in rows}

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
        parameters: dict[str, Any] = {"among": None if among is None else list(among), "moment": as_microseconds(as_of)}

        def read(transaction: ManagedTransaction) -> Adjacency:
            kept: dict[str, Relation] = {}
            crowded: dict[tuple[str, bool], Counter[str]] = {}
            for is_outward in _WAYS[direction]:
                is_bounded = direction is Direction.EXPLAINED and not is_outward
                parameters["ranks"] = list(EXPLANATORY_RANKS) if is_bounded else None
                rows, counts = self._around(transaction, node_ids, limit, parameters, is_outward=is_outward)
                crowded.update(((node_id, is_outward), count) for node_id, count in counts.items())
                for relation_id, values in rows:
                    if relation_id not in kept and relation_id not in known:
                        kept[relation_id] = as_relation(relation_id, json.loads(values))
            return Adjacency(relations=tuple(kept.values()), crowded=crowded)

        return self._connection.read(read)

    def scan(self) -> Iterator[Node | Relation]:
        """Yield all nodes, then all relations."""
        for node_id, state in self._connection.read(lambda transaction: self._rows(transaction, _ALL_NODES)):
            yield as_node(node_id, Register.from_json(state).values)
        for relation_id, state in self._connection.read(lambda transaction: self._rows(transaction, _ALL_RELATIONS)):
            yield as_relation(relation_id, Register.from_json(state).values)

    def close(self) -> None:
        """Close all connections."""
        self._connection.close()

    def _around(
        self,
        transaction: ManagedTransaction,
        node_ids: Collection[str],
        limit: int,
        parameters: Mapping[str, Any],
        *,
        is_outward: bool,
    ) -> tuple[list[tuple[str, str]], dict[str, Counter[str]]]:
        """Return the relations in one direction in the order of reading, and how many there are where they are too many."""
        around, counts = (query.replace("-->", _ARROWS[is_outward]) for query in (_AROUND, _COUNTS))
        kept: list[tuple[str, str]] = []
        seen: Counter[str] = Counter()
        for node_id, relation_id, values in self._rows(
            transaction, around, ids=list(node_ids), limit=limit + 1, **parameters
        ):
            seen[node_id] += 1
            if seen[node_id] <= limit:
                kept.append((relation_id, values))
        crowded: dict[str, Counter[str]] = {node_id: Counter() for node_id, number in seen.items() if number > limit}
        if crowded:
            for node_id, rank, number in self._rows(transaction, counts, ids=list(crowded), **parameters):
                crowded[node_id][str(class_of_rank(rank))] += number
        return kept, crowded

    def _merge_nodes(self, transaction: ManagedTransaction, writes: Sequence[Write]) -> None:
        changed = merge_all(self._locked(transaction, _LOCK_NODES, writes), writes)
        self._rows(transaction, _SET_NODES, rows=[_node_row(node_id, state) for node_id, state in changed.items()])

    def _merge_relations(self, transaction: ManagedTransaction, writes: Sequence[Write]) -> None:
        before = self._locked(transaction, _LOCK_RELATIONS, writes)
        changed = merge_all(before, writes)
        drawn = [relation_id for relation_id in changed if relation_id in before and before[relation_id].is_live]
        self._rows(transaction, _DROP_EDGES, ids=drawn)
        edges = [_edge_row(relation_id, state) for relation_id, state in sorted(changed.items()) if state.is_live]
        self._rows(transaction, _DRAW_EDGES, rows=edges)
        registers = [
            {"id": relation_id, "live": state.is_live, "state": state.to_json()}
            for relation_id, state in changed.items()
        ]
        self._rows(transaction, _SET_RELATIONS, rows=registers)

    def _locked(self, transaction: ManagedTransaction, query: str, writes: Sequence[Write]) -> dict[str, Register]:
        # In one order everywhere, so that two workers rarely wait for each other.
        ids = sorted({write.entity_id for write in writes})
        return {
            entity_id: Register.from_json(state)
            for entity_id, state in self._rows(transaction, query, ids=ids)
            if state is not None
        }

    def _rows(self, transaction: ManagedTransaction, query: str, **parameters: Any) -> list[list[Any]]:
        # The queries are constants of this module; everything that varies is a parameter.
        return transaction.run(query, space=self._connection.prefix, **parameters).values()  # pyright: ignore[reportArgumentType]


def _node_row(node_id: str, state: Register) -> Mapping[str, Any]:
    values = state.values
    shown = {name: values.get(name, "") for name in ("node_kind", "title", "status")}
    times = dict(zip(("valid_from", "valid_until"), validity_of(state), strict=True))
    return {"id": node_id, "live": state.is_live, "state": state.to_json(), **shown, **times}


def _edge_row(relation_id: str, state: Register) -> Mapping[str, Any]:
    values = state.values
    shown = {name: values.get(name, "") for name in ("relation_type", "semantic_class")}
    return {"id": relation_id, **edge_of(state)._asdict(), **shown, "values": canonical_json(values)}


def open_neo4j_graph(url: str, *, credentials: Credentials | None = None) -> Neo4jGraphStore:
    """Open the graph at `neo4j+s://host:7687/database` and the like."""
    connection = Neo4jConnection(url, credentials=credentials) if credentials else Neo4jConnection(url)
    return Neo4jGraphStore(connection)
