"""The spine: the path of relations from the root that explains most."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from ctx_core.graph.salience import is_explained, strength

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

    from ctx_core.graph.model import Bundle, Relation

# A path of any length whose every step weighs w is worth less than w / (1 - 0.9): three linked steps of strength 8
# outweigh an endless chain of bare causal ones.
_DISCOUNT: Final = 0.9
_NEXT_STEP: Final = 2.0
_SAME_ORIGIN: Final = 1.0
# A path ends where its explanation falls to well under what it was: there the story ends and the neighbourhood begins.
_TAIL_SHARE: Final = 0.4
# Beside the best path, others from the root count as spine when they are about as well explained (a hub of reasons).
_PEER_SHARE: Final = 0.75


@dataclass(frozen=True, slots=True, kw_only=True)
class Spine:
    """The relations of the explained path, in reading order, and the nodes they visit, root first."""

    relations: tuple[Relation, ...]
    node_ids: tuple[str, ...]


def find_spine(bundle: Bundle, *, focus: str | None = None) -> Spine:
    """Return the path from the root, through the focus if there is one, that is explained best.

    Relations may be followed against their direction, since causes often point at the root. Time is linear in nodes
    plus relations.
    """
    root = bundle.root_node_id
    downstream, upstream = _Direction(bundle, reverse=False), _Direction(bundle, reverse=True)
    if focus is not None and focus != root:
        path = _path_to(focus, bundle, downstream, upstream)
        beyond = _paths_from(focus, (downstream,), visited={root, *_visited(path)})
        return _spine(root, [*path, *(beyond[0] if beyond else ())])
    paths = _paths_from(root, (downstream, upstream), visited={root})
    return _spine(root, [relation for path in paths for relation in path])


class _Direction:
    """The relations of a bundle by the node they leave from, when walked along or against their arrows."""

    def __init__(self, bundle: Bundle, *, reverse: bool) -> None:
        self.reverse = reverse
        self.strengths: dict[str, float] = {}
        steps: dict[str, list[Relation]] = {}
        for relation in bundle.relations:
            near, far = self.near(relation), self.far(relation)
            if near != far:
                steps.setdefault(near, []).append(relation)
        self._unsorted = steps
        self._steps: dict[str, list[Relation]] = {}

    def near(self, relation: Relation) -> str:
        return relation.target_node_id if self.reverse else relation.source_node_id

    def far(self, relation: Relation) -> str:
        return relation.source_node_id if self.reverse else relation.target_node_id

    def strength(self, relation: Relation) -> float:
        known = self.strengths.get(relation.relation_id)
        if known is None:
            linked = relation.caused_by_node_id is not None and relation.caused_by_node_id == relation.source_node_id
            known = self.strengths[relation.relation_id] = strength(relation) + linked * _SAME_ORIGIN
        return known

    def steps(self, node_id: str) -> list[Relation]:
        """Return the relations that leave a node, strongest first."""
        if node_id not in self._steps:
            self._steps[node_id] = sorted(self._unsorted.get(node_id, ()), key=self.strength, reverse=True)
        return self._steps[node_id]

    def link(self, before: Relation | None, after: Relation) -> float:
        """Return how much two relations say that one continues the other."""
        first, second = (after, before) if self.reverse else (before, after)
        if before is None or first is None or second is None:
            return _NEXT_STEP if not self.reverse and after.sequence in (0, 1) else 0.0
        follows = first.sequence is not None and second.sequence == first.sequence + 1
        caused = second.caused_by_node_id is not None and second.caused_by_node_id in (
            first.source_node_id,
            first.caused_by_node_id,
        )
        decided = second.decision_id is not None and second.decision_id == first.decision_id
        return follows * _NEXT_STEP + (caused + decided) * _SAME_ORIGIN


@dataclass(slots=True)
class _Continuations:
    """The best ways on from one node: overall, and for each key that a relation before it could share."""

    best: Relation | None = None
    keyed: dict[tuple[str, object], Relation] = field(default_factory=dict)


class _Worth:
    """What the best path that starts with each relation is worth; found in one depth-first pass."""

    def __init__(self, start: str, direction: _Direction, *, goal: str | None, closed: Collection[str]) -> None:
        self.direction = direction
        self.goal = goal
        self.values: dict[str, float] = {}
        self.following: dict[str, Relation] = {}
        self.continuations: dict[str, _Continuations] = {}
        self.first_steps: list[Relation] = []
        for node_id, steps in _finished(start, direction, stop=goal, closed=closed):
            self._settle(node_id, steps)
            if node_id == start:
                self.first_steps = [step for step in steps if step.relation_id in self.values]

    def _settle(self, node_id: str, steps: list[Relation]) -> None:
        ways = self.continuations[node_id] = _Continuations()
        for step in steps:
            far = self.direction.far(step)
            after = self._best_after(step, self.continuations.get(far))
            if self.goal is not None and far != self.goal and after is None:
                continue
            value = self.direction.strength(step)
            if after is not None and far != self.goal:
                self.following[step.relation_id] = after
                value += _DISCOUNT * (self.values[after.relation_id] + self.direction.link(step, after))
            self.values[step.relation_id] = value
            self._offer(ways, step, value)

    def _offer(self, ways: _Continuations, step: Relation, value: float) -> None:
        if ways.best is None or value > self.values[ways.best.relation_id]:
            ways.best = step
        for key in (("step", step.sequence), ("cause", step.caused_by_node_id), ("decision", step.decision_id)):
            if key[1] is not None and (key not in ways.keyed or value > self.values[ways.keyed[key].relation_id]):
                ways.keyed[key] = step

    def _best_after(self, step: Relation, ways: _Continuations | None) -> Relation | None:
        if ways is None or ways.best is None:
            return None
        candidates = [ways.best]
        if ways.keyed:
            ahead = -1 if self.direction.reverse else 1
            wanted = (
                ("step", None if step.sequence is None else step.sequence + ahead),
                ("cause", step.source_node_id),
                ("cause", step.caused_by_node_id),
                ("decision", step.decision_id),
            )
            candidates += [ways.keyed[key] for key in wanted if key in ways.keyed]
        return max(candidates, key=lambda after: self.values[after.relation_id] + self.direction.link(step, after))

    def entry(self, step: Relation) -> float:
        """Return what a path that starts at the start node with `step` is worth."""
        return self.values[step.relation_id] + self.direction.link(None, step)

    def path(self, step: Relation, visited: Collection[str]) -> list[Relation]:
        """Return the best path that starts with `step`, up to the first node visited already."""
        path: list[Relation] = []
        following: Relation | None = step
        while following is not None and self.direction.far(following) not in visited:
            path.append(following)
            following = self.following.get(following.relation_id)
        return path


def _finished(
    start: str, direction: _Direction, *, stop: str | None, closed: Collection[str]
) -> Iterator[tuple[str, list[Relation]]]:
    """Yield every node reached, after all it leads to, with its relations less those that close a cycle.

    Strong relations are walked first, so it is a weak one that closes the cycle and is left out.
    """
    is_open = {start: True}
    stack: list[tuple[str, Iterator[Relation], list[Relation]]] = [(start, iter(direction.steps(start)), [])]
    while stack:
        node_id, steps, kept = stack[-1]
        for step in steps:
            far = direction.far(step)
            if far in closed or is_open.get(far):
                continue
            kept.append(step)
            if far not in is_open:
                is_open[far] = True
                onward = () if far == stop else direction.steps(far)
                stack.append((far, iter(onward), []))
                break
        else:
            stack.pop()
            is_open[node_id] = False
            yield node_id, kept


def _paths_from(start: str, directions: Iterable[_Direction], *, visited: set[str]) -> list[list[Relation]]:
    """Return the best path from a node and its peers, best first, no node visited twice."""
    closed = visited - {start}
    entries: list[tuple[float, _Worth, Relation]] = []
    for direction in directions:
        worth = _Worth(start, direction, goal=None, closed=closed)
        entries += [(worth.entry(step), worth, step) for step in worth.first_steps]
    entries.sort(key=lambda entry: -entry[0])
    paths: list[list[Relation]] = []
    for value, worth, step in entries:
        if paths and value < _PEER_SHARE * entries[0][0]:
            break
        path = _without_tail(worth.path(step, visited), worth.direction)
        if not paths or any(map(is_explained, path)):
            paths.append(path)
            visited.update(_visited(path))
    return paths


def _without_tail(path: list[Relation], direction: _Direction) -> list[Relation]:
    strengths = [direction.strength(relation) for relation in path]
    total, end = sum(strengths), len(path)
    while end > 1 and strengths[end - 1] < _TAIL_SHARE * (total - strengths[end - 1]) / (end - 1):
        end -= 1
        total -= strengths[end]
    return path[:end]


def _path_to(focus: str, bundle: Bundle, downstream: _Direction, upstream: _Direction) -> Sequence[Relation]:
    """Return the best path from the root to the focus: along the arrows, against them, or in any direction."""
    root = bundle.root_node_id
    for direction in (downstream, upstream):
        worth = _Worth(root, direction, goal=focus, closed=())
        if worth.first_steps:
            return worth.path(max(worth.first_steps, key=worth.entry), visited=())
    return _shortest(root, focus, (downstream, upstream))


def _shortest(root: str, focus: str, directions: Sequence[_Direction]) -> list[Relation]:
    came: dict[str, tuple[str, Relation] | None] = {root: None}
    ring = [root]
    while ring and focus not in came:
        reached: list[str] = []
        for node_id in ring:
            for direction in directions:
                for step in direction.steps(node_id):
                    if direction.far(step) not in came:
                        came[direction.far(step)] = (node_id, step)
                        reached.append(direction.far(step))
        ring = reached
    path: list[Relation] = []
    back = came.get(focus)
    while back is not None:
        path.append(back[1])
        back = came[back[0]]
    return path[::-1]


def _visited(path: Iterable[Relation]) -> list[str]:
    return [end for relation in path for end in (relation.source_node_id, relation.target_node_id)]


def _spine(root: str, relations: Sequence[Relation]) -> Spine:
    return Spine(relations=tuple(relations), node_ids=tuple(dict.fromkeys([root, *_visited(relations)])))
