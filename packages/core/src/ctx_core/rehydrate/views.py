"""Ways to score every turn at once, made comparable: as distances from the mean in standard deviations."""

from __future__ import annotations

from heapq import nlargest
from itertools import accumulate, repeat
from math import sqrt
from operator import mul
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence


class View:
    """Scores of all turns under one aspect."""

    def __init__(self, scores: Mapping[int, float] | Sequence[float], count: int) -> None:
        """Take the scores of all `count` turns, or of those that have one; the others have 0."""
        values = list(scores.values()) if isinstance(scores, dict) else scores
        self._scores = scores
        self._mean = sum(values) / max(count, 1)
        variance = sum(map(mul, values, values)) / max(count, 1) - self._mean**2
        self._deviation = sqrt(variance) if variance > 1e-12 else 1.0

    def at(self, at: int) -> float:
        """Return the standard score of one turn."""
        score = self._scores.get(at, 0.0) if isinstance(self._scores, dict) else self._scores[at]
        return (score - self._mean) / self._deviation

    def top(self, count: int) -> list[int]:
        """Return the best turns."""
        scores = self._scores
        return nlargest(count, scores if isinstance(scores, dict) else range(len(scores)), key=scores.__getitem__)


def covered(postings: Iterable[tuple[float, Sequence[int]]], count: int, reach: int) -> list[float]:
    """Return, for each of `count` turns, the weight of the words that occur at most `reach` turns away.

    Args:
        postings: The weight of each word, and the turns that hold it, in order.
        count: How many turns there are.
        reach: How far a word is felt.
    """
    changes = [0.0] * (count + 1)
    for weight, places in postings:
        end = 0
        for at in places:
            start = max(at - reach, end, 0)
            end = min(at + reach + 1, count)
            changes[start] += weight
            changes[end] -= weight
    return list(accumulate(changes))[:count]


def smoothed(scores: Sequence[float], reach: int) -> list[float]:
    """Return, for each turn, the mean score of the turns at most `reach` away."""
    width = 2 * reach + 1
    # Beyond the ends the end itself is repeated, which keeps this one pass of differences.
    sums = [0.0, *accumulate((*repeat(scores[0], reach), *scores, *repeat(scores[-1], reach)))]
    return [(end - start) / width for start, end in zip(sums, sums[width:], strict=False)]
