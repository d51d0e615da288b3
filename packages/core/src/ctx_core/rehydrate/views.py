"""Ways to score every turn at once, made comparable: as distances from the mean in standard deviations."""

from __future__ import annotations

from heapq import nlargest
from itertools import accumulate, repeat
from math import sqrt
from operator import mul
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


class View:
    """Scores of all turns under one aspect."""

    def __init__(self, scores: Sequence[float]) -> None:
        count = max(len(scores), 1)
        self._scores = scores
        self._mean = sum(scores) / count
        variance = sum(map(mul, scores, scores)) / count - self._mean**2
        self._deviation = sqrt(variance) if variance > 1e-12 else 1.0

    def at(self, at: int) -> float:
        """Return the standard score of one turn."""
        return (self._scores[at] - self._mean) / self._deviation

    def top(self, count: int) -> list[int]:
        """Return the best turns."""
        # Two deviations above the mean leave few of many turns, and sorting few costs little.
        bar = self._mean + 2 * self._deviation
        best = [at for at, score in enumerate(self._scores) if score > bar]
        if len(best) < count:
            return nlargest(count, range(len(self._scores)), key=self._scores.__getitem__)
        return sorted(best, key=self._scores.__getitem__, reverse=True)[:count]


def covered(postings: Iterable[tuple[float, Sequence[int]]], count: int, reach: int) -> list[float]:
    """Return, for each of `count` turns, the weight of the words that occur at most `reach` turns away.

    Args:
        postings: The weight of each word, and the turns that hold it, in order.
        count: How many turns there are.
        reach: How far a word is felt.
    """
    changes = [0.0] * (count + reach + 2)
    for weight, places in postings:
        end = -1
        for at in places:
            if at - reach > end:  # a gap: what was covered ends, and a new stretch begins
                if end >= 0:
                    changes[end] -= weight
                changes[max(at - reach, 0)] += weight
            end = at + reach + 1
        if end >= 0:
            changes[end] -= weight
    return list(accumulate(changes))[:count]


def smoothed(scores: Sequence[float], reach: int) -> list[float]:
    """Return, for each turn, the mean score of the turns at most `reach` away."""
    width = 2 * reach + 1
    # Beyond the ends the end itself is repeated, which keeps this one pass of differences.
    sums = [0.0, *accumulate((*repeat(scores[0], reach), *scores, *repeat(scores[-1], reach)))]
    return [(end - start) / width for start, end in zip(sums, sums[width:], strict=False)]
