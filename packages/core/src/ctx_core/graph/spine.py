"""The spine: the path of relations from the root that explains most."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Final

from ctx_core.graph.salience import is_explained
from ctx_core.graph.walk import Steps, Walk

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from ctx_core.graph.model import Bundle, Relation

# A path ends where its explanation falls to half of what it was: there the story ends and the neighbourhood begins.
_TAIL_SHARE: Final = 0.5
# Beside the best path, others from the root count as spine when they are about as well explained (a hub of reasons).
_PEER_SHARE: Final = 0.75
_DOWN: Final = False
_UP: Final = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Spine:
    """The relations of the explained path, in reading order, and the nodes they visit, root first."""

    relations: tuple[Relation, ...]
    node_ids: tuple[str, ...]


def find_spine(bundle: Bundle, *, focus: str | None = None) -> Spine:
    """Return the path from the root that is explained best; with a focus, the one that leads to it and on.

    Relations may be followed against their direction, since causes often point at the root. Time is linear in nodes
    plus relations, but for one sort of the relations.
    """
    root, steps = bundle.root_node_id, Steps(bundle.relations)
    focus = root if focus is None else focus
    walk = cache(lambda upstream: Walk(steps, upstream=upstream))
    path = [] if focus == root else _path_to(root, focus, walk)
    if not path:
        path = _paths_from(root, map(walk, _ways_from(root, bundle.relations)), visited={root})
    if focus != root:
        path += _paths_from(focus, [walk(_DOWN)], visited={root, *_ends(path)})
    node_ids = dict.fromkeys([root, *_ends(path), focus])
    return Spine(relations=tuple(path), node_ids=tuple(node_ids))


def _ways_from(root: str, relations: Sequence[Relation]) -> tuple[bool, ...]:
    """Return the directions to look in: upstream too if something explained points at the root, or nothing leads away."""
    leads_away = any(relation.source_node_id == root != relation.target_node_id for relation in relations)
    is_explained_from_above = any(relation.target_node_id == root and is_explained(relation) for relation in relations)
    return (_DOWN, _UP) if is_explained_from_above or not leads_away else (_DOWN,)


def _paths_from(start: str, walks: Iterable[Walk], *, visited: set[str]) -> list[Relation]:
    """Return the best path from a node, then its peers, no node visited twice."""
    closed = visited - {start}
    visited = visited | {start}
    entries = [(walk.entry(step), walk, step) for walk in walks for step in walk.explore(start, closed=closed)]
    entries.sort(key=lambda entry: -entry[0])
    chosen: list[Relation] = []
    for value, walk, step in entries:
        if chosen and value < _PEER_SHARE * entries[0][0]:
            break
        path = _without_tail(walk.path(step, visited), walk)
        if not chosen or any(map(is_explained, path)):
            chosen += path
            visited.update(_ends(path))
    return chosen


def _without_tail(path: Sequence[int], walk: Walk) -> list[Relation]:
    strengths = [walk.strengths[step] for step in path]
    total, end = sum(strengths), len(path)
    while end > 1 and strengths[end - 1] < _TAIL_SHARE * (total - strengths[end - 1]) / (end - 1):
        end -= 1
        total -= strengths[end]
    return [walk.relations[step] for step in path[:end]]


def _path_to(root: str, focus: str, walk: Callable[[bool], Walk]) -> list[Relation]:
    """Return the best path from the root to the focus: along the arrows, or upstream, or else in any direction."""
    for way in (walk(upstream) for upstream in (_DOWN, _UP)):
        entries = way.explore(root, goal=focus)
        if entries:
            return [way.relations[step] for step in way.path(max(entries, key=way.entry), visited=())]
    return _shortest(root, focus, (walk(_DOWN), walk(_UP)))


def _shortest(root: str, focus: str, walks: Sequence[Walk]) -> list[Relation]:
    came: dict[str, tuple[str, Relation] | None] = {root: None}
    ring = [root]
    while ring and focus not in came:
        steps = [(near, walk, step) for near in ring for walk in walks for step in walk.leaving(near)]
        ring = []
        for near, walk, step in steps:
            if walk.far[step] not in came:
                came[walk.far[step]] = (near, walk.relations[step])
                ring.append(walk.far[step])
    path: list[Relation] = []
    back = came.get(focus)
    while back is not None:
        path.append(back[1])
        back = came[back[0]]
    return path[::-1]


def _ends(path: Iterable[Relation]) -> list[str]:
    return [end for relation in path for end in (relation.source_node_id, relation.target_node_id)]
