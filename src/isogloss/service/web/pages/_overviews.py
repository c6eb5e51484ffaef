"""The page of all sources and their feeds, and pages of a place, a concept and a source."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request, Response

from isogloss.service._state import AppState, AppStateDep
from isogloss.service.api.errors import ServiceError
from isogloss.service.search import clean_query
from isogloss.service.web._downloads import search_downloads
from isogloss.service.web._rendering import PageRoute, page_of, render
from isogloss.service.web._session import PageReader
from isogloss.service.web.drawing import event_map, timeline
from isogloss.service.web.presentation import Card, Filters, preferred_languages
from isogloss.store import EventQuery, Overview

overview_pages = APIRouter(route_class=PageRoute, include_in_schema=False)

MAX_SOURCES = 200
MAX_FEEDS = 200
"""Feeds on the page, those that fail first."""

TOP_EVENTS = 12
MAP_WIDTH = 560
"""Width of maps in pixels at which their texts have the size of other texts."""


@overview_pages.get("/sources")
def sources(request: Request, state: AppStateDep, principal: PageReader) -> Response:
    """Show the sources of the store and, to administrators, the health of feeds, whose URLs may hold keys."""
    counts = state.store.source_counts(MAX_SOURCES + 1)
    is_admin = principal.has_scope("admin")
    feeds = state.store.feed_health() if is_admin else []
    order = {"failing": 0, "ok": 1, "new": 2}
    return render(
        request,
        "sources.html",
        sources=counts[:MAX_SOURCES],
        more_sources=len(counts) > MAX_SOURCES,
        feeds=sorted(feeds, key=lambda each: (order[each.status], each.title or each.url))[:MAX_FEEDS],
        n_feeds=len(feeds),
        n_failing=sum(each.status == "failing" for each in feeds),
        is_admin=is_admin,
    )


@overview_pages.get("/place/{id:path}")
def place_page(request: Request, state: AppStateDep, _: PageReader, id: str) -> Response:
    """Show what the events of a place have in common."""
    return _overview_page(request, state, "place", id)


@overview_pages.get("/concept/{id:path}")
def concept_page(request: Request, state: AppStateDep, _: PageReader, id: str) -> Response:
    """Show what the events of a concept have in common."""
    return _overview_page(request, state, "concept", id)


@overview_pages.get("/source/{name:path}")
def source_page(request: Request, state: AppStateDep, _: PageReader, name: str) -> Response:
    """Show what the events that a source reports have in common."""
    return _overview_page(request, state, "source", name)


def _overview_page(request: Request, state: AppState, kind: str, id: str) -> Response:
    overview = state.store.overview(kind, clean_query(id))
    if overview is None:
        raise ServiceError(404, f"There are no events of this {kind}. Old events are deleted after a while.")
    query = EventQuery(terms=[(kind, overview.id)], sort="importance", limit=TOP_EVENTS)
    preferred = preferred_languages(request.headers.get("accept-language", ""))
    cards = [Card.from_event(event, preferred) for event in state.store.events(query).events]
    return render(
        request,
        "overview.html",
        overview=overview,
        label=overview.details.get("name") or overview.details.get("label") or overview.id,
        timeline=timeline([*overview.timeline.items()], {}, {}),
        map=event_map(_spots(overview), "/map.svg", width=MAP_WIDTH),
        cards=cards,
        filters=Filters(),
        downloads=search_downloads(request, [(kind, overview.id)]),
        all_events=Filters().url(**{kind: overview.id}),
    )


def _spots(overview: Overview) -> list[dict[str, Any]]:
    """Return the places of the map: that of the page, and those that its events also name."""
    others = [
        place | {"count": place["events"], "url": page_of("place", place["id"])} for place in overview.places
    ]
    own = [{**overview.details, "count": overview.summarised}] if overview.kind == "place" else []
    return own + others
