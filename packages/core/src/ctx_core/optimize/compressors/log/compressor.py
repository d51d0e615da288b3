"""The flow of a log: clean, mine templates, rate, choose, render."""

from __future__ import annotations

from dataclasses import replace
from itertools import islice

from ctx_core.optimize.compressors.base import Budget, Compressed
from ctx_core.optimize.compressors.log.choose import choose
from ctx_core.optimize.compressors.log.clean import plain
from ctx_core.optimize.compressors.log.header import without_header
from ctx_core.optimize.compressors.log.render import LEGEND_COST, is_rendered, render
from ctx_core.optimize.compressors.log.runners import echoed
from ctx_core.optimize.compressors.log.templates import mine


class LogCompressor:
    """Makes a log shorter: errors, verdicts and once-only lines stay, repetition is folded and counted."""

    def compress(self, text: str, budget: Budget, *, query: str | None = None) -> Compressed:
        """Return `text` at its natural level, or within `budget.max_tokens` where that can be reached."""
        if is_rendered(text) and (budget.max_tokens is None or budget.fits(text)):
            return Compressed(text=text)
        shown = plain(text)
        if budget.max_tokens is not None and len(shown) < len(text) and budget.fits(shown):
            return Compressed(text=shown)
        log = without_header(shown.removesuffix("\n").split("\n"))
        room = None if budget.max_tokens is None else max(0, budget.max_tokens - LEGEND_COST)
        kept = choose(log.lines, mine(log.lines, echoed(log.lines)), replace(budget, max_tokens=room), query)
        compressed = render(log, kept)
        while kept and not budget.fits(compressed.text):
            kept = dict(islice(kept.items(), len(kept) * 9 // 10))
            compressed = render(log, kept)
        return compressed if len(compressed.text) < len(text) else Compressed(text=text)
