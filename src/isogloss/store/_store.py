"""The store: what came in, what was made of it, and what is needed to go on after a stop."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from isogloss.events import Article
from isogloss.exceptions import StoreError
from isogloss.store.interface import Database, Session
from isogloss.store.postgres import PostgresDatabase
from isogloss.store.queries import (
    Changeset,
    Entry,
    EventPage,
    EventQuery,
    PublicIds,
    Rebuilt,
    Receipt,
    SavedState,
    Update,
    add_articles,
    apply_update,
    begin_line,
    begin_rebuild,
    changed_since,
    cluster_links,
    count_articles,
    digest_of,
    event_clusters,
    failed_lines,
    find_events,
    finish_rebuild,
    journal_after,
    list_quarantined,
    micros,
    note_failure,
    note_update,
    position,
    public_ids,
    quarantined_lines,
    read_articles,
    read_event,
    read_marks,
    read_state,
    rebuild_wanted,
    retry_quarantined,
    state_lines,
    statements,
    want_rebuild,
)
from isogloss.store.schema import migrate
from isogloss.store.sqlite import SQLiteDatabase, check_owner

__all__ = ["Store", "open_database", "take_in"]

KEPT_REQUESTS = 24 * 3600 * 1_000_000
"""Microseconds for which the answer to a request with a key is kept."""


class Store:
    """Articles, revisions, journal, and all that is derived from them, in one database.

    Parameters
    ----------
    place : path, str or Database
        A file of SQLite, or ``postgresql://...``.

    Examples
    --------
    >>> from datetime import UTC, datetime
    >>> store = Store("news.db")
    >>> rain = Article("7", "en", "Rain", "It rains.", datetime(2025, 3, 5, tzinfo=UTC), "The Gull")
    >>> store.add([rain, rain])
    [Receipt(key='The Gull 7', seq=1, status='new'), Receipt(key='The Gull 7', seq=1, status='same')]
    >>> [(entry.seq, entry.kind, entry.article.title) for entry in store.journal()]
    [(1, 'article', 'Rain')]
    >>> store.close()
    """

    def __init__(self, place: str | os.PathLike[str] | Database) -> None:
        self.database = place if isinstance(place, Database) else open_database(place)
        try:
            migrate(self.database)
            self.database.claim()
        except BaseException:
            self.database.close()
            raise

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Give the database back."""
        self.database.close()

    def add(
        self,
        articles: Sequence[Article],
        *,
        key: str = "",
        now: datetime | None = None,
        refused: Sequence[tuple[str, str, Any]] = (),
    ) -> list[Receipt]:
        """Keep articles; they are on the disk when this returns.

        Parameters
        ----------
        articles : sequence of Article
            In the order of their arrival. One whose key is known is a redelivery or, with another text, a
            revision.
        key : str
            The name of this request. Sent again with the same articles it changes nothing and has the same
            answer; with others it is refused.
        now : datetime, optional
            When they came.
        refused : sequence of (reason, sentence, record)
            What could not be taken: it goes to the quarantine in the same transaction.
        """
        with self.database.write() as session:
            return take_in(session, articles, key=key, now=now, refused=refused)

    def journal(self, after: int = 0, limit: int = 1000) -> list[Entry]:
        """Lines of the journal after a number, in order."""
        with self.database.read() as session:
            return journal_after(session, after, limit)

    def note_update(self, now: datetime | None = None) -> None:
        """Write down in the journal that events are brought up to date here."""
        with self.database.write() as session:
            note_update(session, micros(now or datetime.now(UTC)))

    def articles(self, numbers: Sequence[int], *, bodies: bool = True) -> dict[int, Article]:
        """Articles by number; without bodies they are read faster."""
        with self.database.read() as session:
            return read_articles(session, numbers, bodies=bodies)

    def revisions(self, number: int) -> list[dict[str, Any]]:
        """Earlier texts of an article, the oldest first."""
        fields = ("number", "lang", "title", "body", "time", "received")
        with self.database.read() as session:
            rows = session.run(
                f"SELECT {', '.join(fields)} FROM revision WHERE article = ? ORDER BY number", [number]
            )
        return [dict(zip(fields, row, strict=True)) for row in rows]

    def apply(self, update: Update | Changeset) -> None:
        """Write what changed since the line of the journal that the tables stand at."""
        changeset = statements(update) if isinstance(update, Update) else update
        with self.database.write() as session:
            apply_update(session, changeset)

    def position(self, name: str = "events") -> int:
        """The line of the journal that clusters, links and events stand at, or other progress by its name."""
        with self.database.read() as session:
            return position(session, name)

    def tallies(self) -> Mapping[str, int]:
        """Return the counters of the store, such as how many articles were pruned."""
        with self.database.read() as session:
            return dict(session.run("SELECT name, count FROM tally ORDER BY name"))

    def state_lines(self) -> list[int]:
        """Return the lines of the journal that saved states are of, the newest first."""
        with self.database.read() as session:
            return state_lines(session)

    def state(self, line: int) -> SavedState:
        """Read a saved state; ModelFileError if it is damaged."""
        with self.database.read() as session:
            return read_state(session, line)

    def snapshot(self) -> tuple[int, bytes] | None:
        """The newest state to start again from, with its line of the journal."""
        with self.database.read() as session:
            lines = state_lines(session)
            return read_state(session, lines[0])[:2] if lines else None

    def count_lines(self, after: int, last: int) -> int:
        """Count the lines of the journal after one and up to another."""
        with self.database.read() as session:
            ((n,),) = session.run("SELECT count(*) FROM journal WHERE seq > ? AND seq <= ?", [after, last])
        return int(n)

    def want_rebuild(self) -> None:
        """Have the next worker make clusters, links and events anew from the journal.

        Those that there are stay until then; see :mod:`~isogloss.store.queries._rebuild`.
        """
        with self.database.write() as session:
            want_rebuild(session)

    def rebuild_wanted(self) -> bool:
        """Whether clusters, links and events are to be made anew."""
        with self.database.read() as session:
            return rebuild_wanted(session)

    def public_ids(self) -> PublicIds:
        """Return the ids that the tables use for the numbers of the stream."""
        with self.database.read() as session:
            return public_ids(session)

    def begin_rebuild(self) -> PublicIds:
        """Empty the tables of a rebuild, and return the ids that it gives."""
        with self.database.read() as session:
            ids, empty = begin_rebuild(session)
        self.apply(empty)
        return ids

    def finish_rebuild(self, ids: PublicIds, rebuilt: Rebuilt) -> None:
        """Put the tables of a rebuild in the place of the others."""
        with self.database.read() as session:
            swap = finish_rebuild(session, ids, rebuilt)
        self.apply(swap)

    def events(self, query: EventQuery | None = None) -> EventPage:
        """One page of the events that a query asks for."""
        with self.database.read() as session:
            return find_events(session, query or EventQuery())

    def event(self, name: str) -> dict[str, Any] | None:
        """An event with its clusters and their links, by its id or one it had before."""
        with self.database.read() as session:
            told = read_event(session, name)
            if told is not None:
                told["clusters"] = event_clusters(session, told["id"])
                told["links"] = cluster_links(session, [cluster["id"] for cluster in told["clusters"]])
        return told

    def article_counts(self, events: Sequence[str]) -> dict[str, int]:
        """How many articles some events have, by their ids; with reprints, which ``size`` leaves out."""
        with self.database.read() as session:
            return count_articles(session, events)

    def changed(self, line: int, limit: int = 100) -> list[dict[str, Any]]:
        """Events that changed after a line of the journal."""
        with self.database.read() as session:
            return changed_since(session, line, limit)

    def metadata(self, name: str) -> dict[str, Any]:
        """Read what is remembered about the store under a name; empty if nothing is."""
        with self.database.read() as session:
            row = session.one("SELECT data FROM metadata WHERE name = ?", [name])
        return dict(json.loads(row[0])) if row else {}

    def update_metadata(self, name: str, **changes: Any) -> None:
        """Change some values of what is remembered under a name; None removes a value."""
        with self.database.write() as session:
            row = session.one("SELECT data FROM metadata WHERE name = ?", [name])
            merged = (json.loads(row[0]) if row else {}) | changes
            session.run(
                "INSERT INTO metadata VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET data = excluded.data",
                [name, _json({key: value for key, value in merged.items() if value is not None})],
            )

    def feeds(self) -> dict[str, dict[str, Any]]:
        """What is known of feeds, by their URLs."""
        with self.database.read() as session:
            return {url: json.loads(data) for url, data in session.run("SELECT url, data FROM feed")}

    def keep_feed(self, url: str, data: Mapping[str, Any]) -> None:
        """Keep what is known of a feed."""
        with self.database.write() as session:
            session.run(
                "INSERT INTO feed VALUES (?, ?) ON CONFLICT (url) DO UPDATE SET data = excluded.data",
                [url, _json(data)],
            )

    def quarantined(self, limit: int = 100) -> list[dict[str, Any]]:
        """Records that could not be taken, the newest first."""
        fields = ("seq", "reason", "said", "record", "received")
        with self.database.read() as session:
            rows = session.run(
                f"SELECT {', '.join(fields)} FROM quarantine ORDER BY seq DESC LIMIT ?", [limit]
            )
        return [dict(zip(fields, row, strict=True)) for row in rows]

    def note_failure(self, line: int, reason: str, said: str, taken: int | None = None) -> bool:
        """Count a failed attempt at a journal line; whether the line is in quarantine now."""
        with self.database.write() as session:
            return note_failure(session, line, reason, said, micros(datetime.now(UTC)), taken=taken)

    def begin_line(self, line: int) -> None:
        """Note that a worker begins a journal line alone, in case the worker does not survive it."""
        with self.database.write() as session:
            begin_line(session, line)

    def worker_marks(self) -> tuple[bool, int]:
        """Whether the last worker ended without a proper stop, and the line it had begun alone, or 0."""
        with self.database.read() as session:
            return read_marks(session)

    def failed_lines(self) -> dict[int, int]:
        """Failed attempts by journal line, of lines that are not in quarantine."""
        with self.database.read() as session:
            return failed_lines(session)

    def quarantined_lines(self, after: int, last: int) -> set[int]:
        """Journal lines in quarantine, after one line and up to another."""
        with self.database.read() as session:
            return quarantined_lines(session, after, last)

    def quarantined_articles(self, limit: int = 100) -> list[dict[str, Any]]:
        """Journal lines in quarantine that were not retried, the newest first, with their articles."""
        with self.database.read() as session:
            return list_quarantined(session, limit)

    def retry_quarantined(self, lines: Sequence[int] = ()) -> Sequence[int]:
        """Append the articles of quarantined lines to the journal again; all of them if none is named."""
        with self.database.write() as session:
            return retry_quarantined(session, lines, micros(datetime.now(UTC)))

    def counts(self) -> dict[str, int]:
        """How many there are of each kind of thing."""
        tables = ("article", "revision", "journal", "quarantine", "cluster", "link", "event", "feed", "model")
        with self.database.read() as session:
            return {table: int(session.run(f"SELECT count(*) FROM {table}")[0][0]) for table in tables}


def open_database(place: str | os.PathLike[str]) -> Database:
    """The database at a place: a URL of PostgreSQL, or a file of SQLite."""
    text = os.fspath(place)
    if text.startswith(("postgresql://", "postgres://")):
        return PostgresDatabase(text)
    if "://" in text:
        raise StoreError(f"{text!r}: expected a file name or postgresql://user@host/name")
    check_owner(Path(text))
    return SQLiteDatabase(text)


def take_in(
    session: Session,
    articles: Sequence[Article],
    *,
    key: str = "",
    now: datetime | None = None,
    refused: Sequence[tuple[str, str, Any]] = (),
) -> list[Receipt]:
    """What :meth:`Store.add` does, within a transaction."""
    received = micros(now or datetime.now(UTC))
    digest = digest_of(articles, times=True) if key else ""
    if key and (answer := _answered(session, key, digest, articles)) is not None:
        return answer
    receipts = add_articles(session, articles, received)
    session.many(
        "INSERT INTO quarantine (reason, said, record, received) VALUES (?, ?, ?, ?)",
        [(_plain(reason), _plain(said), _shown(record), received) for reason, said, record in refused],
    )
    if key:
        _remember(session, key, digest, receipts, received)
    return receipts


def _answered(session: Session, key: str, digest: str, articles: Sequence[Article]) -> list[Receipt] | None:
    """Return the answer that a request with this key has had; digests of older versions have no times."""
    row = session.one("SELECT digest, answer FROM request WHERE key = ?", [key])
    if row is None:
        return None
    if row[0] != digest and row[0] != digest_of(articles):
        raise StoreError(f"the request key {key!r} was used for other articles; take a new key for new ones")
    return [Receipt(**receipt) for receipt in json.loads(row[1])]


def _remember(session: Session, key: str, digest: str, receipts: Sequence[Receipt], received: int) -> None:
    answer = _json([{"key": each.key, "seq": each.seq, "status": each.status} for each in receipts])
    session.run("DELETE FROM request WHERE received < ?", [received - KEPT_REQUESTS])
    session.run("INSERT INTO request VALUES (?, ?, ?, ?)", [key, digest, answer, received])


def _plain(text: str) -> str:
    """A text without lone surrogates and zeros, which databases refuse."""
    return text.encode("utf-8", "replace").decode().replace("\0", " ")


def _shown(record: Any) -> str:
    """The beginning of a refused record as JSON; of one that JSON cannot hold, what kind it is."""
    try:
        return _json(record)[:10_000]
    except (ValueError, TypeError, RecursionError):
        return _json(f"a {type(record).__name__} that cannot be written as JSON")


def _json(value: Mapping[str, Any] | Sequence[Any] | Any) -> str:
    return json.dumps(value, ensure_ascii=True, sort_keys=True, default=str)
