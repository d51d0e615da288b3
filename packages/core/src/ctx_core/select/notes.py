"""The one place that writes and reads notes of what was left out, such as `[… 5 lines]`.

A note stands where the units stood that it counts. Whatever reads a text again, be it a second pass of the optimizer or a
test, reads the counts from here.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

MARK: Final = "[… "
"""How every note begins; a text without it holds none."""

NOTE_TOKENS: Final = 9
"""The most tokens of a note of one kind of unit, its line end included, in `cl100k_base`: `[… 12345 lines]` takes 8."""

_PLURAL: Final = re.compile(r"\b(line|file|note|bodie|matche)s\b")
_SINGULAR: Final = re.compile(r"\b(line|file|note|body|match)\b")
_IRREGULAR: Final = {"bodie": "body", "matche": "match"}
_COUNT: Final = re.compile(r"(\d[\d,]{0,17}) ([a-z][a-z ]{0,40}?)(?: left out)?(?=, |$)")
_NOTE: Final = re.compile(r"\[… ([^\]\n]{1,200})\]")


def omission_note(count: int, what: str, *, suffix: str = "") -> str:
    """Return `[… 5 lines]`: `count` units called `what`, in the plural, are missing here."""
    return f"{MARK}{count_phrase(count, what)}{suffix}]"


def count_phrase(count: int, what: str) -> str:
    """Return `1 line`, `2 lines`."""
    return f"{count} {what if count != 1 else _one(what)}"


def _one(what: str) -> str:
    return singular(what) if _PLURAL.search(what) else what.removesuffix("s")


def spell_counts(tally: Mapping[str, int]) -> str:
    """Return counts as `3 files, 1 changed line`."""
    return ", ".join(count_phrase(count, what) for what, count in tally.items())


def read_omission_notes(text: str) -> Counter[str]:
    """Return what the notes of `text` count, by unit in the plural; what reads as none of ours is text."""
    found: Counter[str] = Counter()
    for note in _NOTE.finditer(text) if MARK in text else ():
        for count, what in _COUNT.findall(note[1]):
            many = plural(what)
            found[many if many != what or what.endswith("s") else f"{what}s"] += int(count.replace(",", ""))
    return found


def singular(what: str) -> str:
    """Return the singular of a unit such as `changed lines`."""
    return _PLURAL.sub(lambda match: _IRREGULAR.get(match[1], match[1]), what)


def plural(what: str) -> str:
    """Return the plural of a unit such as `changed line`."""
    return _SINGULAR.sub(lambda match: {"body": "bodies", "match": "matches"}.get(match[1], f"{match[1]}s"), what)
