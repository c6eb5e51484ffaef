"""How the service is, for people, for programs that watch it, and for those who plan with its limits."""

from __future__ import annotations

from fastapi import APIRouter
from starlette.responses import JSONResponse, Response

from isogloss.service._state import AppStateDep
from isogloss.service.api._prefix import PREFIX
from isogloss.service.api._readiness import find_troubles, read_progress
from isogloss.service.auth import AuthenticatedRoute, Reader
from isogloss.service.schemas import Health, LimitsAnswer

__all__ = ["status_router"]

status_router = APIRouter(prefix=PREFIX, route_class=AuthenticatedRoute, tags=["status"])


@status_router.get("/health", response_model=Health, summary="Is it alive?")
async def health() -> Health:
    """Answers as long as the process does, even when everything else is too much for it."""
    return Health(status="ok")


@status_router.get(
    "/ready",
    response_model=Health,
    summary="Can it do its work?",
    responses={503: {"model": Health, "description": "Not now; the details say why."}},
)
def ready(parts: AppStateDep) -> JSONResponse:
    """Whether the store answers, articles become events, and there is room on the disk.

    An article that waits is no trouble as long as the worker goes on, however many are before it.
    """
    troubles = find_troubles(parts)
    told = Health(status="not ready" if troubles else "ok", details={"troubles": troubles})
    return JSONResponse(told.model_dump(), status_code=503 if troubles else 200)


@status_router.get("/status", response_model=Health, summary="Figures")
def status(parts: AppStateDep, _: Reader) -> Health:
    """How much there is of everything, and how far events are behind the articles."""
    details = {
        "counts": parts.store.counts(),
        "store": {k: v for k, v in parts.store.database.describe().items() if k != "place"},
        "waiting": parts.backlog.waiting(),
        "progress": read_progress(parts.store).as_json(),
        "indexed": len(parts.neighbours),
        "listeners": parts.changes.listeners,
        "worker": dict(parts.worker.status()) if parts.worker else None,
        "retention": parts.retention.status(),
    }
    return Health(status="not ready" if find_troubles(parts) else "ok", details=details)


@status_router.get("/limits", response_model=LimitsAnswer, summary="Limits")
async def limits(parts: AppStateDep, _: Reader) -> LimitsAnswer:
    """What one request, one client and all of them together may cost."""
    return LimitsAnswer(limits=parts.settings.limits.model_dump())


@status_router.get(
    "/metrics",
    summary="Figures for Prometheus",
    response_class=Response,
    responses={200: {"content": {"text/plain": {"schema": {"type": "string"}}}}},
)
def metrics(parts: AppStateDep, _: Reader) -> Response:
    """Counts of requests and articles, times, memory, and what waits."""
    return Response(parts.metrics.text(), media_type="text/plain; version=0.0.4")
