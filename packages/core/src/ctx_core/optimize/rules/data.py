"""Rules for JSON in all its forms, and for encoded bytes."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from ctx_core.optimize.content import COMPACT_JSON, ContentType, Detection
from ctx_core.optimize.python_repr import looks_like_repr

if TYPE_CHECKING:
    from ctx_core.optimize.rules.sample import Sample

_STRING: Final = r'"(?:[^"\\]|\\.){0,400}'
_VALUE: Final = rf"(?:{_STRING}|-?\d|true\b|false\b|null\b|NaN\b|-?Infinity\b|[\[{{])"
_JSON_HEAD: Final = re.compile(rf'\ufeff?\s*(?:\{{\s*(?:\}}|{_STRING}"\s*:\s*{_VALUE})|\[\s*(?:\]|{_VALUE}))')
_JSON_LINE: Final = re.compile(r'\s*(?:\{\s*(?:"|\}\s*$)|\[\s*(?:["\[{\d-]|\]\s*$))')
_BASE64: Final = re.compile(r"(?:data:[\w.+/-]+(?:;[\w=.-]+)*;base64,)?[A-Za-z0-9+/_=\s-]+\Z")
_ARMOUR: Final = re.compile(r"-----BEGIN [A-Z0-9 ]+-----")


def compact_json(sample: Sample) -> Detection | None:
    """The form that our own JSON compressor writes."""
    return _json("compact") if sample.text.startswith(COMPACT_JSON) else None


def json_document(sample: Sample) -> Detection | None:
    """One JSON value, or what Python writes of one: it opens and closes as one, and starts as only JSON does."""
    if "".join(sample.edges) not in ("{}", "[]"):
        return None
    if looks_like_repr(sample.head):
        return _json("python")
    return (json_lines(sample) or _json("json")) if _JSON_HEAD.match(sample.head) else None


def json_lines(sample: Sample) -> Detection | None:
    """One JSON value a line, a broken line or two among them."""
    lines = sample.lines
    if len(lines) < 2 or sample.share(_JSON_LINE) < 0.9:
        return None
    closed = sum(1 for line in lines if len(line) >= sample.max_line or line.rstrip()[-1:] in ("}", "]"))
    return _json("jsonl") if closed >= 0.9 * len(lines) else None


def _json(language: str) -> Detection:
    return Detection(content_type=ContentType.JSON, language=language)


def blob(sample: Sample) -> Detection | None:
    """Base64, alone or in lines of one length, a data URI, or an armoured key."""
    if _ARMOUR.match(sample.head):
        return Detection(content_type=ContentType.BLOB, language="pem")
    if sample.size < 64 or not _BASE64.match(sample.head) or not _BASE64.match(sample.tail or "A"):
        return None
    words = sample.head.split()
    # A list of hashes has lines of one length too, but no upper case and lower case at once.
    has_one_width = min(map(len, words[:-1]), default=48) >= 48 and len(set(map(len, words[:-1]))) <= 1
    letters = set(sample.head)
    is_mixed = any(map(str.isupper, letters)) and any(map(str.islower, letters)) and any(map(str.isdigit, letters))
    return Detection(content_type=ContentType.BLOB, language="base64") if has_one_width and is_mixed else None
