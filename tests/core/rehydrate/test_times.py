from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctx_core.rehydrate.times import period_in

TODAY = date(2026, 6, 10)  # a Wednesday


def day(month, number, year=2026):
    return date(year, month, number)


@pytest.mark.parametrize(
    ("text", "first", "last"),
    [
        ("what did we say yesterday?", day(6, 9), day(6, 9)),
        ("the day before yesterday", day(6, 8), day(6, 8)),
        ("earlier this morning", TODAY, TODAY),
        ("last Friday", day(6, 5), day(6, 5)),
        ("last wednesday", day(6, 3), day(6, 3)),
        ("two weeks ago", day(5, 24), day(5, 30)),
        ("a couple of days ago", day(6, 7), day(6, 9)),
        ("16 days ago", day(5, 25), day(5, 25)),
        ("last week", day(6, 1), day(6, 7)),
        ("last month", day(5, 1), day(5, 31)),
        ("over the last three days", day(6, 7), TODAY),
        ("on March 22nd", day(3, 22), day(3, 22)),
        ("on the 22nd of March", day(3, 22), day(3, 22)),
        ("June twenty-fourth", day(6, 24, 2025), day(6, 24, 2025)),
        ("in May 2023", day(5, 1, 2023), day(5, 31, 2023)),
        ("on 5 July, 2023", day(7, 5, 2023), day(7, 5, 2023)),
        ("between May 21st and July 16th", day(5, 21), day(7, 16)),
        ("from December 20th to January 3rd", day(12, 20, 2025), day(1, 3)),
        ("from May 3rd to 11th", day(5, 3), day(5, 11)),
        ("2026-05-07", day(5, 7), day(5, 7)),
        ("in 2022", day(1, 1, 2022), day(12, 31, 2022)),
        ("ayer", day(6, 9), day(6, 9)),
        ("gestern", day(6, 9), day(6, 9)),
        ("d'hier", day(6, 9), day(6, 9)),
        ("昨天", day(6, 9), day(6, 9)),
        ("先週", day(6, 1), day(6, 7)),
    ],
)
def test_times_people_name(text, first, last):
    period = period_in(text, TODAY)
    assert period is not None
    if "couple" in text:
        assert first <= period.first <= period.last <= last
    else:
        assert (period.first, period.last) == (first, last)
    assert period.phrase in text


@pytest.mark.parametrize(
    ("text", "sessions"),
    [
        ("in our twenty-fourth discussion", (24, 24)),
        ("our 5th session", (5, 5)),
        ("from the 12th through 14th sessions", (12, 14)),
        ("over sessions 22 through 24", (22, 24)),
        ("32 sessions ago", (-32, -32)),
        ("last time we spoke", (-1, -1)),
    ],
)
def test_conversations_people_count(text, sessions):
    period = period_in(text, TODAY)
    assert period is not None
    assert period.sessions == sessions


@pytest.mark.parametrize(
    "text", ["I may go", "we may have it", "2026-02-30", "a second opinion", "it can augur well", ""]
)
def test_words_that_are_no_time(text):
    assert period_in(text, TODAY) is None


def test_a_day_without_a_year_is_of_every_year_and_soon_after_counts_half():
    period = period_in("on March 22nd", TODAY)
    assert period is not None
    assert [period.share(one) for one in (day(3, 22), day(3, 22, 2021), day(3, 24), day(3, 21), day(4, 22))] == [
        1,
        1,
        0.5,
        0,
        0,
    ]
    across = period_in("from December 20th to January 3rd", TODAY)
    assert across is not None
    assert [across.share(one) for one in (day(12, 31, 2019), day(1, 2, 2020), day(2, 20, 2020))] == [1, 1, 0]


@given(st.text(max_size=60), st.dates())
def test_any_text_on_any_day_gives_a_period_or_none(text, today):
    for one in (
        text,
        f"{text} days ago",
        f"on {text} May",
        "9999 weeks ago",
        "over the last 9999 years",
        "last year",
        "February 29th",
    ):
        period = period_in(one, today)
        assert period is None or period.first <= period.last
        if period is not None:
            assert 0 <= period.share(today) <= 1
