"""Upkeep: backups, restoring them, and consistency checks."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

from isogloss.exceptions import ModelFileError, StoreError
from isogloss.store._store import Store
from isogloss.store.sqlite import copy_to

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
    """Check a store: its files, and whether its tables agree with each other; return what is wrong."""
    troubles = store.database.check()
    for line in store.state_lines():
        try:
            store.state(line)
        except ModelFileError as error:
            troubles.append(str(error))
    with store.database.read() as session:
        counted = {what: int(session.run(sql)[0][0]) for what, sql in _QUESTIONS.items()}
    return troubles + [f"{count:,} {what}" for what, count in counted.items() if count]


_QUESTIONS = {
    "articles without a line in the journal": (
        "SELECT count(*) FROM article WHERE seq NOT IN (SELECT article FROM journal)"
    ),
    "lines of the journal without an article": (
        "SELECT count(*) FROM journal WHERE kind NOT IN ('update', 'deleted') "
        "AND article NOT IN (SELECT seq FROM article)"
    ),
    "clusters of an event that is not there": (
        "SELECT count(*) FROM cluster WHERE event <> '' AND event NOT IN (SELECT id FROM event)"
    ),
    "events without a cluster": "SELECT count(*) FROM event WHERE id NOT IN (SELECT event FROM cluster)",
    "events of more languages than their clusters": (
        "SELECT count(*) FROM event WHERE languages > "
        "(SELECT count(DISTINCT lang) FROM cluster WHERE cluster.event = event.id)"
    ),
    "members of a cluster that are not there, or whose cluster is not": (
        "SELECT count(*) FROM member m LEFT JOIN article a ON a.seq = m.article "
        "LEFT JOIN cluster c ON c.id = m.cluster WHERE a.seq IS NULL OR c.id IS NULL"
    ),
    "articles in a cluster of another language": (
        "SELECT count(*) FROM member m JOIN article a ON a.seq = m.article "
        "JOIN cluster c ON c.id = m.cluster "
        "LEFT JOIN revision r ON r.article = a.seq AND r.number = 0 WHERE coalesce(r.lang, a.lang) <> c.lang"
    ),
    "clusters whose size is not the number of their articles": (
        "SELECT count(*) FROM cluster c "
        "WHERE c.size <> (SELECT count(*) FROM member m WHERE m.cluster = c.id)"
    ),
    "clusters or events with an id above the highest that was given": (
        "SELECT (SELECT count(*) FROM cluster WHERE id > (SELECT p.seq FROM progress p JOIN progress l "
        "ON l.name = 'lines' WHERE p.name = 'last_cluster')) + (SELECT count(*) FROM event "
        "WHERE CAST(substr(id, 2) AS BIGINT) > (SELECT p.seq FROM progress p JOIN progress l "
        "ON l.name = 'lines' WHERE p.name = 'last_event'))"
    ),
}
"""What is counted; all of it should be none."""


def _sync(path: Path) -> None:
    """Have the disk hold a file, or the names in a folder."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
