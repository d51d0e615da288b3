"""The story that an author numbered: a path of steps in a row that begins at the root."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from functools import partial
from itertools import chain
from operator import attrgetter
from typing import TYPE_CHECKING, Final, NamedTuple

from ctx_core.graph.salience import CLASS_RANK, count_statements, is_explained

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

    from ctx_core.graph.model import Relation

# Two numbers in a row may be chance where every relation carries one; three are a story.
LEAST_STORY: Final = 3
# People number from 0 or from 1; what begins elsewhere is a part of something longer.
_FIRST_NUMBERS: Final = (0, 1)
# How many ways of counting (in tens, in hundreds) are tried; nobody counts in more at once.
_MOST_STRIDES: Final = 16
# A value packs what a path is compared by into one whole number: explained steps, all steps, then what breaks ties.
_STEP: Final = 1 << 32
_EXPLAINED: Final = 1 << 64
_NUMBER: Final = attrgetter("sequence")


class _Run(NamedTuple):
    """Steps in a row from the root, with all that one run is compared to another by."""

    value: int
    first_number: int
    stride: int
    is_along_arrows: bool
    follow: Callable[[], list[Relation]]

    @property
    def length(self) -> int:
        return (self.value % _EXPLAINED) // _STEP

    @property
    def begins_low(self) -> bool:
        return self.first_number in ((0, self.stride) if self.stride > 1 else _FIRST_NUMBERS)

    @property
    def is_story(self) -> bool:
        """Whether there are steps enough to rule out chance, and at least half of them give a reason."""
        return self.length >= LEAST_STORY and 2 * (self.value // _EXPLAINED) >= self.length

    @property
    def key(self) -> tuple[bool, int, bool, int, int]:
        begins = self.begins_low and self.length >= LEAST_STORY
        return begins, self.value, self.is_along_arrows, -self.stride, -self.first_number


# A node with a number: the step of that number that leaves the node.
_State = tuple[str, int]
_Hop = tuple[str, "Relation"]
_Path = tuple[int, "Relation", "_Path | None"]


def find_numbered_path(
    relations: Sequence[Relation], root: str, *, goal: str | None = None, fallen: Collection[str] = ()
) -> list[Relation]:
    """Return the best explained run of numbered steps from the root, in order; empty if there is none.

    Steps count in ones, or in tens and the like (10, 20, 30), or, if nothing better is there, they just rise. A run
    from 0 or 1 comes before others, then the one with more explained steps, then with more steps.

    Args:
        relations: In the order of their numbers.
        root: The id of the node that the path begins at.
        goal: Look only at runs that visit this node; from 0 or 1 they may have fewer than three steps.
        fallen: Ids of relations that explain nothing, since they ended or were refuted.
    """
    numbered = [r for r in relations if r.sequence is not None and r.source_node_id != r.target_node_id]
    if not any(root in (r.source_node_id, r.target_node_id) for r in numbered):
        return []
    finder = _Finder(numbered, root, goal, fallen)
    for find_runs in (finder.runs_along_arrows, finder.runs_any_way, finder.rising_runs):
        runs = [run for run in find_runs() if run.is_story or (goal is not None and run.begins_low)]
        if runs:
            return max(runs, key=lambda run: run.key).follow()
    return []


class _Way:
    """The numbered relations by the node that they are followed from: along the arrows, or against them."""

    def __init__(self, numbered: Sequence[Relation], *, is_down: bool) -> None:
        self.is_down = is_down
        self._by_node: dict[str, list[Relation]] = {}
        for relation in numbered:
            near = relation.source_node_id if is_down else relation.target_node_id
            self._by_node.setdefault(near, []).append(relation)

    def steps(self, state: _State) -> Iterator[_Hop]:
        """Yield the relations of a number from a node, each with the node that it leads to."""
        relations = self._by_node.get(state[0])
        if relations is None:
            return
        # The relations of a bundle are in the order of their numbers, and so are those of each node.
        at = bisect_left(relations, state[1], key=_NUMBER)
        while at < len(relations) and relations[at].sequence == state[1]:
            yield relations[at].target_node_id if self.is_down else relations[at].source_node_id, relations[at]
            at += 1

    def has(self, state: _State) -> bool:
        """Return True if there is a relation of a number from a node."""
        return next(self.steps(state), None) is not None

    def numbers(self, node_id: str) -> list[int]:
        """Return the numbers of the relations from a node, each once."""
        return list(dict.fromkeys(relation.sequence or 0 for relation in self._by_node.get(node_id, ())))


class _Finder:
    def __init__(self, numbered: Sequence[Relation], root: str, goal: str | None, fallen: Collection[str]) -> None:
        self.numbered = numbered
        self.root = root
        self.goal = goal
        self.fallen = fallen
        self.down = _Way(numbered, is_down=True)
        self.up = _Way(numbered, is_down=False)

    def runs_along_arrows(self) -> Iterator[_Run]:
        """Yield the best runs that follow every arrow, or go against every one: causes may lead to the root, too."""
        for way in (self.down, self.up):
            for stride in (1, *self._strides(way)):
                yield from self._runs([way], stride)
        yield from self._runs([self.up], -1)

    def runs_any_way(self) -> Iterator[_Run]:
        """Yield the best runs that follow some arrows and go against others."""
        yield from self._runs([self.down, self.up], 1)

    def rising_runs(self) -> Iterator[_Run]:
        """Yield the best path whose numbers rise with every step, whatever the gaps, along the arrows or against them."""
        for is_down in (True, False):
            best = self._rising_paths(is_down=is_down)
            ends = best.values() if self.goal is None else [best[self.goal]] if self.goal in best else []
            if ends:
                path = max(ends, key=lambda path: path[0])
                yield _Run(path[0], -1, 1, is_down, partial(_unwind, path))

    def _strides(self, way: _Way) -> list[int]:
        """Return by how much steps from the root may count, other than by one: those of 10, 20, 30 by 10."""
        found: set[int] = set()
        for number in way.numbers(self.root):
            nodes = {node_id for node_id, _ in way.steps((self.root, number))}
            if number == 0:
                found.update(step for node_id in nodes for step in way.numbers(node_id))
            elif any(way.has((node_id, 2 * number)) for node_id in nodes):
                found.add(number)
        return sorted(found - {0, 1})[:_MOST_STRIDES]

    def _runs(self, ways: Sequence[_Way], stride: int) -> Iterator[_Run]:
        """Yield the best run from the root for each number that one begins with; with a goal, the best that visits it."""
        starts = [(self.root, number) for way in ways for number in way.numbers(self.root)]
        best: dict[_State, tuple[int, _Hop]] = {}
        visiting: dict[_State, tuple[int, _Hop]] = {}
        # Numbers rise with every step, so that the last of them are settled first, and no run turns in a circle.
        for state in sorted(_reach(ways, starts, stride), key=lambda state: state[1], reverse=stride > 0):
            for hop in chain.from_iterable(way.steps(state) for way in ways):
                after = hop[0], state[1] + stride
                value = self._value(hop[1])
                _offer(best, state, hop, value + (best[after][0] if after in best else 0))
                if hop[0] == self.goal:
                    _offer(visiting, state, hop, value + (best[after][0] if after in best else 0))
                elif after in visiting:
                    _offer(visiting, state, hop, value + visiting[after][0])
        found = best if self.goal is None else visiting
        for start in starts:
            if start in found:
                value, number = found[start][0], start[1]
                first = number if stride > 0 else number + 1 - (value % _EXPLAINED) // _STEP
                follow = partial(self._follow, found, best, start, stride)
                yield _Run(value, first, abs(stride), len(ways) == 1, follow)

    def _follow(
        self,
        found: Mapping[_State, tuple[int, _Hop]],
        best: Mapping[_State, tuple[int, _Hop]],
        state: _State,
        stride: int,
    ) -> list[Relation]:
        path: list[Relation] = []
        while state in found:
            node_id, relation = found[state][1]
            path.append(relation)
            state = node_id, state[1] + stride
            if node_id == self.goal:
                found = best
        return path

    def _value(self, relation: Relation) -> int:
        ties = 8 * (len(CLASS_RANK) - CLASS_RANK[relation.semantic_class]) + count_statements(relation)
        is_reason = is_explained(relation) and relation.relation_id not in self.fallen
        return _STEP + ties + (_EXPLAINED if is_reason else 0)

    def _rising_paths(self, *, is_down: bool) -> Mapping[str, _Path]:
        best: dict[str, _Path] = {}
        # Paths to nodes by steps of the number at hand: they begin where steps of lower numbers end.
        fresh: dict[str, _Path] = {}
        number = -1
        for relation in self.numbered:
            if relation.sequence != number:
                _keep_better(best, fresh)
                fresh, number = {}, relation.sequence or 0
            near, far = relation.source_node_id, relation.target_node_id
            if not is_down:
                near, far = far, near
            before = best.get(near)
            if far != self.root and (before is not None or near == self.root):
                value = self._value(relation) + (before[0] if before else 0)
                if far not in fresh or value > fresh[far][0]:
                    fresh[far] = value, relation, before
        _keep_better(best, fresh)
        return best


def _reach(ways: Sequence[_Way], starts: Sequence[_State], stride: int) -> set[_State]:
    """Return the states that steps in a row lead to."""
    reached, ahead = set(starts), list(starts)
    while ahead:
        state = ahead.pop()
        for node_id, _ in chain.from_iterable(way.steps(state) for way in ways):
            after = node_id, state[1] + stride
            if after not in reached:
                reached.add(after)
                ahead.append(after)
    return reached


def _offer(best: dict[_State, tuple[int, _Hop]], state: _State, hop: _Hop, value: int) -> None:
    if state not in best or value > best[state][0]:
        best[state] = value, hop


def find_next_numbers(relations: Sequence[Relation], path: Sequence[Relation], end: str) -> list[Relation]:
    """Return how a numbered path goes on where the numbers leave one choice: one relation from its end with a later one."""
    leaving: dict[str, list[Relation]] = defaultdict(list)
    last = path[-1].sequence or 0
    for relation in relations:
        if relation.sequence is not None and relation.sequence > last:
            leaving[relation.source_node_id].append(relation)
    visited = {node_id for r in path for node_id in (r.source_node_id, r.target_node_id)}
    found: list[Relation] = []
    while len(leaving.get(end, ())) == 1:
        relation = leaving[end][0]
        end = relation.target_node_id
        if end in visited or (relation.sequence or 0) <= last:
            break
        found.append(relation)
        visited.add(end)
        last = relation.sequence or 0
    return found


def _keep_better(best: dict[str, _Path], others: Mapping[str, _Path]) -> None:
    for node_id, path in others.items():
        if node_id not in best or path[0] > best[node_id][0]:
            best[node_id] = path


def _unwind(path: _Path | None) -> list[Relation]:
    found: list[Relation] = []
    while path is not None:
        found.append(path[1])
        path = path[2]
    return found[::-1]
