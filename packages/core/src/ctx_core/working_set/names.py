"""Words and names in text: what a question and a stored fact may share.

A *word* is a run of letters or of digits, in lower case. A *name* is what a tool call passes on as it is: an identifier, a path, a
date, a code, an address. Names are told from words by their form alone, so no list of tools or fields is needed.
"""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import pairwise
from typing import Final

_WORD: Final = re.compile(r"[^\W\d_]+|\d+")
_TOKEN: Final = re.compile(r"[\w@#./:+-]+")
_EDGES: Final = "./:+-#@"

EXACT: Final = 1.0
"""A form that mixes letters and digits: an id, a code, a version, a line number in a file."""

COMPOSED: Final = 0.8
"""A form that joins parts: `snake_case`, `camelCase`, a path, a host, a date, a long number."""

NUMBER: Final = 0.4
"""A long number: it may be an id, and as well an amount."""

PLAIN: Final = 0.0
"""An ordinary word, a short number, a time of day."""

# Shorter forms, such as `a1` or `1.`, are too common to be looked up by.
_SHORTEST_NAME: Final = 3
_SHORTEST_NUMBER: Final = 5
_DATE_DIGITS: Final = 6


@lru_cache(maxsize=65_536)
def name_weight(text: str) -> float:
    """Return how surely `text` is a name that can only be repeated, not reworded: 0 for plain words, 1 for ids.

    Example:
        >>> name_weight("credit_card_2929732"), name_weight("src/app.py"), name_weight("economy")
        (1.0, 0.8, 0.0)
    """
    if len(text) < _SHORTEST_NAME or any(map(str.isspace, text)):
        return PLAIN
    has_digit = any(map(str.isdigit, text))
    has_letter = any(map(str.isalpha, text))
    if has_digit and has_letter:
        return NUMBER if _is_time(text) else EXACT
    if has_letter:
        return COMPOSED if _is_composed(text) else PLAIN
    return _number_weight(text) if has_digit else PLAIN


def _is_time(text: str) -> bool:
    """Return True for a point in time such as `2024-05-01T08:28:51Z` or `7:30pm`."""
    return ":" in text and not set(map(str.lower, filter(str.isalpha, text))) - set("tzampm")


def _number_weight(text: str) -> float:
    digits = sum(map(str.isdigit, text))
    if digits >= _DATE_DIGITS and sum(map(text.count, "-/.")) > 1:
        return COMPOSED
    return NUMBER if digits >= _SHORTEST_NUMBER and ":" not in text else PLAIN


def _is_composed(text: str) -> bool:
    if any(mark in text[1:-1] for mark in "_./@#"):
        return True
    if text[1:].islower() or text.isupper():
        return False
    return any(one.islower() and two.isupper() for one, two in pairwise(text))


def find_tokens(text: str) -> list[str]:
    """Return the words and names of `text` in order, without the punctuation around them."""
    return [token for found in _TOKEN.findall(text) if (token := found.strip(_EDGES))]


@lru_cache(maxsize=512)
def token_set(text: str) -> frozenset[str]:
    """Return the words and names of `text`; remembered, since the messages of a window are asked for at every step."""
    return frozenset(find_tokens(text))


def find_names(text: str) -> list[str]:
    """Return the names in `text`, in order and as often as they stand there."""
    return [token for token in find_tokens(text) if name_weight(token)]


def split_words(text: str) -> frozenset[str]:
    """Return the words of `text` in lower case; `payment_id` and `paymentId` are both `payment`, `id`."""
    words: set[str] = set()
    for run in _WORD.findall(text):
        if run.isupper() or run[1:].islower() or not run.isalpha():
            words.add(run.lower())
        else:
            words.update(map(str.lower, _split_camel(run)))
    return frozenset(words)


def _split_camel(run: str) -> list[str]:
    cuts = [at for at in range(1, len(run)) if run[at].isupper() and run[at - 1].islower()]
    return [run[start:end] for start, end in zip([0, *cuts], [*cuts, len(run)], strict=True)]
