"""Visit feeds again and again, politely: what is new since the last visit.

The state is plain data, so that whoever keeps it can store it wherever he keeps the rest.
"""

from __future__ import annotations

import dataclasses
import hashlib
import logging
from collections.abc import Iterable, Iterator
from typing import Any, Protocol

from isogloss.exceptions import FeedError
from isogloss.feeds._fetching import Fetcher, Page
from isogloss.feeds._reader import FeedReader
from isogloss.feeds._sitemaps import SitemapEntry
from isogloss.feeds._syndication import Record

__all__ = ["FeedState", "Visit", "Watcher"]

logger = logging.getLogger(__name__)
MAX_SEEN = 5_000
MAX_PAGES = 50
"""Pages that are fetched in one visit."""
MAX_MARK = 2_000
"""Characters of an id that is remembered as it is."""
LONGEST_WAIT = 24 * 3600.0
_DOUBLINGS = 20


@dataclasses.dataclass(slots=True)
class FeedState:
    """What is known of one feed.

    Attributes
    ----------
    url : str
        The feed or the sitemap.
    etag, modified : str
        Of the last answer: an unchanged feed costs next to nothing.
    seen : list of str
        Ids of entries already handed out, the newest last; the oldest are forgotten.
    failures : int
        Visits in a row that failed: the pause doubles with each, and is as long as the server asks for.
    due : float
        Seconds since 1970 of the next visit.
    """

    url: str
    etag: str = ""
    modified: str = ""
    seen: list[str] = dataclasses.field(default_factory=list)
    failures: int = 0
    due: float = 0.0


@dataclasses.dataclass(frozen=True, slots=True)
class Visit:
    """What a visit brought: records that are new, or the error."""

    url: str
    records: list[Record]
    error: str = ""


class _Fetches(Protocol):
    def fetch(self, url: str, *, etag: str = "", modified: str = "") -> Page: ...


class Watcher:
    """Visits every feed that is due.

    Parameters
    ----------
    feeds : iterable of FeedState
        The feeds, with what is known of them.
    fetcher : Fetcher
        How pages are fetched.
    interval : float, default=600
        Seconds between two visits of one feed.
    reader : FeedReader
        How feeds are read.
    """

    def __init__(
        self,
        feeds: Iterable[FeedState],
        *,
        fetcher: _Fetches | None = None,
        interval: float = 600.0,
        reader: FeedReader | None = None,
    ) -> None:
        self.feeds = list(feeds)
        self.fetcher = fetcher or Fetcher()
        self.interval = interval
        self.reader = reader or FeedReader()

    def visit(self, now: float) -> Iterator[Visit]:
        """Visit the feeds that are due at a time, and say what each brought; one bad feed stops no other."""
        for feed in self.feeds:
            if feed.due > now:
                continue
            try:
                records = self._new(feed)
            except FeedError as error:
                feed.failures += 1
                pause = self.interval * 2 ** min(feed.failures, _DOUBLINGS)
                feed.due = now + min(max(pause, error.wait), LONGEST_WAIT)
                yield Visit(feed.url, [], str(error))
            else:
                feed.failures, feed.due = 0, now + self.interval
                yield Visit(feed.url, records)

    def stop(self) -> None:
        """End the process that reads feeds."""
        self.reader.stop()

    def _new(self, feed: FeedState) -> list[Record]:
        page = self.fetcher.fetch(feed.url, etag=feed.etag, modified=feed.modified)
        if not page.changed:
            return []
        try:
            records = self._read(page)
        except FeedError as error:
            raise FeedError(f"{feed.url}: {error}", wait=error.wait) from error
        feed.etag, feed.modified = page.headers.get("etag", ""), page.headers.get("last-modified", "")
        known = set(feed.seen)
        new = [record for record in records if _mark(record) not in known]
        feed.seen = [*feed.seen, *filter(None, map(_mark, new))][-MAX_SEEN:]
        return self._with_bodies(new)

    def _read(self, page: Page) -> list[Record]:
        """Entries of a feed, or pages of a sitemap."""
        start = page.body[:4096].replace(b"\0", b"")
        if b"<urlset" not in start and b"<sitemapindex" not in start:
            return self.reader.read(page.body, page.url)
        sitemap = self.reader.read_sitemap(page.body)
        pages = sitemap.pages or [
            entry
            for index in sorted(sitemap.sitemaps, key=lambda entry: entry.modified)[-1:]
            for entry in self.reader.read_sitemap(self.fetcher.fetch(index.url).body).pages
        ]
        newest = sorted(pages, key=lambda entry: entry.published or entry.modified)[-MAX_PAGES:]
        return [_from_sitemap(entry) for entry in newest if entry.url]

    def _with_bodies(self, records: list[Record]) -> list[Record]:
        """Fetch the pages of records that have no body; not more than ``MAX_PAGES`` in one visit."""
        without = [record for record in records if "body" not in record and record.get("url")]
        for record in without[:MAX_PAGES]:
            try:
                record["body"] = self.fetcher.fetch(record["url"]).body.decode("utf-8", "replace")
            except FeedError as error:
                logger.warning("%s", error)
        return records


def _mark(record: Record) -> str:
    """Return the id or URL of an entry, or a digest of a very long one; empty if it has neither."""
    name = str(record.get("id") or record.get("url") or "")
    if len(name) <= MAX_MARK:
        return name
    return hashlib.blake2b(name.encode("utf-8", "replace"), digest_size=16).hexdigest()


def _from_sitemap(entry: SitemapEntry) -> dict[str, Any]:
    record = {
        "id": entry.url,
        "url": entry.url,
        "title": entry.title,
        "time": entry.published or entry.modified,
        "lang": entry.lang,
        "source": entry.source,
    }
    return {name: value for name, value in record.items() if value}
