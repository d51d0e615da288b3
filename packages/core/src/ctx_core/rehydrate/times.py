"""The time a question is about: `last Friday`, `on March 22nd`, `two weeks ago`, `in our third session`."""

# ruff: noqa: SIM905 - lists of words read as text

from __future__ import annotations

import re
from calendar import monthrange
from dataclasses import dataclass, replace
from datetime import date, timedelta
from typing import TYPE_CHECKING, Final, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable

_MONTHS: Final = {
    name: at // 2 + 1
    for at, name in enumerate(
        "january jan february feb march mar april apr may may june jun july jul august aug september sep october oct november "
        "nov december dec".split()
    )
} | {"sept": 9}
_DAYS: Final = {
    name: at for at, name in enumerate(("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"))
}
_ONES: Final = "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen".split()
_ORDINALS: Final = (
    "zeroth first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth fourteenth fifteenth "
    "sixteenth seventeenth eighteenth nineteenth".split()
)
_TENS: Final = {"twenty": 20, "thirty": 30, "forty": 40, "fifty": 50}
_NUMBERS: Final = (
    {word: at for at, word in enumerate(_ONES)}
    | {word: at for at, word in enumerate(_ORDINALS)}
    | _TENS
    | {
        "twentieth": 20,
        "thirtieth": 30,
        "fortieth": 40,
        "fiftieth": 50,
        "a": 1,
        "an": 1,
        "couple": 2,
        "few": 3,
        "several": 5,
    }
)

_WORD_NUMBER: Final = rf"(?:(?:{'|'.join(_TENS)})[- ](?:{'|'.join((*_ONES[1:10], *_ORDINALS[1:10]))})|{'|'.join(sorted(_NUMBERS, key=len, reverse=True))})"
_NUMBER: Final = rf"(?:\d{{1,4}}(?:st|nd|rd|th)?|(?:an? )?{_WORD_NUMBER}(?: of)?)"
_MONTH: Final = rf"(?:{'|'.join(sorted(_MONTHS, key=len, reverse=True))})\.?"
_DAY_NUMBER: Final = rf"(?:\d{{1,2}}(?:st|nd|rd|th)?|(?:twenty|thirty)[- ](?:{'|'.join(_ORDINALS[1:10])})|{'|'.join(_ORDINALS[1:])}|twentieth|thirtieth)"
_TALK: Final = r"(?:sessions?|conversations?|discussions?|chats?|talks?|meetings?)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Period:
    """A span of whole days, or of conversations, that a question names.

    Args:
        phrase: The words that name it.
        first: First day; None where conversations are meant.
        last: Last day.
        every_year: Whether the days were named without a year.
        sessions: First and last conversation, counted from 1; from -1 backwards, where -1 is the latest.
    """

    phrase: str
    first: date = date.min
    last: date = date.min
    every_year: bool = False
    sessions: tuple[int, int] | None = None

    def share(self, day: date) -> float:
        """Return 1 for a day in the period, a half for one soon after it, when people tell of what was, and else 0."""
        years = (day.year - self.last.year, day.year - self.last.year + 1) if self.every_year else (0,)
        return max(self._share(day, _moved(self.first, by), _moved(self.last, by)) for by in years)

    def _share(self, day: date, first: date, last: date) -> float:
        if first <= day <= last:
            return 1.0
        return 0.5 if last < day <= last + timedelta(days=max(3, min(14, (last - first).days // 2))) else 0.0


def period_in(text: str, today: date) -> Period | None:
    """Return the period that `text` names, seen from `today`; None if it names none."""
    for pattern, resolve in _RULES:
        if (found := pattern.search(text)) and (period := resolve(found, today)) is not None:
            return replace(period, phrase=found[0])
    return None


def _moved(day: date, years: int) -> date:
    year = min(max(day.year + years, 1), 9999)
    return day.replace(year=year, day=min(day.day, monthrange(year, day.month)[1]))


def _number(text: str) -> int:
    text = text.lower().removesuffix(" of").strip()
    if digits := re.match(r"\d+", text):
        return int(digits[0])
    return sum(
        _NUMBERS.get(word, 0) for word in re.split(r"[- ]", text) if word not in ("a", "an") or text in ("a", "an")
    )


def _days(first: date, last: date | None = None) -> Period:
    return Period(phrase="", first=first, last=last or first)


def _iso(found: re.Match[str], today: date) -> Period | None:
    del today
    try:
        return _days(date.fromisoformat(found["iso"]))
    except ValueError:
        return None


def _dates(found: re.Match[str], today: date) -> Period | None:
    """Read one date or two, each a month with or without its day and year."""
    groups = found.groupdict()
    month, month2 = (_MONTHS[text.lower().rstrip(".")] if (text := groups.get(key)) else None for key in ("m1", "m2"))
    day, day2 = (_number(text) if text else None for text in (groups.get("d1"), groups.get("d2") or groups.get("x")))
    year = int(groups.get("y1") or groups.get("y2") or 0)
    if month is None or (groups.get("ends") and day2 is None and month2 is None):
        return None
    last_month = month2 or month
    try:
        first = date(year or today.year, month, day or 1)
        last_year = first.year + ((last_month, day2 or 31) < (month, day or 1))
        last_day = (day2 if groups.get("ends") else day) or monthrange(last_year, last_month)[1]
        last = date(last_year, last_month, last_day)
    except ValueError:
        return None
    if not year and first > today:
        first, last = _moved(first, -1), _moved(last, -1)
    return replace(_days(first, last), every_year=not year)


def _year(found: re.Match[str], today: date) -> Period:
    del today
    year = int(found["year"])
    return _days(date(year, 1, 1), date(year, 12, 31))


# How far around "N weeks ago" people mean, in days either side.
_UNITS: Final = {"hour": (0, 0), "day": (1, 0), "week": (7, 3), "month": (30, 15), "year": (365, 120)}


def _ago(found: re.Match[str], today: date) -> Period:
    length, around = _UNITS[found["unit"].lower()]
    middle = today - timedelta(days=min(length * _number(found["n"]), today.toordinal() - 200))
    return _days(middle - timedelta(days=around), min(today, middle + timedelta(days=around)))


def _past(found: re.Match[str], today: date) -> Period:
    length, _ = _UNITS[found["unit"].lower()]
    return _days(today - timedelta(days=min(length * _number(found["n"] or "1"), today.toordinal() - 1)), today)


def _weekday(found: re.Match[str], today: date) -> Period:
    return _days(today - timedelta(days=(today.weekday() - _DAYS[found["day"].lower()] - 1) % 7 + 1))


def _last(found: re.Match[str], today: date) -> Period:
    match found["unit"].lower():
        case "week":
            return _week_before(today)
        case "weekend":
            saturday = today - timedelta(days=(today.weekday() - 5) % 7 or 7)
            return _days(saturday, saturday + timedelta(days=1))
        case "month":
            last = today.replace(day=1) - timedelta(days=1)
            return _days(last.replace(day=1), last)
        case _:
            return _days(date(today.year - 1, 1, 1), date(today.year - 1, 12, 31))


def _week_before(today: date) -> Period:
    monday = today - timedelta(days=today.weekday() + 7)
    return _days(monday, monday + timedelta(days=6))


def _back(days: int) -> _Resolver:
    return lambda _, today: _days(today - timedelta(days=days))


def _sessions(found: re.Match[str], today: date) -> Period:
    del today
    groups = found.groupdict()
    if groups.get("back"):
        back = -max(1, _number(groups["back"]))
        return Period(phrase="", sessions=(back, back))
    if groups.get("s1"):
        first = _number(groups["s1"])
        return Period(phrase="", sessions=(first, _number(groups.get("s2") or groups["s1"])))
    return Period(phrase="", sessions=(-1, -1))


def _full(number: int) -> str:
    day = rf"(?: (?:the )?(?P<d{number}>{_DAY_NUMBER})\b(?! (?:sessions?|people)))?"
    return rf"(?P<m{number}>{_MONTH}){day}(?:,? (?P<y{number}>(?:19|20)\d\d))?"


_Resolver: TypeAlias = "Callable[[re.Match[str], date], Period | None]"

_TO: Final = r"(?:to|through|thru|until|till|and|[-–])"
_ARTICLE: Final = r"(?:the )?"
_DAY_FIRST: Final = rf"\b(?P<d1>{_DAY_NUMBER})(?: of)? (?P<m1>{_MONTH})\b(?:,? (?P<y1>(?:19|20)\d\d))?"
_SOME_DAY: Final = "|".join(_DAYS)

# The first rule that finds something decides, so what says more stands first.
_RULES: Final[tuple[tuple[re.Pattern[str], _Resolver], ...]] = tuple(
    (re.compile(pattern, re.IGNORECASE), resolve)
    for pattern, resolve in (
        (r"\b(?P<iso>(?:19|20)\d\d-\d\d-\d\d)\b", _iso),
        (rf"\b(?P<back>{_NUMBER}) {_TALK} ago\b", _sessions),
        (rf"\b{_TALK} (?P<s1>\d+) {_TO} (?:{_TALK} )?(?P<s2>\d+)\b", _sessions),
        (rf"\b(?P<s1>{_NUMBER}) {_TO} {_ARTICLE}(?P<s2>{_NUMBER}) {_TALK}\b", _sessions),
        (rf"\bour (?P<s1>{_NUMBER}) {_TALK}\b", _sessions),
        (rf"\b(?:{_TALK}) (?:number |no\. ?|#)(?P<s1>\d+)\b", _sessions),
        (rf"\b(?:last|previous) (?:{_TALK}|time)\b", _sessions),
        (rf"\b{_full(1)} (?P<ends>{_TO}) {_ARTICLE}(?:{_full(2)}|(?P<x>{_DAY_NUMBER})\b)", _dates),
        (_DAY_FIRST, _dates),
        (rf"\b(?<!\bI )(?<!\byou )(?<!\bwe )(?<!\bit )(?<!\bthat ){_full(1)}\b(?! (?:i|we|you|be|have)\b)", _dates),
        (rf"\b(?P<n>{_NUMBER}) (?P<unit>hour|day|week|month|year)s? ago\b", _ago),
        (rf"\b(?:the )?(?:last|past|previous) (?P<n>{_NUMBER}) (?P<unit>day|week|month|year)s?\b", _past),
        (r"\b(?:over|during|in|within) the (?:last|past)(?P<n>) (?P<unit>week|month|year)\b", _past),
        (rf"\b(?:last|on|this past|past) (?P<day>{_SOME_DAY})\b", _weekday),
        (r"\blast (?P<unit>weekend|week|month|year)\b", _last),
        (
            r"\b(?:the )?day before yesterday\b|\banteayer\b|\bvorgestern\b|\bavant-hier\b|前天|おととい|一昨日",
            _back(2),
        ),
        (r"\b(?:yesterday|last night|ayer|gestern)\b|\bhier\b|昨天|昨日", _back(1)),
        (
            r"\b(?:earlier )?(?:today|this morning|this afternoon|this evening)\b|\bheute\b|今天|今日|aujourd'hui",
            _back(0),
        ),
        (
            r"\b(?:semana pasada|letzte[rn]? woche|semaine dernière)\b|上周|上週|先週",
            lambda _, today: _week_before(today),
        ),
        (r"\b(?:in|during|of|from|since) (?P<year>(?:19|20)\d\d)\b", _year),
    )
)
