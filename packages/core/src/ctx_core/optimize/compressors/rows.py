"""Which rows of a table to keep first: alarms and query matches, then start, end, and what differs from the rest."""

from __future__ import annotations

import re
from collections import Counter
from heapq import heappop, heapreplace
from itertools import chain, compress, filterfalse, islice
from math import inf
from typing import TYPE_CHECKING, Final

from ctx_core.optimize.compressors.relevance import query_terms
from ctx_core.optimize.compressors.scores import score_rows
from ctx_core.signals.severity import Severity, find_alarms

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from ctx_core.tokens import TokenCounter

START_SHARE: Final = 0.30
END_SHARE: Final = 0.15
IMPORTANCE_SHARE: Final = 0.55

_SPREAD_SHARE: Final = 0.35  # of the rows by importance: a curve without its calm parts cannot be read
_BUCKETS: Final = 32
_EVEN_SHARE: Final = 0.2  # beside the rows by score, so that no long stretch is missing as a whole
_COUNTED: Final = 64  # rows that are counted exactly
GAP_COST: Final = 5  # tokens of a note such as `…12 rows` and its line end
AMPLE: Final = 2  # so many times the budget is worth an order, since what rows cost is guessed
_HEAD: Final = 5
_TAIL: Final = 3
_RARE: Final = 0.1

_VARIABLE: Final = re.compile(r"\b[^\W\d]*\d\w*")


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
    count, numbers = int(share * len(rows)), range(len(rows))
    by_score = _highest_first(score_rows(columns, len(rows)))[:count]
    evenly = islice(_spread(len(rows)), int(_EVEN_SHARE * count))
    kept = bytearray(len(rows))  # a set would take more memory than the rows
    for row in chain(_first_alarms(rows), _matches(rows, query), numbers[:_HEAD], numbers[-_TAIL:], by_score, evenly):
        kept[row] = True
    return [*compress(numbers, kept)]


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


def _first_alarms(rows: Sequence[str]) -> list[int]:
    """Return the first row of every distinct alarm."""
    first: dict[str, int] = {}
    for number in find_alarms(rows, least=Severity.SUSPECT):
        first.setdefault(_VARIABLE.sub("#", rows[number]), number)
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
