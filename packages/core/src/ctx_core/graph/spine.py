"""The spine: the path of relations from the root that explains most."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Final

from ctx_core.graph.salience import is_explained, strength

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

    from ctx_core.graph.model import Bundle, Relation

# A path of any length whose every step weighs w is worth less than w / (1 - 0.9): three linked steps of strength 8
# outweigh an endless chain of bare causal ones.
_DISCOUNT: Final = 0.9
_NEXT_STEP: Final = 2.0
_SAME_ORIGIN: Final = 1.0
# A path ends where its explanation falls to half of what it was: there the story ends and the neighbourhood begins.
_TAIL_SHARE: Final = 0.5
# Beside the best path, others from the root count as spine when they are about as well explained (a hub of reasons).
_PEER_SHARE: Final = 0.75
_NONE: Final = -1
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
    root, relations = bundle.root_node_id, bundle.relations
    focus = root if focus is None else focus
    strengths = [_own_strength(relation) for relation in relations]
    order = sorted(range(len(relations)), key=strengths.__getitem__, reverse=True)
    walk = cache(lambda upstream: _Walk(relations, strengths, order, upstream=upstream))
    path = [] if focus == root else _path_to(root, focus, walk)
    if not path:
        path = _paths_from(root, map(walk, _ways_from(root, relations)), visited={root})
    if focus != root:
        path += _paths_from(focus, [walk(_DOWN)], visited={root, *_ends(path)})
    node_ids = dict.fromkeys([root, *_ends(path), focus])
    return Spine(relations=tuple(path), node_ids=tuple(node_ids))


def _ways_from(root: str, relations: Sequence[Relation]) -> tuple[bool, ...]:
    """Return the directions to look in: upstream too if something explained points at the root, or nothing leads away."""
    leads_away = any(relation.source_node_id == root != relation.target_node_id for relation in relations)
    is_explained_from_above = any(relation.target_node_id == root and is_explained(relation) for relation in relations)
    return (_DOWN, _UP) if is_explained_from_above or not leads_away else (_DOWN,)


class _Walk:
    """The relations of a bundle as steps along their arrows, or upstream; a step is named by its relation's index."""

    def __init__(
        self, relations: Sequence[Relation], strengths: Sequence[float], order: Iterable[int], *, upstream: bool
    ) -> None:
        self.relations = relations
        self.strengths = strengths
        self.upstream = upstream
        self.far = [relation.source_node_id if upstream else relation.target_node_id for relation in relations]
        # Plain lists by index, not an object a step: 100,000 small objects cost more in garbage collection than in work.
        self.values = [0.0] * len(relations)
        self.following = [_NONE] * len(relations)
        self.steps: dict[str, list[int]] = {}
        for step in order:
            relation = relations[step]
            if relation.source_node_id != relation.target_node_id:
                near = relation.target_node_id if upstream else relation.source_node_id
                self.steps.setdefault(near, []).append(step)

    def explore(self, start: str, *, goal: str | None = None, closed: Collection[str] = ()) -> list[int]:
        """Work out what the best path from every step on is worth; return the steps that leave `start`.

        With a goal, only steps on a path to it count. No path enters a closed node.
        """
        onward: dict[str, _Onward] = {}
        first: list[int] = []
        for node_id, steps in self._finished(start, goal, closed):
            first = [step for step in steps if self._settle(step, onward[self.far[step]], goal)]
            onward[node_id] = _Onward(first, self)
        return first

    def entry(self, step: int) -> float:
        """Return what a path that begins with a step is worth, more if the relation says that it is the first."""
        is_first = not self.upstream and self.relations[step].sequence in (0, 1)
        return self.values[step] + _NEXT_STEP if is_first else self.values[step]

    def path(self, step: int, visited: Collection[str]) -> list[int]:
        """Return the best path that begins with a step, up to the first node visited already."""
        path: list[int] = []
        while step != _NONE and self.far[step] not in visited:
            path.append(step)
            step = self.following[step]
        return path

    def _settle(self, step: int, ways: _Onward, goal: str | None) -> bool:
        """Set the value of a step from those that may follow it; False if it misses the goal."""
        values, far = self.values, self.far[step]
        values[step], self.following[step] = self.strengths[step], _NONE
        if ways.best == _NONE or far == goal:
            return goal is None or far == goal
        best, worth = ways.best, values[ways.best]
        if ways.keyed:
            worth += self._link(step, best)
            for key in self._keys_after(self.relations[step]):
                after = ways.keyed.get(key)
                if after is not None and after != best and (joint := values[after] + self._link(step, after)) > worth:
                    best, worth = after, joint
        self.following[step] = best
        values[step] += _DISCOUNT * worth
        return True

    def _keys_after(self, relation: Relation) -> Iterator[str | int]:
        """Yield the keys under which a step that continues this relation would be found."""
        yield relation.source_node_id
        if relation.caused_by_node_id is not None:
            yield relation.caused_by_node_id
        if relation.decision_id is not None:
            yield f"decision {relation.decision_id}"
        if relation.sequence is not None:
            yield relation.sequence + (-1 if self.upstream else 1)

    def _link(self, step: int, after: int) -> float:
        """Return how much two relations say that one continues the other."""
        first, second = self.relations[step], self.relations[after]
        if self.upstream:
            first, second = second, first
        bonus = 0.0
        if second.sequence is not None and first.sequence is not None and second.sequence == first.sequence + 1:
            bonus += _NEXT_STEP
        if second.caused_by_node_id is not None and second.caused_by_node_id in (
            first.source_node_id,
            first.caused_by_node_id,
        ):
            bonus += _SAME_ORIGIN
        if second.decision_id is not None and second.decision_id == first.decision_id:
            bonus += _SAME_ORIGIN
        return bonus

    def _finished(self, start: str, goal: str | None, closed: Collection[str]) -> Iterator[tuple[str, list[int]]]:
        """Yield every node reached, after all it leads to, with its steps less those that close a cycle.

        Strong steps are walked first, so it is a weak one that closes a cycle and is left out.
        """
        far_of, steps_of = self.far, self.steps
        is_open = dict.fromkeys((*closed, start), True)
        stack: list[tuple[str, Iterator[int], list[int]]] = [(start, iter(steps_of.get(start, ())), [])]
        while stack:
            node_id, steps, kept = stack[-1]
            for step in steps:
                far = far_of[step]
                state = is_open.get(far)
                if state:
                    continue
                kept.append(step)
                if state is None:
                    is_open[far] = True
                    stack.append((far, iter(() if far == goal else steps_of.get(far, ())), []))
                    break
            else:
                stack.pop()
                is_open[node_id] = False
                yield node_id, kept


class _Onward:
    """The best steps on from one node: overall, and for each key that a relation before them could share."""

    __slots__ = ("best", "keyed")

    def __init__(self, steps: Iterable[int], walk: _Walk) -> None:
        self.best = _NONE
        self.keyed: dict[str | int, int] = {}
        values = walk.values
        for step in steps:
            if self.best == _NONE or values[step] > values[self.best]:
                self.best = step
            for key in _keys(walk.relations[step]):
                if key not in self.keyed or values[step] > values[self.keyed[key]]:
                    self.keyed[key] = step


def _keys(relation: Relation) -> Iterator[str | int]:
    if relation.caused_by_node_id is not None:
        yield relation.caused_by_node_id
    if relation.decision_id is not None:
        yield f"decision {relation.decision_id}"
    if relation.sequence is not None:
        yield relation.sequence


def _own_strength(relation: Relation) -> float:
    """Return the strength of a relation, more if it says that it comes from its own source."""
    is_linked = relation.caused_by_node_id == relation.source_node_id
    return strength(relation) + _SAME_ORIGIN if is_linked else strength(relation)


def _paths_from(start: str, walks: Iterable[_Walk], *, visited: set[str]) -> list[Relation]:
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


def _without_tail(path: Sequence[int], walk: _Walk) -> list[Relation]:
    strengths = [walk.strengths[step] for step in path]
    total, end = sum(strengths), len(path)
    while end > 1 and strengths[end - 1] < _TAIL_SHARE * (total - strengths[end - 1]) / (end - 1):
        end -= 1
        total -= strengths[end]
    return [walk.relations[step] for step in path[:end]]


def _path_to(root: str, focus: str, walk: Callable[[bool], _Walk]) -> list[Relation]:
    """Return the best path from the root to the focus: along the arrows, or upstream, or else in any direction."""
    for way in (walk(upstream) for upstream in (_DOWN, _UP)):
        entries = way.explore(root, goal=focus)
        if entries:
            return [way.relations[step] for step in way.path(max(entries, key=way.entry), visited=())]
    return _shortest(root, focus, (walk(_DOWN), walk(_UP)))


def _shortest(root: str, focus: str, walks: Sequence[_Walk]) -> list[Relation]:
    came: dict[str, tuple[str, Relation] | None] = {root: None}
    ring = [root]
    while ring and focus not in came:
        steps = [(near, walk, step) for near in ring for walk in walks for step in walk.steps.get(near, ())]
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
