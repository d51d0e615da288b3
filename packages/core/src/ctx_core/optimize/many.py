"""One budget over many chunks: by worth, and what stands in two of them is pointed at."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Final

from ctx_core.markers import as_in_chunk
from ctx_core.optimize.ccr import last_hint
from ctx_core.optimize.compressors.relevance import hits, query_terms
from ctx_core.optimize.compressors.text.units import MIN_PASSAGE, units_of
from ctx_core.optimize.fit import shares
from ctx_core.signals.severity import find_alarms

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ctx_core.tokens import TokenCounter

_NOTE_TOKENS: Final = 10
_LOOKED_AT: Final = 20_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Allotment:
    """What one chunk gets of the budget.

    Args:
        tokens: Tokens of the chunk.
        budget: The most tokens it may take; 0 leaves it out.
        shown: The chunk, notes in place of what earlier ones say.
        same_as: The earlier chunk, counted from 0, that it repeats word for word.
    """

    tokens: int
    budget: int
    shown: str
    same_as: int | None = None


def allot(
    chunks: Sequence[str],
    max_tokens: int,
    *,
    floor: int,
    counter: TokenCounter,
    query: str | None,
    is_prose: Callable[[str], bool],
    quote: Callable[[str], str],
) -> list[Allotment]:
    """Divide a budget over chunks; what cannot be given `floor` tokens is left out, the least worth first.

    Passages are only looked for in prose: elsewhere lines that occur again belong to what stands around them. As soon as
    anything is left out, chunks are shown as `quote` returns them, so that none of them holds a note of its own making.
    """
    first: dict[str, int] = {}
    same_as = [first.setdefault(chunk, i) for i, chunk in enumerate(chunks)]
    tokens = {chunk: counter.count(chunk) for chunk in first}
    costs = [tokens[chunk] for chunk in chunks]
    if sum(costs) <= max_tokens:
        return [Allotment(tokens=cost, budget=cost, shown=chunk) for cost, chunk in zip(costs, chunks, strict=True)]
    repeats = [i for i, j in enumerate(same_as) if i != j and costs[i] > _NOTE_TOKENS]
    # Pointing at many repeats must not take the room of what they point at; those beyond half of it are left out.
    told = repeats[: max_tokens // 2 // _NOTE_TOKENS]
    pointed_at = set(told)
    is_repeat = set(repeats)
    served = [i for i in range(len(chunks)) if i not in is_repeat]
    weights = _worth([chunks[i] for i in served], query)
    room = max_tokens - _NOTE_TOKENS * (len(told) + 1)
    given = _served([costs[i] for i in served], weights, room, floor)
    shown = {i: quote(chunks[i]) for i, share in zip(served, given, strict=True) if share}
    shown |= _said_once({i: chunk for i, chunk in shown.items() if is_prose(chunk)})
    # What need not be said twice is room for the others.
    news = [counter.count(shown[i]) if shown.get(i, chunks[i]) != chunks[i] else costs[i] for i in served]
    given = dict(zip(served, _served(news, weights, room, floor), strict=True))
    budgets = given | dict.fromkeys(told, _NOTE_TOKENS)
    return [
        Allotment(
            tokens=costs[i],
            budget=budgets.get(i, 0),
            shown=shown.get(i, chunks[i]),
            same_as=same_as[i] if i in pointed_at else None,
        )
        for i in range(len(chunks))
    ]


def _said_once(chunks: Mapping[int, str]) -> dict[int, str]:
    """Put a note in place of each long passage that an earlier chunk holds, as chunks that were cut with an overlap do."""
    seen: dict[str, int] = {}
    shown: dict[int, str] = {}
    for number, chunk in chunks.items():
        units = units_of(chunk) if last_hint(chunk) is None else []
        said = [None if unit.stays else seen.get(unit.text.strip()) for unit in units]
        out: list[str] = []
        for earlier, run in groupby(zip(said, units, strict=True), key=itemgetter(0)):
            passage = "".join([unit.text for _, unit in run])
            if earlier is not None and len(passage.strip()) >= MIN_PASSAGE:
                passage = f"{as_in_chunk(earlier + 1)}{passage[len(passage.rstrip()) :]}"
            out.append(passage)
        text = "".join(out)
        shown[number] = text if units and text != chunk else chunk
        for unit in units:
            seen.setdefault(unit.text.strip(), number)
    return shown


def _worth(chunks: Sequence[str], query: str | None) -> list[float]:
    """Rate chunks: what answers the query weighs up to three times as much, trouble half as much again."""
    terms = query_terms(query)
    heads = [chunk[:_LOOKED_AT] for chunk in chunks]
    asked = [2 * hits(head, terms) / len(terms) if terms else 0.0 for head in heads]
    return [
        1.0 + found + 0.5 * any(True for _ in find_alarms(head.split("\n")))
        for found, head in zip(asked, heads, strict=True)
    ]


def _served(costs: Sequence[int], weights: Sequence[float], room: int, floor: int) -> list[int]:
    """Share out `room`; while someone would get too little to be said, the least worthy gets nothing."""
    alive = set(range(len(costs)))
    while alive:
        given = shares([costs[i] if i in alive else 0 for i in range(len(costs))], weights, max(0, room))
        starved = [i for i in alive if given[i] < min(floor, costs[i])]
        if not starved:
            return given
        # No more of them can ever stay than the room holds of the least that one needs: the others leave at once.
        least = min(min(floor, costs[i]) for i in starved)
        leaving = max(1, len(starved) - max(0, room) // max(1, least))
        alive.difference_update(sorted(starved, key=lambda i: (weights[i], -i))[:leaving])
    return [0] * len(costs)
