"""Walks over the graph: breadth first, level by level, each relation read once, bounded in every direction."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ctx_core.kernel.ports import Direction

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from ctx_core.graph.model import Node, Relation
    from ctx_core.kernel.ports import GraphStore


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """How far a walk goes.

    Args:
        depth: Relations from the root at most.
        max_nodes: Nodes in all at most.
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
        is_cut: More nodes were in reach than the bound allowed.
    """

    nodes: dict[str, Node]
    relations: tuple[Relation, ...]
    crowded: tuple[str, ...] = ()
    is_cut: bool = False


class _Walk:
    """The state of one breadth-first walk."""

    def __init__(self, graph: GraphStore, bounds: Bounds, direction: Direction) -> None:
        self._graph = graph
        self._bounds = bounds
        self._direction = direction
        self.nodes: dict[str, Node] = {}
        self.relations: dict[str, Relation] = {}
        self.came_from: dict[str, str] = {}
        self.crowded: set[str] = set()
        self.is_cut = False

    def start(self, node_ids: Iterable[str]) -> list[str]:
        """Take in the nodes to start from, as far as they exist."""
        wanted = list(dict.fromkeys(node_ids))
        found = self._graph.nodes(wanted)
        self.nodes.update((node_id, found[node_id]) for node_id in wanted if node_id in found)
        return [node_id for node_id in wanted if node_id in found]

    def read(self, node_ids: list[str], *, among: Collection[str] | None = None) -> tuple[Relation, ...]:
        """Read the relations of nodes, or those of them that lead to some nodes."""
        around = self._graph.relations(
            node_ids, direction=self._direction, limit=self._bounds.max_relations, among=among
        )
        self.crowded |= around.crowded
        self.relations.update({relation.relation_id: relation for relation in around.relations})
        return around.relations

    def look(self, frontier: list[str]) -> dict[str, str]:
        """Return the unknown nodes behind a frontier, each with the node it was seen from."""
        here = set(frontier)
        seen: dict[str, str] = {}
        for relation in self.read(frontier):
            ends = (relation.source_node_id, relation.target_node_id)
            for near, far in (ends, ends[::-1]):
                if near in here and far not in self.nodes:
                    seen.setdefault(far, near)
        return seen

    def step(self, frontier: list[str]) -> list[str]:
        """Go one relation further, and return the nodes newly reached."""
        seen = self.look(frontier)
        room = max(0, self._bounds.max_nodes - len(self.nodes))
        self.is_cut = len(seen) > room
        reached = self.start(list(seen)[:room])
        self.came_from.update((node_id, seen[node_id]) for node_id in reached)
        return reached

    def result(self) -> Neighborhood:
        """Return everything found, without relations that lead out of it."""
        inside = [
            relation
            for relation in self.relations.values()
            if relation.source_node_id in self.nodes and relation.target_node_id in self.nodes
        ]
        return Neighborhood(
            nodes=self.nodes, relations=tuple(inside), crowded=tuple(sorted(self.crowded)), is_cut=self.is_cut
        )


def neighborhood(
    graph: GraphStore,
    roots: Iterable[str],
    *,
    bounds: Bounds,
    direction: Direction = Direction.OUT,
    beside: Sequence[str] = (),
) -> Neighborhood:
    """Return everything within `bounds` of the roots, and the relations among it; empty when no root exists.

    Nodes `beside` are taken in too, but not walked on from.
    """
    walk = _Walk(graph, bounds, direction)
    aside = walk.start(beside)
    frontier = walk.start(roots)
    for _ in range(bounds.depth):
        if not frontier or walk.is_cut:
            break
        frontier = walk.step(frontier)
    # The outermost nodes may point back inside, and those beside into it.
    if unread := [*aside, *frontier]:
        walk.read(unread, among=walk.nodes)
    return walk.result()


def shortest_path(
    graph: GraphStore, root: str, target: str, *, bounds: Bounds, direction: Direction = Direction.OUT
) -> tuple[str, ...]:
    """Return the ids along a shortest path from `root` to `target`; empty when there is none within `bounds`."""
    walk = _Walk(graph, bounds, direction)
    frontier = walk.start([root])
    for _ in range(bounds.depth):
        if not frontier or target in walk.nodes:
            break
        frontier = walk.step(frontier)
    if target not in walk.nodes:
        return ()
    path = [target]
    while path[-1] != root:
        path.append(walk.came_from[path[-1]])
    return tuple(reversed(path))
