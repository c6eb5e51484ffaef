"""Articles and the journal: what came, once, in order, with what it was before it changed."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

from isogloss.events import Article
from isogloss.store.interface import Row, Session

__all__ = [
    "Entry",
    "Receipt",
    "add_articles",
    "deleted_numbers",
    "digest_of",
    "from_micros",
    "journal_after",
    "key_digest",
    "micros",
    "note_update",
    "read_articles",
    "stored_key",
]

_START = datetime(1970, 1, 1, tzinfo=UTC)
_FIELDS = "id, lang, title, body, time, source, url"
_LINES = (
    "SELECT j.seq, j.kind, a.seq, a.id, coalesce(r.lang, a.lang), coalesce(r.title, a.title), "
    "coalesce(r.body, a.body), coalesce(r.time, a.time), a.source, a.url FROM journal j "
    "LEFT JOIN article a ON a.seq = j.article "
    "LEFT JOIN revision r ON r.article = j.article AND r.number = j.revision "
)
_PART = 200
"""Articles of one statement."""

_KEY_BYTES, _DIGEST_BYTES = 2_000, 16
"""Of a key, and of the digest that ends one that would be longer: indexes of PostgreSQL take no more."""

_WRITE = json.JSONEncoder(sort_keys=True, ensure_ascii=True)


class _Known(NamedTuple):
    """What the table has of an article: number, digest of the text, revision, time and claimed time."""

    seq: int
    digest: str
    revision: int
    time: int
    claimed: str | None


Known = dict[str, _Known]
"""By key."""


@dataclasses.dataclass(frozen=True, slots=True)
class Receipt:
    """What became of an article: its number, and a status.

    ``new``, ``same`` as it was, ``revised`` if its text or the time that its source states changed, or
    ``deleted`` if it was deleted on request before, see :mod:`~isogloss.store._deletion`, and is not stored.
    """

    key: str
    seq: int
    status: str


@dataclasses.dataclass(frozen=True, slots=True)
class Entry:
    """A line of the journal: an article or a revision of one, with the text it had then.

    A line of kind ``update`` has no article: events were brought up to date then, while nothing came. Nor has
    one of kind ``deleted``: its article was deleted on request.
    """

    seq: int
    kind: str
    number: int
    article: Article | None


def micros(moment: datetime) -> int:
    """Microseconds since 1970."""
    return (moment - _START) // timedelta(microseconds=1)


def from_micros(value: int) -> datetime:
    """The moment of a number of microseconds since 1970."""
    return _START + timedelta(microseconds=value)


def add_articles(session: Session, articles: Iterable[Article], received: int) -> list[Receipt]:
    """Keep articles; one that is there already is kept once, one whose text changed keeps both texts.

    However many there are, new ones take a few statements together; one that changed has its own.

    Parameters
    ----------
    session : Session
        A transaction that writes.
    articles : iterable of Article
        In the order of their arrival.
    received : int
        Microseconds since 1970.
    """
    came = [(stored_key(article.key), article, digest_of([article])) for article in articles]
    known = _known(session, [key for key, _, _ in came])
    deleted = deleted_numbers(session, [key for key, _, _ in came if key not in known])
    new = {one[0]: one for one in reversed(came) if one[0] not in known and one[0] not in deleted}
    known |= _insert(session, list(new.values())[::-1], received)
    lines: list[tuple[str, int, int, int]] = []
    receipts = []
    for key, article, digest in came:
        if key in deleted:
            receipts.append(Receipt(key, deleted[key], "deleted"))
            continue
        first = new.pop(key, None) is not None
        status = "new" if first else _compare(session, key, article, digest, known, received)
        receipts.append(Receipt(key, known[key].seq, status))
        if status != "same":
            kind = "article" if first else "revision"
            lines.append((kind, known[key].seq, known[key].revision, received))
    session.many("INSERT INTO journal (kind, article, revision, received) VALUES (?, ?, ?, ?)", lines)
    return receipts


def _known(session: Session, keys: Sequence[str]) -> Known:
    """What the table has of the articles with these keys."""
    found: Known = {}
    for start in range(0, len(keys), _PART):
        part = keys[start : start + _PART]
        marks = ", ".join("?" * len(part))
        rows = session.run(
            f"SELECT key, seq, digest, revision, time, claimed FROM article WHERE key IN ({marks})", part
        )
        found.update((row[0], _Known(*row[1:])) for row in rows)
    return found


def deleted_numbers(session: Session, keys: Sequence[str]) -> dict[str, int]:
    """Of keys whose articles were deleted on request: the numbers that they had."""
    digests = {key_digest(key): key for key in keys}
    found: dict[str, int] = {}
    for start in range(0, len(digests), _PART):
        part = list(digests)[start : start + _PART]
        marks = ", ".join("?" * len(part))
        rows = session.run(f"SELECT digest, article FROM deletion WHERE digest IN ({marks})", part)
        found.update((digests[digest], int(number)) for digest, number in rows)
    return found


def _insert(session: Session, articles: Sequence[tuple[str, Article, str]], received: int) -> Known:
    """Write articles that are new, in their order, and give them numbers."""
    found: Known = {}
    for start in range(0, len(articles), _PART):
        part = articles[start : start + _PART]
        marks = ", ".join([f"({', '.join('?' * 11)}, 0)"] * len(part))
        rows = session.run(
            f"INSERT INTO article (key, {_FIELDS}, claimed, digest, received, revision) VALUES {marks} "
            "RETURNING key, seq, digest, revision, time, claimed",
            [
                value
                for key, article, digest in part
                for value in (key, *_values(article), article.claimed, digest, received)
            ],
        )
        found.update((row[0], _Known(*row[1:])) for row in rows)
    return found


def stored_key(key: str) -> str:
    """Shorten a key to a length that every index takes."""
    said = key.encode()
    if len(said) <= _KEY_BYTES:
        return key
    start = said[: _KEY_BYTES - 2 * _DIGEST_BYTES - 1].decode(errors="ignore")
    return f"{start} {key_digest(key)}"


def key_digest(key: str) -> str:
    """Digest a key."""
    return hashlib.blake2b(key.encode(), digest_size=_DIGEST_BYTES).hexdigest()


def _compare(session: Session, key: str, article: Article, digest: str, known: Known, received: int) -> str:
    """Tell what an article is whose key is known; write it if it is a revision."""
    old = known[key]
    if old.digest == digest and _same_time(article, old):
        return "same"
    _revise(session, article, digest, old.seq, old.revision, received)
    known[key] = _Known(old.seq, digest, old.revision + 1, micros(article.time), article.claimed)
    return "revised"


def _same_time(article: Article, old: _Known) -> bool:
    """Whether a source states the time that it stated before.

    A source that states no time corrects none. Nor does a time in the future that replaces one of the past:
    rows of older versions of the store do not say what their sources had stated.
    """
    if article.claimed == "" or (article.claimed is not None and old.claimed is None):
        return True
    stated = from_micros(old.time).isoformat() if old.claimed is None else old.claimed
    return stated == (article.time.isoformat() if article.claimed is None else article.claimed)


def _revise(session: Session, article: Article, digest: str, seq: int, revision: int, received: int) -> None:
    """Put the text that was there aside, and the new one in its place."""
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


def journal_after(session: Session, seq: int, limit: int) -> list[Entry]:
    """Lines of the journal after a number, each with the text as it was then."""
    return list(map(_entry, session.run(f"{_LINES} WHERE j.seq > ? ORDER BY j.seq LIMIT ?", [seq, limit])))


def _entry(row: Row) -> Entry:
    return Entry(row[0], row[1], row[2] or 0, _article(row[3:]) if row[2] else None)


def note_update(session: Session, received: int) -> None:
    """Write down that events were brought up to date, so that a replay does it at the same place."""
    session.run(
        "INSERT INTO journal (kind, article, revision, received) VALUES ('update', 0, 0, ?)", [received]
    )


def read_articles(session: Session, numbers: Sequence[int], *, bodies: bool = True) -> dict[int, Article]:
    """Articles by their numbers, with their bodies or without; numbers that are not there are left out."""
    found: dict[int, Article] = {}
    fields = _FIELDS if bodies else _FIELDS.replace("body", "''")
    for start in range(0, len(numbers), 500):
        part = numbers[start : start + 500]
        marks = ", ".join("?" * len(part))
        rows = session.run(f"SELECT seq, {fields} FROM article WHERE seq IN ({marks})", part)
        found.update((row[0], _article(row[1:])) for row in rows)
    return found


def _values(article: Article) -> list[Any]:
    return [
        article.id,
        article.lang,
        article.title,
        article.body,
        micros(article.time),
        article.source,
        article.url,
    ]


def _article(row: Row) -> Article:
    key, lang, title, body, time, source, url = row
    return Article(key, lang, title, body, from_micros(time), source, url)


def digest_of(articles: Sequence[Article], *, times: bool = False) -> str:
    """Digest what articles say, with the times that their sources state or without."""
    content = _WRITE.encode([_said(article, times) for article in articles])
    return hashlib.blake2b(content.encode(), digest_size=16).hexdigest()


def _said(article: Article, times: bool) -> dict[str, str]:
    stated = article.time.isoformat() if article.claimed is None else article.claimed
    return {
        "id": article.id,
        "lang": article.lang,
        "title": article.title,
        "body": article.body,
        "time": stated if times else "",
        "source": article.source,
        "url": article.url,
    }
