r"""Dates mentioned in a text, in every language that CLDR and ``dateparser`` know.

Names of months and weekdays, words such as *yesterday*, and the order in which a language writes day, month
and year come from the packages ``dateparser`` and ``babel``. Words are matched directly, without calling the
parser, and few false dates are found, because

* a month counts with a day beside it only: *may*, *mars* and *sol* alone are no dates, nor are years;
* weekdays count when their first letter has the case that the language gives them, so *Plácido Domingo* is
  no Sunday, and when they have four letters at least in alphabets;
* words that mean something else as often are left out: *morgen* in German, *mañana* in Spanish;
* 3/5/2031 in English is not taken for a date, because nobody can tell which.

A weekday is the last one up to the day of the article. A date without a year is the one nearest to the
article.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass, field
from datetime import date, timedelta
from functools import cache, cached_property
from typing import Any

from isogloss.events.annotate._words import TokenisedText, is_unspaced

_MONTHS = ("january", "february", "march", "april", "may", "june", "july", "august", "september", "october",
           "november", "december")  # fmt: skip
_WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_OFFSETS = {"2 day ago": -2, "1 day ago": -1, "0 day ago": 0, "in 1 day": 1, "in 2 day": 2}

_OTHER_MEANING = {
    "de": {"morgen"},
    "nl": {"morgen"},
    "es": {"mañana"},
    "pt": {"segunda", "terça", "quarta", "quinta", "sexta"},
}
"""Words for days that are as often used with another meaning."""

_CONNECTIVES = frozenset({"de", "del", "of", "di", "the", "d", "den", "der", "\u0433", "року", "gada", "m"})
"""Words that may stand between the parts of a date."""

_DAY = re.compile(r"(\d{1,2})(?:[^\W\d_]{0,4}|[ºª°.]|[-'\u2019.][^\W\d_]{1,4})?")
_YEAR = re.compile(r"(\d{4})(?:[^\W\d_]{0,2}|\.|-[^\W\d_]{1,4})?")
_NUMERIC = re.compile(r"(?<![\d./-])(\d{1,4})([./-])\s?(\d{1,2})\2\s?(\d{1,4})(?![\d/-])")
_VIETNAMESE = re.compile(r"(\d{1,2}) tháng (\d{1,2})(?:,? năm (\d{4}))?", re.IGNORECASE)
_EAST_ASIAN = re.compile(r"(?:(\d{4})\s?[年년]\s?)?(\d{1,2})\s?[月월]\s?(\d{1,2})\s?[日일]")
_ERA = r"(?:[\u0e04\u0e1e]\.\u0e28\.\s?)?"
_DIRECTIONS = re.compile("[\u200e\u200f]")
_BUDDHIST_YEAR_OFFSET = 543

_MIN_STEM_CHARS = 5
_VOWELS = re.compile("(?<![aeiouyąęéěí])[aeiouyąęéěí]++$")
_INFLECTED = frozenset(
    {
        "bs",
        "cs",
        "da",
        "et",
        "fi",
        "hr",
        "hu",
        "ko",
        "lt",
        "lv",
        "nb",
        "nn",
        "pl",
        "sk",
        "sl",
        "sr",
        "sv",
        "tr",
    }
)
"""Languages whose months and weekdays are inflected beyond the forms that the packages list."""


def find_dates(text: str, words: TokenisedText, lang: str, day: date) -> frozenset[date]:
    """Find the days that a text mentions.

    Relative dates count from ``day``, on which the article was published. Only numeric dates are found in a
    language that ``dateparser`` does not know.

    Examples
    --------
    >>> def found(text, lang="en"):
    ...     days = find_dates(text, TokenisedText.of(text, lang), lang, date(2031, 3, 6))
    ...     return [str(day) for day in sorted(days)]
    >>> found("She may come on March 5 or yesterday, on 3 June 2030, or on Monday.")
    ['2030-06-03', '2031-03-03', '2031-03-05']
    >>> found("Am 12. Dezember und 01.02.2031", "de"), found("5 марта, в среду", "ru")
    (['2030-12-12', '2031-02-01'], ['2031-03-05'])
    >>> found("In March 2031 the army of Mars may march.")
    []
    """
    calendar = _calendar(lang)
    if is_unspaced(lang):
        return frozenset(_dates_in_text(text, calendar, day))
    found = set(_dates_in_words(words, calendar, day))
    if words.digits:
        around = (" ".join(words.tokens[place : place + 3]) for place in words.digits)
        found.update(one for some in around if _may_be_date(some) for one in _numeric(some, calendar.order))
    if lang == "ko":
        found.update(_east_asian(text, day))
    elif lang == "vi":
        found.update(_vietnamese(text, day))
    return frozenset(found)


def calendar_words(lang: str) -> frozenset[str]:
    """Return the lower-case words for months and days in a language.

    Examples
    --------
    >>> {"march", "monday", "yesterday"} <= calendar_words("en")
    True
    """
    return _calendar(lang).words


@dataclass(frozen=True)
class _Calendar:
    """Month and day words of a language."""

    months: dict[str, int] = field(default_factory=dict)
    weekdays: dict[str, int] = field(default_factory=dict)
    offsets: dict[str, int] = field(default_factory=dict)
    order: str = ""
    has_capitals: bool = False
    stems: tuple[tuple[str, str], ...] = ()

    @cached_property
    def heads(self) -> frozenset[str]:
        """The first three letters of each stem."""
        return frozenset(stem[:3] for stem, _ in self.stems)

    @cached_property
    def words(self) -> frozenset[str]:
        """All month and day words."""
        return frozenset({*self.months, *self.weekdays, *self.offsets})


def _dates_in_words(words: TokenisedText, calendar: _Calendar, day: date) -> Iterator[date]:
    forms = _forms(words.vocabulary, calendar) if calendar.stems else {}
    known = calendar.words.intersection(words.vocabulary) | set(forms.values())
    if not known:
        return
    lower = [forms.get(word, word) for word in words.lower] if forms else words.lower
    for place in [place for place, word in enumerate(lower) if word in known]:
        word, is_capital = lower[place], words.words[place][0].isupper()
        if word in calendar.months:
            if is_capital or not calendar.has_capitals:
                yield from _date_at_month(lower, place, calendar.months[word], day)
        elif word in calendar.offsets:
            yield from _shift(day, calendar.offsets[word])
        elif words.starts_sentence(place) or is_capital == calendar.has_capitals:
            yield from _last_weekday(calendar.weekdays[word], day)


def _forms(vocabulary: Set[str], calendar: _Calendar) -> dict[str, str]:
    """Map inflected forms to the month or weekday they stand for."""
    heads, known = calendar.heads, calendar.words
    likely = [word for word in vocabulary if word[:3] in heads and word not in known]
    found = ((word, _without_ending(word, calendar)) for word in likely)
    return {word: name for word, name in found if name is not None}


def _without_ending(word: str, calendar: _Calendar) -> str | None:
    """Return the month or weekday that a word is a form of."""
    forms = (name for stem, name in calendar.stems if word.startswith(stem) and len(word) <= len(name) + 4)
    return next(forms, None)


def _date_at_month(words: Sequence[str], place: int, month: int, day: date) -> Iterator[date]:
    """Yield the date around a month word, if there is a day before or after it."""
    for step in (-1, 1):
        beside = _next(words, place, step)
        found = _DAY.fullmatch(words[beside]) if 0 <= beside < len(words) else None
        if found:
            first, last = sorted((place, beside))
            around = (_next(words, last, 1), _next(words, first, -1))
            years = (_YEAR.fullmatch(words[one]) for one in around if 0 <= one < len(words))
            year = next(filter(None, years), None)
            yield from _resolve_date(int(found[1]), month, int(year[1]) if year else None, day)
            return


def _next(words: Sequence[str], place: int, step: int) -> int:
    """Return the position next to a word, skipping at most two connectives."""
    place += step
    for _ in range(2):
        if 0 <= place < len(words) and words[place] in _CONNECTIVES:
            place += step
    return place


def _dates_in_text(text: str, calendar: _Calendar, day: date) -> Iterator[date]:
    """Yield the dates of a text in an unspaced script."""
    yield from _numeric(text, calendar.order)
    yield from _east_asian(text, day)
    pattern = _patterns(tuple(sorted(calendar.words, key=len, reverse=True)))
    for found in pattern.finditer(text) if pattern else ():
        number, word, year = found.groups()
        if word in calendar.months:
            if number:
                yield from _resolve_date(int(number), calendar.months[word], int(year) if year else None, day)
        elif word in calendar.offsets:
            yield from _shift(day, calendar.offsets[word])
        else:
            yield from _last_weekday(calendar.weekdays[word], day)


def _east_asian(text: str, day: date) -> Iterator[date]:
    for year, month, number in _EAST_ASIAN.findall(text):
        yield from _resolve_date(int(number), int(month), int(year) if year else None, day)


def _vietnamese(text: str, day: date) -> Iterator[date]:
    for number, month, year in _VIETNAMESE.findall(text):
        yield from _resolve_date(int(number), int(month), int(year) if year else None, day)


def _may_be_date(text: str) -> bool:
    """Return whether a text has a separator of numeric dates."""
    return "." in text or "/" in text or "-" in text


def _numeric(text: str, order: str) -> Iterator[date]:
    """Yield numeric dates with a four-digit year, except where day and month are ambiguous."""
    for found in _NUMERIC.finditer(_DIRECTIONS.sub("", text)):
        first, second, third = found[1], found[3], found[4]
        if len(first) == 4 and len(third) <= 2:
            yield from _resolve_date(int(third), int(second), int(first), date.min)
        elif len(third) == 4 and len(first) <= 2:
            one, other = int(first), int(second)
            if one > 12 or one == other or order != "MDY" or found[2] == ".":
                yield from _resolve_date(one, other, int(third), date.min)
            elif other > 12:
                yield from _resolve_date(other, one, int(third), date.min)


def _resolve_date(number: int, month: int, year: int | None, day: date) -> Iterator[date]:
    """Yield a date if it exists; without a year, the one nearest to the article."""
    if year is not None and year > 2400:
        year -= _BUDDHIST_YEAR_OFFSET
    if year is not None and not 1800 <= year <= 2200:
        return
    years = (year,) if year is not None else (day.year - 1, day.year, day.year + 1)
    possible = [date(y, month, number) for y in years if _is_date(y, month, number)]
    if possible:
        yield min(possible, key=lambda one: abs(one - day))


def _is_date(year: int, month: int, number: int) -> bool:
    try:
        date(year, month, number)
    except ValueError:
        return False
    return True


def _last_weekday(weekday: int, day: date) -> Iterator[date]:
    return _shift(day, -((day.weekday() - weekday) % 7))


def _shift(day: date, days: int) -> Iterator[date]:
    """Yield the day a number of days later, if the calendar has it."""
    if date.min.toordinal() <= day.toordinal() + days <= date.max.toordinal():
        yield day + timedelta(days)


@cache
def _patterns(words: tuple[str, ...]) -> re.Pattern[str] | None:
    if not words:
        return None
    return re.compile(rf"(?:(\d{{1,2}})\s?)?({'|'.join(map(re.escape, words))})(?:\s?{_ERA}(\d{{4}}))?")


@cache
def _calendar(lang: str) -> _Calendar:
    """Return the calendar words of a language; none without ``dateparser`` or for an unknown language."""
    try:
        info: dict[str, Any] = importlib.import_module(f"dateparser.data.date_translation_data.{lang}").info
    except ModuleNotFoundError:
        return _Calendar()
    months, weekdays, has_capitals = _from_cldr(lang)
    for number, name in enumerate(_MONTHS, 1):
        months.update((word.lower(), number) for word in info.get(name, ()) if not word[0].isdigit())
    for number, name in enumerate(_WEEKDAYS):
        weekdays.update((word.lower(), number) for word in info.get(name, ()))
    unwanted = _OTHER_MEANING.get(lang, set())
    offsets = {
        word: offset
        for name, offset in _OFFSETS.items()
        for word in info.get("relative-type", {}).get(name, ())
    }
    weekdays = {word: n for word, n in weekdays.items() if _is_long(word, lang) and word not in unwanted}
    offsets = {word: n for word, n in offsets.items() if word not in unwanted and " " not in word}
    stems = _stems([*weekdays, *months], lang) if lang in _INFLECTED else ()
    return _Calendar(months, weekdays, offsets, str(info.get("date_order", "")), has_capitals, stems)


def _stems(words: list[str], lang: str) -> tuple[tuple[str, str], ...]:
    """Return the stems of long words, the longest first."""
    least = 3 if lang == "ko" else _MIN_STEM_CHARS
    stems = {word if lang == "ko" else _VOWELS.sub("", word): word for word in words}
    return tuple(sorted(((s, w) for s, w in stems.items() if len(s) >= least), key=lambda one: -len(one[0])))


def _from_cldr(lang: str) -> tuple[dict[str, int], dict[str, int], bool]:
    """Return months in all forms, weekdays, and whether weekdays are capitalised."""
    try:
        locale = importlib.import_module("babel").Locale.parse(lang)
    except (ModuleNotFoundError, ValueError, LookupError):
        return {}, {}, False
    forms = ("format", "stand-alone")
    months = {
        name.lower().rstrip("."): number
        for form in forms
        for width in ("wide", "abbreviated")
        for number, name in locale.months[form][width].items()
        if not name[0].isdigit()
    }
    weekdays = {name.lower(): n for form in forms for n, name in locale.days[form]["wide"].items()}
    return months, weekdays, locale.days["format"]["wide"][0][0].isupper()


def _is_long(word: str, lang: str) -> bool:
    """Return whether a word for a weekday is more than an abbreviation."""
    least = 2 if is_unspaced(lang) else 3 if lang == "ko" else 4
    return len(word) >= least and " " not in word
