"""The SQLite database: one file, one writer, readers that never wait.

The writer commits through the write-ahead log with ``synchronous=FULL``: a commit that has returned is
synced to disk. Writers in other processes queue at ``BEGIN IMMEDIATE``.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from math import log
from pathlib import Path
from typing import Any

from isogloss.exceptions import StoreBusyError, StoreError, StoreFullError
from isogloss.store.interface import Database, Row, Session, TextColumn

__all__ = ["SQLiteDatabase", "check_application_id", "copy_database"]

APPLICATION_ID = 0x69736F67
"""Marks a file as an isogloss store in its header: "isog"."""

BUSY_TIMEOUT_S = 30.0
"""Time that a writer waits for another."""

MIN_FREE_BYTES = 1 << 16
"""With less free disk space than this, an I/O error means that the disk is full."""

_MERGE_PAGES = 500
"""Pages of a text index that are merged in one transaction."""

_WAL_RESET_FIXED = (3, 51, 3)
"""Before this version, two connections that reset the log at the same moment can corrupt the database."""


class SQLiteDatabase(Database):
    """An SQLite database file.

    Parameters
    ----------
    path : path
        The file; created if it does not exist.
    busy_timeout : float
        Seconds a writer waits for another before it raises StoreBusyError.

    Examples
    --------
    >>> database = SQLiteDatabase("small.db")
    >>> with database.write() as session:
    ...     _ = session.run("CREATE TABLE word (form TEXT)")
    ...     session.run_many("INSERT INTO word VALUES (?)", [["rain"], ["snow"]])
    >>> with database.read() as session:
    ...     session.run("SELECT count(*) FROM word")
    [(2,)]
    >>> database.close()
    """

    column_types = {"serial": "INTEGER PRIMARY KEY AUTOINCREMENT", "blob": "BLOB", "integer": "INTEGER"}  # noqa: RUF012

    def __init__(self, path: str | os.PathLike[str], *, busy_timeout: float = BUSY_TIMEOUT_S) -> None:
        self.path = Path(path)
        self.busy_timeout = busy_timeout
        self._lock = threading.Lock()
        self._idle: list[sqlite3.Connection] = []
        self._open: list[sqlite3.Connection] = []
        self._closed = False
        self._writer = self._connect()

    @contextmanager
    def write(self) -> Iterator[Session]:
        """Open a transaction on the only writing connection."""
        if not self._lock.acquire(timeout=self.busy_timeout):
            raise StoreBusyError(
                f"{self.path}: another thread has been writing for {self.busy_timeout:g} seconds"
            )
        try:
            with self._translate_errors():
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
        """Open a read transaction on a connection of its own."""
        with self._translate_errors(), self._read_connection() as connection:
            yield _SQLiteSession(connection)

    def backup(self, path: Path) -> None:
        """Copy the database to a new file with SQLite's backup API."""
        with self._translate_errors(), self._read_connection() as connection:
            copy_database(connection, path)

    def mark_as_store(self) -> None:
        """Set the application id in the header of the file."""
        with self._translate_errors(), self._lock:
            if self._writer.execute("PRAGMA application_id").fetchone()[0] != APPLICATION_ID:
                self._writer.execute(f"PRAGMA application_id={APPLICATION_ID}")

    def check_integrity(self) -> list[str]:
        """Run SQLite's checks of the file and of the foreign keys, and read the text index."""
        with self.read() as session:
            damage = [str(row[0]) for row in session.run("PRAGMA integrity_check") if row[0] != "ok"]
            damage += [
                f"table {row[0]}: row {row[1]} refers to a missing row of {row[2]}"
                for row in session.run("PRAGMA foreign_key_check")
            ]
        return damage + self._check_text_index()

    def _check_text_index(self) -> list[str]:
        """Read every term of the text index, which SQLite's own check covers from version 3.44 on only."""
        if not self._has_text_index():
            return []
        try:
            with self._lock:  # a temporary table needs the connection that may write; nothing else is written
                self._writer.execute(
                    "CREATE VIRTUAL TABLE IF NOT EXISTS temp.text_term "
                    "USING fts5vocab (main, article_text, row)"
                )
                self._writer.execute("SELECT sum(doc) FROM temp.text_term").fetchone()
        except sqlite3.DatabaseError as error:
            return [f"the search index is damaged ({error}); isogloss doctor --compact makes it anew"]
        return []

    def _has_text_index(self) -> bool:
        with self.read() as session:
            return session.one("SELECT 1 FROM sqlite_master WHERE name = 'article_text'") is not None

    def compact(self) -> None:
        """Rewrite the file with ``VACUUM`` and truncate the log; others can read but not write meanwhile.

        Raises
        ------
        StoreBusyError
            Another process uses the database, so the log cannot be truncated.
        """
        if self._check_text_index():
            with self.write() as session:
                session.run("INSERT INTO article_text (article_text) VALUES ('rebuild')")
        self.forget_deleted_text()
        with self._translate_errors(), self._lock:
            self._writer.execute("VACUUM")
            (busy, _, _) = self._writer.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        if busy:
            raise StoreBusyError(
                f"{self.path}: another process is reading it, so deleted rows stay in the log; "
                "stop that process and try again"
            )

    def forget_deleted_text(self) -> None:
        """Merge the parts of the text index, which keep the words of deleted rows until then.

        Each transaction merges some pages only, so other writers do not wait long.
        """
        exists = self._has_text_index()
        pages = -_MERGE_PAGES  # a negative number has all parts merged, not only those of one level
        while exists and self._merge(pages):
            pages = _MERGE_PAGES

    def _merge(self, pages: int) -> bool:
        """Merge some pages of the text index; return whether there was anything to do."""
        with self.write() as session:
            ((before,),) = session.run("SELECT total_changes()")
            session.run("INSERT INTO article_text (article_text, rank) VALUES ('merge', ?)", [pages])
            ((after,),) = session.run("SELECT total_changes()")
        return int(after) - int(before) > 1  # the statement itself counts as one

    def describe(self) -> dict[str, str]:
        """Return product, version and file, and a warning if the version has a known bug."""
        description = {"product": "SQLite", "version": sqlite3.sqlite_version, "place": str(self.path)}
        if sqlite3.sqlite_version_info < _WAL_RESET_FIXED:
            description["warning"] = (
                f"SQLite {sqlite3.sqlite_version} can corrupt a database when two processes reset its log at "
                f"the same moment (fixed in {'.'.join(map(str, _WAL_RESET_FIXED))}); let one process write"
            )
        return description

    def free_bytes(self) -> int | None:
        """Return the free space on the disk of the file."""
        try:
            return shutil.disk_usage(self.path.absolute().parent).free
        except OSError:
            return None

    def close(self) -> None:
        """Close all connections, which merges the log into the file."""
        with self._lock:
            self._closed = True
            for connection in [*self._open]:
                connection.close()
            self._open.clear()
            self._idle.clear()

    @contextmanager
    def _read_connection(self) -> Iterator[sqlite3.Connection]:
        connection = self._idle_reader()
        try:
            connection.execute("BEGIN")
            yield connection
        finally:
            with suppress(sqlite3.Error):
                connection.execute("ROLLBACK")
            self._idle.append(connection)

    def _idle_reader(self) -> sqlite3.Connection:
        """Return an idle read connection, or open another."""
        try:
            return self._idle.pop()
        except IndexError:
            connection = self._connect()
            connection.execute("PRAGMA query_only=ON")
            return connection

    def _connect(self) -> sqlite3.Connection:
        if self._closed:
            raise StoreError(f"{self.path}: the database is closed; open it again")
        with self._translate_errors():
            connection = sqlite3.connect(
                self.path, timeout=self.busy_timeout, isolation_level=None, check_same_thread=False
            )
            try:
                for pragma in (
                    "trusted_schema=OFF",
                    "foreign_keys=ON",
                    "journal_mode=WAL",
                    "synchronous=FULL",
                ):
                    connection.execute(f"PRAGMA {pragma}")
                connection.create_function("ln", 1, log, deterministic=True)  # missing in some builds
            except sqlite3.Error:
                connection.close()
                raise
        self._open.append(connection)
        return connection

    @contextmanager
    def _translate_errors(self) -> Iterator[None]:
        """Raise SQLite's errors as StoreError, with the file and what to do."""
        try:
            yield
        except sqlite3.Error as error:
            raise _translate_error(self.path, error) from error


def copy_database(connection: sqlite3.Connection, path: Path) -> None:
    """Copy a database, including its log, to a new file.

    Raises StoreError if the copy cannot be written.
    """
    copy = sqlite3.connect(path)
    try:
        connection.backup(copy)
        copy.execute("PRAGMA journal_mode=DELETE")
    except sqlite3.Error as error:
        raise _translate_error(path, error) from error
    finally:
        copy.close()


def check_application_id(path: Path) -> None:
    """Refuse a database of another program before anything is written to it.

    Raises StoreError for an SQLite database that isogloss did not create.

    Examples
    --------
    >>> database = sqlite3.connect("addresses.db")
    >>> _ = database.execute("CREATE TABLE person (name TEXT)")
    >>> database.close()
    >>> check_application_id(Path("addresses.db"))
    Traceback (most recent call last):
        ...
    isogloss.exceptions.StoreError: addresses.db: is the database of another program ...
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
        raise _translate_error(path, error) from error
    if owner == APPLICATION_ID or (owner == 0 and (not names or "schema_version" in names)):
        return
    what = f"it has the table {names[0]}" if names else f"its application id is {owner}"
    raise StoreError(
        f"{path}: is the database of another program ({what}); nothing was written to it. Name an "
        "isogloss store, or a file that does not exist yet"
    )


class _SQLiteSession(Session):
    now_sql = "CAST((julianday('now') - 2440587.5) * 86400000000 AS INTEGER)"

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.connection = connection

    def run(self, sql: str, values: Sequence[Any] = ()) -> list[Row]:
        return self.connection.execute(sql, tuple(values)).fetchall()

    def run_many(self, sql: str, rows: Iterable[Sequence[Any]]) -> None:
        self.connection.executemany(sql, rows)

    def create_text_table(self) -> None:
        """Create the table as an FTS5 table, whose tokeniser does nothing but split at blanks."""
        self.run(
            "CREATE VIRTUAL TABLE article_text USING fts5 (version UNINDEXED, title, body, keys, "
            "detail=column, tokenize=\"ascii tokenchars '_'\")"
        )

    def matching_text(self, column: TextColumn, words: Sequence[Sequence[str]]) -> tuple[str, list[Any]]:
        """Return a query with an FTS5 expression."""
        quoted = ([f'"{word.replace(chr(34), "")}"' for word in some] for some in words)
        expression = " AND ".join(f"({' OR '.join(some)})" for some in quoted)
        columns = "title body" if column == "text" else column
        return (
            "SELECT rowid FROM article_text WHERE article_text MATCH ? ORDER BY rowid DESC",
            [f"{{{columns}}} : ({expression})"],
        )


def _translate_error(path: Path, error: sqlite3.Error) -> StoreError:
    name = getattr(error, "sqlite_errorname", "") or ""
    if name.startswith("SQLITE_FULL"):
        return _disk_full(path)
    if name.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
        return StoreBusyError(f"{path}: another process is writing; nothing was written, try again")
    if name.startswith(("SQLITE_CORRUPT", "SQLITE_NOTADB")):
        return StoreError(f"{path}: is damaged or not an isogloss store ({error}); restore a backup")
    if name.startswith("SQLITE_READONLY") or (
        name.startswith("SQLITE_CANTOPEN") and path.parent.is_dir() and not os.access(path.parent, os.W_OK)
    ):
        return StoreError(
            f"{path}: the file, its folder or the disk is read-only, and SQLite must write even to read a "
            "store; nothing was changed. Make it writable, or copy it to another disk"
        )
    if name.startswith("SQLITE_IOERR"):
        if _is_disk_full(path.parent):
            return _disk_full(path)
        return StoreError(
            f"{path}: the disk reported an error ({error}); nothing was written. Check the disk"
        )
    if "no such module: fts5" in str(error):
        return StoreError(
            f"{path}: this SQLite ({sqlite3.sqlite_version}) was built without FTS5, which search needs; use "
            "a Python whose SQLite has it, or PostgreSQL"
        )
    if name.startswith("SQLITE_CANTOPEN"):
        return StoreError(f"{path}: cannot be opened; expected a file in a writable folder")
    return StoreError(f"{path}: {error}")


def _disk_full(path: Path) -> StoreFullError:
    return StoreFullError(f"{path}: the disk is full; nothing was written. Free some space and try again")


def _is_disk_full(folder: Path) -> bool:
    """Return whether a disk has less space than SQLite needs to open a store: 32 KiB beside the log."""
    try:
        return shutil.disk_usage(folder).free < MIN_FREE_BYTES
    except OSError:
        return False
