r"""Chapters of an event: segments of its time line that differ in what the articles name.

The days with articles are divided so that the sum of

.. math::

    -\sum_w f_{sw} \log \frac{f_{sw} + 1}{n_s + V} + \frac{4 \log N}{1 + g_s / 3}

over the segments s is smallest. :math:`f_{sw}` counts term w in the segment, :math:`n_s` all its terms,
N all terms of the event and V the different ones. The first part is the text segmentation of Utiyama and
Isahara (A statistical model for domain-independent text segmentation, ACL 2001). The price of a further
segment falls with the days without articles before it, :math:`g_s`.

Terms are ids that all languages share: names, places, organisations, concepts and news words. A term counts
at most four times a day, so that one busy day does not decide alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from functools import cache
from itertools import pairwise
from math import log, sqrt
from typing import NamedTuple

from isogloss.events.annotate import Annotator, concept_label, news_concepts
from isogloss.events.article import Article

MIN_CHAPTER_ARTICLES = 3
"""A chapter has at least as many articles."""

MAX_CHAPTERS = 12
_MIN_DAYS = 7
"""An event of fewer days is not divided."""

_MAX_UNITS = 120
"""Days, or groups of days of longer events, between which chapters may begin."""

_PRICE = 4.0
"""Price of a further segment, in logarithms of the number of terms. With 1, three of four events whose
articles were put in random order were divided; with 4, one of six, and 82 % of pairs of events that were put
one after the other."""

_PAUSE_SCALE_DAYS = 3.0
_MAX_DAILY = 4
_LEAD_CHARS = 400
"""Characters of a body that tell what an article is about."""

_MAX_NEW_TERMS = 4


@dataclass(frozen=True)
class Chapter:
    """A segment of the time line of an event."""

    first: datetime
    last: datetime
    """Times of its first and last article."""
    titles: Mapping[str, str]
    """The most typical title of the chapter in each language; languages with the most articles first."""
    articles: tuple[Article, ...]
    """Its articles, the oldest first."""
    pause_days: int
    """Whole days without articles before it; 0 for the first chapter."""
    new_terms: tuple[str, ...]
    """Labels of names and concepts that set it apart from the other chapters, the strongest first."""


def find_chapters(articles: Iterable[Article], annotator: Annotator | None = None) -> list[Chapter]:
    """Divide the articles of an event into chapters, the oldest first.

    An event of a few days, or one that is about the same all the time, is one chapter. The result depends on
    the articles alone, not on their order.
    """
    ordered = sorted(articles, key=lambda one: (one.time, one.key))
    if not ordered:
        return []
    terms = {id(one): article_terms(one, annotator) for one in ordered}
    units = _units(ordered)
    counts = [_count(terms[id(one)] for one in unit.articles) for unit in units]
    starts = _segment(units, counts)
    groups = [units[start:end] for start, end in zip(starts, [*starts[1:], len(units)], strict=True)]
    totals = Counter[str]()
    for count in counts:
        totals.update(count)
    pauses = _pauses(units)
    return [
        _chapter(group, sum(counts[start : start + len(group)], Counter()), totals, terms, pauses[start])
        for start, group in zip(starts, groups, strict=True)
    ]


def article_terms(article: Article, annotator: Annotator | None = None) -> frozenset[str]:
    """Return what the title and the first sentences of an article are about, in ids that languages share.

    Examples
    --------
    >>> from datetime import UTC, datetime
    >>> article = Article("1", "de", "Erdbeben in Wien", "", datetime(2031, 3, 5, tzinfo=UTC))
    >>> sorted(article_terms(article))
    ['geo:2761369', 'word:earthquake']
    """
    short = Article(article.id, article.lang, article.title, article.body[:_LEAD_CHARS], article.time)
    found = (annotator or _default_annotator()).annotate(short)
    words = (f"word:{meaning}" for meaning in news_concepts(short.text, short.lang))
    entities = (key for key in found.entities if not key.startswith("sound:"))
    concepts = (key for key in found.keywords if key.startswith("concept:"))
    return frozenset([*entities, *concepts, *words])


class _Unit(NamedTuple):
    """Articles of a day, or of some days of a long event."""

    day: date
    last_day: date
    articles: list[Article]


def _units(ordered: Sequence[Article]) -> list[_Unit]:
    days: dict[date, list[Article]] = {}
    first = ordered[0].time.date()
    width = (ordered[-1].time.date() - first).days // _MAX_UNITS + 1
    for article in ordered:
        start = first + timedelta(days=(article.time.date() - first).days // width * width)
        days.setdefault(start, []).append(article)
    return [_Unit(own[0].time.date(), own[-1].time.date(), own) for own in days.values()]


def _count(articles: Iterable[frozenset[str]]) -> Counter[str]:
    counts = Counter(term for terms in articles for term in terms)
    return Counter({term: min(count, _MAX_DAILY) for term, count in counts.items()})


def _segment(units: Sequence[_Unit], counts: Sequence[Counter[str]]) -> list[int]:
    """Return where the segments of the cheapest division begin."""
    total = sum(count.total() for count in counts)
    if (units[-1].last_day - units[0].day).days + 1 < _MIN_DAYS or not total:
        return [0]
    different = len(set().union(*counts))
    best: list[list[float]] = [[0.0] + [float("inf")] * MAX_CHAPTERS]
    origin: list[list[int]] = [[0] * (MAX_CHAPTERS + 1)]
    prices = [_PRICE * log(total) / (1 + pause / _PAUSE_SCALE_DAYS) for pause in _pauses(units)]
    for end in range(1, len(units) + 1):
        best.append([float("inf")] * (MAX_CHAPTERS + 1))
        origin.append([0] * (MAX_CHAPTERS + 1))
        segment, n_articles = Counter[str](), 0
        for start in range(end - 1, -1, -1):
            segment.update(counts[start])
            n_articles += len(units[start].articles)
            if n_articles < MIN_CHAPTER_ARTICLES and (start, end) != (0, len(units)):
                continue
            cost = _cost(segment, different) + prices[start]
            for used in range(1, MAX_CHAPTERS + 1):
                if best[start][used - 1] + cost < best[end][used]:
                    best[end][used], origin[end][used] = best[start][used - 1] + cost, start
    used = min(range(MAX_CHAPTERS + 1), key=lambda used: (best[-1][used], used))
    starts, end = [], len(units)
    while end:
        end = origin[end][used]
        used -= 1
        starts.append(end)
    return starts[::-1]


def _cost(counts: Counter[str], different: int) -> float:
    n = counts.total() + different
    return sum(f * (log(n) - log(f + 1)) for f in counts.values())


def _pauses(units: Sequence[_Unit]) -> list[int]:
    """Return the whole days without articles before each unit."""
    gaps = [(unit.day - before.last_day).days - 1 for before, unit in pairwise(units)]
    return [0, *(max(gap, 0) for gap in gaps)]


def _chapter(
    group: Sequence[_Unit],
    counts: Counter[str],
    totals: Counter[str],
    terms: Mapping[int, frozenset[str]],
    pause_days: int,
) -> Chapter:
    articles = [article for unit in group for article in unit.articles]
    weights = _distinctive(counts, totals)
    by_language: dict[str, list[Article]] = {}
    for article in articles:
        by_language.setdefault(article.lang, []).append(article)
    order = sorted(by_language, key=lambda lang: (-len(by_language[lang]), lang))
    labels = (concept_label(term) for term in sorted(weights, key=lambda one: (-weights[one], one)))
    return Chapter(
        first=articles[0].time,
        last=articles[-1].time,
        titles={lang: _typical(by_language[lang], terms, weights).title for lang in order},
        articles=tuple(articles),
        pause_days=pause_days,
        new_terms=tuple(dict.fromkeys(label for label in labels if label))[:_MAX_NEW_TERMS],
    )


def _distinctive(counts: Counter[str], totals: Counter[str]) -> dict[str, float]:
    """Return how much more frequent each term is in a chapter than in the event."""
    here, everywhere = counts.total() or 1, totals.total() or 1
    gains = {term: count / here - totals[term] / everywhere for term, count in counts.items()}
    return {term: gain for term, gain in gains.items() if gain > 0 and counts[term] > 1}


def _typical(
    articles: Sequence[Article], terms: Mapping[int, frozenset[str]], weights: Mapping[str, float]
) -> Article:
    """Return the article with a title whose terms set the chapter apart; the oldest of equals."""

    def score(article: Article) -> float:
        own = terms[id(article)]
        return sum(weights.get(term, 0.0) for term in own) / sqrt(len(own) or 1)

    titled = [article for article in articles if article.title] or articles
    return max(titled, key=score)


@cache
def _default_annotator() -> Annotator:
    return Annotator()
