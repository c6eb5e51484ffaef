"""Poll feeds for new and changed entries, and fetch the pages of their articles.

Requests are conditional, failures are answered with exponential backoff, and hosts get one request at a time
(:class:`~isogloss.feeds._host_queue.HostQueue`). The state of a feed is plain data that the caller can store
anywhere.
"""

from __future__ import annotations

import dataclasses
import hashlib
import heapq
import logging
import queue
import re
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import partial

from isogloss.exceptions import FeedError
from isogloss.feeds._fetcher import Fetcher, FetchResponse, RedirectError
from isogloss.feeds._host_queue import HostQueue
from isogloss.feeds._pages import FetcherLike, PageLimits, PageReader, RobotsCache, host_of
from isogloss.feeds._parsing import FeedReader, Record, SitemapEntry

logger = logging.getLogger(__name__)
MAX_SEEN_IDS = 5_000
MAX_SITEMAP_PAGES = 50
"""Pages of a sitemap that one visit takes, the newest."""
MAX_ID_CHARS = 2_000
"""A longer entry id is remembered by its digest."""
MAX_PAUSE_S = 24 * 3600.0
MAX_ACTIVE_VISITS = 64
"""Visits that are under way at the same time, which bounds the entries in memory."""
MAX_REDIRECTS = 5
MAX_ERROR_CHARS = 500
_MAX_DOUBLINGS = 20
_GONE = 410
_MISSING_PAGE = frozenset({404, _GONE})
_FROM_PAGE = "+"
"""Begins the version of an entry whose text was taken from its page."""
_HTML_TAG = re.compile(r"<[^<>]*>")


@dataclasses.dataclass(slots=True)
class FeedState:
    """The state of one feed between visits.

    Attributes
    ----------
    url : str
        The URL of the feed or sitemap.
    etag, modified : str
        ``ETag`` and ``Last-Modified`` of the last response, for conditional requests.
    seen : dict of str to str
        Versions of known entries by their ids, the newest last; the oldest are dropped. A list of ids, as it
        was stored by version 0.1.0, stands for entries of unknown versions.
    failures : int
        Consecutive failed visits. The pause doubles with each, and is at least what ``Retry-After`` asks for.
    due : float
        Unix time of the next visit.
    title : str
        The title of the feed.
    visited, succeeded, failed : float
        Unix times of the last visit, the last successful one and the last failed one; 0 if there was none.
    error : str
        What went wrong at the last visit; empty if nothing did.
    articles : int
        New articles that were stored so far; counted by the caller.
    """

    url: str
    etag: str = ""
    modified: str = ""
    seen: dict[str, str] = dataclasses.field(default_factory=dict)
    failures: int = 0
    due: float = 0.0
    title: str = ""
    visited: float = 0.0
    succeeded: float = 0.0
    failed: float = 0.0
    error: str = ""
    articles: int = 0

    def __post_init__(self) -> None:
        if not isinstance(self.seen, dict):
            self.seen = dict.fromkeys(self.seen, "")


@dataclasses.dataclass(frozen=True, slots=True)
class Visit:
    """The result of visiting a feed: new and changed records, or an error.

    Attributes
    ----------
    url : str
        The URL of the feed.
    records : list of dict
        Records for :func:`isogloss.events.parse_article`.
    error : str
        Why the visit failed; empty if it did not.
    state : FeedState
        The state of the feed after the visit.
    pages : int
        Records whose text was taken from their page.
    fallbacks : Counter
        Why other records have only what the feed says, with the number of each reason.
    """

    url: str
    records: list[Record]
    error: str
    state: FeedState
    pages: int = 0
    fallbacks: Counter[str] = dataclasses.field(default_factory=Counter)


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
    pages : PageLimits or None
        How the pages of articles are fetched; None takes what the feeds say.
    pause : float, default=1
        Seconds between two requests to one host.
    n_threads : int, default=1
        Hosts that are asked at the same time.
    user_agent : str
        The name of the watcher in robots.txt files.
    """

    def __init__(
        self,
        feeds: Iterable[FeedState],
        *,
        fetcher: FetcherLike | None = None,
        interval: float = 600.0,
        reader: FeedReader | None = None,
        pages: PageLimits | None = PageLimits(),  # noqa: B008 - it is immutable
        pause: float = 1.0,
        n_threads: int = 1,
        user_agent: str = "isogloss",
    ) -> None:
        self.feeds = list(feeds)
        self.fetcher = fetcher or Fetcher(user_agent=user_agent)
        self.interval = interval
        self.reader = reader or FeedReader()
        self.pages = pages
        self._robots = RobotsCache(self.fetcher, user_agent, pages or PageLimits())
        self._page_reader = PageReader((pages or PageLimits()).parse_seconds)
        self._queue = HostQueue(n_threads, pause)
        self._done: queue.SimpleQueue[_VisitInProgress | None] = queue.SimpleQueue()
        self._stopped = threading.Event()
        self._resting: dict[str, float] = {}

    def visit(self, now: float) -> Iterator[Visit]:
        """Visit the feeds that are due, once, and yield the result of each as it is there.

        An error affects only its own feed.
        """
        yield from self._visits(lambda: now, once=True)

    def watch(self, clock: Callable[[], float] = time.time) -> Iterator[Visit]:
        """Visit feeds whenever they are due, until :meth:`stop` is called.

        A feed is not visited again before the loop body has dealt with its last visit.
        """
        yield from self._visits(clock, once=False)

    def stop(self) -> None:
        """Stop visiting feeds, and stop the parser processes; may be called from any thread."""
        self._stopped.set()
        self._queue.stop()
        self._done.put(None)
        self.reader.stop()
        self._robots.stop()
        self._page_reader.stop()

    def _visits(self, clock: Callable[[], float], *, once: bool) -> Iterator[Visit]:
        waiting = self._in_order(clock())
        active = 0
        while not self._stopped.is_set():
            now = clock()
            while waiting and waiting[0][0] <= now and active < MAX_ACTIVE_VISITS:
                self._begin(heapq.heappop(waiting)[2])
                active += 1
            if once and not active:
                return
            until_next = max(waiting[0][0] - now, 0.0) if waiting and not once else None
            try:
                visit = self._done.get(timeout=until_next if active < MAX_ACTIVE_VISITS else None)
            except queue.Empty:
                continue
            if visit is None:
                return
            active -= 1
            yield self._end(visit, clock())
            if not once:
                heapq.heappush(waiting, (self.feeds[visit.index].due, 0, visit.index))

    def _in_order(self, now: float) -> list[tuple[float, int, int]]:
        """Return a heap of the feeds by due time; those of one host take turns with those of others."""
        turns: Counter[str] = Counter()
        order = []
        for index, feed in enumerate(self.feeds):
            host = host_of(feed.url)
            order.append((feed.due if feed.due > now else 0.0, turns[host], index))
            turns[host] += 1
        heapq.heapify(order)
        return order

    def _begin(self, index: int) -> None:
        feed = self.feeds[index]
        visit = _VisitInProgress(index, dataclasses.replace(feed, seen=dict(feed.seen)))
        self._queue.add(host_of(feed.url) or feed.url, partial(self._fetch_feed, visit))

    def _end(self, visit: _VisitInProgress, now: float) -> Visit:
        """Update the state of the feed."""
        error = visit.error
        feed = visit.feed if error is None else dataclasses.replace(self.feeds[visit.index])
        feed.visited = now
        if error is None:
            feed.failures, feed.error = 0, ""
            feed.succeeded, feed.due = now, now + self.interval
        else:
            feed.failures += 1
            feed.failed, feed.error = now, str(error)[:MAX_ERROR_CHARS]
            pause = self.interval * 2 ** min(feed.failures, _MAX_DOUBLINGS)
            feed.due = now + min(
                MAX_PAUSE_S if error.status == _GONE else max(pause, error.wait), MAX_PAUSE_S
            )
        records = visit.settle() if error is None else []
        self.feeds[visit.index] = feed
        for reason, count in visit.fallbacks.items():
            logger.info("%s: %d without the text of the page: %s", feed.url, count, reason)
        return Visit(feed.url, records, feed.error, feed, len(visit.from_page), visit.fallbacks)

    def _fetch_feed(self, visit: _VisitInProgress) -> bool:
        """Fetch and parse a feed, and queue the pages of its new and changed entries."""
        try:
            visit.take(self._read(visit.feed))
            self._queue_pages(visit)
        except FeedError as error:
            visit.error = error
        except Exception as error:
            logger.exception("visiting %s failed", visit.feed.url)
            visit.error = FeedError(f"{visit.feed.url}: failed unexpectedly ({type(error).__name__})")
        self._release(visit)
        return True

    def _read(self, feed: FeedState) -> list[Record]:
        response = self.fetcher.fetch(feed.url, etag=feed.etag, modified=feed.modified)
        if not response.modified:
            return []
        try:
            records = self._parse(response)
        except FeedError as error:
            raise FeedError(f"{feed.url}: {error}", wait=error.wait) from error
        feed.etag = response.headers.get("etag", "")
        feed.modified = response.headers.get("last-modified", "")
        feed.title = next((str(record["source"]) for record in records if "source" in record), feed.title)
        return records

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
        newest = sorted(pages, key=lambda entry: entry.published or entry.modified)[-MAX_SITEMAP_PAGES:]
        return [_sitemap_record(entry) for entry in newest if entry.url]

    def _queue_pages(self, visit: _VisitInProgress) -> None:
        """Queue the pages of the newest records whose own text is short."""
        if self.pages is None:
            return
        enough = self.pages.full_text_chars
        wanted = [
            record
            for record in visit.records
            if host_of(record.get("url", "")) and not (enough and _text_length(record) >= enough)
        ]
        wanted.sort(key=lambda record: str(record.get("time", "")), reverse=True)
        per_visit = self.pages.per_visit
        for record in wanted[:per_visit]:
            visit.left += 1
            self._queue_page(visit, record, record["url"])
        if wanted[per_visit:]:
            visit.fallbacks[f"one visit fetches at most {per_visit} pages"] += len(wanted) - per_visit

    def _queue_page(self, visit: _VisitInProgress, record: Record, url: str, hops: int = 0) -> None:
        self._queue.add(host_of(url), partial(self._fetch_page, visit, record, url, hops))

    def _fetch_page(
        self, visit: _VisitInProgress, record: Record, url: str, hops: int, robots_loaded: bool = False
    ) -> bool:
        """Fetch one page, after the robots.txt of its host if need be; return whether a request was made."""
        host = host_of(url)
        requested = False
        try:
            self._check_visit(visit, host)
            if not (robots_loaded or self._robots.is_known(host)):
                requested = True
                self._robots.load(host)
                again = partial(self._fetch_page, visit, record, url, hops, robots_loaded=True)
                self._queue.add(host, again, first=True)
                return True
            self._queue.set_pause(host, self._robots.check(url))
            requested = True
            text = self._fetch_text(url)
            if len(text) < _text_length(record):
                raise FeedError(f"{url}: the page has less text than the feed")
        except RedirectError as error:
            if hops < MAX_REDIRECTS:
                self._queue_page(visit, record, error.target, hops + 1)
                return True
            self._page_failed(visit, host, FeedError(f"{record['url']}: more than {MAX_REDIRECTS} redirects"))
        except FeedError as error:
            self._page_failed(visit, host if requested else "", error)
        except Exception:
            logger.exception("fetching the page %s failed", url)
            visit.fallbacks["an unexpected error, see the log"] += 1
        else:
            visit.page_read(host, record, text)
        self._release(visit)
        return requested

    def _check_visit(self, visit: _VisitInProgress, host: str) -> None:
        """Raise an error if the visit fetches no further pages of a host."""
        assert self.pages is not None
        now = time.monotonic()
        if self._resting.get(host, 0.0) > now:
            raise FeedError(f"{host} asked clients to wait")
        if visit.page_failures[host] >= self.pages.max_failures:
            raise FeedError(f"{host} failed {self.pages.max_failures} times in a row")
        if now - visit.began > self.pages.visit_seconds:
            raise FeedError(f"the visit took longer than {self.pages.visit_seconds:g} seconds")

    def _fetch_text(self, url: str) -> str:
        assert self.pages is not None
        response = self.fetcher.fetch(url, follow=False, max_bytes=self.pages.max_bytes)
        return self._page_reader.read(response)

    def _page_failed(self, visit: _VisitInProgress, host: str, error: FeedError) -> None:
        """Note a failure; ``host`` is empty if it was not asked."""
        logger.debug("%s", error)
        with visit.lock:
            visit.fallbacks[_reason(error)] += 1
            if host and error.status not in _MISSING_PAGE:
                visit.page_failures[host] += 1
        if host and error.wait:
            now = time.monotonic()
            self._resting = {name: until for name, until in self._resting.items() if until > now}
            self._resting[host] = now + min(error.wait, MAX_PAUSE_S)

    def _release(self, visit: _VisitInProgress) -> None:
        """Count one request of a visit as answered; the last one ends the visit."""
        with visit.lock:
            visit.left -= 1
            ended = visit.left == 0
        if ended:
            self._done.put(visit)


class _VisitInProgress:
    """A visit whose pages are being fetched by several threads."""

    def __init__(self, index: int, feed: FeedState) -> None:
        self.index, self.feed = index, feed
        self.began = time.monotonic()
        self.lock = threading.Lock()
        self.left = 1
        self.error: FeedError | None = None
        self.records: list[Record] = []
        self.from_page: set[int] = set()
        self.page_failures: Counter[str] = Counter()
        self.fallbacks: Counter[str] = Counter()
        self._changed: dict[str, str] = {}

    def take(self, records: list[Record]) -> None:
        """Take the entries of the feed that are new or changed."""
        seen = self.feed.seen
        done: set[str] = set()
        for record in records:
            name, version = _entry_id(record), _version(record)
            if name in done:
                continue
            if name:
                done.add(name)
                old = seen.pop(name, None)
                if old is not None:
                    if old.removeprefix(_FROM_PAGE) in ("", version):
                        seen[name] = old or version
                        continue
                    self._changed[name] = old
                seen[name] = version
            self.records.append(record)
        self.feed.seen = dict(list(seen.items())[-MAX_SEEN_IDS:])

    def page_read(self, host: str, record: Record, text: str) -> None:
        """Replace the text of a record by that of its page."""
        with self.lock:
            record["body"] = text
            self.from_page.add(id(record))
            self.page_failures[host] = 0

    def settle(self) -> list[Record]:
        """Return the records, without those that would replace the text of a page by a summary."""
        kept = []
        for record in self.records:
            name = _entry_id(record)
            has_page = id(record) in self.from_page
            had_page = self._changed.get(name, "").startswith(_FROM_PAGE)
            if (has_page or had_page) and name in self.feed.seen:
                self.feed.seen[name] = _FROM_PAGE + self.feed.seen[name]
            if has_page or not had_page:
                kept.append(record)
        return kept


def _entry_id(record: Record) -> str:
    """Return the id or URL of an entry, or a digest of a long one; an empty string if it has neither."""
    name = str(record.get("id") or record.get("url") or "")
    return name if len(name) <= MAX_ID_CHARS else _digest(name)


def _version(record: Record) -> str:
    """Return a text that changes when the entry does: when the feed says so, or else when its text does."""
    return _digest(repr((record.get("title"), record.get("updated") or record.get("body"))))


def _digest(text: str) -> str:
    return hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=16).hexdigest()


def _text_length(record: Record) -> int:
    """Return the number of characters of a body without its tags."""
    return len(_HTML_TAG.sub("", str(record.get("body", ""))))


def _reason(error: FeedError) -> str:
    """Return the message of an error without the URL that it begins with, so that equal ones are counted."""
    url, colon, message = str(error).partition(": ")
    return message if colon and host_of(url) else str(error)


def _sitemap_record(entry: SitemapEntry) -> Record:
    record = {
        "id": entry.url,
        "url": entry.url,
        "title": entry.title,
        "time": entry.published or entry.modified,
        "lang": entry.lang,
        "source": entry.source,
        "updated": entry.modified,
    }
    return {name: value for name, value in record.items() if value}
