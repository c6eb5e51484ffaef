"""Health, readiness, status, limits and metrics."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from datetime import UTC, datetime

from fastapi import APIRouter
from starlette.responses import JSONResponse, Response

from isogloss.exceptions import StoreError
from isogloss.service._state import AppState, AppStateDep
from isogloss.service.api.errors import API_PREFIX
from isogloss.service.api.schemas import Health, LimitsResponse
from isogloss.service.auth import AuthenticatedRoute, Reader
from isogloss.store import Store, to_micros
from isogloss.store.queries import LAST_COMMIT, read_position

status_router = APIRouter(prefix=API_PREFIX, route_class=AuthenticatedRoute, tags=["status"])


@status_router.get("/health", response_model=Health, summary="Liveness probe")
async def health() -> Health:
    """Respond as long as the process is alive, even under overload."""
    return Health(status="ok")


@status_router.get(
    "/ready",
    response_model=Health,
    summary="Readiness probe",
    responses={503: {"model": Health, "description": "Not ready; see `details`."}},
)
def ready(state: AppStateDep) -> JSONResponse:
    """Report whether the store responds, articles become events, and there is disk space.

    Waiting articles are not a problem as long as the worker makes progress.
    """
    problems = find_problems(state)
    health = Health(status="not ready" if problems else "ok", details={"troubles": problems})
    return JSONResponse(health.model_dump(), status_code=503 if problems else 200)


@status_router.get("/status", response_model=Health, summary="Status")
def status(state: AppStateDep, _: Reader) -> Health:
    """Report table sizes, the backlog, the progress of the worker, and retention."""
    details = {
        "counts": state.store.counts(),
        "store": {k: v for k, v in state.store.database.describe().items() if k != "place"},
        "waiting": state.backlog.waiting(),
        "progress": asdict(read_progress(state.store)),
        "indexed": len(state.neighbours),
        "listeners": state.changes.listeners,
        "worker": dict(state.worker.status()) if state.worker else None,
        "retention": state.retention.status(),
    }
    return Health(status="not ready" if find_problems(state) else "ok", details=details)


@status_router.get("/limits", response_model=LimitsResponse, summary="List limits")
async def limits(state: AppStateDep, _: Reader) -> LimitsResponse:
    """List all limits by the name of their setting."""
    return LimitsResponse(limits=state.settings.limits.model_dump())


@status_router.get(
    "/metrics",
    summary="Prometheus metrics",
    response_class=Response,
    responses={200: {"content": {"text/plain": {"schema": {"type": "string"}}}}},
)
def metrics(state: AppStateDep, _: Reader) -> Response:
    """Export metrics in the text format of Prometheus."""
    return Response(state.metrics.text(), media_type="text/plain; version=0.0.4")


@dataclass(frozen=True, slots=True)
class WorkerProgress:
    """Progress of the worker."""

    oldest_waiting_seconds: float | None
    """Age of the oldest article that waits for the worker; None if none waits."""
    last_commit_seconds: float | None
    """Time since the last commit of the worker; None if there was none."""
    free_disk_mb: int | None
    """Free space on the disk of the store; None if unknown."""
    quarantined: int
    """Number of journal lines that are skipped because they failed twice."""


def read_progress(store: Store) -> WorkerProgress:
    """Read the progress of the worker from the store.

    Examples
    --------
    >>> from isogloss.store import Store
    >>> with Store("news.db") as store:
    ...     read_progress(store).oldest_waiting_seconds is None
    True
    """
    now = to_micros(datetime.now(UTC))
    with store.database.read() as session:
        waiting = session.one(
            "SELECT received FROM journal WHERE seq > ? AND kind <> 'update' ORDER BY seq LIMIT 1",
            [read_position(session)],
        )
        committed = session.one("SELECT seq FROM progress WHERE name = ?", [LAST_COMMIT])
        ((quarantined,),) = session.run("SELECT count(*) FROM attempt WHERE quarantined > 0 AND retried = 0")
    free = store.database.free_bytes()
    return WorkerProgress(
        (now - waiting[0]) / 1e6 if waiting else None,
        (now - committed[0]) / 1e6 if committed else None,
        None if free is None else free >> 20,
        int(quarantined),
    )


def find_problems(state: AppState) -> list[str]:
    """Return the reasons why the service is not ready, one sentence each."""
    limits = state.settings.limits
    try:
        waiting, progress = state.backlog.waiting(), read_progress(state.store)
    except StoreError:
        return ["the store does not respond"]
    worker = state.worker.status() if state.worker is not None else {}
    problems = []
    if waiting >= limits.backlog:
        problems.append(f"{waiting:,} articles are waiting for the worker")
    if worker.get("alive") is False:
        problems.append("the worker has stopped")
    elif _is_stalled(progress, limits.stalled_seconds):
        problems.append(_describe_stall(progress, limits.stalled_seconds, str(worker.get("error") or "")))
    if progress.free_disk_mb is not None and progress.free_disk_mb < limits.free_disk_mb:
        problems.append(
            f"the disk of the store has {progress.free_disk_mb:,} MB free; "
            f"limits.free_disk_mb requires {limits.free_disk_mb:,}"
        )
    return problems


def _is_stalled(progress: WorkerProgress, seconds: float) -> bool:
    """Return whether an article has waited and nothing was committed for longer than that."""
    waited, idle = progress.oldest_waiting_seconds, progress.last_commit_seconds
    return waited is not None and waited > seconds and (idle is None or idle > seconds)


def _describe_stall(progress: WorkerProgress, seconds: float, error: str) -> str:
    idle = progress.last_commit_seconds
    last = "has never committed anything" if idle is None else f"last committed {idle:,.0f} s ago"
    return (
        f"an article has waited for {progress.oldest_waiting_seconds:,.0f} s, and the worker {last}; "
        f"limits.stalled_seconds allows {seconds:g}" + (f": {error}" if error else "")
    )
