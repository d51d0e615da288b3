"""The kinds of content that the optimizer tells apart."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Final


class ContentType(StrEnum):
    """Which kind of content a text is; each kind has one compressor."""

    JSON = "json"
    LOG = "log"
    CODE = "code"
    DIFF = "diff"
    SEARCH = "search"
    TABLE = "table"
    CONFIG = "config"
    MARKUP = "markup"
    BLOB = "blob"
    TEXT = "text"


@dataclass(frozen=True, slots=True, kw_only=True)
class Detection:
    """What a text is, and how sure that is.

    Args:
        content_type: The kind.
        language: The programming or data language where one is known: `python`, `yaml`, `csv`, …
        confidence: In [0, 1]; 1.0 where a structural rule decided.
        format: The name of the plug-in in `optimize.formats` that reads it, if one does.
    """

    content_type: ContentType
    language: str | None = None
    confidence: float = 1.0
    format: str | None = None


COMPACT_JSON: Final = "#json"
"""First characters of JSON in the compact form; such a text is JSON that is as short as it gets without loss."""

_FIRST_LINE: Final = re.compile(rf"^{COMPACT_JSON}l?[: ]", re.MULTILINE)


def holds_compact_json(text: str) -> bool:
    """Say whether some of `text` is in the compact form: a line begins as such a form does."""
    return COMPACT_JSON in text and _FIRST_LINE.search(text) is not None
