"""Processes that do tasks with a tool that is handed to them once.

They are started by a server (``forkserver``) that has no threads and none of the memory of this process:
that is safe in a service, and takes no longer because much is remembered here. Each process gets a copy of
the tool when it starts. A process ends when this one does, whatever ends it, and leaves it to this one to act
on Ctrl-C. It stands back behind this one, which takes what all of them find.
"""

from __future__ import annotations

import gc
import os
import signal
from concurrent.futures import BrokenExecutor, Future, ProcessPoolExecutor
from multiprocessing import connection, context, get_all_start_methods, get_context, parent_process
from threading import Thread
from typing import Any, Generic, Protocol, TypeVar

from isogloss.threads import bound_process, lower_priority

__all__ = ["Tool", "Workers"]

I_contra = TypeVar("I_contra", contravariant=True)
O_co = TypeVar("O_co", covariant=True)
I = TypeVar("I")  # noqa: E741
O = TypeVar("O")  # noqa: E741

_NICE = 5
"""How much a process stands back."""

_PRELOADED = ["__main__", "isogloss.events.analyse._analyser"]
"""Modules that the server imports once for all processes; the first is what it imports by itself."""


class Tool(Protocol[I_contra, O_co]):
    """What a task is done with."""

    def warm_up(self) -> None:
        """Read what will be needed."""

    def __call__(self, item: I_contra, /) -> O_co:
        """Do a task."""


class Workers(Generic[I, O]):
    """Some processes, each with a copy of a tool.

    Parameters
    ----------
    tool : Tool
        Does the tasks; it must be possible to pickle it.
    n : int
        Processes.

    Raises
    ------
    TypeError
        The tool cannot be handed to another process.
    RuntimeError
        No process can be started.
    """

    def __init__(self, tool: Tool[I, O], n: int) -> None:
        self._pool = ProcessPoolExecutor(n, _context(), initializer=_begin, initargs=(tool,))
        try:
            self._first = [self._pool.submit(_nothing) for _ in range(n)]
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
    def ready(self) -> bool:
        """Whether a process is up."""
        return any(one.done() for one in self._first)

    def wait(self) -> None:
        """Wait until all processes are up."""
        for one in self._first:
            one.exception()

    def submit(self, item: I) -> Future[O]:
        """Have a task done; the future fails if the process does."""
        try:
            return self._pool.submit(_work, item)
        except BrokenExecutor as error:
            failed: Future[O] = Future()
            failed.set_exception(error)
            return failed

    def close(self) -> None:
        """End the processes; tasks that were not begun are not done."""
        self._pool.shutdown(cancel_futures=True)


def _context() -> context.BaseContext:
    if "forkserver" not in get_all_start_methods():
        return get_context("spawn")
    chosen = get_context("forkserver")
    chosen.set_forkserver_preload(_PRELOADED)
    return chosen


_tools: list[Tool[Any, Any]] = []
"""The tool of this process."""


def _begin(tool: Tool[Any, Any]) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    Thread(target=_end_with_parent, daemon=True).start()
    lower_priority(_NICE)
    bound_process()
    tool.warm_up()
    gc.freeze()
    _tools[:] = [tool]


def _end_with_parent() -> None:
    parent = parent_process()
    if parent is not None:
        connection.wait([parent.sentinel])
        os._exit(1)


def _nothing() -> None:
    """Tell that a process is up."""


def _work(item: Any) -> Any:
    return _tools[0](item)
