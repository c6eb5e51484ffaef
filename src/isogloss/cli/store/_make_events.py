"""Bring events up to date from the command line, unless another worker does."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

from rich.progress import Progress

from isogloss.cli._output import counted
from isogloss.extras import require_extra

if TYPE_CHECKING:
    from isogloss.service.models import SimilarityModel
    from isogloss.service.settings import Settings
    from isogloss.service.worker import StreamFactory
    from isogloss.store import Store

ARTICLES_PER_STEP = 64
"""The progress bar moves after this many articles."""


def stream_factory(store: Store, settings: Settings, similarity: SimilarityModel) -> StreamFactory:
    """Return the factory of a store's stream, with the models that its events are made with."""
    from isogloss.service.models import concepts_for_events, linker_for_events, model_for_events
    from isogloss.service.worker import StreamFactory

    worker = settings.worker
    if worker.dask_scheduler:
        require_extra("dask", "worker.dask_scheduler")
    model = model_for_events(store, similarity)
    return StreamFactory(
        settings.stream,
        model,
        n_jobs=worker.n_jobs,
        scheduler=worker.dask_scheduler,
        points=similarity,
        concepts=concepts_for_events(store, settings.models),
        linker=linker_for_events(store, settings.models),
    )


def make_events(
    store: Store,
    settings: Settings,
    progress: Progress,
    *,
    similarity: SimilarityModel | None = None,
    rebuild: bool = False,
) -> bool:
    """Make events of all waiting articles, and save a checkpoint.

    With ``rebuild`` all events are made again, see :mod:`isogloss.store.queries._rebuild`. Returns False, and
    does nothing, if another worker holds the lease.
    """
    from isogloss.service.models import SimilarityModel
    from isogloss.service.worker import JournalProcessor, Lease

    with Lease(store) as acquired:
        if not acquired:
            return False
        if rebuild:
            store.request_rebuild()
        factory = stream_factory(store, settings, similarity or SimilarityModel.load(settings.models, store))
        task = progress.add_task("making events", total=None)
        rebuilt = 0
        if store.rebuild_requested():
            rebuilt = store.last_line()
            progress.update(task, total=rebuilt)
            _rebuild(store, factory, settings, lambda line: progress.update(task, completed=line))
            progress.update(task, completed=rebuilt)
        processor = JournalProcessor(store, factory)
        progress.update(task, total=rebuilt + max(0, store.last_line() - processor.position))
        try:
            while done := processor.process(ARTICLES_PER_STEP):
                progress.advance(task, done)
            processor.update_events()
            while processor.backfill():
                pass
            processor.save_checkpoint()
            processor.close()
        finally:
            processor.stream.close()
    return True


def _rebuild(
    store: Store, factory: StreamFactory, settings: Settings, progress: Callable[[int], None]
) -> None:
    """Rebuild events in a process that is killed when an article exceeds its budget.

    Windows has no process groups, which this needs.
    """
    from isogloss.service.worker import rebuild, rebuild_in_process

    if sys.platform == "win32":
        rebuild(store, factory)
        return
    budget = settings.worker
    rebuild_in_process(
        store,
        factory,
        record_seconds=budget.record_seconds,
        max_memory_mb=budget.max_memory_mb,
        progress=progress,
    )


def store_contents(store: Store) -> str:
    """Describe how many articles and events a store has."""
    counts = store.counts()
    return f"the store has {counted(counts['article'], 'article')} and {counted(counts['event'], 'event')}"
