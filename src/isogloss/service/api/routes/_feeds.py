"""Feeds: events, saved searches and single events as Atom and RSS."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, Request
from starlette.responses import Response

from isogloss.service._event_feeds import (
    MAX_ENTRIES,
    MEDIA_TYPES,
    Format,
    feed_of_articles,
    feed_of_events,
    feed_response,
)
from isogloss.service._state import AppState, AppStateDep
from isogloss.service.api.errors import API_PREFIX, ServiceError
from isogloss.service.api.routes._events import resolve_search
from isogloss.service.api.routes._searches import SearchId, find_search
from isogloss.service.api.schemas import MAX_INT64, FeedParameters, SearchParameters
from isogloss.service.auth import AuthenticatedRoute, Reader
from isogloss.service.search import clean_query, parse_saved

feeds_router = APIRouter(prefix=API_PREFIX, route_class=AuthenticatedRoute, tags=["feeds"])

_ROUTE: dict[str, Any] = {
    "response_class": Response,
    "responses": {
        200: {
            "description": "The feed.",
            "content": {media_type: {"schema": {"type": "string"}} for media_type in MEDIA_TYPES.values()},
        },
        304: {"description": "The feed is that of `If-None-Match` or `If-Modified-Since`."},
    },
}

FeedFormat = Annotated[Format, Query(description="Format of the feed.")]


@feeds_router.get("/feeds/events", summary="Follow events in a feed reader", **_ROUTE)
def events_feed(
    request: Request, state: AppStateDep, _: Reader, parameters: Annotated[FeedParameters, Query()]
) -> Response:
    """Return the events that match as a feed: by default the 50 that changed last.

    The filters are those of `GET /events`, without pages. Conditional requests are supported.
    """
    return _search_feed(request, state, parameters, parameters.format, "")


@feeds_router.get("/feeds/searches/{id}", summary="Follow a saved search in a feed reader", **_ROUTE)
def search_feed(
    request: Request, state: AppStateDep, principal: Reader, id: SearchId, format: FeedFormat = "atom"
) -> Response:
    """Return the events of a saved search as a feed. Conditional requests are supported."""
    saved = find_search(state, principal, id)
    try:
        search = parse_saved(saved.query)
    except ValueError as error:
        raise ServiceError(422, f"the saved search {id} cannot be run ({error}); change it") from error
    return _search_feed(request, state, search, format, saved.name)


@feeds_router.get("/feeds/events/{id}", summary="Follow an event in a feed reader", **_ROUTE)
def event_feed(
    request: Request,
    state: AppStateDep,
    _: Reader,
    id: Annotated[str, Path(max_length=200, description="Current or former id of an event.")],
    format: FeedFormat = "atom",
) -> Response:
    """Return the 50 articles of an event that arrived last as a feed. Conditional requests are supported."""
    event = state.store.event_summary(clean_query(id))
    if event is None:
        raise ServiceError(404, "there is no event with this id; see GET /events")
    numbers = state.store.article_numbers(event=event["id"], before=MAX_INT64, limit=MAX_ENTRIES)
    found = state.store.articles(numbers)
    articles = {number: found[number] for number in numbers if number in found}
    return feed_response(request, feed_of_articles(state.store, event, articles, _base(request)), format)


def _search_feed(
    request: Request, state: AppState, search: SearchParameters, format: Format, name: str
) -> Response:
    query, ranked, _ = resolve_search(state, search)
    sort = "changed" if ranked or search.sort is None else query.sort
    events = state.store.events(replace(query, sort=sort, limit=MAX_ENTRIES)).events
    chosen = search.model_dump(mode="json", exclude_defaults=True, exclude={"format"})
    described = ", ".join(f"{key} {_words(value)}" for key, value in chosen.items())
    feed = feed_of_events(
        state.store,
        events,
        _base(request),
        key=json.dumps(chosen, sort_keys=True),
        title=f"isogloss: {name or described or 'events'}",
        link="/",
    )
    return feed_response(request, feed, format)


def _words(value: Any) -> str:
    return " ".join(map(str, value)) if isinstance(value, list) else str(value)


def _base(request: Request) -> str:
    return str(request.base_url).rstrip("/")
