"""Poll feeds for new entries, with conditional requests and exponential backoff.

The state of a feed is plain data that the caller can store anywhere.
"""

from __future__ import annotations

import dataclasses
import hashlib
import logging
from collections.abc import Iterable, Iterator
from typing import Protocol

from isogloss.exceptions import FeedError
from isogloss.feeds._fetcher import Fetcher, FetchResponse
from isogloss.feeds._parsing import FeedReader, Record, SitemapEntry

logger = logging.getLogger(__name__)
MAX_SEEN_IDS = 5_000
MAX_PAGES_PER_VISIT = 50
MAX_ID_CHARS = 2_000
"""A longer entry id is remembered by its digest."""
MAX_PAUSE_S = 24 * 3600.0
_MAX_DOUBLINGS = 20


@dataclasses.dataclass(slots=True)
class FeedState:
    """The state of one feed between visits.

    Attributes
    ----------
    url : str
        The URL of the feed or sitemap.
    etag, modified : str
        ``ETag`` and ``Last-Modified`` of the last response, for conditional requests.
    seen : list of str
        Ids of known entries, the newest last; the oldest are dropped.
    failures : int
        Consecutive failed visits. The pause doubles with each, and is at least what ``Retry-After`` asks for.
    due : float
        Unix time of the next visit.
    """

    url: str
    etag: str = ""
    modified: str = ""
    seen: list[str] = dataclasses.field(default_factory=list)
    failures: int = 0
    due: float = 0.0


@dataclasses.dataclass(frozen=True, slots=True)
class Visit:
    """The result of visiting a feed: new records, or an error."""

    url: str
    records: list[Record]
    error: str = ""


class _FetcherLike(Protocol):
    def fetch(self, url: str, *, etag: str = "", modified: str = "") -> FetchResponse: ...


class Watcher:
    """Visit every feed that is due.

    Parameters
    ----------
    feeds : iterable of FeedState
        The feeds.
    fetcher : Fetcher
        Fetches feeds and pages.
    interval : float, default=600
        Seconds between two visits to one feed.
    reader : FeedReader
        Parses feeds.
    """

    def __init__(
        self,
        feeds: Iterable[FeedState],
        *,
        fetcher: _FetcherLike | None = None,
        interval: float = 600.0,
        reader: FeedReader | None = None,
    ) -> None:
        self.feeds = list(feeds)
        self.fetcher = fetcher or Fetcher()
        self.interval = interval
        self.reader = reader or FeedReader()

    def visit(self, now: float) -> Iterator[Visit]:
        """Visit the feeds that are due and yield the result of each; an error affects only its own feed."""
        for feed in self.feeds:
            if feed.due > now:
                continue
            try:
                records = self._new_records(feed)
            except FeedError as error:
                feed.failures += 1
                pause = self.interval * 2 ** min(feed.failures, _MAX_DOUBLINGS)
                feed.due = now + min(max(pause, error.wait), MAX_PAUSE_S)
                yield Visit(feed.url, [], str(error))
            else:
                feed.failures, feed.due = 0, now + self.interval
                yield Visit(feed.url, records)

    def stop(self) -> None:
        """Stop the parser process."""
        self.reader.stop()

    def _new_records(self, feed: FeedState) -> list[Record]:
        response = self.fetcher.fetch(feed.url, etag=feed.etag, modified=feed.modified)
        if not response.modified:
            return []
        try:
            records = self._parse(response)
        except FeedError as error:
            raise FeedError(f"{feed.url}: {error}", wait=error.wait) from error
        feed.etag = response.headers.get("etag", "")
        feed.modified = response.headers.get("last-modified", "")
        known = set(feed.seen)
        new = [record for record in records if _entry_id(record) not in known]
        feed.seen = [*feed.seen, *filter(None, map(_entry_id, new))][-MAX_SEEN_IDS:]
        return self._with_bodies(new)

    def _parse(self, response: FetchResponse) -> list[Record]:
        """Parse a feed or a sitemap."""
        start = response.body[:4096].replace(b"\0", b"")
        if b"<urlset" not in start and b"<sitemapindex" not in start:
            return self.reader.read(response.body, response.url)
        sitemap = self.reader.read_sitemap(response.body)
        pages = sitemap.pages or [
            entry
            for index in sorted(sitemap.sitemaps, key=lambda entry: entry.modified)[-1:]
            for entry in self.reader.read_sitemap(self.fetcher.fetch(index.url).body).pages
        ]
        newest = sorted(pages, key=lambda entry: entry.published or entry.modified)[-MAX_PAGES_PER_VISIT:]
        return [_sitemap_record(entry) for entry in newest if entry.url]

    def _with_bodies(self, records: list[Record]) -> list[Record]:
        """Fetch the pages of records without a body, at most ``MAX_PAGES_PER_VISIT``."""
        without = [record for record in records if "body" not in record and record.get("url")]
        for record in without[:MAX_PAGES_PER_VISIT]:
            try:
                record["body"] = self.fetcher.fetch(record["url"]).body.decode("utf-8", "replace")
            except FeedError as error:
                logger.warning("page not fetched: %s", error)
        return records


def _entry_id(record: Record) -> str:
    """Return the id or URL of an entry, or a digest of a long one; an empty string if it has neither."""
    name = str(record.get("id") or record.get("url") or "")
    if len(name) <= MAX_ID_CHARS:
        return name
    return hashlib.blake2b(name.encode("utf-8", "replace"), digest_size=16).hexdigest()


def _sitemap_record(entry: SitemapEntry) -> Record:
    record = {
        "id": entry.url,
        "url": entry.url,
        "title": entry.title,
        "time": entry.published or entry.modified,
        "lang": entry.lang,
        "source": entry.source,
    }
    return {name: value for name, value in record.items() if value}
