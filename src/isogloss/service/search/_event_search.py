"""Search for events: one relevance from texts, names, places, concepts and meaning, and a cut-off.

For each word of a query and each event, the best match counts: the share of the event's articles with the
word in their title or text, with its meaning, or with its sound in a name, or whether the event is at the
place. The relevance of an event is the weighted mean of its matches, reduced if it matches a word badly, plus
what the similarity of its nearest article to the whole query adds. An event that lacks a word of a short
query is at most a weak match. The constants and the cut-off were chosen on
half of the labelled queries of the sample news; ``isogloss evaluate search`` reports both halves.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import log2
from typing import Literal

from isogloss.service.api.errors import ServiceError
from isogloss.service.models import Models, resolve_language
from isogloss.service.search._neighbours import NeighbourIndex
from isogloss.service.search._query_syntax import parse_query
from isogloss.service.search._word_matches import (
    QueryWord,
    WordMatch,
    WordMatches,
    match_excluded,
    match_phrases,
    match_words,
    read_densities,
    read_words,
)
from isogloss.store import Store
from isogloss.store.queries import count_articles

Reason = Literal["text", "name", "place", "concept", "meaning"]

CUT_OFF = 0.575
"""Relevance from which an event is shown."""

WEAK_CUT_OFF = 0.3
"""Relevance from which an event is a weak match, which is shown on request."""

MAX_EVENTS = 200
"""Events of a page of results."""

MAX_FOUND = 1000
"""Events that a search finds, before filters."""

_MAX_NEAR_ARTICLES = 200
"""Nearest articles of each language that are examined."""

_MIN_IDENTIFIABLE_CHARS = 200
"""Characters of a text whose language can be identified reliably."""

_MIN_COSINE, _COSINE_WEIGHT = 0.3, 0.8
"""Articles with a smaller cosine are about something else; what larger ones add to the relevance."""

_ANY_TITLE, _ANY_TEXT, _EVERY_TEXT = 0.5, 0.2, 0.8
"""What one article among many contributes that has a word in its title, or in its text, and what articles
contribute that all have it in their texts alone.
"""

_SIZE_WEIGHT = 0.02
"""What twice as many articles add to the relevance that decides the order."""

_CONCEPT_FACTOR, _NAME_WEIGHT = 1.5, 0.7
_MISSING_PENALTY = 0.4
"""The share of the relevance that depends on the word that matches least."""

_MAX_REQUIRED, _MISSING_RELEVANCE = 3, 0.5
"""Of so few words an event must match every one; the largest relevance of one that does not."""

_SURE_COSINE = 0.8
"""Articles with a larger cosine to the whole query need not match every word."""

_MIN_WORD_WEIGHT = 0.25
"""A word of less than this share of the largest weight may be missing."""


@dataclass(frozen=True, slots=True)
class FoundEvent:
    """An event that was found."""

    id: str
    relevance: float
    """How well it matches; shown from :data:`CUT_OFF`."""
    reasons: tuple[Reason, ...] = ()
    """Why it was found, the strongest reason first: ``text``, ``name``, ``place``, ``concept``,
    ``meaning``.
    """
    article: int = 0
    """The number of the newest article that matches by its text, or of the nearest; 0 if there is none."""


@dataclass(frozen=True, slots=True)
class SearchResult:
    """The events that match a query, the best first; of those that match equally well, large ones first."""

    relevant: Sequence[FoundEvent] = ()
    weak: Sequence[FoundEvent] = ()
    """Events from the cut-off on, and weaker matches."""
    words: Sequence[QueryWord] = ()
    """The words that were looked for."""


class EventSearch:
    """Finds events of a store by free text."""

    def __init__(self, store: Store, models: Models, neighbours: NeighbourIndex) -> None:
        self.store, self.models, self.neighbours = store, models, neighbours

    def find(self, text: str, *, among: Collection[str] | None = None) -> SearchResult:
        """Return the events that match a query.

        The query is parsed by :func:`~isogloss.service.search.parse_query`, which raises ValueError if it is
        invalid. ``among`` restricts the search to some events.
        """
        query = parse_query(text)
        if not query.text:
            return SearchResult()
        langs = self.store.languages()
        words = read_words(query, langs)
        with self.store.database.read() as session:
            matches = match_words(session, words)
            wanted = match_phrases(session, query.phrases, langs)
        near = {} if query.phrases and not query.words else self._by_meaning(query.text)
        candidates = {*matches.events, *near}
        for allowed in (wanted, among):
            if allowed is not None:
                candidates &= set(allowed)
        with self.store.database.read() as session:
            if query.excluded:
                candidates -= match_excluded(session, query.excluded, langs, sorted(candidates))
            sizes = count_articles(session, sorted(candidates))
            likely = rank((_judge(event, matches, sizes, near) for event in candidates), sizes)[:MAX_FOUND]
            read_densities(session, matches, [each.id for each in likely])
        found = []
        for before in likely:
            now = _judge(before.id, matches, sizes, near)
            mentions = now.relevance < WEAK_CUT_OFF <= before.relevance
            found.append(replace(now, relevance=WEAK_CUT_OFF) if mentions else now)
        found = rank(found, sizes)
        return SearchResult(
            [each for each in found if each.relevance >= CUT_OFF][:MAX_FOUND],
            [each for each in found if WEAK_CUT_OFF <= each.relevance < CUT_OFF][:MAX_FOUND],
            words,
        )

    def _by_meaning(self, text: str) -> dict[str, tuple[float, int]]:
        """Return events of the articles nearest to a text, with the cosine and the number of the nearest.

        The language of a few words is often misidentified, so they are projected in every language of the
        model; the similarity of an article is that of the best projection.
        """
        model = self.models.similarity
        if model is None:
            return {}
        best: dict[int, float] = {}
        for code in _candidate_languages(text, model.languages):
            point = model.project([text], code)[0]
            for near in self.neighbours.nearest(point, _MAX_NEAR_ARTICLES, lang=code)[:_MAX_NEAR_ARTICLES]:
                if near.similarity >= max(_MIN_COSINE, best.get(near.seq, 0.0)):
                    best[near.seq] = near.similarity
        articles = sorted(best, key=lambda seq: (-best[seq], seq))
        event_of = self.store.events_of_articles(articles)
        found: dict[str, tuple[float, int]] = {}
        for seq in articles:
            if seq in event_of:
                found.setdefault(event_of[seq], (best[seq], seq))
        return found


def rank(found: Iterable[FoundEvent], sizes: Mapping[str, int]) -> list[FoundEvent]:
    """Return events, the most relevant first; of events that match equally well the largest."""
    return sorted(
        found,
        key=lambda each: (
            -each.relevance - _SIZE_WEIGHT * log2(max(sizes[each.id], 1)),
            -each.article,
            each.id,
        ),
    )


def _candidate_languages(text: str, known: tuple[str, ...]) -> tuple[str, ...]:
    if len(text) < _MIN_IDENTIFIABLE_CHARS:
        return known
    try:
        return (resolve_language(text, None, known),)
    except ServiceError:
        return ()


def _judge(
    event: str, matches: WordMatches, sizes: Mapping[str, int], near: Mapping[str, tuple[float, int]]
) -> FoundEvent:
    """Return an event with its relevance and the reasons for it."""
    cosine, nearest = near.get(event, (0.0, 0))
    if not matches.events:  # no word is known, so the meaning of the query must do
        return FoundEvent(event, cosine, ("meaning",), nearest)
    own = matches.events.get(event) or [WordMatch() for _ in matches.words]
    strengths = [_strength(match, max(sizes[event], 1)) for match in own]
    total, largest = sum(matches.weights), max(matches.weights)
    mean = sum(weight * value for weight, (value, _) in zip(matches.weights, strengths, strict=True)) / total
    required = [
        value
        for weight, (value, _) in zip(matches.weights, strengths, strict=True)
        if weight >= _MIN_WORD_WEIGHT * largest
    ]
    least = min(required)
    gain = _COSINE_WEIGHT * max(0.0, cosine - _MIN_COSINE)
    relevance = mean * (1 - _MISSING_PENALTY + _MISSING_PENALTY * least) + gain
    if least == 0 and len(required) <= _MAX_REQUIRED and cosine < _SURE_COSINE:
        relevance = min(relevance, _MISSING_RELEVANCE)
    by_reason: dict[Reason, float] = defaultdict(float)
    for weight, (value, reason) in zip(matches.weights, strengths, strict=True):
        by_reason[reason] += weight / total * value
    by_reason["meaning"] += gain
    reasons = sorted((each for each in by_reason if by_reason[each] > 0), key=lambda each: -by_reason[each])
    article = next((match.article for match in own if match.article), nearest)
    return FoundEvent(event, relevance, tuple(reasons), article)


def _strength(match: WordMatch, size: int) -> tuple[float, Reason]:
    """Return how well an event of some articles matches a word, from 0 to 1, and in which way."""
    share, spread = 1 / size, _EVERY_TEXT - _ANY_TEXT
    ways: list[tuple[float, Reason]] = [
        (_ANY_TITLE + (1 - _ANY_TITLE) * min(1.0, 2 * match.title * share) if match.title else 0.0, "text"),
        (_ANY_TEXT + spread * match.density * min(1.0, match.text * share) if match.text else 0.0, "text"),
        (1.0 if match.place else 0.0, "place"),
        (_NAME_WEIGHT * min(1.0, 0.5 + match.name * share) if match.name else 0.0, "name"),
        (min(1.0, _CONCEPT_FACTOR * match.meaning * share), "concept"),
    ]
    return max(ways, key=lambda way: way[0])
