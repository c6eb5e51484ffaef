"""The page of sources: where articles come from, and how the feeds are."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response

from isogloss.service._state import AppStateDep
from isogloss.service.web._rendering import PageRoute, render
from isogloss.service.web._session import PageReader

source_pages = APIRouter(route_class=PageRoute, include_in_schema=False)

MAX_SOURCES = 200
MAX_FEEDS = 200
"""Feeds on the page, those that fail first."""


@source_pages.get("/sources")
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
