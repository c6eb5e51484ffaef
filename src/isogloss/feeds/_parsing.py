"""Parsers of feeds (RSS, Atom) and sitemaps for untrusted input.

:func:`scan_xml` refuses entity declarations and deep nesting before a parser sees the file. It reads tags as
a lenient parser would, so that it also holds for files that are not well-formed, and refuses encodings that
would hide tags from it. :class:`FeedReader` does all of it in a child process with limits on time
and memory.
"""

from __future__ import annotations

import calendar
import dataclasses
import datetime
import re
from collections.abc import Iterator
from typing import Any
from xml.parsers import expat

from isogloss.exceptions import FeedError
from isogloss.io import ParserFailure, ParserProcess

Record = dict[str, Any]
"""Fields of an article as :func:`~isogloss.events.parse_article` reads them."""

MAX_XML_DEPTH = 100
MAX_SITEMAP_ENTRIES = 50_000
"""The limit of the sitemap protocol."""

_XML_TAG = re.compile(rb"<(?:(!--)|(!\[CDATA\[)|(/?)[A-Za-z_][^<>]*+>)")
_ENTITY = re.compile(rb"<!\s*ENTITY", re.IGNORECASE)
_ENCODING = re.compile(rb"""encoding\s*=\s*['"]([^'"]{1,40})['"]""", re.IGNORECASE)
_ENCODING_SCAN_BYTES = 1024
_EBCDIC = b"\x4c\x6f\xa7\x94"
"""``<?xm`` in EBCDIC."""
_WIDE_ENCODINGS = ("utf-16", "utf_16", "utf16", "utf-32", "utf_32", "utf32", "ucs-2", "iso-10646")
_ASCII_PROBE = rb"<!ENTITY a='&;'>+ADw-\x3c\u003c]]>"
_CHARACTER_REFERENCE = re.compile(rb"&#(?:[xX]([0-9a-fA-F]+)|([0-9]+))")
_REPLACEMENT_CHARACTER = b"&#xFFFD"
_FEED_TYPES = frozenset({"application/rss+xml", "application/atom+xml"})
_SITEMAP_FIELDS = {
    "loc": "url",
    "lastmod": "modified",
    "title": "title",
    "publication_date": "published",
    "language": "lang",
    "name": "source",
}


class FeedReader:
    """Parse feeds and sitemaps in a child process, so that a hostile one costs at most its deadline.

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
        """Stop the child process."""
        self._parse.close()

    def _call(self, kind: str, body: bytes, url: str = "") -> Any:
        try:
            return self._parse(kind, body.decode("latin-1"), url)
        except ParserFailure as failure:
            raise FeedError(str(failure)) from failure


def _parse(kind: str, text: str, url: str) -> Any:
    """Parse a body, given as Latin-1 text; arguments and result must be JSON values."""
    body = text.encode("latin-1")
    if kind == "feed":
        return parse_feed(body, url)
    sitemap = parse_sitemap(body)
    return [[dataclasses.astuple(each) for each in entries] for entries in (sitemap.pages, sitemap.sitemaps)]


def parse_feed(body: bytes, url: str = "") -> list[Record]:
    """Parse an RSS or Atom feed with feedparser.

    Parameters
    ----------
    body : bytes
        The feed; XML that is not well-formed is accepted, entities and deep nesting are not.
    url : str
        Its URL, to resolve relative links.

    Returns
    -------
    list of dict
        Records of articles: ``id``, ``title``, ``body`` (may hold HTML), ``url``, ``source``, and if present
        ``time`` and ``updated`` (ISO 8601, UTC) and ``lang``.

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
        parsed = feedparser.parse(_CHARACTER_REFERENCE.sub(_valid_reference, body), response_headers=headers)
    except Exception as error:  # feedparser may raise anything on a hostile file
        raise FeedError(f"it cannot be read ({type(error).__name__}: {str(error)[:200]})") from error
    if not parsed.get("version") and not parsed.entries:
        raise FeedError(_no_feed(parsed.feed))
    source = parsed.feed.get("title", "") or url
    lang = parsed.feed.get("language", "")
    return [_record(entry, source, lang) for entry in parsed.entries]


def _no_feed(page: Any) -> str:
    """Say that a page is not a feed, and which feed it names, if any."""
    message = "it is not an RSS or Atom feed; give the URL of a feed, not of a page"
    named = [
        str(each.get("href", ""))
        for each in page.get("links", ())
        if each.get("type") in _FEED_TYPES and each.get("rel") == "alternate"
    ]
    return f"{message}. The page names this feed: {named[0][:300]}" if named else message


def _valid_reference(reference: re.Match[bytes]) -> bytes:
    """Replace a reference to a code point that does not exist, on which feedparser fails."""
    hexadecimal, decimal = reference.groups()
    digits = (hexadecimal or decimal).lstrip(b"0")
    number = int(digits, 16 if hexadecimal else 10) if 0 < len(digits) < 8 else 0
    valid = 0 < number < 0xD800 or 0xDFFF < number < 0x110000
    return reference.group() if valid else _REPLACEMENT_CHARACTER


def _record(entry: Any, source: str, lang: str) -> Record:
    """Convert an entry to a record; omit empty fields."""
    texts = [entry.get("summary"), *(part.get("value") for part in entry.get("content") or ())]
    record = {
        "id": entry.get("id", "") or entry.get("link", ""),
        "title": entry.get("title", ""),
        "body": max((text or "" for text in texts), key=len),
        "url": entry.get("link", ""),
        "source": source,
        "time": _time(entry.get("published_parsed") or entry.get("updated_parsed")),
        "lang": lang,
        "updated": _time(dict.get(entry, "updated_parsed")),  # entry.get would take published_parsed for it
    }
    return {name: value for name, value in record.items() if value}


def _time(parsed: Any) -> str:
    """Format a time as ISO 8601; return an empty string for an invalid one."""
    if parsed is None:
        return ""
    try:
        return datetime.datetime.fromtimestamp(calendar.timegm(parsed), datetime.UTC).isoformat()
    except (ValueError, OverflowError, OSError):
        return ""


@dataclasses.dataclass(slots=True)
class SitemapEntry:
    """An entry of a sitemap: a page, or another sitemap."""

    url: str = ""
    modified: str = ""
    title: str = ""
    published: str = ""
    lang: str = ""
    source: str = ""


@dataclasses.dataclass(frozen=True, slots=True)
class Sitemap:
    """A parsed sitemap: pages, or other sitemaps if it is a sitemap index."""

    pages: list[SitemapEntry]
    sitemaps: list[SitemapEntry]


def parse_sitemap(body: bytes) -> Sitemap:
    """Parse a sitemap or a sitemap index.

    Parameters
    ----------
    body : bytes
        The XML, decompressed.

    Raises
    ------
    FeedError
        It is not a sitemap, declares entities, nests deeply or has more than 50,000 entries.

    Examples
    --------
    >>> parse_sitemap(b"<urlset><url><loc>https://a.example/1</loc></url></urlset>").pages[0].url
    'https://a.example/1'
    """
    scan_xml(body)
    handler = _SitemapHandler()
    try:
        handler.parser.Parse(body, True)
    except expat.ExpatError as error:
        raise FeedError(
            f"line {error.lineno}: is not well-formed XML ({expat.ErrorString(error.code)}); expected a "
            "sitemap"
        ) from error
    except (LookupError, ValueError) as error:
        raise FeedError(f"is in an encoding that cannot be read ({error!s:.80}); expected UTF-8") from error
    if handler.root not in ("urlset", "sitemapindex"):
        raise FeedError(f"the root is <{handler.root}>; expected <urlset> or <sitemapindex>")
    return Sitemap(handler.pages, handler.sitemaps)


class _SitemapHandler:
    """Expat handlers that collect the entries of a sitemap."""

    def __init__(self) -> None:
        self.root = ""
        self.pages: list[SitemapEntry] = []
        self.sitemaps: list[SitemapEntry] = []
        self._entry: SitemapEntry | None = None
        self._field, self._parts = "", [""]
        self.parser = expat.ParserCreate(namespace_separator=" ")
        self.parser.buffer_text = True
        self.parser.StartElementHandler = self._start
        self.parser.EndElementHandler = self._end
        self.parser.CharacterDataHandler = self._text

    def _start(self, name: str, _: dict[str, str]) -> None:
        local = _local(name)
        self.root = self.root or local
        if local in ("url", "sitemap"):
            self._entry = SitemapEntry()
        field = _SITEMAP_FIELDS.get(local, "")
        self._field = field if self._entry is not None and not _is_media(name) else ""
        self._parts = []

    def _end(self, name: str) -> None:
        local = _local(name)
        if local in ("url", "sitemap") and self._entry is not None:
            (self.pages if local == "url" else self.sitemaps).append(self._entry)
            self._entry = None
            if len(self.pages) + len(self.sitemaps) > MAX_SITEMAP_ENTRIES:
                raise FeedError(
                    f"the sitemap has more than {MAX_SITEMAP_ENTRIES:,} entries, which the protocol forbids"
                )
        elif self._field and self._entry is not None:
            setattr(self._entry, self._field, "".join(self._parts).strip())
        self._field = ""

    def _text(self, text: str) -> None:
        if self._field:
            self._parts.append(text)


def _local(name: str) -> str:
    return name.rpartition(" ")[2]


def _is_media(name: str) -> bool:
    """Return whether an element belongs to an image or a video, which have their own titles and URLs."""
    return any(kind in name for kind in ("sitemap-image", "sitemap-video"))


def scan_xml(body: bytes) -> None:
    """Refuse XML that declares entities or nests very deeply.

    The file is in UTF-16, UTF-32 or an encoding that extends ASCII; others are refused.

    Examples
    --------
    >>> scan_xml(b"<rss><channel><item/></channel></rss>")
    >>> scan_xml(b'<!DOCTYPE x [<!ENTITY a "aaaa">]><x>&a;</x>')
    Traceback (most recent call last):
        ...
    isogloss.exceptions.FeedError: the XML declares an entity; feeds may not declare entities
    >>> scan_xml(b"<a>" * 200)
    Traceback (most recent call last):
        ...
    isogloss.exceptions.FeedError: the XML is nested deeper than 100 elements; expected a feed or a sitemap
    """
    _check_encoding(body)
    ascii_body = body.replace(b"\0", b"") if b"\0" in body[:256] else body
    if _ENTITY.search(ascii_body):
        raise FeedError("the XML declares an entity; feeds may not declare entities")
    depth = 0
    for closing in _tags(ascii_body):
        depth = max(depth - 1, 0) if closing else depth + 1
        if depth > MAX_XML_DEPTH:
            raise FeedError(
                f"the XML is nested deeper than {MAX_XML_DEPTH} elements; expected a feed or a sitemap"
            )


def _tags(body: bytes) -> Iterator[bool]:
    """Yield for each tag whether it is an end tag; skip comments, CDATA and empty elements.

    A comment or CDATA section without an end hides nothing, as in a lenient parser.
    """
    at, unclosed = 0, set()
    while found := _XML_TAG.search(body, at):
        at = found.end()
        if found.lastindex == 3:
            if not body.endswith(b"/>", found.start(), at):
                yield bool(found[3])
            continue
        end = b"-->" if found[1] else b"]]>"
        close = -1 if end in unclosed else body.find(end, at)
        if close < 0:
            unclosed.add(end)
        else:
            at = close + len(end)


def _check_encoding(body: bytes) -> None:
    """Refuse encodings in which a tag does not look like one, such as UTF-7 and EBCDIC."""
    head = body[:_ENCODING_SCAN_BYTES].replace(b"\0", b"")
    declared = {found.decode("ascii", "replace").lower() for found in _ENCODING.findall(head)}
    refused = {name for name in declared if not name.startswith(_WIDE_ENCODINGS) and not _extends_ascii(name)}
    if body.startswith(_EBCDIC) or refused:
        found = ", ".join(sorted(refused)) or "EBCDIC"
        raise FeedError(f"the declared encoding is {found!r}; expected UTF-8 or another that extends ASCII")


def _extends_ascii(encoding: str) -> bool:
    """Return whether an encoding extends ASCII; parsers ignore an unknown one, so it counts as one that does.

    Examples
    --------
    >>> names = ("utf-8", "koi8-r", "shift_jis", "utf-7", "unicode_escape", "cp037")
    >>> [name for name in names if _extends_ascii(name)]
    ['utf-8', 'koi8-r', 'shift_jis']
    """
    try:
        return _ASCII_PROBE.decode(encoding) == _ASCII_PROBE.decode("ascii")
    except LookupError:
        return True
    except ValueError:
        return False
