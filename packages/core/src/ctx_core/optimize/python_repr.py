"""What `str()` makes of a Python list or dict, spelled as JSON: many tools answer so."""

from __future__ import annotations

import json
import re
from typing import Final

from ctx_core.optimize.json_parts import is_one_document

_OPENING: Final = re.compile(r"\s*(?:[\[(]\s*)*\{\s*(?:'|\"[^\"\n]*\"\s*:\s*(?:'|True\b|False\b|None\b))")
# The escapes that `repr` writes; with any other, a quote stays what it is, and no parser takes the result.
_ESCAPE: Final = r"\\(?:[\\'\"nrt]|x[0-9a-f]{2}|u[0-9a-f]{4}|U00(?:0[0-9a-f]|10)[0-9a-f]{4})"
_ESCAPES: Final = re.compile(_ESCAPE)
_PART: Final = re.compile(
    rf"'(?:[^'\\\n]|{_ESCAPE})*'|\"(?:[^\"\\\n]|{_ESCAPE})*\"|\d[\d.]*(?:e[+-]?\d+)?|[^\W\d]\w*|\(|,?\s*\)"
)
_SIGNS: Final = {"n": "\n", "r": "\r", "t": "\t"}
_WORDS: Final = {"True": "true", "False": "false", "None": "null", "nan": "NaN", "inf": "Infinity", "(": "["}


def looks_like_repr(text: str) -> bool:
    """Say whether `text` begins as Python writes a dict, or a list of them."""
    return _OPENING.match(text) is not None


def as_json(text: str) -> str | None:
    """Return `text` as JSON, numbers to the letter; None where it holds what JSON has no word for, or is cut."""
    if not looks_like_repr(text):
        return None
    try:
        spelled = _PART.sub(_spelled, text)
    except KeyError:
        return None
    return spelled if is_one_document(spelled) else None


def _spelled(part: re.Match[str]) -> str:
    token = part[0]
    if token[0].isdigit():
        return token
    if token[-1] == ")":
        return "]"
    if token[0] not in "'\"":
        return _WORDS[token]
    return json.dumps(_ESCAPES.sub(_meant, token[1:-1]), ensure_ascii=False)


def _meant(escape: re.Match[str]) -> str:
    code = escape[0][1:]
    return _SIGNS.get(code, code) if len(code) == 1 else chr(int(code[1:], 16))
