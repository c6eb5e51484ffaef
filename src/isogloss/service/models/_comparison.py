"""Comparisons of texts, topics and translations by the similarity model."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from math import isnan
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isogloss.events.comparison import ArticleSimilarity
from isogloss.service.api.errors import ServiceError
from isogloss.service.api.schemas import (
    Channels,
    CompareResponse,
    SharedTopic,
    TextInput,
    TopicResponse,
    WordTranslation,
)
from isogloss.service.models._registry import Models, resolve_language
from isogloss.similarity import Encoder, Topic, find_topics
from isogloss.similarity.models import WordPulls

TOPIC_WORDS = 10
"""Words of each end of a topic."""

MAX_SHARED_TOPICS = 3
"""Topics of an explanation."""

_CHANNELS = {"encoder": "encoderCosSim", "words": "textCosSim", "keywords": "keywordCosSim"}
"""Channels of the comparison of articles that are shown, by their names in the API."""

_SHARED_WORDS = 5
_MAX_SHARED_NAMES = 50


class TextComparer:
    """Compares texts and explains the result by topics."""

    def __init__(self, models: Models, encoder: Encoder | None = None) -> None:
        self.models = models
        self._articles = ArticleSimilarity(
            encoder=encoder, annotator=models.annotator, model=models.similarity
        )
        self._topics: dict[int, Topic] = {}
        self._ends: dict[tuple[int, str], tuple[WordPulls, WordPulls]] = {}
        self._lock = threading.Lock()

    def compare(self, a: TextInput, b: TextInput) -> CompareResponse:
        """Compare two texts by all kinds of evidence, and explain the result."""
        model = self.models.similarity
        known = model.languages if model is not None else None
        langs = [resolve_language(each.text, each.lang, known) for each in (a, b)]
        named = self.models.names.shared(a.text, langs[0], b.text, langs[1])
        latent, topics = None, []
        if model is not None:
            left, right = (self.project(t.text, lang) for t, lang in zip((a, b), langs, strict=True))
            latent = float(left @ right)
            topics = self.shared(left, right, langs)
        compared = self._articles.compare(
            *(self._articles.article(each.text, lang) for each, lang in zip((a, b), langs, strict=True))
        )
        return CompareResponse(
            probability=compared.probability,
            similarity=_clip(named.similarity if latent is None else latent),
            languages=langs,
            channels=Channels(
                latent=latent,
                names=_clip(named.similarity),
                **{name: _known(compared.channels[channel]) for name, channel in _CHANNELS.items()},
            ),
            topics=topics,
            both=list(named.both[:_MAX_SHARED_NAMES]),
        )

    def project(self, text: str, lang: str) -> NDArray[np.float32]:
        """Project a text to the meaning space."""
        point: NDArray[np.float32] = self.models.need_similarity().project([text], lang)[0]
        return point

    def shared(self, a: NDArray[Any], b: NDArray[Any], langs: list[str]) -> list[SharedTopic]:
        """Return the components that contribute most to the inner product of two points."""
        return self.shared_with(a, [b], langs)[0]

    def shared_with(
        self, point: NDArray[Any], others: Sequence[NDArray[Any]], langs: list[str]
    ) -> list[list[SharedTopic]]:
        """Return :meth:`shared` for a point and each of several others."""
        parts = np.asarray(point, dtype=np.float64) * np.asarray(others, dtype=np.float64)
        best = np.argsort(-parts, axis=1, kind="stable")[:, :MAX_SHARED_TOPICS]
        shares = np.take_along_axis(parts, best, axis=1)
        return [
            [
                SharedTopic(component=c, share=share, words=self._words(c, float(point[c]), langs))
                for c, share in zip(components, added, strict=True)
                if share > 0
            ]
            for components, added in zip(best.tolist(), shares.tolist(), strict=True)
        ]

    def _words(self, component: int, sign: float, langs: list[str]) -> dict[str, list[str]]:
        """Return words of an end of a component in some languages; others are not looked at."""
        model, end = self.models.need_similarity().words, 0 if sign >= 0 else 1
        known = [lang for lang in langs if lang in model.languages]
        for lang in known:
            if (component, lang) not in self._ends:
                (self._ends[component, lang],) = model.strongest_words(lang, [component], _SHARED_WORDS)
        return {lang: [word for word, _ in self._ends[component, lang][end]] for lang in known}

    def topic(self, component: int) -> Topic:
        """Return a component with its words, from a cache."""
        if component in self._topics:
            return self._topics[component]
        model = self.models.need_similarity()
        if not 0 <= component < self.width:
            raise ServiceError(404, f"there is no topic {component}; the model has 0 to {self.width - 1}")
        with self._lock:
            if component not in self._topics:
                (self._topics[component],) = find_topics(
                    model.words, components=[component], words=TOPIC_WORDS
                )
            return self._topics[component]

    @property
    def width(self) -> int:
        """Number of topics."""
        return self.models.width

    def topics(self, start: int, limit: int) -> list[TopicResponse]:
        """Return some topics; in most models the strongest come first."""
        return [topic_answer(self.topic(c)) for c in range(start, min(start + limit, self.width))]

    def translations(self, lang: str, word: str, to: str, k: int) -> list[WordTranslation]:
        """Return similar words of another language; none if the model does not know the word."""
        model = self.models.similarity
        if model is None or not {lang, to} <= set(model.words.languages) or lang == to:
            return []
        matrix = model.words.similarity(lang, to)
        try:
            found = matrix.translations(word.casefold(), min(k, matrix.shape[1]))
        except ValueError:
            return []
        return [WordTranslation(lang=to, word=w, score=score, source="model") for w, score in found]


def topic_answer(topic: Topic) -> TopicResponse:
    """Return a topic as an API object."""
    return TopicResponse(
        component=topic.component, strength=topic.strength, positive=topic.positive, negative=topic.negative
    )


def _known(similarity: float) -> float | None:
    """Return a similarity, or None where there is none."""
    return None if isnan(similarity) else _clip(similarity)


def _clip(cosine: float) -> float:
    """Clip a cosine, which rounding may take beyond 1."""
    return min(1.0, max(-1.0, cosine))
