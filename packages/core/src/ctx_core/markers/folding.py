"""How characters look to a reader: without what is invisible, full width, accents and letters of other scripts."""

from __future__ import annotations

import re
import unicodedata
from typing import Final

# The letters of Greek and Cyrillic that Unicode's confusables.txt maps to a letter of our tags, and other bars and slashes.
_LOOKS_LIKE: Final = {
    "a": "аα", "b": "ь", "c": "сϲ", "d": "ԁ", "e": "еε", "g": "ɡ", "h": "һн", "i": "іιıɩ", "k": "кκ", "m": "м", "n": "пη",
    "o": "оοσ", "p": "рρ", "r": "гᴦ", "s": "ѕ", "t": "тτ", "u": "υս", "v": "νѵ", "w": "ѡω", "x": "хχ", "y": "уγү",
    "|": "ǀ∣│❘⏐¦┃", "/": "⁄∕╱⧸", ">": "›❯⟩〉˃ᐳ❱", "]": "⁆】⟧〕", "-": "—–―‐‑‒−▁",
}  # fmt: skip
_CONFUSABLE: Final = {char: letter for letter, chars in _LOOKS_LIKE.items() for char in chars}
# Blank, though Unicode counts them as letters or symbols.
_BLANK: Final = "\u115f\u1160\u2800"
_INVISIBLE: Final = frozenset(("Mn", "Me", "Cf", "Cc", "Cs", "Co"))
_REMEMBERED: Final = 4096
_SPACES: Final = re.compile(" +")
_WINDOW: Final = 256

OTHER: Final = "\ufffd"
"""What every other character looks like."""

LEADING: Final = "".join(filter(lambda char: char.isspace() or not char.isprintable(), map(chr, range(0xA1)))) + (
    "/\\⁄∕╱⧸／＼\u00ad\u200b\u200c\u200d\u2060\ufeff\u2028\u2029\u3000\u00a0"
)
"""What may stand between the bracket of a tag and its name."""


class _Folds(dict[int, str]):
    """What each code point looks like, worked out when it is first met."""

    def __missing__(self, code: int) -> str:
        folded = _fold_char(chr(code))
        if len(self) < _REMEMBERED:
            self[code] = folded
        return folded


def _fold_char(char: str) -> str:
    if char.isspace():
        return " "
    return "".join(map(_fold_part, unicodedata.normalize("NFKD", char).casefold()))


def _fold_part(char: str) -> str:
    if char in _CONFUSABLE:
        return _CONFUSABLE[char]
    if char in _BLANK or unicodedata.category(char) in _INVISIBLE:
        return ""
    return " " if char.isspace() else char if char.isascii() else OTHER


_FOLDS: Final = _Folds()


def fold_head(text: str, size: int) -> str:
    """Return what the start of `text` looks like, in about `size` lower-case ASCII characters; a run of spaces is one."""
    folded = ""
    for start in range(0, len(text), _WINDOW):
        folded = _SPACES.sub(" ", folded + text[start : start + _WINDOW].translate(_FOLDS))
        if len(folded) >= size:
            break
    return folded
