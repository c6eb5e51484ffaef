"""Run a parser of untrusted files in a child process, with a deadline and a memory limit.

Parsers written in C cannot be interrupted from Python, and a small file can keep one busy for hours or fill
the memory. In a child process both end with the child: it is replaced, and the caller goes on with the next
file. Arguments and results travel as JSON, so nothing that a parser produces is run or unpickled here.
"""

from __future__ import annotations

import faulthandler
import importlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import IO, Any, Self

from isogloss.exceptions import IsoglossError

MAX_REPLY_BYTES = 64 << 20
"""Larger results are refused."""

WALL_SECONDS_PER_CPU_SECOND = 20
"""The wall-clock limit of a call, relative to its CPU limit; on Windows, the CPU limit is the wall limit."""

_TIMER_SIGNAL = getattr(signal, "SIGPROF", 0)
"""The signal that kills a process when its CPU time is up; nothing handles it."""

_CHILD = (
    "import json, sys; sys.path[:] = json.loads(sys.stdin.buffer.readline()); "
    "from isogloss.io._parser_process import serve; serve()"
)


class ParserFailure(Exception):  # noqa: N818
    """A parser raised an exception, took too long or died; ``reason`` says which in a word or two."""

    def __init__(self, reason: str, what: str) -> None:
        super().__init__(what)
        self.reason = reason


class ParserProcess:
    """Call a function in a child process; the child is replaced when it takes too long or dies.

    Parameters
    ----------
    function : callable
        A module-level function; its arguments and its result must be JSON values.
    seconds : float
        CPU time limit of one call, independent of the load of the machine. A call that waits ends after
        ``WALL_SECONDS_PER_CPU_SECOND`` times as long. Starting the process does not count.
    memory : int
        Maximum growth of the child's address space in bytes; only enforced on Linux.

    Notes
    -----
    The child starts with the first call and ends with :meth:`close` or with this process. It does not import
    the main script, so a script needs no ``if __name__ == "__main__":``. Calls from several threads wait for
    each other.

    Examples
    --------
    >>> import textwrap
    >>> with ParserProcess(textwrap.dedent, seconds=30) as dedent:
    ...     dedent("  news")
    'news'
    >>> with ParserProcess(json.loads, seconds=30) as parse:
    ...     parse("{")
    Traceback (most recent call last):
        ...
    isogloss.io._parser_process.ParserFailure: cannot be read (JSONDecodeError: Expecting property name ...)
    """

    def __init__(self, function: Callable[..., Any], *, seconds: float, memory: int = 512 << 20) -> None:
        self.function, self.seconds, self.memory = function, seconds, memory
        self._process: subprocess.Popen[bytes] | None = None
        self._lock, self._owner = threading.Lock(), os.getpid()

    def __call__(self, *arguments: Any) -> Any:
        """Call the function in the child process and return its result.

        Raises ParserFailure if the function raised an exception or took too long, or its process died.
        """
        if self._owner != os.getpid():  # a forked copy leaves the process of its parent alone
            self._process, self._lock, self._owner = None, threading.Lock(), os.getpid()
        with self._lock:
            reply = self._reply(_encode([self.seconds, arguments]))
        answer, failure = json.loads(reply)
        if failure is not None:
            raise ParserFailure("failed", failure)
        return answer

    def close(self) -> None:
        """Kill the process; the next call starts another."""
        process, self._process = self._process, None
        if process is None or self._owner != os.getpid():
            return
        process.kill()
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                with suppress(OSError):
                    pipe.close()
        process.wait()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _reply(self, request: bytes) -> bytes:
        began = time.monotonic()
        try:
            reply = _exchange(self._started(), request)
        except OSError as error:
            self.close()
            raise ParserFailure("died", f"cannot be read: no parser could be started ({error})") from error
        except BaseException:  # Ctrl-C: a late reply must not be taken for that of the next call
            self.close()
            raise
        if not reply.endswith(b"\n"):
            raise self._broken(reply, time.monotonic() - began)
        return reply

    def _started(self) -> subprocess.Popen[bytes]:
        if self._process is None:
            self._process = subprocess.Popen(
                [sys.executable, "-c", _CHILD],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env=os.environ | {"OPENBLAS_NUM_THREADS": "1"},
            )
            name = [self.function.__module__, self.function.__qualname__, self.memory]
            _send(self._process, _encode(sys.path) + _encode(name))
        return self._process

    def _broken(self, reply: bytes, elapsed: float) -> ParserFailure:
        """Kill a child that did not reply, and return the error that says why."""
        process = self._process
        code = process.wait() if process is not None and not reply else None
        self.close()
        if reply:
            return ParserFailure("too large", f"has content of more than {MAX_REPLY_BYTES:,} bytes")
        if code == -_TIMER_SIGNAL or elapsed >= _wall_limit(self.seconds):
            return ParserFailure("too slow", f"was not parsed within {self.seconds:g} seconds of CPU time")
        return ParserFailure("died", "crashed the parser, most often for lack of memory")


def serve() -> None:
    """Reply to requests until standard input ends; the main function of the child process."""
    requests, answers = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)  # what a parser prints must not mix with replies
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    module, name, memory = json.loads(requests.readline())
    function = importlib.import_module(module)
    for part in name.split("."):
        function = getattr(function, part)
    _limit_memory(memory)
    while line := requests.readline():
        seconds, arguments = json.loads(line)
        _set_timers(seconds, nowhere)
        answer = _answer(function, arguments)  # type: ignore[arg-type]
        _set_timers(0, nowhere)
        answers.write(answer)
        answers.flush()


def _set_timers(seconds: float, nowhere: int) -> None:
    """Have the system kill this process after some CPU time, even inside compiled code; 0 for never."""
    if hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_PROF, seconds)
    if seconds:
        faulthandler.dump_traceback_later(_wall_limit(seconds), exit=True, file=nowhere)
    else:
        faulthandler.cancel_dump_traceback_later()


def _wall_limit(seconds: float) -> float:
    return seconds * WALL_SECONDS_PER_CPU_SECOND if hasattr(signal, "setitimer") else seconds


def _answer(function: Callable[..., Any], arguments: list[Any]) -> bytes:
    try:
        return _encode([function(*arguments), None])
    except IsoglossError as error:
        return _encode([None, str(error)])
    except Exception as error:  # a parser may raise anything on a hostile file
        return _encode([None, f"cannot be read ({type(error).__name__}: {str(error)[:200]})"])


def _exchange(process: subprocess.Popen[bytes], request: bytes) -> bytes:
    """Send a request and return the reply line, which is incomplete if the process died."""
    try:
        _send(process, request)
        return _pipe(process.stdout).readline(MAX_REPLY_BYTES)
    except BrokenPipeError:
        return b""


def _send(process: subprocess.Popen[bytes], message: bytes) -> None:
    pipe = _pipe(process.stdin)
    pipe.write(message)
    pipe.flush()


def _pipe(pipe: IO[bytes] | None) -> IO[bytes]:
    assert pipe is not None
    return pipe


def _encode(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode("utf-8", "surrogatepass") + b"\n"


def _limit_memory(growth: int) -> None:
    """Limit the address space of this process on Linux; macOS ignores such a limit and Windows has none."""
    if sys.platform == "linux":
        import resource

        with open("/proc/self/statm") as file:
            size = int(file.read().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (size + growth, size + growth))
