"""In which order lines are worth keeping."""

from __future__ import annotations

import re
from bisect import bisect_left
from dataclasses import dataclass
from math import log2
from typing import TYPE_CHECKING, Final, NamedTuple

from ctx_core.optimize.compressors.log.runners import ends_step, is_event_log, is_step_mark
from ctx_core.optimize.compressors.log.templates import Template, novelties
from ctx_core.optimize.compressors.log.traces import frames
from ctx_core.signals.severity import Severity

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from ctx_core.optimize.compressors.log.reading import Log
    from ctx_core.optimize.compressors.log.traces import Frame

_FEW_VARIANTS: Final = 8
# Beyond this many lines, an error of one kind is a flood and no longer several errors.
_VARIANTS: Final = 40
_VERDICT_VARIANTS: Final = 500
_REPEATS: Final = 64
_FEW_HITS: Final = 20
_MOST_TERMS: Final = 32
# A third of the words are new, or more.
_NOVEL: Final = 1 / 3
# Errors this close together are one burst, and the first of them is its cause.
_BURST_LINES: Final = 50
_CAUSE: Final = 2.0
_ONCE: Final = 1.5
_WARNED: Final = 2.0
_FRAME: Final = 0.1
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Extent:
    """How far around its signals a log is kept.

    Args:
        near: Lines before and after a head, kept before its variants.
        far: Lines before and after a head, kept after them.
        novelty: The least novelty of a line that is kept for being new.
        frame: The least worth of a frame.
        repeats: Whether room that is left goes to repetition.
    """

    near: int
    far: int
    novelty: float
    frame: float
    repeats: bool


NATURAL: Final = Extent(near=3, far=0, novelty=1 / 12, frame=0.2, repeats=False)
"""Without a budget: noise folded, every signal kept."""
BUDGETED: Final = Extent(near=2, far=16, novelty=0.0, frame=0.0, repeats=True)
"""Within a budget: as much as there is room for."""


@dataclass(frozen=True, slots=True)
class _Heads:
    """What everything else in a log is ranked around."""

    verdicts: list[Candidate]
    errors: list[Candidate]
    all: list[Template]
    worst: list[Template]
    ends: list[int]
    eventful: bool


def tiers(log: Log, templates: list[Template], query: str | None, extent: Extent) -> Iterator[Tier]:
    """Yield the tiers of a log, most valuable first."""
    heads = _heads(log, templates)
    around = [] if heads.eventful else [*heads.verdicts, *heads.errors]
    few, many = _countable(heads.all, _FEW_VARIANTS), _countable(heads.worst, _VARIANTS)
    found = frames(log.lines, templates)
    framed = {frame.line for frame in found}
    unframed = [template for template in templates if template.mask and template.first not in framed]
    yield Tier(heads.verdicts)
    yield Tier([*heads.errors, *_variants(log.lines, few, heads.ends)])
    yield Tier([*_failed_steps(heads.verdicts, log), *_around(around, log.lines, extent.near)], share=0.3)
    yield Tier(list(_variants(log.lines, many, heads.ends)), share=0.5)
    yield Tier([*_around(around, log.lines, extent.far), *_of_traces(found, extent.frame)])
    yield Tier(list(_matching(log.lines, query)))
    yield Tier(list(_news(unframed, extent.novelty)))
    if extent.repeats:
        yield Tier(list(_repeats(unframed)))


def _heads(log: Log, templates: list[Template]) -> _Heads:
    rated: dict[Severity, list[Template]] = {rating: [] for rating in Severity}
    for template in templates:
        rated[template.severity].append(template)
    verdicts, errors, alarms = rated[Severity.VERDICT], rated[Severity.ERROR], rated[Severity.ALARM]
    eventful = is_event_log(log.lines, templates, stamped=log.header.stamped > 0)
    if eventful:  # a word of alarm says little where every event has a level
        alarms = [template for template, novelty in zip(alarms, novelties(alarms), strict=True) if novelty >= _NOVEL]
    ends = sorted(number for template in verdicts for number in (template.first, template.last))
    last = [Candidate(template.last, _nearness(template.last, ends)) for template in verdicts]
    worst = [*verdicts, *errors] if eventful else [*verdicts, *errors, *alarms]
    first = list(_causes_first([*errors, *alarms], ends))
    return _Heads(last, first, [*verdicts, *errors, *alarms], worst, ends, eventful)


def _causes_first(templates: list[Template], ends: list[int]) -> Iterator[Candidate]:
    """Yield the errors, the first of a burst before the follow-ups that it caused."""
    ordered = sorted(zip((it.first for it in templates), novelties(templates), strict=True))
    previous = -_BURST_LINES - 1
    for number, novelty in ordered:
        weight = _CAUSE if number - previous > _BURST_LINES else 1.0
        yield Candidate(number, _nearness(number, ends) * (_NOVEL + novelty) * weight)
        previous = number


def _countable(templates: Iterable[Template], most: int) -> list[Template]:
    """Return the templates that are no flood; every failing test counts."""
    return [it for it in templates if it.count <= (_VERDICT_VARIANTS if it.severity is Severity.VERDICT else most)]


def _nearness(number: int, ends: list[int]) -> float:
    """Weigh an error by how soon a verdict follows: the errors of the step that failed say why."""
    at = bisect_left(ends, number)
    distance = ends[at] - number if at < len(ends) else 10_000
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


def _of_traces(found: Iterable[Frame], least: float) -> Iterator[Candidate]:
    for frame in found:
        if frame.worth >= least:
            yield Candidate(frame.line, frame.worth * _FRAME)
            if frame.has_source:
                yield Candidate(frame.line + 1, frame.worth * _FRAME, beside=True)


def _matching(lines: Sequence[str], query: str | None) -> Iterator[Candidate]:
    """Yield the lines that hold a word of the query that few lines hold."""
    terms = {term for term in _TERM.findall((query or "").lower()) if term not in _COMMON}
    if not terms:
        return
    lowered = [line.lower() for line in lines]
    for term in sorted(terms)[:_MOST_TERMS]:
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
