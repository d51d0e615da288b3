"""Budgets: how parts share one, and the last resort that always fits."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from ctx_core.optimize.compressors.base import Compressed, Omission
from ctx_core.optimize.compressors.log.severity import Severity, rate
from ctx_core.optimize.compressors.relevance import hits, query_terms
from ctx_core.tokens import whole_graphemes

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ctx_core.tokens import TokenCounter

_PIECE_CHARS: Final = 160
# Rating a line costs 15 us, looking for these words one; nearly every line that is rated bad has one of them.
_BAD_WORDS: Final = (
    "error fail fatal panic exception traceback critical severe abort segfault segv core killed memory oom timeout timed denied refused"
    " cannot not exit invalid undefined unable assert crash conflict ✗ × ✘ ❌"
).split()
_PIECE: Final = re.compile(r".{1,160}(?:[\s,;]|$)|.{1,160}", re.DOTALL)


def shares(costs: Sequence[int], weights: Sequence[float], room: int) -> list[int]:
    """Divide `room` by weight, and what a part does not need among those that need more."""
    given = [0] * len(costs)
    hungry = [i for i, cost in enumerate(costs) if cost > 0]
    left = room
    while hungry:
        unit = left / sum(weights[i] for i in hungry)
        content = {i for i in hungry if costs[i] <= unit * weights[i]}
        for i in content or hungry:
            given[i] = costs[i] if content else int(unit * weights[i])
        if not content:
            break
        left -= sum(costs[i] for i in content)
        hungry = [i for i in hungry if i not in content]
    return given


def clip(text: str, max_tokens: int, *, counter: TokenCounter, query: str | None = None) -> Compressed:
    """Keep what matters most in at most `max_tokens`, and count the rest in place.

    Errors come first, then what the query asks for, then both ends. Lines stay whole, except that very long ones are cut
    into pieces, at grapheme borders.
    """
    lines = [_Line(pieces=_pieces(line)) for line in text.split("\n")]
    order = _by_importance(lines, query)[: max_tokens + 1]
    low, high = 0, len(order)
    while low < high:
        middle = (low + high + 1) // 2
        if counter.count(_quoted(lines, order[:middle]).text) <= max_tokens:
            low = middle
        else:
            high = middle - 1
    kept = _quoted(lines, order[:low])
    # Only a note is left, and there is no room even for that.
    return kept if counter.count(kept.text) <= max_tokens else Compressed(text="", omissions=kept.omissions)


@dataclass(frozen=True, slots=True)
class _Line:
    pieces: tuple[str, ...]
    kept: set[int] = field(default_factory=set[int])


def _pieces(line: str) -> tuple[str, ...]:
    if len(line) <= 2 * _PIECE_CHARS:
        return (line,)
    ends = [match.end() for match in _PIECE.finditer(line)]
    cuts = [0, *dict.fromkeys(end if line.isascii() else whole_graphemes(line, end) for end in ends)]
    return tuple(line[start:end] for start, end in zip(cuts, cuts[1:], strict=False) if start < end)


def _by_importance(lines: Sequence[_Line], query: str | None) -> list[tuple[int, int]]:
    """Return the places of all pieces, the most important first."""
    places = [(i, j) for i, line in enumerate(lines) for j, piece in enumerate(line.pieces) if piece.strip()]
    terms = query_terms(query)
    seen: set[str] = set()
    bad: dict[Severity, list[tuple[int, int]]] = {Severity.VERDICT: [], Severity.ERROR: []}
    asked: list[tuple[int, int]] = []
    for i, j in places:
        piece = lines[i].pieces[j]
        grade = rate([piece])[0] if _may_be_bad(piece) else Severity.CALM
        if grade in bad and piece not in seen:
            seen.add(piece)
            bad[grade].append((i, j))
        elif terms and hits(piece, terms):
            asked.append((i, j))
    ranks = {place: rank for rank, place in enumerate(places)}
    ends = sorted(places, key=lambda place: min(ranks[place], len(places) - 1 - ranks[place]))
    return list(dict.fromkeys([*bad[Severity.VERDICT], *bad[Severity.ERROR], *asked, *ends]))


def _may_be_bad(piece: str) -> bool:
    lowered = piece.lower()
    return any(word in lowered for word in _BAD_WORDS)


def _quoted(lines: Sequence[_Line], places: Iterable[tuple[int, int]]) -> Compressed:
    """Return the pieces at `places` in their order, with a counted note wherever something is missing."""
    kept: dict[int, set[int]] = {}
    for i, j in places:
        kept.setdefault(i, set()).add(j)
    out: list[str] = []
    omissions: list[Omission] = []
    previous = -1
    for i in [*sorted(kept), len(lines)]:
        if missing := i - previous - 1:
            out.append(f"[… {missing} {'lines' if missing > 1 else 'line'}]")
            omissions.append(Omission(what="lines", count=missing, where=f"lines {previous + 2}-{i}"))
        if i < len(lines):
            out.append(_joined(lines[i].pieces, kept[i], omissions))
        previous = i
    return Compressed(text="\n".join(out), omissions=tuple(omissions))


def _joined(pieces: Sequence[str], kept: set[int], omissions: list[Omission]) -> str:
    out: list[str] = []
    missing = 0
    for j, piece in enumerate([*pieces, ""]):
        if j < len(pieces) and j not in kept:
            missing += len(piece)
            continue
        if missing:
            out.append(f"[… {missing} characters]")
            omissions.append(Omission(what="characters", count=missing))
            missing = 0
        out.append(piece)
    return "".join(out)
