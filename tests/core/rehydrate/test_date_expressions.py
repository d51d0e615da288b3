from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctx_core.rehydrate.date_expressions import find_period
from ctx_core.rehydrate.query import read_query

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
    period = find_period(text, TODAY)
    assert period is not None
    if "couple" in text:
        assert first <= period.first <= period.last <= last
    else:
        assert (period.first, period.last) == (first, last)
    assert period.phrase in text


THREE_DAYS_AGO, A_WEEK_AGO = day(6, 7), (day(5, 31), day(6, 6))


@pytest.mark.parametrize(
    ("text", "first", "last"),
    [
        (text, *(named if isinstance(named, tuple) else (named, named)))
        for named, texts in {
            THREE_DAYS_AGO: (
                "three days ago / hace tres días / hace 3 dias / il y a trois jours / vor drei Tagen / há três dias / três dias atrás / "
                "tre giorni fa / 三天前 / 三日前 / 3일 전 / три дня назад / drie dagen geleden / trzy dni temu / üç gün önce / "
                "तीन दिन पहले"
            ),
            A_WEEK_AGO: (
                "a week ago / hace una semana / il y a une semaine / vor einer Woche / há uma semana / una settimana fa"
            ),
            day(3, 22): (
                "on 3/22 / on March 22 / el 22 de marzo / el 22/3 / le 22 mars / le 22/03 / am 22. März / am 22.3. / am 22.03.2026 / "
                "no dia 22 de março / em 22/3 / il 22 marzo / il 22/3/2026 / 22.03.2026 / 22/3/2026 / 3/22/2026 / 2026-03-22 / "
                "3月22日 / 22 марта / 22 maart / 22 marca / veintidós de marzo / ventidue marzo"
            ),
            day(6, 8): (
                "the day before yesterday / anteayer / avant-hier / vorgestern / anteontem / l'altro ieri / this Monday / "
                "on Monday / el lunes / lundi / am Montag / na segunda-feira / lunedì / segunda-feira passada / 前天 / позавчера / "
                "eergisteren / przedwczoraj / 그저께"
            ),
            day(6, 5): (
                "last Friday / el viernes pasado / vendredi dernier / letzten Freitag / na sexta-feira passada / venerdì scorso"
            ),
            (day(6, 1), day(6, 7)): (
                "last week / la semana pasada / la semaine dernière / letzte Woche / na semana passada / la settimana scorsa / "
                "上周 / 先週 / 지난주 / на прошлой неделе / vorige week / w zeszłym tygodniu"
            ),
            (day(5, 1), day(5, 31)): (
                "last month / el mes pasado / le mois dernier / letzten Monat / no mês passado / il mese scorso / in maggio / en mayo / "
                "in May / im Mai / en mai / em maio"
            ),
            (day(6, 7), TODAY): (
                "the last three days / los últimos tres días / les trois derniers jours / den letzten drei Tagen / "
                "nos últimos três dias / gli ultimi tre giorni"
            ),
            day(5, 27): "a fortnight ago",
            (day(6, 8), TODAY): "this week / esta semana / cette semaine / diese Woche / questa settimana",
            day(6, 9): "ayer / hier / gestern / ontem / ieri / 昨日 / 어제 / вчера / gisteren / wczoraj / dün / أمس",
        }.items()
        for text in texts.split(" / ")
    ],
)
def test_times_in_many_languages(text, first, last):
    for one in (text, f"x {text}?"):
        period = find_period(one, TODAY)
        assert period is not None
        assert (period.first, period.last) == (first, last)


@pytest.mark.parametrize(
    "text",
    [
        "cut it 3/4 of the way",
        "open 24/7",
        "version 1.2.3",
        "one may argue",
        "they march on",
        "en un mar azul",
        "come prima",
        "por la mañana",
        "10.0.0.1",
        "se fa caldo",
    ],
)
def test_words_and_numbers_that_are_no_time_in_many_languages(text):
    assert find_period(text, TODAY) is None


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
    period = find_period(text, TODAY)
    assert period is not None
    assert period.sessions == sessions


@pytest.mark.parametrize(
    "text", ["I may go", "we may have it", "2026-02-30", "a second opinion", "it can augur well", ""]
)
def test_words_that_are_no_time(text):
    assert find_period(text, TODAY) is None


def test_a_day_without_a_year_is_of_every_year_and_soon_after_counts_half():
    period = find_period("on March 22nd", TODAY)
    assert period is not None
    assert [period.share(one) for one in (day(3, 22), day(3, 22, 2021), day(3, 24), day(3, 21), day(4, 22))] == [
        1,
        1,
        0.5,
        0,
        0,
    ]
    across = find_period("from December 20th to January 3rd", TODAY)
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
        period = find_period(one, today)
        assert period is None or period.first <= period.last
        if period is not None:
            assert 0 <= period.share(today) <= 1


@pytest.mark.parametrize(
    ("text", "is_about_time"),
    [
        ("What did I say on Monday?", True),
        ("Was habe ich dir am 22. März gesagt?", True),
        ("Qu'est-ce que je t'ai dit vendredi dernier ?", True),
        ("¿Qué te dije hace tres días?", True),
        ("Cosa ti ho detto ieri?", True),
        ("O que eu te disse ontem?", True),
        ("What did we say about the war on Monday?", False),
        ("¿Qué te dije ayer sobre la cocina?", False),
        ("Was hast du mir gestern zum Vertrag gesagt?", False),
    ],
)
def test_a_question_asks_for_a_time_alone_unless_it_names_a_topic(text, is_about_time):
    assert read_query(text, speakers=[], today=TODAY).is_about_time is is_about_time
