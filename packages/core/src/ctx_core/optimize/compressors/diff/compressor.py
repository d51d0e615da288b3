"""Diffs: every changed line, less and less of what did not change, then whole hunks by importance."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from ctx_core.optimize.compressors.aim import aim
from ctx_core.optimize.compressors.base import Compressed, Omission
from ctx_core.optimize.compressors.diff.format import is_diff
from ctx_core.optimize.compressors.diff.pick import Pick
from ctx_core.optimize.compressors.diff.shrink import shrunk
from ctx_core.optimize.compressors.long_lines import shortened
from ctx_core.select.notes import plural, spell_counts
from ctx_core.tokens import estimate

if TYPE_CHECKING:
    from ctx_core.optimize.compressors.base import Budget

# Lines of context around a change, most first.
_CONTEXTS: Final = (3, 1)
_NATURAL_CONTEXT: Final = 1
# A diff that gets hardly shorter is worth more as one that applies.
_MIN_SAVED_SHARE: Final = 0.05
_MIN_SAVED_TOKENS: Final = 16
_TAIL_TOKENS: Final = 32

# What the last line names, the least loss first.
_ORDER: Final = ("index lines", "lines of binary patch", "context lines", "other lines", "files", "changed lines")
_TAIL: Final = re.compile(r"\n\[shortened diff, no longer applies: ([^\n]+) left out\]\n*\Z")
_TALLIED: Final = re.compile(r"(\d{1,15}) ([a-z0-9 ]+)")
_LONG_ROW: Final = re.compile(r"^[ +-].{600,}", re.MULTILINE)
_CUT_ROW: Final = re.compile(r"^[ +-].{256,} \[… (\d{1,12}) characters\]$", re.MULTILINE)


class DiffCompressor:
    """Keeps changed lines, hunk headers and file headers; leaves out context, index lines and generated files."""

    def compress(self, text: str, budget: Budget, *, query: str | None = None) -> Compressed:
        """Return the diff with less context, or with whole hunks left out where that is not enough.

        Hunk headers are written anew for what they head, so their numbers stay true. A last line says what was left
        out in all, and that the diff no longer applies.
        """
        if budget.max_tokens is not None and budget.fits(text):
            return Compressed(text=text)
        body, tally = _without_tail(text)
        if not is_diff(body):
            return Compressed(text=text)
        if budget.max_tokens is not None:
            shorter = _fitted(body, tally, budget, query)
        else:
            shorter = _with_context(body, tally, _NATURAL_CONTEXT)
            if not _is_worth_it(text, shorter.text):
                return Compressed(text=text)
        return shorter if text.endswith("\n") else replace(shorter, text=shorter.text[:-1])


def _is_worth_it(text: str, shorter: str) -> bool:
    before, after = estimate(text), estimate(shorter)
    return before - after > max(_MIN_SAVED_TOKENS, _MIN_SAVED_SHARE * before)


def _with_context(body: str, tally: Counter[str], context: int) -> Compressed:
    shorter, left_out = shrunk(body, context)
    return _finished(shorter, tally + left_out)


def _fitted(body: str, tally: Counter[str], budget: Budget, query: str | None) -> Compressed:
    """Keep every change, and as much context as there is room for; without any is asked first, as that settles most cases."""
    bare, left_out = shrunk(body, 0)
    tally = tally + left_out
    shorter = _finished(bare, tally)
    if not budget.fits(shorter.text):
        return _picked(bare, tally, budget, query)
    levels = (_with_context(body, tally, context) for context in _CONTEXTS)
    return next((shown for shown in levels if budget.fits(shown.text)), shorter)


def _picked(bare: str, tally: Counter[str], budget: Budget, query: str | None) -> Compressed:
    """Leave out whole hunks."""
    pick = Pick(_LONG_ROW.sub(lambda row: shortened(row[0]), bare), budget.max_tokens or 0, query)

    def draw(room: int) -> Compressed:
        shown, left_out = pick.drawn(room)
        return _finished(shown, tally + left_out)

    # Where there is no room for any, the last line alone says how many there were.
    return aim(draw, budget, reserve=_TAIL_TOKENS) or _finished("", tally + pick.drawn(0)[1])


def _without_tail(text: str) -> tuple[str, Counter[str]]:
    """Take off the last line that an earlier shortening added, and return what it counts; the rest ends with a newline."""
    match = _TAIL.search(text, max(0, len(text) - 400))
    if match is None:
        return text if text.endswith("\n") else f"{text}\n", Counter()
    return text[: match.start() + 1], Counter({plural(what): int(count) for count, what in _TALLIED.findall(match[1])})


def _finished(body: str, tally: Counter[str]) -> Compressed:
    """Say at the end what was left out in all."""
    # A row that was cut says so itself, be it by an earlier shortening.
    cut = sum(map(int, _CUT_ROW.findall(body)))
    tally = +Counter({**dict.fromkeys(_ORDER, 0), **tally, "characters": cut})
    if not tally:
        return Compressed(text=body)
    return Compressed(
        text=f"{body}[shortened diff, no longer applies: {spell_counts(tally)} left out]\n",
        omissions=tuple(Omission(what=what, count=count) for what, count in tally.items()),
    )
