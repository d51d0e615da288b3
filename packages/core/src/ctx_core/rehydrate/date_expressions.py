"""The time a question is about: `last Friday`, `am 22. März`, `hace dos semanas`, `in our third session`."""

from __future__ import annotations

from calendar import monthrange
from dataclasses import dataclass, replace
from datetime import date, timedelta
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from ctx_core.rehydrate.date_words import UNITS, Item, read_items

if TYPE_CHECKING:
    from collections.abc import Callable

# What stands between two words of one expression: a blank, a hyphen, ", " or ". ", as in "am 22. März".
_LONGEST_SEPARATOR: Final = 3
# Of a long text only both ends are read, as the question stands there.
_READ_CHARS: Final = 1_500


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
        return max(self._share(day, _move_years(self.first, by), _move_years(self.last, by)) for by in years)

    def _share(self, day: date, first: date, last: date) -> float:
        if first <= day <= last:
            return 1.0
        return 0.5 if last < day <= last + timedelta(days=max(3, min(14, (last - first).days // 2))) else 0.0


Values: TypeAlias = dict[str, list[Any]]


def find_period(text: str, today: date) -> Period | None:
    """Return the period that `text` names, seen from `today`; None if it names none."""
    if len(text) > 2 * _READ_CHARS:
        text = f"{text[:_READ_CHARS]}\n{text[-_READ_CHARS:]}"
    items = read_items(text)
    starts = [at for at, item in enumerate(items) if item.meanings]
    present = frozenset(key for at in starts for key in items[at].meanings)
    for parts, resolve in _RULES:
        if not _can_match(parts, present):
            continue
        for start in starts:
            found = _match(parts, items, start, text)
            if found is None:
                continue
            end, values = found
            if (period := resolve(values, today)) is not None:
                return replace(period, phrase=text[items[start].start : items[end - 1].end])
    return None


def _can_match(parts: tuple[str, ...], present: frozenset[str]) -> bool:
    """Return True if each part that must match has a meaning among those present."""
    return all(part.endswith("?") or any(key in present for key in _ALTERNATIVES.get(part, (part,))) for part in parts)


def _match(parts: tuple[str, ...], items: list[Item], start: int, text: str) -> tuple[int, Values] | None:
    """Return where a rule that begins at an item ends, and the values of its parts; optional parts match if they can."""
    values: Values = {}
    at = start
    for part in parts:
        name = part.removesuffix("?")
        key = _find_meaning(name, items, at, start, text)
        if key is None:
            if not part.endswith("?"):
                return None
            continue
        values.setdefault(_VALUE_NAMES.get(key, key), []).append(items[at].meanings[key])
        at += 1
    return (at, values) if at > start else None


def _find_meaning(name: str, items: list[Item], at: int, start: int, text: str) -> str | None:
    if at >= len(items):
        return None
    if at > start:
        between = text[items[at - 1].end : items[at].start]
        if len(between) > _LONGEST_SEPARATOR or "\n" in between:
            return None
    meanings = items[at].meanings
    return next((key for key in _ALTERNATIVES.get(name, (name,)) if key in meanings), None)


_ALTERNATIVES: Final = {
    "count": ("number", "ordinal"),
    "day": ("number", "ordinal"),
    "any_month": ("month", "weak_month"),
    "any_weekday": ("weekday", "weak_weekday"),
}
_VALUE_NAMES: Final = {
    "ordinal": "number",
    "weak_month": "month",
    "weak_weekday": "weekday",
    "digits": "number",
    "ordinal_digits": "number",
}


def _move_years(day: date, years: int) -> date:
    year = min(max(day.year + years, 1), 9999)
    return day.replace(year=year, day=min(day.day, monthrange(year, day.month)[1]))


def _make_days(first: date, last: date | None = None) -> Period:
    return Period(phrase="", first=first, last=last or first)


def _resolve_numeric(values: Values, today: date) -> Period | None:
    """Read `2026-03-22`, `22.03.2026`, `on 3/22`; where day and month could change places, English puts the month first."""
    a, separator, b, c = values["date"][0]
    if len(a) == 4:
        return _make_date(int(a), int(b), int(c), today) if c else None
    if len(a) > 2 or not (c or "on" in values):
        return None
    language = next(iter(values.get("on", ())), "en")
    month, day = (int(a), int(b)) if separator == "/" and language == "en" else (int(b), int(a))
    if month > 12:
        month, day = day, month
    year = int(c) + (2000 if len(c) == 2 else 0) if c else None
    return _make_date(year, month, day, today)


def _make_date(year: int | None, month: int, day: int, today: date) -> Period | None:
    try:
        found = date(year or today.year, month, day)
    except ValueError:
        return None
    if year is None and found > today:
        found = _move_years(found, -1)
    return replace(_make_days(found), every_year=year is None)


def _resolve_span(values: Values, today: date) -> Period | None:
    """Read one date or two, each a month with or without its day and year."""
    months, days, is_range = values["month"], values.get("number", []), "to" in values
    year = next(iter(values.get("year", ())), None)
    if is_range and len(months) == 1 and len(days) < 2:
        return None
    try:
        first = date(year or today.year, months[0], days[0] if days else 1)
        last_month = months[-1]
        last_day = days[-1] if days else 31
        last_year = first.year + ((last_month, last_day) < (first.month, first.day))
        last_day = last_day if days else monthrange(last_year, last_month)[1]
        last = date(last_year, last_month, last_day)
    except ValueError:
        return None
    if year is None and first > today:
        first, last = _move_years(first, -1), _move_years(last, -1)
    return replace(_make_days(first, last), every_year=year is None)


def _resolve_day_of_month(values: Values, today: date) -> Period | None:
    day = values["number"][0]
    month = today.replace(day=1)
    for _ in range(3):
        if 1 <= day <= monthrange(month.year, month.month)[1] and month.replace(day=day) <= today:
            return _make_days(month.replace(day=day))
        month = (month - timedelta(days=1)).replace(day=1)
    return None


def _resolve_marked(values: Values, today: date) -> Period | None:
    month, *days = values["number"]
    if not 1 <= month <= 12:
        return None
    return _resolve_span({"month": [month], **({"number": days} if days else {})}, today)


def _resolve_year(values: Values, today: date) -> Period:
    del today
    year = values["year"][0]
    return _make_days(date(year, 1, 1), date(year, 12, 31))


def _resolve_ago(values: Values, today: date) -> Period | None:
    if (unit := values["unit"][0]) not in UNITS:
        return None
    length, around = UNITS[unit]
    middle = today - timedelta(days=min(length * values["number"][0], today.toordinal() - 200))
    return _make_days(middle - timedelta(days=around), min(today, middle + timedelta(days=around)))


def _resolve_last_units(values: Values, today: date) -> Period | None:
    if (unit := values["unit"][0]) not in UNITS:
        return None
    count = next(iter(values.get("number", ())), 1)
    return _make_days(today - timedelta(days=min(UNITS[unit][0] * count, today.toordinal() - 1)), today)


def _resolve_past_weekday(values: Values, today: date) -> Period:
    return _make_days(today - timedelta(days=(today.weekday() - values["weekday"][0] - 1) % 7 + 1))


def _resolve_this_weekday(values: Values, today: date) -> Period:
    return _make_days(today - timedelta(days=(today.weekday() - values["weekday"][0]) % 7))


def _resolve_last_unit(values: Values, today: date) -> Period | None:
    match values["unit"][0]:
        case "week":
            monday = today - timedelta(days=today.weekday() + 7)
            return _make_days(monday, monday + timedelta(days=6))
        case "weekend":
            saturday = today - timedelta(days=(today.weekday() - 5) % 7 or 7)
            return _make_days(saturday, saturday + timedelta(days=1))
        case "month":
            last = today.replace(day=1) - timedelta(days=1)
            return _make_days(last.replace(day=1), last)
        case "year":
            return _make_days(date(today.year - 1, 1, 1), date(today.year - 1, 12, 31))
        case _:
            return None


def _resolve_this_unit(values: Values, today: date) -> Period | None:
    match values["unit"][0]:
        case "week":
            return _make_days(today - timedelta(days=today.weekday()), today)
        case "month":
            return _make_days(today.replace(day=1), today)
        case "year":
            return _make_days(today.replace(month=1, day=1), today)
        case _:
            return None


def _resolve_days_back(values: Values, today: date) -> Period:
    return _make_days(today - timedelta(days=values["days_back"][0]))


def _resolve_sessions(values: Values, today: date) -> Period:
    del today
    numbers = values.get("number", [])
    if "ago" in values or "ago_before" in values:
        back = -max(1, numbers[0])
        return Period(phrase="", sessions=(back, back))
    return Period(phrase="", sessions=(numbers[0], numbers[-1]) if numbers else (-1, -1))


_Resolver: TypeAlias = "Callable[[Values, date], Period | None]"

# The first rule that finds something decides, so what says more stands first.
_RULES: Final[tuple[tuple[tuple[str, ...], _Resolver], ...]] = tuple(
    (tuple(parts.split()), resolve)
    for parts, resolve in (
        ("on? date", _resolve_numeric),
        ("number talk ago", _resolve_sessions),
        ("ago_before number talk", _resolve_sessions),
        ("talk number to talk? number", _resolve_sessions),
        ("count to article? count talk", _resolve_sessions),
        ("our count talk", _resolve_sessions),
        ("talk number_word number", _resolve_sessions),
        ("last talk", _resolve_sessions),
        ("talk last", _resolve_sessions),
        ("last_talk", _resolve_sessions),
        ("any_month article? day year? to article? any_month article? day year?", _resolve_span),
        ("any_month article? day to article? day year?", _resolve_span),
        ("day of? any_month of? year? to article? day of? any_month of? year?", _resolve_span),
        ("day to article? day of? any_month of? year?", _resolve_span),
        ("any_month to any_month of? year?", _resolve_span),
        ("day of? month of? year?", _resolve_span),
        ("digits of? weak_month of? year?", _resolve_span),
        ("ordinal of weak_month of? year?", _resolve_span),
        ("month article? day year?", _resolve_span),
        ("weak_month article? digits year?", _resolve_span),
        ("weak_month article? ordinal year?", _resolve_span),
        ("any_month of? year", _resolve_span),
        ("in any_month", _resolve_span),
        ("last any_month", _resolve_span),
        ("month", _resolve_span),
        ("number month_mark number day_mark", _resolve_marked),
        ("number unit ago", _resolve_ago),
        ("ago_before number unit", _resolve_ago),
        ("last number unit", _resolve_last_units),
        ("number last unit", _resolve_last_units),
        ("during article last unit", _resolve_last_units),
        ("last any_weekday", _resolve_past_weekday),
        ("any_weekday last", _resolve_past_weekday),
        ("this any_weekday", _resolve_this_weekday),
        ("on any_weekday", _resolve_past_weekday),
        ("weekday", _resolve_past_weekday),
        ("last unit", _resolve_last_unit),
        ("unit last", _resolve_last_unit),
        ("this unit", _resolve_this_unit),
        ("days_back", _resolve_days_back),
        ("on article? ordinal_digits", _resolve_day_of_month),
        ("in year", _resolve_year),
    )
)
