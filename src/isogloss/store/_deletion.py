"""Deletion on request: an article goes with its traces, whatever was made of it.

What remains is its number, the times of its journal lines, a digest of its key, when it was deleted, and by
whom. The digest is how a later delivery of the same article is recognised and not stored again. Journal lines
become tombstones: they have their numbers and no article. Saved states go, because the stream remembers
words; events are made anew by the next worker, as if the article had never come, and stories keep their ids.
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
    PUT_PROGRESS,
    TABLES,
    key_digest,
    micros,
    position,
    want_rebuild,
)

__all__ = ["DELETED", "delete_articles", "deletions"]

logger = logging.getLogger(__name__)

DELETED = "deleted"
"""The tally that counts deleted articles, and the kind of their journal lines."""

_PART = 500
"""Articles of one transaction."""

_LONG = 20
"""Characters of a text that is hardly found in records of other articles."""


def delete_articles(
    store: Store, numbers: Sequence[int], *, who: str, now: datetime | None = None
) -> list[int]:
    """Delete articles with their traces.

    The bytes of deleted rows stay in the database's files until :meth:`~isogloss.store.Database.compact`, and
    in backups for as long as these are kept.

    Parameters
    ----------
    store : Store
        The store.
    numbers : sequence of int
        Articles by their numbers; those that are not there are left out.
    who : str
        Who asks for it; it is written down.
    now : datetime, optional
        When.

    Returns
    -------
    list of int
        The numbers of the articles that were deleted.
    """
    moment = micros(now or datetime.now(UTC))
    deleted: list[int] = []
    for start in range(0, len(numbers), _PART):
        with store.database.write() as session:
            deleted += _delete(session, sorted({*numbers[start : start + _PART]}), who, moment)
    for number in deleted:
        logger.info("article %d was deleted on request of %s", number, who)
    return deleted


def deletions(store: Store) -> list[dict[str, Any]]:
    """List the articles that were deleted on request: number, time and who asked, the last first."""
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
    for seq, key, *said in found:
        _delete_requests(session, seq, *said)
        session.run("INSERT INTO deletion VALUES (?, ?, ?, ?)", [seq, key_digest(key), moment, who])
    gone = [int(row[0]) for row in found]
    if not gone:
        return gone
    _forget_in_feeds(session, {name for row in found for name in (row[2], row[4]) if name})
    marks = ", ".join("?" * len(gone))
    of_articles = f"seq IN (SELECT seq FROM journal WHERE article IN ({marks}))"
    ((first,),) = session.run(f"SELECT min(seq) FROM journal WHERE article IN ({marks})", gone)
    session.run(f"DELETE FROM attempt WHERE {of_articles}", gone)
    session.run(f"UPDATE journal SET kind = '{DELETED}', revision = 0 WHERE article IN ({marks})", gone)
    ((line,),) = session.run(
        "INSERT INTO journal (kind, article, revision, received) VALUES (?, ?, 0, ?) RETURNING seq",
        [DELETED, gone[-1], moment],
    )
    stories = session.run(
        f"SELECT DISTINCT c.id, c.event FROM member m JOIN cluster c ON c.id = m.cluster "
        f"WHERE m.article IN ({marks})",
        gone,
    )
    _move_verdicts(session, gone)
    session.run(f"DELETE FROM article WHERE seq IN ({marks})", gone)
    for cluster in sorted({int(row[0]) for row in stories}):
        _scrub_cluster(session, cluster, {*gone})
    for event in sorted({str(row[1]) for row in stories}):
        _scrub_event(session, event, line)
    if first <= position(session):
        session.run("DELETE FROM snapshot")
        want_rebuild(session)
    for table in TABLES:
        session.run(f"DELETE FROM rebuilt_{table}")
    session.run(PUT_PROGRESS, [GENERATION, position(session, GENERATION) + 1])
    session.run(
        "INSERT INTO tally VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET "
        "count = tally.count + excluded.count",
        [DELETED, len(gone)],
    )
    return gone


def _delete_requests(
    session: Session, seq: int, name: str, source: str, url: str, title: str, body: str
) -> None:
    """Delete answers that name an article, and records like it that were refused."""
    session.run("DELETE FROM request WHERE replace(answer, ?, '') <> answer", [f'"seq": {seq},'])
    needles = [json.dumps(url)[1:-1], *map(_needle, (title, body))]
    for needle in filter(None, needles):
        session.run("DELETE FROM quarantine WHERE replace(record, ?, '') <> record", [needle])
    session.run(
        "DELETE FROM quarantine WHERE replace(record, ?, '') <> record AND replace(record, ?, '') <> record",
        [f'"id": {json.dumps(name)}', f'"source": {json.dumps(source)}'],
    )


def _needle(text: str) -> str:
    """Return what a record as JSON has in it if it has a text; a short text must be the whole of a field."""
    quoted = json.dumps(text)
    return quoted[1:-1] if len(text) >= _LONG else quoted if text else ""


def _forget_in_feeds(session: Session, names: set[str]) -> None:
    """Take ids out of the lists of what feeds have brought."""
    for url, data in session.run("SELECT url, data FROM feed"):
        told = json.loads(data)
        seen = told.get("seen") or []
        if not names.isdisjoint(seen):
            told["seen"] = [each for each in seen if each not in names]
            session.run("UPDATE feed SET data = ? WHERE url = ?", [json.dumps(told, sort_keys=True), url])


def _move_verdicts(session: Session, gone: Sequence[int]) -> None:
    """Have verdicts refer to other articles of the same clusters."""
    marks = ", ".join("?" * len(gone))
    for column in ("article_a", "article_b"):
        session.run(
            f"UPDATE verdict SET {column} = (SELECT min(o.article) FROM member m JOIN member o "
            f"ON o.cluster = m.cluster WHERE m.article = verdict.{column} AND o.article NOT IN ({marks})) "
            f"WHERE {column} IN ({marks})",
            [*gone, *gone],
        )


def _scrub_cluster(session: Session, cluster: int, gone: set[int]) -> None:
    """Give a cluster the title of an article that is left; without any, it goes."""
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
    told = json.loads(data)
    told["title"] = left[0][0]
    told["reprints"] = [each for each in told.get("reprints") or () if each not in gone]
    told["reprint_of"] = {
        copy: one
        for copy, one in (told.get("reprint_of") or {}).items()
        if int(copy) not in gone and one not in gone
    }
    _put_data(session, "cluster", cluster, told, size=len(left))


def _scrub_event(session: Session, event: str, line: int) -> None:
    """Describe an event by the titles that are left, until it is made anew; without any, it goes."""
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
    told = json.loads(row[0])
    counts = Counter(lang for lang, _ in rows)
    told |= {
        "title": dict(reversed(rows)),
        "languages": dict(counts),
        "summary": {},
        "places": [],
        "concepts": [],
        "timeline": [],
    }
    session.run("DELETE FROM event_term WHERE event = ? AND kind <> 'lang'", [event])
    _put_data(session, "event", event, told, size=len(rows), languages=len(counts), changed=line)


def _put_data(session: Session, table: str, key: int | str, data: dict[str, Any], **columns: int) -> None:
    text = json.dumps(data, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    names = "".join(f", {name} = ?" for name in columns)
    session.run(f"UPDATE {table} SET data = ?{names} WHERE id = ?", [text, *columns.values(), key])
