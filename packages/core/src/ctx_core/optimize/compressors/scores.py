"""How much each row of a table differs from the others, column by column."""

from __future__ import annotations

import re
from array import array
from collections import Counter
from itertools import accumulate, chain, islice
from math import isfinite
from operator import sub
from statistics import median
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_FEW: Final = 4  # values of which none is odd
_RARE: Final = 0.1
_MOST: Final = 0.9
_LONG: Final = 8_200  # rows: 32 KB of the shortest
_SAMPLE: Final = 512  # values that a median is taken of: sorting all of a long column takes half the time of scoring it

_VARIABLE: Final = re.compile(r"\b[^\W\d]*\d\w*")
_TIME: Final = re.compile(r"\"?(\d{4})-(\d\d)-(\d\d)(?:[T ](\d\d):(\d\d)(?::(\d\d(?:\.\d+)?))?)?")
_MISSING: Final = frozenset({"", "-", "null", "None", '""', "NaN", "nan", "Infinity", "-Infinity"})


def score_rows(columns: Iterable[Sequence[str]], count: int) -> list[float]:
    """Say for each row how much it differs from the others: outliers, jumps, level shifts, gaps, rare words, rare blanks."""
    scores = [0.0] * count
    # By way of `map`, one column is gone before the next is made.
    for found in map(_column_scores, columns):
        for row, score in found:
            scores[row] += score
    return scores


def _column_scores(cells: Sequence[str]) -> Iterable[tuple[int, float]]:
    """Return row numbers with what this column adds to their scores."""
    if len(cells) < _FEW:
        return ()
    if _MISSING.isdisjoint(cells):
        return _present_scores(cells)
    present = [row for row, cell in enumerate(cells) if cell not in _MISSING]
    scores = _present_scores([cells[row] for row in present])
    return chain(_rare_blanks(cells, present), ((present[place], score) for place, score in scores))


def _present_scores(cells: Sequence[str]) -> Iterable[tuple[int, float]]:
    """Score the cells of a column that has no blanks."""
    values = _numbers(cells)
    if values is None:
        return _rare_words(cells)
    return _series_scores(values).items() if len(values) >= _FEW else ()


def _rare_blanks(cells: Sequence[str], present: Sequence[int]) -> Iterable[tuple[int, float]]:
    blanks = len(cells) - len(present)
    if 0 < blanks <= _RARE * len(cells):
        return [(row, 1.0) for row, cell in enumerate(cells) if cell in _MISSING]
    if 0 < len(present) <= _RARE * len(cells):
        return [(row, 1.0) for row in present]
    return ()


def _rare_words(words: Sequence[str]) -> Iterable[tuple[int, float]]:
    if len(set(words)) > len(words) / 2:
        words = [_VARIABLE.sub("#", word) for word in words]
    counts = Counter(words)
    if len(counts) > len(words) / 2:
        return ()
    rare = {word: 1 - count / len(words) for word, count in counts.items() if count <= _RARE * len(words)}
    return ((row, rare[word]) for row, word in enumerate(words) if word in rare) if rare else ()


def _numbers(cells: Sequence[str]) -> Sequence[float] | None:
    """Return a column as numbers, times as seconds; None where some cell is neither."""
    for read in (float, _seconds):
        try:
            return _packed(map(read, cells), len(cells))
        except ValueError:
            continue
    return None


def _packed(values: Iterable[float], count: int) -> Sequence[float]:
    """Hold numbers in a list, which is twice as fast, or of a long column in an array, which takes a quarter of the memory."""
    return [*values] if count <= _LONG else array("d", values)


def _seconds(cell: str) -> float:
    time = _TIME.match(cell)
    if time is None:
        raise ValueError(cell)
    year, month, day, hour, minute, second = (float(part or 0) for part in time.groups())
    return (((year * 372 + month * 31 + day) * 24 + hour) * 60 + minute) * 60 + second


def _series_scores(values: Sequence[float]) -> dict[int, float]:
    """Score values that stand out, each between 0 and about 3."""
    if not isfinite(sum(values)):
        return {}
    steps = _differences(values, 1)
    if _is_monotone(steps):
        return _jumps(steps)
    scores = _outliers(values)
    for found in (_jumps(steps), _shifts(values)):
        for place, score in found.items():
            scores[place] = scores.get(place, 0.0) + score
    return scores


def _differences(values: Sequence[float], width: int) -> Sequence[float]:
    """Return by how much each value differs from the one so many places before it."""
    return _packed(map(sub, islice(values, width, None), values), len(values))


def _is_monotone(steps: Sequence[float]) -> bool:
    """Say whether almost all steps go one way, as those of a clock or a counter do."""
    most = _MOST * len(steps)
    rising = sum([step > 0 for step in steps])
    return rising >= most or (len(steps) - rising >= most and sum([step < 0 for step in steps]) >= most)


def _sampled(values: Sequence[float]) -> Sequence[float]:
    return values[:: 1 + len(values) // _SAMPLE]


def _usual(values: Sequence[float]) -> tuple[float, float]:
    """Return the median and a robust unit of deviation from it; where most deviations are nil, of their mean."""
    # The deviations of what is sorted are two sorted runs, which take a tenth of the time to sort.
    sample = sorted(_sampled(values))
    middle = median(sample)
    unit = median([abs(value - middle) for value in sample])
    return middle, 1.48 * (unit or sum([abs(value - middle) for value in values]) / len(values) or 1.0)


def _outliers(values: Sequence[float]) -> dict[int, float]:
    """Score the distance from the middle; where many values are far from it, none of them is odd by that alone."""
    middle, unit = _usual(values)
    low, high = middle - 2 * unit, middle + 2 * unit
    scores = {
        place: min(1.0, (abs(value - middle) / unit - 2) / 6)
        for place, value in enumerate(values)
        if not low <= value <= high
    }
    crowd = sum(scores.values()) / (_RARE * len(values))
    if crowd > 1:
        scores = {place: score / crowd for place, score in scores.items()}
    for extreme in (min(values), max(values)):
        if values.count(extreme) == 1:
            place = values.index(extreme)
            scores[place] = max(scores.get(place, 0.0), 0.7)
    return scores


def _jumps(steps: Sequence[float]) -> dict[int, float]:
    """Score both ends of steps that are long for this column; the far end more."""
    steps = _packed(map(abs, steps), len(steps))
    middle, unit = _usual(steps)
    low, high = middle - 3 * unit, middle + 3 * unit
    scores: dict[int, float] = {}
    for place, step in [(place, step) for place, step in enumerate(steps) if not low <= step <= high]:
        score = min(1.0, (abs(step - middle) / unit - 3) / 9)
        scores[place] = max(scores.get(place, 0.0), 0.8 * score)
        scores[place + 1] = score
    return scores


def _shifts(values: Sequence[float]) -> dict[int, float]:
    """Score where the mean of the next values leaves the mean of the previous ones furthest."""
    width = max(3, len(values) // 40)
    runs = _differences(_packed(accumulate(values, initial=0.0), len(values)), width)
    changes = _packed(map(abs, _differences(runs, width)), len(values))
    if not changes:
        return {}
    unit = 1.48 * (median(_sampled(changes)) or sum(changes) / len(changes) or 1.0)
    furthest: dict[int, int] = {}
    for place in [place for place, change in enumerate(changes) if change > 2 * unit]:
        if changes[place] > changes[furthest.setdefault(place // width, place)]:
            furthest[place // width] = place
    return {place + width: min(1.0, (changes[place] / unit - 2) / 6) for place in furthest.values()}
