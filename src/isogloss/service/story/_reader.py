"""Reads from the store what :mod:`isogloss.events.story` needs, and keeps what takes long to compute."""

from __future__ import annotations

import hashlib
import threading
from collections import Counter, OrderedDict
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from functools import cache, lru_cache
from typing import Any, NamedTuple

from isogloss.events import Article
from isogloss.events.annotate import Annotator, find_place
from isogloss.events.link import surface_forms
from isogloss.events.story import (
    MAX_QUANTITY_CHARS,
    AbsentSource,
    Chapter,
    EventCoverage,
    EventOutline,
    QuantityComparison,
    QuantityMention,
    RelatedEvent,
    SourceCoverage,
    SourceReport,
    absent_sources,
    compare_quantities,
    describe_coverage,
    find_chapters,
    find_related,
    prominent_places,
    term_weights,
)
from isogloss.store import EventQuery, Store, from_micros
from isogloss.text import language

RECENT_EVENTS = 300
"""Newest events that tell which sources usually report together, and which languages the store has."""

MAX_CANDIDATES = 60
"""Events that share the most places and concepts with an event and are compared with it."""

MAX_CACHED = 32
"""Events whose chapters and quantities are kept."""


MAX_CACHED_TITLES = 4096
"""Titles whose names are kept."""

_COUNTRY_WEIGHT = 0.5
"""Weight of countries beside other terms: most events name one or two."""


class RelatedStory(NamedTuple):
    """A related event, and the event as the store has it."""

    related: RelatedEvent
    event: Mapping[str, Any]


class EventTitle(NamedTuple):
    """The title of an event in a language, and the article that has it; None if it was not read."""

    lang: str
    title: str
    article: Article | None


@dataclass(frozen=True)
class EventStory:
    """What is known of an event beyond its articles."""

    titles: list[EventTitle]
    """Its titles, languages with most articles first."""
    chapters: list[Chapter]
    """Its chapters, the oldest first; their articles have no bodies."""
    quantities: list[QuantityComparison]
    """Quantities that at least two articles state."""
    related: list[RelatedStory]
    """Related events, the most closely related first."""
    coverage: EventCoverage
    """Its sources and languages by the time of their first article."""
    absent_sources: list[AbsentSource]
    """Sources that usually report together with those of the event, but have not."""
    absent_languages: list[str]
    """Languages of recent events that have no article, the most frequent first."""
    examined: int
    """Articles whose texts were read for chapters and quantities; a large event has more."""

    def as_dict(self) -> dict[str, Any]:
        """Return a dictionary that JSON can hold."""
        return {
            "titles": [
                {"lang": lang, "title": title, "article": _article_dict(article) if article else None}
                for lang, title, article in self.titles
            ],
            "chapters": [
                {
                    "first": chapter.first.isoformat(),
                    "last": chapter.last.isoformat(),
                    "title": dict(chapter.titles),
                    "articles": len(chapter.articles),
                    "pause_days": chapter.pause_days,
                    "new_terms": list(chapter.new_terms),
                }
                for chapter in self.chapters
            ],
            "related": [
                {
                    "id": related.id,
                    "relation": related.relation,
                    "score": related.score,
                    "reason": related.reason,
                    "link": related.link,
                    "title": event.get("title") or {},
                    "first": from_micros(event["first"]).isoformat(),
                    "last": from_micros(event["last"]).isoformat(),
                }
                for related, event in self.related
            ],
            "sources": [_coverage_dict(source) for source in self.coverage.sources],
            "languages": [_coverage_dict(lang) for lang in self.coverage.languages],
            "absent_sources": [asdict(source) for source in self.absent_sources],
            "absent_languages": self.absent_languages,
            "quantities": [
                {
                    "kind": quantity.kind,
                    "differing": sorted(quantity.differing),
                    "latest": {lang: _mention_dict(one) for lang, one in quantity.latest.items()},
                    "mentions": [_mention_dict(one) for one in quantity.mentions],
                }
                for quantity in self.quantities
            ],
            "examined": self.examined,
        }


def _coverage_dict(coverage: SourceCoverage) -> dict[str, Any]:
    return {
        "name": coverage.name,
        "languages": list(coverage.languages),
        "articles": coverage.articles,
        "first": coverage.first.isoformat(),
        "lag_seconds": int(coverage.lag.total_seconds()),
    }


def _mention_dict(mention: QuantityMention) -> dict[str, Any]:
    article = mention.article
    return {
        "value": mention.value,
        "phrase": mention.phrase,
        "lang": article.lang,
        "source": article.source,
        "time": article.time.isoformat(),
        "url": article.url,
    }


def _article_dict(article: Article) -> dict[str, str]:
    return {"source": article.source, "time": article.time.isoformat(), "url": article.url}


class StoryReader:
    """Reads the stories of events from a store.

    Memory: bounded by :data:`MAX_CACHED` events of at most ``max_articles`` titles. Thread-safe. The articles
    of an event whose texts are read are spread evenly over its time.
    """

    def __init__(self, store: Store, *, max_articles: int = 500) -> None:
        self.store, self.max_articles = store, max_articles
        self._lock = threading.Lock()
        self._studied: OrderedDict[str, tuple[bytes, list[Chapter], list[QuantityComparison]]] = OrderedDict()
        self._recent: tuple[int, dict[str, tuple[set[str], set[str]]]] | None = None

    def read(self, event: Mapping[str, Any]) -> EventStory:
        """Return the story of an event.

        The event has its clusters, see :meth:`Store.event() <isogloss.store.Store.event>`.
        """
        articles = self._articles(event)
        chapters, quantities = self._study(event["id"], articles)
        coverage = self._coverage(event["id"])
        absent, languages = self._absent(event["id"], coverage)
        return EventStory(
            _titles(event, articles),
            chapters,
            quantities,
            self._related(event),
            coverage,
            absent,
            languages,
            len(articles),
        )

    def _articles(self, event: Mapping[str, Any]) -> list[Article]:
        """Return the articles of an event without its reprints, with the beginnings of their bodies."""
        numbers = sorted(
            number
            for cluster in event["clusters"]
            for number in set(cluster["articles"]).difference(cluster.get("reprints") or ())
        )
        if len(numbers) > self.max_articles:
            last = len(numbers) - 1
            places = range(self.max_articles)
            numbers = [numbers[at * last // max(self.max_articles - 1, 1)] for at in places]
        found = self.store.articles(numbers, max_body=MAX_QUANTITY_CHARS)
        return [found[number] for number in numbers if number in found]

    def _study(self, event: str, articles: list[Article]) -> tuple[list[Chapter], list[QuantityComparison]]:
        """Return chapters and quantities; they are computed again when an article has changed."""
        articles = [article for article in articles if _is_known(article.lang)]
        digest = _digest(articles)
        with self._lock:
            known = self._studied.get(event)
        if known is None or known[0] != digest:
            chapters = [
                replace(chapter, articles=tuple(map(_without_body, chapter.articles)))
                for chapter in find_chapters(articles)
            ]
            known = digest, chapters, compare_quantities(articles)
        with self._lock:
            self._studied[event] = known
            self._studied.move_to_end(event)
            while len(self._studied) > MAX_CACHED:
                self._studied.popitem(last=False)
        return known[1:]

    def _coverage(self, event: str) -> EventCoverage:
        reports = self.store.source_reports(event)
        return describe_coverage(
            SourceReport(source, lang, count, from_micros(first)) for source, lang, count, first in reports
        )

    def _absent(self, event: str, coverage: EventCoverage) -> tuple[list[AbsentSource], list[str]]:
        recent = self._recent_sources()
        others = {name: each for name, each in recent.items() if name != event}
        reporting = {source.name for source in coverage.sources}
        own = {lang.name for lang in coverage.languages}
        counts = Counter(lang for _, languages in others.values() for lang in languages - own)
        languages = sorted(counts, key=lambda lang: (-counts[lang], lang))
        return absent_sources(reporting, [sources for sources, _ in others.values()]), languages

    def _recent_sources(self) -> dict[str, tuple[set[str], set[str]]]:
        """Return the sources and languages of the newest events, read again when the read model changed."""
        position, known = self.store.position(), self._recent
        if known is None or known[0] != position:
            known = self._recent = position, self.store.recent_sources(RECENT_EVENTS)
        return known[1]

    def _related(self, event: Mapping[str, Any]) -> list[RelatedStory]:
        links = self.store.linked_events([cluster["id"] for cluster in event["clusters"]])
        sharing, counts, n_events = self.store.events_sharing_terms(event["id"], MAX_CANDIDATES)
        strongest = sorted(links, key=lambda other: (-links[other], other))[:MAX_CANDIDATES]
        ids = list(dict.fromkeys([*strongest, *sharing]))
        query = EventQuery(ids=ids, limit=max(len(ids), 1))
        candidates = {each["id"]: each for each in self.store.events(query).events} if ids else {}
        names = {one["id"]: _names(one.get("title") or {}) for one in [event, *candidates.values()]}
        frequencies: dict[str, int] = {}
        for term, count in counts.items():
            frequencies[_term_key(term)] = max(count, frequencies.get(_term_key(term), 0))
        weights = term_weights(frequencies, n_events) | term_weights(
            Counter(name for own in names.values() for name in own), len(names) + 1
        )
        outlines = (_outline(each, names[each["id"]]) for each in candidates.values())
        for term in weights:
            if _is_country(term):
                weights[term] *= _COUNTRY_WEIGHT
        related = find_related(_outline(event, names[event["id"]]), outlines, weights, links)
        return [RelatedStory(one, candidates[one.id]) for one in related]


def _titles(event: Mapping[str, Any], articles: Iterable[Article]) -> list[EventTitle]:
    """Return the title of each language with the first article that has it."""
    first: dict[tuple[str, str], Article] = {}
    for article in articles:
        first.setdefault((article.lang, article.title), article)
    titles = {lang: title for lang, title in (event.get("title") or {}).items() if title}
    sizes: Mapping[str, int] = event.get("languages") or {}
    order = sorted(titles, key=lambda lang: (-sizes.get(lang, 0), lang))
    found = (first.get((lang, titles[lang])) for lang in order)
    return [
        EventTitle(lang, titles[lang], _without_body(article) if article else None)
        for lang, article in zip(order, found, strict=True)
    ]


def _outline(event: Mapping[str, Any], names: Mapping[str, str]) -> EventOutline:
    found = {str(place["id"]): place for place in event.get("places") or ()}
    places = {
        _term_key(number): found[number].get("name") or number
        for number in prominent_places({number: each.get("count") or 1 for number, each in found.items()})
    }
    concepts = {
        each["id"]: each.get("label") or each["id"]
        for each in event.get("concepts") or ()
        if not each["id"].startswith(("currency:", "region:"))
    }
    times = from_micros(event["first"]), from_micros(event["last"])
    return EventOutline(event["id"], *times, {**places, **concepts, **names})


def _term_key(term: str) -> str:
    """Return one key for a place, which events have as a place and as an entity."""
    return term if ":" in term else f"geo:{term}"


def _is_country(term: str) -> bool:
    place = find_place(term.removeprefix("geo:"))
    return place is not None and place.kind == "country"


def _names(titles: Mapping[str, str]) -> dict[str, str]:
    """Return the names in the titles of an event, as one of them writes them, in Latin script if one does."""
    found: dict[str, str] = {}
    for lang, title in titles.items():
        for key, name in _title_names(lang, title):
            if key not in found or not found[key].isascii():
                found[key] = name
    return found


@lru_cache(maxsize=MAX_CACHED_TITLES)
def _title_names(lang: str, title: str) -> tuple[tuple[str, str], ...]:
    if not _is_known(lang):
        return ()
    surfaces = surface_forms(title, "")
    entities = _annotator().annotate(Article("", lang, title, "", from_micros(0))).entities
    return tuple((key, surfaces[key]) for key in entities if key in surfaces)


@lru_cache(maxsize=1000)
def _is_known(lang: str) -> bool:
    """Return whether a language is known; a program may have stored articles of others."""
    try:
        return bool(language(lang))
    except ValueError:
        return False


@cache
def _annotator() -> Annotator:
    return Annotator()


def _without_body(article: Article) -> Article:
    return replace(article, body="")


def _digest(articles: Iterable[Article]) -> bytes:
    state = hashlib.blake2b(digest_size=16)
    for one in articles:
        state.update(repr((one.key, one.lang, one.time, one.title, one.body)).encode("utf-8", "replace"))
    return state.digest()
