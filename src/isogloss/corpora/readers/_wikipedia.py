"""Articles of Wikipedia from its XML dumps (``LANGwiki-DATE-pages-articles.xml.bz2``), one page at a time.

The dump is read as it is unpacked and never held in memory. Parts of a multistream dump can be read in
several processes (:meth:`WikipediaDump.parts`).
"""

from __future__ import annotations

import dataclasses
import io
import re
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import suppress
from copy import copy
from functools import cached_property
from typing import IO, cast

from isogloss.corpora.readers._checking import OnBad
from isogloss.corpora.readers._markup import BoundedWikiMarkup
from isogloss.corpora.readers._records import BadRecordError, Document, DocumentReader, DocumentReport
from isogloss.corpora.readers._streams import CHUNK_BYTES, Span, find_spans, find_streams, read_span
from isogloss.io import PathLike, XmlReader, open_decompressed

MAX_PAGE_CHARS = 1 << 22
"""Letters of a page; longer ones are left out. MediaWiki takes at most 2 MiB."""

MAX_ELEMENT_CHARS = 1 << 26
"""Letters of an element after which the file is taken for no dump."""

MAX_NAMESPACES = 1_000

NEWEST_VERSION = (0, 11)
"""Version of the export format that is known; https://www.mediawiki.org/xml/export-0.11/ describes it."""

HIDDEN_NAMESPACES = (6, 14)
"""Numbers of the namespaces of pictures and of categories."""


@dataclasses.dataclass
class Page:
    """A page as it stands in a dump."""

    line: int
    id: str = ""
    title: str = ""
    namespace: str = ""
    redirect: str | None = None
    model: str = "wikitext"
    text: str = ""
    too_long: bool = False


class WikipediaDump(DocumentReader):
    """The articles of a dump, with their titles as ids and their markup removed.

    Pages of other namespaces, redirects, and pages that are not wikitext are passed over and counted. A
    dump that ends too early is an error; with ``on_bad='skip'`` the pages before its end are given, and the
    report says so. A page that is longer than ``MAX_PAGE_CHARS``, or whose markup cannot be removed within
    ``PAGE_TIMEOUT_S`` and ``PAGE_MEMORY_BYTES``, is an error too; ``'skip'`` leaves it out.

    Parameters
    ----------
    path : path
        The dump; bzip2, also of many streams, is unpacked.
    lang : str
        The language; by default what the dump says, ``sl`` for ``slwiki``.
    namespaces : collection of int
        Namespaces to read; 0 is that of articles.
    on_bad : {"raise", "skip"}
        What to do about pages that are too long or have no title, and about dumps that are cut short.

    Examples
    --------
    >>> from pathlib import Path
    >>> _ = Path("dump.xml").write_text('''<mediawiki><siteinfo><dbname>slwiki</dbname></siteinfo>
    ... <page><title>Bled</title><ns>0</ns><id>1</id>
    ... <revision><text>Bled je [[kraj]].{{škrbina}}</text></revision></page>
    ... <page><title>Veldes</title><ns>0</ns><id>2</id><redirect title="Bled" /></page>
    ... </mediawiki>''')
    >>> dump = WikipediaDump("dump.xml")
    >>> [(page.id, page.lang, page.text) for page in dump]
    [('Bled', 'sl', 'Bled je kraj.')]
    >>> print(dump.report)
    1 documents, 1 redirects
    """

    def __init__(
        self,
        path: PathLike,
        *,
        lang: str = "",
        namespaces: Collection[int] = (0,),
        on_bad: OnBad = "raise",
    ) -> None:
        super().__init__(path, lang=lang, on_bad=on_bad)
        self.namespaces = namespaces

    @cached_property
    def site(self) -> dict[str, str]:
        """The site information of the dump: ``dbname``, and the names of namespaces by number."""
        parser = _PageParser(self.path)
        with (
            open_decompressed(self.path) as file,
            suppress(BadRecordError),
        ):  # :meth:`pages` says what is damaged
            while not parser.began and (chunk := _read(file)):
                parser.feed(chunk)
        return dict(parser.site)

    def preparer(self) -> Callable[[str], str]:
        """The markup remover, with the names of namespaces in the language of the dump."""
        names = {self.site.get(str(number), "").lower() for number in HIDDEN_NAMESPACES} - {""}
        return BoundedWikiMarkup(BoundedWikiMarkup.hidden | names)

    def raw(self) -> Iterator[Document]:
        """The articles with their markup."""
        self.report = DocumentReport()
        return self._articles(self.pages(), lambda page: f"{self.path}:{page.line}")

    def parts(self) -> list[DumpPart]:
        """Parts of a multistream dump; none of any other."""
        return [DumpPart(self, span) for span in find_spans(self.path)]

    def streams(self) -> list[int]:
        """Where the bzip2 streams of the dump begin; none if it is compressed in another way."""
        return find_streams(self.path)

    def pages(self, span: Span | None = None) -> Iterator[Page]:
        """Every page of the dump, redirects too, or of a span of its streams."""
        with open_decompressed(self.path) as file:
            parser = _PageParser(self.path)
            if span is not None and span.start:
                parser.feed(b"<mediawiki>")
            try:
                for chunk in _chunks(file) if span is None else read_span(self.path, span):
                    parser.feed(chunk)
                    yield from parser.take()
                parser.feed(b"" if span is None or span.last else b"</mediawiki>", final=True)
            except BadRecordError as bad:
                yield from parser.take()
                where = f"{self.path}:{parser.line}" if span is None else _place(self.path, span)
                self._leave_out(bad, where)

    def _articles(self, pages: Iterable[Page], place_of: Callable[[Page], str]) -> Iterator[Document]:
        """The pages that are articles; counts the others."""
        lang, report = self._lang, self.report
        wanted = {str(number) for number in self.namespaces}
        for page in pages:
            if reason := _passed_over(page, wanted):
                report.passed[reason] += 1
            elif not page.title:
                self._leave_out(BadRecordError("without title", "the page has no title"), place_of(page))
            elif page.too_long:
                message = f"the page {page.title!r:.80} has more than {MAX_PAGE_CHARS:,} letters"
                self._leave_out(BadRecordError("too long", message), place_of(page))
            else:
                report.documents += 1
                yield Document(page.title, page.text, lang, page.title, place_of(page))

    @property
    def _lang(self) -> str:
        return self.lang or self.site.get("dbname", "").removesuffix("wiki").replace("_", "-")


def _place(path: str, span: Span) -> str:
    return f"{path}: bytes {span.start:,} to {span.end:,}"


@dataclasses.dataclass(frozen=True)
class DumpPart:
    """Some streams of a multistream dump."""

    dump: WikipediaDump
    span: Span

    def read(self) -> tuple[list[Document], DocumentReport]:
        """The articles with their markup, and an account of the other pages."""
        reader = copy(self.dump)
        reader.report = DocumentReport()
        place = _place(reader.path, self.span)
        return list(reader._articles(reader.pages(self.span), lambda page: place)), reader.report

    def pages(self) -> Iterator[Page]:
        """Every page, redirects too."""
        return copy(self.dump).pages(self.span)


def is_article(page: Page) -> bool:
    """Return whether a page is an article: wikitext of the main namespace, and no redirect."""
    return _passed_over(page, {"0"}) is None


def _passed_over(page: Page, namespaces: set[str]) -> str | None:
    """Why a page is not an article, if it is not."""
    if page.namespace not in namespaces:
        return "in other namespaces"
    if page.redirect is not None:
        return "redirects"
    if page.model != "wikitext":
        return "not wikitext"
    return None if page.too_long or page.text.strip() else "without text"


def _chunks(file: IO[bytes]) -> Iterator[bytes]:
    while chunk := _read(file):
        yield chunk


def _read(file: IO[bytes]) -> bytes:
    """Some bytes, as soon as there are some: before a damaged place everything is read."""
    try:
        return cast("io.BufferedIOBase", file).read1(CHUNK_BYTES)
    except (EOFError, OSError) as reason:
        raise BadRecordError(
            "cut short", f"the dump is cut short or damaged ({reason}); get the file again"
        ) from reason


class _PageParser(XmlReader):
    """Gathers one page, and puts it on a list when it ends."""

    def __init__(self, path: str) -> None:
        super().__init__(path, "a dump of MediaWiki")
        self.site: dict[str, str] = {}
        self.began = False
        self._pages: list[Page] = []
        self._page: Page | None = None
        self._open: list[str] = []
        self._key = ""
        self._parts: list[str] = []
        self._length = 0

    def malformed(self, reason: str) -> Exception:
        """A dump that ends too early is a bad record, since what comes before can be used."""
        what = f"the XML is cut short or damaged ({reason}); expected {self.expected}"
        return BadRecordError("cut short", what)

    def take(self) -> list[Page]:
        """Pages that have ended since the last call."""
        pages, self._pages = self._pages, []
        return pages

    def start(self, name: str, attributes: dict[str, str]) -> None:
        """Begin a page, or something in it."""
        self._open.append(name)
        self._parts, self._length = [], 0
        if name == "mediawiki":
            self._check_version(attributes.get("version", ""))
        elif name == "page":
            self._page, self.began = Page(self.line), True
        elif name == "redirect" and self._page is not None:
            self._page.redirect = attributes.get("title", "")
        elif name == "namespace":
            self._key = attributes.get("key", "")

    def end(self, name: str) -> None:
        """Put what an element held where it belongs."""
        self._open.pop()
        text = "".join(self._parts)
        self._parts = []
        if self._page is None:
            if name in ("namespace", "dbname") and len(self.site) < MAX_NAMESPACES:
                self.site[self._key if name == "namespace" else name] = text
        elif name == "page":
            self._pages.append(self._page)
            self._page = None
        else:
            self._fill(self._page, name, text)

    def _fill(self, page: Page, name: str, text: str) -> None:
        """Put the text of an element where it belongs; a page and its revision both have an id."""
        if self._open[-1:] == ["page"]:
            if name in ("title", "id"):
                setattr(page, name, text)
            elif name == "ns":
                page.namespace = text
        elif name in ("text", "model") and "revision" in self._open:
            setattr(page, name, text)

    def _check_version(self, version: str) -> None:
        """Refuse a format that is newer than what is known here: it may say things in another way."""
        numbers = re.fullmatch(r"([0-9]{1,6})\.([0-9]{1,6})", version)
        if numbers and tuple(map(int, numbers.groups())) > NEWEST_VERSION:
            raise self.refused(
                f"the export format is of version {version}, and this isogloss reads versions up to "
                f"{'.'.join(map(str, NEWEST_VERSION))}; update isogloss, or get an older dump"
            )

    def text(self, text: str) -> None:
        """Keep the text of the element that is open."""
        self._length += len(text)
        if self._length <= MAX_PAGE_CHARS:
            self._parts.append(text)
        elif self._length > MAX_ELEMENT_CHARS:
            raise self.refused(f"an element is longer than {MAX_ELEMENT_CHARS:,} letters; expected pages")
        elif self._page is not None:
            self._page.too_long, self._parts = True, []
