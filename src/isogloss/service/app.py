"""The ASGI application: routes, middleware, and the start and stop of background tasks."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from fastapi import FastAPI
from starlette.concurrency import run_in_threadpool
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware

import isogloss
from isogloss.service._background import Worker
from isogloss.service._backlog import Backlog
from isogloss.service._change_feed import ChangeFeed
from isogloss.service._group_commit import GroupWriter
from isogloss.service._metrics import Metrics, MetricsMiddleware
from isogloss.service._state import AppState
from isogloss.service.alerts import AlertSender
from isogloss.service.api.errors import API_PREFIX, add_error_handlers, set_error_renderer
from isogloss.service.api.routes import (
    alerts_router,
    articles_router,
    events_router,
    exports_router,
    feeds_router,
    models_router,
    searches_router,
    similarity_router,
    sources_router,
    status_router,
    tokens_router,
    words_router,
)
from isogloss.service.api.schemas import ErrorBody
from isogloss.service.auth import AccessControl, allowed_hosts, check_exposure
from isogloss.service.exports import ExportSlots
from isogloss.service.http import SECURITY_HEADERS, HeadMiddleware, RequestLimitsMiddleware
from isogloss.service.models import Models, TextComparer
from isogloss.service.search import EventSearch, create_neighbour_index
from isogloss.service.settings import Settings
from isogloss.service.story import StoryReader
from isogloss.service.web import (
    alert_pages,
    event_pages,
    overview_pages,
    render_error,
    routed_entries,
    search_pages,
    system_pages,
    text_pages,
)
from isogloss.service.worker import Retention
from isogloss.similarity import open_encoder
from isogloss.store import PRUNED_TALLY, Store

DESCRIPTION = """
Follow one event through every language.

Send articles, and they are grouped into events across languages. Query events, find articles similar to a
text, compare two texts in any two languages, translate words and align sentences.

Every error has the same body, `ErrorBody`. Requests above a limit of `GET /limits` get status 429 or 503 with
a `Retry-After` header; wait that long, then send the same request again.
"""
ROUTERS = (
    articles_router,
    events_router,
    searches_router,
    alerts_router,
    exports_router,
    feeds_router,
    similarity_router,
    words_router,
    models_router,
    sources_router,
    status_router,
    tokens_router,
)
PAGE_ROUTERS = (
    event_pages,
    overview_pages,
    search_pages,
    text_pages,
    alert_pages,
    system_pages,
)


def create_app(
    settings: Settings, store: Store, *, models: Models | None = None, worker: Worker | None = None
) -> FastAPI:
    """Create the application for a store.

    Parameters
    ----------
    settings : Settings
        All settings.
    store : Store
        An open store; the caller closes it after the application has stopped.
    models : Models, optional
        Models for similarity, search, alignment and dictionaries.
    worker : Worker, optional
        Worker that makes events of articles; it is started and stopped with the application.

    Raises
    ------
    SettingsError
        Other hosts could reach the service, and there is no token.

    Examples
    --------
    >>> app = create_app(Settings(), Store("news.db"))
    >>> "/api/v1/events" in app.openapi()["paths"]
    True
    """
    check_exposure(settings, store)
    state = _make_state(settings, store, models or Models(), worker)
    app = _Service(
        title="isogloss",
        version=isogloss.__version__,
        summary="The same story in every language.",
        description=DESCRIPTION,
        openapi_url=f"{API_PREFIX}/openapi.json",
        docs_url=None,
        redoc_url=None,
        lifespan=_lifespan(state),
        responses={"default": {"model": ErrorBody, "description": "Error."}},
    )
    app.state.isogloss, app.state.access = state, state.access
    app.state.navigation = routed_entries(PAGE_ROUTERS)
    add_error_handlers(app, SECURITY_HEADERS)
    set_error_renderer(app, render_error)
    for router in ROUTERS:
        app.include_router(router)
    for router in PAGE_ROUTERS:
        app.include_router(router, include_in_schema=False)
    limits = settings.limits
    app.add_middleware(HeadMiddleware)
    app.add_middleware(
        RequestLimitsMiddleware,
        body_bytes=limits.body_bytes,
        body_seconds=limits.body_seconds,
        concurrent_reads=limits.concurrent_reads,
        concurrent_writes=limits.concurrent_writes,
        hosts=allowed_hosts(settings.server),
    )
    app.add_middleware(MetricsMiddleware, metrics=state.metrics)
    if settings.server.trusted_proxies:
        app.add_middleware(ProxyHeadersMiddleware, trusted_hosts=settings.server.trusted_proxies)
    return app


class _Service(FastAPI):
    """FastAPI whose OpenAPI document makes tokens optional and has no null query parameters."""

    def openapi(self) -> dict[str, Any]:
        if self.openapi_schema is None:
            document = super().openapi()
            for operation in (each for path in document["paths"].values() for each in path.values()):
                if "security" in operation:
                    operation["security"].append({})
                for parameter in operation.get("parameters", ()):
                    parameter["schema"] = _without_null(parameter["schema"])
        return super().openapi()


def _without_null(schema: dict[str, Any]) -> dict[str, Any]:
    """Remove null from the schema of an optional parameter, which is omitted rather than null."""
    types = [each for each in schema.get("anyOf", ()) if each != {"type": "null"}]
    if len(types) != 1:
        return schema
    only: dict[str, Any] = types[0]
    return only | {name: value for name, value in schema.items() if name != "anyOf"}


def _make_state(settings: Settings, store: Store, models: Models, worker: Worker | None) -> AppState:
    neighbours = create_neighbour_index(store, models, settings)
    changes, backlog = ChangeFeed(store, settings.limits.listeners), Backlog(store)
    retention = Retention(store, settings)

    def gauges() -> dict[str, tuple[str, float]]:
        counts = store.counts()
        writer = state.writer
        return {
            "waiting": ("Articles waiting to be processed by the worker", backlog.waiting()),
            "listeners": ("Clients connected to the change feed", changes.listeners),
            "indexed": ("Articles in the neighbour index", len(neighbours)),
            "commits": ("Commits of articles", writer.commits if writer else 0),
            "pruned": ("Articles pruned", store.tallies().get(PRUNED_TALLY, 0)),
            "retention_refused": (
                "1 if the last scheduled retention run deleted nothing and needs isogloss prune --yes",
                bool(retention.status()["refusal"]),
            ),
            **{f"stored_{name}s": (f"Rows of the table {name}", n) for name, n in counts.items()},
        }

    search = EventSearch(store, models, neighbours)
    state = AppState(
        settings=settings,
        store=store,
        access=AccessControl(store, settings),
        models=models,
        comparing=TextComparer(models, open_encoder(settings.stream.encoder_name)),
        neighbours=neighbours,
        search=search,
        alerts=AlertSender(store, settings, search),
        changes=changes,
        backlog=backlog,
        metrics=Metrics(gauges),
        retention=retention,
        exports=ExportSlots(settings.limits.exports),
        stories=StoryReader(store, max_articles=settings.limits.story_articles),
        worker=worker,
    )
    return state


def _lifespan(state: AppState) -> Any:
    """Start everything that runs beside requests, and stop it in reverse order."""

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        state.changes.start()
        state.writer, state.checking = GroupWriter(state.store), asyncio.Semaphore(1)
        state.neighbours.start()
        state.alerts.start()
        if state.worker is not None:
            state.worker.start()
        try:
            yield
        finally:
            await run_in_threadpool(_stop, state)

    return lifespan


def _stop(state: AppState) -> None:
    state.changes.stop()
    if state.worker is not None:
        state.worker.stop()
    state.alerts.stop()
    state.neighbours.stop()
    if state.writer is not None:
        state.writer.close()
        state.writer = None
