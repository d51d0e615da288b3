"""What providers charge for what is not text, as they publish it."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


@dataclass(frozen=True, slots=True, kw_only=True)
class MediaRule:
    """What one provider charges for what is not text.

    Args:
        image: Tokens of an image of a width and height, in pixels.
        largest_image: Tokens of the largest image, for one whose size cannot be read.
        page: Most tokens of a page of a document, its picture included.
        audio_second: Tokens of a second of sound.
        video_second: Tokens of a second of film, its sound included.
        source: The page on which the provider documents it. Written from knowledge of it; check it before a figure is relied on.
    """

    image: Callable[[int, int], int]
    largest_image: int
    page: int
    audio_second: float
    video_second: float
    source: str


def _anthropic_image(width: int, height: int) -> int:
    # Scaled down to 1,568 pixels at the longer side and to about 1.15 megapixels; then a token for 750 pixels.
    scale = min(1.0, 1568 / max(width, height))
    return min(1600, ceil(width * height * scale * scale / 750))


def _openai_image(width: int, height: int) -> int:
    # Scaled into a square of 2,048, then to 768 at the shorter side; 85 tokens, and 170 for each tile of 512.
    scale = min(1.0, 2048 / max(width, height))
    scale = min(scale, 768 / min(width, height))
    return 85 + 170 * ceil(width * scale / 512) * ceil(height * scale / 512)


def _google_image(width: int, height: int) -> int:
    # Small images take 258 tokens; larger ones 258 for each tile of 768, at most the 1,120 of the default resolution.
    if max(width, height) <= 384:
        return 258
    return min(1120, 258 * ceil(width / 768) * ceil(height / 768))


MEDIA_RULES: Final[Mapping[str, MediaRule]] = {
    "anthropic": MediaRule(
        image=_anthropic_image,
        largest_image=1600,
        page=3000 + 1600,
        audio_second=32,
        video_second=300,
        source="https://platform.claude.com/docs/en/build-with-claude/vision and /pdf-support; sound and film are not taken",
    ),
    "openai": MediaRule(
        image=_openai_image,
        largest_image=85 + 170 * 8,
        page=3000 + 85 + 170 * 8,
        audio_second=10,
        video_second=300,
        source="https://platform.openai.com/docs/guides/images-vision and /guides/pdf-files; film is not taken",
    ),
    "google": MediaRule(
        image=_google_image,
        largest_image=1120,
        page=560,
        audio_second=32,
        video_second=258 + 32,
        source="https://ai.google.dev/gemini-api/docs/tokens and /docs/media-resolution",
    ),
}
