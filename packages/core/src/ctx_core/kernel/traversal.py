"""Walks over the graph: breadth first, level by level, each relation read once, bounded in every direction."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ctx_core.kernel.ports import Direction
from ctx_core.kernel.reading_order import is_explanatory

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence
    from datetime import datetime

    from ctx_core.graph.model import Node, Relation
    from ctx_core.kernel.ports import GraphStore


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """How far a walk goes.

    Args:
        depth: Relations from the root at most.
        max_nodes: Nodes in all at most; those that explained relations lead to come first.
        max_relations: Relations at one node, per direction, at most; the most explanatory stay.
    """

    depth: int = 10
    max_nodes: int = 2_000
    max_relations: int = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Neighborhood:
    """What a walk found.

    Args:
        nodes: By id, in the order they were found.
        relations: Those among the nodes, each once.
        crowded: Nodes with more relations than the bound; some of theirs are missing.
        is_cut: Nodes or relations in reach are missing.
        unread: How many are missing: relations by class, and `nodes` that were seen at the end of a relation. A relation
            between two crowded nodes may be counted at both.
    """

    nodes: dict[str, Node]
    relations: tuple[Relation, ...]
    crowded: tuple[str, ...] = ()
    is_cut: bool = False
    unread: Mapping[str, int] = field(default_factory=dict[str, int])


class _Walk:
    """The state of one breadth-first walk."""

    def __init__(self, graph: GraphStore, bounds: Bounds, direction: Direction, as_of: datetime | None) -> None:
        self._graph = graph
        self._bounds = bounds
        self._direction = direction
        self._as_of = as_of
        self._fetched: dict[str, Node] = {}
        self._has_read: set[str] = set()
        self._steps: dict[str, list[tuple[str, bool]]] = {}
        self._crowded: dict[tuple[str, bool], Mapping[str, int]] = {}
        self.nodes: dict[str, Node] = {}
        self.relations: dict[str, Relation] = {}
        self.came_from: dict[str, str] = {}
        self.is_cut = False

    def start(self, node_ids: Iterable[str]) -> list[str]:
        """Take in nodes, as far as they exist."""
        wanted = list(dict.fromkeys(node_ids))
        missing = [node_id for node_id in wanted if node_id not in self._fetched]
        if missing:
            self._fetched.update(self._graph.nodes(missing, as_of=self._as_of))
        found = [node_id for node_id in wanted if node_id in self._fetched]
        self.nodes.update((node_id, self._fetched[node_id]) for node_id in found)
        return found

    def read(self, node_ids: list[str], *, among: Collection[str] | None = None) -> None:
        """Read the relations of nodes, or those of them that lead to some nodes."""
        around = self._graph.relations(
            node_ids,
            direction=self._direction,
            limit=self._bounds.max_relations,
            among=among,
            as_of=self._as_of,
            known=self.relations.keys(),
        )
        self._has_read.update(node_ids)
        self._crowded.update(around.crowded)
        for relation in around.relations:
            if relation.relation_id not in self.relations:
                self.relations[relation.relation_id] = relation
                self._add_steps(relation)

    def explore(self, start: Sequence[str], *, only_explained: bool = False, target: str | None = None) -> None:
        """Walk on from nodes that were taken in, up to the bounds or to a target."""
        frontier, visited = list(start), set(start)
        for _ in range(self._bounds.depth):
            if not frontier or self.is_cut or target in self.nodes:
                break
            if unread := [node_id for node_id in frontier if node_id not in self._has_read]:
                self.read(unread)
            seen = self._look(frontier, visited, only_explained=only_explained)
            unknown = [node_id for node_id in seen if node_id not in self.nodes]
            room = max(0, self._bounds.max_nodes - len(self.nodes))
            self.is_cut = len(unknown) > room
            for node_id in self.start(unknown[:room]):
                self.came_from.setdefault(node_id, seen[node_id])
            frontier = [node_id for node_id in seen if node_id in self.nodes]
            visited.update(seen)

    def explore_explained_first(self, start: Sequence[str]) -> None:
        """Walk as `explore` does; where not all nodes fit, take those that explained relations lead to first."""
        beside = dict(self.nodes)
        self.explore(start)
        if self.is_cut:
            self.nodes, self.came_from, self.is_cut = beside, {}, False
            self.explore(start, only_explained=True)
            self.is_cut = False
            self.explore(start)

    def read_the_rest(self) -> None:
        """Read what joins nodes whose relations were not read yet: the outermost ones may point back inside."""
        if unread := [node_id for node_id in self.nodes if node_id not in self._has_read]:
            self.read(unread, among=self.nodes)

    def result(self) -> Neighborhood:
        """Return everything found, without relations that lead out of it."""
        inside: list[Relation] = []
        unread: Counter[str] = Counter()
        outside: set[str] = set()
        for relation in self.relations.values():
            source, target = relation.source_node_id, relation.target_node_id
            if source in self.nodes and target in self.nodes:
                inside.append(relation)
            elif source in self.nodes or target in self.nodes:
                unread[str(relation.semantic_class)] += 1
                outside.add(target if source in self.nodes else source)
        unread.update(self._count_crowded_out())
        unread["nodes"] += len(outside)
        return Neighborhood(
            nodes=self.nodes,
            relations=tuple(inside),
            crowded=tuple(sorted({node_id for node_id, _ in self._crowded if node_id in self.nodes})),
            is_cut=self.is_cut or any(unread.values()),
            unread={name: count for name, count in unread.items() if count > 0},
        )

    def _add_steps(self, relation: Relation) -> None:
        """Note where a relation leads to from each of its ends, if it is followed from there."""
        explains = is_explanatory(relation)
        if self._direction is not Direction.IN:
            self._steps.setdefault(relation.source_node_id, []).append((relation.target_node_id, explains))
        if self._direction is not Direction.OUT and (explains or self._direction is not Direction.EXPLAINED):
            self._steps.setdefault(relation.target_node_id, []).append((relation.source_node_id, explains))

    def _look(self, frontier: list[str], visited: set[str], *, only_explained: bool) -> dict[str, str]:
        """Return the nodes behind a frontier, each with the node it is seen from, explained relations first."""
        seen: dict[str, str] = {}
        for wanted in (True,) if only_explained else (True, False):
            for near in frontier:
                for far, explains in self._steps.get(near, ()):
                    if explains is wanted and far not in visited:
                        seen.setdefault(far, near)
        return seen

    def _count_crowded_out(self) -> Counter[str]:
        """Count the relations of crowded nodes that were not read, by class."""
        had: Counter[tuple[str, bool, str]] = Counter()
        for relation in self.relations.values() if self._crowded else ():
            relation_class = str(relation.semantic_class)
            had[relation.source_node_id, True, relation_class] += 1
            if self._direction is not Direction.EXPLAINED or is_explanatory(relation):
                had[relation.target_node_id, False, relation_class] += 1
        left: Counter[str] = Counter()
        for (node_id, is_source), totals in self._crowded.items():
            if node_id in self.nodes:
                for name, total in totals.items():
                    left[name] += max(0, total - had[node_id, is_source, name])
        return left


def neighborhood(
    graph: GraphStore,
    roots: Iterable[str],
    *,
    bounds: Bounds,
    direction: Direction = Direction.EXPLAINED,
    beside: Sequence[str] = (),
    as_of: datetime | None = None,
) -> Neighborhood:
    """Return everything within `bounds` of the roots, and the relations among it; empty when no root exists.

    Nodes `beside` are taken in too, but not walked on from. With `as_of`, the graph is the one that held then.
    """
    walk = _Walk(graph, bounds, direction, as_of)
    walk.start(beside)
    walk.explore_explained_first(walk.start(roots))
    walk.read_the_rest()
    return walk.result()


def shortest_path(
    graph: GraphStore,
    root: str,
    target: str,
    *,
    bounds: Bounds,
    direction: Direction = Direction.EXPLAINED,
    as_of: datetime | None = None,
) -> tuple[str, ...]:
    """Return the ids along a shortest path from `root` to `target`; empty when there is none within `bounds`."""
    walk = _Walk(graph, bounds, direction, as_of)
    walk.explore(walk.start([root]), target=target)
    if target not in walk.nodes:
        return ()
    path = [target]
    while path[-1] != root:
        path.append(walk.came_from[path[-1]])
    return tuple(reversed(path))
