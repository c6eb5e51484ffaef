"""The pages of events: all of them, and one."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import aclosing
from functools import lru_cache, partial
from itertools import chain
from typing import Any, cast
from urllib.parse import quote

from fastapi import APIRouter, Request, Response
from fastapi.responses import RedirectResponse
from starlette.concurrency import run_in_threadpool

from isogloss.events import Article
from isogloss.exceptions import StoreError
from isogloss.service._change_feed import ChangeFeedResponse
from isogloss.service._state import AppStateDep
from isogloss.service.schemas import ServiceError
from isogloss.service.web._cards import Card, Facets, reading_order
from isogloss.service.web._filters import LABELS, SORTS, Filters
from isogloss.service.web._frame import PageRoute, language_name, page_of, render, written
from isogloss.service.web._reasons import reasons, seen_articles
from isogloss.service.web._session import (
    KEY,
    Editor,
    FormFields,
    Visitor,
    check_form,
    check_own_page,
    form_key,
    may_read,
    set_cookie,
)
from isogloss.service.web.drawing import event_map, timeline
from isogloss.store import EventQuery, EventQueryResult, Store

__all__ = ["events_router"]

events_router = APIRouter(route_class=PageRoute, include_in_schema=False)

_FACET_EVENTS = 100
_ARTICLES, _FEWEST, _MOST = 100, 3, 12
"""Articles that the page shows, about, and how many of one language at least and at most."""
_REPRINTS = 20
"""Reprints of one language that the page lists, folded away."""
_LANGUAGES = 60
_DAY = 86_400_000_000
_LINE = re.compile(r"[0-9]{1,18}")


@events_router.get("/")
def now(request: Request, parts: AppStateDep, _: Visitor) -> Response:
    """Events as cards, with filters that stand in the address."""
    store, path = parts.store, request.url.path
    filters = Filters.of(request.query_params)
    wanted = reading_order(request.headers.get("accept-language", ""))
    position = store.position()
    page = _page(store, filters)
    cards = [Card.of(event, wanted) for event in page.events]
    latest = _latest(store, position)

    def write() -> str:
        return written(
            path,
            "now.html",
            filters=filters,
            cards=cards,
            facets=Facets([*cards, *latest]),
            sorts=SORTS,
            labels=LABELS,
            next=filters.url(cursor=page.cursor) if page.cursor else "",
            position=position,
        )

    shown = position, page.cursor, cards, latest
    return page_of(parts.pages.get((path, filters, *wanted), shown, write))


@events_router.get("/event/{name}")
def event(request: Request, parts: AppStateDep, name: str, _: Visitor) -> Response:
    """One event: its articles by language, when and where, and why they belong together."""
    store = parts.store
    told = _told(store, name)
    if told["id"] != name:
        return RedirectResponse(f"/event/{quote(told['id'], safe='')}", 308)
    card = Card.of(told, reading_order(request.headers.get("accept-language", "")))
    doubtful = request.query_params.get("first") == "doubtful"
    if doubtful:
        told["links"].reverse()
    shown, repeated = _shown(told), _reprints(told)
    some = (numbers[:_REPRINTS] for numbers in repeated.values())
    numbers = chain(*shown.values(), *some, seen_articles(told))
    articles = store.articles([*numbers], bodies=False)
    why, more = reasons(told, articles)
    key = form_key(request)
    page = render(
        request,
        "event.html",
        card=card,
        columns=_columns(told, shown, repeated, articles | store.articles(_newest(shown, articles))),
        timeline=timeline(card.days, _lanes(told), {code: language_name(code) for code, _ in card.languages}),
        map=event_map(card.places, "/map.svg"),
        reasons=why,
        more=more,
        doubtful=doubtful,
        key=key,
        thanks=request.query_params.get("thanks", ""),
    )
    set_cookie(request, page, KEY, key)
    return page


@events_router.get("/changes")
async def changes(request: Request, parts: AppStateDep, _: Visitor) -> Response:
    """Events that are new or changed, told to open pages, for as long as their visitor may read.

    A browser cannot give an event source a token, but sends the cookie along. Every message, and every
    sign of life between messages, is sent only after another look at the token.
    """
    check_own_page(request)
    line = request.headers.get("last-event-id") or request.query_params.get("after", "")
    after = int(line) if _LINE.fullmatch(line) else None
    return ChangeFeedResponse(parts.changes, after, check=partial(_while_allowed, request))


@events_router.post("/event/{name}/links/{a}/{b}")
def judge(
    request: Request, parts: AppStateDep, _: Editor, name: str, a: int, b: int, fields: FormFields
) -> Response:
    """Keep what somebody says about a link, for the next training of the linker."""
    check_form(request, fields)
    store = parts.store
    told = _told(store, name)
    known = {frozenset((link["a"], link["b"])) for link in told["links"]}
    if fields.get("same") not in ("0", "1") or frozenset((a, b)) not in known:
        raise ServiceError(404, "There is no such link in this event now; it may have changed meanwhile.")
    store.add_verdict(a, b, same=fields["same"] == "1", note=fields.get("note", "")[:1000])
    link = f"link-{min(a, b)}-{max(a, b)}"
    return RedirectResponse(f"/event/{quote(told['id'], safe='')}?thanks={link}#{link}", 303)


async def _while_allowed(request: Request, messages: AsyncIterator[str]) -> AsyncIterator[str]:
    async with aclosing(cast(AsyncGenerator[str, None], messages)) as told:
        async for message in told:
            if not await run_in_threadpool(may_read, request):
                return
            yield message


def _page(store: Store, filters: Filters) -> EventQueryResult:
    try:
        return store.events(filters.query())
    except (OverflowError, UnicodeEncodeError, StoreError) as error:
        if not filters.cursor or error.__cause__ is not None:
            raise
        raise ServiceError(400, "The address of this page is damaged; begin at the first page.") from error


@lru_cache(maxsize=2)
def _latest(store: Store, position: int) -> list[Card]:
    """The newest events when the tables stood at a line of the journal."""
    return [Card.of(event) for event in store.events(EventQuery(limit=_FACET_EVENTS)).events]


def _told(store: Store, name: str) -> dict[str, Any]:
    told = store.event(name) if name.isprintable() else None
    if told is None:
        raise ServiceError(404, "There is no such event. It may have been deleted because it was old.")
    return told


def _shown(told: Mapping[str, Any]) -> dict[str, list[int]]:
    """For each language, those with most articles first, the numbers of the articles that the page shows."""
    shown: dict[str, list[int]] = {}
    sizes = _sizes(told)
    most = min(max(_ARTICLES // max(len(sizes), 1), _FEWEST), _MOST)
    for cluster in sorted(told["clusters"], key=lambda cluster: -cluster["last"]):
        repeated = set(cluster.get("reprints") or ())
        own = [number for number in cluster["articles"] if number not in repeated]
        numbers = shown.setdefault(cluster["lang"], [])
        numbers += own[-most:][: most - len(numbers)]
    return {lang: shown[lang] for lang in sorted(shown, key=lambda lang: (-sizes[lang], lang))[:_LANGUAGES]}


def _sizes(told: Mapping[str, Any]) -> Counter[str]:
    """How many articles there are in each language, reprints left out."""
    sizes: Counter[str] = Counter()
    for cluster in told["clusters"]:
        sizes[cluster["lang"]] += cluster["size"] - len(cluster.get("reprints") or ())
    return sizes


def _newest(shown: Mapping[str, list[int]], articles: Mapping[int, Article]) -> list[int]:
    """Of each language the newest article: the one whose beginning can be read."""
    known = ([number for number in numbers if number in articles] for numbers in shown.values())
    return [max(numbers, key=lambda number: articles[number].time) for numbers in known if numbers]


def _reprints(told: Mapping[str, Any]) -> dict[str, list[int]]:
    """For each language the numbers of reprints, the newest first."""
    found: dict[str, list[int]] = {}
    for cluster in told["clusters"]:
        found.setdefault(cluster["lang"], []).extend(cluster.get("reprints") or ())
    return {lang: sorted(numbers, reverse=True) for lang, numbers in found.items()}


def _columns(
    told: Mapping[str, Any],
    shown: Mapping[str, list[int]],
    repeated: Mapping[str, list[int]],
    articles: Mapping[int, Article],
) -> list[dict[str, Any]]:
    """For each language its newest articles, how many more there are, and its reprints."""
    sizes = _sizes(told)
    columns = []
    for lang, numbers in shown.items():
        own, copies = (
            sorted(
                (articles[number] for number in dict.fromkeys(some) if number in articles),
                key=lambda article: article.time,
                reverse=True,
            )
            for some in (numbers, repeated[lang][:_REPRINTS])
        )
        columns.append(
            {
                "lang": lang,
                "size": sizes[lang],
                "articles": own,
                "more": sizes[lang] - len(own),
                "reprints": len(repeated[lang]),
                "copies": copies,
            }
        )
    return columns


def _lanes(told: Mapping[str, Any]) -> dict[str, list[tuple[float, float, int]]]:
    """When the clusters of each language began and ended, languages with most articles first."""
    lanes: dict[str, list[tuple[float, float, int]]] = {}
    for cluster in told["clusters"]:
        span = cluster["first"] / _DAY, cluster["last"] / _DAY, cluster["size"]
        lanes.setdefault(cluster["lang"], []).append(span)
    sizes = _sizes(told)
    return {lang: lanes[lang] for lang in sorted(lanes, key=lambda lang: (-sizes[lang], lang))}
