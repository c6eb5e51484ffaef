"""The worker subprocess: makes events apart from requests, and is killed when an article costs too much.

Making events takes a core, and threads of one process share one: requests would wait for it. The subprocess
reads the store for itself and hands what is to be written back, so that a database of SQLite keeps its one
writer. It ends with this process, however that ends.

The worker counts the records it begins in memory that both processes see. A worker that spends more than its
budget without beginning the next record, or whose processes together grow beyond their limit, is killed: code
that is caught in a loop cannot be asked to stop.
"""

from __future__ import annotations

import logging
import multiprocessing
import os
import signal
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import datetime
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any, NoReturn

from isogloss.events import EventStream, freeze_gc
from isogloss.exceptions import StoreBusyError, StoreError, StoreFullError
from isogloss.service._background import SIGNALS, Background
from isogloss.service._logs import log_to_stderr, logs_json
from isogloss.service.worker._follower import Heartbeat, keep_up
from isogloss.service.worker._stream_factory import StreamMaker
from isogloss.store import CompiledUpdate, Database, PostgresDatabase, SQLiteDatabase, Store, Update
from isogloss.store.queries import CHECKPOINT_HEADER, REBUILD_PROGRESS, compile_update
from isogloss.threads import bound_process, lower_priority

__all__ = ["ApartWorker", "Watchdog", "kill_group", "limit_memory", "memory_limit", "rebuild_apart"]

logger = logging.getLogger(__name__)

NICE = 15
"""How much the process stands back behind those that answer requests."""

AGAIN = 1.0
"""Seconds after which a process that ended is started again."""

CLOCK_FACTOR = 10
"""How much longer than its CPU time a record may take by the clock, on a machine that is busy."""

_SAVE_SECONDS = 60.0
"""Seconds that saving the state after a rebuild may take."""

_POLL = 0.2
"""Seconds between two looks at the progress of a rebuild."""

LOOK_SECONDS = 1.0
"""Seconds between two looks at a worker."""

MEMORY_SHARE = 0.8
"""The part of the memory of the machine, or of its container, that a worker has by default."""

_CGROUPS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")

_ERRORS: dict[str, type[StoreError]] = {each.__name__: each for each in (StoreFullError, StoreBusyError)}


class ApartWorker(Background):
    """Follows the journal of a store in a process of its own.

    Parameters
    ----------
    store : Store
        The store, a file or a server.
    make : callable, optional
        Makes the stream, see :class:`~isogloss.service.worker.Follower`; one with default settings if none is
        given. It is copied to the process.
    snapshot_every : int
        Lines of the journal after which the state is saved.
    pause : float
        Seconds between two looks at a journal without news.
    stop_seconds : float
        Time that the process has to save its state when it is stopped.
    record_seconds : float
        CPU time that one record may take, see :class:`Watchdog`.
    max_memory_mb : int
        Memory that the process and those that it starts may have; 0 for most of what there is.
    """

    def __init__(
        self,
        store: Store,
        make: Callable[[bytes | None], EventStream] | None = None,
        *,
        snapshot_every: int = 20_000,
        pause: float = 0.2,
        stop_seconds: float = 5.0,
        record_seconds: float = 30.0,
        max_memory_mb: int = 0,
    ) -> None:
        super().__init__("isogloss-apart")
        self.store, self.make = store, make or StreamMaker()
        self.snapshot_every, self.pause, self.stop_seconds = snapshot_every, pause, stop_seconds
        self.record_seconds, self.max_bytes = record_seconds, memory_limit(max_memory_mb)
        self.process: BaseProcess | None = None
        self._position, self._error = 0, ""
        self._exceeded: tuple[str, str] | None = None

    def status(self) -> Mapping[str, object]:
        """How it is: alive, the line it has come to, and what went wrong last."""
        return {"alive": self.alive, "position": self._position, "error": self._error}

    def run(self) -> None:
        """Have a process follow the journal, and another one if that ends before it is told to."""
        while not self._stop.is_set():
            reason, said = self._serve_one()
            if not self._stop.is_set():
                self._error = f"the process that makes events ended ({said}); it is started again"
                logger.warning("%s", self._error)
                self._blame(reason, said)
                self._stop.wait(AGAIN)

    def _blame(self, reason: str, said: str) -> None:
        """Count a failed attempt at the line that the process was at alone, if it was."""
        try:
            _, line = self.store.crash_marker()
            if line and self.store.record_failure(line, reason, said):
                logger.warning("line %d of the journal is quarantined (%s), see isogloss doctor", line, said)
        except StoreError as error:
            logger.warning("%s", error)

    def _serve_one(self) -> tuple[str, str]:
        """Start a process, and do what it asks for until it ends; the reason of that, and a sentence."""
        spawn = multiprocessing.get_context("spawn")
        here, there = spawn.Pipe()
        heartbeat = Heartbeat()
        told = (
            there,
            _place(self.store.database),
            self.make,
            self.snapshot_every,
            self.pause,
            logs_json(),
            heartbeat,
            self.max_bytes,
        )
        process = self.process = spawn.Process(target=_work, args=told, name="isogloss-worker")
        patience, self._exceeded = 0.0, None
        try:
            process.start()
            there.close()
            watchdog = Watchdog(
                process, heartbeat, record_seconds=self.record_seconds, max_bytes=self.max_bytes
            )
            patience = self._answer(here, watchdog)
        finally:
            here.close()
            _end(process, patience)
        return self._exceeded or ("process died", _farewell(process.exitcode))

    def _answer(self, wire: Connection, watchdog: Watchdog) -> float:
        """Do what the process asks for until it hangs up, uses up its budget, or its time to stop is over.

        Returns the seconds that it has left to end: none if it is late, or has not begun.
        """
        until: float | None = None
        begun = False
        with suppress(EOFError, OSError):
            while until is None or time.monotonic() < until:
                if wire.poll(min(0.5, self.record_seconds)):
                    wire.send((self._done(*wire.recv()), self._stop.is_set()))
                    begun = True
                if (exceeded := watchdog.check()) is not None:
                    self._exceeded = exceeded
                    return 0.0
                if self._stop.is_set() and until is None:
                    until = time.monotonic() + (self.stop_seconds if begun else 0.0)
            if begun:
                logger.warning("the process that makes events did not end by itself; it is killed")
            return 0.0
        return self.stop_seconds

    def _done(self, what: str, told: Any) -> tuple[str, str] | None:
        """Do what the process asks for; the kind and the sentence of an error, if there is one."""
        try:
            if what == "apply":
                self.store.apply(told)
            elif what == "record_update":
                self.store.record_update()
            elif what == "record_failure":
                self.store.record_failure(*told)
            elif what == "record_line_start":
                self.store.record_line_start(told)
            else:
                self._note(*told)
        except StoreError as error:
            return type(error).__name__, str(error)
        return None

    def _note(self, position: int, error: str) -> None:
        if error and error != self._error:
            logger.warning("events are not brought up to date: %s", error)
        self._position, self._error = position, error


class _RebuildApart(ApartWorker):
    """Stops when events are rebuilt, and where the store fails or the process ends for no line's fault."""

    _unexplained = 0

    def _note(self, position: int, error: str) -> None:
        super()._note(position, error)
        if error or not self.store.rebuild_requested():
            self._stop.set()

    def _blame(self, reason: str, said: str) -> None:
        self._unexplained = 0 if self.store.crash_marker()[1] else self._unexplained + 1
        super()._blame(reason, said)
        if self._unexplained > 1:  # after the first time lines are taken one at a time
            self._error = f"the process that rebuilds events ended twice, whatever the article: {said}"
            self._stop.set()


def rebuild_apart(
    store: Store,
    make: Callable[[bytes | None], EventStream],
    *,
    record_seconds: float,
    max_memory_mb: int,
    progress: Callable[[int], None] = lambda _: None,
) -> None:
    """Rebuild the events of a store in a process of its own, where each record has its budget.

    Parameters
    ----------
    store : Store
        The store; a rebuild has been requested.
    make, record_seconds, max_memory_mb
        See :class:`ApartWorker`.
    progress : callable
        Is told the line that the rebuild has come to, again and again.

    Raises
    ------
    StoreError
        It could not be done; the events that there are stay as they are.
    """
    worker = _RebuildApart(
        store, make, stop_seconds=_SAVE_SECONDS, record_seconds=record_seconds, max_memory_mb=max_memory_mb
    )
    worker.start()
    try:
        while not worker.ended(_POLL):
            progress(store.position(REBUILD_PROGRESS))
    finally:
        worker.stop()
    if error := worker.status()["error"]:
        raise StoreError(str(error))


def _end(process: BaseProcess, patience: float) -> None:
    """Wait for a process to end, and kill what is left of it when the seconds it has are over."""
    if process.pid is not None:
        process.join(patience)
        kill_group(process)


def _farewell(code: int | None) -> str:
    """How a process ended, in words."""
    if code is not None and code < 0:
        return f"it was killed by {signal.Signals(-code).name}"
    return f"its exit code was {code}"


def _place(database: Database) -> tuple[str, str]:
    """Where another process finds a database."""
    if isinstance(database, SQLiteDatabase):
        return str(database.path.absolute()), ""
    if isinstance(database, PostgresDatabase):
        return database.url, database.schema
    raise StoreError(f"no other process can open a {type(database).__name__}; let a thread make events")


def _work(
    wire: Connection,
    place: tuple[str, str],
    make: Callable[[bytes | None], EventStream],
    snapshot_every: int,
    pause: float,
    as_json: bool | None,
    heartbeat: Heartbeat,
    max_bytes: int,
) -> NoReturn:
    """What the process does. It ends without a farewell to the database, which has its writer elsewhere."""
    if as_json is not None:
        log_to_stderr(as_json=as_json)
    for each in SIGNALS:
        signal.signal(each, signal.SIG_IGN)
    os.setpgid(0, 0)
    lower_priority(NICE)
    limit_memory(max_bytes)
    bound_process()
    freeze_gc()
    code = 1
    try:
        store = _Elsewhere(place, wire)
        keep_up(
            store,
            make,
            snapshot_every=snapshot_every,
            pause=pause,
            wait=store.wait,
            tell=store.tell,
            heartbeat=heartbeat,
        )
        store.settle()
        code = 0
    except (EOFError, BrokenPipeError, ConnectionResetError):
        pass
    except StoreError as error:
        logger.warning("%s", error)
    except Exception:
        logger.exception("the process that makes events fails")
    finally:
        # Nothing is waited for: processes that prepare articles end when this one does.
        os._exit(code)


class _Elsewhere(Store):
    """A store that is read here and written by the process at the other end of a wire.

    Nobody waits for an update to be written: the stream goes on meanwhile, and what went wrong is raised
    when the next one is to be written. Whoever follows the journal starts again from the tables then.
    """

    def __init__(self, place: tuple[str, str], wire: Connection) -> None:
        where, schema = place
        self.database = PostgresDatabase(where, schema=schema) if schema else SQLiteDatabase(where)
        self.wire = wire
        self.stopped = False
        self._unanswered = 0

    def apply(self, update: Update | CompiledUpdate) -> None:
        """Have an update written; one that makes a state whole is waited for, which is looked up next.

        So are those of a rebuild, which reads what it has written.
        """
        self.settle()
        self._ask("apply", compile_update(update) if isinstance(update, Update) else update)
        whole = isinstance(update, Update) and any(
            name == CHECKPOINT_HEADER for name, _, _ in update.checkpoint_parts
        )
        if whole or (isinstance(update, CompiledUpdate) and update.progress_name == REBUILD_PROGRESS):
            self.settle()

    def record_update(self, now: datetime | None = None) -> None:
        """Have it written down that events are brought up to date."""
        self._ask("record_update", now)
        self.settle()

    def record_failure(self, line: int, reason: str, message: str, taken: int | None = None) -> bool:
        """Have a failed attempt at a line counted; whether the line is in quarantine now."""
        self._ask("record_failure", (line, reason, message, taken))
        self.settle()
        return line in self.quarantined_lines(line - 1, line)

    def record_line_start(self, line: int) -> None:
        """Have it written down that a line is begun alone."""
        self._ask("record_line_start", line)
        self.settle()

    def tell(self, position: int, error: str) -> None:
        """Say how far the worker is, and what went wrong."""
        self._ask("note", (position, error))

    def wait(self, seconds: float) -> bool:
        """Wait; whether it is time to stop."""
        if seconds > 0 and not self.stopped:
            self.settle()
            time.sleep(seconds)
        return self.stopped

    def settle(self) -> None:
        """Wait until all that was asked for is done; what went wrong first is raised."""
        found = []
        while self._unanswered:
            trouble, self.stopped = self.wire.recv()
            self._unanswered -= 1
            found += [] if trouble is None else [trouble]
        for kind, said in found:
            raise _ERRORS.get(kind, StoreError)(said)

    def _ask(self, what: str, told: Any) -> None:
        self.wire.send((what, told))
        self._unanswered += 1


class Watchdog:
    """Tells when a worker process has used up its budget.

    Without ``psutil``, which the extra ``isogloss[service]`` installs, only the clock is looked at.

    Parameters
    ----------
    process : BaseProcess
        The worker, started.
    heartbeat : Heartbeat
        Its heartbeat.
    record_seconds : float
        CPU time that one record may take; ten times as much by the clock.
    max_bytes : int
        Memory that the worker and its processes may have together.
    """

    def __init__(
        self, process: BaseProcess, heartbeat: Heartbeat, *, record_seconds: float, max_bytes: int
    ) -> None:
        self.heartbeat, self.record_seconds, self.max_bytes = heartbeat, record_seconds, max_bytes
        self._tree = _Tree(process.pid or 0)
        self._seen, self._due = (-1, 0.0, 0.0), 0.0

    def check(self) -> tuple[str, str] | None:
        """The reason to kill the worker and a sentence about it; None as long as there is none.

        It may be called often: it looks once in a second at most.
        """
        now = time.monotonic()
        if now < self._due:
            return None
        self._due = now + min(LOOK_SECONDS, self.record_seconds)
        count = self.heartbeat.count if self.heartbeat.busy else -1
        used, total = self._tree.usage()
        if used > self.max_bytes:
            said = f"the worker had {used >> 20:,} MB; worker.max_memory_mb allows {self.max_bytes >> 20:,}"
            return "out of memory", said
        if count < 0 or count != self._seen[0]:
            self._seen = count, total, now
            return None
        cpu, clock = total - self._seen[1], now - self._seen[2]
        if cpu > self.record_seconds or clock > CLOCK_FACTOR * self.record_seconds:
            said = (
                f"no end after {cpu:.1f} s of CPU and {clock:.1f} s by the clock; "
                f"worker.record_seconds allows {self.record_seconds:g} and {CLOCK_FACTOR} times that"
            )
            return "too slow", said
        return None


class _Tree:
    """What a process and those that it started have used; nothing where that cannot be told."""

    def __init__(self, pid: int) -> None:
        self._process: Any = None
        with suppress(ModuleNotFoundError):
            import psutil

            self._gone: type[Exception] = psutil.Error
            with suppress(psutil.Error):
                self._process = psutil.Process(pid)

    def usage(self) -> tuple[int, float]:
        """Bytes in memory, and seconds of CPU time."""
        used, cpu = 0, 0.0
        if self._process is None:
            return used, cpu
        with suppress(self._gone):
            for one in [self._process, *self._process.children(recursive=True)]:
                with suppress(self._gone):
                    used += one.memory_info().rss
                    cpu += sum(one.cpu_times()[:2])
        return used, cpu


def memory_limit(megabytes: int) -> int:
    """The bytes that a worker may have: as many as are given, or most of what the machine has for 0.

    Examples
    --------
    >>> memory_limit(64) == 64 << 20
    True
    >>> memory_limit(0) > 0
    True
    """
    if megabytes:
        return megabytes << 20
    found = [os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")]
    for name in _CGROUPS:
        with suppress(OSError, ValueError):
            found.append(int(Path(name).read_text()))
    return int(MEMORY_SHARE * min(found))


def limit_memory(max_bytes: int) -> None:
    """Have allocations of this process beyond a limit fail with MemoryError, where the system can do that."""
    if sys.platform == "linux":
        import resource

        _, hard = resource.getrlimit(resource.RLIMIT_DATA)
        if hard == resource.RLIM_INFINITY or max_bytes < hard:
            resource.setrlimit(resource.RLIMIT_DATA, (max_bytes, hard))


def kill_group(process: BaseProcess) -> None:
    """Kill a process that leads a group, and all of the group."""
    if process.pid is None:
        return
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.kill()
    process.join()
