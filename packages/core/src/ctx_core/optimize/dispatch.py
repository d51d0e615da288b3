"""Which compressor takes which kind of content, and what is left alone."""

from __future__ import annotations

from functools import lru_cache
from importlib import import_module
from typing import TYPE_CHECKING, Final, cast

from ctx_core import telemetry
from ctx_core.optimize.compressors.base import Budget, Compressed, Compressor, Omission
from ctx_core.optimize.compressors.blob import without_blobs
from ctx_core.optimize.compressors.log.clean import plain
from ctx_core.optimize.compressors.search.compressor import group_results
from ctx_core.optimize.content import ContentType, Detection
from ctx_core.optimize.fit import clip
from ctx_core.optimize.fold import fold, may_fold
from ctx_core.optimize.formats import formats
from ctx_core.tokens import estimate

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
    # Configuration is compact already; what has to go, goes by lines.
    ContentType.CONFIG: ("log", "LogCompressor"),
}
# What these compressors write without loss, they would write again.
_SETTLED: Final = frozenset((ContentType.SEARCH,))
_AS_TEXT: Final = Detection(content_type=ContentType.TEXT, confidence=0.0)
# What a person wrote line by line: its natural level leaves out no more than what is said twice or did not change.
_WRITTEN: Final = frozenset(
    (ContentType.TEXT, ContentType.DIFF, ContentType.MARKUP, ContentType.CODE, ContentType.CONFIG)
)
# Readers know the forms of these; another form has to be worth it.
_FOLDED_SHARE: Final = {**dict.fromkeys(_WRITTEN, 0.75), ContentType.SEARCH: 0.85}
_MOST_FOLDED: Final = 0.95
_UNFOLDABLE: Final = frozenset((ContentType.JSON, ContentType.BLOB, ContentType.CODE))


def compress_part(part: Segment, budget: Budget, *, query: str | None, compress_code: bool) -> Compressed:
    """Return one part at its natural level or within its budget, as far as its compressor can; the line ends after it stay."""
    kind = part.detection or _AS_TEXT
    if _stays(part, kind, budget, compress_code=compress_code):
        return Compressed(text=part.text)
    body = part.text.rstrip("\n")
    bare = without_blobs(body)
    done = _shortened(bare.text, kind, budget, query)
    if budget.max_tokens is not None and done.text == bare.text and not budget.fits(done.text):
        done = clip(bare.text, budget.max_tokens, counter=budget.counter, query=query)
    if len(done.text) >= len(body):
        return Compressed(text=part.text)
    return Compressed(text=done.text + part.text[len(body) :], omissions=(*bare.omissions, *done.omissions))


def _shortened(text: str, kind: Detection, budget: Budget, query: str | None) -> Compressed:
    """Fold first; leave out only what the folded form is still too long for."""
    if kind.format is not None or kind.content_type in _UNFOLDABLE:
        return _compressed(text, kind, budget, query)
    folded = _folded(text, kind, budget)
    if folded is not None and (not budget.is_natural or budget.at_most_natural().fits(folded.text)):
        return folded
    if budget.is_natural and budget.at_most_natural().fits(text):
        return Compressed(text=text)
    if folded is None and budget.is_natural and kind.content_type is ContentType.CONFIG:
        return Compressed(text=text)
    if folded is None and kind.content_type in _WRITTEN:
        return _compressed(text, kind, budget, query)
    return _compressed(text, kind, budget.at_most_natural(), query)


def _folded(text: str, kind: Detection, budget: Budget) -> Compressed | None:
    """Return `text` without loss and shorter, if that is worth it and within the budget."""
    if kind.content_type in _WRITTEN and not may_fold(text):
        return None
    shown, states = plain(text) if kind.content_type is ContentType.LOG else (text, 0)
    room = budget.max_tokens or budget.natural_tokens
    if kind.content_type is ContentType.SEARCH:
        # Lines grouped by file are still searchable by their words, so another form has to be much shorter.
        grouped = group_results(text)
        most = int(_FOLDED_SHARE[kind.content_type] * estimate(grouped))
        shorter = fold(shown, most_tokens=min(room, most))
        shorter = shorter if shorter != text and estimate(shorter) < most else grouped
    else:
        shorter = fold(shown, most_tokens=room)
    if shorter == text or not budget.fits(shorter):
        return None
    most = _FOLDED_SHARE.get(kind.content_type, _MOST_FOLDED)
    if budget.is_natural and estimate(shorter) > most * estimate(text):
        return None
    omissions = (Omission(what="progress states", count=states),) if states else ()
    return Compressed(text=shorter, omissions=omissions)


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
        case _:
            return part.spoken


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
