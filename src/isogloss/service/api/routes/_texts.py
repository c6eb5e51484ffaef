"""Similarity of texts, topics, translations and word alignment."""

from __future__ import annotations

from collections import defaultdict
from datetime import UTC, datetime
from typing import Annotated

import numpy as np
from fastapi import APIRouter, Path, Query
from numpy.typing import NDArray

from isogloss.service._state import AppState, AppStateDep, check_text
from isogloss.service.api.errors import API_PREFIX, ServiceError
from isogloss.service.api.routes._articles import SeqPath, get_article
from isogloss.service.api.routes._events import article_fields
from isogloss.service.api.schemas import (
    AlignedPair,
    AlignRequest,
    AlignResponse,
    CompareRequest,
    CompareResponse,
    SimilarArticle,
    SimilarFilters,
    SimilarRequest,
    SimilarResponse,
    TextInput,
    TopicResponse,
    WordResponse,
    WordTranslation,
)
from isogloss.service.auth import AuthenticatedRoute, Reader
from isogloss.service.models import resolve_language, topic_answer
from isogloss.service.search import language_codes
from isogloss.text import Tokeniser

similarity_router = APIRouter(prefix=API_PREFIX, route_class=AuthenticatedRoute, tags=["similarity"])
words_router = APIRouter(prefix=API_PREFIX, route_class=AuthenticatedRoute, tags=["words"])

MAX_EXPLAINED = 3
"""Articles per language that come with their shared topics."""


@similarity_router.post("/similarity", response_model=CompareResponse, summary="Compare two texts")
def compare_texts(state: AppStateDep, _: Reader, texts: CompareRequest) -> CompareResponse:
    """Compare two texts, in one language or two, and explain the result.

    `probability` is calibrated and takes all kinds of evidence into account, which are in `channels`:
    translations of a text are near 1, unrelated texts near 0. `similarity` is the cosine by the similarity
    model if the service has one, and otherwise by names.
    """
    check_text(state, texts.a.text, texts.b.text)
    return state.comparing.compare(texts.a, texts.b)


@similarity_router.post("/similar", response_model=SimilarResponse, summary="Find articles similar to a text")
def find_similar(state: AppStateDep, _: Reader, query: SimilarRequest) -> SimilarResponse:
    """Find the articles most similar to a text, in each language of the model and the store."""
    check_text(state, query.text)
    lang = resolve_language(query.text, query.lang, state.models.need_similarity().languages)
    return _similar(state, query.text, lang, query)


@similarity_router.get(
    "/articles/{seq}/similar", response_model=SimilarResponse, summary="Find articles similar to an article"
)
def find_similar_to_article(
    state: AppStateDep, _: Reader, seq: SeqPath, filters: Annotated[SimilarFilters, Query()]
) -> SimilarResponse:
    """Find the articles most similar to a stored one, in each language of the model and the store."""
    model, article = state.models.need_similarity(), get_article(state, seq)
    text = article.text[: state.settings.limits.text_characters]
    lang = resolve_language(text, article.lang, model.languages)
    return _similar(state, text, lang, filters, exclude=seq)


def _similar(
    state: AppState, text: str, lang: str, filters: SimilarFilters, exclude: int | None = None
) -> SimilarResponse:
    """Find the nearest articles except one, with the topics that the first of each language share."""
    point = state.comparing.project(text, lang)
    near = state.neighbours.nearest(
        point,
        filters.k + (exclude is not None),
        lang=lang,
        languages=_codes(filters.languages),
        since=_utc(filters.since),
        until=_utc(filters.until),
    )
    articles = state.store.articles([each.seq for each in near if each.seq != exclude], bodies=False)
    found: dict[str, list[SimilarArticle]] = defaultdict(list)
    points: dict[str, list[NDArray[np.float32]]] = defaultdict(list)
    for each in near:
        if each.seq in articles and len(found[each.lang]) < filters.k:
            fields = article_fields(each.seq, articles[each.seq])
            found[each.lang].append(SimilarArticle(**fields, similarity=each.similarity))
            points[each.lang].append(each.point)
    for other, similar in found.items():
        shared = state.comparing.shared_with(point, points[other][:MAX_EXPLAINED], sorted({lang, other}))
        for article, topics in zip(similar, shared, strict=False):
            article.topics = topics
    return SimilarResponse(
        lang=lang, articles={other: similar for other, similar in found.items() if similar}
    )


@similarity_router.get("/topics", response_model=list[TopicResponse], summary="List topics")
def list_topics(
    state: AppStateDep,
    _: Reader,
    start: Annotated[int, Query(ge=0, le=10**6)] = 0,
    limit: Annotated[int, Query(ge=1, le=50)] = 10,
) -> list[TopicResponse]:
    """List topics of the similarity model with their strongest words in every language."""
    return state.comparing.topics(start, limit)


@similarity_router.get("/topics/{n}", response_model=TopicResponse, summary="Read a topic")
def read_topic(state: AppStateDep, _: Reader, n: Annotated[int, Path(ge=0, le=10**6)]) -> TopicResponse:
    """Return the words at both ends of a topic."""
    return topic_answer(state.comparing.topic(n))


def _codes(tags: list[str] | None) -> list[str] | None:
    try:
        return None if tags is None else language_codes(tags)
    except ValueError as error:
        raise ServiceError(422, f"languages: {error}") from error


def _utc(time: datetime | None) -> datetime | None:
    return time if time is None or time.tzinfo else time.replace(tzinfo=UTC)


@words_router.get("/words/{lang}/{word:path}", response_model=WordResponse, summary="Translate a word")
def translate_word(
    state: AppStateDep,
    _: Reader,
    lang: Annotated[str, Path(min_length=2, max_length=35, description="Language of the word.")],
    word: Annotated[str, Path(min_length=1, max_length=200)],
    to: Annotated[str | None, Query(min_length=2, max_length=35, description="Target language.")] = None,
    k: Annotated[int, Query(ge=1, le=50, description="Number of translations per language.")] = 10,
) -> WordResponse:
    """Translate a word with the dictionaries of the service, or else with its similarity model."""
    code = resolve_language(word, lang)
    targets = [resolve_language(word, to)] if to else _targets(state, code)
    if not targets:
        raise ServiceError(
            404,
            f"this service has no dictionary and no model for words in {code!r}; configure "
            "models.dictionaries or models.similarity in the settings",
        )
    found = [each for target in targets for each in _translations(state, code, word, target, k)]
    return WordResponse(lang=code, word=word, translations=found)


@words_router.post("/align", response_model=AlignResponse, summary="Align two sentences")
def align_sentences(state: AppStateDep, _: Reader, pair: AlignRequest) -> AlignResponse:
    """Find which words of two sentences translate each other."""
    langs = [resolve_language(each.text, each.lang) for each in (pair.source, pair.target)]
    aligner, swapped = state.models.need_aligner(*langs)
    source, target = (
        _words(state, each, lang) for each, lang in zip((pair.source, pair.target), langs, strict=True)
    )
    agreed = aligner.posterior(*((target, source) if swapped else (source, target))).agreed
    if swapped:
        agreed = agreed.T
    rows, columns = (agreed > aligner.link_threshold).nonzero()
    pairs = [
        AlignedPair(source=i, target=j, probability=min(1.0, float(agreed[i, j])))
        for i, j in zip(rows.tolist(), columns.tolist(), strict=True)
    ]
    return AlignResponse(source=source, target=target, pairs=pairs)


def _targets(state: AppState, lang: str) -> list[str]:
    model = state.models.similarity
    known = set(model.words.languages) if model is not None and lang in model.words.languages else set()
    return sorted({*state.models.lexicon.targets(lang), *known} - {lang})


def _translations(state: AppState, lang: str, word: str, to: str, k: int) -> list[WordTranslation]:
    found = state.models.lexicon.translate(lang, word, to)[:k]
    if found:
        return [WordTranslation(lang=to, word=w, score=score, source="dictionary") for w, score in found]
    return state.comparing.translations(lang, word, to, k)


def _words(state: AppState, sentence: TextInput, lang: str) -> list[str]:
    limit = state.settings.limits.sentence_words
    if len(sentence.text) > 50 * limit:
        raise ServiceError(413, f"a sentence has {len(sentence.text):,} characters; expected one sentence")
    words = Tokeniser(lang, lower=False)(sentence.text)
    if not words:
        raise ServiceError(422, "a sentence has no words; expected at least one")
    if len(words) > limit:
        raise ServiceError(413, f"a sentence has {len(words):,} words; expected at most {limit:,}")
    return words
