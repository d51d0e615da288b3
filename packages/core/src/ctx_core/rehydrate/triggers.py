"""Does this message look back?"""

from __future__ import annotations

import re
from enum import StrEnum
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from ctx_core.errors import InvalidInput

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

CLASSIC_PHRASES: Final = ("remember", "earlier", "previously", "before", "last time", "we discussed", "we were")
"""The phrases of `mode="phrases"`; `before` and `remember` fire on much that looks forward."""

# People ask at the beginning or the end of a message; what lies between is what they pasted.
_READ_CHARS: Final = 1_500
_CODE: Final = re.compile(r"```.*?(?:```|\Z)|`[^`\n]*`|^\s*>.*$", re.DOTALL | re.MULTILINE)
_WORD: Final = re.compile(r"\w+")
_CJK: Final = re.compile("[\u3040-\u30ff\u3400-\u9fff]")


class TriggerMode(StrEnum):
    """How a message is found to look back."""

    LOOK_BACK = "look_back"
    PHRASES = "phrases"
    ALWAYS = "always"


class TriggerDetector:
    """Says whether a message refers to something earlier, and by which words.

    Args:
        mode: `look_back` knows how people refer to earlier conversations in English, Spanish, German, French, Chinese and Japanese;
            `phrases` fires on any of `phrases` as whole words; `always` on every message that says something; a function decides itself.
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
                return self._phrase(text)
            case TriggerMode.LOOK_BACK:
                return self._phrase(text) or _look_back(text)
            case decide:
                return decide(text) or None

    def _phrase(self, text: str) -> str | None:
        found = _phrases(self.phrases).search(text) if self.phrases else None
        return found[0] if found else None


@lru_cache(maxsize=64)
def _phrases(phrases: tuple[str, ...]) -> re.Pattern[str]:
    """Return one expression for all phrases; they end at word boundaries where their own ends are words."""
    each = (
        rf"(?<!\w){re.escape(phrase)}(?!\w)" if phrase.isascii() else re.escape(phrase) for phrase in phrases if phrase
    )
    return re.compile("|".join(each) or r"(?!)", re.IGNORECASE)


def _look_back(text: str) -> str | None:
    from ctx_core.rehydrate.look_back import CJK, LATIN  # noqa: PLC0415 - 30 ms of compiling that only this mode needs

    if len(text) > 2 * _READ_CHARS:
        text = f"{text[:_READ_CHARS]}\n{text[-_READ_CHARS:]}"
    if "`" in text or ">" in text:
        text = _CODE.sub(" ", text)
    text = text.replace("’", "'")
    words = frozenset(_WORD.findall(text.lower()))
    patterns = [pattern for gate, pattern in LATIN if not gate.isdisjoint(words)]
    for pattern in (*patterns, *CJK) if _CJK.search(text) else patterns:
        if found := pattern.search(text):
            return found[0].strip(" ,.!?;:\n")
    return None
