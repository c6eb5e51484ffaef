"""Readiness: whether articles become events, not only whether processes are alive."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from isogloss.exceptions import StoreError
from isogloss.service._state import AppState
from isogloss.store import Store, to_micros
from isogloss.store.queries import LAST_COMMIT, read_position

__all__ = ["Progress", "find_troubles", "read_progress"]

_SECOND = 1e6


@dataclass(frozen=True, slots=True)
class Progress:
    """How the work on a store goes on.

    Attributes
    ----------
    oldest_waiting_seconds : float or None
        The age of the oldest article that waits to be made into events; None if none waits.
    last_commit_seconds : float or None
        The time since the worker wrote something; None if it never has.
    free_disk_mb : int or None
        Room on the disk of the store; None where that cannot be told.
    quarantined : int
        Articles that events are made without, because they failed twice.
    """

    oldest_waiting_seconds: float | None
    last_commit_seconds: float | None
    free_disk_mb: int | None
    quarantined: int

    def as_json(self) -> dict[str, Any]:
        """All of it by name."""
        return {name: getattr(self, name) for name in self.__slots__}


def read_progress(store: Store) -> Progress:
    """Look at how the work on a store goes on.

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
    return Progress(
        (now - waiting[0]) / _SECOND if waiting else None,
        (now - committed[0]) / _SECOND if committed else None,
        None if free is None else free >> 20,
        int(quarantined),
    )


def find_troubles(parts: AppState) -> list[str]:
    """Reasons why the service cannot do its work, each a sentence."""
    limits = parts.settings.limits
    try:
        waiting, progress = parts.backlog.waiting(), read_progress(parts.store)
    except StoreError:
        return ["the store does not answer"]
    worker = parts.worker.status() if parts.worker is not None else {}
    troubles = []
    if waiting >= limits.backlog:
        troubles.append(f"{waiting:,} articles wait to be made into events")
    if worker.get("alive") is False:
        troubles.append("nothing makes events of articles: the worker has stopped")
    elif _is_stalled(progress, limits.stalled_seconds):
        troubles.append(_stalled(progress, limits.stalled_seconds, str(worker.get("error") or "")))
    if progress.free_disk_mb is not None and progress.free_disk_mb < limits.free_disk_mb:
        troubles.append(
            f"{progress.free_disk_mb:,} MB are free on the disk of the store; "
            f"limits.free_disk_mb wants {limits.free_disk_mb:,}: make room"
        )
    return troubles


def _is_stalled(progress: Progress, seconds: float) -> bool:
    """Whether an article waits and nothing was written, both for longer than that."""
    waited, rested = progress.oldest_waiting_seconds, progress.last_commit_seconds
    return waited is not None and waited > seconds and (rested is None or rested > seconds)


def _stalled(progress: Progress, seconds: float, error: str) -> str:
    rested = progress.last_commit_seconds
    last = "never wrote anything" if rested is None else f"last wrote something {rested:,.0f} s ago"
    return (
        f"an article has waited for {progress.oldest_waiting_seconds:,.0f} s to be made into events, and the "
        f"worker {last}; limits.stalled_seconds allows {seconds:g}" + (f": {error}" if error else "")
    )
