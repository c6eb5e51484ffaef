"""Sums over batches on the threads of this process."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar

from threadpoolctl import threadpool_limits

from isogloss.engine.base import Source, tree_reduce
from isogloss.engine.sources import Batches

__all__ = ["LocalEngine"]

S = TypeVar("S")


class LocalEngine:
    """Threads of this process; batches are read when they are needed and dropped afterwards.

    Parameters
    ----------
    n_jobs : int or None
        Threads over batches; ``None`` is one, ``-1`` one per core. With more than one, BLAS is held to
        a single thread per batch, because threads over batches scale better and do not fight.
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
        return tree_reduce(self._results(leaf, source, broadcast), combine)

    def map(self, leaf: Callable[..., S], source: Source[Any], *broadcast: Any) -> Batches[S]:
        """The values ``leaf(batch, *broadcast)``, in memory."""
        return Batches(list(self._results(leaf, source, broadcast)))

    def persist(self, source: Source[Any]) -> Source[Any]:
        """The source itself: what is on disk stays there."""
        return source

    def _results(
        self, leaf: Callable[..., S], source: Source[Any], broadcast: tuple[Any, ...]
    ) -> Iterator[S]:
        loaders, workers = source.loaders(), self._n_threads()
        if workers == 1 or len(loaders) == 1:
            yield from (leaf(load(), *broadcast) for load in loaders)
            return
        with threadpool_limits(limits=1), ThreadPoolExecutor(workers) as pool:
            waiting: deque[Future[S]] = deque()
            for load in loaders:
                waiting.append(pool.submit(lambda load=load: leaf(load(), *broadcast)))
                if len(waiting) > workers:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()

    def _n_threads(self) -> int:
        cores = os.cpu_count() or 1
        n = 1 if self.n_jobs is None else self.n_jobs
        if n == 0:
            raise ValueError("n_jobs=0 is no threads at all; use None for one or -1 for all cores")
        return n if n > 0 else max(1, cores + 1 + n)
