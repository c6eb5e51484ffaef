"""Bring events up to date from the command line, if nobody else does."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.progress import Progress

from isogloss.cli._output import counted
from isogloss.service.settings import Settings

if TYPE_CHECKING:
    from isogloss.service.models import Similarity
    from isogloss.service.worker import StreamMaker
    from isogloss.store import Store

__all__ = ["make_events", "store_contents", "stream_maker"]

PART = 64
"""Articles after which the progress moves."""


def stream_maker(store: Store, settings: Settings, similarity: Similarity) -> StreamMaker:
    """What makes the stream of a store, with the model that its events are made with."""
    from isogloss.service.models import agreed_model
    from isogloss.service.worker import StreamMaker

    model = agreed_model(store, similarity)
    return StreamMaker(settings.stream, model, n_jobs=settings.worker.n_jobs, digest=similarity.digest)


def make_events(
    store: Store,
    settings: Settings,
    progress: Progress,
    *,
    similarity: Similarity | None = None,
    anew: bool = False,
) -> bool:
    """Make events of all articles that wait, and save the state.

    Parameters
    ----------
    store : Store
        The store.
    settings : Settings
        How events are made, and with which model.
    progress : Progress
        Where the progress is shown.
    similarity : Similarity, optional
        The model, where it is loaded already.
    anew : bool
        Make all events again, see :mod:`isogloss.store.queries._rebuild`.

    Returns
    -------
    bool
        Whether it was done; it was not if another worker follows the store.
    """
    from isogloss.service.models import Similarity
    from isogloss.service.worker import Follower, Lease, rebuild

    with Lease(store) as mine:
        if not mine:
            return False
        if anew:
            store.request_rebuild()
        maker = stream_maker(store, settings, similarity or Similarity.load(settings.models, store))
        task = progress.add_task("making events", total=None)
        rebuilt = 0
        if store.rebuild_requested():
            rebuilt = store.last_line()
            progress.update(task, total=rebuilt)
            rebuild(store, maker, progress=lambda done: progress.advance(task, done))
        follower = Follower(store, maker)
        progress.update(task, total=rebuilt + max(0, store.last_line() - follower.position))
        try:
            while done := follower.follow(PART):
                progress.advance(task, done)
            follower.settle()
            follower.save()
            follower.close()
        finally:
            follower.stream.close()
    return True


def store_contents(store: Store) -> str:
    """Say how many articles and events a store has."""
    counts = store.counts()
    return f"the store has {counted(counts['article'], 'article')} and {counted(counts['event'], 'event')}"
