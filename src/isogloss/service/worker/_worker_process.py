"""The worker subprocess: makes events outside the process that answers requests.

Making events takes a core, and threads of one process share one core. The subprocess reads the store by
itself and sends its writes back over a pipe, so that an SQLite database keeps its single writer. It ends with
the parent process, however that ends, and is killed when a record exceeds its budget.
"""

from __future__ import annotations

import logging
import multiprocessing
import os
import signal
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import datetime
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from typing import Any, NoReturn

from isogloss.events import freeze_gc
from isogloss.exceptions import IsoglossError, ReplayError, StoreBusyError, StoreError, StoreFullError
from isogloss.service._background import SIGNALS, BackgroundThread
from isogloss.service._logs import log_to_stderr, logs_json
from isogloss.service.worker._journal_processor import BATCH_LINES, JournalProcessor, StreamFactory, rebuild
from isogloss.service.worker._watchdog import Heartbeat, Watchdog, kill_group, limit_memory, memory_limit
from isogloss.store import CompiledUpdate, Database, PostgresDatabase, SQLiteDatabase, Store, Update
from isogloss.store.queries import CHECKPOINT_HEADER, REBUILD_PROGRESS, compile_update
from isogloss.threads import bound_process, lower_priority

logger = logging.getLogger(__name__)

NICENESS = 15
"""Niceness of the worker process, which runs behind the process that answers requests."""

RESTART_DELAY_S = 1.0
"""Seconds before a process that died is started again, or an error is retried."""

MIN_FULL_BATCH_LINES = 32
"""After fewer lines the worker waits a moment, so that one transaction has more of them."""

_SAVE_TIMEOUT_S = 60.0
"""Seconds that a process has to stop after a rebuild."""

_POLL_INTERVAL_S = 0.2
"""Seconds between two polls of the progress of a rebuild."""

_REMOTE_CALLS = frozenset({"apply", "record_update", "record_failure", "record_line_start"})
"""Methods of the store that the worker process calls over the pipe."""

_ERRORS: dict[str, type[StoreError]] = {each.__name__: each for each in (StoreFullError, StoreBusyError)}

_Address = tuple[str, str]
"""Path or URL of a database, and its PostgreSQL schema."""


class WorkerProcess(BackgroundThread):
    """Runs a worker in a subprocess, and restarts it if it dies.

    Parameters
    ----------
    store : Store
        The store.
    stream_factory : StreamFactory, optional
        Creates the stream; it is pickled.
    checkpoint_every : int
        Journal lines between checkpoints.
    poll_seconds : float
        Seconds between two polls of an idle journal.
    stop_seconds : float
        Time that the process has to save a checkpoint when it is stopped.
    record_seconds : float
        CPU time that one record may take, see :class:`~isogloss.service.worker._watchdog.Watchdog`.
    max_memory_mb : int
        Memory that the process and its children may use; 0 for most of the machine's memory.
    """

    def __init__(
        self,
        store: Store,
        stream_factory: StreamFactory | None = None,
        *,
        checkpoint_every: int = 20_000,
        poll_seconds: float = 0.2,
        stop_seconds: float = 5.0,
        record_seconds: float = 30.0,
        max_memory_mb: int = 0,
    ) -> None:
        super().__init__("isogloss-worker-process")
        self.store, self.stream_factory = store, stream_factory or StreamFactory()
        self.checkpoint_every, self.poll_seconds = checkpoint_every, poll_seconds
        self.stop_seconds, self.record_seconds = stop_seconds, record_seconds
        self.max_bytes = memory_limit(max_memory_mb)
        self.process: BaseProcess | None = None
        self._position, self._error = 0, ""
        self._exceeded: tuple[str, str] | None = None

    def status(self) -> Mapping[str, object]:
        """Return whether the worker is alive, its position in the journal and its last error."""
        return {"alive": self.alive, "position": self._position, "error": self._error}

    def run(self) -> None:
        """Run a process, and another one whenever it dies."""
        while not self._stop.is_set():
            reason, message = self._run_process()
            if not self._stop.is_set():
                self._error = f"the worker process died ({message}); it is restarted"
                logger.warning("%s", self._error)
                self._record_failure(reason, message)
                self._stop.wait(RESTART_DELAY_S)

    def _record_failure(self, reason: str, message: str) -> None:
        """Record a failed attempt at the line that the process was processing alone, if any."""
        try:
            _, line = self.store.crash_marker()
            if line and self.store.record_failure(line, reason, message):
                logger.warning(
                    "line %d of the journal is quarantined (%s), see isogloss doctor", line, message
                )
        except StoreError as error:
            logger.warning("%s", error)

    def _run_process(self) -> tuple[str, str]:
        """Run one process until it ends; return the kind of its end, and a message."""
        spawn = multiprocessing.get_context("spawn")
        ours, theirs = spawn.Pipe()
        heartbeat = Heartbeat()
        arguments = (
            theirs,
            _address(self.store.database),
            self.stream_factory,
            self.checkpoint_every,
            self.poll_seconds,
            logs_json(),
            heartbeat,
            self.max_bytes,
        )
        process = self.process = spawn.Process(target=_main, args=arguments, name="isogloss-worker")
        grace_s, self._exceeded = 0.0, None
        try:
            process.start()
            theirs.close()
            watchdog = Watchdog(
                process, heartbeat, record_seconds=self.record_seconds, max_bytes=self.max_bytes
            )
            grace_s = self._serve(ours, watchdog)
        finally:
            ours.close()
            if process.pid is not None:
                process.join(grace_s)
                kill_group(process)
        return self._exceeded or ("process died", _describe_exit(process.exitcode))

    def _serve(self, pipe: Connection, watchdog: Watchdog) -> float:
        """Serve the calls of the process until it closes the pipe, exceeds a budget or is late to stop.

        Returns the seconds that it has left to exit: none if it is late, or has sent nothing yet.
        """
        deadline: float | None = None
        started = False
        with suppress(EOFError, OSError):
            while deadline is None or time.monotonic() < deadline:
                if pipe.poll(min(0.5, self.record_seconds)):
                    pipe.send((self._call(*pipe.recv()), self._stop.is_set()))
                    started = True
                if (exceeded := watchdog.check()) is not None:
                    self._exceeded = exceeded
                    return 0.0
                if self._stop.is_set() and deadline is None:
                    deadline = time.monotonic() + (self.stop_seconds if started else 0.0)
            if started:
                logger.warning("the worker process did not stop in time; killing it")
            return 0.0
        return self.stop_seconds

    def _call(self, name: str, arguments: tuple[Any, ...]) -> tuple[str, str] | None:
        """Call a method for the process; return the class name and message of a StoreError."""
        try:
            if name in _REMOTE_CALLS:
                getattr(self.store, name)(*arguments)
            else:
                self._record_status(*arguments)
        except StoreError as error:
            return type(error).__name__, str(error)
        return None

    def _record_status(self, position: int, error: str) -> None:
        if error and error != self._error:
            logger.warning("events are not up to date: %s", error)
        self._position, self._error = position, error


class _RebuildProcess(WorkerProcess):
    """Stops when events are rebuilt, when the store fails, or when the process dies whatever the line."""

    _unexplained_deaths = 0

    def _record_status(self, position: int, error: str) -> None:
        super()._record_status(position, error)
        if error or not self.store.rebuild_requested():
            self._stop.set()

    def _record_failure(self, reason: str, message: str) -> None:
        self._unexplained_deaths = 0 if self.store.crash_marker()[1] else self._unexplained_deaths + 1
        super()._record_failure(reason, message)
        if self._unexplained_deaths > 1:  # after the first one, lines are processed one at a time
            self._error = f"the process that rebuilds events died twice, whatever the article: {message}"
            self._stop.set()


def rebuild_in_process(
    store: Store,
    stream_factory: StreamFactory,
    *,
    record_seconds: float,
    max_memory_mb: int,
    progress: Callable[[int], None] = lambda _: None,
) -> None:
    """Rebuild the events of a store in a subprocess, with a budget for each record.

    A rebuild has been requested. ``progress`` is called repeatedly with the journal line that it has reached.
    Raises StoreError if the rebuild failed; the present events stay in use.
    """
    worker = _RebuildProcess(
        store,
        stream_factory,
        stop_seconds=_SAVE_TIMEOUT_S,
        record_seconds=record_seconds,
        max_memory_mb=max_memory_mb,
    )
    worker.start()
    try:
        while not worker.join(_POLL_INTERVAL_S):
            progress(store.position(REBUILD_PROGRESS))
    finally:
        worker.stop()
    if error := worker.status()["error"]:
        raise StoreError(str(error))


def _describe_exit(code: int | None) -> str:
    if code is not None and code < 0:
        return f"it was killed by {signal.Signals(-code).name}"
    return f"its exit code was {code}"


def _address(database: Database) -> _Address:
    if isinstance(database, SQLiteDatabase):
        return str(database.path.absolute()), ""
    if isinstance(database, PostgresDatabase):
        return database.url, database.schema
    raise StoreError(f"a {type(database).__name__} cannot be opened by another process; run the worker here")


def _main(
    pipe: Connection,
    address: _Address,
    stream_factory: StreamFactory,
    checkpoint_every: int,
    poll_seconds: float,
    as_json: bool | None,
    heartbeat: Heartbeat,
    max_bytes: int,
) -> NoReturn:
    """Run in the subprocess. It exits without closing the database, whose writer is the parent."""
    if as_json is not None:
        log_to_stderr(as_json=as_json)
    for each in SIGNALS:
        signal.signal(each, signal.SIG_IGN)
    os.setpgid(0, 0)
    lower_priority(NICENESS)
    limit_memory(max_bytes)
    bound_process()
    freeze_gc()
    code = 1
    try:
        store = _StoreProxy(address, pipe)
        run_worker(
            store,
            stream_factory,
            checkpoint_every=checkpoint_every,
            poll_seconds=poll_seconds,
            wait=store.wait,
            report=store.report,
            heartbeat=heartbeat,
        )
        store.flush()
        code = 0
    except (EOFError, BrokenPipeError, ConnectionResetError):
        pass
    except StoreError as error:
        logger.warning("%s", error)
    except Exception:
        logger.exception("the worker process failed")
    finally:
        # Processes that analyse articles need not be waited for: they end when this one does.
        os._exit(code)


class _StoreProxy(Store):
    """A store that reads the database itself and sends writes to the parent process.

    Updates are written asynchronously: the stream continues meanwhile, and an error is raised at the next
    update. The worker then restarts from the tables.
    """

    def __init__(self, address: _Address, pipe: Connection) -> None:
        place, schema = address
        self.database = PostgresDatabase(place, schema=schema) if schema else SQLiteDatabase(place)
        self.pipe = pipe
        self.stopped = False
        self._unanswered = 0

    def apply(self, update: Update | CompiledUpdate) -> None:
        """Send an update; wait for those that are read next: complete checkpoints, and all of a rebuild."""
        self.flush()
        self._send("apply", compile_update(update) if isinstance(update, Update) else update)
        if isinstance(update, Update):
            read_next = any(name == CHECKPOINT_HEADER for name, _, _ in update.checkpoint_parts)
        else:
            read_next = update.progress_name == REBUILD_PROGRESS
        if read_next:
            self.flush()

    def record_update(self, now: datetime | None = None) -> None:
        """Add a journal line for an update of events."""
        self._send("record_update", now)
        self.flush()

    def record_failure(self, line: int, reason: str, message: str, taken: int | None = None) -> bool:
        """Record a failed attempt; return whether the line is quarantined now."""
        self._send("record_failure", line, reason, message, taken)
        self.flush()
        return line in self.quarantined_lines(line - 1, line)

    def record_line_start(self, line: int) -> None:
        """Record that a line is processed alone."""
        self._send("record_line_start", line)
        self.flush()

    def report(self, position: int, error: str) -> None:
        """Report the position of the worker, and its last error."""
        self._send("status", position, error)

    def wait(self, seconds: float) -> bool:
        """Wait; return whether to stop."""
        if seconds > 0 and not self.stopped:
            self.flush()
            time.sleep(seconds)
        return self.stopped

    def flush(self) -> None:
        """Wait for all answers, and raise the first error among them."""
        errors = []
        while self._unanswered:
            error, self.stopped = self.pipe.recv()
            self._unanswered -= 1
            errors += [] if error is None else [error]
        for kind, message in errors:
            raise _ERRORS.get(kind, StoreError)(message)

    def _send(self, name: str, *arguments: Any) -> None:
        self.pipe.send((name, arguments))
        self._unanswered += 1


def run_worker(
    store: Store,
    stream_factory: StreamFactory,
    *,
    checkpoint_every: int,
    poll_seconds: float,
    wait: Callable[[float], bool],
    report: Callable[[int, str], None],
    heartbeat: Heartbeat | None = None,
) -> None:
    """Process the journal of a store until it is time to stop; then save a checkpoint.

    ``wait`` waits so many seconds, or until it is time to stop, and returns whether it is. ``report`` is
    called with the position in the journal and the message of an error, or an empty string. Other parameters
    are those of :class:`~isogloss.service.worker.JournalProcessor`.
    """
    processor: JournalProcessor | None = None
    failed_state: tuple[str, object] | None = None
    restarted = False
    while not wait(0.0):
        try:
            if failed_state is not None and failed_state[1] == _restore_state(store):
                report(0, failed_state[0])
                wait(RESTART_DELAY_S)
                continue
            if processor is None:
                again, restarted = restarted, True
                if store.rebuild_requested() and not _rebuild(
                    store, stream_factory, report, wait, heartbeat, again
                ):
                    continue
                processor = JournalProcessor(
                    store,
                    stream_factory,
                    checkpoint_every=checkpoint_every,
                    heartbeat=heartbeat,
                    restarted=again,
                )
            processed = processor.process(BATCH_LINES)
            active = (
                processed
                or processor.update_events()
                or processor.add_missing_points()
                or processor.add_missing_texts()
            )
            report(processor.position, "")
            if processed < MIN_FULL_BATCH_LINES:
                wait(poll_seconds / 2 if active else poll_seconds)
        except IsoglossError as error:
            if isinstance(error, ReplayError):  # it cannot succeed before the store changes
                failed_state = str(error), _restore_state(store)
            report(processor.position if processor else 0, str(error))
            if processor is not None:
                processor.stream.close()
            processor = None
            wait(RESTART_DELAY_S)
    if processor is not None:
        start = time.perf_counter()
        processor.close()
        logger.info("checkpoint saved in %.1f s", time.perf_counter() - start)


def _rebuild(
    store: Store,
    stream_factory: StreamFactory,
    report: Callable[[int, str], None],
    wait: Callable[[float], bool],
    heartbeat: Heartbeat | None,
    restarted: bool,
) -> bool:
    """Rebuild events unless it is time to stop; report after every batch."""

    def should_continue() -> bool:
        report(store.position(), "")
        return not wait(0.0)

    return rebuild(
        store, stream_factory, should_continue=should_continue, heartbeat=heartbeat, restarted=restarted
    )


def _restore_state(store: Store) -> object:
    """Return what determines whether a stream can be restored."""
    return store.position(), store.checkpoint_lines(), store.rebuild_requested()
