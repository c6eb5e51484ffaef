"""Queries on articles, their revisions and the journal."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

from isogloss.events import Article
from isogloss.store.interface import Row, Session

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_ARTICLE_COLUMNS = "id, lang, title, body, time, source, url"
_SELECT_LINES = (
    "SELECT j.seq, j.kind, a.seq, a.id, coalesce(r.lang, a.lang), coalesce(r.title, a.title), "
    "coalesce(r.body, a.body), coalesce(r.time, a.time), a.source, a.url FROM journal j "
    "LEFT JOIN article a ON a.seq = j.article "
    "LEFT JOIN revision r ON r.article = j.article AND r.number = j.revision "
)
_ROWS_PER_STATEMENT = 200
_NUMBERS_PER_STATEMENT = 500

_MAX_KEY_BYTES, _DIGEST_BYTES = 2_000, 16
"""A longer key ends in a digest: PostgreSQL's indexes have a maximum row size."""

_CANONICAL_JSON = json.JSONEncoder(sort_keys=True, ensure_ascii=True)


class _StoredArticle(NamedTuple):
    """An article's row: number, digest of the text, revision, time and the time that its source claims."""

    seq: int
    digest: str
    revision: int
    time: int
    claimed: str | None


_StoredArticles = dict[str, _StoredArticle]
"""Rows by key."""


@dataclasses.dataclass(frozen=True, slots=True)
class Receipt:
    """The outcome of adding an article: its key, number and status.

    The status is ``new``; ``same``, as stored before; ``revised``, with a new text or claimed time; or
    ``deleted``: it was deleted on request before, see :mod:`~isogloss.store._deletion`, and is not stored.
    """

    key: str
    seq: int
    status: str


@dataclasses.dataclass(frozen=True, slots=True)
class JournalLine:
    """A line of the journal: an article or a revision of one, with the text of that time.

    A line of kind ``update`` has no article: it records that events were brought up to date while no article
    came. A line of kind ``deleted`` is a tombstone: its article was deleted on request.
    """

    seq: int
    kind: str
    number: int
    article: Article | None


def to_micros(moment: datetime) -> int:
    """Convert a time to microseconds since 1970."""
    return (moment - _EPOCH) // timedelta(microseconds=1)


def from_micros(value: int) -> datetime:
    """Convert microseconds since 1970 to a time."""
    return _EPOCH + timedelta(microseconds=value)


def add_articles(session: Session, articles: Iterable[Article], received: int) -> list[Receipt]:
    """Add articles, skip those already stored, and add revisions of those that changed.

    New articles are inserted in batches, revisions one by one. Times are in microseconds since 1970, here and
    in all queries.
    """
    incoming = [(stored_key(article.key), article, content_digest([article])) for article in articles]
    known = _stored_articles(session, [key for key, _, _ in incoming])
    deleted = deleted_numbers(session, [key for key, _, _ in incoming if key not in known])
    new = {one[0]: one for one in reversed(incoming) if one[0] not in known and one[0] not in deleted}
    known |= _insert(session, list(new.values())[::-1], received)
    lines: list[tuple[str, int, int, int]] = []
    receipts = []
    for key, article, digest in incoming:
        if key in deleted:
            receipts.append(Receipt(key, deleted[key], "deleted"))
            continue
        first = new.pop(key, None) is not None
        status = "new" if first else _compare(session, key, article, digest, known, received)
        receipts.append(Receipt(key, known[key].seq, status))
        if status != "same":
            kind = "article" if first else "revision"
            lines.append((kind, known[key].seq, known[key].revision, received))
    session.run_many("INSERT INTO journal (kind, article, revision, received) VALUES (?, ?, ?, ?)", lines)
    return receipts


def _stored_articles(session: Session, keys: Sequence[str]) -> _StoredArticles:
    """Look up articles by key."""
    found: _StoredArticles = {}
    for start in range(0, len(keys), _ROWS_PER_STATEMENT):
        part = keys[start : start + _ROWS_PER_STATEMENT]
        marks = ", ".join("?" * len(part))
        rows = session.run(
            f"SELECT key, seq, digest, revision, time, claimed FROM article WHERE key IN ({marks})", part
        )
        found.update((row[0], _StoredArticle(*row[1:])) for row in rows)
    return found


def deleted_numbers(session: Session, keys: Sequence[str]) -> dict[str, int]:
    """Return the former numbers of articles that were deleted on request, by key."""
    digests = {key_digest(key): key for key in keys}
    found: dict[str, int] = {}
    for start in range(0, len(digests), _ROWS_PER_STATEMENT):
        part = list(digests)[start : start + _ROWS_PER_STATEMENT]
        marks = ", ".join("?" * len(part))
        rows = session.run(f"SELECT digest, article FROM deletion WHERE digest IN ({marks})", part)
        found.update((digests[digest], int(number)) for digest, number in rows)
    return found


def _insert(session: Session, articles: Sequence[tuple[str, Article, str]], received: int) -> _StoredArticles:
    """Insert new articles in order and return their rows."""
    found: _StoredArticles = {}
    for start in range(0, len(articles), _ROWS_PER_STATEMENT):
        part = articles[start : start + _ROWS_PER_STATEMENT]
        marks = ", ".join([f"({', '.join('?' * 11)}, 0)"] * len(part))
        rows = session.run(
            f"INSERT INTO article (key, {_ARTICLE_COLUMNS}, claimed, digest, received, revision) "
            f"VALUES {marks} "
            "RETURNING key, seq, digest, revision, time, claimed",
            [
                value
                for key, article, digest in part
                for value in (key, *_values(article), article.claimed, digest, received)
            ],
        )
        found.update((row[0], _StoredArticle(*row[1:])) for row in rows)
    return found


def stored_key(key: str) -> str:
    """Shorten a key to a length that every index supports."""
    encoded = key.encode()
    if len(encoded) <= _MAX_KEY_BYTES:
        return key
    start = encoded[: _MAX_KEY_BYTES - 2 * _DIGEST_BYTES - 1].decode(errors="ignore")
    return f"{start} {key_digest(key)}"


def key_digest(key: str) -> str:
    """Return the digest of a key."""
    return hashlib.blake2b(key.encode(), digest_size=_DIGEST_BYTES).hexdigest()


def _compare(
    session: Session, key: str, article: Article, digest: str, known: _StoredArticles, received: int
) -> str:
    """Compare an article with its stored version; write it if it is a revision. Return the status."""
    old = known[key]
    if old.digest == digest and _same_time(article, old):
        return "same"
    _revise(session, article, digest, old.seq, old.revision, received)
    known[key] = _StoredArticle(old.seq, digest, old.revision + 1, to_micros(article.time), article.claimed)
    return "revised"


def _same_time(article: Article, old: _StoredArticle) -> bool:
    """Return whether a source claims the same time as before.

    An article without a time does not correct one, nor does a future time that replaces a past one: rows
    that version 0.1.0 wrote do not hold the claimed time.
    """
    if article.claimed == "" or (article.claimed is not None and old.claimed is None):
        return True
    claimed_before = from_micros(old.time).isoformat() if old.claimed is None else old.claimed
    return claimed_before == (article.time.isoformat() if article.claimed is None else article.claimed)


def _revise(session: Session, article: Article, digest: str, seq: int, revision: int, received: int) -> None:
    """Move the current text to the revisions and replace it."""
    session.run(
        "INSERT INTO revision SELECT seq, revision, lang, title, body, time, received FROM article "
        "WHERE seq = ?",
        [seq],
    )
    session.run(
        "UPDATE article SET id = ?, lang = ?, title = ?, body = ?, time = ?, source = ?, url = ?, "
        "claimed = ?, digest = ?, received = ?, revision = ? WHERE seq = ?",
        [*_values(article), article.claimed, digest, received, revision + 1, seq],
    )


def read_journal(session: Session, seq: int, limit: int) -> list[JournalLine]:
    """Return the journal lines after a line, each with the text of that time."""
    return list(
        map(_line, session.run(f"{_SELECT_LINES} WHERE j.seq > ? ORDER BY j.seq LIMIT ?", [seq, limit]))
    )


def _line(row: Row) -> JournalLine:
    return JournalLine(row[0], row[1], row[2] or 0, _article(row[3:]) if row[2] else None)


def read_last_line(session: Session) -> int:
    """Return the number of the last journal line; 0 if there is none."""
    row = session.one("SELECT max(seq) FROM journal")
    return int(row[0]) if row and row[0] is not None else 0


def count_lines(session: Session, after: int, last: int) -> int:
    """Count the journal lines after one line and up to another."""
    ((count,),) = session.run("SELECT count(*) FROM journal WHERE seq > ? AND seq <= ?", [after, last])
    return int(count)


def record_update(session: Session, received: int) -> None:
    """Append a line that says that events were brought up to date, for replays to do the same here."""
    session.run(
        "INSERT INTO journal (kind, article, revision, received) VALUES ('update', 0, 0, ?)", [received]
    )


def read_articles(
    session: Session, numbers: Sequence[int], *, bodies: bool = True, max_body: int | None = None
) -> dict[int, Article]:
    """Return articles by number, with or without bodies; numbers that do not exist are left out.

    ``max_body`` cuts the bodies to this number of characters.
    """
    found: dict[int, Article] = {}
    body = "''" if not bodies else "body" if max_body is None else f"substr(body, 1, {int(max_body)})"
    fields = _ARTICLE_COLUMNS.replace("body", body)
    for start in range(0, len(numbers), _NUMBERS_PER_STATEMENT):
        part = numbers[start : start + _NUMBERS_PER_STATEMENT]
        marks = ", ".join("?" * len(part))
        rows = session.run(f"SELECT seq, {fields} FROM article WHERE seq IN ({marks})", part)
        found.update((row[0], _article(row[1:])) for row in rows)
    return found


def article_numbers(
    session: Session, *, event: str | None = None, cluster: int | None = None, before: int, limit: int
) -> list[int]:
    """Return the numbers of articles (of an event or cluster) before a number, the last first."""
    conditions: list[str] = ["seq < ?"]
    values: list[int | str] = [before]
    if cluster is not None:
        conditions.append("seq IN (SELECT article FROM member WHERE cluster = ?)")
        values.append(cluster)
    if event is not None:
        alias = session.one("SELECT event FROM alias WHERE id = ?", [event])
        clusters = "SELECT id FROM cluster WHERE event = ?"
        conditions.append(f"seq IN (SELECT article FROM member WHERE cluster IN ({clusters}))")
        values.append(alias[0] if alias else event)
    rows = session.run(
        f"SELECT seq FROM article WHERE {' AND '.join(conditions)} ORDER BY seq DESC LIMIT ?",
        [*values, limit],
    )
    return [int(row[0]) for row in rows]


def article_change_times(session: Session, numbers: Sequence[int]) -> dict[int, int]:
    """Return when the present version of each article arrived, in microseconds since 1970."""
    if not numbers:
        return {}
    marks = ", ".join("?" * len(numbers))
    rows = session.run(
        f"SELECT article, max(received) FROM journal WHERE article IN ({marks}) GROUP BY article",
        list(numbers),
    )
    return {int(number): int(received) for number, received in rows}


def line_times(session: Session, lines: Sequence[int]) -> dict[int, int]:
    """Return when journal lines were written, in microseconds since 1970."""
    if not lines:
        return {}
    marks = ", ".join("?" * len(lines))
    rows = session.run(f"SELECT seq, received FROM journal WHERE seq IN ({marks})", list(lines))
    return {int(line): int(received) for line, received in rows}


def article_numbers_from(session: Session, first: int) -> list[int]:
    """Return the numbers of all articles from a number on."""
    return [int(row[0]) for row in session.run("SELECT seq FROM article WHERE seq >= ?", [first])]


def read_revisions(session: Session, number: int) -> list[dict[str, Any]]:
    """Return the earlier texts of an article, the oldest first."""
    fields = ("number", "lang", "title", "body", "time", "received")
    rows = session.run(
        f"SELECT {', '.join(fields)} FROM revision WHERE article = ? ORDER BY number", [number]
    )
    return [dict(zip(fields, row, strict=True)) for row in rows]


def _values(article: Article) -> list[Any]:
    return [
        article.id,
        article.lang,
        article.title,
        article.body,
        to_micros(article.time),
        article.source,
        article.url,
    ]


def _article(row: Row) -> Article:
    key, lang, title, body, time, source, url = row
    return Article(key, lang, title, body, from_micros(time), source, url)


def content_digest(articles: Sequence[Article], *, times: bool = False) -> str:
    """Return the digest of articles, with or without the times that their sources claim."""
    content = _CANONICAL_JSON.encode([_content(article, times) for article in articles])
    return hashlib.blake2b(content.encode(), digest_size=16).hexdigest()


def _content(article: Article, times: bool) -> dict[str, str]:
    claimed = article.time.isoformat() if article.claimed is None else article.claimed
    return {
        "id": article.id,
        "lang": article.lang,
        "title": article.title,
        "body": article.body,
        "time": claimed if times else "",
        "source": article.source,
        "url": article.url,
    }
