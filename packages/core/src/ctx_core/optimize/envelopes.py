"""Texts that tools hand over inside JSON: the text blocks of a protocol, or what a command printed in a field."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Final, cast

from ctx_core.optimize.json_parts import is_one_document

if TYPE_CHECKING:
    from collections.abc import Sequence

BLOCK: Final = re.compile(r"^\[text block(?: \d+ of \d+)?\]\n", re.MULTILINE)
"""The line that stands above a text that was taken out."""

# A string that stays open goes to the end, or each quote in it would be tried for another.
_STRING: Final = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\\?\Z)', re.DOTALL)
# A field that is a text of its own: this long, of lines, and with few others nearly all that the document holds.
_MIN_CHARS: Final = 400
_MIN_LINES: Final = 4
_MAX_FIELDS: Final = 4
_MOST: Final = 0.8


def opened(text: str) -> str:
    """Return JSON with the texts that it wraps taken out and put below it, or `text` itself where it wraps none."""
    return _list_of_blocks(text) or _with_fields_below(text) or text


def is_label(line: str) -> bool:
    """Say whether a line is one that stands above a text."""
    return BLOCK.fullmatch(line) is not None


def _list_of_blocks(text: str) -> str | None:
    """Open a JSON list of text blocks, as tool protocols wrap what a tool says."""
    if '"text"' not in text[:200] or text[:200].lstrip()[:1] != "[":
        return None
    try:
        blocks: object = json.loads(text)
    except (ValueError, RecursionError):
        return None
    texts = [_block_text(block) for block in cast("list[object]", blocks)]
    return "\n".join(_labelled(cast("list[str]", texts))) if texts and None not in texts else None


def _block_text(block: object) -> str | None:
    if not isinstance(block, dict):
        return None
    fields = cast("dict[str, object]", block)
    text = fields.get("text")
    return text if fields == {"type": "text", "text": text} and isinstance(text, str) else None


def _with_fields_below(text: str) -> str | None:
    """Leave a label in place of each field that is a text of its own; a document in a string is not opened."""
    if text.count("\\n") < _MIN_LINES:
        return None
    fields = [field for field in _STRING.finditer(text) if _is_text(field[0])]
    if not 0 < len(fields) <= _MAX_FIELDS or sum([len(field[0]) for field in fields]) < _MOST * len(text):
        return None
    if not is_one_document(text):
        return None
    texts: list[str] = [json.loads(field[0]) for field in fields]
    if any(map(is_one_document, texts)):
        return None
    envelope, done = "", 0
    for field, label in zip(fields, _labels(len(fields)), strict=True):
        envelope += f'{text[done : field.start()]}"{label}"'
        done = field.end()
    return "\n".join([(envelope + text[done:]).strip(), *_labelled(texts)])


def _is_text(lexeme: str) -> bool:
    return len(lexeme) >= _MIN_CHARS and lexeme.count("\\n") >= _MIN_LINES


def _labels(count: int) -> list[str]:
    return ["[text block]"] if count == 1 else [f"[text block {n} of {count}]" for n in range(1, count + 1)]


def _labelled(texts: Sequence[str]) -> list[str]:
    return [f"{label}\n{text}" for label, text in zip(_labels(len(texts)), texts, strict=True)]
