"""Words as they are typed: listed words with one slip in them, and words with a listed beginning or ending."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

# Shorter words have too many neighbours: one letter turns "talked" into "walked".
_SHORTEST_MISSPELT: Final = 7
# A letter too few or too many makes another form of a shorter verb: "sollen" is no slip of "sollten".
_SHORTEST_CUT: Final = 8
# The last letters carry the tense, so that "mentions" is no slip of "mentioned".
_ENDING: Final = 2
_LONGEST_MISSPELT: Final = 24
# What must stand before an ending: "chiste" is a word of its own, "me" no form of a verb.
_SHORTEST_ROOT: Final = 2
_KEPT: Final = 8_192


class Spelling:
    """Finds the listed words that a typed word can stand for.

    Args:
        words: The listed words; one that ends in `*` is a stem, one that begins with `*` an ending.
    """

    def __init__(self, words: Iterable[str]) -> None:
        listed = frozenset(words)
        self._affixes = frozenset(word for word in listed if "*" in word)
        self._words = listed - self._affixes
        self._stem_lengths = sorted({len(word) - 1 for word in self._affixes if word.endswith("*")})
        self._ending_lengths = sorted({len(word) - 1 for word in self._affixes if word.startswith("*")})
        self._slips: dict[str, str] = {}
        self._swaps: dict[str, list[str]] = {}
        for word in sorted(self._words):
            if len(word) >= _SHORTEST_MISSPELT and word.isalpha():
                for slip in _drop_each_letter(word) if len(word) >= _SHORTEST_CUT else ():
                    self._slips.setdefault(slip, word)
                self._slips.setdefault(_collapse(word), word)
                self._swaps.setdefault(_letters(word), []).append(word)
        self._read: dict[str, tuple[str, ...]] = {}

    def read(self, token: str) -> tuple[str, ...]:
        """Return the token, and the listed words, beginnings and endings it can stand for."""
        keys = self._read.get(token)
        if keys is None:
            keys = self._find_keys(token)
            if len(self._read) >= _KEPT:
                self._read = {}
            self._read[token] = keys
        return keys

    def _find_keys(self, token: str) -> tuple[str, ...]:
        affixes = self._find_affixes(token)
        if token in self._words or not _SHORTEST_MISSPELT - 1 <= len(token) <= _LONGEST_MISSPELT:
            return (token, *affixes)
        word = self._correct(token)
        return (token, word, *affixes) if word else (token, *affixes)

    def _find_affixes(self, token: str) -> tuple[str, ...]:
        stems = (f"{token[:length]}*" for length in self._stem_lengths if length <= len(token))
        endings = (f"*{token[-length:]}" for length in self._ending_lengths if length + _SHORTEST_ROOT <= len(token))
        return tuple(affix for affix in (*stems, *endings) if affix in self._affixes)

    def _correct(self, token: str) -> str | None:
        """Return the listed word that the token misses by one letter left out, added, doubled or swapped."""
        if word := self._slips.get(token) or self._slips.get(_collapse(token)):
            return word
        for shorter in _drop_each_letter(token):
            if shorter in self._words and len(shorter) >= _SHORTEST_CUT:
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
