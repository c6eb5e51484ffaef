"""Leases: a store has one worker at a time, and any other waits.

A lease ends with the process that holds it. Correctness does not depend on it, because the tables refuse an
update that does not start at their position; it only keeps two workers from doing the same work.
"""

from __future__ import annotations

import logging
import os
from abc import ABC, abstractmethod
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

from isogloss.exceptions import StoreError
from isogloss.io import lock_file
from isogloss.service._background import BackgroundThread, Worker
from isogloss.store import PostgresDatabase, SQLiteDatabase, Store
from isogloss.store.postgres import connection_parameters, set_server_timeouts

logger = logging.getLogger(__name__)

_LOCK_KEY = 0x15091056
"""First half of the key of the advisory lock of workers; the second half is the schema."""


class Lease:
    """The right to be the only worker of a store.

    With SQLite it is a lock on a file next to the database, with PostgreSQL an advisory lock.

    Examples
    --------
    >>> store = Store("news.db")
    >>> mine, theirs = Lease(store), Lease(store)
    >>> mine.acquire(), theirs.acquire()
    (True, False)
    >>> mine.release()
    >>> theirs.acquire()
    True
    >>> theirs.release()
    >>> store.close()
    """

    def __init__(self, store: Store) -> None:
        database = store.database
        if isinstance(database, SQLiteDatabase):
            self._lock: _Lock = _FileLock(database.path.with_name(database.path.name + ".worker"))
        elif isinstance(database, PostgresDatabase):
            self._lock = _AdvisoryLock(database.url, database.schema)
        else:
            raise StoreError(f"a {type(database).__name__} has no leases")

    def __enter__(self) -> bool:
        return self.acquire()

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        self.release()

    def acquire(self) -> bool:
        """Try to acquire the lease; return whether it is held now."""
        return self._lock.held() or self._lock.acquire()

    def held(self) -> bool:
        """Return whether the lease is still held; it is lost with the connection to PostgreSQL."""
        return self._lock.held()

    def release(self) -> None:
        """Release the lease."""
        self._lock.release()


class _Lock(ABC):
    @abstractmethod
    def acquire(self) -> bool: ...

    @abstractmethod
    def held(self) -> bool: ...

    @abstractmethod
    def release(self) -> None: ...


class _FileLock(_Lock):
    """A lock on a file, which is never removed: two processes could otherwise lock two files of one name."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._handle: int | None = None

    def acquire(self) -> bool:
        try:
            handle = os.open(self.path, os.O_RDWR | os.O_CREAT, 0o644)
        except OSError as error:
            raise StoreError(
                f"{self.path}: cannot be opened ({error.strerror}); the worker locks this file"
            ) from error
        try:
            lock_file(handle)
        except OSError:
            os.close(handle)
            return False
        self._handle = handle
        return True

    def held(self) -> bool:
        return self._handle is not None

    def release(self) -> None:
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None


class _AdvisoryLock(_Lock):
    """An advisory lock of PostgreSQL, held by its own connection."""

    def __init__(self, url: str, schema: str) -> None:
        self.url, self.schema = url, schema
        self._connection: Any = None

    def acquire(self) -> bool:
        import psycopg

        self.release()
        try:
            self._connection = psycopg.connect(**connection_parameters(self.url), autocommit=True)
            set_server_timeouts(self._connection)
            query = "SELECT pg_try_advisory_lock(%s, hashtext(%s))"
            (acquired,) = self._connection.execute(query, [_LOCK_KEY, self.schema]).fetchone()
        except psycopg.Error as error:
            self.release()
            raise StoreError(f"PostgreSQL: {str(error).strip()[:300]}") from error
        if not acquired:
            self.release()
        return bool(acquired)

    def held(self) -> bool:
        import psycopg

        if self._connection is None:
            return False
        try:
            self._connection.execute("SELECT 1")
        except psycopg.Error:
            self.release()
            return False
        return True

    def release(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None


class LeasedWorker(BackgroundThread):
    """Runs a worker while it holds the lease of its store, and waits for the lease otherwise."""

    def __init__(self, worker: Worker, lease: Lease, *, poll_seconds: float = 1.0) -> None:
        super().__init__("isogloss-lease")
        self.worker, self.lease, self.poll_seconds = worker, lease, poll_seconds
        self._working = False

    def status(self) -> Mapping[str, object]:
        """Return the status of the worker; one that waits for the lease is alive."""
        if self._working:
            return {**self.worker.status(), "waiting": False}
        return {**self.worker.status(), "alive": self.alive, "waiting": True}

    def run(self) -> None:
        """Acquire the lease and run the worker, again and again."""
        warned = False
        while not self._stop.is_set():
            if self._acquire():
                self._run_worker()
                warned = False
                continue
            if not warned:
                logger.warning(
                    "another worker makes the events of this store; this one waits, and takes over when the "
                    "other stops"
                )
            warned = True
            self._stop.wait(self.poll_seconds)

    def _acquire(self) -> bool:
        try:
            return self.lease.acquire()
        except StoreError as error:
            logger.warning("cannot acquire the lease of the store: %s", error)
            return False

    def _run_worker(self) -> None:
        """Run the worker until this thread is stopped or the lease is lost."""
        self.worker.start()
        self._working = True
        try:
            while not self._stop.wait(self.poll_seconds):
                if not self.lease.held():
                    logger.warning("the lease of the store was lost; waiting for it again")
                    return
        finally:
            self.worker.stop()
            self._working = False
            self.lease.release()
