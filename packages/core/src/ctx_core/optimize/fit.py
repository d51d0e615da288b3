"""Budgets: how parts share one, and the last resort that always fits."""

from __future__ import annotations

from itertools import accumulate, groupby, pairwise, takewhile
from typing import TYPE_CHECKING, Final

from ctx_core.optimize.compressors.base import Compressed, Omission
from ctx_core.optimize.compressors.relevance import hits, query_terms
from ctx_core.signals.severity import is_suspect
from ctx_core.tokens import whole_graphemes

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ctx_core.tokens import TokenCounter

_PIECE_CHARS: Final = 160
# Only rules and white space have longer tokens on average.
_MAX_TOKEN_CHARS: Final = 8

_Place = tuple[int, int]
"""A line, and a piece of it."""


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
    lines = [_pieces(line, min(_PIECE_CHARS, 2 * max_tokens + 20)) for line in text.split("\n")]
    order = _affordable(_by_importance(lines, query), lines, max_tokens)
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


def _pieces(line: str, size: int) -> Sequence[str]:
    if len(line) <= 2 * size:
        return (line,)
    cuts = [whole_graphemes(line, cut) for cut in range(size, len(line), size)]
    return [line[start:end] for start, end in pairwise([0, *dict.fromkeys(cuts), len(line)])]


def _by_importance(lines: Sequence[Sequence[str]], query: str | None) -> list[_Place]:
    places = [(i, j) for i, pieces in enumerate(lines) for j, piece in enumerate(pieces) if piece.strip()]
    terms = query_terms(query)
    bad: dict[str, _Place] = {}
    asked: list[_Place] = []
    for i, j in places:
        if is_suspect(lines[i][j]):
            bad.setdefault(lines[i][j], (i, j))
        elif terms and hits(lines[i][j], terms):
            asked.append((i, j))
    from_both_ends = [places[k // 2 if k % 2 == 0 else -(k + 1) // 2] for k in range(len(places))]
    return list(dict.fromkeys([*bad.values(), *asked, *from_both_ends]))


def _affordable(order: Sequence[_Place], lines: Sequence[Sequence[str]], max_tokens: int) -> Sequence[_Place]:
    """Return the first places, no more than could fit: counting much more than the budget would cost more than it tells."""
    sizes = accumulate(len(lines[i][j]) for i, j in order)
    count = sum(1 for _ in takewhile(lambda size: size <= _MAX_TOKEN_CHARS * max_tokens, sizes))
    return order[: min(count + 1, max_tokens)]


def _quoted(lines: Sequence[Sequence[str]], places: Iterable[_Place]) -> Compressed:
    """Return the pieces at `places` in their order, with a counted note wherever something is missing."""
    kept: dict[int, set[int]] = {}
    for i, j in places:
        kept.setdefault(i, set()).add(j)
    out: list[str] = []
    omissions: list[Omission] = []
    previous = -1
    for i in [*sorted(kept), len(lines)]:
        missing = i - previous - 1
        if missing and not any("".join(pieces).strip() for pieces in lines[previous + 1 : i]):
            # Blank lines take less than a note about them.
            out.extend("".join(pieces) for pieces in lines[previous + 1 : i])
        elif missing:
            out.append(f"[… {missing} {'lines' if missing > 1 else 'line'}]")
            omissions.append(Omission(what="lines", count=missing, where=f"lines {previous + 2}-{i}"))
        if i < len(lines):
            out.append(_joined(lines[i], kept[i], omissions))
        previous = i
    return Compressed(text="\n".join(out), omissions=tuple(omissions))


def _joined(pieces: Sequence[str], kept: set[int], omissions: list[Omission]) -> str:
    out: list[str] = []
    for is_kept, run in groupby(range(len(pieces)), key=kept.__contains__):
        text = "".join(pieces[j] for j in run)
        if not is_kept:
            omissions.append(Omission(what="characters", count=len(text)))
        out.append(text if is_kept else f"[… {len(text)} characters]")
    return "".join(out)
