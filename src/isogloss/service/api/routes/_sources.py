"""Sources of articles, and the feeds they come from."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query

from isogloss.service._state import AppStateDep
from isogloss.service.api.errors import API_PREFIX
from isogloss.service.api.schemas import FeedResponse, SourceResponse
from isogloss.service.auth import Admin, AuthenticatedRoute, Reader
from isogloss.store import from_micros

sources_router = APIRouter(prefix=API_PREFIX, route_class=AuthenticatedRoute, tags=["sources"])


@sources_router.get("/sources", response_model=list[SourceResponse], summary="List sources")
def all_sources(
    state: AppStateDep,
    _: Reader,
    limit: Annotated[int, Query(ge=1, le=1000, description="Maximum number of sources.")] = 100,
) -> list[SourceResponse]:
    """List the sources with the most articles, with their languages and the time of the newest article."""
    return [
        SourceResponse(
            source=each.source,
            articles=each.articles,
            languages=list(each.languages),
            newest=from_micros(each.newest),
        )
        for each in state.store.source_counts(limit)
    ]


@sources_router.get("/sources/feeds", response_model=list[FeedResponse], summary="List feeds")
def all_feeds(
    state: AppStateDep,
    _: Admin,
    failing: Annotated[bool, Query(description="Only feeds whose last visit failed.")] = False,
    limit: Annotated[int, Query(ge=1, le=10_000, description="Maximum number of feeds.")] = 1000,
) -> list[FeedResponse]:
    """List the feeds in the order of their URLs, with the outcome of the last visit and the time of the next.

    URLs of feeds may contain keys, so this needs the scope `admin`.
    """
    feeds = [each for each in state.store.feed_health() if not failing or each.status == "failing"]
    return [FeedResponse(**each.as_record()) for each in feeds[:limit]]
