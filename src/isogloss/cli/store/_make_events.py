"""Bring events up to date from the command line, unless another worker does."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

from rich.progress import Progress

from isogloss.cli._output import counted
from isogloss.extras import require_extra

if TYPE_CHECKING:
    from isogloss.service.models import Similarity
    from isogloss.service.settings import Settings
    from isogloss.service.worker import StreamMaker
    from isogloss.store import Store

__all__ = ["make_events", "store_contents", "stream_maker"]

ARTICLES_PER_STEP = 64
"""The progress bar moves after this many articles."""


def stream_maker(store: Store, settings: Settings, similarity: Similarity) -> StreamMaker:
    """Return the factory of a store's stream, with the model that its events are made with."""
    from isogloss.service.models import agreed_model
    from isogloss.service.worker import StreamMaker

    worker = settings.worker
    if worker.dask_scheduler:
        require_extra("dask", "worker.dask_scheduler")
    model = agreed_model(store, similarity)
    return StreamMaker(settings.stream, model, n_jobs=worker.n_jobs, scheduler=worker.dask_scheduler)


def make_events(
    store: Store,
    settings: Settings,
    progress: Progress,
    *,
    similarity: Similarity | None = None,
    rebuild: bool = False,
) -> bool:
    """Make events of all waiting articles, and save a checkpoint.

    Parameters
    ----------
    store : Store
        The store.
    settings : Settings
        The settings.
    progress : Progress
        The progress bar.
    similarity : Similarity, optional
        The model, if it is loaded already.
    rebuild : bool
        Rebuild all events, see :mod:`isogloss.store.queries._rebuild`.

    Returns
    -------
    bool
        Whether it was done; it is not if another worker holds the lease.
    """
    from isogloss.service.models import Similarity
    from isogloss.service.worker import Follower, Lease

    with Lease(store) as acquired:
        if not acquired:
            return False
        if rebuild:
            store.request_rebuild()
        maker = stream_maker(store, settings, similarity or Similarity.load(settings.models, store))
        task = progress.add_task("making events", total=None)
        rebuilt = 0
        if store.rebuild_requested():
            rebuilt = store.last_line()
            progress.update(task, total=rebuilt)
            _rebuild(store, maker, settings, lambda line: progress.update(task, completed=line))
            progress.update(task, completed=rebuilt)
        follower = Follower(store, maker)
        progress.update(task, total=rebuilt + max(0, store.last_line() - follower.position))
        try:
            while done := follower.follow(ARTICLES_PER_STEP):
                progress.advance(task, done)
            follower.settle()
            follower.save()
            follower.close()
        finally:
            follower.stream.close()
    return True


def _rebuild(store: Store, maker: StreamMaker, settings: Settings, progress: Callable[[int], None]) -> None:
    """Rebuild events in a process that can be killed when an article costs too much.

    Windows lacks the groups of processes that this takes.
    """
    from isogloss.service.worker import rebuild, rebuild_apart

    if sys.platform == "win32":
        rebuild(store, maker)
        return
    budget = settings.worker
    rebuild_apart(
        store,
        maker,
        record_seconds=budget.record_seconds,
        max_memory_mb=budget.max_memory_mb,
        progress=progress,
    )


def store_contents(store: Store) -> str:
    """Describe how many articles and events a store has."""
    counts = store.counts()
    return f"the store has {counted(counts['article'], 'article')} and {counted(counts['event'], 'event')}"
