"""In which order lines are worth keeping."""

from __future__ import annotations

import re
from bisect import bisect_left
from dataclasses import dataclass
from math import log2
from typing import TYPE_CHECKING, Final, NamedTuple

from ctx_core.optimize.compressors.log.runners import ends_step, is_event_log, is_step_mark
from ctx_core.optimize.compressors.log.severity import Severity
from ctx_core.optimize.compressors.log.templates import Template, novelties
from ctx_core.optimize.compressors.log.traces import frames

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from ctx_core.optimize.compressors.log.reading import Log
    from ctx_core.optimize.compressors.log.traces import Frame

_REACH: Final = 16
_NATURAL_REACH: Final = 3
_NEAR: Final = 2
_FEW_VARIANTS: Final = 8
_VARIANTS: Final = 200
_NATURAL_VARIANTS: Final = 40
_REPEATS: Final = 64
_NATURAL_NOVELTY: Final = 1 / 12
_NOVEL: Final = 1 / 3
_BURST: Final = 50
_CAUSE: Final = 2.0
_ONCE: Final = 1.5
_WARNED: Final = 2.0
_FRAME: Final = 0.1
_NATURAL_FRAME: Final = 0.2
_FEW_HITS: Final = 20
_TERM: Final = re.compile(r"[\w.-]{4,}")
_COMMON: Final = frozenset(
    "this that what when which where does have with from build fail failed failure error errors happened there about could should would were been into your more".split()  # noqa: SIM905 - words read better in a row
)


class Candidate(NamedTuple):
    """A line that may stay.

    Args:
        line: Its number.
        worth: What it is worth beside others of its tier.
        brief: Whether its opening words will do, since a line like it is quoted already.
        beside: Whether it is only the surroundings of another.
    """

    line: int
    worth: float
    brief: bool = False
    beside: bool = False


@dataclass(frozen=True, slots=True)
class Tier:
    """Lines of one kind; all of them outlive those of the next tier.

    Args:
        candidates: The lines.
        share: How much of the room that is left they may take.
    """

    candidates: list[Candidate]
    share: float = 1.0


def tiers(log: Log, templates: list[Template], query: str | None, *, natural: bool) -> Iterator[Tier]:
    """Yield the tiers of a log, most valuable first; at the natural level, only what is kept there."""
    lines = log.lines
    rated: dict[Severity, list[Template]] = {rating: [] for rating in Severity}
    for template in templates:
        rated[template.severity].append(template)
    verdicts, errors, alarms = rated[Severity.VERDICT], rated[Severity.ERROR], rated[Severity.ALARM]
    eventful = is_event_log(lines, templates, stamped=log.header.stamped > 0)
    worst = [*verdicts, *errors] if eventful else [*verdicts, *errors, *alarms]
    if eventful:
        alarms = [template for template, novelty in zip(alarms, novelties(alarms), strict=True) if novelty >= _NOVEL]
    heads = [*errors, *alarms]
    ends = sorted(index for template in verdicts for index in (template.first, template.last))
    last = [Candidate(it.last, _nearness(it.last, ends)) for it in verdicts]
    first = list(_heads(heads, ends))
    few = [template for template in worst if template.count <= _FEW_VARIANTS]
    yield Tier(last)
    yield Tier([*first, *_variants(lines, few, ends)])
    if not eventful:
        near = _around([*last, *first], lines, _NATURAL_REACH if natural else _NEAR)
        yield Tier([*_failed_steps(last, log), *near], share=0.3)
    most = _NATURAL_VARIANTS if natural else _VARIANTS
    many = [template for template in worst if template.count <= most or template.severity is Severity.VERDICT]
    yield Tier(list(_variants(lines, many, ends)), share=0.5)
    found = frames(lines, templates)
    further = [] if eventful or natural else _around([*last, *first], lines, _REACH)
    yield Tier([*further, *_of_traces(found, natural=natural)])
    yield Tier(list(_matching(lines, query)))
    framed = {frame.line for frame in found}
    unframed = [template for template in templates if template.mask and template.first not in framed]
    yield Tier(list(_news(unframed, _NATURAL_NOVELTY if natural else 0.0)))
    if not natural:
        yield Tier(list(_repeats(unframed)))


def _heads(templates: list[Template], ends: list[int]) -> Iterator[Candidate]:
    """Yield the errors, the first of a burst before the follow-ups that it caused."""
    ordered = sorted(zip((it.first for it in templates), novelties(templates), strict=True))
    start = 0
    for place, (number, novelty) in enumerate(ordered):
        if place and number - ordered[place - 1][0] > _BURST:
            start = place
        yield Candidate(number, _nearness(number, ends) * (_NOVEL + novelty) * (_CAUSE if place == start else 1))


def _nearness(index: int, ends: list[int]) -> float:
    """Weigh an error by how soon a verdict follows: the errors of the step that failed say why."""
    at = bisect_left(ends, index)
    distance = ends[at] - index if at < len(ends) else 10_000
    return 1 / (1 + log2(1 + distance / 8))


def _variants(lines: list[str], templates: Iterable[Template], ends: list[int]) -> Iterator[Candidate]:
    """Yield the errors of each template that are distinct in their values, such as each failing test."""
    for template in templates:
        distinct = {lines[number]: number for shape in reversed(template.shapes) for number in reversed(shape)}
        for rank, number in enumerate(sorted(distinct.values())):
            yield Candidate(number, _nearness(number, ends) / (1 + rank), brief=True)


def _failed_steps(verdicts: Iterable[Candidate], log: Log) -> Iterator[Candidate]:
    """Yield the line that names the step which each last word ends."""
    for verdict in verdicts:
        place = bisect_left(log.steps.starts, verdict.line)
        if place and ends_step(log.lines[verdict.line]):
            yield Candidate(log.steps.starts[place - 1], verdict.worth)


def _around(heads: Iterable[Candidate], lines: Sequence[str], reach: int) -> Iterator[Candidate]:
    """Yield the lines before and after each head that belong to the same step."""
    for head in heads:
        for direction in (-1,) if ends_step(lines[head.line]) else (1, -1):
            for distance in range(1, reach + 1):
                number = head.line + distance * direction
                if not 0 <= number < len(lines) or is_step_mark(lines[number]):
                    break
                yield Candidate(number, head.worth / distance, beside=True)


def _of_traces(found: Iterable[Frame], *, natural: bool) -> Iterator[Candidate]:
    for frame in found:
        if not natural or frame.worth >= _NATURAL_FRAME:
            yield Candidate(frame.line, frame.worth * _FRAME)
            if frame.has_source:
                yield Candidate(frame.line + 1, frame.worth * _FRAME, beside=True)


def _matching(lines: Sequence[str], query: str | None) -> Iterator[Candidate]:
    """Yield the lines that hold a word of the query that few lines hold."""
    terms = {term for term in _TERM.findall((query or "").lower()) if term not in _COMMON}
    if not terms:
        return
    lowered = [line.lower() for line in lines]
    for term in sorted(terms):
        hits = [number for number, line in enumerate(lowered) if term in line]
        if len(hits) <= max(_FEW_HITS, len(lines) // _FEW_HITS):
            for number in hits:
                yield Candidate(number, 1 / len(hits))


def _news(templates: Sequence[Template], least: float) -> Iterator[Candidate]:
    for template, novelty in zip(templates, novelties(templates), strict=True):
        if novelty >= least and template.severity < Severity.ERROR:
            weight = (_ONCE if template.count == 1 else 1) * (_WARNED if template.severity else 1)
            yield Candidate(template.first, novelty * weight)


def _repeats(templates: Iterable[Template]) -> Iterator[Candidate]:
    for template in templates:
        yield Candidate(template.last, 1.0, brief=True)
        for rank, shape in enumerate(template.shapes[:_REPEATS]):
            for further, number in enumerate(shape[:_REPEATS]):
                yield Candidate(number, 1 / (1 + rank + further), brief=True)
