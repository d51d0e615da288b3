"""Which compressor takes which kind of content, and what is left alone."""

from __future__ import annotations

from functools import lru_cache
from importlib import import_module
from typing import TYPE_CHECKING, Final, cast

from ctx_core import telemetry
from ctx_core.optimize.compressors.base import Budget, Compressed, Compressor
from ctx_core.optimize.compressors.blob import without_blobs
from ctx_core.optimize.content import ContentType, Detection
from ctx_core.optimize.fit import clip
from ctx_core.optimize.formats import formats

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ctx_core.optimize.segment import Segment

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
# What these compressors write without loss, they would write again.
_SETTLED: Final = frozenset((ContentType.SEARCH,))
_AS_TEXT: Final = Detection(content_type=ContentType.TEXT, confidence=0.0)


def compress_part(part: Segment, budget: Budget, *, query: str | None, compress_code: bool) -> Compressed:
    """Return one part at its natural level or within its budget, as far as its compressor can; the line ends after it stay."""
    kind = part.detection or _AS_TEXT
    if _stays(part, kind, budget, compress_code=compress_code):
        return Compressed(text=part.text)
    body = part.text.rstrip("\n")
    plain = without_blobs(body)
    done = _compressed(plain.text, kind, budget, query)
    if budget.max_tokens is not None and done.text == plain.text and not budget.fits(done.text):
        done = clip(plain.text, budget.max_tokens, counter=budget.counter, query=query)
    if len(done.text) >= len(body):
        return Compressed(text=part.text)
    return Compressed(text=done.text + part.text[len(body) :], omissions=(*plain.omissions, *done.omissions))


def reads_the_same(before: Sequence[Segment], after: Sequence[Segment]) -> bool:
    """Say whether compressing the parts of a lossless result again would change nothing, without doing it."""
    kinds = {part.detection.content_type for part in (*before, *after) if part.detection}
    return len(before) == len(after) == 1 == len(kinds) and kinds <= _SETTLED


def _stays(part: Segment, kind: Detection, budget: Budget, *, compress_code: bool) -> bool:
    if budget.max_tokens is not None:
        return budget.fits(part.text)
    match kind.content_type:
        case ContentType.CODE:
            return part.spoken or not compress_code
        case ContentType.CONFIG:
            return part.spoken or not _repeats_itself(part.text)
        case _:
            return part.spoken


def _repeats_itself(text: str) -> bool:
    lines = [line for line in text.split("\n") if line.strip()]
    return len(set(lines)) < 0.5 * len(lines)


def _compressed(text: str, kind: Detection, budget: Budget, query: str | None) -> Compressed:
    """Compress `text` as what it was detected to be; a compressor that fails leaves it as it is."""
    language = kind.language if kind.content_type is ContentType.CODE else None
    try:
        compressor = formats()[kind.format] if kind.format else _compressor(kind.content_type, language)
        return compressor.compress(text, budget, query=query)
    except Exception as error:  # noqa: BLE001 - whatever a text does to one compressor, the caller gets a text back
        telemetry.degraded(f"optimize.{kind.content_type}", error)
        return Compressed(text=text)


@lru_cache(maxsize=256)
def _compressor(content_type: ContentType, language: str | None) -> Compressor:
    module, name = _HOMES[content_type]
    make = getattr(import_module(f"ctx_core.optimize.compressors.{module}"), name)
    return cast("Compressor", make(language) if content_type is ContentType.CODE else make())
