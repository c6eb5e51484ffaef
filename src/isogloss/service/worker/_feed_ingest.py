"""Visits feeds and stores their articles, for ``isogloss watch`` and ``isogloss newsroom``."""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from typing import Any

from isogloss.events import Article, parse_article
from isogloss.events.article import TRUNCATION_NOTES
from isogloss.exceptions import ArticleError, StoreError
from isogloss.feeds import (
    FeedReader,
    FeedState,
    Fetcher,
    FetchLimits,
    ListedFeed,
    PageLimits,
    Visit,
    Watcher,
    is_public,
)
from isogloss.service._background import BackgroundThread
from isogloss.service.settings import FeedSettings, Settings
from isogloss.service.worker._retention import Retention
from isogloss.store import Store, newest_article_time

logger = logging.getLogger(__name__)

STORE_RETRY_S = 5.0
"""Seconds until articles are stored again that the store could not take."""

ALL_PORTS = frozenset(range(1, 1 << 16))


@dataclass(frozen=True, slots=True)
class StoredVisit:
    """The changes that a visit to a feed made in the store."""

    url: str
    """The URL of the feed."""
    new: int
    revised: int
    left_out: int
    """New articles, changed articles, and records in quarantine."""
    pages: int
    summaries: int
    """Records whose text is that of their page, and others for which the page was wanted."""
    error: str
    """Why the visit failed; empty if it did not."""
    older_than_retention: int = 0
    """Articles that the next run of the retention rule would delete."""
    cut: dict[str, int] = field(default_factory=dict)
    """Titles and bodies that were truncated."""

    def as_record(self) -> dict[str, Any]:
        """Return a JSON-compatible record; the last two fields only if there is something to say."""
        record = asdict(self)
        return {name: value for name, value in record.items() if value or name not in _OPTIONAL_FIELDS}


_OPTIONAL_FIELDS = frozenset({"older_than_retention", "cut"})


def make_fetcher(settings: FeedSettings, *, private: bool = False) -> Fetcher:
    """Create a fetcher with the limits of the settings: for public addresses only, or for any."""
    limits = FetchLimits(
        max_bytes=settings.fetch_bytes,
        deadline=settings.fetch_seconds,
        ports=ALL_PORTS if private else FetchLimits().ports,
    )
    allow: Callable[[str], bool] = (lambda _: True) if private else is_public
    return Fetcher(limits, allow=allow, user_agent=settings.user_agent)


def make_watcher(feeds: Iterable[FeedState], settings: FeedSettings, *, private: bool = False) -> Watcher:
    """Create a watcher with the limits of the settings."""
    pages = PageLimits(
        per_visit=settings.pages_per_visit,
        max_bytes=settings.page_bytes,
        parse_seconds=settings.page_parse_seconds,
        full_text_chars=settings.full_text_characters,
        robots_seconds=settings.robots_hours * 3600,
        visit_seconds=settings.visit_seconds,
    )
    return Watcher(
        feeds,
        fetcher=make_fetcher(settings, private=private),
        interval=settings.minutes * 60,
        reader=FeedReader(settings.parse_seconds),
        pages=pages if settings.pages else None,
        pause=settings.host_pause_seconds,
        n_threads=settings.hosts,
        user_agent=settings.user_agent,
    )


class FeedIngest:
    """Visits feeds and stores their articles.

    The states of the feeds are in the store too. With ``private``, private addresses and other ports are
    allowed.
    """

    def __init__(
        self, store: Store, settings: Settings, feeds: Iterable[ListedFeed], *, private: bool = False
    ) -> None:
        self.store, self.settings = store, settings
        titles = {feed.url: feed.title for feed in feeds}
        store.add_feeds(titles)
        known = store.feeds()
        self.watcher = make_watcher(
            [FeedState(**known[url]) for url in titles], settings.feeds, private=private
        )
        self._retention = Retention(store, settings)

    def visit(self) -> Iterator[StoredVisit]:
        """Visit the feeds that are due, once."""
        for visit in self.watcher.visit(time.time()):
            yield self.save(visit)

    def waiting(self) -> list[FeedState]:
        """Return the feeds that are not due yet."""
        now = time.time()
        return [feed for feed in self.watcher.feeds if feed.due > now]

    def stop(self) -> None:
        """Stop visiting; may be called from any thread."""
        self.watcher.stop()

    def save(self, visit: Visit) -> StoredVisit:
        """Store the articles of a visit, then the state of the feed."""
        limits = self.settings.limits
        notes: Counter[str] = Counter()
        newest = partial(newest_article_time, self.store, in_event=False)
        articles: list[Article] = []
        refused: list[tuple[str, str, Any]] = []
        for record in visit.records:
            try:
                article = parse_article(
                    record,
                    newest=newest,
                    notes=notes,
                    max_title=limits.title_characters,
                    max_text=limits.article_characters,
                )
            except ArticleError as error:
                refused.append((error.reason, str(error), record))
            else:
                articles.append(article)
        receipts = self.store.add(articles, refused=refused) if articles or refused else []
        statuses = Counter(receipt.status for receipt in receipts)
        stored = replace(visit.state, articles=visit.state.articles + statuses["new"])
        self.store.save_feed(stored.url, asdict(stored))
        visit.state.articles = stored.articles
        return StoredVisit(
            url=visit.url,
            new=statuses["new"],
            revised=statuses["revised"],
            left_out=len(refused),
            pages=visit.pages,
            summaries=visit.fallbacks.total(),
            error=visit.error,
            older_than_retention=self._retention.older(article.time.timestamp() for article in articles),
            cut=count_truncated(notes),
        )


def count_truncated(notes: Counter[str]) -> dict[str, int]:
    """Count the titles and bodies that were truncated, from the repairs of ``parse_article``."""
    return {name: notes[note] for name, note in TRUNCATION_NOTES.items() if notes[note]}


class FeedThread(BackgroundThread):
    """Watches feeds in a thread, until it is stopped.

    ``on_visit`` is called with the outcome of each visit.
    """

    def __init__(self, ingest: FeedIngest, on_visit: Callable[[StoredVisit], None]) -> None:
        super().__init__("isogloss-feeds")
        self.ingest, self.on_visit = ingest, on_visit

    def stop(self) -> None:
        """Stop the thread; fetches under way are abandoned."""
        self._stop.set()
        self.ingest.stop()
        super().stop()

    def run(self) -> None:
        """Visit feeds whenever they are due."""
        for visit in self.ingest.watcher.watch():
            stored = self._save(visit)
            if stored is None:
                return
            self.on_visit(stored)

    def _save(self, visit: Visit) -> StoredVisit | None:
        """Store a visit, again and again while the store is busy or full; None when the thread stops."""
        while not self._stop.is_set():
            try:
                return self.ingest.save(visit)
            except StoreError as error:
                logger.warning("the articles of %s are stored later: %s", visit.url, error)
                self._stop.wait(STORE_RETRY_S)
        return None
