"""Dates in text, in many languages."""

from datetime import date, timedelta

import pytest

from isogloss.events.annotate._dates import calendar_words, find_dates
from isogloss.events.annotate._words import TokenisedText

pytest.importorskip("dateparser", reason="the extra isogloss[dates] is not installed")
babel_dates = pytest.importorskip("babel.dates", reason="the extra isogloss[dates] is not installed")

DAY = date(2031, 3, 6)  # a Thursday

LANGUAGES = sorted(
    {"ar", "bg", "ca", "cs", "da", "de", "el", "en", "es", "et", "fi", "fr", "hi", "hr", "hu", "id", "it"}
    | {"ja", "ko", "lt", "lv", "nl", "pl", "pt", "ro", "ru", "sk", "sl", "sv", "th", "tr", "uk", "zh"}
)


def found(text, lang="en", day=DAY):
    return find_dates(text, TokenisedText.of(text, lang), lang, day)


@pytest.mark.parametrize("lang", LANGUAGES)
@pytest.mark.parametrize("form", ["long", "full"])
def test_dates_as_cldr_writes_them(lang, form):
    days = [date(2030, month, number) for month in range(1, 13) for number in (3, 12, 28)]
    texts = {babel_dates.format_date(day, form, locale=lang): day for day in days}
    assert [text for text, day in texts.items() if day not in found(text, lang)] == []


def test_there_are_more_than_twenty_languages():
    assert sum(bool(calendar_words(lang)) for lang in LANGUAGES) > 20


@pytest.mark.parametrize(
    ("text", "lang"),
    [
        ("Wednesday", "en"),
        ("am Mittwoch", "de"),
        ("el miércoles", "es"),
        ("mercredi dernier", "fr"),
        ("в среду", "ru"),
        ("w środę", "pl"),
        ("på onsdagen", "sv"),
        ("星期三", "zh"),
        ("水曜日", "ja"),
        ("수요일에", "ko"),
        ("yesterday", "en"),
        ("gestern", "de"),
        ("вчера", "ru"),
        ("ayer", "es"),
        ("昨天", "zh"),
    ],
)
def test_weekdays_and_yesterday(text, lang):
    assert found(text, lang) == {date(2031, 3, 5)}


def test_a_weekday_is_the_last_one():
    names = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]
    days = [found(f"It was {name} then.") for name in names]
    assert all(len(day) == 1 for day in days)
    assert {DAY - min(day) for day in days} == {timedelta(n) for n in range(7)}


@pytest.mark.parametrize(
    ("text", "lang"),
    [
        ("She may march to Mars, the sun sat on the second.", "en"),
        ("In March 2031 it may be warm; 2030 was not.", "en"),
        ("may 5 people come", "en"),
        ("la planète Mars et mars en général", "fr"),
        ("el sol y el mar, Plácido Domingo canta", "es"),
        ("Am Morgen sang man", "de"),
        ("a segunda vez e a quarta parte", "pt"),
        ("version 3.10.12, 192.168.1.1, 4/5 of them, 10-12-14", "en"),
        ("03/05/2030 could be two days", "en"),
        ("30 February 2030, 31.04.2030, 45 March", "en"),
        ("call 0800-12-2030", "en"),
        ("", "en"),
    ],
)
def test_what_is_no_date(text, lang):
    assert found(text, lang) == frozenset()


@pytest.mark.parametrize(
    ("text", "lang"),
    [
        ("on 2030-12-24", "en"),
        ("am 24.12.2030.", "de"),
        ("(24. 12. 2030)", "cs"),
        ("le 24/12/2030,", "fr"),
        ("12/24/2030", "en"),
        ("24/12/2030", "en"),
        ("2030/12/24", "ja"),
        ("2030年12月24日", "zh"),
        ("24 December 2030", "en"),
        ("December 24th, 2030", "en"),
        ("the 24th of December 2030", "en"),
        ("2030. december 24-én", "hu"),
        ("ngày 24 tháng 12 năm 2030", "vi"),
    ],
)
def test_dates_in_full(text, lang):
    assert found(text, lang) == {date(2030, 12, 24)}


def test_a_date_without_a_year_is_the_nearest():
    assert found("on 28 December") == {date(2030, 12, 28)}
    assert found("on 28 December", day=date(2030, 12, 30)) == {date(2030, 12, 28)}
    assert found("on 2 January", day=date(2030, 12, 30)) == {date(2031, 1, 2)}
    assert found("on 29 February", day=date(2031, 3, 6)) == {date(2032, 2, 29)}


def test_a_language_without_tables_has_dates_in_numbers():
    assert found("12.03.2031 yaxud", "ltg") == {date(2031, 3, 12)}


def test_ten_thousand_dates_are_one_after_the_other():
    text = " ".join(f"{n % 28 + 1} March" for n in range(10_000))
    assert len(found(text)) == 28
