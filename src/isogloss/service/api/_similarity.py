"""Similarity across languages: two texts, one text and the articles near it, topics."""

from __future__ import annotations

from collections import defaultdict
from datetime import UTC, datetime
from typing import Annotated

import numpy as np
from fastapi import APIRouter, Path, Query
from numpy.typing import NDArray

from isogloss.service._state import AppState, AppStateDep, check_text
from isogloss.service.api._articles import need_article
from isogloss.service.api._events import article_line
from isogloss.service.api._prefix import PREFIX
from isogloss.service.auth import AuthenticatedRoute, Reader
from isogloss.service.models import resolve_language, topic_answer
from isogloss.service.schemas import (
    CompareAnswer,
    CompareRequest,
    Number,
    ServiceError,
    SimilarAnswer,
    SimilarArticle,
    SimilarRequest,
    TopicAnswer,
    Where,
)
from isogloss.service.search import language_codes

__all__ = ["similarity_router"]

similarity_router = APIRouter(prefix=PREFIX, route_class=AuthenticatedRoute, tags=["similarity"])

EXPLAINED = 3
"""Articles of each language that come with the topics they share."""


@similarity_router.post("/similarity", response_model=CompareAnswer, summary="Compare two texts")
def compare_texts(parts: AppStateDep, _: Reader, texts: CompareRequest) -> CompareAnswer:
    """How similar two texts are, in one language or two, and why.

    `similarity` is that of meanings where the service has a model, else that of names; both are in
    `channels`.
    """
    check_text(parts, texts.a.text, texts.b.text)
    return parts.comparing.compare(texts.a, texts.b)


@similarity_router.post("/similar", response_model=SimilarAnswer, summary="Articles like a text")
def find_similar(parts: AppStateDep, _: Reader, asked: SimilarRequest) -> SimilarAnswer:
    """The articles nearest to a text, in each language that the model and the store have."""
    check_text(parts, asked.text)
    lang = resolve_language(asked.text, asked.lang, parts.models.need_similarity().languages)
    return _similar(parts, asked.text, lang, asked)


@similarity_router.get(
    "/articles/{seq}/similar", response_model=SimilarAnswer, summary="Articles like an article"
)
def find_like(
    parts: AppStateDep,
    _: Reader,
    seq: Annotated[Number, Path(description="The number of its receipt.")],
    where: Annotated[Where, Query()],
) -> SimilarAnswer:
    """The articles nearest to one of the store, in each language that the model and the store have."""
    model, article = parts.models.need_similarity(), need_article(parts, seq)
    text = article.text[: parts.settings.limits.text_characters]
    lang = resolve_language(text, article.lang, model.languages)
    return _similar(parts, text, lang, where, but=seq)


def _similar(parts: AppState, text: str, lang: str, where: Where, but: int | None = None) -> SimilarAnswer:
    """The nearest articles, but for one, with the topics that the first of each language share."""
    point = parts.comparing.project(text, lang)
    near = parts.neighbours.nearest(
        point,
        where.k + (but is not None),
        languages=_codes(where.languages),
        since=_utc(where.since),
        until=_utc(where.until),
    )
    articles = parts.store.articles([each.seq for each in near if each.seq != but], bodies=False)
    found: dict[str, list[SimilarArticle]] = defaultdict(list)
    points: dict[str, list[NDArray[np.float32]]] = defaultdict(list)
    for each in near:
        if each.seq in articles and len(found[each.lang]) < where.k:
            line = article_line(each.seq, articles[each.seq])
            found[each.lang].append(SimilarArticle(**line, similarity=each.similarity))
            points[each.lang].append(each.point)
    for other, told in found.items():
        shared = parts.comparing.shared_with(point, points[other][:EXPLAINED], sorted({lang, other}))
        for one, topics in zip(told, shared, strict=False):
            one.topics = topics
    return SimilarAnswer(lang=lang, articles={other: told for other, told in found.items() if told})


@similarity_router.get("/topics", response_model=list[TopicAnswer], summary="Topics of the model")
def list_topics(
    parts: AppStateDep,
    _: Reader,
    start: Annotated[int, Query(ge=0, le=10**6)] = 0,
    limit: Annotated[int, Query(ge=1, le=50)] = 10,
) -> list[TopicAnswer]:
    """The strongest words of components in every language, side by side."""
    return parts.comparing.topics(start, limit)


@similarity_router.get("/topics/{n}", response_model=TopicAnswer, summary="A topic")
def read_topic(parts: AppStateDep, _: Reader, n: Annotated[int, Path(ge=0, le=10**6)]) -> TopicAnswer:
    """The words at both ends of one component."""
    return topic_answer(parts.comparing.topic(n))


def _codes(tags: list[str] | None) -> list[str] | None:
    try:
        return None if tags is None else language_codes(tags)
    except ValueError as error:
        raise ServiceError(422, f"languages: {error}") from error


def _utc(time: datetime | None) -> datetime | None:
    return time if time is None or time.tzinfo else time.replace(tzinfo=UTC)
