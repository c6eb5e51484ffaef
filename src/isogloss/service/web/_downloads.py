"""Links of pages to the feeds and exports of what they show."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import quote, urlencode

from fastapi import Request

from isogloss.service.api.errors import API_PREFIX
from isogloss.service.web._session import may_read_api


@dataclass(frozen=True)
class Downloads:
    """The URL of a feed, and those of tables by their names."""

    feed: str
    tables: Mapping[str, str]


def event_downloads(request: Request, event: str) -> Downloads | None:
    """Return the feed and the articles of an event; None if the API needs a token (links send none)."""
    if not may_read_api(request):
        return None
    return Downloads(
        f"{API_PREFIX}/feeds/events/{quote(event, safe='')}",
        {"articles": _export("articles", [("event", event)])},
    )


def search_downloads(request: Request, parameters: Sequence[tuple[str, str]]) -> Downloads | None:
    """Return the feed, the events and the articles of a search; None if the API needs a token."""
    if not may_read_api(request):
        return None
    query = urlencode(parameters)
    return Downloads(
        f"{API_PREFIX}/feeds/events{'?' if query else ''}{query}",
        {table: _export(table, parameters) for table in ("events", "articles")},
    )


def _export(table: str, parameters: Sequence[tuple[str, str]]) -> str:
    return f"{API_PREFIX}/export/{table}?{urlencode([*parameters, ('format', 'csv')])}"
