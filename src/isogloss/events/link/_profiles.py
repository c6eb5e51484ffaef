"""Profiles: what the linker compares, of an article and of a cluster.

The vector of an article has three kinds of terms: words and character 4-grams of the transliterated title,
in which names and cognates of all languages meet; the same of the first characters of the body; and ids that
all languages share, those of annotated entities and of news words
(:mod:`isogloss.events.annotate._word_tables`). Terms are weighted by their inverse document frequency in the
language of the article. The other fields come from its annotation. The profile of a cluster is the sum of
the profiles of its articles.
"""

from __future__ import annotations

import re
import zlib
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date
from functools import lru_cache
from math import exp, log
from typing import Any, Protocol

import numpy as np
from anyascii import anyascii
from numpy.typing import NDArray

from isogloss.events.annotate import is_round_up, news_concepts
from isogloss.events.article import Article
from isogloss.events.cluster import (
    MAX_DENSE_LANGUAGES,
    MAX_DICT_TERMS_LOW_MEMORY,
    N_TERMS,
    Terms,
    TermWindow,
    Vector,
    add_vectors,
    strip_site_name,
)
from isogloss.events.link._background import NO_BACKGROUND, Background, BackgroundSample
from isogloss.kernels import PackedProfile, count_terms

_LATIN_TOKEN = re.compile(r"[a-z]+|[0-9]+")
_SENTENCE = re.compile(r"(?<=[.!?\u2026\u3002])\s+")
_NGRAM_CHARS = 4
_STEM_CHARS = 7
_LEAD_CHARS = 400
"""Characters of the body that give terms: the first sentences name who and what."""
_CONCEPT_WEIGHT = 2.0
"""Term count of an entity or a news word; an n-gram counts once."""
_MAX_CONCEPTS = 24
"""Entities, and keywords, kept of an article: those with the largest weights."""
_RATE_MEMORY_H = 72.0
"""Time constant of arrival rates."""
_LANGUAGE_PRIOR = 10.0
"""Embeddings at which the mean of a language counts as much as that of all languages."""
_CENTRE_PRIOR = 5.0
"""Embeddings at which half of the mean is subtracted."""
_MIN_LENGTH = 1e-6
"""Length of a centred embedding below which it is not centred: it is the mean itself."""
_NAME_CACHE_SIZE = 1 << 15
"""Concept names that articles share as one string."""


class AnnotationLike(Protocol):
    """The fields of an annotation that a profile needs."""

    @property
    def entities(self) -> Mapping[str, float]:
        """Weights of entities by ids that all languages share."""

    @property
    def keywords(self) -> Mapping[str, float]:
        """Weights of keywords by ids that all languages share."""

    @property
    def places(self) -> Iterable[Any]:
        """Places, each with an ``id`` and a ``country``."""

    @property
    def dates(self) -> Iterable[date]:
        """Dates that the text mentions."""

    @property
    def numbers(self) -> Iterable[str]:
        """Numbers that the text mentions."""


@dataclass(frozen=True, slots=True)
class ArticleProfile:
    """An article as the linker compares it."""

    id: str
    lang: str
    title: str
    """Id, language and title of the article."""
    time: float
    """Seconds since 1970."""
    sentence: str
    """The first sentence of the body."""
    vector: Vector
    """Weighted n-grams and concepts, of length one."""
    entities: Mapping[str, float] = field(default_factory=dict)
    keywords: Mapping[str, float] = field(default_factory=dict)
    """Weights by language-independent ids; the strongest only."""
    places: tuple[str, ...] = ()
    numbers: tuple[str, ...] = ()
    """Place ids, the strongest first, and numbers by their digits."""
    dates: tuple[date, ...] = ()
    """Dates that the text mentions."""
    latent: NDArray[np.float32] | None = None
    """Its point in the latent space of a :mod:`isogloss.similarity` model, of length one."""
    embedding: NDArray[np.float16] | None = None
    """Its sentence embedding, centred by language, of length one."""
    rate: float = 0.0
    """Articles of its language per hour, when it arrived."""
    background: Background = NO_BACKGROUND
    """Its similarity to articles of other days by embedding, when it arrived."""


class ProfileBuilder:
    """Completes article profiles by what the stream before them tells.

    Terms are weighted by idf over a sliding window, embeddings are centred and compared with those of other
    days, and the rate at which articles arrive is recorded, each per language. Memory: grows with the terms
    of the last days, up to four megabytes for each language beside them. The window has some days. ``prior``
    is a pseudo-count of articles without any of the terms, ``body_weight`` the weight of the body relative to
    that of the title.

    Examples
    --------
    >>> from datetime import UTC, datetime
    >>> from isogloss.events.cluster._vectors import dot_product
    >>> when, build = datetime(2031, 3, 5, tzinfo=UTC), ProfileBuilder().build
    >>> one = build(Article("1", "en", "Nadia Orlova wins gold", "", when))
    >>> two = build(Article("2", "ru", "Надя Орлова выиграла золото", "", when))
    >>> three = build(Article("3", "de", "Streik bei der Bahn", "", when))
    >>> dot_product(one.vector, two.vector) > 0.3, dot_product(one.vector, three.vector)
    (True, 0.0)
    """

    def __init__(
        self, days: int = 30, *, prior: float = 20.0, body_weight: float = 0.5, max_terms: int = 128
    ) -> None:
        self.days = days
        self.prior = prior
        self.body_weight = body_weight
        self.max_terms = max_terms
        self.windows: dict[str, TermWindow] = {}
        self.arrivals = ArrivalRates()
        self.centring = EmbeddingCentring()
        self.sample = BackgroundSample()

    def build(
        self,
        article: Article,
        annotation: AnnotationLike | None = None,
        latent: NDArray[np.float32] | None = None,
    ) -> ArticleProfile:
        """Build the profile of an article, and count its terms."""
        return self.weigh(extract_profile(article, annotation), latent)

    def weigh(
        self,
        profile: UnweightedProfile,
        latent: NDArray[np.float32] | None = None,
        embedding: NDArray[np.float32] | None = None,
    ) -> ArticleProfile:
        """Weight the terms of a profile, centre and compare its embedding, and count both."""
        vector = self.window(profile.lang).add(profile.terms, profile.lang, profile.day)
        annotated = dict(profile.annotated)
        for name in ("entities", "keywords"):
            annotated[name] = _intern_names(annotated.get(name, {}))
        centred, background = None, NO_BACKGROUND
        if embedding is not None:
            centred = self.centring.centre(embedding, profile.lang)
            background = self.sample.measure(centred, profile.lang, profile.time)
        return ArticleProfile(
            profile.id,
            profile.lang,
            profile.title,
            profile.time,
            profile.sentence,
            vector,
            latent=latent,
            embedding=centred,
            rate=self.arrivals.add(profile.lang, profile.time),
            background=background,
            **annotated,
        )

    def window(self, lang: str) -> TermWindow:
        """Return the term window of a language."""
        if lang not in self.windows:
            self.windows[lang] = TermWindow(
                self.days, prior=self.prior, body_weight=self.body_weight, max_terms=self.max_terms
            )
            if len(self.windows) > MAX_DENSE_LANGUAGES:
                self.windows[lang].counts.limit = MAX_DICT_TERMS_LOW_MEMORY
        return self.windows[lang]


class ArrivalRates:
    """Rates at which articles of each language arrive, with exponential forgetting.

    ``counts`` has the decayed number of articles of each language, and the time of the last in seconds since
    1970.

    Examples
    --------
    >>> rates = ArrivalRates()
    >>> rates.add("en", 0.0), round(rates.add("en", 3600.0), 4)
    (0.0, 0.0137)
    """

    def __init__(self) -> None:
        self.counts: dict[str, tuple[float, float]] = {}

    def add(self, lang: str, time: float) -> float:
        """Count an article; return the articles of its language per hour before it."""
        count, last = self.counts.get(lang, (0.0, time))
        now = max(time, last)
        count *= exp((last - now) / (_RATE_MEMORY_H * 3600.0))
        self.counts[lang] = count + 1.0, now
        return count / _RATE_MEMORY_H


class EmbeddingCentring:
    """Centres sentence embeddings by the running mean of their language.

    Embeddings of a language have a direction in common that says nothing about the story; without it,
    cosines across languages are comparable. The mean of a language is shrunk to that of all languages, and
    this to zero. Memory: a vector for each language.

    Attributes
    ----------
    sums : dict of str to array
        Sum of the embeddings of each language.
    counts : dict of str to int
        Number of embeddings of each language.
    total : array
        Sum of all embeddings; empty before the first.

    Examples
    --------
    >>> centring = EmbeddingCentring()
    >>> for _ in range(200):
    ...     near = centring.centre(np.array([1.0, 0.1], dtype=np.float32), "en")
    ...     far = centring.centre(np.array([1.0, -0.1], dtype=np.float32), "en")
    >>> float(near @ far) < 0
    True
    """

    def __init__(self) -> None:
        self.sums: dict[str, NDArray[np.float64]] = {}
        self.counts: dict[str, int] = {}
        self.total: NDArray[np.float64] = np.empty(0)

    def centre(self, embedding: NDArray[np.float32], lang: str) -> NDArray[np.float16]:
        """Count an embedding; return it centred, of length one, in half precision."""
        vector = embedding.astype(np.float64)
        self.total = self.total + vector if len(self.total) else vector
        self.sums[lang] = self.sums.get(lang, 0.0) + vector
        self.counts[lang] = self.counts.get(lang, 0) + 1
        n = sum(self.counts.values())
        mean = (self.sums[lang] + _LANGUAGE_PRIOR * self.total / n) / (self.counts[lang] + _LANGUAGE_PRIOR)
        centred = vector - mean * (n / (n + _CENTRE_PRIOR))
        length = float(np.sqrt(centred @ centred))
        return (centred / length if length > _MIN_LENGTH else vector).astype(np.float16)


@dataclass(frozen=True, slots=True)
class UnweightedProfile:
    """An article profile before its terms are weighted: what depends on the article alone."""

    id: str
    lang: str
    title: str
    time: float
    sentence: str
    """See :class:`ArticleProfile`."""
    day: date
    """Day of publication."""
    terms: Terms
    """Counts of n-grams and concepts in the title and the body."""
    annotated: Mapping[str, Any]
    """Entities, keywords, places, numbers and dates, as :class:`ArticleProfile` has them."""


def extract_profile(article: Article, annotation: AnnotationLike | None = None) -> UnweightedProfile:
    """Extract the unweighted profile of an article from its text and its annotation."""
    title, lead = strip_site_name(article.title), article.body[:_LEAD_CHARS]
    annotated = _annotation_fields(annotation) if annotation is not None else {"entities": {}, "keywords": {}}
    concepts = news_concepts(f"{title}\n{lead}", article.lang)
    meanings = {f"meaning:{concept}": 1.0 + log(n) for concept, n in concepts.items()}
    annotated["keywords"] = _strongest({**meanings, **annotated["keywords"]})
    shared = [*meanings, *annotated["entities"]]
    return UnweightedProfile(
        article.id,
        article.lang,
        article.title,
        article.time.timestamp(),
        _SENTENCE.split(article.body[: 2 * _LEAD_CHARS].strip(), maxsplit=1)[0],
        article.time.date(),
        Terms(_add_concepts(_ngram_terms(title), shared), _ngram_terms(lead)),
        annotated,
    )


def _ngram_terms(text: str) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    """Count the hashed words and character n-grams of a transliterated text."""
    words = f" {' '.join(_LATIN_TOKEN.findall(anyascii(text).lower()))} ".encode()
    ids, counts = np.empty(len(words), dtype=np.int32), np.empty(len(words))
    n = count_terms(words, 0, _STEM_CHARS, _NGRAM_CHARS, N_TERMS, ids, counts)
    return ids[:n], counts[:n]


def _add_concepts(
    terms: tuple[NDArray[np.int32], NDArray[np.float64]], shared: Iterable[str]
) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    """Add the hashed ids of concepts to term counts."""
    counted = dict(zip(terms[0].tolist(), terms[1].tolist(), strict=True))
    for one in shared:
        number = zlib.crc32(one.encode()) % N_TERMS
        counted[number] = counted.get(number, 0.0) + _CONCEPT_WEIGHT
    ids = sorted(counted)
    return np.array(ids, dtype=np.int32), np.array([counted[one] for one in ids], dtype=np.float64)


def _annotation_fields(annotation: AnnotationLike) -> dict[str, Any]:
    return {
        "entities": _strongest(annotation.entities),
        "keywords": annotation.keywords,
        "places": _places(annotation.places),
        "dates": tuple(sorted(annotation.dates)),
        "numbers": tuple(sorted(annotation.numbers)),
    }


def _places(found: Iterable[Any]) -> tuple[str, ...]:
    """Return the ids of places and the codes of their countries: a city is also a mention of its country."""
    places = list(found)
    ids = [str(place.id) for place in places]
    return tuple(dict.fromkeys([*ids, *(f"country:{place.country}" for place in places if place.country)]))


def _intern_names(weights: Mapping[str, float]) -> dict[str, float]:
    """Replace names by one shared string each: most names occur in many articles."""
    return {_shared_name(name): weight for name, weight in weights.items()}


@lru_cache(_NAME_CACHE_SIZE)
def _shared_name(name: str) -> str:
    # Not sys.intern: the cache is bounded.
    return name


def _strongest(weights: Mapping[str, float]) -> dict[str, float]:
    return dict(sorted(weights.items(), key=lambda pair: (-pair[1], pair[0]))[:_MAX_CONCEPTS])


_MAX_TERMS = 512

COMPARED_FIELDS = ("entities", "keywords", "places", "numbers", "dates", "vector")
"""Fields that profiles are compared by."""

PROFILE_STATISTICS = ("articles", "bare", "mean_time", "first", "last", "rate", "own", "foreign")
"""Scalar statistics of a profile."""

_N_NAMED_FIELDS = len(COMPARED_FIELDS) - 1
"""Fields whose entries are names: all but the vector."""


class ClusterProfile:
    """A cluster as the linker compares it: the sum of the profiles of its articles.

    Attributes
    ----------
    id : int
        Id of the cluster.
    lang : str
        Language of the cluster.
    articles : list of str
        Article ids, in the order of arrival.
    first, last : float
        Times of the earliest and the latest article, in seconds since 1970.
    without_body, round_ups : int
        Articles without a body, and with the title of a round-up.
    vector : Vector
        Sum of article vectors.
    places : Counter of str
        Number of articles that name each place.
    most_named : str or None
        The place that most articles name; ties go to the first id.
    latent, embedding : array or None
        Sums of latent vectors and of embeddings.
    rates : float
        Sum of the arrival rates of its articles.
    encoded : int
        Articles with an embedding.
    own, foreign : float
        Sums of the background of these.
    ranked : tuple of ArticleProfile
        Cache of its first articles by centrality; emptied by every change.
    """

    def __init__(self, cluster: int, lang: str, articles: Iterable[ArticleProfile] = ()) -> None:
        self.id = cluster
        self.lang = lang
        self.articles: list[str] = []
        self.without_body = self.round_ups = 0
        self.first, self.last, self.seconds = np.inf, -np.inf, 0.0
        self.vector = Vector(np.empty(0, dtype=np.int32), np.empty(0))
        self.places: Counter[str] = Counter()
        self.most_named: str | None = None
        self.latent: NDArray[np.float64] | None = None
        self.embedding: NDArray[np.float32] | None = None
        self.rates = self.own = self.foreign = 0.0
        self.encoded = 0
        self.ranked: tuple[ArticleProfile, ...] = ()
        self._packed = PackedProfile(_N_NAMED_FIELDS)
        self._packed_articles = 0
        for article in articles:
            self.add(article)

    def __len__(self) -> int:
        return len(self.articles)

    @property
    def tells_many_stories(self) -> bool:
        """Whether half of the articles or more are round-ups."""
        return 2 * self.round_ups >= len(self.articles)

    @property
    def mean_time(self) -> float:
        """Mean time of the articles, in seconds since 1970."""
        return self.seconds / len(self.articles)

    @property
    def packed(self) -> PackedProfile:
        """The profile in the form that compiled loops compare."""
        if self._packed_articles != len(self.articles):
            n, encoded = len(self.articles), max(self.encoded, 1)
            times = [self.mean_time, self.first, self.last]
            means = [self.rates / n, self.own / encoded, self.foreign / encoded]
            statistics = [n, self.without_body, *times, *means]
            self._packed.set_statistics(
                *self.vector, np.array(statistics, dtype=np.float64), [self.lang, self.most_named]
            )
            self._packed_articles = len(self.articles)
        return self._packed

    def add(self, article: ArticleProfile) -> None:
        """Add an article."""
        self.ranked = ()
        self.articles.append(article.id)
        self.without_body += not article.sentence
        self.round_ups += is_round_up(article.title, article.lang)
        self.first, self.last = min(self.first, article.time), max(self.last, article.time)
        self.seconds += article.time
        self.vector = add_vectors(self.vector, article.vector, max_terms=_MAX_TERMS)
        if article.latent is not None:
            vector = article.latent.astype(np.float64)
            self.latent = vector if self.latent is None else self.latent + vector
        if article.embedding is not None:
            single = article.embedding.astype(np.float32)
            self.embedding = single if self.embedding is None else self.embedding + single
            self.encoded += 1
            self.own += article.background.own
            self.foreign += article.background.foreign
        self.rates += article.rate
        self._name(article.places)
        dates = tuple(day.isoformat() for day in article.dates)
        self._packed.add([article.entities, article.keywords, article.places, article.numbers, dates])

    def _name(self, places: tuple[str, ...]) -> None:
        """Count the places of an article; counts only grow, so the maximum is among these or stays."""
        if places:
            self.places.update(places)
            known = places if self.most_named is None else (self.most_named, *places)
            self.most_named = min(known, key=lambda place: (-self.places[place], place))
