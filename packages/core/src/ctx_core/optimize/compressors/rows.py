"""Which rows of a table to keep first: alarms and query matches, then start, end, and what differs from the rest."""

from __future__ import annotations

import re
from array import array
from collections import Counter
from heapq import heappop, heapreplace
from itertools import accumulate, chain, filterfalse, islice
from math import inf, isfinite
from operator import sub
from statistics import median
from typing import TYPE_CHECKING, Final

from ctx_core.optimize.compressors.relevance import query_terms

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from ctx_core.tokens import TokenCounter

START_SHARE: Final = 0.30
END_SHARE: Final = 0.15
IMPORTANCE_SHARE: Final = 0.55

_SPREAD_SHARE: Final = 0.35  # of the rows by importance: a curve without its calm parts cannot be read
_BUCKETS: Final = 32
_CHUNK: Final = 64  # rows that are looked through for alarms at once
_EVEN_SHARE: Final = 0.2  # beside the rows by score, so that no long stretch is missing as a whole
_COUNTED: Final = 64  # rows that are counted exactly
GAP_COST: Final = 5  # tokens of a note such as `…12 rows` and its line end
AMPLE: Final = 2  # so many times the budget is worth an order, since what rows cost is guessed
_HEAD: Final = 5
_TAIL: Final = 3
_FEW: Final = 4  # values of which none is odd
_RARE: Final = 0.1
_MOST: Final = 0.9
_LONG: Final = 8_200  # rows: 32 KB of the shortest
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


def row_costs(rows: Sequence[str], counter: TokenCounter) -> list[float]:
    """Guess the tokens of each row and its line end: by its length, and by what some of the rows cost exactly."""
    sample = "\n".join(rows[:: 1 + len(rows) // _COUNTED])
    unit = counter.count(sample) / max(1, len(sample))
    return [unit * (len(row) + 1) for row in rows]


def order_rows(
    rows: Sequence[str],
    columns: Iterable[Sequence[str]],
    costs: Sequence[float],
    *,
    room: float = inf,
    query: str | None = None,
) -> tuple[list[int], int]:
    """Order row numbers by who stays longest; the second value counts the rows at the front that outlive all others.

    Args:
        rows: The rows as text.
        columns: The same rows as columns of cells.
        costs: Tokens of each row.
        room: Tokens of rows after which the others are left out, because they need no order.
        query: What the reader wants to know.
    """
    urgent = [*dict.fromkeys(_first_alarms(rows) + _matches(rows, query))]
    scores = score_rows(columns, len(rows))
    streams = {
        START_SHARE: range(len(rows)),
        END_SHARE: range(len(rows) - 1, -1, -1),
        IMPORTANCE_SHARE * (1 - _SPREAD_SHARE): _by_score(scores),
        IMPORTANCE_SHARE * _SPREAD_SHARE: _spread(len(rows)),
    }
    return _take_turns(urgent, streams, costs, room), len(urgent)


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


def _take_turns(
    first: list[int], streams: Mapping[float, Iterable[int]], costs: Sequence[float], room: float
) -> list[int]:
    """Follow `first` by the streams, each of which gets its share of the tokens, until `room` is spent."""
    order = [*first]
    seen = set(first)
    queue = [
        (0.0, number, share, filterfalse(seen.__contains__, rows))
        for number, (share, rows) in enumerate(streams.items())
    ]
    while queue and room > 0:
        spent, number, share, rows = queue[0]
        row = next(rows, None)
        if row is None:
            heappop(queue)
            continue
        order.append(row)
        seen.add(row)
        room -= costs[row]
        heapreplace(queue, (spent + (costs[row] or 1) / share, number, share, rows))
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
    return any(map(lowered.__contains__, _ALARM_STEMS))


def alarms(texts: Sequence[str]) -> list[int]:
    """Return the numbers of the texts that are alarms."""
    if not _may_be_alarm("\n".join(texts)):
        return []
    return [number for number, text in enumerate(texts) if is_alarm(text)]


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
