"""Article pages: what robots.txt allows, and the text of an article without menus and advertisements.

Both parsers read what strangers wrote, so they run in child processes with limits on time and memory.
"""

from __future__ import annotations

import codecs
import dataclasses
import re
import threading
import time
from collections import OrderedDict
from contextlib import suppress
from typing import Any, Protocol
from urllib.parse import urlsplit

from isogloss.exceptions import FeedError
from isogloss.feeds._fetcher import FetchResponse
from isogloss.io import ParserFailure, ParserProcess

MAX_ROBOTS_BYTES = 500 << 10
"""Minimum size of robots.txt that RFC 9309 asks crawlers to read; the rest is ignored."""

MAX_CACHED_ROBOTS_CHARS = 32 << 20
"""Size of all cached robots.txt files together."""

UNREACHABLE_ROBOTS_S = 1800.0
"""Time without page requests to a host whose robots.txt cannot be fetched."""

MAX_CRAWL_DELAY_S = 60.0

_HTML_TYPES = frozenset({"", "text/html", "application/xhtml+xml"})
_CHARSET = re.compile(r"charset\s*=\s*[\"']?([\w.:-]{1,40})", re.ASCII | re.IGNORECASE)


@dataclasses.dataclass(frozen=True, slots=True)
class PageLimits:
    """Limits and rules for fetching article pages.

    Parameters
    ----------
    per_visit : int, default=50
        Pages that one visit to a feed fetches at most.
    max_bytes : int, default=3 MiB
        Maximum size of a page.
    parse_seconds : float, default=3
        CPU time for the text of one page.
    full_text_chars : int, default=2000
        An entry with at least this much text of its own is taken as it is; 0 fetches the page of every entry.
    robots_seconds : float, default=86400
        How long a robots.txt is cached.
    visit_seconds : float, default=600
        After this time, a visit begins no further page.
    max_failures : int, default=3
        After so many failures in a row, a visit asks a host for no further page.
    """

    per_visit: int = 50
    max_bytes: int = 3 << 20
    parse_seconds: float = 3.0
    full_text_chars: int = 2000
    robots_seconds: float = 24 * 3600.0
    visit_seconds: float = 600.0
    max_failures: int = 3


class FetcherLike(Protocol):
    """The fetcher of pages: :class:`~isogloss.feeds.Fetcher`, or a stand-in."""

    def fetch(
        self, url: str, *, etag: str = "", modified: str = "", follow: bool = True, max_bytes: int = 0
    ) -> FetchResponse:
        """Fetch a URL."""


def host_of(url: str) -> str:
    """Return scheme, host and port of a URL, in lower case.

    Examples
    --------
    >>> host_of("https://Daily.example:443/7?a=b")
    'https://daily.example:443'
    >>> host_of("no URL")
    ''
    """
    try:
        parts = urlsplit(url)
    except ValueError:
        return ""
    return f"{parts.scheme}://{parts.netloc}".lower() if parts.netloc else ""


class RobotsCache:
    """The permissions in the robots.txt of each host.

    Notes
    -----
    As RFC 9309 says, everything is allowed if there is no such file (a status of 400 to 499), and nothing as
    long as the server does not answer, answers with an error of its own, or asks to wait (429).
    """

    def __init__(self, fetcher: FetcherLike, user_agent: str, limits: PageLimits) -> None:
        self.fetcher, self.limits = fetcher, limits
        self.agent = user_agent.partition("/")[0].strip() or "*"
        self._parse = ParserProcess(robots_verdict, seconds=limits.parse_seconds)
        self._known: OrderedDict[str, tuple[float, str | None, str]] = OrderedDict()
        self._chars = 0
        self._lock = threading.Lock()

    def is_known(self, host: str) -> bool:
        """Return whether the file of a host is cached."""
        with self._lock:
            return host in self._known and self._known[host][0] > time.monotonic()

    def load(self, host: str) -> None:
        """Fetch the file of a host."""
        text: str | None = ""
        reason, keep = "", self.limits.robots_seconds
        try:
            body = self.fetcher.fetch(f"{host}/robots.txt", max_bytes=2 * MAX_ROBOTS_BYTES).body
            text = body[:MAX_ROBOTS_BYTES].decode("utf-8", "replace")
        except FeedError as error:
            if not 400 <= error.status < 500 or error.status == 429:
                text, reason = None, f"its robots.txt cannot be read: {error}"
                keep = min(max(UNREACHABLE_ROBOTS_S, error.wait), keep)
        with self._lock:
            _, old, _ = self._known.pop(host, (0.0, None, ""))
            self._known[host] = (time.monotonic() + keep, text, reason)
            self._chars += len(text or "") - len(old or "")
            while self._chars > MAX_CACHED_ROBOTS_CHARS or len(self._known) > 10_000:
                _, (_, dropped, _) = self._known.popitem(last=False)
                self._chars -= len(dropped or "")

    def check(self, url: str) -> float:
        """Return the pause that the host asks for between two requests, 0 if none.

        Raises FeedError if the host does not want the page to be fetched.
        """
        with self._lock:
            _, text, reason = self._known.get(host_of(url), (0.0, "", ""))
        if text is None:
            raise FeedError(reason)
        if not text:
            return 0.0
        try:
            allowed, delay = self._parse(text, self.agent, url)
        except ParserFailure as failure:
            raise FeedError(f"its robots.txt {failure}") from failure
        if not allowed:
            raise FeedError(f"{url}: robots.txt does not allow {self.agent!r} to fetch it")
        return min(max(float(delay), 0.0), MAX_CRAWL_DELAY_S)

    def stop(self) -> None:
        """Stop the child process."""
        self._parse.close()


def robots_verdict(text: str, agent: str, url: str) -> tuple[bool, float]:
    """Return whether a robots.txt allows a URL, and its ``Crawl-delay`` in seconds.

    Examples
    --------
    >>> text = '''User-agent: *
    ... Disallow: /search
    ... Crawl-delay: 5'''
    >>> robots_verdict(text, "isogloss", "https://a.example/7")
    (True, 5.0)
    >>> robots_verdict(text, "isogloss", "https://a.example/search?q=rain")
    (False, 5.0)
    """
    from protego import Protego

    rules: Any = Protego.parse(text)
    return bool(rules.can_fetch(url, agent)), float(rules.crawl_delay(agent) or 0.0)


class PageReader:
    """Extracts the text of article pages in a child process.

    ``seconds`` is the CPU time that one page may take.
    """

    def __init__(self, seconds: float) -> None:
        self._extract = ParserProcess(extract_text, seconds=seconds)

    def read(self, response: FetchResponse) -> str:
        """Return the text of a page, one line per paragraph.

        Raises FeedError if the page is not HTML, has no article, or cannot be parsed within the limits.
        """
        content_type = response.headers.get("content-type", "")
        kind = content_type.partition(";")[0].strip().lower()
        if kind not in _HTML_TYPES:
            raise FeedError(f"{response.url}: the page is {kind[:60]!r}; expected HTML")
        found = _CHARSET.search(content_type)
        try:
            text = self._extract(response.body.decode("latin-1"), found[1] if found else "")
        except ParserFailure as failure:
            raise FeedError(f"{response.url}: the page {failure}") from failure
        if not text:
            raise FeedError(f"{response.url}: no article text was found on the page")
        return str(text)

    def stop(self) -> None:
        """Stop the child process."""
        self._extract.close()


def extract_text(page: str, charset: str = "") -> str:
    """Extract the text of an article from a page with trafilatura; an empty string if there is none.

    Parameters
    ----------
    page : str
        The bytes of the page as Latin-1 text.
    charset : str
        The encoding that the server stated; by default trafilatura detects it.

    Examples
    --------
    >>> story = "The storm took the roofs of two houses in the harbour town on Monday, officials said. "
    >>> page = f"<nav><a href=/>Home</a></nav><article><p>{story * 3}</p><p>{story * 2}</p></article>"
    >>> text = extract_text(f"<html><body>{page}<footer>Imprint</footer></body></html>")
    >>> text.count("harbour town"), "Home" in text, "Imprint" in text
    (5, False, False)
    """
    import trafilatura

    encoded = page.encode("latin-1")
    body: str | bytes = encoded
    with suppress(LookupError, ValueError):
        name = codecs.lookup(charset).name
        # Browsers take ISO-8859-1 for Windows-1252.
        body = encoded.decode("cp1252" if name == "iso8859-1" else name, "replace")
    return trafilatura.extract(body, include_comments=False, include_tables=False) or ""
