"""Articles: ingestion, listing, reading, deletion."""

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
from isogloss.service.api.errors import API_PREFIX, UNREADABLE_BODY, ErrorResponse, ServiceError
from isogloss.service.api.routes._events import article_fields
from isogloss.service.api.schemas import (
    MAX_INT64,
    ArticleLine,
    ArticlePage,
    ArticleResponse,
    IngestResponse,
    Number,
    Record,
    RejectedArticle,
    RevisionResponse,
)
from isogloss.service.auth import BEARER, Admin, AuthenticatedRoute, Principal, Reader
from isogloss.service.search import clean_query
from isogloss.service.settings import LimitSettings
from isogloss.store import Receipt, delete_articles, from_micros, newest_article_time

articles_router = APIRouter(prefix=API_PREFIX, route_class=AuthenticatedRoute, tags=["articles"])

MAX_INLINE_CHECK_BYTES = 16 << 10
"""Size of a body with one article that is validated in the event loop."""

AcceptedRecords = list[tuple[int, Article, list[str]]]
"""Articles with their positions in the request and their truncated fields."""
RejectedRecords = list[tuple[RejectedArticle, Any]]

SeqPath = Annotated[Number, Path(description="Number of the article, from its receipt.")]
IdempotencyKey = Annotated[
    str,
    StringConstraints(min_length=1, max_length=200, pattern=r"^[!-~]+$"),
    Field(
        title="Idempotency-Key",
        description="Makes a retry safe: the same key with the same articles changes nothing and returns the "
        "same receipts. The same key with other articles is rejected with 409. Keys are kept for one day.",
    ),
]
Records = Annotated[
    Record | list[Record], Field(title="Records", description="One article, or a list of articles.")
]

_KEY: TypeAdapter[str] = TypeAdapter(IdempotencyKey)
_KEY_SCHEMA = _KEY.json_schema()


class IngestRoute(APIRoute):
    """A plain Starlette endpoint that FastAPI only documents.

    FastAPI's dependency resolution takes longer than storing an article.
    """

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return the endpoint itself."""
        handler: Callable[[Request], Coroutine[Any, Any, Response]] = self.endpoint
        return handler


async def send_articles(request: Request) -> Response:
    """Send one article or several; the response is sent after they are committed to disk.

    An article that was sent before has the status `same`, or `revised` if its text or time has changed. An
    article that was deleted on request has the status `deleted` and is not stored. Invalid articles are
    listed with the reason and kept in the quarantine; the others are accepted all the same. If all are
    invalid, the status is 422.
    """
    state: AppState = request.app.state.isogloss
    principal = await state.access.authorize(request, "write")
    key = _idempotency_key(request)
    body = await _read_json(request)
    records = body if isinstance(body, list) else [body]
    if _is_quick(request, state, records):
        accepted, rejected, old = _validate(request, state, principal, records)
    else:
        async with state.checking:
            accepted, rejected, old = await run_in_threadpool(_validate, request, state, principal, records)
    commit = state.need_writer().add(
        [article for _, article, _ in accepted],
        key=f"{principal.id}:{key}" if key else "",
        rejected=[(rejection.reason, rejection.message, record) for rejection, record in rejected],
    )
    receipts = await _wait_for_commit(asyncio.wrap_future(commit))
    _count(state, receipts, len(rejected))
    rejections = [rejection.model_dump() for rejection, _ in rejected]
    if not accepted:
        message = f"no article was accepted; the first error: {rejections[0]['message']}"
        return ErrorResponse(422, message, refused=rejections)
    return JSONResponse(_ingest_response(accepted, receipts, rejections, old), status_code=202)


articles_router.add_api_route(
    "/articles",
    send_articles,
    methods=["POST"],
    status_code=202,
    response_model=IngestResponse,
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
    """Return the key of a request, or an empty string."""
    given = request.headers.get("idempotency-key")
    if given is None:
        return ""
    try:
        return _KEY.validate_python(given)
    except ValidationError as error:
        errors = [{**each, "loc": ("header", "Idempotency-Key")} for each in error.errors()]
        raise RequestValidationError(errors) from error


async def _read_json(request: Request) -> Any:
    """Parse the body of a request, with the errors that FastAPI would raise."""
    media = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if media != "application/json" and not (media.startswith("application/") and media.endswith("+json")):
        raise ServiceError(422, f"the Content-Type is {media[:40]!r}; expected application/json")
    try:
        body = json.loads(await request.body())
    except json.JSONDecodeError as error:
        invalid = {"loc": ("body", error.pos), "msg": "JSON decode error"}
        raise RequestValidationError([invalid]) from error
    except ValueError as error:
        raise ServiceError(400, UNREADABLE_BODY) from error
    if body is None:
        raise RequestValidationError([{"loc": ("body",), "msg": "Field required"}])
    return body


@articles_router.get("/articles", response_model=ArticlePage, summary="List articles")
def list_articles(
    state: AppStateDep,
    _: Reader,
    event: Annotated[
        str | None, Query(min_length=1, max_length=200, description="Only articles of this event.")
    ] = None,
    cluster: Annotated[Number | None, Query(description="Only articles of this cluster.")] = None,
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
    cursor: Annotated[
        str, Query(pattern=r"^[0-9]{0,18}$", description="The `cursor` of the previous page.")
    ] = "",
) -> ArticlePage:
    """List articles without their bodies, page by page, most recently received first."""
    numbers = state.store.article_numbers(
        event=None if event is None else clean_query(event),
        cluster=cluster,
        before=int(cursor) if cursor else MAX_INT64,
        limit=limit + 1,
    )
    shown = numbers[:limit]
    articles = state.store.articles(shown, bodies=False)
    lines = [ArticleLine(**article_fields(seq, articles[seq])) for seq in shown if seq in articles]
    return ArticlePage(articles=lines, cursor=str(shown[-1]) if len(numbers) > limit else "")


@articles_router.get("/articles/{seq}", response_model=ArticleResponse, summary="Read an article")
def read_article(state: AppStateDep, _: Reader, seq: SeqPath) -> ArticleResponse:
    """Return an article with its cluster, its event and its earlier versions."""
    article = get_article(state, seq)
    revisions = [
        RevisionResponse(**row | {"time": from_micros(row["time"]), "received": from_micros(row["received"])})
        for row in state.store.revisions(seq)
    ]
    cluster, event = state.store.locate_article(seq) or (None, None)
    fields = {"seq": seq, "cluster": cluster, "event": event or None, "revisions": revisions}
    return ArticleResponse.model_validate(article.as_record() | fields)


@articles_router.delete(
    "/articles/{seq}", status_code=204, response_class=Response, summary="Delete an article"
)
def delete_article(state: AppStateDep, principal: Admin, seq: SeqPath) -> Response:
    """Delete an article with its earlier versions and everything derived from it.

    Events are rebuilt without it in the background and keep their ids. The article is not accepted again.
    Only its number, its times, a digest of its key and the id of the deleting token remain.
    """
    get_article(state, seq)
    delete_articles(state.store, [seq], who=f"token {principal.id}")
    return Response(status_code=204)


def get_article(state: AppState, seq: int) -> Article:
    """Return an article by its number, or raise a 404 error."""
    article = state.store.articles([seq]).get(seq)
    if article is None:
        raise ServiceError(404, f"there is no article {seq}; see GET /articles")
    return article


def _is_quick(request: Request, state: AppState, records: list[Any]) -> bool:
    """Return whether validation takes less time than a switch to a thread."""
    size = request.headers.get("content-length", "")
    short = size.isdecimal() and len(size) < 8 and int(size) <= MAX_INLINE_CHECK_BYTES
    return short and len(records) == 1 and state.backlog.ready() and state.retention.ready()


def _validate(
    request: Request, state: AppState, principal: Principal, records: list[Any]
) -> tuple[AcceptedRecords, RejectedRecords, int]:
    """Apply the limits on batch size, rate and backlog, then validate the records.

    Returns the accepted and rejected records, and how many are older than the retention.
    """
    limits, count = state.settings.limits, len(records)
    if count == 0:
        raise ServiceError(422, "the list is empty; expected at least one article")
    if count > limits.batch:
        raise ServiceError(413, f"{count:,} articles in one request; expected at most {limits.batch:,}")
    waiting = state.backlog.waiting()
    if waiting >= limits.backlog:
        message = f"{waiting:,} articles are waiting for the worker; try again later"
        raise ServiceError(503, message, {"Retry-After": "5"})
    if count > 1:  # the first was charged with the request
        state.access.charge(request, principal, state.access.writes, count - 1)
    accepted, rejected = _parse(records, partial(newest_article_time, state.store, in_event=False), limits)
    return accepted, rejected, state.retention.older(article.time.timestamp() for _, article, _ in accepted)


def _parse(
    records: list[Any], newest: Callable[[], datetime | None], limits: LimitSettings
) -> tuple[AcceptedRecords, RejectedRecords]:
    accepted: AcceptedRecords = []
    rejected: RejectedRecords = []
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
            accepted.append((at, article, [name for name, note in TRUNCATION_NOTES.items() if notes[note]]))
        except ArticleError as error:
            rejection = RejectedArticle(at=at, reason=error.reason, message=str(error))
            rejected.append((rejection, record))
    return accepted, rejected


async def _wait_for_commit(commit: asyncio.Future[list[Receipt]]) -> list[Receipt]:
    """Return the receipts after the commit; a key that was used for other articles is a conflict."""
    try:
        return await commit
    except (StoreFullError, StoreBusyError):
        raise
    except StoreError as error:
        if error.__cause__ is not None:
            raise
        raise ServiceError(409, str(error)) from error


def _ingest_response(
    accepted: AcceptedRecords, receipts: list[Receipt], rejections: list[dict[str, Any]], old: int
) -> dict[str, Any]:
    """Return an :class:`~isogloss.service.api.schemas.IngestResponse` without its validation."""
    return {
        "receipts": [
            {"at": at, "seq": each.seq, "key": each.key, "status": each.status}
            | ({"cut": cut} if cut else {})
            for (at, _, cut), each in zip(accepted, receipts, strict=True)
        ],
        "refused": rejections,
        "older_than_retention": old,
    }


def _count(state: AppState, receipts: list[Receipt], rejected: int) -> None:
    for status, number in Counter(each.status for each in receipts).items():
        state.metrics.articles.labels(status).inc(number)
    if rejected:
        state.metrics.articles.labels("refused").inc(rejected)
