"""Frames: short patterns over words that say how a language refers to something, each matched in linear time.

A frame is written on one line. Its parts stand in their order in the sentence:

- `what` matches this word, `last_time` these words in a row, `remembe*` words that begin so, `*aste` words that end so;
- `SAID` matches any entry of the word list of that name, `what|which|SAID` any of these;
- `we?` matches the same or nothing, `..4` up to four words;
- `!to|from` matches nothing, where none of these follows;
- `^` and `$` match the beginning and the end of a sentence, fillers such as "well" and "please" skipped;
- `$?` matches the end of a question, `:` the end of a sentence at a colon.

No part repeats without bound, so a frame looks at a bounded number of words from each place where it can begin.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from ctx_core.errors import StoreCorrupt
from ctx_core.rehydrate.reference_text import split_words

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

Entries = tuple[tuple[str, ...], ...]
WordLists = dict[str, Entries]

_UMLAUTS: Final = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue"})


@dataclass(frozen=True, slots=True)
class Reading:
    """A sentence as frames see it.

    Args:
        keys: For each word the entries that it can stand for: itself, and each listed beginning of it.
        words: All keys.
        first: Index of the first word that is no filler.
        last: Index after the last word that is no filler.
        is_question: Whether a question mark ends it.
        has_colon: Whether a colon ends it.
    """

    keys: tuple[tuple[str, ...], ...]
    words: frozenset[str]
    first: int
    last: int
    is_question: bool
    has_colon: bool


@dataclass(frozen=True, slots=True)
class _Words:
    """A part that matches one of several entries, each a row of words, by the first word."""

    entries: dict[str, tuple[tuple[str, ...], ...]]
    is_optional: bool = False

    def advance(self, reading: Reading, positions: set[int]) -> set[int]:
        ends = set(positions) if self.is_optional else set[int]()
        keys = reading.keys
        for at in positions:
            for key in keys[at] if at < len(keys) else ():
                for rest in self.entries.get(key, ()):
                    if not rest or _has_row(keys, at + 1, rest):
                        ends.add(at + 1 + len(rest))
        return ends


def _has_row(keys: tuple[tuple[str, ...], ...], at: int, row: tuple[str, ...]) -> bool:
    return at + len(row) <= len(keys) and all(word in keys[at + i] for i, word in enumerate(row))


@dataclass(frozen=True, slots=True)
class _Gap:
    longest: int

    def advance(self, reading: Reading, positions: set[int]) -> set[int]:
        length = len(reading.keys)
        return {at for start in positions for at in range(start, min(start + self.longest, length) + 1)}


@dataclass(frozen=True, slots=True)
class _Not:
    words: _Words

    def advance(self, reading: Reading, positions: set[int]) -> set[int]:
        return {at for at in positions if not self.words.advance(reading, {at})}


@dataclass(frozen=True, slots=True)
class _Place:
    mark: str

    def advance(self, reading: Reading, positions: set[int]) -> set[int]:
        if self.mark == "^":
            return {at for at in positions if at <= reading.first}
        if (self.mark == "$?" and not reading.is_question) or (self.mark == ":" and not reading.has_colon):
            return set()
        return {at for at in positions if at >= reading.last}


_Part = _Words | _Gap | _Not | _Place


@dataclass(frozen=True, slots=True)
class Frame:
    """A compiled frame.

    Args:
        text: The line that it was compiled from.
        parts: Its parts, in order.
        needs: For each part that must match a word, the first words that can match it.
    """

    text: str
    parts: tuple[_Part, ...]
    needs: tuple[frozenset[str], ...] = field(repr=False)

    def list_words(self) -> frozenset[str]:
        """Return all words that the frame looks for."""
        return frozenset(word for part in self.parts for word in _list_words(part))

    def find(self, reading: Reading) -> tuple[int, int] | None:
        """Return where in a sentence the frame first matches."""
        words = reading.words
        for need in self.needs:
            if need.isdisjoint(words):
                return None
        for start in self._starts(reading):
            positions = {start}
            for part in self.parts:
                positions = part.advance(reading, positions)
                if not positions:
                    break
            else:
                return start, max(positions)
        return None

    def _starts(self, reading: Reading) -> Iterable[int]:
        match self.parts[0]:
            case _Words():
                listed = self.needs[0] & reading.words
                return [at for at, keys in enumerate(reading.keys) if keys[0] in listed or not listed.isdisjoint(keys)]
            case _:
                return range(reading.first + 1)


def _list_words(part: _Part) -> Iterable[str]:
    match part:
        case _Words(entries=entries):
            return (*entries, *(word for rests in entries.values() for rest in rests for word in rest))
        case _Not(words=words):
            return _list_words(words)
        case _:
            return ()


def read_word_lists(lists: Mapping[str, str]) -> WordLists:
    """Return word lists compiled; a list may name lists that stand before it."""
    compiled: WordLists = {}
    for name, text in lists.items():
        compiled[name] = tuple(dict.fromkeys(entry for word in text.split() for entry in _read_entries(word, compiled)))
    return compiled


def read_frame(text: str, lists: WordLists) -> Frame:
    """Compile one line."""
    parts = tuple(_read_part(part, lists) for part in text.split())
    needs = tuple(frozenset(part.entries) for part in parts if isinstance(part, _Words) and not part.is_optional)
    first = parts[0]
    if not needs or not (isinstance(first, _Place) or (isinstance(first, _Words) and not first.is_optional)):
        raise StoreCorrupt(f"frame {text!r} must begin with a word or ^, and hold a word that is not optional")
    return Frame(text, parts, needs)


def _read_part(text: str, lists: WordLists) -> _Part:
    if text in ("^", "$", "$?", ":"):
        return _Place(text)
    if text.startswith(".."):
        return _Gap(int(text[2:]))
    if text.startswith("!"):
        return _Not(_read_words(text[1:], lists, is_optional=False))
    is_optional = text.endswith("?")
    return _read_words(text.removesuffix("?"), lists, is_optional=is_optional)


def _read_words(text: str, lists: WordLists, *, is_optional: bool) -> _Words:
    by_first: dict[str, list[tuple[str, ...]]] = {}
    for word in text.split("|"):
        for first, *rest in _read_entries(word, lists):
            by_first.setdefault(first, []).append(tuple(rest))
    return _Words({first: tuple(dict.fromkeys(rests)) for first, rests in by_first.items()}, is_optional)


def _read_entries(word: str, lists: WordLists) -> Entries:
    """Return the rows of words that an entry stands for: a list's, or those of its spellings."""
    if word.isupper() and word.isascii():
        if word not in lists:
            raise StoreCorrupt(f"there is no word list {word}")
        return lists[word]
    if word.isascii() and "'" not in word:
        return (_read_row(word),)
    # Chat spells "don't" as "dont" and "ä" as "ae".
    spellings = dict.fromkeys((word, word.replace("'", ""), word.translate(_UMLAUTS)))
    return tuple(dict.fromkeys(_read_row(spelling) for spelling in spellings))


def _read_row(text: str) -> tuple[str, ...]:
    stem = text.strip("*").replace("_", " ")
    row = tuple(stem.replace("'", " ").replace("-", " ").split()) if stem.isascii() else split_words(stem)
    if not row:
        raise StoreCorrupt(f"{text!r} holds no word")
    if text.startswith("*"):
        return (f"*{row[0]}", *row[1:])
    return (*row[:-1], f"{row[-1]}*") if text.endswith("*") else row
