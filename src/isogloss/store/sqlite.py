"""SQLite: one file, one writer, readers that never wait.

The writer commits through the write-ahead log with ``synchronous=FULL``: a commit that returned has been
synced to the disk. Writers of other processes queue at ``BEGIN IMMEDIATE``.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from isogloss.exceptions import StoreBusyError, StoreError, StoreFullError
from isogloss.store.interface import Database, Row, Session

__all__ = ["SQLiteDatabase", "check_owner", "copy_to"]

APPLICATION_ID = 0x69736F67
"""What marks a file as a store of isogloss, in its header: "isog"."""

BUSY = 30.0
"""Seconds a writer waits for another."""

MIN_FREE_BYTES = 1 << 16
"""With less room than this on the disk, an I/O error means that the disk is full."""

_FIXED = (3, 51, 3)
"""Since this version two connections that reset the log at the same moment cannot damage it."""


class SQLiteDatabase(Database):
    """A database in one file.

    Parameters
    ----------
    path : path
        The file; made when it is not there.
    busy : float
        Seconds a writer waits for another before it gives up with StoreBusyError.

    Examples
    --------
    >>> database = SQLiteDatabase("small.db")
    >>> with database.write() as session:
    ...     _ = session.run("CREATE TABLE word (form TEXT)")
    ...     session.many("INSERT INTO word VALUES (?)", [["rain"], ["snow"]])
    >>> with database.read() as session:
    ...     session.run("SELECT count(*) FROM word")
    [(2,)]
    >>> database.close()
    """

    types = {"serial": "INTEGER PRIMARY KEY AUTOINCREMENT", "blob": "BLOB", "integer": "INTEGER"}  # noqa: RUF012

    def __init__(self, path: str | os.PathLike[str], *, busy: float = BUSY) -> None:
        self.path = Path(path)
        self.busy = busy
        self._lock = threading.Lock()
        self._idle: list[sqlite3.Connection] = []
        self._open: list[sqlite3.Connection] = []
        self._closed = False
        self._writer = self._connect()

    @contextmanager
    def write(self) -> Iterator[Session]:
        """A transaction of the one writer."""
        if not self._lock.acquire(timeout=self.busy):
            raise StoreBusyError(f"{self.path}: another thread has been writing for {self.busy:g} seconds")
        try:
            with self._told():
                self._writer.execute("BEGIN IMMEDIATE")
                try:
                    yield _SQLiteSession(self._writer)
                    self._writer.execute("COMMIT")
                except BaseException:
                    with suppress(sqlite3.Error):
                        self._writer.execute("ROLLBACK")
                    raise
        finally:
            self._lock.release()

    @contextmanager
    def read(self) -> Iterator[Session]:
        """A view of the last committed state, on a connection that nobody else has meanwhile."""
        with self._told(), self._reading() as connection:
            yield _SQLiteSession(connection)

    def backup(self, path: Path) -> None:
        """Copy the database to a new file with SQLite's own backup."""
        with self._told(), self._reading() as connection:
            copy_to(connection, path)

    def claim(self) -> None:
        """Mark the file as a store of isogloss, if it is not marked yet."""
        with self._told(), self._lock:
            if self._writer.execute("PRAGMA application_id").fetchone()[0] != APPLICATION_ID:
                self._writer.execute(f"PRAGMA application_id={APPLICATION_ID}")

    def check(self) -> list[str]:
        """SQLite's own checks of the file and of references between tables."""
        with self.read() as session:
            damage = [str(row[0]) for row in session.run("PRAGMA integrity_check") if row[0] != "ok"]
            return damage + [
                f"table {row[0]}: row {row[1]} points to a row of {row[2]} that is not there"
                for row in session.run("PRAGMA foreign_key_check")
            ]

    def compact(self) -> None:
        """Write the file anew with ``VACUUM``, and empty the log; others may read but not write meanwhile.

        Raises
        ------
        StoreBusyError
            Another process uses the database, so that the log cannot be emptied.
        """
        with self._told(), self._lock:
            self._writer.execute("VACUUM")
            (busy, _, _) = self._writer.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        if busy:
            raise StoreBusyError(
                f"{self.path}: another process reads it, and deleted rows stay in its log until that ends; "
                "stop it, then try again"
            )

    def describe(self) -> dict[str, str]:
        """Product, version, file, and a warning where the version has a known fault."""
        told = {"product": "SQLite", "version": sqlite3.sqlite_version, "place": str(self.path)}
        if sqlite3.sqlite_version_info < _FIXED:
            told["warning"] = (
                f"SQLite {sqlite3.sqlite_version} can damage its log when two processes reset it at the "
                f"same moment (mended in {'.'.join(map(str, _FIXED))}); let one process write"
            )
        return told

    def free_bytes(self) -> int | None:
        """Room on the disk of the file."""
        try:
            return shutil.disk_usage(self.path.absolute().parent).free
        except OSError:
            return None

    def close(self) -> None:
        """Close all connections; the log is folded into the file."""
        with self._lock:
            self._closed = True
            for connection in [*self._open]:
                connection.close()
            self._open.clear()
            self._idle.clear()

    @contextmanager
    def _reading(self) -> Iterator[sqlite3.Connection]:
        connection = self._reader()
        try:
            connection.execute("BEGIN")
            yield connection
        finally:
            with suppress(sqlite3.Error):
                connection.execute("ROLLBACK")
            self._idle.append(connection)

    def _reader(self) -> sqlite3.Connection:
        """A connection that is idle, or one more."""
        try:
            return self._idle.pop()
        except IndexError:
            connection = self._connect()
            connection.execute("PRAGMA query_only=ON")
            return connection

    def _connect(self) -> sqlite3.Connection:
        if self._closed:
            raise StoreError(f"{self.path}: the database was closed; open it again")
        with self._told():
            connection = sqlite3.connect(
                self.path, timeout=self.busy, isolation_level=None, check_same_thread=False
            )
            try:
                for pragma in (
                    "trusted_schema=OFF",
                    "foreign_keys=ON",
                    "journal_mode=WAL",
                    "synchronous=FULL",
                ):
                    connection.execute(f"PRAGMA {pragma}")
            except sqlite3.Error:
                connection.close()
                raise
        self._open.append(connection)
        return connection

    @contextmanager
    def _told(self) -> Iterator[None]:
        """Errors of SQLite as ours, with the file and what to do."""
        try:
            yield
        except sqlite3.Error as error:
            raise _translated(self.path, error) from error


def copy_to(connection: sqlite3.Connection, path: Path) -> None:
    """Copy a database to a new file, with what is still in the log beside it.

    Raises
    ------
    StoreError
        The copy cannot be written.
    """
    copy = sqlite3.connect(path)
    try:
        connection.backup(copy)
        copy.execute("PRAGMA journal_mode=DELETE")
    except sqlite3.Error as error:
        raise _translated(path, error) from error
    finally:
        copy.close()


def check_owner(path: Path) -> None:
    """Refuse a database of another program, before anything is written to it.

    Raises
    ------
    StoreError
        The file is a database of SQLite that isogloss did not make.

    Examples
    --------
    >>> database = sqlite3.connect("addresses.db")
    >>> _ = database.execute("CREATE TABLE person (name TEXT)")
    >>> database.close()
    >>> check_owner(Path("addresses.db"))
    Traceback (most recent call last):
        ...
    isogloss.exceptions.StoreError: addresses.db: is a database of another program ...

    """
    if not path.is_file() or not path.stat().st_size:
        return
    try:
        connection = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)
        try:
            (owner,) = connection.execute("PRAGMA application_id").fetchone()
            tables = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")
            names = [row[0] for row in tables]
        finally:
            connection.close()
    except sqlite3.Error as error:
        raise _translated(path, error) from error
    if owner == APPLICATION_ID or (owner == 0 and (not names or "schema_version" in names)):
        return
    what = f"it has the table {names[0]}" if names else f"its application id is {owner}"
    raise StoreError(
        f"{path}: is a database of another program ({what}); nothing was written to it. Name a store that "
        "isogloss made, or a file that does not exist yet"
    )


class _SQLiteSession(Session):
    clock = "CAST((julianday('now') - 2440587.5) * 86400000000 AS INTEGER)"

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.connection = connection

    def run(self, sql: str, values: Sequence[Any] = ()) -> list[Row]:
        return self.connection.execute(sql, tuple(values)).fetchall()

    def many(self, sql: str, rows: Iterable[Sequence[Any]]) -> None:
        self.connection.executemany(sql, rows)


def _translated(path: Path, error: sqlite3.Error) -> StoreError:
    name = getattr(error, "sqlite_errorname", "") or ""
    if name.startswith("SQLITE_FULL"):
        return _full(path)
    if name.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
        return StoreBusyError(f"{path}: another process is writing; nothing was written, try again")
    if name.startswith(("SQLITE_CORRUPT", "SQLITE_NOTADB")):
        return StoreError(f"{path}: is damaged or no database of isogloss ({error}); restore a backup")
    if name.startswith("SQLITE_READONLY") or (
        name.startswith("SQLITE_CANTOPEN") and path.parent.is_dir() and not os.access(path.parent, os.W_OK)
    ):
        return StoreError(
            f"{path}: the file, its folder or the disk is read-only, and a store must be writable even to be "
            "read; nothing was changed. Make it writable, or copy it to another disk"
        )
    if name.startswith("SQLITE_IOERR"):
        if _is_full(path.parent):
            return _full(path)
        return StoreError(f"{path}: the disk reports an error ({error}); nothing was written. Check the disk")
    if name.startswith("SQLITE_CANTOPEN"):
        return StoreError(f"{path}: cannot be opened; expected a file in a folder that may be written to")
    return StoreError(f"{path}: {error}")


def _full(path: Path) -> StoreFullError:
    return StoreFullError(f"{path}: no room left on the disk; nothing was written. Make room, try again")


def _is_full(folder: Path) -> bool:
    """Whether a disk has less room than SQLite needs to open a store: 32 KiB beside the log."""
    try:
        return shutil.disk_usage(folder).free < MIN_FREE_BYTES
    except OSError:
        return False
