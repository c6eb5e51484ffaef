"""Events: clusters of all languages that tell one story, with titles, places and timeline."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, date, datetime
from typing import Any

from isogloss.events.cluster import dot_products
from isogloss.events.link import COMPARED_FIELDS, ArticleProfile, ClusterProfile
from isogloss.kernels import strongest_names

__all__ = ["Event", "describe_event"]

_MAX_SHOWN = 10

_CONCEPT_FIELDS = COMPARED_FIELDS.index("entities"), COMPARED_FIELDS.index("keywords") + 1
"""Range of the profile fields that are concepts."""

_PLACE_FIELDS = COMPARED_FIELDS.index("places"), COMPARED_FIELDS.index("places") + 1
"""Range of the profile fields that are places."""

_MAX_RANKED_ARTICLES = 24
"""Articles of a cluster that may give it its title: only the first, so that titles of large clusters stay."""


@dataclass(frozen=True)
class Event:
    """A story, in every language that reported it.

    Attributes
    ----------
    id : int
        Stable id, see :mod:`isogloss.events.track._tracker`.
    clusters : tuple of int
        Its clusters, ascending.
    articles : dict of str to tuple of str
        Article ids by language, in chronological order; languages with most articles first. Reprints are
        not included: see :meth:`~isogloss.events.EventStream.reprints`.
    titles, summaries : dict of str to str
        For each language the title of the most central of its first articles, and the first sentence of the
        most central article with a body.
    timeline : dict of date to int
        Articles of each day (UTC).
    first, last : datetime
        Times of the first and the last article.
    places, concepts : dict of str to float
        The strongest places, by the number of articles, and the strongest entities and keywords, by weight.
    confidence : float
        Mean probability of the links between its clusters; 1 for a single cluster.
    """

    id: int
    clusters: tuple[int, ...]
    articles: Mapping[str, tuple[str, ...]]
    titles: Mapping[str, str]
    summaries: Mapping[str, str]
    timeline: Mapping[date, int]
    first: datetime
    last: datetime
    places: Mapping[str, float]
    concepts: Mapping[str, float]
    confidence: float

    @property
    def languages(self) -> tuple[str, ...]:
        """Languages, those with most articles first."""
        return tuple(self.articles)

    @property
    def title(self) -> str:
        """The title in the language with most articles."""
        return self.titles[self.languages[0]]

    def __len__(self) -> int:
        return sum(map(len, self.articles.values()))

    def as_dict(self) -> dict[str, Any]:
        """Return a dictionary that JSON can hold."""
        out = asdict(self)
        out["timeline"] = {day.isoformat(): n for day, n in self.timeline.items()}
        out["first"], out["last"] = self.first.isoformat(), self.last.isoformat()
        return out


def describe_event(
    number: int,
    profiles: Sequence[ClusterProfile],
    articles_by_id: Mapping[str, ArticleProfile],
    confidence: float,
) -> Event:
    """Describe an event by its clusters.

    The confidence is the mean probability of its links.
    """
    by_language: dict[str, list[ClusterProfile]] = {}
    for profile in profiles:
        by_language.setdefault(profile.lang, []).append(profile)
    articles = {lang: _chronological(own, articles_by_id) for lang, own in by_language.items()}
    order = sorted(articles, key=lambda lang: (-len(articles[lang]), lang))
    ranked = {lang: _rank_by_centrality(by_language[lang], articles_by_id) for lang in order}
    days = Counter(_utc(one.time).date() for own in articles.values() for one in own)
    return Event(
        id=number,
        clusters=tuple(sorted(profile.id for profile in profiles)),
        articles={lang: tuple(one.id for one in articles[lang]) for lang in order},
        titles={lang: ranked[lang][0].title for lang in order},
        summaries={
            lang: sentence
            for lang in order
            if (sentence := next((one.sentence for one in ranked[lang] if one.sentence), ""))
        },
        timeline=dict(sorted(days.items())),
        first=_utc(min(profile.first for profile in profiles)),
        last=_utc(max(profile.last for profile in profiles)),
        places=_places(profiles),
        concepts=_concepts(profiles, articles),
        confidence=confidence,
    )


def _chronological(
    profiles: Sequence[ClusterProfile], articles_by_id: Mapping[str, ArticleProfile]
) -> list[ArticleProfile]:
    found = [articles_by_id[article] for profile in profiles for article in profile.articles]
    return sorted(found, key=lambda one: (one.time, one.id))


def _rank_by_centrality(
    profiles: Sequence[ClusterProfile], articles_by_id: Mapping[str, ArticleProfile]
) -> Sequence[ArticleProfile]:
    """Return the first articles of the largest cluster, the nearest to its centroid first."""
    largest = min(profiles, key=lambda profile: (-len(profile), profile.id))
    if not largest.ranked:
        own = [articles_by_id[article] for article in largest.articles[:_MAX_RANKED_ARTICLES]]
        near = dot_products(largest.vector, [one.vector for one in own])
        ranked = sorted(zip(near, own, strict=True), key=lambda pair: (-pair[0], pair[1].time, pair[1].id))
        largest.ranked = tuple(one for _, one in ranked)
    return largest.ranked


def _utc(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)


def _concepts(
    profiles: Sequence[ClusterProfile], articles: Mapping[str, Sequence[ArticleProfile]]
) -> dict[str, float]:
    """Return the entities and keywords with the largest total weights."""
    tables = (table for own in articles.values() for one in own for table in (one.entities, one.keywords))
    return dict(
        strongest_names([profile.packed for profile in profiles], *_CONCEPT_FIELDS, tables, _MAX_SHOWN)
    )


def _places(profiles: Sequence[ClusterProfile]) -> dict[str, float]:
    """Return the places that most articles name."""
    tables = (profile.places for profile in profiles)
    named = strongest_names([profile.packed for profile in profiles], *_PLACE_FIELDS, tables, _MAX_SHOWN)
    return {place: int(n) for place, n in named}
