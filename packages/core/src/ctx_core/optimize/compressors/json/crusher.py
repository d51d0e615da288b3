"""The steps from a JSON text to a shorter one."""

from __future__ import annotations

import re
from typing import Final

from ctx_core.optimize.compressors.aim import aim
from ctx_core.optimize.compressors.base import Budget, Compressed
from ctx_core.optimize.compressors.json.form import Form
from ctx_core.optimize.compressors.json.legend import PREFIX, opening
from ctx_core.optimize.compressors.json.nesting import fold_nesting
from ctx_core.optimize.compressors.json.pick import pick, ranked, write
from ctx_core.optimize.compressors.json.prefixes import factor_prefixes
from ctx_core.optimize.compressors.json.reader import Document, Object, read
from ctx_core.optimize.compressors.rows import AMPLE
from ctx_core.optimize.compressors.table import Grid, within
from ctx_core.optimize.content import COMPACT_JSON

_LONG: Final = 2000
"""Characters from which a search for repetitions pays, and a line that says how to read the result."""

_LONG_BUDGET: Final = 600
_COUNTED_CHARS: Final = 4000
"""Characters of the whole document that tell what one costs."""

_HEAD: Final = (COMPACT_JSON, "$", "@")
_FRAME: Final = re.compile(r"^[^ ].*\)$|[\[{]$|^[\]}]$|&\d+[\"{@ ]")


class JsonCrusher:
    """Rewrites JSON, or JSON lines, without loss; drops fields and rows by importance where a budget asks for it."""

    def compress(self, text: str, budget: Budget, *, query: str | None = None) -> Compressed:
        """Return the document in the compact form, or `text` itself where that is shorter or `text` is no JSON."""
        if text.startswith(COMPACT_JSON):
            return Compressed(text=text) if budget.fits(text) else _again(text, budget, query)
        document = read(text)
        if document is None:
            return Compressed(text=fold_nesting(text))
        if not isinstance(document.value, (Object, list)):
            return Compressed(text=text)
        is_long = len(text) > _LONG
        form = Form(document.value, find_repeats=is_long, budget=budget, query=query)
        whole = _whole(document, form, is_long=is_long)
        if not budget.fits(whole.text):
            return _part(document, form, budget, query, price=_price(whole.text, budget))
        return whole if len(whole.text) < len(text) else Compressed(text=text)


def _whole(document: Document, form: Form, *, is_long: bool) -> Compressed:
    lines, omissions = write(form.lines, None)
    if form.is_last:
        form.lines.clear()
    body, names = "\n".join([*form.records, *lines]), {}
    del lines
    if is_long:
        body, names = factor_prefixes(body, form.written)
    prefixes = [f"{name}={prefix}\n" for name, prefix in names.items()]
    used = {*form.used, *([PREFIX] if names else [])} if is_long else set[str]()
    text = document.restore("".join([opening(used, is_lines=document.is_lines), *prefixes, body]))
    return Compressed(text=text, omissions=tuple(omissions))


def _price(text: str, budget: Budget) -> float:
    """Return about how many tokens a character of `text` takes."""
    sample = text[:_COUNTED_CHARS]
    return budget.counter.count(sample) / len(sample)


def _part(document: Document, whole: Form, budget: Budget, query: str | None, *, price: float) -> Compressed:
    """Keep what matters most within the budget, or as little as can be said where even that is more."""
    max_tokens = budget.max_tokens or 0
    max_chars = max(80, min(400, max_tokens))
    form = whole if whole.reads_in_parts(max_chars) else Form(document.value, max_chars=max_chars)
    units = ranked(form.lines, price=price, room=AMPLE * max_tokens, query=query)
    head = opening(form.used if max_tokens >= _LONG_BUDGET else frozenset(), is_lines=document.is_lines)

    def draw(room: int) -> Compressed:
        lines, omissions = write(form.lines, pick(units, room, price=price))
        text = document.restore(head + "\n".join(lines))
        return Compressed(text=text, omissions=(*omissions, *form.omissions))

    return aim(draw, budget, reserve=0) or draw(0)


def _again(text: str, budget: Budget, query: str | None) -> Compressed:
    """Drop lines of a text that is in the compact form already; its brackets, headings and definitions go last."""
    lines = text.split("\n")
    start = next((number for number, line in enumerate(lines) if not line.startswith(_HEAD)), len(lines))
    rows = lines[start:]
    frame = {number for number, row in enumerate(rows) if _FRAME.search(row)}
    return within(Grid(lines[:start], rows, [rows], [], indent=" "), budget, query=query, frame=frame)
