"""What linking knows of an article: comparable numbers, whatever the language.

The vector of an article has three kinds of terms: words and sequences of four letters of the title, written
in Latin letters, in which names and cognates of all languages meet; the same of the beginning of the body;
and ids that all languages share, those of annotated entities and of the meanings of frequent words of news
(:mod:`isogloss.events.annotate._word_tables`). The weight of a term is the
logarithm of how rare it is in the language of the article. The rest comes from annotation.

A cluster as linking sees it: sums of the signatures of its articles.
"""

from __future__ import annotations

import re
import zlib
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date
from math import log
from typing import Any, Protocol

import numpy as np
from anyascii import anyascii
from numpy.typing import NDArray

from isogloss.events.annotate import Remembered, news_concepts
from isogloss.events.article import Article
from isogloss.events.cluster import N_TERMS, Terms, TermWindow, Vector, add_vectors, strip_site_name
from isogloss.events.cluster import _vectors as vectors
from isogloss.kernels import PackedProfile, count_terms

__all__ = [
    "PARTS",
    "TOLD",
    "AnnotationLike",
    "UnweightedProfile",
    "ClusterProfile",
    "ArticleProfile",
    "ProfileBuilder",
    "extract_profile",
]

_WORD = re.compile(r"[a-z]+|[0-9]+")
_SENTENCE = re.compile(r"(?<=[.!?\u2026\u3002])\s+")
_NGRAM_CHARS = 4
_STEM_CHARS = 7
_LEAD_CHARS = 400
"""Letters of the body that are looked at for names: the first sentences have them."""
_CONCEPT_WEIGHT = 2.0
"""How often a meaning or an entity counts, with a sequence of letters once."""
_MAX_CONCEPTS = 24
"""Entities and keywords kept of an article: the strongest."""
_NAMES = Remembered(str, 1 << 15)
"""Their names, each once; not interned, because texts that are may stay for ever."""


class AnnotationLike(Protocol):
    """What is looked at of an annotation."""

    @property
    def entities(self) -> Mapping[str, float]:
        """Weights of entities by ids that all languages share."""

    @property
    def keywords(self) -> Mapping[str, float]:
        """Weights of keywords by ids that all languages share."""

    @property
    def places(self) -> Iterable[Any]:
        """Places, each with an ``id``."""

    @property
    def dates(self) -> Iterable[date]:
        """Dates that the text mentions."""

    @property
    def numbers(self) -> Iterable[str]:
        """Numbers that the text mentions."""


@dataclass(frozen=True, slots=True)
class ArticleProfile:
    """What linking knows of an article.

    Attributes
    ----------
    id, lang, title : str
        As the article has them.
    time : float
        Seconds since 1970.
    sentence : str
        The first sentence of the body.
    vector : Vector
        Of length one: letters and meanings.
    entities, keywords : dict of str to float
        Weights by ids that all languages share; the strongest.
    places, numbers : tuple of str
        Ids of places in the order of the text, and digits.
    dates : tuple of date
        Dates that the text mentions.
    latent : array or None
        A vector of length one in a space of :mod:`isogloss.similarity`.
    """

    id: str
    lang: str
    title: str
    time: float
    sentence: str
    vector: Vector
    entities: Mapping[str, float] = field(default_factory=dict)
    keywords: Mapping[str, float] = field(default_factory=dict)
    places: tuple[str, ...] = ()
    numbers: tuple[str, ...] = ()
    dates: tuple[date, ...] = ()
    latent: NDArray[np.float32] | None = None


class ProfileBuilder:
    """Makes signatures, and learns from every article how rare terms are in its language.

    Memory: grows with the terms of the last days, up to four megabytes for each language beside them.

    Parameters
    ----------
    days : int
        Days over which terms are counted.
    prior : float
        Articles imagined before the first, without any of the terms.
    body_weight : float
        Weight of the beginning of the body, with that of the title 1.
    max_terms : int
        Terms of the longest vector.

    Examples
    --------
    >>> from datetime import UTC, datetime
    >>> from isogloss.events.cluster._vectors import product
    >>> when, build = datetime(2031, 3, 5, tzinfo=UTC), ProfileBuilder().build
    >>> one = build(Article("1", "en", "Nadia Orlova wins gold", "", when))
    >>> two = build(Article("2", "ru", "Надя Орлова выиграла золото", "", when))
    >>> three = build(Article("3", "de", "Streik bei der Bahn", "", when))
    >>> product(one.vector, two.vector) > 0.3, product(one.vector, three.vector)
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

    def build(
        self,
        article: Article,
        annotation: AnnotationLike | None = None,
        latent: NDArray[np.float32] | None = None,
    ) -> ArticleProfile:
        """The signature of an article, which is counted.

        Parameters
        ----------
        article : Article
            The article.
        annotation : AnnotationLike, optional
            Its concepts, places, dates and numbers.
        latent : array, optional
            Its vector in a common space of documents.
        """
        return self.weigh(extract_profile(article, annotation), latent)

    def weigh(self, profile: UnweightedProfile, latent: NDArray[np.float32] | None = None) -> ArticleProfile:
        """The signature of an article of which the rest is known; it is counted."""
        vector = self.window(profile.lang).add(profile.terms, profile.lang, profile.day)
        annotated = dict(profile.annotated)
        for name in ("entities", "keywords"):
            annotated[name] = _intern_names(annotated.get(name, {}))
        return ArticleProfile(
            profile.id,
            profile.lang,
            profile.title,
            profile.time,
            profile.sentence,
            vector,
            latent=latent,
            **annotated,
        )

    def window(self, lang: str) -> TermWindow:
        """Counts of the terms of a language."""
        if lang not in self.windows:
            self.windows[lang] = TermWindow(
                self.days, prior=self.prior, body_weight=self.body_weight, max_terms=self.max_terms
            )
            if len(self.windows) > vectors.MAX_DENSE_LANGUAGES:
                self.windows[lang].counts.limit = vectors.MAX_DICT_TERMS_LOW_MEMORY
        return self.windows[lang]


@dataclass(frozen=True, slots=True)
class UnweightedProfile:
    """What can be said of an article before it is known how rare its terms are.

    Attributes
    ----------
    id, lang, title, time, sentence
        As in :class:`ArticleProfile`.
    day : date
        On which its terms are counted.
    terms : Terms
        Letters and meanings of title and body.
    annotated : dict of str to objects
        Entities, keywords, places, numbers and dates, as :class:`ArticleProfile` has them.
    """

    id: str
    lang: str
    title: str
    time: float
    sentence: str
    day: date
    terms: Terms
    annotated: Mapping[str, Any]


def extract_profile(article: Article, annotation: AnnotationLike | None = None) -> UnweightedProfile:
    """What can be said of an article and its annotation alone."""
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
    """Numbers of words and sequences of letters, and their counts."""
    words = f" {' '.join(_WORD.findall(anyascii(text).lower()))} ".encode()
    ids, counts = np.empty(len(words), dtype=np.int32), np.empty(len(words))
    n = count_terms(words, 0, _STEM_CHARS, _NGRAM_CHARS, N_TERMS, ids, counts)
    return ids[:n], counts[:n]


def _add_concepts(
    terms: tuple[NDArray[np.int32], NDArray[np.float64]], shared: Iterable[str]
) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    """Terms of letters and, counting more, ids that all languages share."""
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
        "places": tuple(dict.fromkeys(str(place.id) for place in annotation.places)),
        "dates": tuple(sorted(annotation.dates)),
        "numbers": tuple(sorted(annotation.numbers)),
    }


def _intern_names(weights: Mapping[str, float]) -> dict[str, float]:
    """Weights by names of which there is one text for all articles: most of them have many."""
    return {_NAMES[name]: weight for name, weight in weights.items()}


def _strongest(weights: Mapping[str, float]) -> dict[str, float]:
    return dict(sorted(weights.items(), key=lambda pair: (-pair[1], pair[0]))[:_MAX_CONCEPTS])


_MAX_TERMS = 512

COMPARED_FIELDS = ("entities", "keywords", "places", "numbers", "dates", "vector")
"""What profiles are compared by."""

PROFILE_STATISTICS = ("articles", "bare", "mean_time", "first", "last")
"""What is told of a profile beside its parts."""

_N_NAMED_FIELDS = len(COMPARED_FIELDS) - 1
"""Parts that are names: all but the vector."""


class ClusterProfile:
    """A cluster as linking sees it.

    Attributes
    ----------
    id : int
        Of the cluster.
    lang : str
        Of all its articles.
    articles : list of str
        Ids, in the order in which they came.
    first, last : float
        Times of the earliest and the latest article, in seconds since 1970.
    bare : int
        Articles without a body.
    vector : Vector
        Sum of the vectors of its articles.
    places : Counter of str
        Articles with each.
    most_named : str or None
        The place that most articles name; of several the first by name.
    latent : array or None
        Sum of latent vectors.
    ranked : tuple of ArticleProfile
        Its first articles, the most central first, once somebody has ranked them; none after a change.
    """

    def __init__(self, cluster: int, lang: str, articles: Iterable[ArticleProfile] = ()) -> None:
        self.id = cluster
        self.lang = lang
        self.articles: list[str] = []
        self.without_body = 0
        self.first, self.last, self.seconds = np.inf, -np.inf, 0.0
        self.vector = Vector(np.empty(0, dtype=np.int32), np.empty(0))
        self.places: Counter[str] = Counter()
        self.most_named: str | None = None
        self.latent: NDArray[np.float64] | None = None
        self.ranked: tuple[ArticleProfile, ...] = ()
        self._packed = PackedProfile(_N_NAMED_FIELDS)
        self._packed_articles = 0
        for article in articles:
            self.add(article)

    def __len__(self) -> int:
        return len(self.articles)

    @property
    def mean_time(self) -> float:
        """Mean time of the articles, in seconds since 1970."""
        return self.seconds / len(self.articles)

    @property
    def packed(self) -> PackedProfile:
        """What it is compared by: :data:`COMPARED_FIELDS`, :data:`PROFILE_STATISTICS`, its language and its place."""
        if self._packed_articles != len(self.articles):
            annotated = [len(self.articles), self.without_body, self.mean_time, self.first, self.last]
            self._packed.tell(
                *self.vector, np.array(annotated, dtype=np.float64), [self.lang, self.most_named]
            )
            self._packed_articles = len(self.articles)
        return self._packed

    def add(self, article: ArticleProfile) -> None:
        """Take an article in."""
        self.ranked = ()
        self.articles.append(article.id)
        self.without_body += not article.sentence
        self.first, self.last = min(self.first, article.time), max(self.last, article.time)
        self.seconds += article.time
        self.vector = add_vectors(self.vector, article.vector, max_terms=_MAX_TERMS)
        if article.latent is not None:
            vector = article.latent.astype(np.float64)
            self.latent = vector if self.latent is None else self.latent + vector
        self._name(article.places)
        dates = tuple(day.isoformat() for day in article.dates)
        self._packed.add([article.entities, article.keywords, article.places, article.numbers, dates])

    def _name(self, places: tuple[str, ...]) -> None:
        """An article names places: counts only grow, so the first of all is one of these or stays."""
        if places:
            self.places.update(places)
            known = places if self.most_named is None else (self.most_named, *places)
            self.most_named = min(known, key=lambda place: (-self.places[place], place))
