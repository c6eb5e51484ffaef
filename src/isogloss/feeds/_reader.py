"""Scan and parse feeds and sitemaps in a child process, with a deadline and a memory limit."""

from __future__ import annotations

import dataclasses
from typing import Any

from isogloss.exceptions import FeedError
from isogloss.feeds._sitemaps import Sitemap, SitemapEntry, parse_sitemap
from isogloss.feeds._syndication import Record, parse_feed
from isogloss.io import ParserFailure, ParserProcess

__all__ = ["FeedReader"]


class FeedReader:
    """Parses feeds and sitemaps in a child process: a hostile one costs its deadline and no more.

    Parameters
    ----------
    deadline : float, default=10
        Seconds of CPU time for one feed, scanning included.

    Examples
    --------
    >>> reader = FeedReader()
    >>> reader.read_sitemap(b"<urlset><url><loc>https://a.example/1</loc></url></urlset>").pages[0].url
    'https://a.example/1'
    >>> reader.stop()
    """

    def __init__(self, deadline: float = 10.0) -> None:
        self._parse = ParserProcess(_parse, seconds=deadline)

    def read(self, body: bytes, url: str = "") -> list[Record]:
        """Return the entries of a feed, as :func:`parse_feed` does."""
        records: list[Record] = self._call("feed", body, url)
        return records

    def read_sitemap(self, body: bytes) -> Sitemap:
        """Return the entries of a sitemap, as :func:`parse_sitemap` does."""
        pages, sitemaps = self._call("sitemap", body)
        return Sitemap([SitemapEntry(*each) for each in pages], [SitemapEntry(*each) for each in sitemaps])

    def stop(self) -> None:
        """End the child process."""
        self._parse.close()

    def _call(self, kind: str, body: bytes, url: str = "") -> Any:
        try:
            return self._parse(kind, body.decode("latin-1"), url)
        except ParserFailure as failure:
            raise FeedError(str(failure)) from failure


def _parse(kind: str, letters: str, url: str) -> Any:
    """Parse a body, given as text with a letter for each byte; the result is made of JSON values."""
    body = letters.encode("latin-1")
    if kind == "feed":
        return parse_feed(body, url)
    sitemap = parse_sitemap(body)
    return [[dataclasses.astuple(each) for each in entries] for entries in (sitemap.pages, sitemap.sitemaps)]
