"""The flow of a log: read, mine templates, choose, render."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Final

from ctx_core.optimize.compressors.base import Budget, Compressed
from ctx_core.optimize.compressors.log.choose import choose
from ctx_core.optimize.compressors.log.notes import LEGEND_COST, is_compressed
from ctx_core.optimize.compressors.log.reading import read
from ctx_core.optimize.compressors.log.render import passed_states, render
from ctx_core.optimize.compressors.log.templates import mine

if TYPE_CHECKING:
    from ctx_core.optimize.compressors.log.reading import Log

# Below this many tokens, a legend takes the place of what it explains.
_WITH_LEGEND: Final = 80
# No log fills its tokens better than this.
_CHARS_PER_TOKEN: Final = 12


class LogCompressor:
    """Makes a log shorter: errors, verdicts and once-only lines stay, repetition is folded and counted."""

    def compress(self, text: str, budget: Budget, *, query: str | None = None) -> Compressed:
        """Return `text` at its natural level, or within `budget.max_tokens` where that can be reached."""
        if is_compressed(text) and budget.fits(text):
            return Compressed(text=text)
        log = read(text)
        result = _lossless(log, budget) or _selected(log, budget, query)
        return result if len(result.text) < len(text) else Compressed(text=text)


def _lossless(log: Log, budget: Budget) -> Compressed | None:
    """Return the log with every line, if resolving escapes and cutting headers is enough."""
    if budget.max_tokens is None or len(log.shown) > _CHARS_PER_TOKEN * budget.max_tokens:
        return None
    if budget.fits(log.shown):
        return Compressed(text=log.shown, omissions=tuple(passed_states(log)))
    every_line = render(log, dict(enumerate(log.lines)), with_legend=True) if log.header.stamped else None
    return every_line if every_line and budget.fits(every_line.text) else None


def _selected(log: Log, budget: Budget, query: str | None) -> Compressed:
    room = budget.max_tokens
    with_legend = room is None or room >= _WITH_LEGEND or log.header.stamped > 0
    if room is not None and with_legend:
        room = max(0, room - LEGEND_COST)
    kept = choose(log, mine(log.lines, log.steps.echoed), room=room, counter=budget.counter, query=query)
    result = render(log, kept, with_legend=with_legend)
    while kept and not budget.fits(result.text):
        kept = dict(islice(kept.items(), len(kept) * 9 // 10))
        result = render(log, kept, with_legend=with_legend)
    return result
