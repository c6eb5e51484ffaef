"""Map a function over items in several processes, in order and a few items ahead."""

from __future__ import annotations

import signal
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from typing import Any, Generic, Self, TypeVar

from isogloss.threads import end_with_parent

I = TypeVar("I")  # noqa: E741
O = TypeVar("O")  # noqa: E741

_task: Callable[[Any], Any]
"""What this process does with each item that it gets."""


class ProcessMap(Generic[I, O]):
    """A function and processes that have a copy of it; a context manager.

    With one process, the function runs in this one. Processes end with this one, however it ends.

    Parameters
    ----------
    task : callable
        Takes an item and returns what comes of it; with more than one process, it must be picklable.
    n_jobs : int
        Number of processes.

    Examples
    --------
    >>> with ProcessMap(abs, 1) as absolute:
    ...     list(absolute(iter([-1, 2, -3])))
    [1, 2, 3]
    """

    def __init__(self, task: Callable[[I], O], n_jobs: int) -> None:
        self.task, self.n_jobs = task, n_jobs
        self._pool = ProcessPoolExecutor(n_jobs, initializer=_begin, initargs=(task,)) if n_jobs > 1 else None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)

    def __call__(self, items: Iterable[I]) -> Iterator[O]:
        """Yield what comes of each item, in their order."""
        if self._pool is None:
            yield from map(self.task, items)
            return
        waiting: deque[Future[O]] = deque()
        for item in items:
            waiting.append(self._pool.submit(_run, item))
            if len(waiting) > 2 * self.n_jobs:
                yield waiting.popleft().result()
        for future in waiting:
            yield future.result()


def _begin(task: Callable[[Any], Any]) -> None:
    global _task
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    end_with_parent()
    _task = task


def _run(item: Any) -> Any:
    return _task(item)
