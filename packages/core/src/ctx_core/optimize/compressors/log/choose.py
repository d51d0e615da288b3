"""Which lines stay: worst first, then their surroundings, then what is new, as far as the budget goes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ctx_core.optimize.compressors.log.excerpt import excerpt, opening
from ctx_core.optimize.compressors.log.rank import BUDGETED, NATURAL, Tier, tiers
from ctx_core.optimize.compressors.log.runners import is_gutter, is_rule
from ctx_core.signals.severity import is_passing

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ctx_core.optimize.compressors.log.rank import Candidate
    from ctx_core.optimize.compressors.log.reading import Log
    from ctx_core.optimize.compressors.log.templates import Template
    from ctx_core.tokens import TokenCounter

_GAP_COST: Final = 6
_LONG_LINE: Final = 600
_BRIEF_LINE: Final = 160


def choose(
    log: Log, templates: list[Template], *, room: int | None, counter: TokenCounter, query: str | None
) -> dict[int, str]:
    """Return the lines that stay, by number, as they will be shown; most valuable first.

    They and the notes between them take at most `room` tokens; None asks for the natural level.
    """
    lines = log.lines
    ranked = tiers(log, templates, query, NATURAL if room is None else BUDGETED)
    kept = _all(lines, ranked) if room is None else _within(room, counter, lines, ranked)
    return kept | _bridges(log, kept)


def _all(lines: list[str], ranked: Iterable[Tier]) -> dict[int, str]:
    kept: dict[int, str] = {}
    for tier in ranked:
        for it in tier.candidates:
            if it.line not in kept and not _is_empty(it, lines):
                kept[it.line] = _shown(it, lines, _LONG_LINE)
    return kept


def _within(room: int, counter: TokenCounter, lines: list[str], ranked: Iterable[Tier]) -> dict[int, str]:
    kept: dict[int, str] = {}
    shown: set[str] = set()
    longest = max(_BRIEF_LINE, min(_LONG_LINE, room // 3))
    for tier in ranked:
        floor = int(room * (1 - tier.share))
        complete = True
        for it in sorted(
            tier.candidates, key=lambda it: (-it.worth / (min(len(lines[it.line]), longest) + 24), it.line)
        ):
            if it.line in kept or _is_empty(it, lines):
                continue
            line = _shown(it, lines, longest)
            if it.brief and line in shown:  # nothing new to a reader
                continue
            gaps = 1 - (it.line - 1 in kept) - (it.line + 1 in kept)
            cost = counter.count(f"{line}\n") + gaps * _GAP_COST
            if cost <= room - floor:
                kept[it.line] = line
                shown.add(line)
                room -= cost
                continue
            complete = complete and floor > 0
            if room - floor < _GAP_COST:
                break
        if not complete:
            break
    return kept


def _is_empty(candidate: Candidate, lines: list[str]) -> bool:
    line = lines[candidate.line]
    return candidate.beside and (is_rule(line) or is_passing(line))


def _shown(candidate: Candidate, lines: list[str], longest: int) -> str:
    line = lines[candidate.line]
    return opening(line, _BRIEF_LINE) if candidate.brief else excerpt(line, longest)


def _bridges(log: Log, kept: dict[int, str]) -> dict[int, str]:
    """Return the lines without a word that stand alone between kept ones: to fill such a gap costs less than to state it."""
    hidden = frozenset(log.hidden)
    return {
        number + 1: log.lines[number + 1]
        for number in kept
        if number + 2 in kept
        and number + 1 not in kept
        and number + 1 not in hidden
        and is_gutter(log.lines[number + 1])
    }
