"""Events, clusters and links: asked for, explained, judged and followed."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Header, Path, Query, Response
from starlette.responses import StreamingResponse

from isogloss.events import Article
from isogloss.exceptions import StoreError
from isogloss.service._change_feed import ChangeFeedResponse, event_summary
from isogloss.service._state import AppState, AppStateDep, check_text
from isogloss.service.api._prefix import PREFIX
from isogloss.service.auth import AuthenticatedRoute, Reader, Writer
from isogloss.service.schemas import (
    ClusterAnswer,
    EventAnswer,
    EventArticle,
    EventPage,
    LinkAnswer,
    Moment,
    Number,
    ServiceError,
    VerdictAnswer,
    VerdictRequest,
    moment,
)
from isogloss.service.search import clean_query, resolve_terms
from isogloss.store import EventQuery, to_micros

__all__ = ["events_router"]

events_router = APIRouter(prefix=PREFIX, route_class=AuthenticatedRoute, tags=["events"])

ARTICLES = 500
"""Articles that are listed with an event."""

Id = Annotated[str, Path(max_length=200, description="The id of an event, or one it had before.")]
Sort = Literal["relevance", "last", "size", "languages", "changed"]
Text = Annotated[str, Query(max_length=200)]


def _many(said: str) -> Any:
    """A parameter that may come several times."""
    return Query(max_length=20, description=f"{said} May be given several times.")


_MESSAGE = {
    "type": "object",
    "properties": {
        "event": {"type": "string", "examples": ["event"]},
        "id": {"type": "string", "description": "A line of the journal, with the last event of it."},
        "data": {"type": "string", "description": "An EventSummary as JSON."},
    },
}


@events_router.get("/events", response_model=EventPage, summary="Find events")
def find_events(
    parts: AppStateDep,
    _: Reader,
    q: Annotated[
        str | None, Query(min_length=1, max_length=2000, description="Free text in any language.")
    ] = None,
    since: Annotated[Moment | None, Query(description="Events with an article from this time on.")] = None,
    until: Annotated[Moment | None, Query(description="Events with an article up to this time.")] = None,
    lang: Annotated[list[Text] | None, _many("A language tag such as `de`, `deu` or `de-AT`.")] = None,
    place: Annotated[
        list[Text] | None, _many("The `id` of a place, its English name, or the code of a country.")
    ] = None,
    concept: Annotated[list[Text] | None, _many("The `id` of a concept, or what it is called.")] = None,
    min_languages: Annotated[int, Query(ge=1, le=1000)] = 1,
    min_size: Annotated[int, Query(ge=1, le=10**9)] = 1,
    sort: Annotated[
        Sort | None, Query(description="The largest first; relevance where there is a text, else last.")
    ] = None,
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
    cursor: Annotated[str, Query(max_length=1000, description="Where the page before ended.")] = "",
) -> EventPage:
    """Events by time, language, place, concept and free text, page by page.

    Of `lang`, `place` and `concept` there may be several: events that have all of them. A search by
    relevance gives the best events on one page and no cursor.
    """
    wanted = "last" if q is None and sort in (None, "relevance") else sort or "relevance"
    found = None
    if q is not None:
        check_text(parts, q)
        found = parts.search.events(q)
    if wanted == "relevance" and cursor:
        raise ServiceError(400, "a search by relevance has one page; begin without a cursor")
    try:
        terms = resolve_terms(parts.store, lang=lang or (), place=place or (), concept=concept or ())
    except ValueError as error:
        raise ServiceError(422, f"lang: {error}") from error
    query = EventQuery(
        since=_micros(since, "since"),
        until=_micros(until, "until"),
        terms=terms,
        min_languages=min_languages,
        min_size=min_size,
        ids=found,
        sort="last" if wanted == "relevance" else wanted,
        limit=200 if wanted == "relevance" else limit,
        cursor=cursor,
    )
    return _ranked(parts, query, found, limit) if wanted == "relevance" and found else _page(parts, query)


@events_router.get("/events/{id}", response_model=EventAnswer, summary="An event")
def read_event(parts: AppStateDep, _: Reader, id: Id, response: Response) -> EventAnswer:
    """An event with its clusters, articles and links.

    An event that has become part of another is answered with that one: its `id`, and the header
    `Content-Location`, then differ from what was asked for.
    """
    event = parts.store.event(clean_query(id))
    if event is None:
        raise ServiceError(404, "there is no event of this id; see GET /events")
    response.headers["Content-Location"] = f"{PREFIX}/events/{event['id']}"
    numbers = [number for cluster in event["clusters"] for number in cluster["articles"]]
    reprint_of = {
        int(copy): first
        for cluster in event["clusters"]
        for copy, first in (cluster.get("reprint_of") or {}).items()
    }
    summary = event_summary({name: event[name] for name in event if name not in ("clusters", "links")})
    return EventAnswer.model_validate(
        summary.model_dump()
        | {
            "clusters": [_cluster(each | {"event": event["id"]}) for each in event["clusters"]],
            "links": [LinkAnswer.model_validate(each) for each in event["links"]],
            "articles": article_lines(parts, numbers, reprint_of)[:ARTICLES],
            "reprints": sum(len(cluster.get("reprints") or ()) for cluster in event["clusters"]),
        }
    )


@events_router.get("/clusters/{id}", response_model=ClusterAnswer, summary="A cluster")
def show_cluster(parts: AppStateDep, _: Reader, id: Number) -> ClusterAnswer:
    """Articles of one language that tell one story."""
    cluster = parts.store.cluster(id)
    if cluster is None:
        raise ServiceError(404, f"there is no cluster {id}")
    return _cluster(cluster)


@events_router.get("/links/{a}/{b}", response_model=LinkAnswer, summary="A link")
def show_link(parts: AppStateDep, _: Reader, a: Number, b: Number) -> LinkAnswer:
    """Why two clusters are taken for one event; their order does not matter."""
    link = parts.store.link(a, b)
    if link is None:
        raise ServiceError(404, f"clusters {a} and {b} are not linked")
    return LinkAnswer.model_validate(link)


@events_router.post(
    "/links/{a}/{b}/verdict", response_model=VerdictAnswer, status_code=201, summary="Judge a link"
)
def judge_link(parts: AppStateDep, _: Writer, a: Number, b: Number, verdict: VerdictRequest) -> VerdictAnswer:
    """Say whether two clusters are about one event. It is kept for the next training of the linker.

    The verdict is about an article of each cluster, so that it keeps its meaning when clusters change.
    """
    if a == b or not parts.store.clusters_exist(a, b):
        raise ServiceError(404, f"there are no two clusters {a} and {b}")
    number, *articles = parts.store.add_verdict(a, b, same=verdict.same, note=verdict.note)
    return VerdictAnswer(seq=number, a=min(a, b), b=max(a, b), articles=articles, same=verdict.same)


@events_router.get(
    "/changes",
    summary="Follow events",
    response_class=StreamingResponse,
    responses={
        200: {
            "description": "Messages `event` whose data are events, without end.",
            "content": {"text/event-stream": {"schema": _MESSAGE}},
        }
    },
)
async def follow_changes(
    parts: AppStateDep,
    _: Reader,
    after: Annotated[Number | None, Query(description="A line of the journal to begin after.")] = None,
    seconds: Annotated[float | None, Query(ge=0, le=86400, description="End after this time.")] = None,
    last_event_id: Annotated[
        Number | None, Header(description="Where a broken connection ended; browsers send it.")
    ] = None,
) -> ChangeFeedResponse:
    """New and changed events as server-sent events, from now on or from where one left off.

    The id of a message is a line of the journal; come back with it as `Last-Event-ID` and nothing is
    missed. An event that has become part of another is not announced: the other one is.
    """
    return ChangeFeedResponse(parts.changes, last_event_id if last_event_id is not None else after, seconds)


def article_line(seq: int, a: Article) -> dict[str, Any]:
    """An article without its body, as the fields of :class:`~isogloss.service.schemas.ArticleLine`."""
    return {"seq": seq, "lang": a.lang, "title": a.title, "time": a.time, "source": a.source, "url": a.url}


def article_lines(parts: AppState, numbers: list[int], reprint_of: Mapping[int, int]) -> list[EventArticle]:
    """Articles without their bodies, the newest first."""
    articles = parts.store.articles(numbers, bodies=False)
    lines = [
        EventArticle(**article_line(seq, article), reprint_of=reprint_of.get(seq))
        for seq, article in articles.items()
    ]
    return sorted(lines, key=lambda line: (line.time, line.seq), reverse=True)


def _page(parts: AppState, query: EventQuery) -> EventPage:
    try:
        page = parts.store.events(query)
    except (OverflowError, UnicodeEncodeError) as error:
        raise ServiceError(400, "the cursor is not one of this service; begin without one") from error
    except StoreError as error:
        if error.__cause__ is not None:  # the database itself failed
            raise
        raise ServiceError(400, str(error)) from error
    return EventPage(events=[event_summary(event) for event in page.events], cursor=page.cursor)


def _ranked(parts: AppState, query: EventQuery, found: list[str], limit: int) -> EventPage:
    """Events in the order in which a search found them."""
    rank = {name: at for at, name in enumerate(found)}
    events = sorted(_page(parts, query).events, key=lambda event: rank[event.id])
    return EventPage(events=events[:limit], cursor="")


def _cluster(cluster: dict[str, Any]) -> ClusterAnswer:
    times = {"first": moment(cluster["first"]), "last": moment(cluster["last"])}
    return ClusterAnswer.model_validate(cluster | times | {"event": cluster["event"] or None})


def _micros(time: datetime | None, name: str) -> int | None:
    """A time as the store has it; without a zone it is UTC."""
    if time is None:
        return None
    try:
        return to_micros(time if time.tzinfo else time.replace(tzinfo=UTC))
    except OverflowError as error:
        raise ServiceError(422, f"{name} is out of range; expected a time such as 2025-03-05") from error
