"""What every compressor is given and gives back."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Final, Protocol

from ctx_core.tokens import TokenCounter, estimate

NATURAL_TOKENS: Final = 2_000
"""About what two pages of text take: a reader who asked for no budget reads as much in one go."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """How many tokens a result may take.

    Args:
        max_tokens: The most tokens; None asks for the natural level: folded without loss, as far as `natural_tokens` hold it.
        natural_tokens: At the natural level, only a folded form of more tokens loses its least worthy parts, and never further
            than down to this size.
        counter: Counts exactly.
    """

    max_tokens: int | None = None
    natural_tokens: int = NATURAL_TOKENS
    counter: TokenCounter = field(default_factory=TokenCounter)

    @property
    def is_natural(self) -> bool:
        """Whether nobody asked for a size."""
        return self.max_tokens is None

    def at_most_natural(self) -> Budget:
        """Return the budget of a text whose folded form is above the natural size."""
        return replace(self, max_tokens=self.natural_tokens) if self.max_tokens is None else self

    def cost(self, line: str) -> int:
        """Count a line and its newline exactly; the sum over lines is never below the count of the joined text by more than a token."""
        return self.counter.count(line) + 1

    def fits(self, text: str) -> bool:
        """Say whether `text` is within the budget: by its estimate where that is clear, else by one exact count."""
        # A character is at most four bytes, and a token at least one.
        if self.max_tokens is None or len(text) <= self.max_tokens // 4:
            return True
        if estimate(text) > 2 * self.max_tokens:
            return False
        return self.counter.count(text) <= self.max_tokens


@dataclass(frozen=True, slots=True, kw_only=True)
class Omission:
    """What was left out at one place, as the result itself states it there.

    Args:
        what: The unit, in the plural: `lines`, `rows`, `hunks`, `matches`, `sentences`, `functions`, …
        count: How many of them; always true.
        where: Where they stood, such as `lines 4-90` or `$.items`, if that can be said in a word.
    """

    what: str
    count: int
    where: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Compressed:
    """A shorter text of the same kind.

    Args:
        text: The text; what it keeps it quotes as it was, and what it drops it counts in place.
        omissions: What was left out; empty exactly when nothing was.
    """

    text: str
    omissions: tuple[Omission, ...] = ()

    @property
    def lossless(self) -> bool:
        """Whether every fact of the input can be read back from the text alone."""
        return not self.omissions


class Compressor(Protocol):
    """Makes a text of one kind shorter."""

    def compress(self, text: str, budget: Budget, *, query: str | None = None) -> Compressed:
        """Return `text` at its natural level, or at most `budget.max_tokens` long where that can be reached.

        Lossless steps come first, and the first result that fits is returned. A text that cannot be read as this kind
        comes back as it is. Deterministic, linear in `text`, and never an exception.
        """
        ...
