"""Which archived turns answer a question: words and vectors, of the turn and of what stands near it, in one score."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from math import sqrt
from typing import TYPE_CHECKING, Final

from ctx_core.rehydrate.answers import tells_number, tells_time
from ctx_core.rehydrate.turns import ScoredTurn
from ctx_core.rehydrate.views import View, covered, smoothed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from ctx_core.rehydrate.index import Entry, TurnIndex
    from ctx_core.rehydrate.query import Query

# Turns further down under every aspect cannot win.
_POOL: Final = 100
_REACH: Final = 5
# Square root of the size of the smallest archive that the weights were fitted on.
_FITTED_ROOT: Final = 20
_CANDIDATES: Final = 6
_SAME_WORDS: Final = 0.8


@dataclass(frozen=True, slots=True, kw_only=True)
class Weights:
    """How much each aspect of a turn counts, in standard deviations over all turns.

    Fitted on five long conversations between two people and checked on each one left out; no value is a fine one.

    Args:
        words: The question's words in the turn.
        near_words: The question's words within five turns.
        vector: Nearness in meaning.
        near_vectors: Nearness in meaning of the turns within five turns.
        likeness: Nearness in meaning to the turn that scores highest, by cosine: much of an answer shares no word with the question.
        substance: Length, up to twenty words: a greeting answers nothing.
        before: The score of the turn before, as a share.
        after: The score of the turn after, as a share.
        answer: A further share of the turn before, where that is a question.
        asking: What a turn that is itself a question loses of its score, as a share.
        speaker: That it was said by the one the question names.
        role: That it was said by the user or the assistant, whom the question addresses as I or you.
        tells_when: That it tells a time, where the question asks for one.
        tells_number: That it tells a number, where the question asks for one.
        period: That it is of the time the question names.
        beside: What it loses for standing right beside one that was taken already.
    """

    words: float = 0.75
    near_words: float = 1.5
    vector: float = 1.5
    near_vectors: float = 0.8
    likeness: float = 3.5
    substance: float = 2.0
    before: float = 0.1
    after: float = 0.25
    answer: float = 0.6
    asking: float = 0.25
    speaker: float = 2.0
    role: float = 1.5
    tells_when: float = 3.0
    tells_number: float = 1.7
    period: float = 8.0
    beside: float = 1.0


DEFAULT_WEIGHTS: Final = Weights()


def rank(
    index: TurnIndex,
    query: Query,
    *,
    vector: Sequence[float] | None,
    now: datetime,
    top_k: int,
    eligible: Callable[[Entry], bool],
    session_id: str | None = None,
    with_answers: bool = True,
    weights: Weights = DEFAULT_WEIGHTS,
) -> list[ScoredTurn]:
    """Return the `top_k` turns that answer `query` best, best first.

    Args:
        index: All of a user's turns.
        query: The question.
        vector: The question's vector, None to go by words alone.
        now: When it was asked; its zone says where days begin.
        top_k: The most turns returned.
        eligible: Says which turns may be returned.
        session_id: The conversation that is going on.
        with_answers: Whether the answer to a question, and the question of an answer, count as beside it.
        weights: How much each aspect counts.
    """
    scorer = _Scorer(index, query, vector=vector, now=now, session_id=session_id, weights=weights)
    scores = scorer.with_likeness({at: scorer.score(at) for at in scorer.pool() if eligible(index.entries[at])})
    return [
        ScoredTurn(
            turn=index.entries[at].turn,
            score=scores[at],
            cosine=scorer.cosine(at),
            lexical=scorer.lexical(at),
            dated=scorer.is_dated(at),
            position=at,
            beside=tuple((i, index.entries[i].turn) for i in index.companions(at, with_answers=with_answers)),
        )
        for at in _distinct(scores, index, query, top_k=top_k, beside=weights.beside * scorer.scale)
    ]


class _Scorer:
    """Scores the turns of one index for one question."""

    def __init__(
        self,
        index: TurnIndex,
        query: Query,
        *,
        vector: Sequence[float] | None,
        now: datetime,
        session_id: str | None,
        weights: Weights,
    ) -> None:
        self._index = index
        self._query = query
        self._weights = weights
        count = len(index)
        bm25 = index.words
        self._cosines = index.vectors.cosines(vector) if vector is not None and index.vectors is not None else None
        scores = bm25.scores(query.terms)
        if self._cosines:
            self._cosines = _with_words_for_missing(self._cosines, scores)
        words = View(scores)
        near = View(covered([(bm25.weight(t), bm25.holding(t)) for t in query.terms], count, _REACH))
        self._own = [(weights.words, words)]
        # A word that one of `count` turns holds stands out by the square root of `count`. What says nothing about the question
        # must not outweigh that in a small archive.
        self.scale = min(1.0, sqrt(count) / _FITTED_ROOT)
        self._around = [(weights.near_words, near), (weights.substance * self.scale, index.substance())]
        if self._cosines:
            self._own.append((weights.vector, View(self._cosines)))
            self._around.append((weights.near_vectors, View(smoothed(self._cosines, _REACH))))
        self._in_period = _period_shares(index, query, now, session_id)
        self._matches: dict[int, float] = {}
        dated = [at for at in range(count) if self._in_period(at) >= 1.0] if query.is_about_time else []
        self._dated = dated

    def is_dated(self, at: int) -> bool:
        """Say whether a turn is of the very time that the question names."""
        return self._in_period(at) >= 1.0

    def pool(self) -> Iterable[int]:
        """Return the turns worth scoring: the best under each aspect, and those beside them."""
        if self._dated:
            return self._dated
        views = [view for _, view in (*self._own, self._around[0])]
        best = {at for view in views for at in view.top(_POOL)}
        beside = {i for at in best for i in (self._index.before[at], self._index.after[at]) if i is not None}
        return best | beside

    def score(self, at: int) -> float:
        """Return how well a turn answers."""
        weights, entry = self._weights, self._index.entries[at]
        own, before, after = self._match(at), self._index.before[at], self._index.after[at]
        total = own
        for weight, view in self._around:
            total += weight * view.at(at)
        if before is not None:
            total += weights.before * self._match(before)
            if self._index.entries[before].asks:
                total += weights.answer * max(0.0, self._match(before))
        if after is not None:
            total += weights.after * self._match(after)
        if entry.asks:
            total -= weights.asking * max(0.0, own)
        if self._query.speaker is not None and entry.speaker == self._query.speaker:
            total += weights.speaker * self.scale
        if entry.turn.role == self._query.role:
            total += weights.role * self.scale
        if self._query.asks_when and tells_time(entry.turn.text):
            total += weights.tells_when * self.scale
        if self._query.asks_number and tells_number(entry.turn.text):
            total += weights.tells_number * self.scale
        return total + weights.period * self.scale * self._in_period(at)

    def with_likeness(self, scores: Mapping[int, float]) -> Mapping[int, float]:
        """Return the scores with what turns gain by being like the best of them."""
        if not scores or self._cosines is None or self._index.vectors is None:
            return scores
        best = max(scores, key=lambda at: (scores[at], -at))
        weight = self._weights.likeness * self.scale
        alike = self._index.vectors.likeness(best, scores)
        return {at: score + weight * cosine for (at, score), cosine in zip(scores.items(), alike, strict=True)}

    def _match(self, at: int) -> float:
        if at not in self._matches:
            own = 0.0
            for weight, view in self._own:
                own += weight * view.at(at)
            self._matches[at] = own
        return self._matches[at]

    def cosine(self, at: int) -> float | None:
        """Return the similarity of a turn's text to the question; None if the turn has no vector."""
        known = self._cosines and self._index.vectors is not None and self._index.vectors.has(at)
        return self._cosines[at] if self._cosines and known else None

    def lexical(self, at: int) -> float:
        """Return the share of the question's weight in words that a turn holds; of several questions, of the one it fits best."""
        terms = set(self._index.entries[at].terms)
        return max((self._share(clause, terms) for clause in self._query.clauses), default=0.0)

    def _share(self, clause: Sequence[str], terms: set[str]) -> float:
        weights = {term: self._index.words.weight(term) for term in clause}
        held = sum(weight for term, weight in weights.items() if term in terms)
        return held / (sum(weights.values()) or 1.0)


def _with_words_for_missing(cosines: list[float], scores: Sequence[float]) -> list[float]:
    """Return cosines with a guess for turns that have no vector yet: as near as their words are, beside the best of either.

    A missing vector is all zeros, and a cosine of 0 would put such a turn behind every other one.
    """
    best, most = max(cosines), max(scores, default=0.0)
    if all(cosines) or best <= 0 or not most:
        return cosines
    return [cosine or best * score / most for cosine, score in zip(cosines, scores, strict=True)]


def _period_shares(index: TurnIndex, query: Query, now: datetime, session_id: str | None) -> Callable[[int], float]:
    """Return how much each turn is of the time that the question names."""
    period = query.period
    if period is None:
        return lambda _: 0.0
    if period.sessions is not None:
        meant = index.sessions_between(*period.sessions, but=session_id)
        return lambda at: float(index.entries[at].turn.session_id in meant)
    shares: dict[int, float] = {}

    def share(at: int) -> float:
        said = index.entries[at].at_ms
        quarter = said // 900_000  # zones differ by quarters of an hour, so all of one is the same day
        if quarter not in shares:
            shares[quarter] = period.share(datetime.fromtimestamp(said / 1000, now.tzinfo).date()) if said else 0.0
        return shares[quarter]

    return share


def _distinct(scores: Mapping[int, float], index: TurnIndex, query: Query, *, top_k: int, beside: float) -> list[int]:
    """Return the `top_k` best turns that say different things; what only repeats the question or another turn goes last.

    Args:
        scores: Scores by turn.
        index: The turns.
        query: The question.
        top_k: The most turns returned.
        beside: What a turn loses for standing right beside one that was taken: an answer to the whole question has several places.
    """
    best = sorted(scores, key=lambda at: (-scores[at], at))
    waiting = {at: scores[at] for at in best[: _CANDIDATES * top_k]}
    seen: list[frozenset[str]] = []
    chosen: list[int] = []
    repeats: list[int] = []
    while waiting and len(chosen) < top_k:
        at = max(waiting, key=lambda at: (waiting[at], -at))
        del waiting[at]
        terms = frozenset(index.entries[at].terms)
        if terms <= query.said or any(_alike(terms, other) for other in seen):
            repeats.append(at)
            continue
        chosen.append(at)
        seen.append(terms)
        for other in (index.before[at], index.after[at]):
            if other in waiting:
                waiting[other] -= beside
    return [*chosen, *repeats[: top_k - len(chosen)]]


def _alike(one: frozenset[str], other: frozenset[str]) -> bool:
    return bool(one) and len(one & other) >= _SAME_WORDS * len(one | other)
