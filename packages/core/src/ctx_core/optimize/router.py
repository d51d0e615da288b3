"""Which kind of content a text is: structural rules first, a small model for what they leave open."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import lru_cache
from threading import Lock
from typing import Any, Final

from ctx_core.errors import InvalidInput
from ctx_core.extras import installed
from ctx_core.optimize.content import ContentType, Detection
from ctx_core.optimize.formats import formats
from ctx_core.optimize.rules import RULES
from ctx_core.optimize.rules.sample import Sample

_CODE_LABELS: Final = re.findall(
    r"\w+",
    """
    asm bat c clojure cpp cs css dart dockerfile elixir erlang fortran go groovy haskell java javascript julia kotlin lisp lua makefile matlab objectivec
    ocaml pascal perl php powershell prolog python r ruby rust scala scss shell solidity sql swift typescript vba verilog vhdl vue zig
    """,
)
_LABELS: Final = {
    **dict.fromkeys(_CODE_LABELS, ContentType.CODE),
    **dict.fromkeys(("json", "jsonl"), ContentType.JSON),
    **dict.fromkeys(("yaml", "toml", "ini", "xml", "hcl"), ContentType.CONFIG),
    **dict.fromkeys(("csv", "tsv"), ContentType.TABLE),
    **dict.fromkeys(("txt", "markdown", "rst", "asciidoc", "latex", "srt", "eml"), ContentType.TEXT),
    "diff": ContentType.DIFF,
    "html": ContentType.MARKUP,
}
# Magika gives these to logs, listings and hex with up to .98; only a higher score is believed.
_WEAK_LABELS: Final = frozenset(("asm", "coffeescript", "csv", "eml", "jsonl", "ocaml", "rst", "scss", "tsv", "yaml"))
_WEAK_THRESHOLD: Final = 0.985
_NAMES: Final = {"cs": "csharp"}
_MODEL_CHARS: Final = 4_096
# Of less the model knows nothing, and it takes 6 ms to say so.
_MIN_MODEL_CHARS: Final = 64
_NOTHING: Final = Detection(content_type=ContentType.TEXT, confidence=0.0)


class ContentRouter:
    """Tells which kind of content a text is; safe to share between threads.

    Args:
        confidence_threshold: How sure a rule or the model has to be, in [0, 1].
        magika: Ask Magika where no rule is sure, if the extra `local` is installed; it is loaded on first need.
    """

    def __init__(self, *, confidence_threshold: float = 0.7, magika: bool = True) -> None:
        if not 0.0 <= confidence_threshold <= 1.0:
            raise InvalidInput(f"confidence_threshold lies in [0, 1], got {confidence_threshold!r}")
        self.confidence_threshold = confidence_threshold
        self.magika = magika

    def detect(self, text: str) -> Detection:
        """Return the kind of `text`; looks at no more than about 12 KB of it."""
        shape = self.by_shape(text)
        if shape.confidence >= self.confidence_threshold or not self.magika or len(text) < _MIN_MODEL_CHARS:
            return shape
        return self._by_model(text) or shape

    def by_shape(self, text: str) -> Detection:
        """Return the kind of `text` as far as the rules can say; the model is never asked."""
        sample = Sample(text)
        best = self._by_format(sample) or _NOTHING
        for rule in RULES if best is _NOTHING else ():
            guess = rule(sample) or _NOTHING
            if guess.confidence >= self.confidence_threshold:
                return guess
            best = max(best, guess, key=lambda either: either.confidence)
        return best

    def _by_format(self, sample: Sample) -> Detection | None:
        for name, one in formats().items():
            guess = one.detect(sample)
            if guess is not None and guess.confidence >= self.confidence_threshold:
                return replace(guess, format=name)
        return None

    def _by_model(self, text: str) -> Detection | None:
        if not installed("magika"):
            return None
        label, score = _ask_magika(text)
        threshold = _WEAK_THRESHOLD if label in _WEAK_LABELS else self.confidence_threshold
        if label not in _LABELS or score < threshold:
            return None
        content_type = _LABELS[label]
        language = None if label == "txt" else _NAMES.get(label, label)
        return Detection(content_type=content_type, language=language, confidence=score)


_loading: Final = Lock()


@lru_cache(maxsize=1)
def _magika() -> Any:
    from magika import Magika  # noqa: PLC0415 - .4 s and onnxruntime, for the few texts that need it

    return Magika()


def _ask_magika(text: str) -> tuple[str, float]:
    """Return the label of Magika and its score, from the two ends of `text`."""
    sample = text if len(text) <= 2 * _MODEL_CHARS else text[:_MODEL_CHARS] + text[-_MODEL_CHARS:]
    with _loading:
        model = _magika()
    result = model.identify_bytes(sample.encode("utf-8", "replace"))
    return str(result.prediction.dl.label), float(result.prediction.score)
