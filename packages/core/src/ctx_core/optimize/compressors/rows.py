"""Which rows of a table to keep first: alarms and query matches, then start, end, and what differs from the rest."""

from __future__ import annotations

import re
from array import array
from collections import Counter
from itertools import accumulate, islice
from math import isfinite
from operator import sub
from statistics import median
from typing import TYPE_CHECKING, Final

from ctx_core.optimize.compressors.relevance import query_terms

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

START_SHARE: Final = 0.30
END_SHARE: Final = 0.15
IMPORTANCE_SHARE: Final = 0.55

_SPREAD_SHARE: Final = 0.35  # of the rows by importance: a curve without its calm parts cannot be read
_BUCKETS: Final = 32
_FEW: Final = 8  # rows that are looked at one by one when one of them may be an alarm
_CHUNK: Final = 64  # rows that are looked through for alarms at once
_EVEN_SHARE: Final = 0.2  # beside the rows by score, so that no long stretch is missing as a whole
_HEAD: Final = 5
_TAIL: Final = 3
_RARE: Final = 0.1
_SAMPLE: Final = 512  # values that a median is taken of: sorting all of a long column takes half the time of scoring it

_ALARM: Final = re.compile(
    r"(?<![A-Za-z])(?i:err(?:or)?s?|fail(?:s|ed|ing|ures?)?|fatal|exceptions?|critical|severe|panic\w*|crash\w*|denied|refused"
    r"|time[d-]?[ -]?out|abort\w*|reject\w*|invalid|unauthori[sz]ed|forbidden|traceback|seg(?:fault|mentation)|killed|oom(?:-?kill\w*)?"
    r"|cannot|unable to)(?![A-Za-z])|[A-Za-z](?:Error|Exception|Failure)\b|错误|失败|エラー|失敗"
)
# One of these stands in every alarm, and is thirty times as fast to look for.
_ALARM_STEMS: Final = re.findall(
    r"\S+",
    """
    err fail fatal exception critical severe panic crash denied refused timeout time-out timed abort reject invalid unauthori forbidden
    traceback segfault segmentation killed oom cannot unable 错误 失败 エラー 失敗
    """,
)
_ALL_CLEAR: Final = re.compile(
    r"(?i)\b(?:no|0|zero|without|any)[ =:]+(?:\w+ )?(?:errors?|fail(?:ed|ures?)?|exceptions?)\b"
    r"|\b(?:errors?|fail(?:ed|ures?)|exceptions?)\w*\s*[:=,]\s*(?:0|no|none|null|false|-|\"\"|\[\]|\{\})(?![.\w])"
)
_VARIABLE: Final = re.compile(r"\b[^\W\d]*\d\w*")
_TIME: Final = re.compile(r"\"?(\d{4})-(\d\d)-(\d\d)(?:[T ](\d\d):(\d\d)(?::(\d\d(?:\.\d+)?))?)?")
_MISSING: Final = frozenset({"", "-", "null", "None", '""', "NaN", "nan", "Infinity", "-Infinity"})


def rough_cost(piece: str) -> float:
    """Guess the tokens of one row or field and its line end, at a hundredth of the cost of an estimate."""
    return 1 + len(piece.encode("utf-8", "surrogatepass")) / 3


def order_rows(
    rows: Sequence[str], columns: Iterable[Sequence[str]], costs: Sequence[float], *, query: str | None = None
) -> tuple[list[int], int]:
    """Order row numbers by who stays longest; the second value counts the rows at the front that outlive all others.

    Args:
        rows: The rows as text.
        columns: The same rows as columns of cells.
        costs: Tokens of each row.
        query: What the reader wants to know.
    """
    urgent = [*dict.fromkeys(_first_alarms(rows) + _matches(rows, query))]
    scores = score_rows(columns, len(rows))
    streams = {
        START_SHARE: iter(range(len(rows))),
        END_SHARE: iter(range(len(rows) - 1, -1, -1)),
        IMPORTANCE_SHARE * (1 - _SPREAD_SHARE): iter(_by_score(scores)),
        IMPORTANCE_SHARE * _SPREAD_SHARE: _spread(len(rows)),
    }
    return _take_turns(urgent, streams, costs, len(rows)), len(urgent)


def odd_rows(
    rows: Sequence[str], columns: Iterable[Sequence[str]], *, share: float, query: str | None = None
) -> list[int]:
    """Return, in their order, the rows that differ most from the rest, alarms, query matches, and some of both ends.

    Args:
        rows: The rows as text.
        columns: The same rows as columns of cells.
        share: How many of the rows, in [0, 1]; alarms and matches may make them more.
        query: What the reader wants to know.
    """
    count = int(share * len(rows))
    scores = score_rows(columns, len(rows))
    by_score = _highest_first(scores)
    evenly = islice(_spread(len(rows)), int(_EVEN_SHARE * count))
    ends = [*range(_HEAD), *range(len(rows) - _TAIL, len(rows))]
    return sorted({*_first_alarms(rows), *_matches(rows, query), *ends, *by_score[:count], *evenly})


def _take_turns(first: list[int], streams: dict[float, Iterator[int]], costs: Sequence[float], count: int) -> list[int]:
    """Follow `first` by the streams, each of which gets its share of the tokens."""
    order = [*first]
    seen = set(first)
    spent = dict.fromkeys(streams, 0.0)
    while len(order) < count and spent:
        share = min(spent, key=lambda share: spent[share] / share)
        row = next((row for row in streams[share] if row not in seen), None)
        if row is None:
            del spent[share]
            continue
        order.append(row)
        seen.add(row)
        spent[share] += costs[row] or 1
    return order


def first_alarm(text: str, start: int = 0) -> int:
    """Return where `text` first speaks of an error, a failure or a crash, from `start` on; -1 where it does not."""
    found = _ALARM.search(text, start)
    return found.start() if found else -1


def is_alarm(text: str) -> bool:
    """Say whether `text` speaks of an error, a failure or a crash and does not deny it; `0 errors` is none."""
    if not _may_be_alarm(text):
        return False
    return first_alarm(text) >= 0 and first_alarm(_ALL_CLEAR.sub("", text)) >= 0


def _may_be_alarm(text: str) -> bool:
    lowered = text.lower()
    return any(stem in lowered for stem in _ALARM_STEMS)


def alarms(texts: Sequence[str]) -> list[int]:
    """Return the numbers of the texts that are alarms."""
    if not _may_be_alarm("\n".join(texts)):
        return []
    if len(texts) <= _FEW:
        return [number for number, text in enumerate(texts) if is_alarm(text)]
    half = len(texts) // 2
    return alarms(texts[:half]) + [half + number for number in alarms(texts[half:])]


def _first_alarms(rows: Sequence[str]) -> list[int]:
    """Return the first row of every distinct alarm."""
    first: dict[str, int] = {}
    for start in range(0, len(rows), _CHUNK):
        for i in alarms(rows[start : start + _CHUNK]):
            first.setdefault(_VARIABLE.sub("#", rows[start + i]), start + i)
    return [*first.values()]


def _matches(rows: Sequence[str], query: str | None) -> list[int]:
    """Return the rows that hold a word of the query which few rows hold, most such words first."""
    terms = query_terms(query)
    if not terms:
        return []
    hits: Counter[int] = Counter()
    lowered = [row.lower() for row in rows]
    for term in terms:
        found = [i for i, row in enumerate(lowered) if term in row]
        if len(found) <= max(1, _RARE * len(rows)):
            hits.update(found)
    return [i for i, _ in sorted(hits.items(), key=lambda hit: (-hit[1], hit[0]))]


def _highest_first(scores: Sequence[float]) -> list[int]:
    return sorted(range(len(scores)), key=scores.__getitem__, reverse=True)


def _by_score(scores: Sequence[float]) -> list[int]:
    """Order rows by score; what stands close behind a higher score in the same stretch of the table counts less."""
    size = max(1, len(scores) // _BUCKETS)
    ranks: Counter[int] = Counter()
    damped = [0.0] * len(scores)
    for i in _highest_first(scores):
        damped[i] = scores[i] / (1 + ranks[i // size] / 2)
        ranks[i // size] += 1
    return _highest_first(damped)


def _spread(count: int) -> Iterator[int]:
    """Yield row numbers so that any prefix of them covers the table evenly."""
    step = 1 << max(count - 1, 1).bit_length()
    while step:
        yield from range(step >> 1, count, step)
        step >>= 1
    yield from range(count)


def score_rows(columns: Iterable[Sequence[str]], count: int) -> list[float]:
    """Say for each row how much it differs from the others: outliers, jumps, level shifts, gaps, rare words, rare blanks."""
    scores = [0.0] * count
    # By way of `map`, one column is gone before the next is made.
    for found in map(_column_scores, columns):
        for i, score in found:
            scores[i] += score
    return scores


def _column_scores(cells: Sequence[str]) -> Iterator[tuple[int, float]]:
    """Yield row numbers with what this column adds to their scores."""
    if len(cells) < 4:
        return
    places: Sequence[int] = range(len(cells))
    if not _MISSING.isdisjoint(cells):
        places = [i for i, cell in enumerate(cells) if cell not in _MISSING]
        yield from _rare_blanks(cells, places)
        cells = [cells[i] for i in places]
    values = _numbers(cells)
    if values is None:
        yield from _rare_words(cells, places)
    elif len(values) >= 4:
        yield from ((place, score) for place, score in zip(places, _series_scores(values), strict=True) if score)


def _rare_blanks(cells: Sequence[str], present: Sequence[int]) -> list[tuple[int, float]]:
    blanks = len(cells) - len(present)
    if 0 < blanks <= _RARE * len(cells):
        return [(i, 1.0) for i, cell in enumerate(cells) if cell in _MISSING]
    if 0 < len(present) <= _RARE * len(cells):
        return [(i, 1.0) for i in present]
    return []


def _rare_words(words: Sequence[str], places: Sequence[int]) -> Iterator[tuple[int, float]]:
    if len(set(words)) > len(words) / 2:
        words = [_VARIABLE.sub("#", word) for word in words]
    counts = Counter(words)
    if len(counts) > len(words) / 2:
        return
    rare = {word: 1 - count / len(words) for word, count in counts.items() if count <= _RARE * len(words)}
    yield from ((place, rare[word]) for place, word in zip(places, words, strict=True) if word in rare)


def _numbers(cells: Sequence[str]) -> array[float] | None:
    """Return a column as numbers, times as seconds; None where some cell is neither."""
    for read in (float, _seconds):
        try:
            return array("d", map(read, cells))
        except ValueError:
            continue
    return None


def _seconds(cell: str) -> float:
    time = _TIME.match(cell)
    if time is None:
        raise ValueError(cell)
    year, month, day, hour, minute, second = (float(part or 0) for part in time.groups())
    return (((year * 372 + month * 31 + day) * 24 + hour) * 60 + minute) * 60 + second


def _series_scores(values: array[float]) -> Iterable[float]:
    """Score each value between 0 and about 3."""
    if not all(map(isfinite, values)):
        return [0.0] * len(values)
    steps = array("d", map(sub, islice(values, 1, None), values))
    rising = sum([step > 0 for step in steps])
    falling = sum([step < 0 for step in steps])
    lengths = array("d", map(abs, steps))
    if max(rising, falling) >= 0.9 * len(steps):
        return _jumps(lengths)
    return [a + b + c for a, b, c in zip(_outliers(values), _jumps(lengths), _shifts(values), strict=True)]


def _median(values: array[float]) -> float:
    return median(values[:: 1 + len(values) // _SAMPLE])


def _scale(deviations: array[float]) -> float:
    """Return a robust unit of deviation; where most deviations are nil, their mean."""
    return _median(deviations) or sum(deviations) / len(deviations) or 1.0


def _outliers(values: array[float]) -> list[float]:
    """Score the distance from the middle; where many values are far from it, none of them is odd by that alone."""
    middle = _median(values)
    deviations = array("d", (abs(value - middle) for value in values))
    unit = _scale(deviations) * 1.48
    usual = 2 * unit
    scores = [0.0 if d <= usual else min(1.0, (d / unit - 2) / 6) for d in deviations]
    crowd = sum(scores) / (_RARE * len(values))
    if crowd > 1:
        scores = [score / crowd for score in scores]
    for extreme in (min(values), max(values)):
        if values.count(extreme) == 1:
            place = values.index(extreme)
            scores[place] = max(scores[place], 0.7)
    return scores


def _jumps(steps: array[float]) -> list[float]:
    """Score both ends of steps that are long for this column; the far end more."""
    middle = _median(steps)
    unit = _scale(array("d", (abs(step - middle) for step in steps))) * 1.48
    low, high = middle - 3 * unit, middle + 3 * unit
    scores = [0.0] * (len(steps) + 1)
    for place, step in enumerate(steps):
        if not low <= step <= high:
            score = min(1.0, (abs(step - middle) / unit - 3) / 9)
            scores[place] = max(scores[place], 0.8 * score)
            scores[place + 1] = score
    return scores


def _shifts(values: array[float]) -> list[float]:
    """Score where the mean of the next values leaves the mean of the previous ones furthest."""
    width = max(3, len(values) // 40)
    sums = array("d", accumulate(values, initial=0.0))
    thirds = zip(sums, sums[width:], sums[2 * width :], strict=False)
    changes = array("d", (abs(after - 2 * here + before) for before, here, after in thirds))
    scores = [0.0] * len(values)
    if changes:
        unit = _scale(changes) * 1.48
        for start in range(0, len(changes), width):
            best = max(range(start, min(start + width, len(changes))), key=changes.__getitem__)
            scores[best + width] = min(1.0, max(0.0, changes[best] / unit - 2) / 6)
    return scores
