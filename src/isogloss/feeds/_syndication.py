"""RSS and Atom feeds as records of articles, by feedparser."""

from __future__ import annotations

import calendar
import datetime
import re
from typing import Any

from isogloss.exceptions import FeedError
from isogloss.feeds._scan import scan_xml

__all__ = ["Record", "parse_feed"]

Record = dict[str, Any]

_REFERENCE = re.compile(rb"&#(?:[xX]([0-9a-fA-F]+)|([0-9]+))")
_UNKNOWN = b"&#xFFFD"


def parse_feed(body: bytes, url: str = "") -> list[Record]:
    """The entries of an RSS or Atom feed as records of articles.

    Parameters
    ----------
    body : bytes
        The feed; lenient about XML that is not well formed, strict about entities and depth.
    url : str
        Where it came from: relative links start there.

    Returns
    -------
    list of dict
        ``id``, ``title``, ``body`` (may hold HTML), ``url``, ``source``, and where the feed says so
        ``time`` (ISO 8601, UTC) and ``lang``.

    Raises
    ------
    FeedError
        It is not a feed, or the extra ``feeds`` is not installed.

    Examples
    --------
    >>> feed = b'''<rss version="2.0"><channel><title>Daily</title><language>en</language>
    ... <item><guid>7</guid><title>Rain</title><link>https://daily.example/7</link>
    ... <description>It rains.</description><pubDate>Mon, 03 Mar 2031 08:00:00 +0100</pubDate></item>
    ... </channel></rss>'''
    >>> parse_feed(feed)[0]["time"], parse_feed(feed)[0]["lang"]
    ('2031-03-03T07:00:00+00:00', 'en')
    """
    try:
        import feedparser
    except ImportError as error:
        raise FeedError("reading feeds needs feedparser; pip install 'isogloss[feeds]'") from error
    scan_xml(body)
    headers = {"content-location": url} if url else None
    try:
        parsed = feedparser.parse(_REFERENCE.sub(_letter, body), response_headers=headers)
    except Exception as error:  # whatever it makes of a hostile file
        raise FeedError(f"it cannot be read ({type(error).__name__}: {str(error)[:200]})") from error
    if not parsed.get("version") and not parsed.entries:
        raise FeedError("it is not an RSS or Atom feed; give the URL of a feed, not of a page")
    source = parsed.feed.get("title", "") or url
    lang = parsed.feed.get("language", "")
    return [_record(entry, source, lang) for entry in parsed.entries]


def _letter(reference: re.Match[bytes]) -> bytes:
    """A numbered letter as it came, or the sign for an unknown one where no letter has the number."""
    hexadecimal, decimal = reference.groups()
    digits = (hexadecimal or decimal).lstrip(b"0")
    number = int(digits, 16 if hexadecimal else 10) if 0 < len(digits) < 8 else 0
    sound = 0 < number < 0xD800 or 0xDFFF < number < 0x110000
    return reference.group() if sound else _UNKNOWN


def _record(entry: Any, source: str, lang: str) -> Record:
    """One entry; empty fields are left out."""
    texts = [entry.get("summary"), *(part.get("value") for part in entry.get("content") or ())]
    record = {
        "id": entry.get("id", "") or entry.get("link", ""),
        "title": entry.get("title", ""),
        "body": max((text or "" for text in texts), key=len),
        "url": entry.get("link", ""),
        "source": source,
        "time": _time(entry.get("published_parsed") or entry.get("updated_parsed")),
        "lang": lang,
    }
    return {name: value for name, value in record.items() if value}


def _time(parsed: Any) -> str:
    """A time in ISO 8601; empty for one that no calendar has."""
    if parsed is None:
        return ""
    try:
        return datetime.datetime.fromtimestamp(calendar.timegm(parsed), datetime.UTC).isoformat()
    except (ValueError, OverflowError, OSError):
        return ""
