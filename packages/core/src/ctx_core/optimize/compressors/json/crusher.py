"""JSON in fewer tokens: the same values as fields and tables, and only over budget fewer rows."""

from __future__ import annotations

from typing import Final

from ctx_core.optimize.compressors.base import Budget, Compressed
from ctx_core.optimize.compressors.json.form import Form, Table
from ctx_core.optimize.compressors.json.prefixes import factor_prefixes
from ctx_core.optimize.compressors.json.reader import read

MARK: Final = "#json"
"""First characters of every text in the compact form."""

_LONG: Final = 2000


class JsonCrusher:
    """Rewrites JSON, or JSON lines, without loss; drops rows by importance where a budget asks for it."""

    def compress(self, text: str, budget: Budget, *, query: str | None = None) -> Compressed:
        """Return the document in the compact form, or `text` itself where that is shorter or `text` is no JSON."""
        document = None if text.startswith(MARK) else read(text)
        if document is None or not isinstance(document.value, (dict, list)):
            return Compressed(text=text)
        form = Form(document.value, find_repeats=len(text) > _LONG)
        lines = [MARK]
        for line in form.lines:
            lines += [line.heading, *line.rows] if isinstance(line, Table) else [line]
        body = "\n".join(lines[1:])
        if len(text) > _LONG:
            body, names = factor_prefixes(body, form.written)
            lines = [MARK, *[f"{name}={prefix}" for name, prefix in names.items()]]
        else:
            lines = [MARK]
        out = document.restore("\n".join([*lines, body]))
        return Compressed(text=out if len(out) < len(text) else text)
