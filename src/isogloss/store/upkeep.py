"""Upkeep: backups, restoring them, and consistency checks."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

from isogloss.exceptions import StoreError
from isogloss.store.sqlite import copy_to
from isogloss.store.store import Store

__all__ = ["back_up", "look_over", "restore"]

_BESIDE = ("-wal", "-shm", "-journal")
"""Ends of the names of files that SQLite would take for parts of a new one."""


def back_up(store: Store, path: str | os.PathLike[str]) -> Path:
    """Copy the store to a new file as of one moment, while it is in use.

    The file is there whole or not at all. An existing file is not touched.
    """
    place = Path(path)
    if place.exists():
        raise StoreError(f"{place}: is there already; give the copy a name of its own")
    with _written(place) as partial:
        store.database.backup(partial)
    return place


def restore(copy: str | os.PathLike[str], place: str | os.PathLike[str]) -> Path:
    """Put a copy of an SQLite store in a new place, after a look at its health.

    A copy of PostgreSQL is put back with ``pg_restore``.
    """
    source, target = Path(copy), Path(place)
    for name in ("", *_BESIDE):
        if (there := target.with_name(target.name + name)).exists():
            raise StoreError(f"{there}: is there already; move it away first, so that nothing is lost")
    _check_copy(source)
    with _written(target) as partial, _reading(source) as connection:
        copy_to(connection, partial)
    return target


@contextmanager
def _written(place: Path) -> Iterator[Path]:
    """A file to write that gets its name when it is complete and on the disk; otherwise nothing is left."""
    partial = place.with_name(place.name + ".partial")
    try:
        partial.unlink(missing_ok=True)
        yield partial
        _sync(partial)
        partial.rename(place)
        _sync(place.parent)
    except OSError as error:
        raise StoreError(f"{place}: cannot be written ({error.strerror})") from error
    finally:
        with suppress(OSError):  # a read-only disk
            partial.unlink(missing_ok=True)


def _reading(source: Path) -> closing[sqlite3.Connection]:
    """A connection that only reads.

    SQLite makes a file beside a database with a log even to read it; on a read-only disk, where nobody can
    write to the database either, it does without if there is no log to read.
    """
    log = source.with_name(source.name + "-wal")
    unchanging = not os.access(source.parent, os.W_OK) and not (log.exists() and log.stat().st_size)
    options = "mode=ro&immutable=1" if unchanging else "mode=ro"
    return closing(sqlite3.connect(f"{source.absolute().as_uri()}?{options}", uri=True))


def _check_copy(source: Path) -> None:
    try:
        with _reading(source) as connection:
            (said,) = connection.execute("PRAGMA integrity_check").fetchone()
            connection.execute("SELECT max(version) FROM schema_version").fetchone()
    except sqlite3.Error as error:
        raise StoreError(f"{source}: is no copy of a store ({error}); expected a file of a backup") from error
    if said != "ok":
        raise StoreError(f"{source}: is damaged ({said}); take an older copy")


def look_over(store: Store) -> list[str]:
    """What is wrong with a store: its files, and what its tables say of each other."""
    troubles = store.database.check()
    questions = {
        "articles without a line in the journal": (
            "SELECT count(*) FROM article WHERE seq NOT IN (SELECT article FROM journal)"
        ),
        "lines of the journal without an article": (
            "SELECT count(*) FROM journal WHERE kind <> 'update' AND article NOT IN (SELECT seq FROM article)"
        ),
        "clusters of an event that is not there": (
            "SELECT count(*) FROM cluster WHERE event <> '' AND event NOT IN (SELECT id FROM event)"
        ),
    }
    with store.database.read() as session:
        counted = {what: int(session.run(sql)[0][0]) for what, sql in questions.items()}
    return troubles + [f"{count:,} {what}" for what, count in counted.items() if count]


def _sync(path: Path) -> None:
    """Have the disk hold a file, or the names in a folder."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
