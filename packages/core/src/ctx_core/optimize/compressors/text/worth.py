"""How much each piece of a text says: to the query, in hard facts, by its place, and only once."""

from __future__ import annotations

import re
from collections import Counter
from itertools import chain
from math import log
from typing import TYPE_CHECKING, Final

from ctx_core.optimize.compressors.relevance import query_terms
from ctx_core.optimize.compressors.text.units import Kind, Unit
from ctx_core.signals.severity import find_alarms

if TYPE_CHECKING:
    from collections.abc import Sequence

ALARM: Final = 100.0
"""Worth of what outlives everything that is none."""

_QUERY: Final = 3.0
_RARITY: Final = 0.15
_HEADING: Final = 2.0
_REPEATED: Final = 0.05

_DIGIT: Final = re.compile(r"\d")
# Code, addresses, options, paths, names; every one of them by a sign that prose hardly has, so that a search skips the rest.
_LITERAL: Final = re.compile(
    r"[`:/\\_A-Z-](?:(?<=`)[^`]+`|(?<=:)//|(?<=(?<!\w)-)-?[A-Za-z]|(?<=\w[/\\_])\w|(?<=[a-z][A-Z])|(?<=[A-Z])[A-Z])"
)
# Words that turn or bind a statement.
_BINDING: Final = frozenset(
    re.findall(
        r"\w+",
        """
        not no never none cannot don doesn didn isn aren wasn weren won can couldn shouldn wouldn hasn haven without except unless only must
        always required instead default however but nicht kein nur pas jamais nunca solo не нет только 必须 不能 没有 禁止 未能 ない ません
        """,
    )
)
_NOTICES: Final = frozenset(["note", "warning", "caution", "important", "tip", "deprecated", "todo", "beware"])
_WORD: Final = re.compile(r"[^\W_]+")
# Scripts that put no spaces between words; pairs of their characters stand in for words.
_UNSPACED: Final = re.compile(r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]")


def words_of(text: str) -> list[str]:
    """Return the words of a text in lower case; of scripts without spaces, all pairs of neighbours."""
    found: list[str] = _WORD.findall(text.lower())
    if text.isascii() or not _UNSPACED.search(text):
        return found
    words: list[str] = []
    for word in found:
        if _UNSPACED.search(word):
            words += [word[i : i + 2] for i in range(max(1, len(word) - 1))]
        else:
            words.append(word)
    return words


def worths(units: Sequence[Unit], query: str | None) -> list[float]:
    """Say how much each unit is worth, from 0 up; alarms are worth more than all else."""
    bags = [dict.fromkeys(words_of(unit.text)) for unit in units]
    counts = Counter(chain.from_iterable(bags))
    rarity = {word: log((1 + len(units)) / count) for word, count in counts.items()}
    asked = {*query_terms(query), *(pair for pair in words_of(query or "") if _UNSPACED.search(pair))}
    texts = [unit.text.strip() for unit in units]
    urgent = set(find_alarms(texts))
    seen: set[str] = set()
    result: list[float] = []
    for place, (unit, text, bag) in enumerate(zip(units, texts, bags, strict=True)):
        worth = _place_worth(unit, place, len(units)) + _fact_worth(text, bag)
        worth += _RARITY * sum([rarity[word] for word in bag]) / (len(bag) or 1)
        worth += _QUERY * sum([rarity[word] for word in asked if word in bag]) / log(1 + len(units))
        if place in urgent:
            worth += ALARM
        if text in seen and unit.kind is not Kind.HEADING:
            worth = _REPEATED
        seen.add(text)
        result.append(worth)
    return result


def _place_worth(unit: Unit, place: int, total: int) -> float:
    if unit.kind is Kind.HEADING:
        return _HEADING / unit.level
    at_an_end = place < 3 or place >= total - 2
    return 0.6 * unit.is_first + 0.5 * at_an_end


def _fact_worth(text: str, bag: dict[str, None]) -> float:
    """Say how much of a text a reader could not guess: numbers, literals, conditions, notices."""
    return (
        0.5 * (_DIGIT.search(text) is not None)
        + 0.4 * (_LITERAL.search(text) is not None)
        + 0.4 * (not _BINDING.isdisjoint(bag))
        + 0.5 * (next(iter(bag), "") in _NOTICES)
    )
