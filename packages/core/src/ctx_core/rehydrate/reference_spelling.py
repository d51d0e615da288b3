"""Words as they are typed: listed words with one slip in them, and words that begin with a listed stem."""

from __future__ import annotations

from collections import OrderedDict
from itertools import groupby
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

# Shorter words have too many neighbours: one letter turns "talked" into "walked".
_SHORTEST_MISSPELT: Final = 7
# The last letters carry the tense, so that "mentions" is no slip of "mentioned".
_ENDING: Final = 2
_KEPT: Final = 8_192


class Spelling:
    """Finds the listed words that a typed word can stand for.

    Args:
        words: The listed words; one that ends in `*` is a stem.
    """

    def __init__(self, words: Iterable[str]) -> None:
        listed = frozenset(words)
        stems = frozenset(word for word in listed if word.endswith("*"))
        self._words = listed - stems
        self._stems = stems
        self._stem_lengths = sorted({len(stem) - 1 for stem in stems})
        self._slips: dict[str, str] = {}
        self._swaps: dict[str, list[str]] = {}
        for word in sorted(self._words):
            if len(word) >= _SHORTEST_MISSPELT and word.isalpha():
                for slip in _drop_each_letter(word):
                    self._slips.setdefault(slip, word)
                self._slips.setdefault(_collapse(word), word)
                self._swaps.setdefault(_letters(word), []).append(word)
        self._read: OrderedDict[str, tuple[str, ...]] = OrderedDict()

    def read(self, token: str) -> tuple[str, ...]:
        """Return the token, and the listed words and stems it can stand for."""
        keys = self._read.get(token)
        if keys is None:
            keys = self._find_keys(token)
            if len(self._read) >= _KEPT:
                self._read = OrderedDict()
            self._read[token] = keys
        return keys

    def _find_keys(self, token: str) -> tuple[str, ...]:
        stems = tuple(
            stem
            for length in self._stem_lengths
            if length <= len(token) and (stem := f"{token[:length]}*") in self._stems
        )
        if token in self._words or stems or not _SHORTEST_MISSPELT - 1 <= len(token) <= 24:
            return (token, *stems)
        word = self._correct(token)
        return (token, word) if word else (token,)

    def _correct(self, token: str) -> str | None:
        """Return the listed word that the token misses by one letter left out, added, doubled or swapped."""
        if word := self._slips.get(token) or self._slips.get(_collapse(token)):
            return word
        for shorter in _drop_each_letter(token):
            if shorter in self._words and len(shorter) >= _SHORTEST_MISSPELT:
                return shorter
        return next((word for word in self._swaps.get(_letters(token), ()) if _is_swap(token, word)), None)


def _drop_each_letter(word: str) -> list[str]:
    return [word[:at] + word[at + 1 :] for at in range(1, len(word) - _ENDING)]


def _collapse(word: str) -> str:
    return "".join(letter for letter, _ in groupby(word))


def _letters(word: str) -> str:
    return "".join(sorted(word))


def _is_swap(token: str, word: str) -> bool:
    """Return True if two neighbouring letters changed places."""
    differing = [at for at, (a, b) in enumerate(zip(token, word, strict=True)) if a != b]
    return len(differing) == 2 and differing[1] == differing[0] + 1
