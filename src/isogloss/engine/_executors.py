"""Executors that give every worker a copy of a tool once, and then run it on one item after another.

:class:`ProcessExecutor` is a ``concurrent.futures`` pool on this machine;
:class:`~isogloss.engine.DaskExecutor` has the same interface on a Dask cluster.
"""

from __future__ import annotations

import gc
import signal
from abc import ABC, abstractmethod
from collections.abc import Sequence
from concurrent.futures import BrokenExecutor, Future, ProcessPoolExecutor
from multiprocessing import context, get_all_start_methods, get_context
from typing import Any, Generic, Protocol, TypeVar

from isogloss.threads import bound_process, end_with_parent, lower_priority

I = TypeVar("I")  # noqa: E741
O = TypeVar("O")  # noqa: E741
I_contra = TypeVar("I_contra", contravariant=True)
O_co = TypeVar("O_co", covariant=True)

_NICENESS = 5


class Tool(Protocol[I_contra, O_co]):
    """The task of a worker for one item; it must be picklable."""

    def warm_up(self) -> None:
        """Load what the first item would wait for."""

    def __call__(self, item: I_contra, /) -> O_co:
        """Process an item."""


class ToolExecutor(ABC, Generic[I, O]):
    """Runs a tool on other processes.

    Attributes
    ----------
    lost : tuple of exception classes
        Raised by a future whose worker died; any other exception was raised by the tool.
    timeout : float or None
        Seconds to wait for the result of a future.
    """

    lost: tuple[type[Exception], ...]
    timeout: float | None

    @property
    @abstractmethod
    def slots(self) -> int:
        """Return the number of items that are processed at the same time."""

    @property
    @abstractmethod
    def ready(self) -> bool:
        """Return whether a worker is up."""

    @abstractmethod
    def wait(self) -> None:
        """Wait until workers are up."""

    @abstractmethod
    def submit(self, item: I) -> Future[O]:
        """Run the tool on an item."""

    @abstractmethod
    def close(self) -> None:
        """Give the workers up; items that were not begun are not processed."""


class ProcessExecutor(ToolExecutor[I, O]):
    """A pool of processes on this machine.

    Processes are started by a ``forkserver``, which has no threads and none of the memory of this process:
    that is safe in a service, and takes no longer when this process is large. They end with this process,
    however it ends, leave Ctrl-C to it, and have a lower priority.

    Parameters
    ----------
    tool : Tool
        Every process gets a copy when it starts.
    n_processes : int
        How many.
    preload : sequence of str
        Modules that the forkserver imports once for all processes.

    Raises
    ------
    TypeError
        The tool cannot be pickled.
    RuntimeError
        No process can be started.
    """

    lost = (BrokenExecutor,)
    timeout = None

    def __init__(self, tool: Tool[I, O], n_processes: int, *, preload: Sequence[str] = ()) -> None:
        self._slots = n_processes
        self._pool = ProcessPoolExecutor(n_processes, _context(preload), initializer=_begin, initargs=(tool,))
        try:
            self._first = [self._pool.submit(_nothing) for _ in range(n_processes)]
        except (OSError, EOFError) as error:
            self.close()
            raise RuntimeError(
                f"no process could be started ({type(error).__name__}: {error}); use n_jobs=None"
            ) from error
        except Exception as error:
            self.close()
            raise TypeError(
                f"the annotator or the model cannot be handed to other processes ({error}); use n_jobs=None, "
                "or give them classes that can be imported"
            ) from error

    @property
    def slots(self) -> int:
        """Return the number of processes."""
        return self._slots

    @property
    def ready(self) -> bool:
        """Return whether a process is up."""
        return any(one.done() for one in self._first)

    def wait(self) -> None:
        """Wait until all processes are up."""
        for one in self._first:
            one.exception()

    def submit(self, item: I) -> Future[O]:
        """Run the tool on an item; the future fails if the process dies."""
        try:
            return self._pool.submit(_work, item)
        except BrokenExecutor as error:
            failed: Future[O] = Future()
            failed.set_exception(error)
            return failed

    def close(self) -> None:
        """End the processes."""
        self._pool.shutdown(cancel_futures=True)


def _context(preload: Sequence[str]) -> context.BaseContext:
    if "forkserver" not in get_all_start_methods():
        return get_context("spawn")
    chosen = get_context("forkserver")
    chosen.set_forkserver_preload(["__main__", *preload])
    return chosen


_tools: list[Tool[Any, Any]] = []
"""The tool of this process."""


def _begin(tool: Tool[Any, Any]) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    end_with_parent()
    lower_priority(_NICENESS)
    bound_process()
    tool.warm_up()
    gc.freeze()
    _tools[:] = [tool]


def _nothing() -> None:
    """Return when the process is up."""


def _work(item: Any) -> Any:
    return _tools[0](item)
