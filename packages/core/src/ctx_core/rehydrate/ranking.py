"""Which archived turns answer a query: words and vectors, of the turn and of its neighbours, in one score."""

from __future__ import annotations

from dataclasses import dataclass
from heapq import nlargest
from math import sqrt
from typing import TYPE_CHECKING, Final

from ctx_core.rehydrate.index import NEIGHBOUR_SHARE
from ctx_core.rehydrate.lexical import words
from ctx_core.rehydrate.turns import ScoredTurn

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from ctx_core.rehydrate.index import Entry, TurnIndex

_POOL: Final = 200
_UNKNOWN_SHARE: Final = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Weights:
    """How much each view of a turn counts, in standard deviations over all turns."""

    words: float = 1.0
    joint_words: float = 0.5
    vector: float = 1.0
    joint_vector: float = 1.0
    neighbour: float = 0.2
    answer: float = 0.5
    speaker: float = 1.0


def rank(
    index: TurnIndex,
    query: str,
    *,
    vector: Sequence[float] | None,
    top_k: int,
    eligible: Callable[[Entry], bool] | None = None,
    with_answers: bool = True,
    weights: Weights | None = None,
) -> list[ScoredTurn]:
    """Return the `top_k` turns that answer `query` best, best first."""
    weights = weights or Weights()
    cosines = index.vectors.cosines(vector) if vector is not None and index.vectors is not None else None
    names = {entry.turn.name.casefold() for entry in index.entries if entry.turn.name}
    named = {name for name in names if name in query.casefold()}
    terms = [term for term in dict.fromkeys(words(query)) if term not in {t for name in names for t in words(name)}]
    turn_words = index.turn_words.scores(terms)
    views: list[tuple[float, View]] = [
        (weights.words, View.sparse(turn_words, len(index))),
        (weights.joint_words, View.sparse(index.joint_words.scores(terms), len(index))),
    ]
    if cosines:
        views += [
            (weights.vector, View.dense(cosines)),
            (weights.joint_vector, View.dense(_joint_cosines(index, cosines))),
        ]
    base = _Memo(lambda at: sum(weight * view.at(at) for weight, view in views))
    pool = {at for _, view in views for at in view.top(_POOL)}
    pool |= {at for one in pool for at in (index.before[one], index.after[one]) if at is not None}

    def score(at: int) -> float:
        before, after = index.before[at], index.after[at]
        total = base(at)
        for other in (before, after):
            total += weights.neighbour * base(other) if other is not None else 0.0
        if before is not None and index.entries[before].asks:
            total += weights.answer * max(0.0, base(before))
        name = index.entries[at].turn.name
        return total + weights.speaker * (len(named) == 1 and name is not None and name.casefold() in named)

    # A word that no turn holds cannot tell which turn is meant, but makes it less likely that any is.
    whole = sum(index.turn_words.weight(t) * (1 if index.turn_words.knows(t) else _UNKNOWN_SHARE) for t in terms) or 1.0
    found = nlargest(top_k, ((score(at), -at) for at in pool if eligible is None or eligible(index.entries[at])))
    return [
        ScoredTurn(
            turn=index.entries[-at].turn,
            score=total,
            cosine=cosines[-at] if cosines and index.vectors and index.vectors.has(-at) else None,
            lexical=sum(index.turn_words.weight(t) for t in terms if t in index.entries[-at].terms) / whole,
            position=-at,
            beside=tuple(
                (other, index.entries[other].turn) for other in index.companions(-at, with_answers=with_answers)
            ),
        )
        for total, at in found
    ]


class View:
    """One way to score every turn, as distances from the mean in standard deviations."""

    def __init__(self, known: Mapping[int, float] | Sequence[float], mean: float, deviation: float) -> None:
        self._known = known
        self._mean = mean
        self._deviation = deviation if deviation > 1e-9 else 1.0

    @classmethod
    def dense(cls, scores: Sequence[float]) -> View:
        """Return a view in which every turn has a score."""
        return cls(scores, *_moments(scores, len(scores)))

    @classmethod
    def sparse(cls, scores: Mapping[int, float], count: int) -> View:
        """Return a view in which the turns without a score have 0."""
        return cls(scores, *_moments(scores.values(), count))

    def at(self, at: int) -> float:
        """Return the standard score of one turn."""
        known = self._known.get(at, 0.0) if isinstance(self._known, dict) else self._known[at]
        return (known - self._mean) / self._deviation

    def top(self, count: int) -> list[int]:
        """Return the best turns."""
        if isinstance(self._known, dict):
            return nlargest(count, self._known, key=self._known.__getitem__)
        return nlargest(count, range(len(self._known)), key=self._known.__getitem__)


class _Memo:
    def __init__(self, function: Callable[[int], float]) -> None:
        self._function = function
        self._known: dict[int, float] = {}

    def __call__(self, at: int) -> float:
        if at not in self._known:
            self._known[at] = self._function(at)
        return self._known[at]


def _moments(scores: Iterable[float], count: int) -> tuple[float, float]:
    values = list(scores)
    mean = sum(values) / max(count, 1)
    return mean, sqrt(max(0.0, sum(value * value for value in values) / max(count, 1) - mean * mean))


def _joint_cosines(index: TurnIndex, cosines: Sequence[float]) -> list[float]:
    joint: list[float] = []
    for own, before, after, norm in zip(cosines, index.before, index.after, index.joint_norms(), strict=True):
        beside = (cosines[before] if before is not None else 0.0) + (cosines[after] if after is not None else 0.0)
        joint.append((own + NEIGHBOUR_SHARE * beside) / norm if norm > 1e-9 else 0.0)
    return joint
