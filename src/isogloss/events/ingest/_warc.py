"""Articles from WARC files, the archives of web crawlers.

Records are read by ``fastwarc`` and pages are parsed by ``resiliparse``, as browsers do and never as XML.
Only the main text of a page is kept, without menus, footers and comments. Parsing time grows with the square
of the nesting depth and of the number of attributes, so pages that are nested too deeply are refused before
they are parsed, and the others are parsed in a child process with a timeout.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Self
from urllib.parse import urlsplit

from isogloss.exceptions import ArticleError, CorpusError
from isogloss.extras import import_extra
from isogloss.io import ParserFailure, ParserProcess, PathLike, open_binary

_TITLE_SELECTORS = ("meta[property='og:title'][content]", "meta[name='twitter:title'][content]")
_TIME_SELECTORS = (
    ("meta[property='article:published_time']", "content"),
    ("meta[itemprop='datePublished']", "content"),
    ("meta[name='date']", "content"),
    ("time[datetime]", "datetime"),
)
"""Elements that hold the publication time, the most reliable first."""

MAX_ELEMENT_DEPTH = 500
"""Maximum nesting depth of elements."""

PAGE_TIMEOUT_S = 10.0
"""CPU time allowed for one page."""

_HTML_TAG = re.compile(rb"<(/?)([a-zA-Z][a-zA-Z0-9]*)")
_UNCLOSED_ELEMENTS = frozenset(
    {
        b"area",
        b"base",
        b"br",
        b"col",
        b"embed",
        b"hr",
        b"img",
        b"input",
        b"link",
        b"meta",
        b"source",
        b"track",
    }
    | {b"wbr", b"p", b"li", b"dt", b"dd", b"tr", b"td", b"th", b"thead", b"tbody", b"tfoot", b"option"}
)
"""Elements that have no end tag, or need none."""


@dataclass(frozen=True, slots=True)
class WebPage:
    """A fetched page."""

    id: str
    url: str
    fetched: str
    encoding: str
    content: bytes | None

    def __str__(self) -> str:
        return self.url


def is_warc(name: str) -> bool:
    """Return whether a file is a WARC file, by its name.

    Examples
    --------
    >>> is_warc("crawl.warc.gz"), is_warc("news.jsonl")
    (True, False)
    """
    return ".warc" in name.lower()[-9:]


def web_pages(path: PathLike, max_bytes: int) -> Iterator[tuple[int, WebPage]]:
    """Yield the numbered HTML pages of an archive with status 200; too long ones have no content.

    Raises CorpusError if the archive is truncated or damaged; the pages before that have been yielded.
    """
    warc = _import("fastwarc.warc")
    only = {"record_types": warc.WarcRecordType.response, "auto_decode": "all", "fsspec_args": False}
    try:
        with open_binary(path) as file:
            for number, record in enumerate(warc.ArchiveIterator(file, parse_http=True, **only), 1):
                if _is_page(record):
                    yield number, _page(record, max_bytes)
    except (OSError, EOFError, ValueError, RuntimeError) as reason:
        raise CorpusError(f"{path}: is truncated or damaged ({reason}); download the file again") from reason


class PageParser:
    """:func:`parse_page` in a child process, with ``PAGE_TIMEOUT_S`` for each page."""

    def __init__(self) -> None:
        self._parse = ParserProcess(_parse, seconds=PAGE_TIMEOUT_S)

    def __call__(self, page: WebPage) -> dict[str, Any]:
        """Return the fields of an article; ArticleError if the page cannot be parsed within the limits."""
        content = _check_size(page)
        try:
            record: dict[str, Any] = self._parse(
                page.id, page.url, page.fetched, page.encoding, content.decode("latin-1")
            )
        except ParserFailure as failure:
            raise ArticleError(f"page {failure.reason}", f"{page.url:.200}: {failure}") from failure
        return record

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._parse.close()


def _parse(key: str, url: str, fetched: str, encoding: str, letters: str) -> dict[str, Any]:
    """Parse a page whose content is Latin-1 text, one character per byte."""
    return parse_page(WebPage(key, url, fetched, encoding, letters.encode("latin-1")))


def _check_size(page: WebPage) -> bytes:
    """Return the content of a page, unless it is too long or nested too deeply."""
    if page.content is None:
        raise ArticleError("too long", f"{page.url:.200}: the page is too long; raise max_bytes")
    if _depth(page.content) > MAX_ELEMENT_DEPTH:
        message = (
            f"{page.url:.200}: has elements nested more than {MAX_ELEMENT_DEPTH} deep; expected a news page"
        )
        raise ArticleError("nested too deep", message)
    return page.content


def parse_page(page: WebPage) -> dict[str, Any]:
    """Return the fields of an article: main text, title, language and time of a page.

    A page without a publication time has the time at which it was fetched.
    """
    content = _check_size(page)
    tree = _import("resiliparse.parse.html").HTMLTree.parse_from_bytes(content, page.encoding or "utf-8")
    text = _import("resiliparse.extract.html2text").extract_plain_text(
        tree, main_content=True, preserve_formatting=True, links=False, list_bullets=False, alt_texts=False
    )
    root = tree.document.query_selector("html")
    return {
        "id": page.id or page.url,
        "url": page.url,
        "source": urlsplit(page.url).hostname or "",
        "title": _title(tree),
        "body": text,
        "time": _time(tree),
        "fetched": page.fetched,
        "lang": root.getattr("lang") if root is not None else None,
    }


def _depth(content: bytes) -> int:
    """Return the maximum number of open elements, without parsing.

    An end tag closes an element of its own name only: browsers ignore others.
    """
    still_open: Counter[bytes] = Counter()
    depth = deepest = 0
    for closing, tag in _HTML_TAG.findall(content):
        name = tag.lower()
        if name in _UNCLOSED_ELEMENTS or (closing and not still_open[name]):
            continue
        step = -1 if closing else 1
        still_open[name] += step
        depth += step
        deepest = max(deepest, depth)
    return deepest


def _is_page(record: Any) -> bool:
    if not record.is_http or record.http_headers is None or record.http_headers.status_code != 200:
        return False
    return "html" in (record.http_content_type or "").lower()


def _page(record: Any, max_bytes: int) -> WebPage:
    content = record.reader.read(max_bytes + 1)
    encoding = record.http_charset
    if not encoding and len(content) <= max_bytes:
        encoding = _import("resiliparse.parse.encoding").detect_encoding(content)
    return WebPage(
        record.record_id or "",
        record.headers.get("WARC-Target-URI", "").strip("<>"),
        record.headers.get("WARC-Date", ""),
        encoding or "utf-8",
        content if len(content) <= max_bytes else None,
    )


def _title(tree: Any) -> str:
    """Return the social media title, which has no site name, or else that of the window."""
    found = (tree.document.query_selector(place) for place in _TITLE_SELECTORS)
    return next((str(one.getattr("content")) for one in found if one is not None), str(tree.title or ""))


def _time(tree: Any) -> str | None:
    found = ((tree.document.query_selector(place), name) for place, name in _TIME_SELECTORS)
    values = (str(one.getattr(name) or "").strip() for one, name in found if one is not None)
    return next(filter(None, values), None)


def _import(module: str) -> Any:
    return import_extra(module, "warc", "a web archive")
