"""Words that name times, in all languages of `data/date_expressions`: a text becomes items with a meaning or none.

A file lists words by meaning. `numbers`, `ordinals`, `months` and `weekdays` are lists in order, from 0, 1, January and Monday;
`weak_months` and `weak_weekdays` are words with another meaning too, such as `may`; `other` are rows in which a word has that
other meaning. In an entry `_` joins words in a row.
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Final

from ctx_core.rehydrate.reference_text import split_words, split_words_with_spans

if TYPE_CHECKING:
    from collections.abc import Iterator

# Days of a unit, and how far around "N weeks ago" people mean, in days either side.
UNITS: Final = {
    "hour": (0, 0),
    "day": (1, 0),
    "week": (7, 3),
    "fortnight": (14, 0),
    "month": (30, 15),
    "year": (365, 120),
}
_PLAIN: Final = (
    *("ago", "ago_before", "last", "this", "on", "in", "during", "of", "to", "article", "our", "talk", "last_talk"),
    *("number_word", "month_mark", "day_mark", "other"),
)
_DAYS_BACK: Final = {"today": 0, "yesterday": 1, "before_yesterday": 2}
_NUMERIC: Final = re.compile(r"(?<![\w/.-])(\d{1,4})([-/.])(\d{1,2})(?:\2(\d{4}|\d{2}))?(?![\w/-])")
_DIGITS: Final = re.compile(r"(\d{1,4})(st|nd|rd|th|er|ere|eme|e|o|a|de)?")
_TENS: Final = (20, 30, 40, 50)
_BETWEEN_TENS: Final = frozenset(("y", "e", "et", "und"))


@dataclass(frozen=True, slots=True)
class Item:
    """One word or row of words with its meanings, each a name with a value."""

    meanings: dict[str, Any]
    start: int
    end: int


Lexicon = dict[str, list[tuple[tuple[str, ...], dict[str, Any]]]]


def read_items(text: str) -> list[Item]:
    """Return the words of `text` in order, with what they mean as a part of a date."""
    lexicon = load_lexicon()
    words = split_words_with_spans(text)
    numeric = {found.start(): found for found in _NUMERIC.finditer(text)}
    items: list[Item] = []
    at = 0
    while at < len(words):
        word, start, end = words[at]
        if found := numeric.get(start):
            end = found.end()
            items.append(Item({"date": (found[1], found[2], found[3], found[4])}, start, end))
            at += 1
            while at < len(words) and words[at][1] < end:
                at += 1
            continue
        length, meanings = _look_up(lexicon, words, at)
        items.append(Item(meanings or _read_digits(word), start, words[at + length - 1][2]))
        at += length
    has_tens = any(item.meanings.get("number") in _TENS for item in items)
    return list(_join_tens(items, text)) if has_tens else items


def _look_up(lexicon: Lexicon, words: list[tuple[str, int, int]], at: int) -> tuple[int, dict[str, Any]]:
    """Return the longest entry that begins at a word: how many words it has and what it means."""
    for entry, meanings in lexicon.get(words[at][0], ()):
        if len(entry) == 1 or tuple(word for word, _, _ in words[at : at + len(entry)]) == entry:
            return len(entry), meanings
    return 1, {}


def _read_digits(word: str) -> dict[str, Any]:
    found = _DIGITS.fullmatch(word)
    if not found:
        return {}
    number = int(found[1])
    meanings: dict[str, Any] = {"ordinal" if found[2] else "number": number, "digits": number}
    if found[2]:
        meanings["ordinal_digits"] = number
    if 1900 <= number <= 2099 and not found[2]:
        meanings["year"] = number
    return meanings


def _join_tens(items: list[Item], text: str) -> Iterator[Item]:
    """Join `twenty first`, `treinta y uno` and the like into one number."""
    at = 0
    while at < len(items):
        item = items[at]
        tens = item.meanings.get("number")
        step = (
            2 if at + 2 < len(items) and text[items[at + 1].start : items[at + 1].end].lower() in _BETWEEN_TENS else 1
        )
        after = items[at + step].meanings if at + step < len(items) else {}
        kind = next((kind for kind in ("ordinal", "number") if 1 <= after.get(kind, 0) <= 9), None)
        written = (
            not text[item.start].isdigit() and at + step < len(items) and not text[items[at + step].start].isdigit()
        )
        if tens in _TENS and kind and written:
            yield Item({kind: tens + after[kind]}, item.start, items[at + step].end)
            at += step + 1
        else:
            yield item
            at += 1


@lru_cache(maxsize=1)
def load_lexicon() -> Lexicon:
    """Read the word lists of all languages; entries of one first word stand longest first."""
    entries: dict[tuple[str, ...], dict[str, Any]] = {}
    for file in sorted(files("ctx_core").joinpath("data/date_expressions").iterdir(), key=lambda file: file.name):
        if file.name.endswith(".toml"):
            for words, meaning, value in _read_language(
                file.name.removesuffix(".toml"), tomllib.loads(file.read_text(encoding="utf-8"))
            ):
                for word in words.split():
                    for spelling in {word, word.replace("'", "")}:
                        if row := split_words(spelling.replace("_", " ")):
                            entries.setdefault(row, {}).setdefault(meaning, value)
    lexicon: Lexicon = {}
    for row in sorted(entries, key=len, reverse=True):
        lexicon.setdefault(row[0], []).append((row, entries[row]))
    return lexicon


def _read_language(language: str, lists: dict[str, Any]) -> Iterator[tuple[str, str, Any]]:
    """Yield words with their meaning and its value."""
    for name, first, step in (("number", 0, 1), ("ordinal", 1, 1), ("month", 1, 1), ("weekday", 0, 1)):
        for at, words in enumerate(lists.get(f"{name}s", ())):
            yield words, name, first + at * step
        for at, words in enumerate(lists.get(f"weak_{name}s", ())):
            yield words, f"weak_{name}", first + at
    for name, kind in (("tens", "number"), ("ordinal_tens", "ordinal")):
        for at, words in enumerate(lists.get(name, ())):
            yield words, kind, 30 + 10 * at
    for unit in (*UNITS, "weekend"):
        yield lists.get(unit, ""), "unit", unit
    for name in _PLAIN:
        yield lists.get(name, ""), name, language
    for name, days in _DAYS_BACK.items():
        yield lists.get(name, ""), "days_back", days
