"""What the best path on is worth from every relation of a bundle, along the arrows or against them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from ctx_core.graph.salience import begins, strength

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping

    from ctx_core.graph.model import Relation

# What says that one relation continues another: they name the same cause, the same decision, or steps in a row.
_Mark = str | int | None
_Marks = Sequence[_Mark]

# A path of any length whose every step weighs w is worth less than w / (1 - 0.9): three linked steps of strength 8
# outweigh an endless chain of bare causal ones.
_DISCOUNT: Final = 0.9
_NEXT_STEP: Final = 2.0
_FIRST_STEP: Final = 3.0
_SAME_ORIGIN: Final = 1.0
# What ended or was refuted explains less than a bare relation that stands.
_FALLEN: Final = 0.01
_NONE: Final = -1


class Steps:
    """The relations of a bundle in columns; a step is named by its relation's index.

    Columns and not an object a step: 100,000 small objects cost more in garbage collection than in work.
    """

    def __init__(self, relations: Sequence[Relation], *, fallen: Collection[str] = ()) -> None:
        self.relations = relations
        self.sources = [relation.source_node_id for relation in relations]
        self.targets = [relation.target_node_id for relation in relations]
        self.strengths = [strength(relation) for relation in relations]
        if fallen:
            self.strengths = [
                weight * _FALLEN if relation.relation_id in fallen else weight
                for weight, relation in zip(self.strengths, relations, strict=True)
            ]
        self.weakest_first = sorted(range(len(relations) - 1, -1, -1), key=self.strengths.__getitem__)
        causes = [relation.caused_by_node_id for relation in relations]
        decisions = [relation.decision_id and f"decision {relation.decision_id}" for relation in relations]
        sequences = [relation.sequence for relation in relations]
        next_ones = [None if sequence is None else sequence + 1 for sequence in sequences]
        named = set(causes) - {None}
        origins = [source if source in named else None for source in self.sources] if named else []
        # One relation continues another if it bears a mark that the other leaves.
        self.left = _stated(origins, causes, decisions, next_ones)
        self.borne = _stated(causes, decisions, sequences)


class Walk:
    """The steps of a bundle along its arrows, or upstream."""

    def __init__(self, steps: Steps, *, upstream: bool) -> None:
        self.relations = steps.relations
        self.strengths = steps.strengths
        self.upstream = upstream
        near, self.far = (steps.targets, steps.sources) if upstream else (steps.sources, steps.targets)
        self._wanted, self._marks = (steps.borne, steps.left) if upstream else (steps.left, steps.borne)
        # The strongest step from each node, and after each step the next weaker one from the same node.
        self._strongest, self._weaker = strongest, weaker = {}, [_NONE] * len(near)
        for step in steps.weakest_first:
            node_id = near[step]
            weaker[step] = strongest.get(node_id, _NONE)
            strongest[node_id] = step
        # One more than there are steps: no step at all is worth nothing.
        self._values = [0.0] * (len(near) + 1)
        # What comes next: the best step from a node, but for the steps that another one says to continue.
        self._best: dict[str, int] = {}
        self._detours: dict[int, int] = {}

    def leaving(self, node_id: str) -> Iterator[int]:
        """Yield the steps from a node, the strongest first."""
        step = self._strongest.get(node_id, _NONE)
        while step != _NONE:
            yield step
            step = self._weaker[step]

    def explore(self, start: str, *, closed: Collection[str] = ()) -> list[int]:
        """Work out what the best path from every step on is worth; return the steps that leave `start`.

        No path enters a closed node.
        """
        # One loop with all it needs at hand: it sees every relation, and is a third of the cost of a render.
        far, strengths, values, weaker = self.far, self.strengths, self._values, self._weaker
        best, detours = self._best, self._detours = {}, {}
        marked: dict[str, dict[_Mark, int]] = {}
        settled: list[int] = []
        for node_id in self._finished(start, closed):
            settled, top = [], _NONE
            step = self._strongest.get(node_id, _NONE)
            while step != _NONE:
                end = far[step]
                after = best.get(end)
                if after is not None:
                    worth = values[after]
                    if end in marked:
                        for column in self._wanted:
                            if column[step] in marked[end]:
                                detours[step], worth = self._linked(step, after, marked[end])
                                break
                    values[step] = value = strengths[step] + _DISCOUNT * worth
                    settled.append(step)
                    if value > values[top]:
                        top = step
                step = weaker[step]
            best[node_id] = top
            if ways := self._by_mark(settled):
                marked[node_id] = ways
        return settled

    def entry(self, step: int) -> float:
        """Return what a path that begins with a step is worth, more if the relation says that it is the first."""
        is_first = not self.upstream and begins(self.relations[step])
        return self._values[step] + _FIRST_STEP if is_first else self._values[step]

    def path(self, step: int, visited: Collection[str]) -> list[int]:
        """Return the best path that begins with a step, up to the first node visited already."""
        path: list[int] = []
        while step != _NONE and self.far[step] not in visited:
            path.append(step)
            step = self._detours.get(step, self._best[self.far[step]])
        return path

    def _finished(self, start: str, closed: Collection[str]) -> Iterator[str]:
        """Yield every node reached, after all that it leads to.

        Strong steps are walked first, so it is a weak one that closes a cycle.
        """
        far, weaker, strongest = self.far, self._weaker, self._strongest
        reached = {*closed, start}
        path, ahead = [start], [strongest.get(start, _NONE)]
        while path:
            step = ahead.pop()
            while step != _NONE and far[step] in reached:
                step = weaker[step]
            if step == _NONE:
                yield path.pop()
            else:
                node_id = far[step]
                reached.add(node_id)
                path.append(node_id)
                ahead += weaker[step], strongest.get(node_id, _NONE)

    def _by_mark(self, steps: Iterable[int]) -> dict[_Mark, int]:
        """Return the best of some steps for each mark that they bear."""
        values, ways = self._values, {}
        for column in self._marks:
            for step in steps:
                mark = column[step]
                if mark is not None and (mark not in ways or values[step] > values[ways[mark]]):
                    ways[mark] = step
        return ways

    def _linked(self, step: int, best: int, ways: Mapping[_Mark, int]) -> tuple[int, float]:
        """Return what to take after a step, and its worth: the best way on, or one that says that it continues the step."""
        worth = self._values[best] + self._link(step, best)
        for column in self._wanted:
            after = ways.get(column[step], best)
            joint = self._values[after] + self._link(step, after)
            if joint > worth:
                best, worth = after, joint
        return best, worth

    def _link(self, step: int, after: int) -> float:
        """Return how much two relations say that one continues the other."""
        marks = {column[after] for column in self._marks}
        shared = {column[step] for column in self._wanted} & marks - {None}
        return sum(_NEXT_STEP if isinstance(mark, int) else _SAME_ORIGIN for mark in shared)


def _stated(*columns: _Marks) -> list[_Marks]:
    """Leave out the columns in which no relation states anything."""
    return [column for column in columns if column.count(None) < len(column)]
