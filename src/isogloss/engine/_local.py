"""Sums over batches on the threads of this process."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import Future
from contextlib import closing
from functools import partial
from typing import Any, TypeVar

from isogloss.engine._base import Source, tree_reduce
from isogloss.engine._sources import Batches
from isogloss.threads import count_threads, one_thread, thread_bound, thread_pool

S = TypeVar("S")


class LocalEngine:
    """Computes on threads of this process; batches are read when needed and dropped afterwards.

    Parameters
    ----------
    n_jobs : int or None
        Threads over batches; ``None`` is one, ``-1`` one per core.

    Notes
    -----
    Results do not depend on ``n_jobs``, to the last bit. For that BLAS, whose sums depend on its own
    number of threads, is held to one thread whenever there are several batches. A single batch has as
    many as ``ISOGLOSS_NUM_THREADS`` says, by default one.

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
        """Return the values ``leaf(batch, *broadcast)`` as batches in memory."""
        with closing(self._results(leaf, source, broadcast)) as results:
            return Batches(list(results))

    def persist(self, source: Source[Any]) -> Source[Any]:
        """Return the source itself; files stay on disk."""
        return source

    def _results(
        self, leaf: Callable[..., S], source: Source[Any], broadcast: tuple[Any, ...]
    ) -> Generator[S, None, None]:
        loaders, workers = source.loaders(), count_threads(self.n_jobs)
        calls = [partial(_call, leaf, load, broadcast) for load in loaders]
        if len(calls) == 1:
            yield thread_bound(calls[0])()
            return
        with one_thread():
            yield from _in_threads(calls, workers) if workers > 1 else (call() for call in calls)


def _call(leaf: Callable[..., S], load: Callable[[], Any], broadcast: tuple[Any, ...]) -> S:
    return leaf(load(), *broadcast)


def _in_threads(calls: Sequence[Callable[[], S]], workers: int) -> Iterator[S]:
    """Yield results in order; at most one more than there are workers is in memory."""
    with thread_pool(workers) as pool:
        waiting: deque[Future[S]] = deque()
        for call in calls:
            waiting.append(pool.submit(call))
            if len(waiting) > workers:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
