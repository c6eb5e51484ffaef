"""Articles: sent in, and looked at."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Callable, Coroutine
from datetime import datetime
from functools import partial
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, Request
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from pydantic import Field, StringConstraints, TypeAdapter, ValidationError
from starlette.concurrency import run_in_threadpool
from starlette.responses import JSONResponse, Response

from isogloss.events import Article, parse_article
from isogloss.events.article import TRUNCATION_NOTES
from isogloss.exceptions import ArticleError, StoreBusyError, StoreError, StoreFullError
from isogloss.service._state import AppState, AppStateDep
from isogloss.service.api._events import article_line
from isogloss.service.api._prefix import PREFIX
from isogloss.service.auth import BEARER, Admin, AuthenticatedRoute, Holder, Reader
from isogloss.service.schemas import (
    MAX_NUMBER,
    UNREADABLE_BODY,
    Accepted,
    ArticleAnswer,
    ArticleLine,
    ArticlePage,
    Number,
    Record,
    Refusal,
    RevisionAnswer,
    ServiceError,
    answer,
    moment,
)
from isogloss.service.search import clean_query
from isogloss.service.settings import LimitSettings
from isogloss.store import Receipt, delete_articles, newest_article_time

__all__ = ["articles_router", "need_article"]

articles_router = APIRouter(prefix=PREFIX, route_class=AuthenticatedRoute, tags=["articles"])

QUICK = 16 << 10
"""Bytes of a body that is checked at once."""

Taken = list[tuple[int, Article, list[str]]]
"""Articles with their places in the request, and the fields that were cut."""
Refused = list[tuple[Refusal, Any]]

Key = Annotated[
    str,
    StringConstraints(min_length=1, max_length=200, pattern=r"^[!-~]+$"),
    Field(
        title="Idempotency-Key",
        description="A name of this request. Sent again with the same articles it changes nothing and has "
        "the same receipts; with others it is refused with 409. Kept for a day.",
    ),
]
Records = Annotated[
    Record | list[Record], Field(title="Records", description="One article, or a list of them.")
]

_KEY: TypeAdapter[str] = TypeAdapter(Key)
_KEY_SCHEMA = _KEY.json_schema()


class IngestRoute(APIRoute):
    """A Starlette endpoint that FastAPI describes but does not call.

    FastAPI takes longer to find out what an endpoint wants than an article takes to be stored.
    """

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return the endpoint itself, which takes a request and gives a response."""
        handler: Callable[[Request], Coroutine[Any, Any, Response]] = self.endpoint
        return handler


async def send_articles(request: Request) -> Response:
    """Take one article or many. The answer comes when they are on the disk.

    An article that was sent before is `same`, or `revised` when its text or its time is another. One
    that was deleted on request is `deleted`, and not stored. Articles that cannot be taken are listed
    with the reason and kept in the quarantine; the others are taken all the same. When none can be, the
    answer is 422.
    """
    parts: AppState = request.app.state.parts
    holder = await parts.access.admit(request, "write")
    key = _idempotency_key(request)
    records = await _records(request)
    sent = records if isinstance(records, list) else [records]
    if _is_quick(request, parts, sent):
        taken, refused, old = _admit(request, parts, holder, sent)
    else:
        async with parts.checking:
            taken, refused, old = await run_in_threadpool(_admit, request, parts, holder, sent)
    writing = parts.need_writer().add(
        [article for _, article, _ in taken],
        key=f"{holder.id}:{key}" if key else "",
        refused=[(refusal.reason, refusal.message, record) for refusal, record in refused],
    )
    receipts = await _committed(asyncio.wrap_future(writing))
    _count(parts, receipts, len(refused))
    refusals = [refusal for refusal, _ in refused]
    if not taken:
        said = f"no article could be taken; the first: {refusals[0].message}"
        return answer(422, said, refused=[each.model_dump() for each in refusals])
    return JSONResponse(_accepted(taken, receipts, refusals, old), status_code=202)


articles_router.add_api_route(
    "/articles",
    send_articles,
    methods=["POST"],
    status_code=202,
    response_model=Accepted,
    summary="Send articles",
    responses={409: {"description": "The Idempotency-Key was used for other articles."}},
    route_class_override=IngestRoute,
    openapi_extra={
        "parameters": [
            {
                "name": "Idempotency-Key",
                "in": "header",
                "required": False,
                "description": _KEY_SCHEMA["description"],
                "schema": _KEY_SCHEMA,
            }
        ],
        "requestBody": {
            "required": True,
            "content": {"application/json": {"schema": TypeAdapter(Records).json_schema()}},
        },
        "security": [{BEARER.scheme_name: []}],
    },
)


def _idempotency_key(request: Request) -> str:
    """Return the key that a request brings, or an empty string."""
    given = request.headers.get("idempotency-key")
    if given is None:
        return ""
    try:
        return _KEY.validate_python(given)
    except ValidationError as error:
        wrong = [{**each, "loc": ("header", "Idempotency-Key")} for each in error.errors()]
        raise RequestValidationError(wrong) from error


async def _records(request: Request) -> Any:
    """Return the JSON of a request."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json" and not (kind.startswith("application/") and kind.endswith("+json")):
        raise ServiceError(422, f"the Content-Type is {kind[:40]!r}; expected application/json")
    try:
        records = json.loads(await request.body())
    except json.JSONDecodeError as error:
        wrong = {"loc": ("body", error.pos), "msg": "JSON decode error"}
        raise RequestValidationError([wrong]) from error
    except ValueError as error:
        raise ServiceError(400, UNREADABLE_BODY) from error
    if records is None:
        raise RequestValidationError([{"loc": ("body",), "msg": "Field required"}])
    return records


@articles_router.get("/articles", response_model=ArticlePage, summary="Articles")
def list_articles(
    parts: AppStateDep,
    _: Reader,
    event: Annotated[
        str | None, Query(min_length=1, max_length=200, description="Only those of this event.")
    ] = None,
    cluster: Annotated[Number | None, Query(description="Only those of this cluster.")] = None,
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
    cursor: Annotated[str, Query(pattern=r"^[0-9]{0,18}$", description="Where the page before ended.")] = "",
) -> ArticlePage:
    """Articles without their bodies, page by page, the last that came first.

    With `event` or `cluster`, only those that are in it.
    """
    numbers = parts.store.article_numbers(
        event=None if event is None else clean_query(event),
        cluster=cluster,
        before=int(cursor) if cursor else MAX_NUMBER,
        limit=limit + 1,
    )
    shown = numbers[:limit]
    articles = parts.store.articles(shown, bodies=False)
    lines = [ArticleLine(**article_line(seq, articles[seq])) for seq in shown if seq in articles]
    return ArticlePage(articles=lines, cursor=str(shown[-1]) if len(numbers) > limit else "")


@articles_router.get("/articles/{seq}", response_model=ArticleAnswer, summary="An article")
def read_article(
    parts: AppStateDep, _: Reader, seq: Annotated[Number, Path(description="The number of its receipt.")]
) -> ArticleAnswer:
    """An article, the cluster and event it is in, and the texts it had before."""
    article = need_article(parts, seq)
    place = parts.store.locate_article(seq)
    revisions = [
        RevisionAnswer(**row | {"time": moment(row["time"]), "received": moment(row["received"])})
        for row in parts.store.revisions(seq)
    ]
    cluster, event = place or (None, None)
    told = {"seq": seq, "cluster": cluster, "event": event or None, "revisions": revisions}
    return ArticleAnswer.model_validate(article.as_record() | told)


@articles_router.delete(
    "/articles/{seq}", status_code=204, response_class=Response, summary="Delete an article"
)
def delete_article(
    parts: AppStateDep, holder: Admin, seq: Annotated[Number, Path(description="The number of its receipt.")]
) -> Response:
    """Delete an article with its earlier texts and all other traces, on request.

    Events are made anew without it, which takes a while; their ids stay. The same article is not taken
    again. What remains is its number, times, a digest of its key, and who deleted it.
    """
    need_article(parts, seq)
    delete_articles(parts.store, [seq], who=f"token {holder.id}")
    return Response(status_code=204)


def need_article(parts: AppState, seq: int) -> Article:
    """An article by its number; an error where there is none."""
    article = parts.store.articles([seq]).get(seq)
    if article is None:
        raise ServiceError(404, f"there is no article {seq}; see GET /articles")
    return article


def _is_quick(request: Request, parts: AppState, records: list[Any]) -> bool:
    """Whether to check articles takes less time than to hand them to a thread."""
    size = request.headers.get("content-length", "")
    short = size.isdecimal() and len(size) < 8 and int(size) <= QUICK
    return short and len(records) == 1 and parts.backlog.ready() and parts.retention.ready()


def _admit(
    request: Request, parts: AppState, holder: Holder, records: list[Any]
) -> tuple[Taken, Refused, int]:
    """Check articles, unless they are too many: for one request, for one client, for all that waits.

    Returns those that can be taken, those that cannot, and how many are older than the retention.
    """
    limits, count = parts.settings.limits, len(records)
    if count == 0:
        raise ServiceError(422, "the list is empty; expected one article or more")
    if count > limits.batch:
        raise ServiceError(413, f"{count:,} articles in one request; expected at most {limits.batch:,}")
    waiting = parts.backlog.waiting()
    if waiting >= limits.backlog:
        said = f"{waiting:,} articles wait to be made into events; try again later"
        raise ServiceError(503, said, {"Retry-After": "5"})
    if count > 1:  # one is paid already
        parts.access.pay(request, holder, parts.access.writes, count - 1)
    taken, refused = _check(records, partial(newest_article_time, parts.store, in_event=False), limits)
    return taken, refused, parts.retention.older(article.time.timestamp() for _, article, _ in taken)


def _check(
    records: list[Any], newest: Callable[[], datetime | None], limits: LimitSettings
) -> tuple[Taken, Refused]:
    taken: Taken = []
    refused: Refused = []
    for at, record in enumerate(records):
        notes: Counter[str] = Counter()
        try:
            article = parse_article(
                record,
                newest=newest,
                max_text=limits.article_characters,
                max_title=limits.title_characters,
                notes=notes,
            )
            taken.append((at, article, [name for name, note in TRUNCATION_NOTES.items() if notes[note]]))
        except ArticleError as error:
            refused.append((Refusal(at=at, reason=error.reason, message=str(error)), record))
    return taken, refused


async def _committed(writing: asyncio.Future[list[Receipt]]) -> list[Receipt]:
    """The receipts, after the commit; a key that was used for others is a conflict."""
    try:
        return await writing
    except (StoreFullError, StoreBusyError):
        raise
    except StoreError as error:
        if error.__cause__ is not None:
            raise
        raise ServiceError(409, str(error)) from error


def _accepted(taken: Taken, receipts: list[Receipt], refused: list[Refusal], old: int) -> dict[str, Any]:
    """The answer, of the shape of :class:`~isogloss.service.schemas.Accepted`."""
    return {
        "receipts": [
            {"at": at, "seq": each.seq, "key": each.key, "status": each.status}
            | ({"cut": cut} if cut else {})
            for (at, _, cut), each in zip(taken, receipts, strict=True)
        ],
        "refused": [each.model_dump() for each in refused],
        "older_than_retention": old,
    }


def _count(parts: AppState, receipts: list[Receipt], refused: int) -> None:
    for status, number in Counter(each.status for each in receipts).items():
        parts.metrics.articles.labels(status).inc(number)
    if refused:
        parts.metrics.articles.labels("refused").inc(refused)
