"""Sums over batches on the threads of this process."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from functools import cache, partial
from typing import Any, TypeVar

from threadpoolctl import ThreadpoolController

from isogloss.engine.base import Source, tree_reduce
from isogloss.engine.sources import Batches

__all__ = ["LocalEngine", "thread_count"]

S = TypeVar("S")


class LocalEngine:
    """Threads of this process; batches are read when they are needed and dropped afterwards.

    Parameters
    ----------
    n_jobs : int or None
        Threads over batches; ``None`` is one, ``-1`` one per core.

    Notes
    -----
    Results do not depend on ``n_jobs``, to the last bit. For that BLAS, whose sums depend on its own
    number of threads, is held to one thread whenever there are several batches; threads over batches
    scale better and do not fight. A single batch has BLAS to itself.

    Memory: the batches being worked on, and ``log2(n_batches) + n_jobs`` results of ``leaf``.
    """

    def __init__(self, n_jobs: int | None = None) -> None:
        self.n_jobs = n_jobs

    def map_reduce(
        self,
        leaf: Callable[..., S],
        combine: Callable[[S, S], S],
        source: Source[Any],
        *broadcast: Any,
    ) -> S:
        """Combine ``leaf(batch, *broadcast)`` over all batches, in a tree fixed by their number."""
        with closing(self._results(leaf, source, broadcast)) as results:
            return tree_reduce(results, combine)

    def map(self, leaf: Callable[..., S], source: Source[Any], *broadcast: Any) -> Batches[S]:
        """The values ``leaf(batch, *broadcast)``, in memory."""
        with closing(self._results(leaf, source, broadcast)) as results:
            return Batches(list(results))

    def persist(self, source: Source[Any]) -> Source[Any]:
        """The source itself: what is on disk stays there."""
        return source

    def _results(
        self, leaf: Callable[..., S], source: Source[Any], broadcast: tuple[Any, ...]
    ) -> Generator[S, None, None]:
        loaders, workers = source.loaders(), thread_count(self.n_jobs)
        calls = [partial(_call, leaf, load, broadcast) for load in loaders]
        if len(calls) == 1:
            yield calls[0]()
            return
        with _one_thread():
            yield from _in_threads(calls, workers) if workers > 1 else (call() for call in calls)


def thread_count(n_jobs: int | None) -> int:
    """Number of threads that ``n_jobs`` asks for: None is one, -1 one per core, -2 one less."""
    cores = os.cpu_count() or 1
    n = 1 if n_jobs is None else n_jobs
    if n == 0:
        raise ValueError("n_jobs=0 is no threads at all; use None for one or -1 for all cores")
    return n if n > 0 else max(1, cores + 1 + n)


def _call(leaf: Callable[..., S], load: Callable[[], Any], broadcast: tuple[Any, ...]) -> S:
    return leaf(load(), *broadcast)


def _in_threads(calls: Sequence[Callable[[], S]], workers: int) -> Iterator[S]:
    """Results in order; no more of them are waiting than there are workers, and one in hand."""
    # OpenMP remembers its number of threads per thread, so the limit is set in each of them too.
    with ThreadPoolExecutor(workers, initializer=_one_thread) as pool:
        waiting: deque[Future[S]] = deque()
        for call in calls:
            waiting.append(pool.submit(call))
            if len(waiting) > workers:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()


def _one_thread() -> Any:
    """Hold BLAS and OpenMP to one thread, until the end of a ``with`` block if there is one."""
    return _libraries().limit(limits=1)


@cache
def _libraries() -> Any:
    """The libraries that have threads of their own; looking for them takes milliseconds."""
    return ThreadpoolController()
