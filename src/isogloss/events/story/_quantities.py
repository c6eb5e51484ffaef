"""Quantities in articles, such as the dead and injured, votes or prices, and where articles differ.

A number counts what the nearest news word of its clause names: *12 people were killed*, *двое погибших*,
*12人死亡*. Numbers next to units of time, dates and ages are left out, and so is everything that the table of
news words (see :mod:`isogloss.events.annotate`) cannot name.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

from isogloss.events.annotate import calendar_words, news_mentions
from isogloss.events.article import Article
from isogloss.events.story._numbers import NumberMention, find_number_mentions, time_units

MAX_QUANTITY_CHARS = 2_000
"""Characters of a title and body in which quantities are looked for: articles state them at the beginning."""

_COUNTED = {
    "dead": "dead",
    "injured": "injured",
    "missing": "missing",
    "evacuate": "evacuated",
    "rescue": "rescued",
    "arrest": "arrested",
    "hostage": "hostages",
    "refugee": "refugees",
    "infection": "infections",
    "vote": "votes",
    "job": "jobs",
}
"""News words whose number is a quantity, with the name of the quantity."""

_RATES = {"inflation": "inflation (%)", "interest-rate": "interest rate (%)", "vote": "votes (%)"}
"""News words whose percentage is a quantity."""

_SYMBOLS = {"€": "EUR", "£": "GBP", "₹": "INR", "₽": "RUB", "¥": "JPY", "$": "USD"}
_MONEY = re.compile(
    r"(?P<EUR>euro|eur\b|евро|ευρώ|يورو|欧元|歐元|ユーロ)"
    r"|(?P<USD>(?:us[ -]?)?dollar|us\$|usd\b|dólar|dolar|доллар|долар|δολάρι|دولار|美元|ドル)"
    r"|(?P<GBP>pound|gbp\b|британск\w+ фунт|英镑|ポンド)",
    re.IGNORECASE,
)
_PERCENT = re.compile(
    r"\s?(?:%|\u066a|per ?cent|percent|prozent|pour cent|por ciento|por cento|процент)", re.I
)
_AGES = frozenset(
    {
        "age",
        "aged",
        "âgé",
        "âgée",
        "edad",
        "alter",
        "возраст",
        "возрасте",
        "віці",
        "åldern",
        "alder",
        "usia",
        "سن",
    }
)
"""Words before the age of a person, in languages where no unit of time follows."""

_CJK_UNITS = frozenset("年月日岁歲歳时時分点點号號天周週")
_CLAUSE_END = re.compile(r"[.!?:;,،؛]+(?=\s|$|[^\d\s])|[।。！？：；，、()\n–—|]")  # noqa: RUF001
_WORD = re.compile(r"\w+")
_MIN_UNIT_CHARS = 3
_MAX_WORDS_BETWEEN = 4
_UNSPACED = ((re.compile("[\u3040-\u9fff]"), 2), (re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff]"), 6))
"""Letters of scripts without blanks, and how many of them are counted as a word."""

_MAX_PHRASE_CHARS = 90
_AGE, _MIN_AGE = "age", 15
"""Kind of a duration beside a death, and the least that may be the age of the one who died."""

_TOLLS = frozenset({"dead", "injured", "missing", "infections"})
"""Quantities that can grow without bound while an event is reported."""

_MAX_RATIO = 1.5
"""Other values of a kind that differ more are different quantities, not different reports of one."""


@dataclass(frozen=True, slots=True)
class Quantity:
    """A quantity in a text."""

    kind: str
    """The thing that is counted: ``dead``, ``votes (%)``, ``EUR``."""
    value: float
    """The number."""
    phrase: str
    """The clause that says so."""


class QuantityMention(NamedTuple):
    """A quantity as stated in an article."""

    article: Article
    value: float
    phrase: str


@dataclass(frozen=True)
class QuantityComparison:
    """A quantity that at least two articles state."""

    kind: str
    """The thing that is counted."""
    mentions: tuple[QuantityMention, ...]
    """Statements of the articles, the latest first."""
    latest: Mapping[str, QuantityMention]
    """The latest of each language."""
    differing: frozenset[str]
    """Languages whose latest value is not that of most languages; the later one counts if as many have it.
    None differ if no value is that of half of the languages, as while a toll rises.
    """


def find_quantities(text: str, lang: str) -> list[Quantity]:
    """Return the quantities of a text, in order.

    Examples
    --------
    >>> [(one.kind, one.value) for one in find_quantities("At least 12 people were killed, 30 injured", "en")]
    [('dead', 12.0), ('injured', 30.0)]
    >>> [(one.kind, one.value) for one in find_quantities("Сел на 79-м году: погибли двое", "ru")]
    [('dead', 2.0)]
    >>> find_quantities("Singer dead at 79, after 12 years of silence in 2031", "en")
    []
    """
    return [quantity for quantity in _find(text, lang) if quantity.kind != _AGE]


def _find(text: str, lang: str) -> list[Quantity]:
    """Return the quantities of a text, and the ages of the dead."""
    found: list[Quantity] = []
    start = 0
    for end in [*(match.start() for match in _CLAUSE_END.finditer(text)), len(text)]:
        found += _in_clause(text[start:end], lang)
        start = end + (end < len(text))
    return found


def compare_quantities(articles: Iterable[Article]) -> list[QuantityComparison]:
    """Compare the quantities that articles state, those with the most articles first.

    The first value of an article counts. A quantity is left out unless two articles state it, and so is a
    number of dead that another article gives as an age.
    """
    mentions: dict[str, list[QuantityMention]] = {}
    ages: set[float] = set()
    for article in sorted(articles, key=lambda one: (one.time, one.key), reverse=True):
        first: dict[str, Quantity] = {}
        for quantity in _find(article.text[:MAX_QUANTITY_CHARS], article.lang):
            if quantity.kind == _AGE:
                ages.add(quantity.value)
            else:
                first.setdefault(quantity.kind, quantity)
        for kind, quantity in first.items():
            mentions.setdefault(kind, []).append(QuantityMention(article, quantity.value, quantity.phrase))
    mentions["dead"] = [one for one in mentions.get("dead", ()) if one.value not in ages]
    for kind in mentions:
        if kind not in _TOLLS:
            mentions[kind] = _of_one_quantity(mentions[kind])
    compared = (_compare(kind, found) for kind, found in mentions.items() if len(found) > 1)
    return sorted(compared, key=lambda one: (-len(one.mentions), one.kind))


def _compare(kind: str, mentions: Sequence[QuantityMention]) -> QuantityComparison:
    latest: dict[str, QuantityMention] = {}
    for mention in mentions:
        latest.setdefault(mention.article.lang, mention)
    counts = Counter(mention.value for mention in latest.values())
    common = max(counts, key=counts.__getitem__)  # of equals the latest, since the mentions are in that order
    differing = frozenset(lang for lang, mention in latest.items() if mention.value != common)
    if 2 * counts[common] < len(latest):
        differing = frozenset()
    return QuantityComparison(kind, tuple(mentions), latest, differing)


def _of_one_quantity(mentions: Sequence[QuantityMention]) -> list[QuantityMention]:
    """Return the mentions near the value that most articles are near to."""
    near = (
        [one for one in mentions if max(one.value, other.value) <= _MAX_RATIO * min(one.value, other.value)]
        for other in mentions
    )
    return max(near, key=len, default=[])


class _Mark(NamedTuple):
    """A word of a clause that says what a number counts."""

    kind: str
    start: int
    end: int


def _in_clause(clause: str, lang: str) -> list[Quantity]:
    numbers = list(find_number_mentions(clause, lang))
    if not numbers:
        return []
    marks = [
        _Mark(meaning, start, end)
        for start, end, meanings in news_mentions(clause, lang)
        for meaning in meanings
        if meaning in _COUNTED or meaning in _RATES
    ]
    phrase = " ".join(clause.split())
    found: list[tuple[int, int, Quantity]] = []
    for number in numbers:
        money = _currency(clause, number)
        if money is not None:
            found.append((number.start, 0, Quantity(money, number.value, _shorten(phrase))))
            continue
        percent = _PERCENT.match(clause, number.end) is not None
        kinds = _RATES if percent else _COUNTED
        if not percent and _is_time_or_age(clause, number, lang):
            kinds = {"dead": _AGE} if number.value >= _MIN_AGE else {}
        if not percent and not number.value.is_integer():
            continue
        others = [other for other in numbers if other is not number]
        near = [
            (distance, mark)
            for mark in marks
            if mark.kind in kinds and (distance := _distance(clause, number, mark, others)) is not None
        ]
        if near:
            distance, mark = min(near, key=lambda pair: (pair[0], pair[1].start < number.start))
            quantity = Quantity(kinds[mark.kind], number.value, _shorten(phrase))
            found.append((mark.start, distance, quantity))
    return _one_number_per_word(found)


def _one_number_per_word(found: Iterable[tuple[int, int, Quantity]]) -> list[Quantity]:
    """Return quantities in order; of two numbers that claim one word, the nearer counts."""
    nearest: dict[int, tuple[int, Quantity]] = {}
    for place, distance, quantity in found:
        if place not in nearest or distance < nearest[place][0]:
            nearest[place] = distance, quantity
    return [quantity for _, quantity in nearest.values()]


def _distance(clause: str, number: NumberMention, mark: _Mark, others: Iterable[NumberMention]) -> int | None:
    """Return the number of words between a number and a word; None if too many or another number."""
    start, end = (number.end, mark.start) if mark.start >= number.end else (mark.end, number.start)
    if start > end or any(start <= other.start < end for other in others):
        return None
    between = clause[start:end]
    words = sum(-(-len(word) // _letters_per_word(word)) for word in _WORD.findall(between))
    return words if words <= _MAX_WORDS_BETWEEN else None


def _letters_per_word(word: str) -> int:
    return next((n for letters, n in _UNSPACED if letters.match(word)), len(word))


def _currency(clause: str, number: NumberMention) -> str | None:
    """Return the currency of a number: a symbol on either side, or the word after it."""
    before, after = clause[: number.start].rstrip()[-1:], clause[number.end :].lstrip(" \u00a0-")
    symbol = _SYMBOLS.get(before) or _SYMBOLS.get(after[:1])
    if symbol is not None:
        return symbol
    match = _MONEY.match(after.removeprefix("de ").removeprefix("d'"))
    return match.lastgroup if match else None


def _is_time_or_age(clause: str, number: NumberMention, lang: str) -> bool:
    """Return whether a number is a year, a date, a duration or an age."""
    text = clause[number.start : number.end]
    if text.isdecimal() and len(text) == 4 and text.startswith(("18", "19", "20")):
        return True
    before = _WORD.findall(clause[: number.start].lower())[-2:]
    after = _WORD.findall(clause[number.end :].lower())[:2]
    if clause[number.end : number.end + 1] in _CJK_UNITS and number.end < len(clause):
        return True
    months = calendar_words(lang)
    dated = (
        not months.isdisjoint([*before[-1:], *after[:1]])
        or not _AGES.isdisjoint(before)
        or before[-1:] == ["at"]
    )
    units = time_units(lang)
    return dated or any(word in units or word.startswith(_time_units(lang)) for word in after)


@cache
def _time_units(lang: str) -> tuple[str, ...]:
    """Return the units of time that are long enough to be looked for with any ending."""
    return tuple(sorted(unit for unit in time_units(lang) if len(unit) >= _MIN_UNIT_CHARS))


def _shorten(phrase: str) -> str:
    if len(phrase) <= _MAX_PHRASE_CHARS:
        return phrase
    return f"{phrase[:_MAX_PHRASE_CHARS].rpartition(' ')[0] or phrase[:_MAX_PHRASE_CHARS]} …"
