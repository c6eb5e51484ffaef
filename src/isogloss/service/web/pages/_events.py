"""Pages of events: the list, one event, verdicts, and the change feed for open pages."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import aclosing
from functools import lru_cache, partial
from itertools import chain
from time import time
from typing import Any, NamedTuple, cast
from urllib.parse import quote

from fastapi import APIRouter, Request, Response
from fastapi.responses import RedirectResponse
from starlette.concurrency import run_in_threadpool

from isogloss.events import Article
from isogloss.exceptions import StoreError
from isogloss.service._change_feed import ChangeFeedResponse
from isogloss.service._state import AppStateDep
from isogloss.service.api.errors import ServiceError
from isogloss.service.story import describe_lag
from isogloss.service.web._downloads import event_downloads, search_downloads
from isogloss.service.web._navigation import shown_navigation
from isogloss.service.web._rendering import PageRoute, html_response, language_name, render, render_html
from isogloss.service.web._session import (
    CSRF_COOKIE,
    VISIT_COOKIE,
    VISIT_COOKIE_DAYS,
    FormFields,
    PageReader,
    PageWriter,
    Visits,
    check_csrf,
    check_same_origin,
    csrf_token,
    get_cookie,
    may_read,
    set_cookie,
    set_lasting_cookie,
)
from isogloss.service.web.drawing import event_map, timeline
from isogloss.service.web.pages._alerts import alert_form
from isogloss.service.web.presentation import (
    DAY_MICROS,
    LABELS,
    MAX_SOURCES,
    MAX_TITLE_ROWS,
    SORTS,
    Card,
    Facets,
    Filters,
    certainty,
    choose_link,
    common_places,
    inner_links,
    link_matrix,
    linked_articles,
    other_links,
    preferred_languages,
    view_link,
    view_story,
)
from isogloss.store import MAX_COUNTED_CHANGES, EventQuery, EventQueryResult, Store

event_pages = APIRouter(route_class=PageRoute, include_in_schema=False)

FACET_EVENTS = 100
"""Number of newest events whose places, concepts and sources can be chosen as filters."""

MAX_SUGGESTED_SOURCES = 100
MAP_WIDTH = 700
"""Width in pixels of the map of a list at which its texts have the size of other texts."""

PAGE_ARTICLES, MIN_LANGUAGE_ARTICLES, MAX_LANGUAGE_ARTICLES = 100, 3, 12
"""Approximate number of articles on the page of an event, and bounds of the number per language."""

MAX_LANGUAGE_REPRINTS = 20
MAX_LANGUAGES = 60
MAX_COLUMNS = 8
"""Languages whose articles are shown at once; the others are in a list that opens."""

_JOURNAL_LINE = re.compile(r"[0-9]{1,18}")


@event_pages.get("/")
def list_page(request: Request, state: AppStateDep, _: PageReader) -> Response:
    """Show events as cards, with filters in the query string."""
    store, path = state.store, request.url.path
    filters = Filters.parse(request.query_params)
    preferred = preferred_languages(request.headers.get("accept-language", ""))
    position = store.position()
    visits = Visits.parse(get_cookie(request, VISIT_COOKIE)).at(line=position, now=int(time()))
    page = _query(store, filters)
    cards = [Card.from_event(event, preferred) for event in page.events]
    latest = _latest(store, position)
    since_visit = None if visits.is_first else store.count_new_and_changed(visits.last_line)
    navigation = shown_navigation(request.app)
    downloads = search_downloads(request, filters.api_parameters())

    def render_page() -> str:
        return render_html(
            path,
            navigation,
            "now.html",
            filters=filters,
            cards=cards,
            facets=Facets([*cards, *latest.cards], latest.languages, latest.sources),
            sorts=SORTS,
            labels=LABELS,
            next=filters.url(cursor=page.cursor) if page.cursor else "",
            downloads=downloads,
            position=position,
            newest=latest.newest,
            visits=visits,
            since_visit=since_visit,
            more_changes=since_visit is not None and sum(since_visit) >= MAX_COUNTED_CHANGES,
            map=event_map(common_places(cards, filters), "/map.svg", width=MAP_WIDTH),
        )

    key = (path, filters, visits.last_line, visits.last_time, *preferred)
    content = position, page.cursor, cards, latest, since_visit, navigation, downloads
    response = html_response(state.pages.get(key, content, render_page))
    set_lasting_cookie(request, response, VISIT_COOKIE, str(visits), days=VISIT_COOKIE_DAYS)
    return response


@event_pages.get("/event/{id}")
def event_page(request: Request, state: AppStateDep, id: str, principal: PageReader) -> Response:
    """Show an event: its articles by language, when, where, and the evidence of its links."""
    store = state.store
    event = _get_event(store, id)
    if event["id"] != id:
        return RedirectResponse(f"/event/{quote(event['id'], safe='')}", 308)
    preferred = preferred_languages(request.headers.get("accept-language", ""))
    card = Card.from_event(event, preferred)
    chosen = choose_link(event, request.query_params.get("link", ""))
    shown, reprints = _shown_articles(event), _reprints(event)
    listed_reprints = (numbers[:MAX_LANGUAGE_REPRINTS] for numbers in reprints.values())
    numbers = chain(*shown.values(), *listed_reprints, linked_articles(chosen) if chosen else ())
    articles = store.articles([*numbers], bodies=False)
    story = view_story(state.stories.read(event), state.models.glosser, preferred)
    matrix, more_clusters = link_matrix(event, articles)
    lines, more_links = other_links(event, matrix, articles)
    csrf = csrf_token(request)
    page = render(
        request,
        "event.html",
        card=card,
        downloads=event_downloads(request, event["id"]),
        alerting=alert_form(state, principal),
        certainty=certainty(event),
        view=story,
        describe_lag=describe_lag,
        max_titles=MAX_TITLE_ROWS,
        max_sources=MAX_SOURCES,
        columns=_columns(
            event, shown, reprints, articles | store.articles(_newest(shown, articles)), preferred
        ),
        max_columns=MAX_COLUMNS,
        timeline=timeline(
            card.days,
            _lanes(event),
            {code: language_name(code) for code, _ in card.languages},
            chapters=story.chapter_days,
        ),
        map=event_map(card.places, "/map.svg"),
        clusters=len(event["clusters"]),
        matrix=matrix if len(inner_links(event)) > 1 else [],
        more_clusters=more_clusters,
        other_links=lines,
        more_links=more_links,
        link=view_link(event, chosen, articles) if chosen else None,
        link_is_weakest=chosen is not None and chosen == choose_link(event, ""),
        csrf_token=csrf,
        thanks=request.query_params.get("thanks", ""),
    )
    set_cookie(request, page, CSRF_COOKIE, csrf)
    return page


@event_pages.get("/changes")
async def stream_changes(request: Request, state: AppStateDep, _: PageReader) -> Response:
    """Stream new and changed events to open pages, for as long as their reader may read.

    An EventSource cannot send a token in a header, but sends the cookie. The token is verified again before
    every message and heartbeat.
    """
    check_same_origin(request)
    line = request.headers.get("last-event-id") or request.query_params.get("after", "")
    after = int(line) if _JOURNAL_LINE.fullmatch(line) else None
    return ChangeFeedResponse(state.changes, after, check=partial(_while_allowed, request))


@event_pages.post("/event/{id}/links/{a}/{b}")
def judge_link(
    request: Request, state: AppStateDep, _: PageWriter, id: str, a: int, b: int, fields: FormFields
) -> Response:
    """Store a verdict on a link."""
    check_csrf(request, fields)
    store = state.store
    event = _get_event(store, id)
    known = {frozenset((link["a"], link["b"])) for link in event["links"]}
    if fields.get("same") not in ("0", "1") or frozenset((a, b)) not in known:
        raise ServiceError(404, "This event has no such link; it may have changed in the meantime.")
    store.add_verdict(a, b, same=fields["same"] == "1", note=fields.get("note", "")[:1000])
    name = f"{min(a, b)}-{max(a, b)}"
    return RedirectResponse(f"/event/{quote(event['id'], safe='')}?link={name}&thanks=1#link-{name}", 303)


async def _while_allowed(request: Request, messages: AsyncIterator[str]) -> AsyncIterator[str]:
    """Pass messages on until the token of the request is no longer valid."""
    async with aclosing(cast(AsyncGenerator[str, None], messages)) as closing:
        async for message in closing:
            if not await run_in_threadpool(may_read, request):
                return
            yield message


def _query(store: Store, filters: Filters) -> EventQueryResult:
    try:
        return store.events(filters.query())
    except (OverflowError, UnicodeEncodeError, StoreError) as error:
        if not filters.cursor or error.__cause__ is not None:
            raise
        raise ServiceError(400, "The address of this page is invalid; go to the first page.") from error


class _Latest(NamedTuple):
    """Facts about the store that the page of events shows besides the events."""

    cards: list[Card]
    languages: list[str]
    sources: list[str]
    newest: int


@lru_cache(maxsize=2)
def _latest(store: Store, position: int) -> _Latest:
    """Return the newest events and the choices of filters; cached by the position of the read model."""
    cards = [Card.from_event(event) for event in store.events(EventQuery(limit=FACET_EVENTS)).events]
    sources = sorted(store.frequent_terms("source", [card.id for card in cards], MAX_SUGGESTED_SOURCES))
    return _Latest(cards, store.languages(), sources, max((card.last for card in cards), default=0))


def _get_event(store: Store, id: str) -> dict[str, Any]:
    event = store.event(id) if id.isprintable() else None
    if event is None:
        raise ServiceError(404, "There is no such event. Old events are deleted after a while.")
    return event


def _shown_articles(event: Mapping[str, Any]) -> dict[str, list[int]]:
    """Choose the articles of the page by language; languages with the most articles come first."""
    shown: dict[str, list[int]] = {}
    sizes = _sizes(event)
    limit = min(max(PAGE_ARTICLES // max(len(sizes), 1), MIN_LANGUAGE_ARTICLES), MAX_LANGUAGE_ARTICLES)
    for cluster in sorted(event["clusters"], key=lambda cluster: -cluster["last"]):
        reprints = set(cluster.get("reprints") or ())
        originals = [number for number in cluster["articles"] if number not in reprints]
        numbers = shown.setdefault(cluster["lang"], [])
        numbers += originals[-limit:][: limit - len(numbers)]
    order = sorted(shown, key=lambda lang: (-sizes[lang], lang))
    return {lang: shown[lang] for lang in order[:MAX_LANGUAGES]}


def _sizes(event: Mapping[str, Any]) -> Counter[str]:
    """Count the articles of each language, without reprints."""
    sizes: Counter[str] = Counter()
    for cluster in event["clusters"]:
        sizes[cluster["lang"]] += cluster["size"] - len(cluster.get("reprints") or ())
    return sizes


def _newest(shown: Mapping[str, list[int]], articles: Mapping[int, Article]) -> list[int]:
    """Return the newest article of each language, whose text the page shows."""
    known = ([number for number in numbers if number in articles] for numbers in shown.values())
    return [max(numbers, key=lambda number: articles[number].time) for numbers in known if numbers]


def _reprints(event: Mapping[str, Any]) -> dict[str, list[int]]:
    """Return the reprints of each language, newest first."""
    found: dict[str, list[int]] = {}
    for cluster in event["clusters"]:
        found.setdefault(cluster["lang"], []).extend(cluster.get("reprints") or ())
    return {lang: sorted(numbers, reverse=True) for lang, numbers in found.items()}


def _columns(
    event: Mapping[str, Any],
    shown: Mapping[str, list[int]],
    reprints: Mapping[str, list[int]],
    articles: Mapping[int, Article],
    preferred: Sequence[str],
) -> list[dict[str, Any]]:
    """Return for each language its newest articles, how many more there are, and its reprints.

    The languages of the reader come first.
    """
    sizes = _sizes(event)
    columns = []
    for lang in sorted(
        shown, key=lambda lang: preferred.index(lang) if lang in preferred else len(preferred)
    ):
        numbers = shown[lang]
        own, copies = (
            sorted(
                (articles[number] for number in dict.fromkeys(some) if number in articles),
                key=lambda article: article.time,
                reverse=True,
            )
            for some in (numbers, reprints[lang][:MAX_LANGUAGE_REPRINTS])
        )
        columns.append(
            {
                "lang": lang,
                "size": sizes[lang],
                "articles": own,
                "more": sizes[lang] - len(own),
                "reprints": len(reprints[lang]),
                "copies": copies,
            }
        )
    return columns


def _lanes(event: Mapping[str, Any]) -> dict[str, list[tuple[float, float, int]]]:
    """Return start, end and size of the clusters of each language, in days since 1970."""
    lanes: dict[str, list[tuple[float, float, int]]] = {}
    for cluster in event["clusters"]:
        span = cluster["first"] / DAY_MICROS, cluster["last"] / DAY_MICROS, cluster["size"]
        lanes.setdefault(cluster["lang"], []).append(span)
    sizes = _sizes(event)
    return {lang: lanes[lang] for lang in sorted(lanes, key=lambda lang: (-sizes[lang], lang))}
