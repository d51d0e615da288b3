"""From the parts of a text to a shorter text that is within its budget, footer included."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from ctx_core.optimize.compressors.base import Budget, Compressed, Omission
from ctx_core.optimize.content import ContentType
from ctx_core.optimize.dispatch import compress_part
from ctx_core.optimize.envelopes import is_label
from ctx_core.optimize.fit import clip, shares
from ctx_core.tokens import estimate

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ctx_core.optimize.segment import Segment
    from ctx_core.tokens import TokenCounter

_ATTEMPTS: Final = 4
_WELL_USED: Final = 0.88
"""A result that takes this share of its budget is not drawn again: the law asks for .85 of nine results in ten."""

_LEAST_USED: Final = 0.6
"""Below this share of a budget, quoting lines as they come says more; the law asks for it always."""
# Words of a person weigh more than what they are about.
_SPOKEN_WEIGHT: Final = 20.0
_WRITTEN: Final = frozenset((ContentType.TEXT, ContentType.CODE, ContentType.MARKUP))


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """A shorter text as it would be shown.

    Args:
        text: The text, its footer included.
        tokens: Its tokens, exactly.
        omissions: What it leaves out; empty exactly when nothing is.
        body: The text without its footer.
    """

    text: str
    tokens: int
    omissions: tuple[Omission, ...]
    body: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Assignment:
    """What to write.

    Args:
        text: The text as it came.
        tokens: Its tokens.
        carried: Hints that it holds already; they end the result in any case.
        parts: Its parts, each with its kind, without those hints.
        max_tokens: The most tokens of the result; None asks for the natural level.
        natural_tokens: The size down to which the natural level leaves things out.
        query: What the reader wants to know.
        footer: What ends the result if anything is left out.
        compress_code: Whether code has a natural level below what it is.
        counter: Counts tokens.
    """

    text: str
    tokens: int
    carried: Sequence[str]
    parts: Sequence[Segment]
    max_tokens: int | None
    natural_tokens: int
    query: str | None
    footer: str
    compress_code: bool
    counter: TokenCounter

    @property
    def kind(self) -> ContentType:
        """What most of the text is."""
        largest = max(self.parts, key=lambda part: 0 if part.spoken else len(part.text), default=None)
        return largest.detection.content_type if largest and largest.detection else ContentType.TEXT

    def draft(self) -> Draft:
        """Compress all parts; over budget, ask again for less, and at last clip."""
        if self.max_tokens is None:
            return self._sealed(self._compressed(None))
        room = max(1, self.max_tokens - self.counter.count(f"\n{self.footer}"))
        best = self._fitted(room, self.max_tokens)
        if best is not None and (not best.omissions or best.tokens >= _LEAST_USED * self.max_tokens):
            return best
        clipped = self._clipped(room, self.max_tokens)
        return clipped if best is None or clipped.tokens > best.tokens else best

    def _fitted(self, room: int, max_tokens: int) -> Draft | None:
        """Compress for a bit less where the result is too long and for more where much room is left; None where none fits."""
        best: Draft | None = None
        fits, exceeds, allowed = 0, 4 * room, room
        for _ in range(_ATTEMPTS):
            result = self._sealed(self._compressed(allowed))
            if result.tokens > max_tokens:
                exceeds = allowed
                allowed = max(fits + 1, int(0.95 * allowed * max_tokens / result.tokens))
            else:
                fits = allowed
                best = result if best is None or result.tokens > best.tokens else best
                if not result.omissions or result.tokens >= _WELL_USED * max_tokens:
                    break
                allowed = int(allowed * max_tokens / max(1, result.tokens))
            if not fits < allowed < exceeds:
                allowed = (fits + exceeds) // 2
        return best

    def _clipped(self, room: int, max_tokens: int) -> Draft:
        """Keep what matters most by lines and pieces of them; in front of the footer it may cost a token more than by itself."""
        source = "".join(part.text for part in self.parts)
        while True:
            result = self._sealed(clip(source, room, counter=self.counter, query=self._question))
            excess = result.tokens - max_tokens
            if excess <= 0 or room <= 0:
                return result
            room -= excess

    def _compressed(self, allowed: int | None) -> Compressed:
        folded = self._folded(allowed) if allowed is not None and len(self.parts) > 1 else None
        if folded is not None:
            return folded
        budgets = self._shares(allowed)
        done: dict[int, Compressed] = {}
        spare = 0
        # What programs print folds to less than its share; what people write can use what that leaves.
        for i in sorted(range(len(self.parts)), key=lambda i: (_is_written(self.parts[i]), i)):
            share = budgets[i] + spare
            budget = Budget(max_tokens=None if allowed is None else share, natural_tokens=share, counter=self.counter)
            done[i] = compress_part(self.parts[i], budget, query=self._question, compress_code=self.compress_code)
            if len(self.parts) > 1:
                spare = max(0, share - self.counter.count(done[i].text))
        return Compressed(
            text="".join(done[i].text for i in range(len(done))),
            omissions=tuple(omission for i in range(len(done)) for omission in done[i].omissions),
        )

    def _folded(self, allowed: int) -> Compressed | None:
        """Return all parts without loss if together they are within `allowed`, whatever the share of each would be."""
        budget = Budget(natural_tokens=allowed, counter=self.counter)
        texts: list[str] = []
        for part in self.parts:
            shorter = compress_part(part, budget, query=self._question, compress_code=False)
            texts.append(shorter.text)
            if shorter.omissions or estimate(shorter.text) > 2 * allowed:
                return None
        text = "".join(texts)
        return Compressed(text=text) if self.counter.count(text) <= allowed else None

    def _shares(self, allowed: int | None) -> Sequence[int]:
        if allowed is None:
            allowed = max(1, self.natural_tokens - self.counter.count(f"\n{self.footer}"))
        if len(self.parts) <= 1:
            return [allowed] * len(self.parts)
        guesses = [estimate(part.text) for part in self.parts]
        costs = [1 + guess * self.tokens // max(1, sum(guesses)) for guess in guesses]
        return shares(costs, [_SPOKEN_WEIGHT if part.spoken else 1.0 for part in self.parts], allowed)

    @property
    def _question(self) -> str | None:
        """What is asked: by the caller, or else by the words around what was pasted."""
        said = (part.text for part in self.parts if part.spoken and not is_label(part.text))
        return self.query or " ".join(said)[:500] or None

    def _sealed(self, shorter: Compressed) -> Draft:
        text = shorter.text
        if self.carried or not shorter.lossless:
            text = "\n".join(filter(None, (text.rstrip("\n"), self.footer)))
        tokens = self.tokens if text == self.text else self.counter.count(text)
        return Draft(text=text, tokens=tokens, omissions=shorter.omissions, body=shorter.text)


def _is_written(part: Segment) -> bool:
    return not part.spoken and part.detection is not None and part.detection.content_type in _WRITTEN
