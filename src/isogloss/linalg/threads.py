"""Threads over blocks, with BLAS held to one thread in each of them."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Any, TypeVar

from threadpoolctl import ThreadpoolController

__all__ = ["count_threads", "map_threads", "one_thread"]

P = TypeVar("P")
R = TypeVar("R")


def count_threads(n_jobs: int | None) -> int:
    """The number of threads that ``n_jobs`` means: ``None`` is one, ``-1`` one per core.

    Examples
    --------
    >>> count_threads(None), count_threads(3)
    (1, 3)
    """
    if n_jobs == 0:
        raise ValueError("n_jobs=0 is no threads at all; use None for one or -1 for all cores")
    n = 1 if n_jobs is None else n_jobs
    return n if n > 0 else max(1, (os.cpu_count() or 1) + 1 + n)


def map_threads(task: Callable[[P], R], parts: Sequence[P], n_threads: int) -> list[R]:
    """``task`` of every part, in order.

    Examples
    --------
    >>> map_threads(abs, [-1, 2, -3], 2)
    [1, 2, 3]
    """
    with one_thread():
        if n_threads == 1 or len(parts) == 1:
            return [task(part) for part in parts]
        # OpenMP remembers its number of threads per thread, so the limit is set in each of them too.
        with ThreadPoolExecutor(n_threads, initializer=one_thread) as pool:
            return list(pool.map(task, parts))


def one_thread() -> Any:
    """Hold BLAS and OpenMP to one thread, until the end of a ``with`` block if there is one.

    Examples
    --------
    >>> with one_thread():
    ...     1 + 1
    2
    """
    return _libraries().limit(limits=1)


@cache
def _libraries() -> Any:
    """The libraries that have threads of their own; looking for them takes milliseconds."""
    return ThreadpoolController()
