"""Numbers in running text as values: digits with separators, multipliers, and small numbers in words.

Separators, multipliers (*million*, *Mrd.*, *万*) and units of time are those of Unicode's CLDR (``babel``).
Number words from two to twelve, in many languages to twenty, are in ``numberwords.tsv``: the language, then
the words of each number.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterator
from datetime import timedelta
from functools import cache
from importlib import resources
from typing import Any, NamedTuple

from isogloss.extras import has_module

_SPACES = " \u00a0\u2009\u202f"
_DIGITS = re.compile(
    rf"(?<![A-Za-z\u00c0-\u04ff\d.,])\d{{1,3}}(?:[{_SPACES}'\u2019]\d{{3}})+(?![\d])(?:[.,]\d+)?"
    rf"|(?<![A-Za-z\u00c0-\u04ff\d.,])\d+(?:[.,'\u2019\u066b\u066c]\d+)*"
)
_GROUPS = re.compile(rf"[{_SPACES}'\u2019\u066c]")
_MAX_DIGITS = 15
_LETTERS = re.compile(r"[^\W\d_]+")
_CONTINUED = re.compile(r"[-\u2010\u2011]?[A-Za-z\u00c0-\u1fff]|-\d")
"""Characters that make a number part of a longer word, such as *79-year-old*, *4x4* or *2-1*."""

_ABBREVIATIONS = {
    "bn": 1e9,
    "mn": 1e6,
    "mln": 1e6,
    "mld": 1e9,
    "mrd": 1e9,
    "萬": 1e4,
    "億": 1e8,
    "ھەزار": 1e3,
    "هەزار": 1e3,
}
"""Multipliers that CLDR does not have, or spells in another way."""

_UNITS = {
    "year": timedelta(days=366),
    "month": timedelta(days=31),
    "week": timedelta(weeks=1),
    "day": timedelta(days=1),
    "hour": timedelta(hours=1),
    "minute": timedelta(minutes=1),
}

_FIRST_WORD = 2
"""The value of the first words of a line of ``numberwords.tsv``; *one* is an article in many languages."""


class NumberMention(NamedTuple):
    """A number in a text: its value, and the characters that it takes, with its multiplier."""

    value: float
    start: int
    end: int


def find_number_mentions(text: str, lang: str) -> Iterator[NumberMention]:
    """Yield the numbers of a text in order; those that cannot be read with certainty are left out.

    Examples
    --------
    >>> [number.value for number in find_number_mentions("1.200 Tote, 3,5 Millionen Euro", "de")]
    [1200.0, 3500000.0]
    >>> [number.value for number in find_number_mentions("Two dead, 1,200 homeless, 1.200 what?", "en")]
    [2.0, 1200.0]
    >>> [number.value for number in find_number_mentions("3.2万人", "zh")]
    [32000.0]
    """
    found = [*_digits(text, lang), *_words(text, lang)]
    yield from sorted(found, key=lambda number: number.start)


def _digits(text: str, lang: str) -> Iterator[NumberMention]:
    for match in _DIGITS.finditer(text):
        value = _parse(match[0], _decimal(lang))
        if value is None:
            continue
        factor, end = _multiplier(text, match.end(), lang)
        if end > match.end() or not _CONTINUED.match(text, end):
            yield NumberMention(round(value * factor, 6), match.start(), end)


def _words(text: str, lang: str) -> Iterator[NumberMention]:
    known = _number_words().get(lang, {})
    for match in _LETTERS.finditer(text) if known else ():
        value = known.get(match[0].lower())
        if value is not None and text[match.end() : match.end() + 1] != "-":
            factor, end = _multiplier(text, match.end(), lang)
            yield NumberMention(value * factor, match.start(), end)


def _parse(written: str, decimal: str) -> float | None:
    """Return the value of digits with separators; None if a separator can be read in two ways."""
    plain = "".join(str(int(c)) if c.isdecimal() else c for c in _GROUPS.sub("", written))
    plain = plain.replace("\u066b", ".")
    separators = [c for c in plain if c in ".,"]
    parts = re.split(r"[.,]", plain)
    if sum(map(len, parts)) > _MAX_DIGITS:
        return None
    if not separators:
        return float(plain)
    last = separators[-1]
    if len(set(separators)) == 2:
        grouped = separators.count(last) == 1 and all(len(part) == 3 for part in parts[1:-1])
        return float(f"{''.join(parts[:-1])}.{parts[-1]}") if grouped else None
    if len(separators) > 1:
        return float("".join(parts)) if all(len(part) == 3 for part in parts[1:]) else None
    if len(parts[1]) != 3:
        return float(".".join(parts))
    return float("".join(parts)) if last != decimal else None


def _multiplier(text: str, end: int, lang: str) -> tuple[float, int]:
    """Return the product of the multipliers that follow a number, and where they end."""
    known, factor = _multipliers(lang), 1.0
    longest = max(map(len, known), default=0)
    while known:
        start = end + (end < len(text) and text[end] in f"{_SPACES}-")
        word = _LETTERS.match(text, start)
        spelled = word[0].lower() if word else ""
        found = next((n for n in range(min(longest, len(spelled)), 0, -1) if spelled[:n] in known), 0)
        if not found or (found < len(spelled) and not _is_ideograph(spelled[0])):
            return factor, end
        factor *= known[spelled[:found]]
        end = start + found
    return factor, end


def _is_ideograph(letter: str) -> bool:
    return "\u3040" <= letter <= "\u9fff" or "\uac00" <= letter <= "\ud7a3"


@cache
def _number_words() -> dict[str, dict[str, int]]:
    table = resources.files("isogloss.events.story").joinpath("numberwords.tsv").read_text("utf-8")
    rows = (line.split("\t") for line in table.splitlines())
    return {
        lang: {word: at for at, words in enumerate(numbers, _FIRST_WORD) for word in words.split()}
        for lang, *numbers in rows
    }


@cache
def _multipliers(lang: str) -> dict[str, float]:
    """Return the words for powers of ten in a language, in lower case."""
    locale, found = _locale(lang), dict(_ABBREVIATIONS)
    formats = locale.compact_decimal_formats if locale is not None else {}
    for width in ("long", "short"):
        for forms in formats.get(width, {}).values():
            for power, pattern in forms.items():
                word = pattern.pattern.replace("\u00a0", " ").replace("'", "").strip("0 ").lower()
                zeros = pattern.pattern.count("0")
                is_word = len(word) > (1 if width == "short" else 0) or _is_ideograph(word[:1] or "a")
                if word and is_word and _LETTERS.fullmatch(word.rstrip(".")):
                    found.setdefault(word.rstrip("."), int(power) / 10 ** (zeros - 1))
    return found


@cache
def time_units(lang: str) -> frozenset[str]:
    """Return the lower-case words for years, months, weeks, days, hours and minutes in a language."""
    locale = _locale(lang)
    if locale is None:
        return frozenset()
    dates = importlib.import_module("babel.dates")
    shown = (
        dates.format_timedelta(n * length, granularity=unit, threshold=1, locale=locale)
        for unit, length in _UNITS.items()
        for n in (1, 2, 5)
    )
    return frozenset(word.lower() for phrase in shown for word in _LETTERS.findall(phrase))


@cache
def _decimal(lang: str) -> str:
    locale = _locale(lang)
    if locale is None:
        return "."
    symbols = locale.number_symbols
    found = symbols.get("latn", symbols).get("decimal", ".")
    return found if found in ".," else "."


@cache
def _locale(lang: str) -> Any:
    if not has_module("babel"):
        return None
    core = importlib.import_module("babel.core")
    try:
        return core.Locale.parse(lang)
    except (core.UnknownLocaleError, ValueError):
        return None
