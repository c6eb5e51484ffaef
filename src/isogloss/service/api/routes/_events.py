"""Events, clusters, links, verdicts and the change feed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from typing import Annotated, Any, Literal, NamedTuple

from fastapi import APIRouter, Header, Path, Query, Response
from starlette.responses import StreamingResponse

from isogloss.events import Article
from isogloss.events.link import link_summary
from isogloss.exceptions import StoreError
from isogloss.service._change_feed import ChangeFeedResponse, event_summary
from isogloss.service._state import AppState, AppStateDep, check_text
from isogloss.service.api.errors import API_PREFIX, ServiceError
from isogloss.service.api.schemas import (
    ClusterResponse,
    EventArticle,
    EventPage,
    EventParameters,
    EventResponse,
    LinkResponse,
    Number,
    OverviewResponse,
    SearchMatch,
    SearchParameters,
    StoryResponse,
    VerdictRequest,
    VerdictResponse,
)
from isogloss.service.auth import AuthenticatedRoute, Reader, Writer
from isogloss.service.search import MAX_EVENTS, SearchResult, clean_query, event_query, language_codes
from isogloss.store import EventQuery, from_micros

events_router = APIRouter(prefix=API_PREFIX, route_class=AuthenticatedRoute, tags=["events"])

MAX_EVENT_ARTICLES = 500
"""Number of articles that are listed with an event."""

_MESSAGE = {
    "type": "object",
    "properties": {
        "event": {"type": "string", "examples": ["event"]},
        "id": {"type": "string", "description": "Journal line; sent with its last event."},
        "data": {"type": "string", "description": "An EventSummary as JSON."},
    },
}


@events_router.get("/events", response_model=EventPage, summary="Find events")
def find_events(state: AppStateDep, _: Reader, parameters: Annotated[EventParameters, Query()]) -> EventPage:
    """Find events by time, language, place, concept, source and free text, page by page.

    With several values of `lang`, `place`, `concept` or `source`, events must match all of them. A search by
    relevance returns the best events on one page, without a cursor. Free text finds the events that are
    judged relevant, at most 200 of them; `weak` adds weaker matches.
    """
    query, ranked, result = resolve_search(state, parameters, weak=parameters.weak)
    if ranked and parameters.cursor:
        raise ServiceError(400, "a search by relevance has only one page; omit the cursor")
    if ranked:
        page = _ranked(state, query, parameters.limit)
    else:
        page = _page(state, replace(query, limit=parameters.limit, cursor=parameters.cursor))
    shown = {event.id for event in page.events}
    page.matches = {
        each.id: SearchMatch(
            relevance=round(each.relevance, 3), reasons=list(each.reasons), article=each.article or None
        )
        for each in (*result.relevant, *result.weak)
        if each.id in shown
    }
    page.weaker = len(result.weak)
    return page


@events_router.get("/events/{id}", response_model=EventResponse, summary="Read an event")
def read_event(
    state: AppStateDep,
    _: Reader,
    id: Annotated[str, Path(max_length=200, description="Current or former id of an event.")],
    response: Response,
) -> EventResponse:
    """Return an event with its clusters, articles and links.

    If the event was merged into another, that one is returned: its `id` and the header `Content-Location`
    then differ from the requested id.
    """
    event = state.store.event(clean_query(id))
    if event is None:
        raise ServiceError(404, "there is no event with this id; see GET /events")
    response.headers["Content-Location"] = f"{API_PREFIX}/events/{event['id']}"
    numbers = [number for cluster in event["clusters"] for number in cluster["articles"]]
    reprint_of = {
        int(copy): original
        for cluster in event["clusters"]
        for copy, original in (cluster.get("reprint_of") or {}).items()
    }
    summary = event_summary({name: event[name] for name in event if name not in ("clusters", "links")})
    return EventResponse.model_validate(
        summary.model_dump()
        | {
            "clusters": [_cluster_response(each | {"event": event["id"]}) for each in event["clusters"]],
            "links": _link_responses(state, event["links"]),
            "articles": _event_articles(state, numbers, reprint_of)[:MAX_EVENT_ARTICLES],
            "reprints": sum(len(cluster.get("reprints") or ()) for cluster in event["clusters"]),
        }
    )


@events_router.get("/events/{id}/story", response_model=StoryResponse, summary="Read the story of an event")
def read_story(
    state: AppStateDep,
    _: Reader,
    id: Annotated[str, Path(max_length=200, description="Current or former id of an event.")],
    lang: Annotated[
        list[Annotated[str, Query(max_length=35)]] | None,
        Query(
            max_length=20,
            description="Language of glosses, the preferred one first; English by default. May be repeated.",
        ),
    ] = None,
) -> StoryResponse:
    """Return titles with glosses, chapters, related events, sources and quantities of an event.

    Chapters and quantities are computed from at most `limits.story_articles` articles.
    """
    try:
        readers = language_codes(lang or ["en"])
    except ValueError as error:
        raise ServiceError(422, f"lang: {error}") from error
    event = state.store.event(clean_query(id))
    if event is None:
        raise ServiceError(404, "there is no event with this id; see GET /events")
    story = state.stories.read(event)
    found = story.as_dict() | {"id": event["id"]}
    for title in found["titles"]:
        gloss = state.models.glosser.gloss(title["title"], title["lang"], readers)
        title["gloss"] = {"lang": gloss.lang, "kind": gloss.kind, "text": gloss.text} if gloss else None
    return StoryResponse.model_validate(found)


@events_router.get(
    "/overview", response_model=OverviewResponse, summary="Summarise a place, concept or source"
)
def read_overview(
    state: AppStateDep,
    _: Reader,
    kind: Literal["place", "concept", "source"],
    id: Annotated[
        str, Query(min_length=1, max_length=2000, description="Id of a place or concept, name of a source.")
    ],
) -> OverviewResponse:
    """Return how often and in which languages a place, a concept or a source is in the news, and with what.

    The 500 newest events are summarised. `GET /events` lists them with the parameter of the same name.
    """
    overview = state.store.overview(kind, clean_query(id))
    if overview is None:
        raise ServiceError(404, f"no event has this {kind}; GET /events lists events with theirs")
    return OverviewResponse.model_validate(asdict(overview))


@events_router.get("/clusters/{id}", response_model=ClusterResponse, summary="Read a cluster")
def read_cluster_response(state: AppStateDep, _: Reader, id: Number) -> ClusterResponse:
    """Return a cluster: articles of one language about one story."""
    cluster = state.store.cluster(id)
    if cluster is None:
        raise ServiceError(404, f"there is no cluster {id}")
    return _cluster_response(cluster)


@events_router.get("/links/{a}/{b}", response_model=LinkResponse, summary="Read a link")
def read_link(state: AppStateDep, _: Reader, a: Number, b: Number) -> LinkResponse:
    """Return the probability that two clusters are one event, and the evidence; their order is irrelevant."""
    link = state.store.link(a, b)
    if link is None:
        raise ServiceError(404, f"clusters {a} and {b} are not linked")
    return _link_responses(state, [link])[0]


@events_router.post(
    "/links/{a}/{b}/verdict", response_model=VerdictResponse, status_code=201, summary="Judge a link"
)
def judge_link(
    state: AppStateDep, _: Writer, a: Number, b: Number, verdict: VerdictRequest
) -> VerdictResponse:
    """Store a verdict on whether two clusters are about one event.

    The verdict refers to one article of each cluster, so it stays valid when clusters change.
    """
    if a == b or not state.store.clusters_exist(a, b):
        raise ServiceError(404, f"there are no two distinct clusters {a} and {b}")
    number, *articles = state.store.add_verdict(a, b, same=verdict.same, note=verdict.note)
    return VerdictResponse(seq=number, a=min(a, b), b=max(a, b), articles=articles, same=verdict.same)


@events_router.get(
    "/changes",
    summary="Follow events",
    response_class=StreamingResponse,
    responses={
        200: {
            "description": "Endless stream of `event` messages.",
            "content": {"text/event-stream": {"schema": _MESSAGE}},
        }
    },
)
async def follow_changes(
    state: AppStateDep,
    _: Reader,
    after: Annotated[Number | None, Query(description="Journal line to start after.")] = None,
    seconds: Annotated[
        float | None, Query(ge=0, le=86400, description="End the stream after this time.")
    ] = None,
    last_event_id: Annotated[
        Number | None, Header(description="Id of the last message received; browsers send it on reconnect.")
    ] = None,
) -> ChangeFeedResponse:
    """Stream new and changed events as server-sent events.

    The id of a message is a journal line. Send it as `Last-Event-ID` when reconnecting, and no event is
    missed. When an event is merged into another, only the other one is announced.
    """
    return ChangeFeedResponse(state.changes, last_event_id if last_event_id is not None else after, seconds)


class ResolvedSearch(NamedTuple):
    """A search by its parameters: the query of the store, and what the free text found."""

    query: EventQuery
    """The filters, with the events that were found as ``ids``: at most :data:`MAX_EVENTS`, the best first."""
    ranked: bool
    """Whether results come in the order of ``ids``."""
    result: SearchResult
    """Search results before filtering."""


def resolve_search(state: AppState, parameters: SearchParameters, *, weak: bool = False) -> ResolvedSearch:
    """Search by the parameters of a search.

    ``weak`` adds weak matches. Raises ServiceError if the text is too long or a filter is invalid.
    """
    check_text(state, parameters.q)
    order = parameters.sort or "relevance"
    try:
        query = replace(event_query(state.store, parameters), limit=MAX_EVENTS)
        result = state.search.find(parameters.q) if parameters.q else SearchResult()
    except ValueError as error:
        raise ServiceError(422, str(error)) from error
    if not parameters.q:
        return ResolvedSearch(query, False, result)
    found = [*result.relevant, *(result.weak if weak else ())]
    ids = _filtered(state, query, [each.id for each in found])
    return ResolvedSearch(replace(query, ids=ids), order == "relevance", result)


def _filtered(state: AppState, query: EventQuery, ids: list[str]) -> list[str]:
    """Return the first events that pass the filters of a query, if there are too many for one page."""
    if len(ids) <= MAX_EVENTS:
        return ids
    kept: list[str] = []
    for start in range(0, len(ids), MAX_EVENTS):
        part = ids[start : start + MAX_EVENTS]
        passing = {event["id"] for event in state.store.events(replace(query, ids=part)).events}
        kept += [each for each in part if each in passing]
        if len(kept) >= MAX_EVENTS:
            break
    return kept[:MAX_EVENTS]


def article_fields(seq: int, a: Article) -> dict[str, Any]:
    """Return the fields of an :class:`~isogloss.service.api.schemas.ArticleLine`."""
    return {"seq": seq, "lang": a.lang, "title": a.title, "time": a.time, "source": a.source, "url": a.url}


def _event_articles(state: AppState, numbers: list[int], reprint_of: Mapping[int, int]) -> list[EventArticle]:
    """Return articles without their bodies, newest first."""
    articles = state.store.articles(numbers, bodies=False)
    lines = [
        EventArticle(**article_fields(seq, article), reprint_of=reprint_of.get(seq))
        for seq, article in articles.items()
    ]
    return sorted(lines, key=lambda line: (line.time, line.seq), reverse=True)


def _page(state: AppState, query: EventQuery) -> EventPage:
    try:
        page = state.store.events(query)
    except (OverflowError, UnicodeEncodeError) as error:
        raise ServiceError(400, "invalid cursor; omit it to start at the first page") from error
    except StoreError as error:
        if error.__cause__ is not None:  # the database itself failed
            raise
        raise ServiceError(400, str(error)) from error
    return EventPage(events=[event_summary(event) for event in page.events], cursor=page.cursor)


def _ranked(state: AppState, query: EventQuery, limit: int) -> EventPage:
    """Return events in the order of their ids in the query."""
    rank = {name: at for at, name in enumerate(query.ids or ())}
    events = sorted(_page(state, query).events, key=lambda event: rank[event.id])
    return EventPage(events=events[:limit], cursor="")


def _link_responses(state: AppState, links: Sequence[Mapping[str, Any]]) -> list[LinkResponse]:
    """Return links with the reasons in words."""
    nearest = {number for link in links for pair in link.get("pairs", [])[:1] for number in pair[:2]}
    titles = {
        number: each.title for number, each in state.store.articles(sorted(nearest), bodies=False).items()
    }
    return [LinkResponse.model_validate({**link, "summary": link_summary(link, titles)}) for link in links]


def _cluster_response(cluster: dict[str, Any]) -> ClusterResponse:
    times = {"first": from_micros(cluster["first"]), "last": from_micros(cluster["last"])}
    return ClusterResponse.model_validate(cluster | times | {"event": cluster["event"] or None})
