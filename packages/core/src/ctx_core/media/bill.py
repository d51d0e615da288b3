"""What a content block costs: its texts, to be counted, and tokens for everything in it that is no text."""

from __future__ import annotations

import json
from base64 import b64decode
from binascii import Error as NotBase64
from collections.abc import Mapping
from dataclasses import dataclass
from math import ceil
from typing import Any, Final

from ctx_core.media.rules import MEDIA_RULES, MediaRule
from ctx_core.media.sizes import HEADER_BYTES, image_size, kind_of, page_count, wav_seconds


@dataclass(frozen=True, slots=True)
class _Place:
    """What is known of a value by what it stands in."""

    kind: str | None = None
    provider: str | None = None
    mime: str = ""
    key: str = ""
    low_detail: bool = False


# Speech at 16 kbit/s and film at 250 kbit/s are about the least that people send; a WAV without a header is speech at 16 kHz.
_LEAST_RATES: Final = {"audio": 2_000, "video": 31_250}
_WAV_RATE: Final = 32_000
# Sound and film that is somewhere else: a minute of it.
_ELSEWHERE_SECONDS: Final = 60
# Signatures and encrypted reasoning stand for text: about four characters a token, in base64 of four characters for three.
_OPAQUE_CHARACTERS: Final = 5
_OPAQUE_KEYS: Final = frozenset(("signature", "encrypted_content", "thought_signature", "thoughtSignature"))
_LEAST_BASE64: Final = 256
_BASE64: Final = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=-_")

_KINDS: Final[Mapping[str, str]] = {
    **dict.fromkeys(("image", "image_url", "input_image", "computer_screenshot", "image_generation_call"), "image"),
    **dict.fromkeys(("audio", "input_audio"), "audio"),
    **dict.fromkeys(("file", "input_file", "document"), "document"),
    "video": "video",
}
_KNOWN: Final[dict[tuple[int, int, _Place], int]] = {}
_MOST_KNOWN: Final = 4096
# A type or a key that only one provider has tells whose rule holds; where nothing does, the dearest rule does.
_PROVIDERS: Final[Mapping[str, str]] = {
    **dict.fromkeys(("image_url", "input_image", "input_audio", "input_file"), "openai"),
    **dict.fromkeys(("computer_screenshot", "image_generation_call", "file_data"), "openai"),
    **dict.fromkeys(("media", "inline_data", "inlineData", "fileData"), "google"),
}
_MIME_KEYS: Final = ("mime_type", "media_type", "mimeType", "format")
_TEXT_FORMATS: Final = frozenset(("txt", "text", "md", "csv", "html", "json", "xml"))
_PAYLOADS: Final = ("data", "text", "content", "bytes", "source")
# What of a block with media in it is said to the model beside them.
_SAID: Final = frozenset(("text", "title", "context", "content", "data", "source", "name", "transcript"))


@dataclass(slots=True)
class Bill:
    """What a block costs: `text` is still to be counted, `tokens` are for the rest."""

    text: str
    tokens: int


def bill_of(block: Mapping[str, Any]) -> Bill:
    """Return what `block` costs, whatever it is and however deep in it something lies that is no text."""
    walk = _Walk()
    said = walk.rest(block, _Place())
    return Bill("\n".join((json.dumps(said, ensure_ascii=False, default=str), *walk.texts)), walk.tokens)


class _Walk:
    """One pass through a block: adds up what is no text, and gives back the texts."""

    def __init__(self) -> None:
        self.tokens = 0
        self.texts: list[str] = []
        self._payloads = 0

    def rest(self, value: Any, place: _Place) -> Any:
        """Return what of `value` is text."""
        if isinstance(value, Mapping):
            return self._mapping(value, place)
        if isinstance(value, (list, tuple)):
            return [self.rest(item, place) for item in value]
        if isinstance(value, (bytes, bytearray)):
            return self._payload(bytes(value), place)
        return self._string(value, place) if isinstance(value, str) else value

    def _mapping(self, value: Mapping[str, Any], outer: _Place) -> Any:
        place = _placed(value, outer)
        before = self._payloads
        rest = {key: self.rest(item, _under(key, item, place)) for key, item in value.items()}
        if place.kind is None:
            return rest
        said = {key: item for key, item in rest.items() if key in _SAID and item}
        if outer.kind is None and self._payloads == before and not any(key in said for key in _PAYLOADS):
            # The bytes are elsewhere: behind an address or an id.
            self._payloads += 1
            self.tokens += _elsewhere(place)
        return said

    def _string(self, value: str, place: _Place) -> str:
        if place.key in _OPAQUE_KEYS:
            self.tokens += len(value) // _OPAQUE_CHARACTERS
            return ""
        if value.startswith("data:") and "," in value[:_LEAST_BASE64]:
            head, _, payload = value.partition(",")
            mime = head[5:].partition(";")[0]
            return self._payload(
                payload, _Place(_kind_by(mime) or place.kind, place.provider, mime, "", place.low_detail)
            )
        if not _is_base64(value):
            return value if place.kind is None or place.key in _SAID else ""
        if place.kind is None and kind_of(_decoded(value[:_LEAST_BASE64])) is None:
            if place.key != "data":
                return value  # a long word, such as a token or a line of digits
            self.tokens += len(value) // _OPAQUE_CHARACTERS  # encrypted, like redacted thinking
            return ""
        return self._payload(value, place)

    def _payload(self, data: str | bytes, place: _Place) -> str:
        self._payloads += 1
        if _is_text(place.mime):
            self.texts.append(_decoded(data).decode("utf-8", "replace"))
            return ""
        self.tokens += _price_once(data, place)
        return ""


def _placed(block: Mapping[str, Any], outer: _Place) -> _Place:
    type_ = block.get("type")
    mime = next((str(block[key]) for key in _MIME_KEYS if isinstance(block.get(key), str)), outer.mime)
    named = next((key for key in ("inline_data", "inlineData", "fileData") if key in block), "")
    kind = _KINDS.get(type_) if isinstance(type_, str) else None
    if type_ in ("text", "content"):  # the text of a document, or blocks of its own
        mime = "text/plain"
    return _Place(
        kind=kind or outer.kind or (_kind_by(mime) if "data" in block or "file_uri" in block else None),
        provider=_PROVIDERS.get(str(type_))
        or _PROVIDERS.get(named)
        or ("anthropic" if "source" in block else outer.provider),
        mime=mime,
        low_detail=outer.low_detail or block.get("detail") == "low",
    )


def _under(key: str, value: Any, place: _Place) -> _Place:
    kind = place.kind
    if kind is None and isinstance(value, Mapping) and ("source" in value or "format" in value):
        kind = _KINDS.get(key)  # Bedrock names the kind by the key
    if kind is not None and key == "content":
        kind = None  # blocks of their own
    return _Place(kind, _PROVIDERS.get(key) or place.provider, place.mime, key, place.low_detail)


def _kind_by(mime: str) -> str | None:
    family = mime.partition("/")[0]
    if family in ("image", "audio", "video"):
        return family
    return "document" if family in ("application", "text") else None


def _is_text(mime: str) -> bool:
    name = mime.partition(";")[0]
    return name.startswith("text/") or name.rpartition("/")[2] in _TEXT_FORMATS


def _is_base64(text: str) -> bool:
    if len(text) < _LEAST_BASE64:
        return False
    return _BASE64.issuperset(text[:_LEAST_BASE64]) and _BASE64.issuperset(text[-_LEAST_BASE64:].rstrip())


def _rules(provider: str | None) -> list[MediaRule]:
    return [MEDIA_RULES[provider]] if provider else list(MEDIA_RULES.values())


def _price_once(data: str | bytes, place: _Place) -> int:
    """Return the price, worked out once for content that is sent again at every turn; only its hash is remembered."""
    key = hash(data), len(data), place
    known = _KNOWN.get(key)
    if known is None:
        known = _price(data, place)
        if len(_KNOWN) >= _MOST_KNOWN:
            _KNOWN.clear()
        _KNOWN[key] = known
    return known


def _price(data: str | bytes, place: _Place) -> int:
    head = _decoded(data[: HEADER_BYTES // 3 * 4])
    kind, rules = place.kind or kind_of(head), _rules(place.provider)
    length = len(data) if isinstance(data, bytes) else len(data) * 3 // 4
    if kind == "document":
        return max(rule.page for rule in rules) * page_count(_decoded(data))
    if kind in _LEAST_RATES:
        seconds = wav_seconds(head, length) or length / (_WAV_RATE if "wav" in place.mime else _LEAST_RATES[kind])
        return _by_seconds(kind, seconds, rules)
    size = None if place.low_detail else image_size(head)
    return max(rule.image(*size) for rule in rules) if size else _largest_image(place)


def _elsewhere(place: _Place) -> int:
    if place.kind == "document":
        return max(rule.page for rule in _rules(place.provider))
    if place.kind in _LEAST_RATES:
        return _by_seconds(place.kind, _ELSEWHERE_SECONDS, _rules(place.provider))
    return _largest_image(place)


def _largest_image(place: _Place) -> int:
    return 85 if place.low_detail else max(rule.largest_image for rule in _rules(place.provider))


def _by_seconds(kind: str, seconds: float, rules: list[MediaRule]) -> int:
    a_second = max(rule.audio_second if kind == "audio" else rule.video_second for rule in rules)
    return ceil(seconds * a_second)


def _decoded(data: str | bytes) -> bytes:
    if isinstance(data, bytes):
        return data
    whole = data[: len(data) // 4 * 4].replace("-", "+").replace("_", "/")
    try:
        return b64decode(whole)
    except (NotBase64, ValueError):
        return b""
