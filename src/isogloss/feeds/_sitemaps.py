"""Sitemaps: the pages of a site and when they changed, with the titles of news sitemaps."""

from __future__ import annotations

import dataclasses
from xml.parsers import expat

from isogloss.exceptions import FeedError
from isogloss.feeds._scan import scan_xml

__all__ = ["Sitemap", "SitemapEntry", "parse_sitemap"]

MAX_ENTRIES = 50_000
_FIELDS = {
    "loc": "url",
    "lastmod": "modified",
    "title": "title",
    "publication_date": "published",
    "language": "lang",
    "name": "source",
}


@dataclasses.dataclass(slots=True)
class SitemapEntry:
    """One page, or one further sitemap, as the sitemap tells it."""

    url: str = ""
    modified: str = ""
    title: str = ""
    published: str = ""
    lang: str = ""
    source: str = ""


@dataclasses.dataclass(frozen=True, slots=True)
class Sitemap:
    """Pages of a site, and further sitemaps where the file is an index of them."""

    pages: list[SitemapEntry]
    sitemaps: list[SitemapEntry]


def parse_sitemap(body: bytes) -> Sitemap:
    """Read a sitemap or an index of sitemaps.

    Parameters
    ----------
    body : bytes
        The XML, unpacked.

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
    reader = _Reader()
    try:
        reader.parser.Parse(body, True)
    except expat.ExpatError as error:
        raise FeedError(
            f"line {error.lineno}: is not well-formed XML ({expat.ErrorString(error.code)}); expected a "
            "sitemap"
        ) from error
    except (LookupError, ValueError) as error:
        raise FeedError(f"is in an encoding that cannot be read ({error!s:.80}); expected UTF-8") from error
    if reader.root not in ("urlset", "sitemapindex"):
        raise FeedError(f"the root is <{reader.root}>; expected <urlset> or <sitemapindex>")
    return Sitemap(reader.pages, reader.sitemaps)


class _Reader:
    """Handlers that gather one entry at a time."""

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
        field = _FIELDS.get(local, "")
        self._field = field if self._entry is not None and not _elsewhere(name) else ""
        self._parts = []

    def _end(self, name: str) -> None:
        local = _local(name)
        if local in ("url", "sitemap") and self._entry is not None:
            (self.pages if local == "url" else self.sitemaps).append(self._entry)
            self._entry = None
            if len(self.pages) + len(self.sitemaps) > MAX_ENTRIES:
                raise FeedError(
                    f"the sitemap has more than {MAX_ENTRIES:,} entries, which the protocol forbids"
                )
        elif self._field and self._entry is not None:
            setattr(self._entry, self._field, "".join(self._parts).strip())
        self._field = ""

    def _text(self, text: str) -> None:
        if self._field:
            self._parts.append(text)


def _local(name: str) -> str:
    return name.rpartition(" ")[2]


def _elsewhere(name: str) -> bool:
    """Elements of images and videos have titles and places of their own."""
    return any(kind in name for kind in ("sitemap-image", "sitemap-video"))
