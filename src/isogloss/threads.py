"""The number of threads that isogloss uses.

Two kinds of threads share the cores of a machine:

- those that isogloss starts over blocks of work, as many as ``n_jobs`` (on the command line ``--jobs``) asks
  for: ``None`` is one, ``-1`` one per core;
- the pools of BLAS and OpenMP underneath numpy, scipy and scikit-learn. Their threads spin while they wait,
  so two processes whose pools are each as large as the machine slow each other down many times over. Inside
  isogloss a pool has one thread.

The environment variable ``ISOGLOSS_NUM_THREADS`` changes both: BLAS and OpenMP get that many threads, and
``n_jobs=-1`` means that many. Any other ``n_jobs`` is taken as it is. When a call into the library returns,
the pools are as large as they were before; our own programs (the command line, the service and the processes
they start) stay bounded.

Processes that isogloss starts for work in the background lower their priority, so that whoever waits for an
answer is served first. ``ISOGLOSS_NICE`` sets how much; 0 leaves the priority as it is, for a machine on
which other programs would take all the time.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache, partial, wraps
from inspect import isfunction
from multiprocessing import connection, parent_process
from typing import Any, ParamSpec, TypeVar

__all__ = [
    "ThreadBoundMixin",
    "bound_process",
    "count_threads",
    "end_with_parent",
    "library_threads",
    "lower_priority",
    "map_threads",
    "one_thread",
    "thread_bound",
    "thread_pool",
]

P = ParamSpec("P")
T = TypeVar("T")
R = TypeVar("R")

VARIABLE = "ISOGLOSS_NUM_THREADS"
NICE_VARIABLE = "ISOGLOSS_NICE"
_POOL_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")
_LIBRARIES = ("numpy", "scipy.linalg", "sklearn.utils._openmp_helpers", "sklearn.cluster", "faiss", "torch")
"""Modules that load a library with a pool of threads."""


def count_threads(n_jobs: int | None) -> int:
    """Return the number of threads that ``n_jobs`` means: ``None`` is one, ``-1`` one per core.

    Cores that this process may not use (affinity, the CPU quota of a container) do not count.

    Examples
    --------
    >>> count_threads(None), count_threads(3)
    (1, 3)
    """
    if n_jobs == 0:
        raise ValueError("n_jobs=0 is no threads at all; use None for one or -1 for all cores")
    n = 1 if n_jobs is None else n_jobs
    return n if n > 0 else max(1, (_configured() or _cores()) + 1 + n)


def library_threads() -> int:
    """Return the threads that BLAS and OpenMP have inside isogloss: ``ISOGLOSS_NUM_THREADS``, or one.

    Examples
    --------
    >>> import os
    >>> os.environ["ISOGLOSS_NUM_THREADS"] = "2"
    >>> library_threads()
    2
    >>> del os.environ["ISOGLOSS_NUM_THREADS"]
    >>> library_threads()
    1
    """
    return _configured() or 1


def _configured() -> int | None:
    text = os.environ.get(VARIABLE, "").strip()
    if not text:
        return None
    try:
        n = int(text)
    except ValueError:
        n = 0
    if n < 1 and n != -1:
        raise ValueError(f"{VARIABLE}={text!r}; expected a number of threads, or -1 for one per core")
    return n if n > 0 else _cores()


def _cores() -> int:
    from joblib import cpu_count

    n: int = cpu_count()
    return n


class _BlasBound:
    """The bound on a BLAS whose pool belongs to the process: on while any thread is inside isogloss."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._users = self._loaded = 0
        self._limits: list[Any] = []

    def enter(self, n: int, loaded: int, *, again: bool) -> None:
        with self._lock:
            if not self._users or loaded != self._loaded:
                self._loaded = loaded
                self._limits.append(_pools(loaded, shared=True).limit(limits=n))
                _release_openblas()
            self._users += not again

    def leave(self) -> None:
        with self._lock:
            self._users -= 1
            if not self._users:
                _restore(self._limits)
                _release_openblas()


class _Bound(threading.local):
    """The bound on BLAS and OpenMP while this thread is inside isogloss."""

    blas = _BlasBound()

    def __init__(self) -> None:
        self._depth = self._modules = self._loaded = 0
        self._limits: list[Any] = []

    def __enter__(self) -> None:
        if not self._depth or self._modules != len(sys.modules):
            n, loaded = library_threads(), _loaded()
            if not self._depth or loaded != self._loaded:  # a library came while we were inside
                self._limits.append(_pools(loaded, shared=False).limit(limits=n))
                self.blas.enter(n, loaded, again=bool(self._depth))
            self._modules, self._loaded = len(sys.modules), loaded
        self._depth += 1

    def __exit__(self, *_: object) -> None:
        self._depth -= 1
        if not self._depth:
            _restore(self._limits)
            self.blas.leave()


def _restore(limits: list[Any]) -> None:
    while limits:
        limits.pop().restore_original_limits()


def _release_openblas() -> None:
    """Let any thread change the size of OpenBLAS's pool again.

    threadpoolctl 3.8 and later lets only the first thread that set it do so, until that thread releases it;
    the thread that restores our limit can be another one.
    """
    from threadpoolctl import OpenBLASController

    release = getattr(OpenBLASController, "clear_controlling_thread", None)
    if release is not None:
        release()


_bound = _Bound()


def _loaded() -> int:
    """Return which libraries with pools are loaded, as bits."""
    return sum(1 << bit for bit, name in enumerate(_LIBRARIES) if name in sys.modules)


@cache
def _controller(loaded: int) -> Any:
    """Return a handle on the pools that are loaded; finding them takes milliseconds."""
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


@cache
def _pools(loaded: int, *, shared: bool) -> Any:
    """Return a handle on the pools that all threads share, or on those whose size is set per calling thread.

    OpenMP has a size per thread, and so has a BLAS that is built on OpenMP (that of faiss).
    """
    files = [
        pool["filepath"]
        for pool in _controller(loaded).info()
        if shared is (pool["user_api"] == "blas" and pool.get("threading_layer") != "openmp")
    ]
    return _controller(loaded).select(filepath=files)


def thread_bound(function: Callable[P, R]) -> Callable[P, R]:
    """Decorate a function so that BLAS and OpenMP have :func:`library_threads` threads while it runs.

    Examples
    --------
    >>> @thread_bound
    ... def gram(x):
    ...     return x.T @ x
    """

    @wraps(function)
    def bounded(*args: P.args, **kwargs: P.kwargs) -> R:
        with _bound:
            return function(*args, **kwargs)

    return bounded


class ThreadBoundMixin:
    """Bound the threads of BLAS and OpenMP while any public method of the class runs."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        for name, method in list(vars(cls).items()):
            if isfunction(method) and not name.startswith("_") and name not in ("get_params", "set_params"):
                setattr(cls, name, thread_bound(method))


def bound_process() -> None:
    """Bound BLAS and OpenMP in this process for good, and in the processes that it starts.

    For programs, not for libraries: called before numpy is imported, the pools are never made larger.
    """
    n = str(library_threads())
    for name in _POOL_VARIABLES:
        os.environ.setdefault(name, n)
    if _loaded():
        _bound.__enter__()


def end_with_parent() -> None:
    """Have this process end as soon as the process that started it does, even if that was killed."""
    if (parent := parent_process()) is not None:
        threading.Thread(target=_exit_after, args=(parent.sentinel,), daemon=True).start()


def _exit_after(sentinel: int) -> None:
    connection.wait([sentinel])
    os._exit(1)


def lower_priority(niceness: int) -> None:
    """Add to the niceness of this process, or what ``ISOGLOSS_NICE`` says instead.

    A system without niceness leaves the priority as it is.
    """
    text = os.environ.get(NICE_VARIABLE, "").strip()
    if text and not (text.isascii() and text.isdigit()):
        raise ValueError(f"{NICE_VARIABLE}={text!r}; expected a number from 0 to 19")
    if hasattr(os, "nice"):
        os.nice(min(int(text or niceness), 19))


@contextmanager
def one_thread() -> Iterator[None]:
    """Give BLAS and OpenMP one thread each in this block, because several threads of ours call them.

    Examples
    --------
    >>> with one_thread():
    ...     1 + 1
    2
    """
    with _bound, _controller(_loaded()).limit(limits=1):
        yield


def map_threads(task: Callable[[T], R], parts: Sequence[T], n_threads: int) -> list[R]:
    """Return ``task`` of every part, in order, computed on ``n_threads`` threads with one BLAS thread each.

    Examples
    --------
    >>> map_threads(abs, [-1, 2, -3], 2)
    [1, 2, 3]
    """
    with one_thread():
        if n_threads == 1 or len(parts) == 1:
            return [task(part) for part in parts]
        with thread_pool(n_threads) as pool:
            return list(pool.map(task, parts))


def thread_pool(n_threads: int) -> ThreadPoolExecutor:
    """Return an executor whose threads have one OpenMP thread each; OpenMP counts per calling thread."""
    return ThreadPoolExecutor(n_threads, initializer=partial(_pools(_loaded(), shared=False).limit, limits=1))
