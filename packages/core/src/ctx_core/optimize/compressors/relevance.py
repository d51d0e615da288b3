"""How much a piece of text matters: to the query, and by the trouble it speaks of."""

from __future__ import annotations

import re
from typing import Final

from ctx_core.signals.vocabulary import mentions_failure

# Chinese and Japanese write no spaces, so there a term is a pair of characters.
_UNSPACED: Final = r"\u3040-\u30ff\u3400-\u9fff"
_WORD: Final = re.compile(rf"(?=([{_UNSPACED}]{{2}}))[{_UNSPACED}]|[^\W_{_UNSPACED}]{{3,}}")
_OPEN_WORK: Final = ("bug", "fixme", "todo", "raise", "throw", "xxx", "hack")
_OPEN_WORK_WORD: Final = re.compile(rf"\b(?:{'|'.join(_OPEN_WORK)})\b")
_COMMON: Final = frozenset(
    re.findall(
        r"\w+",
        """
        the and for are was what why how did does this that with from when where which who all any can has have into not
        you your our its use used uses show find list give tell about there then than
        """,
    )
)
_MAX_TERMS: Final = 32


def query_terms(query: str | None) -> tuple[str, ...]:
    """Return the words of a query that say something, in lower case and order; at most 32."""
    words = ((match[1] or match[0]).lower() for match in _WORD.finditer(query or ""))
    return tuple(dict.fromkeys(word for word in words if word not in _COMMON))[:_MAX_TERMS]


def hits(text: str, terms: tuple[str, ...]) -> int:
    """Count how many of the terms occur in `text`."""
    if not terms:
        return 0
    lowered = text.lower()
    return sum(term in lowered for term in terms)


def has_trouble(text: str) -> bool:
    """Return True if `text`, a piece of code or documentation, names errors or work left open."""
    if mentions_failure(text):
        return True
    lowered = text.lower()
    return any(map(lowered.__contains__, _OPEN_WORK)) and _OPEN_WORK_WORD.search(lowered) is not None
