"""The words of a message that its author says, in sentences: no code, no quotation, no forwarded mail."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

# People ask at the beginning or the end of a message; what lies between is what they pasted.
_READ_CHARS: Final = 1_500
_QUOTATION_CHARS: Final = 400
# A full stop after one or two digits is an ordinal's, as in "am 22. März".
_MARKS: Final = "\u0300-\u036f\u064b-\u0652\u0900-\u0963\u0971-\u097f"  # signs that belong to the letter before them
_TOKEN: Final = re.compile(rf"[\w{_MARKS}]+|(?<!\b\d)(?<!\b\d\d)\.(?=\s|\Z)|[!?;:…\n。！？；：؟।]")
_UNSPACED: Final = "\u3005\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af"  # Han, kana, Hangul: one sign is one token
_SIGN: Final = re.compile(rf"[{_UNSPACED}]|[^{_UNSPACED}]+")
_HAS_SIGN: Final = re.compile(f"[{_UNSPACED}]")
_INLINE_CODE: Final = re.compile(r"`[^`\n]{0,400}`")
_QUOTATION: Final = re.compile(
    rf'"[^"\n]{{1,{_QUOTATION_CHARS}}}"|“[^”\n]{{1,{_QUOTATION_CHARS}}}”|„[^“”"\n]{{1,{_QUOTATION_CHARS}}}[“”"]'
    rf"|«[^»\n]{{1,{_QUOTATION_CHARS}}}»|「[^」\n]{{1,{_QUOTATION_CHARS}}}」|『[^』\n]{{1,{_QUOTATION_CHARS}}}』"
)
_BREAKS: Final = frozenset(".!?;…\n。！？；؟।")
_COLONS: Final = frozenset(":：")
_QUESTION_MARKS: Final = frozenset("?？؟")
# Letters that Unicode does not decompose, and Arabic letters that are written in two ways.
_LETTERS: Final = str.maketrans(
    {"ł": "l", "ß": "ss", "ı": "i", "ø": "o", "đ": "d", "æ": "ae", "œ": "oe", "ى": "ي", "ة": "ه", "ـ": None}
)


@dataclass(frozen=True, slots=True)
class Sentence:
    """Words up to the next full stop, colon or line end.

    Args:
        tokens: The words, folded: lower case, no accents.
        spans: Where each word stands in the text that was read.
        is_question: Whether a question mark ends it.
        has_colon: Whether a colon ends it.
    """

    tokens: tuple[str, ...]
    spans: tuple[tuple[int, int], ...]
    is_question: bool
    has_colon: bool


def extract_own_words(text: str) -> str:
    """Return what the author says: without code, quoted lines and quotations, and only both ends of a long text."""
    if "```" in text:
        text = "\n".join(text.split("```")[::2])
    if ">" in text:
        text = "\n".join(line for line in text.split("\n") if not line.lstrip().startswith(">"))
    if len(text) > 2 * _READ_CHARS:
        text = f"{text[:_READ_CHARS]}\n{text[-_READ_CHARS:]}"
    if "`" in text:
        text = _INLINE_CODE.sub(" ", text)
    said = _QUOTATION.sub(" ", text)
    # A message that is one quotation is what its author says.
    return said if _TOKEN.search(said) else text


def split_sentences(text: str) -> list[Sentence]:
    """Return the sentences of `text`, each with at least one word."""
    sentences: list[Sentence] = []
    tokens: list[str] = []
    spans: list[tuple[int, int]] = []
    for found in _TOKEN.finditer(text):
        word = found[0]
        if word in _BREAKS or word in _COLONS:
            if tokens:
                sentences.append(Sentence(tuple(tokens), tuple(spans), word in _QUESTION_MARKS, word in _COLONS))
                tokens, spans = [], []
        elif word.isascii():
            tokens.append(word.lower())
            spans.append(found.span())
        else:
            start = found.start()
            for part, offset in _split_signs(word):
                tokens.append(fold(part))
                spans.append((start + offset, start + offset + len(part)))
    if tokens:
        sentences.append(Sentence(tuple(tokens), tuple(spans), is_question=False, has_colon=False))
    return sentences


def split_words_with_spans(text: str) -> list[tuple[str, int, int]]:
    """Return the folded words of `text`, each with where it begins and ends; sentence ends are skipped."""
    words: list[tuple[str, int, int]] = []
    for found in _TOKEN.finditer(text):
        word, start = found[0], found.start()
        if word in _BREAKS or word in _COLONS:
            continue
        for part, offset in ((word, 0),) if word.isascii() else _split_signs(word):
            words.append((fold(part), start + offset, start + offset + len(part)))
    return words


def split_words(text: str) -> tuple[str, ...]:
    """Return the folded words of a text without sentence ends, such as an entry of a word list."""
    return tuple(token for sentence in split_sentences(text) for token in sentence.tokens)


@lru_cache(maxsize=4096)
def fold(word: str) -> str:
    """Return a word in lower case without accents; signs of unspaced scripts and of Devanagari stay as they are."""
    lowered = word.lower()
    if lowered.isascii() or _HAS_SIGN.match(lowered):
        return lowered
    if "\u0900" <= lowered[0] <= "\u097f":
        return lowered.replace("\u093c", "")
    decomposed = unicodedata.normalize("NFKD", lowered)
    return "".join(char for char in decomposed if not unicodedata.combining(char)).translate(_LETTERS)


def _split_signs(word: str) -> list[tuple[str, int]]:
    if not _HAS_SIGN.search(word):
        return [(word, 0)]
    return [(found[0], found.start()) for found in _SIGN.finditer(word)]
