"""The store: articles, their journal, and the clusters, links and events made from them."""

from __future__ import annotations

import json
import os
import uuid
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar

from isogloss.events import Article
from isogloss.exceptions import StoreError
from isogloss.store.interface import Database, Session
from isogloss.store.postgres import PostgresDatabase
from isogloss.store.queries import (
    CompiledUpdate,
    EventQuery,
    EventQueryResult,
    FeedHealth,
    JournalLine,
    Overview,
    PublicIds,
    RebuildResult,
    Receipt,
    SavedSearch,
    SourceCount,
    StoredCheckpoint,
    Update,
    add_articles,
    add_feeds,
    add_saved_search,
    add_verdict,
    apply_update,
    article_change_times,
    article_numbers,
    article_numbers_from,
    article_sources,
    begin_rebuild,
    change_saved_search,
    changed_since,
    checkpoint_lines,
    cluster_links,
    clusters_exist,
    compile_update,
    content_digest,
    count_articles,
    count_events,
    count_lines,
    count_new_and_changed,
    count_sources,
    count_terms,
    current_event_id,
    delete_saved_search,
    event_clusters,
    event_ids,
    event_languages,
    events_of_articles,
    failed_lines,
    find_events,
    find_sharing_events,
    finish_rebuild,
    frequent_terms,
    line_times,
    list_quarantined,
    list_saved_searches,
    locate_article,
    public_ids,
    quarantined_article_numbers,
    quarantined_lines,
    read_articles,
    read_checkpoint,
    read_cluster,
    read_crash_marker,
    read_event,
    read_feed_health,
    read_feeds,
    read_journal,
    read_last_line,
    read_link,
    read_linked_events,
    read_overview,
    read_position,
    read_recent_sources,
    read_revisions,
    read_saved_search,
    read_source_reports,
    read_verdicts,
    rebuild_requested,
    record_failure,
    record_line_start,
    record_update,
    request_rebuild,
    retry_quarantined,
    save_feed,
    to_micros,
)
from isogloss.store.schema import migrate
from isogloss.store.sqlite import SQLiteDatabase, check_application_id

P = ParamSpec("P")
T = TypeVar("T")

REQUEST_RETENTION_US = 24 * 3600 * 1_000_000
"""Time for which the answer to a request with an idempotency key is kept, in microseconds."""

INSTANCE = "instance"
"""The name of the metadata that tell stores apart."""

MAX_RECORD_CHARS = 10_000
"""A quarantined record is cut to this length."""


class Store:
    """A database of articles, their journal, and everything derived from them.

    Parameters
    ----------
    place : path, str or Database
        An SQLite file, or ``postgresql://...``.

    Examples
    --------
    >>> from datetime import UTC, datetime
    >>> store = Store("news.db")
    >>> rain = Article("7", "en", "Rain", "It rains.", datetime(2025, 3, 5, tzinfo=UTC), "The Gull")
    >>> store.add([rain, rain])
    [Receipt(key='The Gull 7', seq=1, status='new'), Receipt(key='The Gull 7', seq=1, status='same')]
    >>> [(line.seq, line.kind, line.article.title) for line in store.journal()]
    [(1, 'article', 'Rain')]
    >>> store.close()
    """

    def __init__(self, place: str | os.PathLike[str] | Database) -> None:
        self.database = place if isinstance(place, Database) else open_database(place)
        try:
            migrate(self.database)
            self.database.mark_as_store()
        except BaseException:
            self.database.close()
            raise

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the database."""
        self.database.close()

    def _read(self, query: Callable[Concatenate[Session, P], T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """Run a query in a read transaction of its own."""
        with self.database.read() as session:
            return query(session, *args, **kwargs)

    def _write(self, query: Callable[Concatenate[Session, P], T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """Run a query in a write transaction of its own."""
        with self.database.write() as session:
            return query(session, *args, **kwargs)

    # Articles and the journal

    def add(
        self,
        articles: Sequence[Article],
        *,
        key: str = "",
        now: datetime | None = None,
        refused: Sequence[tuple[str, str, Any]] = (),
    ) -> list[Receipt]:
        """Add articles; they are on disk when this returns.

        Parameters
        ----------
        articles : sequence of Article
            In order of arrival. An article with a known key is a redelivery or, if its text differs, a
            revision.
        key : str
            An idempotency key. A repeated request with the same articles changes nothing and gets the same
            answer; one with other articles is refused.
        now : datetime, optional
            The time of arrival.
        refused : sequence of (reason, message, record)
            Invalid records, to be quarantined in the same transaction.
        """
        return self._write(ingest_articles, articles, key=key, now=now, refused=refused)

    def journal(self, after: int = 0, limit: int = 1000) -> list[JournalLine]:
        """Return the journal lines after a line, in order."""
        return self._read(read_journal, after, limit)

    def last_line(self) -> int:
        """Return the number of the last journal line; 0 if there is none."""
        return self._read(read_last_line)

    def count_lines(self, after: int, last: int) -> int:
        """Count the journal lines after one line and up to another."""
        return self._read(count_lines, after, last)

    def record_update(self, now: datetime | None = None) -> None:
        """Append a journal line saying that events are brought up to date here."""
        self._write(record_update, to_micros(now or datetime.now(UTC)))

    def articles(
        self, numbers: Sequence[int], *, bodies: bool = True, max_body: int | None = None
    ) -> dict[int, Article]:
        """Return articles by number; reading them without bodies, or with the beginnings, is faster."""
        return self._read(read_articles, numbers, bodies=bodies, max_body=max_body)

    def article_numbers(
        self, *, event: str | None = None, cluster: int | None = None, before: int, limit: int
    ) -> list[int]:
        """Return the numbers of articles (of an event or cluster) before a number, the last first."""
        return self._read(article_numbers, event=event, cluster=cluster, before=before, limit=limit)

    def article_numbers_from(self, first: int) -> list[int]:
        """Return the numbers of all articles from a number on."""
        return self._read(article_numbers_from, first)

    def article_change_times(self, numbers: Sequence[int]) -> dict[int, int]:
        """Return when the present version of each article arrived, in microseconds since 1970."""
        return self._read(article_change_times, numbers)

    def line_times(self, lines: Sequence[int]) -> dict[int, int]:
        """Return when journal lines were written, in microseconds since 1970."""
        return self._read(line_times, lines)

    def revisions(self, number: int) -> list[dict[str, Any]]:
        """Return the earlier texts of an article, the oldest first."""
        return self._read(read_revisions, number)

    # The read model: clusters, links and events

    def apply(self, update: Update | CompiledUpdate) -> None:
        """Write what changed since the journal line that the read model stands at."""
        # Compiling takes longer than writing, and other writers wait for the transaction.
        self._write(apply_update, compile_update(update) if isinstance(update, Update) else update)

    def position(self, name: str = "events") -> int:
        """Return the journal line that the read model stands at, or other progress by its name."""
        return self._read(read_position, name)

    def events(self, query: EventQuery | None = None) -> EventQueryResult:
        """Return one page of the events that match a query."""
        return self._read(find_events, query or EventQuery())

    def event(self, name: str) -> dict[str, Any] | None:
        """Return an event with its clusters and the links between them, by its current or a former id."""
        with self.database.read() as session:
            event = read_event(session, name)
            if event is not None:
                event["clusters"] = event_clusters(session, event["id"])
                own = {cluster["id"] for cluster in event["clusters"]}
                links = cluster_links(session, sorted(own))
                event["links"] = [link for link in links if own.issuperset((link["a"], link["b"]))]
        return event

    def event_summary(self, name: str) -> dict[str, Any] | None:
        """Return an event without clusters and links, by its current or a former id."""
        return self._read(read_event, name)

    def current_event_id(self, name: str) -> str | None:
        """Return the id of an event by its current or a former id; None if there is no such event."""
        return self._read(current_event_id, name)

    def event_ids(self) -> set[str]:
        """Return the ids of all events."""
        return self._read(event_ids)

    def languages(self) -> list[str]:
        """Return the languages of all events."""
        return self._read(event_languages)

    def sources(self, limit: int = 500) -> list[str]:
        """Return names of sources of articles."""
        return self._read(article_sources, limit)

    def source_reports(self, event: str) -> list[tuple[str, str, int, int]]:
        """Return source, language, number of articles and time of the first for each source of an event."""
        return self._read(read_source_reports, event)

    def recent_sources(self, limit: int) -> dict[str, tuple[set[str], set[str]]]:
        """Return the sources and the languages of the newest events."""
        return self._read(read_recent_sources, limit)

    def linked_events(self, clusters: Sequence[int]) -> dict[str, float]:
        """Return the other events that clusters are linked to, with the probability of the strongest link."""
        return self._read(read_linked_events, clusters)

    def events_sharing_terms(self, event: str, limit: int) -> tuple[list[str], dict[str, int], int]:
        """Return events that share places or concepts with an event, how frequent these are, and all events.

        The frequency of a term is the number of events that have it.
        """
        with self.database.read() as session:
            counts = count_terms(session, event)
            return find_sharing_events(session, event, counts, limit), counts, count_events(session)

    def changed_events(self, line: int, limit: int = 100) -> list[dict[str, Any]]:
        """Return the events that changed after a journal line."""
        return self._read(changed_since, line, limit)

    def count_new_and_changed(self, line: int) -> tuple[int, int]:
        """Count the events that are new since a journal line, and older ones that have changed since then."""
        return self._read(count_new_and_changed, line)

    def frequent_terms(self, kind: str, events: Sequence[str], limit: int) -> dict[str, int]:
        """Return the terms of a kind that most of some events have, with the numbers of these events."""
        return self._read(frequent_terms, kind, events, limit)

    def overview(self, kind: str, term: str) -> Overview | None:
        """Return what the events of a place, a concept or a source have in common; None if there are none."""
        return self._read(read_overview, kind, term)

    def article_counts(self, events: Sequence[str]) -> dict[str, int]:
        """Count the articles of events, including reprints, which ``size`` leaves out."""
        return self._read(count_articles, events)

    def events_of_articles(self, numbers: Sequence[int]) -> dict[int, str]:
        """Return the event of each article that is in one."""
        return self._read(events_of_articles, numbers)

    def locate_article(self, number: int) -> tuple[int, str] | None:
        """Return the cluster and the event of an article."""
        return self._read(locate_article, number)

    def cluster(self, number: int) -> dict[str, Any] | None:
        """Return a cluster with the numbers of its articles."""
        return self._read(read_cluster, number)

    def clusters_exist(self, *numbers: int) -> bool:
        """Return whether all of these clusters exist."""
        return self._read(clusters_exist, *numbers)

    def link(self, a: int, b: int) -> dict[str, Any] | None:
        """Return the link of two clusters, given in either order."""
        return self._read(read_link, a, b)

    def add_verdict(
        self, a: int, b: int, *, same: bool, note: str, now: datetime | None = None
    ) -> tuple[int, int, int]:
        """Save a user's verdict on a pair of clusters; return its number and an article of each cluster."""
        received = to_micros(now or datetime.now(UTC))
        return self._write(add_verdict, a, b, same=same, note=note, received=received)

    def verdicts(self) -> list[dict[str, Any]]:
        """Return all verdicts, see :func:`~isogloss.store.queries._events.read_verdicts`."""
        return self._read(read_verdicts)

    def request_rebuild(self) -> None:
        """Have the next worker rebuild the read model from the journal.

        The current one stays until then; see :mod:`~isogloss.store.queries._rebuild`.
        """
        self._write(request_rebuild)

    def rebuild_requested(self) -> bool:
        """Return whether the read model is to be rebuilt."""
        return self._read(rebuild_requested)

    def public_ids(self) -> PublicIds:
        """Return the mapping from the numbers of the stream to the ids in the tables."""
        return self._read(public_ids)

    def begin_rebuild(self) -> PublicIds:
        """Empty the tables of a rebuild, and return the ids for it."""
        ids, empty = self._read(begin_rebuild)
        self.apply(empty)
        return ids

    def finish_rebuild(self, ids: PublicIds, result: RebuildResult) -> None:
        """Replace the read model with the rebuilt tables."""
        self.apply(self._read(finish_rebuild, ids, result))

    # The worker: checkpoints, failed attempts, quarantine, preparation

    def checkpoint_lines(self) -> list[int]:
        """Return the journal lines of the stored checkpoints, the newest first."""
        return self._read(checkpoint_lines)

    def checkpoint(self, line: int) -> StoredCheckpoint:
        """Read the checkpoint of a journal line; raise ModelFileError if it is damaged."""
        return self._read(read_checkpoint, line)

    def latest_checkpoint(self) -> tuple[int, bytes] | None:
        """Return the line and the data of the newest checkpoint."""
        with self.database.read() as session:
            lines = checkpoint_lines(session)
            return read_checkpoint(session, lines[0])[:2] if lines else None

    def tallies(self) -> Mapping[str, int]:
        """Return the counters of the store, such as how many articles were pruned."""
        with self.database.read() as session:
            return dict(session.run("SELECT name, count FROM tally ORDER BY name"))

    def record_failure(self, line: int, reason: str, message: str, taken: int | None = None) -> bool:
        """Count a failed attempt at a journal line; return whether the line is now in quarantine."""
        now = to_micros(datetime.now(UTC))
        return self._write(record_failure, line, reason, message, now, taken=taken)

    def record_line_start(self, line: int) -> None:
        """Record that a worker starts a journal line alone, in case it does not survive it."""
        self._write(record_line_start, line)

    def crash_marker(self) -> tuple[bool, int]:
        """Return whether the last worker crashed, and the line it had started alone, or 0."""
        return self._read(read_crash_marker)

    def failed_lines(self) -> dict[int, int]:
        """Return the number of failed attempts by journal line, of lines that are not in quarantine."""
        return self._read(failed_lines)

    def quarantined_lines(self, after: int, last: int) -> set[int]:
        """Return the journal lines in quarantine after one line and up to another."""
        return self._read(quarantined_lines, after, last)

    def quarantined_articles(self, limit: int = 100) -> list[dict[str, Any]]:
        """Return the journal lines in quarantine that were not retried, the newest first, with articles."""
        return self._read(list_quarantined, limit)

    def quarantined_article_numbers(self) -> set[int]:
        """Return the numbers of the articles that have journal lines in quarantine that were not retried."""
        return self._read(quarantined_article_numbers)

    def retry_quarantined(self, lines: Sequence[int] = ()) -> Sequence[int]:
        """Append the articles of quarantined lines to the journal again; of all lines if none is named."""
        return self._write(retry_quarantined, lines, to_micros(datetime.now(UTC)))

    # Saved searches

    def save_search(
        self,
        owner: str,
        name: str,
        query: Mapping[str, Any],
        *,
        max_searches: int,
        now: datetime | None = None,
    ) -> SavedSearch:
        """Save the parameters of a search for an owner: the id of a token, or '' for the installation.

        Raises
        ------
        StoreError
            The owner has a search of this name, or as many searches as allowed.
        """
        moment = to_micros(now or datetime.now(UTC))
        return self._write(add_saved_search, owner, name, query, now=moment, max_searches=max_searches)

    def change_search(
        self, number: int, name: str, query: Mapping[str, Any], *, now: datetime | None = None
    ) -> SavedSearch | None:
        """Replace the name and the parameters of a saved search; None if there is none of this number."""
        return self._write(change_saved_search, number, name, query, now=to_micros(now or datetime.now(UTC)))

    def saved_searches(self, owners: Sequence[str] | None = None) -> list[SavedSearch]:
        """Return the saved searches of some owners, or of all, in the order of their numbers."""
        return self._read(list_saved_searches, owners)

    def saved_search(self, number: int) -> SavedSearch | None:
        """Return a saved search by its number."""
        return self._read(read_saved_search, number)

    def delete_search(self, number: int) -> bool:
        """Delete a saved search; return whether there was one."""
        return self._write(delete_saved_search, number)

    # Everything else that is stored

    def instance_id(self) -> uuid.UUID:
        """Return an id that no other store has; it is made when it is first needed, and backups keep it."""
        known = self.metadata(INSTANCE).get("id")
        if known is None:
            with self.database.write() as session:
                session.run(
                    "INSERT INTO metadata VALUES (?, ?) ON CONFLICT (name) DO NOTHING",
                    [INSTANCE, _json({"id": str(uuid.uuid4())})],
                )
            known = self.metadata(INSTANCE)["id"]
        return uuid.UUID(known)

    def metadata(self, name: str) -> dict[str, Any]:
        """Return the metadata under a name; empty if there is none."""
        with self.database.read() as session:
            row = session.one("SELECT data FROM metadata WHERE name = ?", [name])
        return dict(json.loads(row[0])) if row else {}

    def update_metadata(self, name: str, **changes: Any) -> None:
        """Change some values of the metadata under a name; None removes a value."""
        with self.database.write() as session:
            row = session.one("SELECT data FROM metadata WHERE name = ?", [name])
            merged = (json.loads(row[0]) if row else {}) | changes
            session.run(
                "INSERT INTO metadata VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET data = excluded.data",
                [name, _json({key: value for key, value in merged.items() if value is not None})],
            )

    def feeds(self) -> dict[str, dict[str, Any]]:
        """Return the saved states of feeds by URL, as attributes of :class:`~isogloss.feeds.FeedState`."""
        return self._read(read_feeds)

    def save_feed(self, url: str, state: Mapping[str, Any]) -> None:
        """Save the state of a feed."""
        self._write(save_feed, url, state)

    def add_feeds(self, titles: Mapping[str, str]) -> None:
        """Add feeds by URL and title; those that are known stay as they are."""
        self._write(add_feeds, titles)

    def feed_health(self) -> list[FeedHealth]:
        """Return when feeds were visited, whether that failed, and how many articles they had."""
        return self._read(read_feed_health)

    def source_counts(self, limit: int = 500) -> list[SourceCount]:
        """Return the sources with the most articles, with their languages and their newest article."""
        return self._read(count_sources, limit)

    def models(self) -> list[dict[str, Any]]:
        """Return the name, creation time and evaluation report of each stored model, the newest first."""
        with self.database.read() as session:
            rows = session.run("SELECT name, created, report FROM model ORDER BY created DESC, name")
        return [{"name": row[0], "created": row[1], "report": json.loads(row[2] or "{}")} for row in rows]

    def model(self, name: str) -> tuple[bytes, dict[str, Any]] | None:
        """Return the file and the evaluation report of a stored model."""
        with self.database.read() as session:
            row = session.one("SELECT data, report FROM model WHERE name = ?", [name])
        return (bytes(row[0]), json.loads(row[1] or "{}")) if row else None

    def quarantined(self, limit: int = 100) -> list[dict[str, Any]]:
        """Return the invalid records in quarantine, the newest first."""
        fields = ("seq", "reason", "said", "record", "received")
        with self.database.read() as session:
            rows = session.run(
                f"SELECT {', '.join(fields)} FROM quarantine ORDER BY seq DESC LIMIT ?", [limit]
            )
        return [dict(zip(fields, row, strict=True)) for row in rows]

    def counts(self) -> dict[str, int]:
        """Return the number of rows of each table that users know."""
        tables = ("article", "revision", "journal", "quarantine", "cluster", "link", "event", "feed", "model")
        with self.database.read() as session:
            return {table: int(session.run(f"SELECT count(*) FROM {table}")[0][0]) for table in tables}


def open_database(place: str | os.PathLike[str]) -> Database:
    """Open the database at a PostgreSQL URL or an SQLite file name."""
    text = os.fspath(place)
    if text.startswith(("postgresql://", "postgres://")):
        return PostgresDatabase(text)
    if "://" in text:
        raise StoreError(f"{text!r}: expected a file name or postgresql://user@host/name")
    check_application_id(Path(text))
    return SQLiteDatabase(text)


def ingest_articles(
    session: Session,
    articles: Sequence[Article],
    *,
    key: str = "",
    now: datetime | None = None,
    refused: Sequence[tuple[str, str, Any]] = (),
) -> list[Receipt]:
    """Add articles within a transaction, as :meth:`Store.add` does."""
    received = to_micros(now or datetime.now(UTC))
    digest = content_digest(articles, times=True) if key else ""
    if key and (answer := _previous_answer(session, key, digest, articles)) is not None:
        return answer
    receipts = add_articles(session, articles, received)
    session.run_many(
        "INSERT INTO quarantine (reason, said, record, received) VALUES (?, ?, ?, ?)",
        [
            (_storable(reason), _storable(message), _record_text(record), received)
            for reason, message, record in refused
        ],
    )
    if key:
        _save_answer(session, key, digest, receipts, received)
    return receipts


def _previous_answer(
    session: Session, key: str, digest: str, articles: Sequence[Article]
) -> list[Receipt] | None:
    """Return the answer of an earlier request with this key, if there was one."""
    row = session.one("SELECT digest, answer FROM request WHERE key = ?", [key])
    if row is None:
        return None
    # Version 0.1.0 left times out of the digest.
    if row[0] != digest and row[0] != content_digest(articles):
        raise StoreError(f"the idempotency key {key!r} was used for other articles; use a new key")
    return [Receipt(**receipt) for receipt in json.loads(row[1])]


def _save_answer(session: Session, key: str, digest: str, receipts: Sequence[Receipt], received: int) -> None:
    answer = _json([{"key": each.key, "seq": each.seq, "status": each.status} for each in receipts])
    session.run("DELETE FROM request WHERE received < ?", [received - REQUEST_RETENTION_US])
    session.run("INSERT INTO request VALUES (?, ?, ?, ?)", [key, digest, answer, received])


def _storable(text: str) -> str:
    """Replace lone surrogates and NUL characters, which databases refuse."""
    return text.encode("utf-8", "replace").decode().replace("\0", " ")


def _record_text(record: Any) -> str:
    """Format the beginning of an invalid record as JSON; name its type if that is impossible."""
    try:
        return _json(record)[:MAX_RECORD_CHARS]
    except (ValueError, TypeError, RecursionError):
        return _json(f"a {type(record).__name__} that cannot be written as JSON")


def _json(value: Mapping[str, Any] | Sequence[Any] | Any) -> str:
    return json.dumps(value, ensure_ascii=True, sort_keys=True, default=str)
