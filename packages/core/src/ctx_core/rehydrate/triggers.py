"""Decide whether a message refers to an earlier conversation."""

from __future__ import annotations

import re
from enum import StrEnum
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from ctx_core.errors import InvalidInput
from ctx_core.rehydrate.reference_patterns import find_reference

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

CLASSIC_PHRASES: Final = ("remember", "earlier", "previously", "before", "last time", "we discussed", "we were")
"""The phrases of `mode="phrases"`; `before` and `remember` fire on much that looks forward."""


class TriggerMode(StrEnum):
    """How to decide whether a message looks back."""

    LOOK_BACK = "look_back"
    PHRASES = "phrases"
    ALWAYS = "always"


class TriggerDetector:
    """Detects whether a message refers to something earlier, and by which words.

    Args:
        mode: `look_back` knows how people refer to earlier conversations in fifteen languages; `phrases` fires on any of
            `phrases` as whole words; `always` on every message that says something; a function decides itself.
        phrases: The phrases; with `look_back`, further ones that fire as well.
    """

    def __init__(
        self,
        *,
        mode: TriggerMode | str | Callable[[str], str | None] = TriggerMode.LOOK_BACK,
        phrases: Sequence[str] | None = None,
    ) -> None:
        if isinstance(mode, str) and mode not in list(TriggerMode):
            raise InvalidInput(f"unknown trigger mode {mode!r}; known are {', '.join(TriggerMode)}, or give a function")
        self.mode = TriggerMode(mode) if isinstance(mode, str) else mode
        default = CLASSIC_PHRASES if self.mode is TriggerMode.PHRASES else ()
        self.phrases = tuple(default if phrases is None else phrases)

    def detect(self, text: str) -> str | None:
        """Return the words by which `text` looks back, or None if it does not."""
        if not text or text.isspace():
            return None
        match self.mode:
            case TriggerMode.ALWAYS:
                return "always"
            case TriggerMode.PHRASES:
                return self._find_phrase(text)
            case TriggerMode.LOOK_BACK:
                return self._find_phrase(text) or find_reference(text)
            case decide:
                return decide(text) or None

    def _find_phrase(self, text: str) -> str | None:
        found = _compile_phrases(self.phrases).search(text) if self.phrases else None
        return found[0] if found else None


@lru_cache(maxsize=64)
def _compile_phrases(phrases: tuple[str, ...]) -> re.Pattern[str]:
    """Return one expression for all phrases; each ends at word boundaries where its own ends are words."""
    each = (
        rf"(?<!\w){re.escape(phrase)}(?!\w)" if phrase.isascii() else re.escape(phrase) for phrase in phrases if phrase
    )
    return re.compile("|".join(each) or r"(?!)", re.IGNORECASE)
