"""Deletion on request: remove articles and everything derived from them.

What remains of an article is its number, the times of its journal lines, a digest of its key, and when and by
whom it was deleted. The digest keeps the article from being stored again when it is redelivered. Its journal
lines become tombstones, without an article. Checkpoints are deleted, because the stream state holds words of
the article. The next worker rebuilds events as if the article had never come; stories keep their ids.
"""

from __future__ import annotations

import json
import logging
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from isogloss.store._store import Store
from isogloss.store.interface import Session
from isogloss.store.queries import (
    GENERATION,
    READ_MODEL_TABLES,
    UPSERT_PROGRESS,
    key_digest,
    read_position,
    request_rebuild,
    to_micros,
)

logger = logging.getLogger(__name__)

DELETED_TALLY = "deleted"
"""The name of the count of deleted articles."""

_TOMBSTONE = "deleted"
"""The kind of journal lines whose article was deleted."""

_ARTICLES_PER_TRANSACTION = 500

_MIN_DISTINCTIVE_CHARS = 20
"""A text of this length is unlikely to occur in the record of another article."""


def delete_articles(
    store: Store, numbers: Sequence[int], *, who: str, now: datetime | None = None
) -> list[int]:
    """Delete articles and everything derived from them.

    The bytes of deleted rows stay in the database's files until :meth:`~isogloss.store.Database.compact`, and
    in backups.

    Parameters
    ----------
    store : Store
        The store.
    numbers : sequence of int
        The numbers of the articles; those that do not exist are left out.
    who : str
        Who requested the deletion, for the record.
    now : datetime, optional
        The time of the deletion.

    Returns
    -------
    list of int
        The numbers of the articles that were deleted.
    """
    moment = to_micros(now or datetime.now(UTC))
    deleted: list[int] = []
    for start in range(0, len(numbers), _ARTICLES_PER_TRANSACTION):
        with store.database.write() as session:
            deleted += _delete(
                session, sorted({*numbers[start : start + _ARTICLES_PER_TRANSACTION]}), who, moment
            )
    if deleted:
        store.database.forget_deleted_text()
    for number in deleted:
        logger.info("article %d deleted at the request of %s", number, who)
    return deleted


def list_deletions(store: Store) -> list[dict[str, Any]]:
    """Return the number, time and requester of each deletion, the latest first."""
    fields = ("article", "deleted", "who")
    with store.database.read() as session:
        rows = session.run(f"SELECT {', '.join(fields)} FROM deletion ORDER BY deleted DESC, article DESC")
    return [dict(zip(fields, row, strict=True)) for row in rows]


def _delete(session: Session, numbers: Sequence[int], who: str, moment: int) -> list[int]:
    marks = ", ".join("?" * len(numbers))
    found = session.run(
        f"SELECT seq, key, id, source, url, title, body FROM article WHERE seq IN ({marks}) ORDER BY seq",
        numbers,
    )
    for seq, key, *fields in found:
        _delete_records(session, seq, *fields)
        session.run("INSERT INTO deletion VALUES (?, ?, ?, ?)", [seq, key_digest(key), moment, who])
    deleted = [int(row[0]) for row in found]
    if not deleted:
        return deleted
    _forget_in_feeds(session, {name for row in found for name in (row[2], row[4]) if name})
    marks = ", ".join("?" * len(deleted))
    of_articles = f"seq IN (SELECT seq FROM journal WHERE article IN ({marks}))"
    ((first,),) = session.run(f"SELECT min(seq) FROM journal WHERE article IN ({marks})", deleted)
    session.run(f"DELETE FROM attempt WHERE {of_articles}", deleted)
    session.run(f"UPDATE journal SET kind = '{_TOMBSTONE}', revision = 0 WHERE article IN ({marks})", deleted)
    ((line,),) = session.run(
        "INSERT INTO journal (kind, article, revision, received) VALUES (?, ?, 0, ?) RETURNING seq",
        [_TOMBSTONE, deleted[-1], moment],
    )
    stories = session.run(
        f"SELECT DISTINCT c.id, c.event FROM member m JOIN cluster c ON c.id = m.cluster "
        f"WHERE m.article IN ({marks})",
        deleted,
    )
    _move_verdicts(session, deleted)
    session.run(f"DELETE FROM article_text WHERE rowid IN ({marks})", deleted)
    session.run(f"DELETE FROM article WHERE seq IN ({marks})", deleted)
    for cluster in sorted({int(row[0]) for row in stories}):
        _scrub_cluster(session, cluster, {*deleted})
    for event in sorted({str(row[1]) for row in stories}):
        _scrub_event(session, event, line)
    if first <= read_position(session):
        session.run("DELETE FROM snapshot")
        request_rebuild(session)
    for table in READ_MODEL_TABLES:
        session.run(f"DELETE FROM rebuilt_{table}")
    session.run(UPSERT_PROGRESS, [GENERATION, read_position(session, GENERATION) + 1])
    session.run(
        "INSERT INTO tally VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET "
        "count = tally.count + excluded.count",
        [DELETED_TALLY, len(deleted)],
    )
    return deleted


def _delete_records(
    session: Session, seq: int, name: str, source: str, url: str, title: str, body: str
) -> None:
    """Delete saved answers that name an article, and quarantined records of it."""
    session.run("DELETE FROM request WHERE replace(answer, ?, '') <> answer", [f'"seq": {seq},'])
    patterns = [json.dumps(url)[1:-1], *map(_json_pattern, (title, body))]
    for pattern in filter(None, patterns):
        session.run("DELETE FROM quarantine WHERE replace(record, ?, '') <> record", [pattern])
    session.run(
        "DELETE FROM quarantine WHERE replace(record, ?, '') <> record AND replace(record, ?, '') <> record",
        [f'"id": {json.dumps(name)}', f'"source": {json.dumps(source)}'],
    )


def _json_pattern(text: str) -> str:
    """Return the substring of a JSON record that holds a text; a short text must be a whole field."""
    quoted = json.dumps(text)
    return quoted[1:-1] if len(text) >= _MIN_DISTINCTIVE_CHARS else quoted if text else ""


def _forget_in_feeds(session: Session, names: set[str]) -> None:
    """Remove ids and URLs from the saved states of feeds."""
    for url, data in session.run("SELECT url, data FROM feed"):
        state = json.loads(data)
        seen = state.get("seen") or {}  # a list in stores of version 0.1.0
        if not names.isdisjoint(seen):
            kept = [each for each in seen if each not in names]
            state["seen"] = {each: seen[each] for each in kept} if isinstance(seen, dict) else kept
            session.run("UPDATE feed SET data = ? WHERE url = ?", [json.dumps(state), url])


def _move_verdicts(session: Session, deleted: Sequence[int]) -> None:
    """Make verdicts refer to other articles of the same clusters."""
    marks = ", ".join("?" * len(deleted))
    for column in ("article_a", "article_b"):
        session.run(
            f"UPDATE verdict SET {column} = (SELECT min(o.article) FROM member m JOIN member o "
            f"ON o.cluster = m.cluster WHERE m.article = verdict.{column} AND o.article NOT IN ({marks})) "
            f"WHERE {column} IN ({marks})",
            [*deleted, *deleted],
        )


def _scrub_cluster(session: Session, cluster: int, deleted: set[int]) -> None:
    """Describe a cluster by its remaining articles; delete it if there are none."""
    session.run("DELETE FROM link WHERE a = ? OR b = ?", [cluster, cluster])
    left = session.run(
        "SELECT a.title FROM member m JOIN article a ON a.seq = m.article WHERE m.cluster = ? "
        "ORDER BY a.time, a.seq",
        [cluster],
    )
    if not left:
        session.run("DELETE FROM cluster WHERE id = ?", [cluster])
        return
    ((data,),) = session.run("SELECT data FROM cluster WHERE id = ?", [cluster])
    content = json.loads(data)
    content["title"] = left[0][0]
    content["reprints"] = [each for each in content.get("reprints") or () if each not in deleted]
    content["reprint_of"] = {
        copy: one
        for copy, one in (content.get("reprint_of") or {}).items()
        if int(copy) not in deleted and one not in deleted
    }
    _update_row(session, "cluster", cluster, content, size=len(left))


def _scrub_event(session: Session, event: str, line: int) -> None:
    """Describe an event by its remaining articles until it is rebuilt; delete it if there are none."""
    rows = session.run(
        "SELECT a.lang, a.title FROM cluster c JOIN member m ON m.cluster = c.id "
        "JOIN article a ON a.seq = m.article WHERE c.event = ? ORDER BY a.time, a.seq",
        [event],
    )
    if not rows:
        session.run("DELETE FROM event WHERE id = ?", [event])
        session.run("DELETE FROM alias WHERE event = ?", [event])
        return
    row = session.one("SELECT data FROM event WHERE id = ?", [event])
    if row is None:
        return
    content = json.loads(row[0])
    counts = Counter(lang for lang, _ in rows)
    content |= {
        "title": dict(reversed(rows)),
        "languages": dict(counts),
        "summary": {},
        "places": [],
        "concepts": [],
        "timeline": [],
    }
    session.run("DELETE FROM event_term WHERE event = ? AND kind <> 'lang'", [event])
    _update_row(session, "event", event, content, size=len(rows), languages=len(counts), changed=line)


def _update_row(session: Session, table: str, key: int | str, data: dict[str, Any], **columns: int) -> None:
    text = json.dumps(data, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    names = "".join(f", {name} = ?" for name in columns)
    session.run(f"UPDATE {table} SET data = ?{names} WHERE id = ?", [text, *columns.values(), key])
