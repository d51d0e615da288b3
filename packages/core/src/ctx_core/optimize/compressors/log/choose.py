"""Which lines stay: worst first, then their surroundings, then what is new, as far as the budget goes."""

from __future__ import annotations

import re
from bisect import bisect_left
from math import log2
from typing import TYPE_CHECKING, Final

from ctx_core.optimize.compressors.log.runners import is_event_log, is_rule
from ctx_core.optimize.compressors.log.severity import Severity

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ctx_core.optimize.compressors.base import Budget
    from ctx_core.optimize.compressors.log.templates import Template

_GAP_COST: Final = 6
_MANY: Final = 40
_VARIANTS_TIER: Final = 2
_NATURAL_NOVELTY: Final = 1 / 12
_NATURAL_CONTEXT: Final = 3
_CONTEXT: Final = 16
_TERM: Final = re.compile(r"[\w.-]{4,}")
_COMMON: Final = frozenset(
    "this that what when which where does have with from build fail failed failure error errors happened there about could should would were been into your more".split()  # noqa: SIM905 - words read better in a row
)

Ranked = list[tuple[float, int]]
"""Line numbers with their worth."""


def tiers(lines: list[str], templates: list[Template], query: str | None, *, natural: bool) -> Iterator[Ranked]:
    """Yield tiers of ranked lines; every line of a tier outlives every line of the next."""
    rated: dict[Severity, list[Template]] = {rating: [] for rating in Severity}
    for template in templates:
        rated[template.severity].append(template)
    ends = sorted(index for template in rated[Severity.VERDICT] for index in (template.first, template.last))
    verdicts = [(_nearness(template.last, ends), template.last) for template in rated[Severity.VERDICT]]
    errors = [(_nearness(template.first, ends), template.first) for template in rated[Severity.ERROR]]
    yield verdicts
    yield errors
    yield list(_variants([*rated[Severity.VERDICT], *rated[Severity.ERROR]], ends))
    if not is_event_log(lines, templates):
        yield list(_around([*verdicts, *errors], lines, _NATURAL_CONTEXT if natural else _CONTEXT))
    yield list(_matching(lines, query))
    yield [(template.novelty, template.first) for template in (*rated[Severity.SUSPECT], *rated[Severity.WARNING])]
    least = _NATURAL_NOVELTY if natural else 0.0
    yield [
        (template.novelty * (1.5 if template.count == 1 else 1.0), template.first)
        for template in rated[Severity.CALM]
        if template.novelty >= least
    ]
    if not natural:
        yield [(1.0 / (1 + rank), shape[0]) for template in templates for rank, shape in enumerate(template.shapes)]


def _nearness(index: int, ends: list[int]) -> float:
    """Weigh an error by how soon a verdict follows: the errors of the step that failed say why."""
    at = bisect_left(ends, index)
    distance = ends[at] - index if at < len(ends) else 10_000
    return 1 / (1 + log2(1 + distance / 8))


def _variants(templates: Iterable[Template], ends: list[int]) -> Iterator[tuple[float, int]]:
    for template in templates:
        if template.count <= _MANY:
            for shape in template.shapes:
                for rank, index in enumerate(shape):
                    yield _nearness(index, ends) / (1 + rank), index


def _around(heads: Ranked, lines: list[str], reach: int) -> Iterator[tuple[float, int]]:
    total = len(lines)
    for worth, head in heads:
        for step in range(1, reach + 1):
            for index in (head + step, head - step):
                if 0 <= index < total and not is_rule(lines[index]):
                    yield worth / step, index


def _matching(lines: list[str], query: str | None) -> Iterator[tuple[float, int]]:
    terms = [term for term in _TERM.findall(query or "") if term.lower() not in _COMMON]
    if terms:
        wanted = re.compile("|".join(map(re.escape, terms)), re.IGNORECASE)
        yield from (
            (float(len(wanted.findall(line))), index) for index, line in enumerate(lines) if wanted.search(line)
        )


def choose(lines: list[str], templates: list[Template], budget: Budget, query: str | None) -> list[int]:
    """Return the numbers of the lines that stay, most valuable first."""
    kept: dict[int, None] = {}
    room = budget.max_tokens
    for number, tier in enumerate(tiers(lines, templates, query, natural=room is None)):
        if room is None:
            kept.update(dict.fromkeys(index for _, index in tier))
            continue
        full, floor = False, room // 2 if number == _VARIANTS_TIER else 0
        for _, index in sorted(tier, key=lambda item: (-item[0] / (len(lines[item[1]]) + 24), item[1])):
            if index in kept:
                continue
            if room < floor:
                break
            gaps = 1 - (index - 1 in kept) - (index + 1 in kept)
            if len(lines[index]) > 16 * room or (cost := budget.cost(lines[index]) + gaps * _GAP_COST) > room:
                full = True
                if room < _GAP_COST:
                    break
                continue
            kept[index] = None
            room -= cost
        if full:
            break
    return list(kept)
