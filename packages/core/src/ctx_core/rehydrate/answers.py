"""What kind of answer a question asks for, and whether a turn tells one of that kind."""

from __future__ import annotations

import re
from typing import Final

_ASKS_WHEN: Final = re.compile(
    r"\b(?:when|how long|(?:what|which) (?:year|month|date|day|time)|cuándo|wann|wie lange|quand|quando)\b",
    re.IGNORECASE,
)
_ASKS_NUMBER: Final = re.compile(
    r"\b(?:how (?:many|often|much)|cuánt[oa]s?|wie (?:viele?|oft)|combien|quant[oaie]s?)\b", re.IGNORECASE
)
_TIME: Final = re.compile(
    r"\b(?:yesterday|today|tonight|tomorrow|ago|last|next|week|weekend|month|year|morning|evening|recently|since|monday|tuesday|"
    r"wednesday|thursday|friday|saturday|sunday|january|february|march|april|may|june|july|august|september|october|november|"
    r"december|(?:19|20)\d\d|ayer|hoy|mañana|semana|mes|año|hace|gestern|heute|morgen|woche|monat|jahr|vor|hier|demain|semaine|"
    r"mois|année|ontem|hoje|amanhã|mês|ano|ieri|oggi|domani|settimana|mese|anno)\b",
    re.IGNORECASE,
)
_NUMBER: Final = re.compile(
    r"\b(?:\d+|two|three|four|five|six|seven|eight|nine|ten|once|twice|few|several|many|dos|tres|zwei|drei|deux|trois|dois|três|"
    r"due|tre)\b",
    re.IGNORECASE,
)


def asks_when(text: str) -> bool:
    """Say whether a question asks for a time."""
    return _ASKS_WHEN.search(text) is not None


def asks_number(text: str) -> bool:
    """Say whether a question asks for a number."""
    return _ASKS_NUMBER.search(text) is not None


def tells_time(text: str) -> bool:
    """Say whether a text names a time."""
    return _TIME.search(text) is not None


def tells_number(text: str) -> bool:
    """Say whether a text names a number."""
    return _NUMBER.search(text) is not None
