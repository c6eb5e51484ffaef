"""The tables, as the steps that lead from one version of them to the next.

A released step never changes: what is wrong with it is mended by a further one. Each step is one
transaction, so that a database is always of one version, whenever the machine stops.
"""

from __future__ import annotations

from isogloss.exceptions import StoreVersionError
from isogloss.store.database import Database

__all__ = ["STEPS", "migrate", "version_of"]

STEPS: tuple[tuple[str, ...], ...] = (
    (
        """CREATE TABLE article (
            seq {serial}, key TEXT NOT NULL UNIQUE, id TEXT NOT NULL, lang TEXT NOT NULL,
            title TEXT NOT NULL, body TEXT NOT NULL, time {integer} NOT NULL, source TEXT NOT NULL,
            url TEXT NOT NULL, digest TEXT NOT NULL, received {integer} NOT NULL,
            revision {integer} NOT NULL)""",
        "CREATE INDEX article_time ON article (time)",
        """CREATE TABLE revision (
            article {integer} NOT NULL REFERENCES article (seq) ON DELETE CASCADE, number {integer} NOT NULL,
            lang TEXT NOT NULL, title TEXT NOT NULL, body TEXT NOT NULL, time {integer} NOT NULL,
            received {integer} NOT NULL, PRIMARY KEY (article, number))""",
        """CREATE TABLE journal (
            seq {serial}, kind TEXT NOT NULL, article {integer} NOT NULL, revision {integer} NOT NULL,
            received {integer} NOT NULL)""",
        """CREATE TABLE request (
            key TEXT PRIMARY KEY, digest TEXT NOT NULL, answer TEXT NOT NULL, received {integer} NOT NULL)""",
        "CREATE INDEX request_received ON request (received)",
        """CREATE TABLE quarantine (
            seq {serial}, reason TEXT NOT NULL, said TEXT NOT NULL, record TEXT NOT NULL,
            received {integer} NOT NULL)""",
        """CREATE TABLE cluster (
            id {integer} PRIMARY KEY, lang TEXT NOT NULL, event TEXT NOT NULL, first {integer} NOT NULL,
            last {integer} NOT NULL, size {integer} NOT NULL, data TEXT NOT NULL)""",
        "CREATE INDEX cluster_event ON cluster (event)",
        """CREATE TABLE member (
            article {integer} PRIMARY KEY REFERENCES article (seq) ON DELETE CASCADE,
            cluster {integer} NOT NULL REFERENCES cluster (id) ON DELETE CASCADE)""",
        "CREATE INDEX member_cluster ON member (cluster)",
        """CREATE TABLE link (
            a {integer} NOT NULL, b {integer} NOT NULL, probability DOUBLE PRECISION NOT NULL,
            data TEXT NOT NULL, PRIMARY KEY (a, b))""",
        "CREATE INDEX link_b ON link (b)",
        """CREATE TABLE event (
            id TEXT PRIMARY KEY, first {integer} NOT NULL, last {integer} NOT NULL, size {integer} NOT NULL,
            languages {integer} NOT NULL, changed {integer} NOT NULL, data TEXT NOT NULL)""",
        "CREATE INDEX event_last ON event (last, id)",
        "CREATE INDEX event_changed ON event (changed, id)",
        """CREATE TABLE event_term (
            event TEXT NOT NULL REFERENCES event (id) ON DELETE CASCADE, kind TEXT NOT NULL,
            term TEXT NOT NULL, PRIMARY KEY (kind, term, event))""",
        "CREATE INDEX event_term_event ON event_term (event)",
        "CREATE TABLE alias (id TEXT PRIMARY KEY, event TEXT NOT NULL)",
        "CREATE TABLE progress (name TEXT PRIMARY KEY, seq {integer} NOT NULL)",
        """CREATE TABLE snapshot (
            name TEXT NOT NULL, seq {integer} NOT NULL, data {blob} NOT NULL, PRIMARY KEY (name, seq))""",
        """CREATE TABLE model (
            name TEXT PRIMARY KEY, created {integer} NOT NULL, report TEXT NOT NULL, data {blob} NOT NULL)""",
        "CREATE TABLE feed (url TEXT PRIMARY KEY, data TEXT NOT NULL)",
        """CREATE TABLE verdict (
            seq {serial}, a {integer} NOT NULL, b {integer} NOT NULL, same {integer} NOT NULL,
            note TEXT NOT NULL, received {integer} NOT NULL)""",
        """CREATE TABLE token (
            id TEXT PRIMARY KEY, secret TEXT NOT NULL, scopes TEXT NOT NULL, label TEXT NOT NULL,
            created {integer} NOT NULL, expires {integer} NOT NULL, revoked {integer} NOT NULL)""",
    ),
    (
        """CREATE TABLE prepared (
            seq {integer} PRIMARY KEY, way {integer} NOT NULL, owner TEXT NOT NULL,
            expires {integer} NOT NULL, data {blob})""",
        "CREATE TABLE tally (name TEXT PRIMARY KEY, count {integer} NOT NULL)",
    ),
    (
        "CREATE TABLE metadata (name TEXT PRIMARY KEY, data TEXT NOT NULL)",
        "CREATE INDEX journal_article ON journal (article)",
    ),
    (
        """CREATE TABLE attempt (
            seq {integer} PRIMARY KEY REFERENCES journal (seq) ON DELETE CASCADE,
            failures {integer} NOT NULL, reason TEXT NOT NULL, said TEXT NOT NULL,
            noted {integer} NOT NULL, quarantined {integer} NOT NULL, retried {integer} NOT NULL)""",
    ),
)
"""Statements of every step; the version of a database is the number of steps it has taken."""


def version_of(database: Database) -> int:
    """Steps that a database has taken; 0 for an empty one."""
    with database.write() as session:
        session.run("CREATE TABLE IF NOT EXISTS schema_version (version INTEGER NOT NULL)")
        row = session.one("SELECT max(version) FROM schema_version")
    return int(row[0]) if row and row[0] is not None else 0


def migrate(database: Database, steps: tuple[tuple[str, ...], ...] = STEPS) -> int:
    """Bring a database to the version of this program, one step at a time.

    Parameters
    ----------
    database : Database
        An empty one, or one of any released version.
    steps : tuple of tuple of str
        Statements of each step.

    Returns
    -------
    int
        The steps that were taken now.

    Raises
    ------
    StoreVersionError
        The database is newer than the program.
    """
    start = version_of(database)
    if start > len(steps):
        raise StoreVersionError(
            f"the database has version {start} and this isogloss knows {len(steps)}; install a newer isogloss"
        )
    for number in range(start, len(steps)):
        with database.write() as session:
            row = session.one("SELECT max(version) FROM schema_version")
            if row and row[0] is not None and row[0] > number:
                continue
            for statement in steps[number]:
                session.run(statement.format(**database.types))
            session.run("INSERT INTO schema_version VALUES (?)", [number + 1])
    return len(steps) - start
