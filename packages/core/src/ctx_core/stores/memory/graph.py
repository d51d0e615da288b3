"""Nodes, relations and details of the kernel in plain dictionaries."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from ctx_core.kernel.commands import EntityKind
from ctx_core.kernel.last_writer_wins import Register, merge_all
from ctx_core.kernel.ports import Adjacency, Direction
from ctx_core.kernel.reading_order import EXPLANATORY_RANKS, class_of_rank
from ctx_core.stores.entities import Edge, as_detail, as_microseconds, as_node, as_relation, edge_of, validity_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence
    from datetime import datetime

    from ctx_core.graph.model import Node, NodeDetail, Relation
    from ctx_core.kernel.last_writer_wins import Write
    from ctx_core.stores.memory.tables import Tables


class MemoryGraphStore:
    """Nodes and relations, with the relations of each node kept beside it."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables
        self._registers: dict[EntityKind, dict[str, Register]] = {EntityKind.NODE: {}, EntityKind.RELATION: {}}
        # What is read from a register is kept until the register changes, or the transaction that read it is undone.
        self._relations: dict[str, Relation] = {}
        self._edges: dict[str, Edge] = {}
        self._around: dict[tuple[str | None, bool], dict[str, None]] = {}

    def write(self, writes: Sequence[Write]) -> None:
        """Merge writes of nodes and relations."""
        with self._tables.transaction():
            self._tables.note_change()
            for kind, registers in self._registers.items():
                for entity_id, after in merge_all(registers, (w for w in writes if w.kind is kind)).items():
                    self._tables.put(registers, entity_id, after)
                    if kind is EntityKind.RELATION:
                        self._tables.remove(self._relations, entity_id)
                        self._attach(entity_id, after)

    def nodes(self, node_ids: Collection[str], *, as_of: datetime | None = None) -> dict[str, Node]:
        """Return those of the nodes that exist."""
        moment = as_microseconds(as_of)
        with self._tables.transaction():
            return {node_id: self._node(node_id) for node_id in node_ids if self._is_there(node_id, moment)}

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
        del known
        moment, inside = as_microseconds(as_of), None if among is None else set(among)
        kept: dict[str, Relation] = {}
        crowded: dict[tuple[str, bool], Counter[str]] = {}
        with self._tables.transaction():
            for is_outward in _WAYS[direction]:
                ranks = EXPLANATORY_RANKS if direction is Direction.EXPLAINED and not is_outward else None
                for node_id in node_ids:
                    ids = self._in_reach(node_id, moment, inside, ranks, is_outward=is_outward)
                    if len(ids) > limit:
                        edges = (self._edges[relation_id] for relation_id in ids)
                        crowded[node_id, is_outward] = Counter(str(class_of_rank(edge.rank)) for edge in edges)
                    kept.update((relation_id, self._relation(relation_id)) for relation_id in ids[:limit])
        return Adjacency(relations=tuple(kept.values()), crowded=crowded)

    def scan(self) -> Iterator[Node | Relation]:
        """Yield all nodes, then all relations, by id."""
        yield from self.nodes(sorted(self._registers[EntityKind.NODE])).values()
        yield from [self._relation(relation_id) for relation_id in sorted(self._edges)]

    def _in_reach(
        self,
        node_id: str,
        moment: int | None,
        among: set[str] | None,
        ranks: Collection[int] | None,
        *,
        is_outward: bool,
    ) -> list[str]:
        """Return the relations of a node that count, in the order of reading."""
        found: list[tuple[int, int, str]] = []
        for relation_id in self._around.get((node_id, is_outward), ()) if self._is_there(node_id, moment) else ():
            edge = self._edges[relation_id]
            far = edge.target if is_outward else edge.source
            if (
                (ranks is None or edge.rank in ranks)
                and (among is None or far in among)
                and self._is_there(far, moment)
                and _holds(edge.valid_from, edge.valid_until, moment)
            ):
                found.append((edge.rank, edge.sequence, relation_id))
        return [relation_id for _, _, relation_id in sorted(found)]

    def _is_there(self, node_id: str | None, moment: int | None) -> bool:
        state = self._registers[EntityKind.NODE].get(node_id or "")
        return state is not None and state.is_live and (moment is None or _holds(*validity_of(state), moment))

    def _node(self, node_id: str) -> Node:
        # Built for every read: a node holds a dictionary, and what a caller does to it must not reach the store.
        return as_node(node_id, self._registers[EntityKind.NODE][node_id].values)

    def _relation(self, relation_id: str) -> Relation:
        relation = self._relations.get(relation_id)
        if relation is None:
            values = self._registers[EntityKind.RELATION][relation_id].values
            relation = as_relation(relation_id, values)
            self._tables.put(self._relations, relation_id, relation)
        return relation

    def _attach(self, relation_id: str, after: Register) -> None:
        before = self._edges.get(relation_id)
        for end in () if before is None else ((before.source, True), (before.target, False)):
            self._tables.remove(self._around[end], relation_id)
        self._tables.remove(self._edges, relation_id)
        if after.is_live:
            edge = edge_of(after)
            self._tables.put(self._edges, relation_id, edge)
            for end in ((edge.source, True), (edge.target, False)):
                self._tables.put(self._around.setdefault(end, {}), relation_id, None)


class MemoryDetailStore:
    """Details by node."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables
        self._registers: dict[str, Register] = {}

    def write(self, writes: Sequence[Write]) -> None:
        """Merge writes of details."""
        with self._tables.transaction():
            self._tables.note_change()
            for node_id, after in merge_all(self._registers, writes).items():
                self._tables.put(self._registers, node_id, after)

    def details(self, node_ids: Iterable[str]) -> dict[str, NodeDetail]:
        """Return those of the details that exist."""
        found = {node_id: self._registers.get(node_id) for node_id in node_ids}
        return {
            node_id: as_detail(node_id, state.values) for node_id, state in found.items() if state and state.is_live
        }

    def scan(self) -> Iterator[NodeDetail]:
        """Yield all details, by node id."""
        yield from self.details(sorted(self._registers)).values()


_WAYS = {
    Direction.EXPLAINED: (True, False),
    Direction.BOTH: (True, False),
    Direction.OUT: (True,),
    Direction.IN: (False,),
}


def _holds(start: int | None, end: int | None, moment: int | None) -> bool:
    return moment is None or ((start is None or start <= moment) and (end is None or moment < end))
