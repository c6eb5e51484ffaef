"""Backups, restoring them, and consistency checks."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

from isogloss.exceptions import ModelFileError, StoreError
from isogloss.io import sync_folder
from isogloss.store._store import Store
from isogloss.store.sqlite import copy_database

_SQLITE_SUFFIXES = ("-wal", "-shm", "-journal")
"""Suffixes of files that SQLite would take for parts of a new database."""


def back_up(store: Store, path: str | os.PathLike[str]) -> Path:
    """Copy a consistent snapshot of the store to a new file while it is in use.

    The file is written atomically. An existing file is not touched.
    """
    target = Path(path)
    if target.exists():
        raise StoreError(f"{target}: already exists; choose another name for the backup")
    with _atomic_path(target) as partial:
        store.database.backup(partial)
    return target


def restore(backup: str | os.PathLike[str], target: str | os.PathLike[str]) -> Path:
    """Restore a backup of an SQLite store after checking it. The target must not exist.

    Restore a backup of PostgreSQL with ``pg_restore``.
    """
    source, target = Path(backup), Path(target)
    for name in ("", *_SQLITE_SUFFIXES):
        if (existing := target.with_name(target.name + name)).exists():
            raise StoreError(f"{existing}: already exists; move it away first, so that nothing is lost")
    _check_backup(source)
    with _atomic_path(target) as partial, _open_read_only(source) as connection:
        copy_database(connection, partial)
    return target


@contextmanager
def _atomic_path(target: Path) -> Iterator[Path]:
    """Yield a temporary path that is synced and renamed to the target on success, else removed."""
    partial = target.with_name(target.name + ".partial")
    try:
        partial.unlink(missing_ok=True)
        yield partial
        with open(partial, "r+b") as file:
            os.fsync(file.fileno())
        partial.rename(target)
        sync_folder(target.parent)
    except OSError as error:
        raise StoreError(f"{target}: cannot be written ({error.strerror})") from error
    finally:
        with suppress(OSError):  # a read-only disk
            partial.unlink(missing_ok=True)


def _open_read_only(source: Path) -> closing[sqlite3.Connection]:
    """Open a read-only connection.

    SQLite creates a shared-memory file even to read a database in WAL mode. On a read-only disk, where nobody
    can write to the database either, ``immutable`` avoids that if the log is empty.
    """
    log = source.with_name(source.name + "-wal")
    immutable = not os.access(source.parent, os.W_OK) and not (log.exists() and log.stat().st_size)
    options = "mode=ro&immutable=1" if immutable else "mode=ro"
    return closing(sqlite3.connect(f"{source.absolute().as_uri()}?{options}", uri=True))


def _check_backup(source: Path) -> None:
    try:
        with _open_read_only(source) as connection:
            (result,) = connection.execute("PRAGMA integrity_check").fetchone()
            connection.execute("SELECT max(version) FROM schema_version").fetchone()
    except sqlite3.Error as error:
        raise StoreError(
            f"{source}: is not a backup of a store ({error}); expected a file that backup wrote"
        ) from error
    if result != "ok":
        raise StoreError(f"{source}: is damaged ({result}); use an older backup")


def check_store(store: Store) -> list[str]:
    """Check the files and the consistency of the tables; return the problems found."""
    problems = store.database.check_integrity()
    for line in store.checkpoint_lines():
        try:
            store.checkpoint(line)
        except ModelFileError as error:
            problems.append(str(error))
    with store.database.read() as session:
        counted = {what: int(session.run(sql)[0][0]) for what, sql in _INCONSISTENCIES.items()}
    return problems + [f"{count:,} {what}" for what, count in counted.items() if count]


_INCONSISTENCIES = {
    "articles without a journal line": (
        "SELECT count(*) FROM article WHERE seq NOT IN (SELECT article FROM journal)"
    ),
    "journal lines without an article": (
        "SELECT count(*) FROM journal WHERE kind NOT IN ('update', 'deleted') "
        "AND article NOT IN (SELECT seq FROM article)"
    ),
    "search terms of missing articles": (
        "SELECT count(*) FROM article_text WHERE rowid NOT IN (SELECT seq FROM article)"
    ),
    "clusters of a missing event": (
        "SELECT count(*) FROM cluster WHERE event <> '' AND event NOT IN (SELECT id FROM event)"
    ),
    "events without a cluster": "SELECT count(*) FROM event WHERE id NOT IN (SELECT event FROM cluster)",
    "events with more languages than their clusters": (
        "SELECT count(*) FROM event WHERE languages > "
        "(SELECT count(DISTINCT lang) FROM cluster WHERE cluster.event = event.id)"
    ),
    "cluster members whose article or cluster is missing": (
        "SELECT count(*) FROM member m LEFT JOIN article a ON a.seq = m.article "
        "LEFT JOIN cluster c ON c.id = m.cluster WHERE a.seq IS NULL OR c.id IS NULL"
    ),
    "articles in a cluster of another language": (
        "SELECT count(*) FROM member m JOIN article a ON a.seq = m.article "
        "JOIN cluster c ON c.id = m.cluster "
        "LEFT JOIN revision r ON r.article = a.seq AND r.number = 0 WHERE coalesce(r.lang, a.lang) <> c.lang"
    ),
    "clusters whose size differs from the number of their articles": (
        "SELECT count(*) FROM cluster c "
        "WHERE c.size <> (SELECT count(*) FROM member m WHERE m.cluster = c.id)"
    ),
    "clusters or events with an id above the highest that was used": (
        "SELECT (SELECT count(*) FROM cluster WHERE id > (SELECT p.seq FROM progress p JOIN progress l "
        "ON l.name = 'lines' WHERE p.name = 'last_cluster')) + (SELECT count(*) FROM event "
        "WHERE CAST(substr(id, 2) AS BIGINT) > (SELECT p.seq FROM progress p JOIN progress l "
        "ON l.name = 'lines' WHERE p.name = 'last_event'))"
    ),
}
"""Queries that count inconsistencies; all should be zero."""
