"""What a question says about the turn that answers it: words, who spoke, and when."""

# ruff: noqa: SIM905 - lists of words read as text

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from ctx_core.rehydrate.answers import asks_number, asks_when
from ctx_core.rehydrate.date_expressions import Period, find_period
from ctx_core.rehydrate.date_words import load_lexicon
from ctx_core.rehydrate.lexical import stem, words
from ctx_core.rehydrate.reference_patterns import find_talk_words
from ctx_core.rehydrate.reference_text import split_words

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import date

# Words by which people refer to a conversation; they say nothing about what was said in it.
_ABOUT_TALK: Final = frozenset(
    map(
        stem,
        "remember recall remind discuss discussed talk talked talking chat chatted say said tell told mention mentioned ask asked "
        "suggest suggested recommend recommended speak spoke earlier previous previously before conversation session discussion time "
        "thing things sort sorts summarize summary last first again ago yesterday today".split(),
    )
)
_ASSISTANT_SAID: Final = re.compile(
    r"\b(?:did you|have you|you(?:'d|'ve| had)?(?: \w+ly)?) (?:\w+ )?(?:say|said|tell|told|suggest\w*|recommend\w*|mention\w*|give|gave|"
    r"given|provide\w*|propose\w*|explain\w*|list\w*|advise\w*|write|wrote|written|show\w*)\b|\byour (?:\w+ )?(?:suggestion|answer|"
    r"advice|recommendation|proposal|explanation|idea)s?\b",
    re.IGNORECASE,
)
_USER_SAID: Final = re.compile(
    r"\b(?:did i|have i|i(?:'d|'ve| had)?(?: \w+ly)?) (?:\w+ )?(?:say|said|tell|told|mention\w*|ask\w*|give|gave|send|sent|share\w*|"
    r"describe\w*|call\w*)\b|\bmy (?:\w+ )?(?:question|request|message)s?\b",
    re.IGNORECASE,
)


_CLAUSE: Final = re.compile(r"[.?!;\n]+|,? (?:and|y|und|et) ")
_LEAST_TERMS: Final = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """A question, read.

    Args:
        text: The question as it was asked.
        terms: Stems of the words that its answer may share, each once.
        clauses: The terms of each question in it, where it asks several things: a turn that answers one of them is wanted.
        said: Stems of all its words; a turn that holds no others tells nothing new.
        speaker: The one speaker it names, case-folded; None if it names none or several.
        role: `assistant` or `user` where it asks for what one of them said.
        period: The time it names.
        asks_when: Whether its answer is a time.
        asks_number: Whether its answer is a number.
        is_about_time: Whether the time is all that it asks for, so that turns of another time are no answer.
    """

    text: str
    terms: tuple[str, ...]
    clauses: tuple[tuple[str, ...], ...]
    said: frozenset[str]
    speaker: str | None = None
    role: str | None = None
    period: Period | None = None
    asks_when: bool = False
    asks_number: bool = False
    is_about_time: bool = False


def read_query(text: str, *, speakers: Iterable[str], today: date) -> Query:
    """Read a question that was asked on `today` about a conversation among `speakers`."""
    names = {name: frozenset(words(name)) for name in speakers}
    folded = text.casefold()
    named = [name for name in names if re.search(rf"(?<!\w){re.escape(name)}(?!\w)", folded)]
    period = find_period(text, today)
    of_time = set(words(period.phrase)) if period else set[str]()
    of_names = set[str]().union(*names.values())
    said = dict.fromkeys(words(text))
    terms = tuple(term for term in said if term not in of_names)
    about = tuple(term for term in terms if term not in _ABOUT_TALK)
    content = [term for term in about if term not in of_time]
    says = (bool(_ASSISTANT_SAID.search(text)), bool(_USER_SAID.search(text)))
    return Query(
        text=text,
        terms=about or terms,
        clauses=_clauses(text, about or terms),
        said=frozenset(said),
        speaker=named[0] if len(named) == 1 else None,
        role={(True, False): "assistant", (False, True): "user"}.get(says),
        period=period,
        asks_when=asks_when(text),
        asks_number=asks_number(text),
        is_about_time=period is not None and not named and not (content and _names_a_topic(text, period)),
    )


def _names_a_topic(text: str, period: Period) -> bool:
    """Return True if a question says more than that it asks for what was said at a time, in any language."""
    said = set(split_words(text)) - set(split_words(period.phrase)) - load_lexicon().keys()
    return bool(said - find_talk_words(text))


def _clauses(text: str, terms: tuple[str, ...]) -> tuple[tuple[str, ...], ...]:
    parts = (tuple(term for term in dict.fromkeys(words(part)) if term in terms) for part in _CLAUSE.split(text))
    return tuple(part for part in parts if len(part) >= _LEAST_TERMS) or (terms,)
