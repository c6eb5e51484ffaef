"""Run a parser of other people's files in a process of its own, with a deadline and a bound of memory."""

from __future__ import annotations

import multiprocessing
import sys
from collections.abc import Callable
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from typing import Any

from isogloss.exceptions import FeedError

__all__ = ["Worker"]

MEMORY = 1 << 30
START = 30.0


class Worker:
    """One process that calls a function for us; it is killed and replaced when it takes too long.

    Parameters
    ----------
    function : callable
        Takes and returns what can be pickled; a function of a module.
    deadline : float
        Seconds for one call. The start of the process does not count.

    Examples
    --------
    >>> with Worker(len, deadline=5) as worker:
    ...     worker.call(b"news")
    4
    """

    def __init__(self, function: Callable[..., Any], deadline: float) -> None:
        self.function, self.deadline = function, deadline
        self._process: BaseProcess | None = None
        self._pipe: Connection | None = None

    def __enter__(self) -> Worker:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def call(self, *arguments: Any) -> Any:
        """The function's answer; FeedError when it took too long, failed or died."""
        pipe = self._ready()
        try:
            pipe.send(arguments)
            if not pipe.poll(self.deadline):
                self.stop()
                raise FeedError(f"was not read within {self.deadline:g} seconds; it is skipped")
            answer, failure = pipe.recv()
        except (EOFError, OSError) as error:
            self.stop()
            raise FeedError("the parser died over it, which is most often for want of memory") from error
        if failure:
            raise FeedError(failure)
        return answer

    def stop(self) -> None:
        """End the process; the next call starts another."""
        if self._process is not None and self._pipe is not None:
            self._pipe.close()
            self._process.kill()
            self._process.join()
            self._process.close()
        self._process = self._pipe = None

    def _ready(self) -> Connection:
        if self._pipe is None:
            context = multiprocessing.get_context("spawn")
            self._pipe, theirs = context.Pipe()
            self._process = context.Process(target=_serve, args=(theirs, self.function), daemon=True)
            self._process.start()
            theirs.close()
            if not self._pipe.poll(START) or self._pipe.recv() != "ready":
                self.stop()
                raise FeedError("the process that reads feeds did not start")
        return self._pipe


def _serve(pipe: Connection, function: Callable[..., Any]) -> None:
    """Answer calls until the pipe closes."""
    _bound_memory()
    pipe.send("ready")
    while True:
        try:
            arguments = pipe.recv()
        except EOFError:
            return
        try:
            pipe.send((function(*arguments), ""))
        except Exception as error:  # whatever a parser makes of a hostile file is told, not raised here
            pipe.send((None, f"cannot be read ({type(error).__name__}: {str(error)[:200]})"))


def _bound_memory() -> None:
    """Limit the address space of this process on Linux; macOS ignores such a limit and Windows has none."""
    if sys.platform == "linux":
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
