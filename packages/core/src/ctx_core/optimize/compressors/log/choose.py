"""Which lines stay: worst first, then context, once-only lines and one line of every template, as far as the budget goes."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from ctx_core.optimize.compressors.log.severity import Severity, rate

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ctx_core.optimize.compressors.base import Budget
    from ctx_core.optimize.compressors.log.templates import Templates

_GAP_COST: Final = 6
_TERM: Final = re.compile(r"[\w.-]{4,}")
_COMMON: Final = frozenset(
    "this that what when which where does have with from build fail failed failure error errors happened there about could should would were been into your more".split()
)


def ranked(lines: list[str], templates: Templates, query: str | None) -> Iterator[list[int]]:
    """Yield tiers of line numbers, most valuable tier first."""
    ratings = rate(lines[members[0]] for members in templates.members)
    by_severity: dict[Severity, list[int]] = {rating: [] for rating in Severity}
    for number, rating in enumerate(ratings):
        by_severity[rating].append(number)
    firsts = {rating: [templates.members[n][0] for n in numbers] for rating, numbers in by_severity.items()}
    yield firsts[Severity.VERDICT]
    yield firsts[Severity.ERROR]
    yield _around(firsts[Severity.VERDICT] + firsts[Severity.ERROR], len(lines))
    yield _matching(lines, query)
    yield firsts[Severity.SUSPECT] + firsts[Severity.WARNING]
    calm = by_severity[Severity.CALM]
    yield [templates.members[n][0] for n in calm if len(templates.members[n]) == 1]
    yield [templates.members[n][0] for n in calm if len(templates.members[n]) > 1]


def _matching(lines: list[str], query: str | None) -> list[int]:
    terms = [term for term in _TERM.findall(query or "") if term.lower() not in _COMMON]
    if not terms:
        return []
    wanted = re.compile("|".join(map(re.escape, terms)), re.IGNORECASE)
    return [index for index, line in enumerate(lines) if wanted.search(line)]


def _around(hits: list[int], total: int) -> list[int]:
    return [i for hit in hits for i in (hit + 1, hit - 1, hit + 2, hit - 2, hit + 3) if 0 <= i < total]


def choose(lines: list[str], templates: Templates, budget: Budget, query: str | None) -> list[int]:
    """Return the numbers of the lines that stay, most valuable first."""
    kept: dict[int, None] = {}
    room = budget.max_tokens
    for tier in ranked(lines, templates, query):
        if room is None:
            kept.update(dict.fromkeys(tier))
            continue
        skipped = False
        for index in tier:
            if index in kept:
                continue
            gaps = 1 - (index - 1 in kept) - (index + 1 in kept)
            cost = budget.cost(lines[index]) + gaps * _GAP_COST
            if cost > room:
                skipped = True
                continue
            kept[index] = None
            room -= cost
        if skipped:
            break
    return list(kept)
