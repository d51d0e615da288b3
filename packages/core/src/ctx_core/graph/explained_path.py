"""The explained path: the relations from the root that say why, in the order in which they are read."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from heapq import heappop, heappush
from typing import TYPE_CHECKING, Final

from ctx_core.graph.numbered_path import LEAST_STORY, find_next_numbers, find_numbered_path
from ctx_core.graph.salience import CLASS_RANK, is_explained
from ctx_core.graph.standing import Standing
from ctx_core.graph.walk import Steps, Walk

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from ctx_core.graph.model import Bundle, Relation

# A path ends where its explanation falls to half of what it was: there the story ends and the neighbourhood begins.
_TAIL_SHARE: Final = 0.5
# Beside the best path, others from the root count as path when they are about as well explained (a hub of reasons).
_PEER_SHARE: Final = 0.75
# A hub of reasons has short ones: a cause, and what it is known by. Beside a longer path nothing else counts as path.
_PEER_STEPS: Final = 3
# A path without numbers has no end of its own. The tier that shows it is meant to hold about 500 tokens, a step with
# its name and reason takes about 25.
_MOST_STEPS: Final = 20
# On the way to a focus, one relation without a reason is as far as eight with one, and so is one that no longer stands.
_EXPLAINED_HOP: Final = 10
_BARE_HOP: Final = 80
_DOWN: Final = False
_UP: Final = True


@dataclass(frozen=True, slots=True, kw_only=True)
class ExplainedPath:
    """The relations of the explained path, in reading order, and the nodes they visit, root first.

    Args:
        is_numbered: Whether the path begins with steps that the author numbered.
    """

    relations: tuple[Relation, ...]
    node_ids: tuple[str, ...]
    is_numbered: bool = False


def find_explained_path(bundle: Bundle, *, focus: str | None = None, standing: Standing | None = None) -> ExplainedPath:
    """Return the path from the root that is explained best; with a focus, the one that leads to it and on.

    Steps that the author numbered come first; without them, causes before effects, explained before bare, near before
    far. Time grows as n log n with the relations.
    """
    root, standing = bundle.root_node_id, standing or Standing(bundle)
    focus = root if focus is None else focus
    finder = _Finder(bundle, standing)
    numbered = finder.numbered(None if focus == root else focus)
    path = numbered + finder.continuation(numbered) if numbered else finder.path_to(focus)
    if not path:
        path = finder.paths_from(root, visited={root})
    if focus != root and len(numbered) < LEAST_STORY:
        path += finder.paths_from(focus, visited={root, *_ends(path)}, most_steps=_PEER_STEPS)
    node_ids = dict.fromkeys([root, *_ends(path), focus])
    return ExplainedPath(relations=tuple(path), node_ids=tuple(node_ids), is_numbered=bool(numbered))


class _Finder:
    def __init__(self, bundle: Bundle, standing: Standing) -> None:
        self.bundle = bundle
        self.root = bundle.root_node_id
        self.fallen = standing.fallen
        self._walk: Callable[[bool], Walk] = cache(lambda upstream: Walk(self._steps(), upstream=upstream))
        self._steps = cache(lambda: Steps(bundle.relations, fallen=self.fallen))

    def numbered(self, focus: str | None) -> list[Relation]:
        """Return the path that the author numbered; with a focus, one that visits it."""
        return find_numbered_path(self.bundle.relations, self.root, goal=focus, fallen=self.fallen)

    def continuation(self, path: Sequence[Relation]) -> list[Relation]:
        """Return what goes on from a numbered path that follows its arrows.

        Later numbers, where there is one choice; or a step or two that were left unnumbered before a later number or
        a relation that names its source as its cause.
        """
        end = _last_node(self.root, path)
        if end != path[-1].target_node_id:
            return []
        later = find_next_numbers(self.bundle.relations, path, end)
        if later:
            return later
        last = path[-1].sequence or 0
        if not any(_names_its_source(r) or (r.sequence or 0) > last for r in self.bundle.relations):
            return []
        visited = set(_ends(path))
        walk = self._walk(_DOWN)
        steps = walk.explore(end, closed=visited - {end})
        found = [walk.relations[step] for step in walk.path(max(steps, key=walk.entry), visited)] if steps else []
        kept = 0
        for position, relation in enumerate(found, 1):
            if relation.sequence == last + position or _names_its_source(relation):
                kept = position
            elif position - kept > 1:
                break
        return found[:kept]

    def paths_from(self, start: str, *, visited: set[str], most_steps: int = _MOST_STEPS) -> list[Relation]:
        """Return the best path from a node, then its peers, no node visited twice."""
        closed, visited = visited - {start}, visited | {start}
        ways = self._ways_from(start) if start == self.root else (_DOWN,)
        walks = [self._walk(way) for way in ways]
        entries = [(walk.entry(step), walk, step) for walk in walks for step in walk.explore(start, closed=closed)]
        entries.sort(key=lambda entry: -entry[0])
        chosen: list[Relation] = []
        for value, walk, step in entries:
            if chosen and value < _PEER_SHARE * entries[0][0]:
                break
            path = _cut_tail(walk.path(step, visited)[:most_steps], walk)
            if not chosen or (len(path) <= _PEER_STEPS and any(map(is_explained, path))):
                chosen += path
                visited.update(_ends(path))
            if len(chosen) > _PEER_STEPS and len(path) > _PEER_STEPS:
                break
        return chosen

    def _ways_from(self, root: str) -> tuple[bool, ...]:
        """Return where to look: upstream, too, if something explained points at the root, or nothing leads away."""
        relations = self.bundle.relations
        leads_away = any(relation.source_node_id == root != relation.target_node_id for relation in relations)
        is_told_from_above = any(relation.target_node_id == root and is_explained(relation) for relation in relations)
        return (_UP, _DOWN) if is_told_from_above or not leads_away else (_DOWN,)

    def path_to(self, goal: str) -> list[Relation]:
        """Return the nearest way from the root to a node in any direction, where bare relations are far."""
        if goal == self.root:
            return []
        walks = (self._walk(_DOWN), self._walk(_UP))
        far = {self.root: 0}
        came: dict[str, tuple[str, Relation]] = {}
        queue: list[tuple[int, int, str]] = [(0, 0, self.root)]
        while queue:
            distance, _, near = heappop(queue)
            if near == goal:
                break
            if distance > far[near]:
                continue
            for walk in walks:
                for step in walk.leaving(near):
                    node_id, relation = walk.far[step], walk.relations[step]
                    reach = distance + self._length(relation) + walk.upstream
                    if reach < far.get(node_id, reach + 1):
                        far[node_id], came[node_id] = reach, (near, relation)
                        heappush(queue, (reach, len(came), node_id))
        path: list[Relation] = []
        node_id = goal
        while node_id in came:
            node_id, relation = came[node_id]
            path.append(relation)
        return path[::-1]

    def _length(self, relation: Relation) -> int:
        is_near = is_explained(relation) and relation.relation_id not in self.fallen
        return (_EXPLAINED_HOP if is_near else _BARE_HOP) + CLASS_RANK[relation.semantic_class]


def _cut_tail(path: Sequence[int], walk: Walk) -> list[Relation]:
    strengths = [walk.strengths[step] for step in path]
    total, end = sum(strengths), len(path)
    while end > 1 and strengths[end - 1] < _TAIL_SHARE * (total - strengths[end - 1]) / (end - 1):
        end -= 1
        total -= strengths[end]
    return [walk.relations[step] for step in path[:end]]


def _names_its_source(relation: Relation) -> bool:
    return relation.caused_by_node_id == relation.source_node_id


def _last_node(root: str, path: Sequence[Relation]) -> str:
    """Return the node that a path from the root ends at."""
    if len(path) == 1:
        return path[0].target_node_id if path[0].source_node_id == root else path[0].source_node_id
    before = {path[-2].source_node_id, path[-2].target_node_id}
    last = path[-1]
    return last.target_node_id if last.source_node_id in before else last.source_node_id


def _ends(path: Iterable[Relation]) -> list[str]:
    return [end for relation in path for end in (relation.source_node_id, relation.target_node_id)]
