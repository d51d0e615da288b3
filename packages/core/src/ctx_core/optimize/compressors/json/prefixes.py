"""Factors out what many addresses and paths of a document start with."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_NAMES: Final = "123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"
"""One character names each prefix, whatever follows it."""

_MIN_LENGTH: Final = 16
_MIN_USES: Final = 4
_TAKEN: Final = re.compile(r"\$[0-9A-Z]")


def factor_prefixes(text: str, words: Iterable[object]) -> tuple[str, Mapping[str, str]]:
    """Return `text` with `$1`, `$2`, … for shared starts of paths, and what each of them stands for.

    A text that already spells such a name comes back as it is.
    """
    if _TAKEN.search(text):
        return text, {}
    names: dict[str, str] = {}
    for prefix in _candidates(words):
        if text.count(prefix) >= _MIN_USES:
            names[f"${_NAMES[len(names)]}"] = prefix
            text = text.replace(prefix, [*names][-1])
            if len(names) == len(_NAMES):
                break
    return text, names


def _candidates(words: Iterable[object]) -> list[str]:
    """Return prefixes that end at a slash and are shared, longest first; only the longest of those with equal use."""
    counts: Counter[str] = Counter()
    for word in words:
        if isinstance(word, str) and "/" in word[_MIN_LENGTH - 1 :] and "://" in word:
            parts = word.split("/")
            counts.update("/".join(parts[:depth]) + "/" for depth in range(3, min(len(parts), 10)))
    best: set[str] = set()
    for prefix in sorted(counts, key=lambda prefix: (len(prefix), prefix)):
        parent = prefix[: prefix.rindex("/", 0, -1) + 1]
        if counts[prefix] >= _MIN_USES and len(prefix) >= _MIN_LENGTH:
            if counts.get(parent) == counts[prefix]:
                best.discard(parent)
            best.add(prefix)
    return sorted(best, key=lambda prefix: (-len(prefix), prefix))
