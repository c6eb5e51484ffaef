r"""Similarities of two articles by each kind of evidence.

==================== ==============================================================================
``encoderCosSim``    cosine of the sentence embeddings of the articles
``sentenceMatch``    mean cosine of each sentence and the nearest sentence of the other article
``leadMatch``        the same of the first sentence of each
``latentCosSim``     cosine of the points in the space of a similarity model
``textCosSim``       cosine of transliterated words, letter n-grams, news words and names
``keywordCosSim``    cosine of keywords, news words and concepts
``entityCosSim``     cosine of names and places
``sharedNumbers``    overlap coefficient of the numbers mentioned
``sharedPlaces``     overlap coefficient of the places named
``sharedDates``      Jaccard index of the dates mentioned
==================== ==============================================================================

The first sentences of news say what happened. With :math:`e_i` the embedding of sentence :math:`i`, counted
from 1 and including the title, that of the article is :math:`\sum_i e_i / i`, and sentence :math:`i` counts
:math:`1 / \sqrt i` in ``sentenceMatch``. A similarity is NaN where it is not defined, such as that of numbers
of texts without a number.
"""

from __future__ import annotations

import logging
import re
from copy import deepcopy
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cache
from math import nan

import numpy as np
from numpy.typing import NDArray

from isogloss.events.analyse import AnalysedArticle
from isogloss.events.annotate import Annotator
from isogloss.events.article import Article
from isogloss.events.ingest import SAMPLE_LANGUAGES, sample_news, sample_texts
from isogloss.events.link import ClusterProfile, ProfileBuilder
from isogloss.events.link._features import pair_features
from isogloss.similarity import Encoder, TextModel

logger = logging.getLogger(__name__)

Vector = NDArray[np.float32]

NO_TIME = datetime(2000, 1, 1, tzinfo=UTC)
"""The time of texts without one; it only matters that it is the same for all."""

CHANNELS = (
    "encoderCosSim",
    "sentenceMatch",
    "leadMatch",
    "latentCosSim",
    "textCosSim",
    "keywordCosSim",
    "entityCosSim",
    "sharedNumbers",
    "sharedPlaces",
    "sharedDates",
)
"""Names of the similarities, in display order."""

MAX_SENTENCES = 30
"""Sentences of an article that are encoded, each with at most ``MAX_SENTENCE_CHARS`` letters."""

MAX_SENTENCE_CHARS = 300
"""Letters of a sentence; longer ones are cut into several."""

_MIN_SENTENCE_CHARS = 2
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|\n+|(?<=[\u3002\uff01\uff1f])")


@dataclass(frozen=True, slots=True)
class ComparedArticle:
    """The representation of an article that is compared."""

    lang: str
    """Its language."""
    profile: ClusterProfile
    """Its names, places, numbers, dates, keywords and words."""
    sentences: Vector | None
    """Embeddings of its sentences, the title first; None without an encoder for the language. Shape
    (sentences, dimensions).
    """


def represent(
    article: Article, annotator: Annotator, encoder: Encoder | None, model: TextModel | None
) -> ComparedArticle:
    """Analyse an article for comparisons."""
    latent = None
    if model is not None and article.lang in model.languages:
        latent = model.project([article.text], article.lang)[0]
        latent = latent if latent.any() else None
    unweighted = AnalysedArticle(article, annotator, latent).profile
    # A builder counts what it weighs. Every article has one of its own, so that the result does not depend on
    # what was compared before.
    builder, known = ProfileBuilder(), _background().windows
    if article.lang in known:
        builder.windows[article.lang] = deepcopy(known[article.lang])
    profile = builder.weigh(replace(unweighted, day=NO_TIME.date()), latent)
    return ComparedArticle(
        article.lang,
        ClusterProfile(0, article.lang, [replace(profile, rate=0.0)]),
        _encode_sentences(article, encoder),
    )


def compare_channels(one: ComparedArticle, other: ComparedArticle) -> dict[str, float]:
    """Return the similarities of two articles by channel."""
    features = pair_features(one.profile, other.profile, [])
    found = {name: features.get(name, nan) for name in CHANNELS}
    found["encoderCosSim"] = nan
    if one.sentences is not None and other.sentences is not None:
        found |= _sentence_channels(one.sentences, other.sentences)
    return found


@cache
def _background() -> ProfileBuilder:
    """Return how frequent terms are in the sample news and the sample corpus, by language."""
    builder = ProfileBuilder()
    articles = [replace(article, time=NO_TIME) for article in sample_news().articles]
    for lang in SAMPLE_LANGUAGES:
        articles += [Article("", lang, title, text, NO_TIME) for title, text in sample_texts(lang)]
    for article in articles:
        builder.build(article)
    return builder


def _sentence_channels(one: Vector, other: Vector) -> dict[str, float]:
    """Return the similarities of two articles by the embeddings of their sentences."""
    cosines = _unit(one) @ _unit(other).T
    sides = [(one, cosines.max(axis=1)), (other, cosines.max(axis=0))]
    places = [np.arange(1, len(own) + 1, dtype=np.float32) for own, _ in sides]
    means = [
        _unit(np.asarray((1 / place) @ own, np.float32))
        for (own, _), place in zip(sides, places, strict=True)
    ]
    matched = [np.average(best, weights=place**-0.5) for (_, best), place in zip(sides, places, strict=True)]
    return {
        "encoderCosSim": float(means[0] @ means[1]),
        "sentenceMatch": float(np.mean(matched)),
        "leadMatch": float(np.mean([best[0] for _, best in sides])),
    }


def _encode_sentences(article: Article, encoder: Encoder | None) -> Vector | None:
    """Return the embeddings of the first sentences; None, with a warning, if there is no usable one."""
    if encoder is None or (encoder.languages is not None and article.lang not in encoder.languages):
        return None
    sentences = split_sentences(article.text)
    if not sentences:
        return None
    vectors = np.asarray(encoder.encode(sentences, article.lang), dtype=np.float32)
    if vectors.shape != (len(sentences), encoder.dimension) or not np.isfinite(vectors).all():
        logger.warning(
            "the encoder gave an array of shape %s for %d sentences; expected finite numbers of shape %s. "
            "The "
            "article is compared without it",
            vectors.shape,
            len(sentences),
            (len(sentences), encoder.dimension),
        )
        return None
    return vectors if vectors.any() else None


def split_sentences(text: str) -> list[str]:
    r"""Split a text into its first sentences, cutting long ones.

    Examples
    --------
    >>> split_sentences("Fire in Turin. Two people are dead!\n1.5 million were spent... 火事。二人死亡。")
    ['Fire in Turin.', 'Two people are dead!', '1.5 million were spent...', '火事。', '二人死亡。']
    """
    found: list[str] = []
    for sentence in _SENTENCE_END.split(text[: MAX_SENTENCES * MAX_SENTENCE_CHARS]):
        whole = sentence.strip()
        parts = (
            whole[start : start + MAX_SENTENCE_CHARS] for start in range(0, len(whole), MAX_SENTENCE_CHARS)
        )
        found += [part for part in parts if sum(map(str.isalnum, part)) >= _MIN_SENTENCE_CHARS]
        if len(found) >= MAX_SENTENCES:
            break
    return found[:MAX_SENTENCES]


def _unit(vectors: Vector) -> Vector:
    lengths = np.linalg.norm(vectors, axis=-1, keepdims=True)
    return np.asarray(vectors / np.maximum(lengths, 1e-9), dtype=np.float32)
