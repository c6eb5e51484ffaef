"""Bring events up to date from the command line, if nobody else does."""

from __future__ import annotations

from rich.console import Console
from rich.progress import MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from isogloss.service.leases import Lease
from isogloss.service.making import StreamMaker
from isogloss.service.worker import Follower
from isogloss.store import Store

__all__ = ["make_events", "progress_bar"]

PART = 64
"""Articles after which the progress moves."""


def progress_bar() -> Progress:
    """Progress of something whose end is not known, on standard error."""
    columns = (TextColumn("{task.description}"), MofNCompleteColumn(), TimeElapsedColumn())
    return Progress(*columns, console=Console(stderr=True), transient=True)


def make_events(store: Store, make: StreamMaker, progress: Progress, *, anew: bool = False) -> bool:
    """Make events of all articles that wait, and save the state.

    Parameters
    ----------
    store : Store
        The store.
    make : StreamMaker
        Makes the stream.
    progress : Progress
        Where the progress is shown.
    anew : bool
        Forget the events there are, and make all of them again.

    Returns
    -------
    bool
        Whether it was done; it was not if another worker follows the store.
    """
    with Lease(store) as mine:
        if not mine:
            return False
        if anew:
            store.clear()
        follower = Follower(store, make)
        task = progress.add_task("events", total=None)
        while done := follower.follow(PART):
            progress.advance(task, done)
        follower.settle()
        follower.save()
    return True
