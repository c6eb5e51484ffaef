"""One worker at a time: who follows a store holds its lease, and whoever else wants to waits.

A lease ends with the process that holds it, however that ends. Safety does not rest on it: the tables refuse
an update that does not start where they stand. It only keeps two workers from doing the same work twice.
"""

from __future__ import annotations

import logging
import os
import sys
from abc import ABC, abstractmethod
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol

from isogloss.exceptions import StoreError
from isogloss.service._background import Background
from isogloss.store import PostgresDatabase, SQLiteDatabase, Store
from isogloss.store.postgres import connection_parameters, set_server_timeouts

__all__ = ["Lease", "TakingTurns"]

logger = logging.getLogger(__name__)

_KEY = 0x15091056
"""The advisory lock of workers; the second half of its key is the schema."""


class Lease:
    """The right to follow a store, which one process has at a time.

    With SQLite it is a lock on a file beside the database, with PostgreSQL an advisory lock of a connection.

    Parameters
    ----------
    store : Store
        The store.

    Examples
    --------
    >>> store = Store("news.db")
    >>> mine, theirs = Lease(store), Lease(store)
    >>> mine.take(), theirs.take()
    (True, False)
    >>> mine.release()
    >>> theirs.take()
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
            raise StoreError(f"there are no leases on a {type(database).__name__}")

    def __enter__(self) -> bool:
        return self.take()

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        self.release()

    def take(self) -> bool:
        """Whether it could be had; it is kept until it is released."""
        return self._lock.holds() or self._lock.take()

    def holds(self) -> bool:
        """Whether it is still held; a connection to PostgreSQL may have been lost, and the lease with it."""
        return self._lock.holds()

    def release(self) -> None:
        """Give it back."""
        self._lock.release()


class _Lock(ABC):
    @abstractmethod
    def take(self) -> bool: ...

    @abstractmethod
    def holds(self) -> bool: ...

    @abstractmethod
    def release(self) -> None: ...


class _FileLock(_Lock):
    """A lock on a file. The file stays: to remove it would let two processes lock two files of one name."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._handle: int | None = None

    def take(self) -> bool:
        try:
            handle = os.open(self.path, os.O_RDWR | os.O_CREAT, 0o644)
        except OSError as error:
            raise StoreError(
                f"{self.path}: cannot be opened ({error.strerror}); a worker needs it"
            ) from error
        try:
            _lock(handle)
        except OSError:
            os.close(handle)
            return False
        self._handle = handle
        return True

    def holds(self) -> bool:
        return self._handle is not None

    def release(self) -> None:
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None


def _lock(handle: int) -> None:
    """Lock an open file without waiting; OSError if another process has it."""
    if sys.platform == "win32":
        import msvcrt

        msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
    else:
        import fcntl

        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)


class _AdvisoryLock(_Lock):
    """An advisory lock of PostgreSQL, held by a connection of its own."""

    def __init__(self, url: str, schema: str) -> None:
        self.url, self.schema = url, schema
        self._connection: Any = None

    def take(self) -> bool:
        import psycopg

        self.release()
        try:
            self._connection = psycopg.connect(**connection_parameters(self.url), autocommit=True)
            set_server_timeouts(self._connection)
            question = "SELECT pg_try_advisory_lock(%s, hashtext(%s))"
            (taken,) = self._connection.execute(question, [_KEY, self.schema]).fetchone()
        except psycopg.Error as error:
            self.release()
            raise StoreError(f"PostgreSQL: {str(error).strip()[:300]}") from error
        if not taken:
            self.release()
        return bool(taken)

    def holds(self) -> bool:
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


class _Worker(Protocol):
    def start(self) -> None: ...

    def stop(self) -> None: ...

    def status(self) -> Mapping[str, object]: ...


class TakingTurns(Background):
    """A worker that works while it holds the lease of its store, and waits for it otherwise.

    Parameters
    ----------
    worker : Background
        What works.
    lease : Lease
        Of the store that it works on.
    pause : float
        Seconds between two looks at the lease.
    """

    def __init__(self, worker: _Worker, lease: Lease, *, pause: float = 1.0) -> None:
        super().__init__("isogloss-turns")
        self.worker, self.lease, self.pause = worker, lease, pause
        self._working = False

    def status(self) -> Mapping[str, object]:
        """How the worker is; one that waits for its turn is alive."""
        if self._working:
            return {**self.worker.status(), "waiting": False}
        return {**self.worker.status(), "alive": self.alive, "waiting": True}

    def run(self) -> None:
        """Work while the lease is ours, and wait for it otherwise."""
        waited = False
        while not self._stop.is_set():
            if self._taken():
                self._work()
                waited = False
            else:
                if not waited:
                    logger.warning(
                        "another worker follows this store and makes its events; this one waits, and takes "
                        "over when the other stops"
                    )
                waited = True
                self._stop.wait(self.pause)

    def _taken(self) -> bool:
        try:
            return self.lease.take()
        except StoreError as error:
            logger.warning("the lease of the store cannot be had: %s", error)
            return False

    def _work(self) -> None:
        """Work until the end, or until the lease is lost."""
        self.worker.start()
        self._working = True
        try:
            while not self._stop.wait(self.pause):
                if not self.lease.holds():
                    logger.warning("the lease of the store was lost; waiting for it again")
                    return
        finally:
            self.worker.stop()
            self._working = False
            self.lease.release()
