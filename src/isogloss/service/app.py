"""The application: all parts put together, started and stopped in order."""

from __future__ import annotations

import asyncio
import importlib
import importlib.util
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
from isogloss.service._metrics import Metrics, MetricsMiddleware
from isogloss.service._middleware import SECURITY_HEADERS, HeadMiddleware, RequestLimitsMiddleware
from isogloss.service._state import AppState
from isogloss.service.api import (
    PREFIX,
    GroupWriter,
    articles_router,
    events_router,
    models_router,
    similarity_router,
    status_router,
    tokens_router,
    words_router,
)
from isogloss.service.auth import Access, check_exposure, is_loopback
from isogloss.service.models import Models, TextComparer
from isogloss.service.schemas import Problem
from isogloss.service.schemas import _errors as errors
from isogloss.service.search import EventSearch, TitleIndex, create_neighbour_index
from isogloss.service.settings import ServerSettings, Settings
from isogloss.service.worker import Retention
from isogloss.store import PRUNED_TALLY, Store

__all__ = ["create_app"]

PAGES = "isogloss.service.web._router"

ABOUT = """
Follow one event through every language.

Send articles, and they are grouped into events across languages; ask for events, for articles like a text,
for the similarity of two texts in any two languages, for translations and word alignments.

Every error has one shape, `Problem`. Requests above a limit of `GET /limits` are answered with 429 or 503
and a `Retry-After`; whoever waits so long and sends the same again loses nothing.
"""
ROUTERS = (
    articles_router,
    events_router,
    similarity_router,
    words_router,
    models_router,
    status_router,
    tokens_router,
)


def create_app(
    settings: Settings, store: Store, *, models: Models | None = None, worker: Worker | None = None
) -> FastAPI:
    """The application around a store.

    Parameters
    ----------
    settings : Settings
        Names, limits and the rest.
    store : Store
        Open; whoever opened it closes it after the application has stopped.
    models : Models, optional
        What answers about meaning are made with.
    worker : Worker, optional
        What makes events of articles; it is started and stopped with the application.

    Raises
    ------
    SettingsError
        It would listen where others can reach it, and there is no token.

    Examples
    --------
    >>> app = create_app(Settings(), Store("news.db"))
    >>> "/api/v1/events" in app.openapi()["paths"]
    True
    """
    check_exposure(settings, store)
    parts = _parts(settings, store, models or Models(), worker)
    app = _Service(
        title="isogloss",
        version=isogloss.__version__,
        summary="The same story in every language.",
        description=ABOUT,
        openapi_url=f"{PREFIX}/openapi.json",
        docs_url=None,
        redoc_url=None,
        lifespan=_lifespan(parts),
        responses={"default": {"model": Problem, "description": "What went wrong, in the one shape."}},
    )
    app.state.parts, app.state.access = parts, parts.access
    errors.install(app, SECURITY_HEADERS)
    for router in ROUTERS:
        app.include_router(router)
    if (pages := importlib.util.find_spec(PAGES)) is not None and pages.origin:
        app.include_router(importlib.import_module(PAGES).router, include_in_schema=False)
    limits = settings.limits
    app.add_middleware(HeadMiddleware)
    app.add_middleware(
        RequestLimitsMiddleware,
        body_bytes=limits.body_bytes,
        body_seconds=limits.body_seconds,
        concurrent_reads=limits.concurrent_reads,
        concurrent_writes=limits.concurrent_writes,
        hosts=names_of(settings.server),
    )
    app.add_middleware(MetricsMiddleware, metrics=parts.metrics)
    if settings.server.trusted_proxies:
        app.add_middleware(ProxyHeadersMiddleware, trusted_hosts=settings.server.trusted_proxies)
    return app


class _Service(FastAPI):
    """An application whose schema says that no token may be needed, and that no address has null."""

    def openapi(self) -> dict[str, Any]:
        if self.openapi_schema is None:
            told = super().openapi()
            for operation in (each for path in told["paths"].values() for each in path.values()):
                if "security" in operation:
                    operation["security"].append({})
                for parameter in operation.get("parameters", ()):
                    parameter["schema"] = _without_null(parameter["schema"])
        return super().openapi()


def _without_null(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema of a parameter: one that is not given is left out, since texts cannot say null."""
    kinds = [each for each in schema.get("anyOf", ()) if each != {"type": "null"}]
    if len(kinds) != 1:
        return schema
    only: dict[str, Any] = kinds[0]
    return only | {name: value for name, value in schema.items() if name != "anyOf"}


def names_of(server: ServerSettings) -> set[str]:
    """Names that a request may ask for the service by."""
    own = {"127.0.0.1", "localhost", "::1"} if is_loopback(server.host) else set()
    return {server.host.lower(), *own, *(name.lower() for name in server.names)}


def _parts(settings: Settings, store: Store, models: Models, worker: Worker | None) -> AppState:
    neighbours = create_neighbour_index(store, models, settings)
    changes, backlog = ChangeFeed(store, settings.limits.listeners), Backlog(store)
    retention = Retention(store, settings)

    def gauges() -> dict[str, tuple[str, float]]:
        counts = store.counts()
        writer = parts.writer
        return {
            "waiting": ("Articles that wait to be made into events", backlog.waiting()),
            "listeners": ("Clients that follow changes", changes.listeners),
            "indexed": ("Articles that can be found by meaning", len(neighbours)),
            "commits": ("Commits of articles", writer.commits if writer else 0),
            "pruned": ("Articles that were pruned", store.tallies().get(PRUNED_TALLY, 0)),
            "retention_refused": (
                "1 if the last scheduled run of retention deleted nothing and needs isogloss prune --yes",
                bool(retention.status()["refusal"]),
            ),
            **{f"stored_{name}s": (f"Rows of the table {name}", n) for name, n in counts.items()},
        }

    parts = AppState(
        settings=settings,
        store=store,
        access=Access(store, settings),
        models=models,
        comparing=TextComparer(models),
        neighbours=neighbours,
        search=EventSearch(store, models, neighbours, TitleIndex(store)),
        changes=changes,
        backlog=backlog,
        metrics=Metrics(gauges),
        retention=retention,
        worker=worker,
    )
    return parts


def _lifespan(parts: AppState) -> Any:
    """Start everything that runs beside requests, and stop it in the opposite order."""

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        parts.changes.start()
        parts.writer, parts.checking = GroupWriter(parts.store), asyncio.Semaphore(1)
        parts.neighbours.start()
        if parts.worker is not None:
            parts.worker.start()
        try:
            yield
        finally:
            await run_in_threadpool(_stop, parts)

    return lifespan


def _stop(parts: AppState) -> None:
    parts.changes.stop()
    if parts.worker is not None:
        parts.worker.stop()
    parts.neighbours.stop()
    if parts.writer is not None:
        parts.writer.close()
        parts.writer = None
