"""The database schema, as migration steps.

A released step never changes: a further step corrects it. Each step is one transaction, so a database always
has exactly one version.
"""

from __future__ import annotations

from collections.abc import Callable

from isogloss.events.article import article_key
from isogloss.exceptions import StoreVersionError
from isogloss.store.interface import Database, Session
from isogloss.store.queries import rank_stored_events, stored_key

__all__ = ["STEPS", "Step", "migrate", "version_of"]

Step = tuple[str | Callable[[Session], None], ...]
"""SQL statements, and functions for what SQL cannot do."""


def _separate_keys(session: Session) -> None:
    """Give articles whose URL or id contains blanks a key that no other source can have."""
    name = "CASE WHEN url <> '' THEN url ELSE id END"
    rows = session.run(
        f"SELECT source, {name}, seq FROM article WHERE replace({name}, ' ', '') <> {name} ORDER BY seq"
    )
    session.run_many(
        "UPDATE article SET key = ? WHERE seq = ?",
        [(stored_key(article_key(source, known)), seq) for source, known, seq in rows],
    )


STEPS: tuple[Step, ...] = (
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
    (
        "ALTER TABLE article ADD COLUMN claimed TEXT",
        _separate_keys,
        "ALTER TABLE verdict ADD COLUMN article_a {integer}",
        "ALTER TABLE verdict ADD COLUMN article_b {integer}",
        """UPDATE verdict SET
            article_a = (SELECT min(article) FROM member WHERE cluster = verdict.a),
            article_b = (SELECT min(article) FROM member WHERE cluster = verdict.b)""",
        """INSERT INTO progress SELECT 'last_cluster', coalesce(max(id), 0)
            FROM (SELECT id FROM cluster UNION ALL SELECT a FROM verdict UNION ALL SELECT b FROM verdict)
            AS known""",
        """INSERT INTO progress SELECT 'last_event', coalesce(max(CAST(substr(id, 2) AS {integer})), 0)
            FROM (SELECT id FROM event UNION ALL SELECT id FROM alias) AS known""",
        """CREATE TABLE deletion (
            article {integer} PRIMARY KEY, digest TEXT NOT NULL, deleted {integer} NOT NULL,
            who TEXT NOT NULL)""",
        "CREATE INDEX deletion_digest ON deletion (digest)",
        """CREATE TABLE renamed (
            kind TEXT NOT NULL, number {integer} NOT NULL, id {integer} NOT NULL,
            PRIMARY KEY (kind, number))""",
        """CREATE TABLE rebuilt_cluster (
            id {integer} PRIMARY KEY, lang TEXT NOT NULL, event TEXT NOT NULL, first {integer} NOT NULL,
            last {integer} NOT NULL, size {integer} NOT NULL, data TEXT NOT NULL)""",
        """CREATE TABLE rebuilt_member (
            article {integer} PRIMARY KEY, cluster {integer} NOT NULL)""",
        "CREATE INDEX rebuilt_member_cluster ON rebuilt_member (cluster)",
        """CREATE TABLE rebuilt_link (
            a {integer} NOT NULL, b {integer} NOT NULL, probability DOUBLE PRECISION NOT NULL,
            data TEXT NOT NULL, PRIMARY KEY (a, b))""",
        "CREATE INDEX rebuilt_link_b ON rebuilt_link (b)",
        """CREATE TABLE rebuilt_event (
            id TEXT PRIMARY KEY, first {integer} NOT NULL, last {integer} NOT NULL, size {integer} NOT NULL,
            languages {integer} NOT NULL, changed {integer} NOT NULL, data TEXT NOT NULL)""",
        """CREATE TABLE rebuilt_event_term (
            event TEXT NOT NULL, kind TEXT NOT NULL, term TEXT NOT NULL, PRIMARY KEY (kind, term, event))""",
        "CREATE INDEX rebuilt_event_term_event ON rebuilt_event_term (event)",
    ),
    (
        # Articles are no longer prepared through the store.
        "DROP TABLE prepared",
        "DELETE FROM progress WHERE name IN ('preparing', 'begun')",
        """DELETE FROM tally WHERE name IN
            ('prepared_here', 'prepared_elsewhere', 'prepared_stale', 'prepared_damaged')""",
    ),
    (
        # An empty vector: the model knows no word of the article, or not its language.
        """CREATE TABLE article_point (
            seq {serial}, article {integer} NOT NULL UNIQUE REFERENCES article (seq) ON DELETE CASCADE,
            model TEXT NOT NULL, lang TEXT NOT NULL, vector {blob} NOT NULL)""",
        "CREATE INDEX article_point_model ON article_point (model, seq)",
    ),
    (
        """CREATE TABLE saved_search (
            id {serial}, owner TEXT NOT NULL, name TEXT NOT NULL, query TEXT NOT NULL,
            created {integer} NOT NULL, changed {integer} NOT NULL, UNIQUE (owner, name))""",
        "CREATE INDEX article_source ON article (source, lang, time)",
        *(
            statement
            for prefix in ("", "rebuilt_")
            for statement in (
                f"ALTER TABLE {prefix}member ADD COLUMN source TEXT NOT NULL DEFAULT ''",
                f"UPDATE {prefix}member SET source = "
                f"coalesce((SELECT source FROM article WHERE seq = {prefix}member.article), '')",
                f"ALTER TABLE {prefix}event ADD COLUMN sources {{integer}} NOT NULL DEFAULT 0",
                f"ALTER TABLE {prefix}event ADD COLUMN importance {{integer}} NOT NULL DEFAULT 0",
                f"ALTER TABLE {prefix}event ADD COLUMN created {{integer}} NOT NULL DEFAULT 0",
            )
        ),
        "CREATE INDEX event_importance ON event (importance, id)",
        """CREATE TABLE alert (
            id {serial}, owner TEXT NOT NULL, event TEXT NOT NULL,
            search {integer} REFERENCES saved_search (id) ON DELETE CASCADE, channel TEXT NOT NULL,
            address TEXT NOT NULL, secret TEXT NOT NULL, minutes {integer} NOT NULL,
            created {integer} NOT NULL, line {integer} NOT NULL, next {integer} NOT NULL,
            delivered {integer} NOT NULL, dropped {integer} NOT NULL, error TEXT NOT NULL)""",
        "CREATE INDEX alert_event ON alert (event)",
        """CREATE TABLE outbox (
            seq {serial}, alert {integer} NOT NULL REFERENCES alert (id) ON DELETE CASCADE,
            event TEXT NOT NULL, line {integer} NOT NULL, attempts {integer} NOT NULL DEFAULT 0,
            created {integer} NOT NULL DEFAULT 0)""",
        "CREATE INDEX outbox_alert ON outbox (alert, seq)",
        "CREATE UNIQUE INDEX outbox_waiting ON outbox (alert, event) WHERE attempts = 0",
        rank_stored_events,
        """CREATE TABLE feed_health (
            url TEXT PRIMARY KEY REFERENCES feed (url) ON DELETE CASCADE, title TEXT NOT NULL,
            error TEXT NOT NULL, visited {integer} NOT NULL, succeeded {integer} NOT NULL,
            failed {integer} NOT NULL, due {integer} NOT NULL, failures {integer} NOT NULL,
            articles {integer} NOT NULL)""",
        # Search terms, separated by blanks; articles of older versions get theirs from the worker.
        lambda session: session.create_text_table(),
    ),
)
"""All migration steps; the version of a database is the number of steps applied to it."""


def version_of(database: Database) -> int:
    """Return the number of steps applied to a database; 0 for an empty one."""
    with database.write() as session:
        session.run("CREATE TABLE IF NOT EXISTS schema_version (version INTEGER NOT NULL)")
        row = session.one("SELECT max(version) FROM schema_version")
    return int(row[0]) if row and row[0] is not None else 0


def migrate(database: Database, steps: tuple[Step, ...] = STEPS) -> int:
    """Migrate a database to the current version, one step at a time.

    The database is empty, or of any released version. Returns the number of steps applied. Raises
    StoreVersionError if it is newer than this version of isogloss.
    """
    start = version_of(database)
    if start > len(steps):
        raise StoreVersionError(
            f"the database has schema version {start}, and this isogloss supports up to {len(steps)}; "
            "install a newer isogloss"
        )
    for number in range(start, len(steps)):
        with database.write() as session:
            row = session.one("SELECT max(version) FROM schema_version")
            if row and row[0] is not None and row[0] > number:
                continue
            for statement in steps[number]:
                if callable(statement):
                    statement(session)
                else:
                    session.run(statement.format(**database.column_types))
            session.run("INSERT INTO schema_version VALUES (?)", [number + 1])
    return len(steps) - start
