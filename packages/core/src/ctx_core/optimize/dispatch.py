"""Which compressor takes which kind of content."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from importlib import import_module
from typing import TYPE_CHECKING, Final, cast

from ctx_core import telemetry
from ctx_core.optimize.compressors.base import Budget, Compressed, Compressor
from ctx_core.optimize.content import ContentType

if TYPE_CHECKING:
    from ctx_core.optimize.content import Detection

_HOMES: Final = {
    ContentType.JSON: ("json", "JsonCrusher"),
    ContentType.TABLE: ("table", "TableCompressor"),
    ContentType.LOG: ("log", "LogCompressor"),
    ContentType.DIFF: ("diff", "DiffCompressor"),
    ContentType.SEARCH: ("search", "SearchCompressor"),
    ContentType.CODE: ("code", "CodeCompressor"),
    ContentType.TEXT: ("text", "TextCompressor"),
    ContentType.MARKUP: ("markup", "MarkupCompressor"),
    ContentType.BLOB: ("blob", "BlobCompressor"),
    # Configuration is compact already; what repeats itself, or has to go, goes by lines.
    ContentType.CONFIG: ("log", "LogCompressor"),
}


@dataclass(frozen=True, slots=True)
class Untouched:
    """Leaves every text as it is."""

    def compress(self, text: str, budget: Budget, *, query: str | None = None) -> Compressed:
        """Return `text`."""
        del budget, query
        return Compressed(text=text)


@lru_cache(maxsize=256)
def compressor_for(content_type: ContentType, language: str | None = None) -> Compressor:
    """Return the compressor of a kind of content."""
    module, name = _HOMES[content_type]
    home = f"ctx_core.optimize.compressors.{module}"
    try:
        make = getattr(import_module(home), name)
    except ModuleNotFoundError:
        return Untouched()
    return cast("Compressor", make(language) if content_type is ContentType.CODE else make())


def compress(text: str, detection: Detection, budget: Budget, *, query: str | None) -> Compressed:
    """Compress `text` as what it was detected to be; a compressor that fails leaves it as it is."""
    kind = detection.content_type
    try:
        return compressor_for(kind, detection.language if kind is ContentType.CODE else None).compress(
            text, budget, query=query
        )
    except Exception as error:  # noqa: BLE001 - whatever a text does to one compressor, the caller gets a text back
        telemetry.degraded(f"optimize.{kind}", error)
        return Compressed(text=text)
