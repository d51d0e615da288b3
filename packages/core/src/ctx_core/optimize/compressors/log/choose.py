"""Which lines stay: worst first, then their surroundings, then what is new, as far as the budget goes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ctx_core.optimize.compressors.log.excerpt import excerpt, opening
from ctx_core.optimize.compressors.log.rank import Tier, tiers
from ctx_core.optimize.compressors.log.runners import is_rule
from ctx_core.optimize.compressors.log.severity import is_passing

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ctx_core.optimize.compressors.base import Budget
    from ctx_core.optimize.compressors.log.rank import Candidate
    from ctx_core.optimize.compressors.log.templates import Template

_GAP_COST: Final = 6
_LONG_LINE: Final = 600
_BRIEF_LINE: Final = 160
# A gap of one short line costs more to state than to fill.
_SHORT_LINE: Final = 12


def choose(lines: list[str], templates: list[Template], budget: Budget, query: str | None) -> dict[int, str]:
    """Return the lines that stay, by number, as they will be shown; most valuable first."""
    ranked = tiers(lines, templates, query, natural=budget.max_tokens is None)
    if budget.max_tokens is None:
        kept = {}
        for tier in ranked:
            for it in tier.candidates:
                if it.line not in kept and not _is_empty(it, lines):
                    kept[it.line] = _shown(it, lines, _LONG_LINE)
    else:
        kept = _within(budget, budget.max_tokens, lines, ranked)
    return kept | _bridges(lines, kept)


def _within(budget: Budget, room: int, lines: list[str], ranked: Iterable[Tier]) -> dict[int, str]:
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
            if it.brief and line in shown:
                continue
            gaps = 1 - (it.line - 1 in kept) - (it.line + 1 in kept)
            cost = budget.cost(line) + gaps * _GAP_COST
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


def _bridges(lines: list[str], kept: dict[int, str]) -> dict[int, str]:
    return {
        index + 1: lines[index + 1]
        for index in kept
        if index + 2 in kept and index + 1 not in kept and len(lines[index + 1]) <= _SHORT_LINE
    }
