r"""Links between articles of different Wikipedias about the same subject.

Two sources say so. Wikidata has one item per thing and lists its articles (*sitelinks*): nothing is left to
decide. Each Wikipedia also has a table of links from its articles to those of other languages, which need
not agree: links may point to redirects, one way only, or from several articles to one. As in section 8.3.1 of
[1]_, redirects are replaced by their targets and the link matrix is made symmetric,

.. math:: M \leftarrow M + M^\top,

an article's own links before those that point to it, and of several links from an article to one language
the first is kept. What is left open there is decided so: a link stays when it is the first for both of its
articles; articles that links connect are one row, and a link that would put two articles of one language
into a row is left out.

References
----------
.. [1] J. Rupnik, *Multi-view canonical correlation analysis*, doctoral dissertation, Jožef Stefan
   International Postgraduate School.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import logging
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import TypeAlias

from isogloss.corpora.readers._records import numbered_lines
from isogloss.corpora.readers._sqldump import read_table
from isogloss.corpora.readers._wikipedia import WikipediaDump
from isogloss.exceptions import CorpusError
from isogloss.io import PathLike, open_decompressed

logger = logging.getLogger(__name__)

Article: TypeAlias = tuple[str, str]
"""Language and title."""

MAX_REDIRECTS = 5
MAX_ITEM_BYTES = 1 << 23
"""Bytes of an item of Wikidata; longer ones are left out."""


def normal_title(title: str) -> str:
    """A title as dumps of pages write it.

    Examples
    --------
    >>> normal_title("lake_Bled"), normal_title(" ")
    ('Lake Bled', '')
    """
    text = title.replace("_", " ").strip()
    return text[:1].upper() + text[1:]


@dataclasses.dataclass
class PageIndex:
    """The articles of a Wikipedia: titles by number, and where redirects lead.

    Examples
    --------
    >>> pages = PageIndex({7: "Bled", 8: "Veldes"}, {"Veldes": "Bled"})
    >>> pages.article("veldes")
    'Bled'
    """

    titles: dict[int, str] = dataclasses.field(default_factory=dict)
    redirects: dict[str, str] = dataclasses.field(default_factory=dict)

    def __post_init__(self) -> None:
        self._known = set(self.titles.values())

    @classmethod
    def from_dump(cls, dump: WikipediaDump) -> PageIndex:
        """From the pages themselves."""
        titles, redirects = {}, {}
        for page in dump.pages():
            number = _number(page.id)
            if page.namespace == "0" and number is not None and page.title:
                titles[number] = page.title
                if page.redirect is not None:
                    redirects[page.title] = normal_title(page.redirect)
        return cls(titles, redirects)

    @classmethod
    def from_sql(cls, pages: PathLike, redirects: PathLike | None = None) -> PageIndex:
        """From the tables ``page`` and ``redirect``, which are small and quick to read."""
        columns = ["page_id", "page_namespace", "page_title"]
        titles = {
            _need_number(number, pages): normal_title(title)
            for number, namespace, title in read_table(pages, "page", columns)
            if namespace == "0"
        }
        if redirects is None:
            return cls(titles)
        rows = read_table(redirects, "redirect", ["rd_from", "rd_namespace", "rd_title"])
        leads = {
            titles[_need_number(number, redirects)]: normal_title(title)
            for number, namespace, title in rows
            if namespace == "0" and _need_number(number, redirects) in titles
        }
        return cls(titles, leads)

    def article(self, title: str) -> str | None:
        """The title of the article that a title leads to; None when there is none."""
        found = normal_title(title.partition("#")[0])
        for _ in range(MAX_REDIRECTS):
            if found not in self.redirects:
                return found if found in self._known else None
            found = self.redirects[found]
        return None


def read_langlinks(path: PathLike) -> Iterator[tuple[int, str, str]]:
    """Number of the article, language and title it links to, from the table ``langlinks``."""
    for number, language, title in read_table(path, "langlinks", ["ll_from", "ll_lang", "ll_title"]):
        yield _need_number(number, path), language, title


def _number(text: str) -> int | None:
    """The number of a page; None if the text is none."""
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 20 else None


def _need_number(text: str, path: PathLike) -> int:
    number = _number(text)
    if number is None:
        raise CorpusError(
            f"{path}: the number of a page is {text!r:.60}; expected digits: get the file again"
        )
    return number


class LanguageLinks:
    """Links between the articles of several Wikipedias, made symmetric.

    Parameters
    ----------
    pages : mapping of str to PageIndex
        The articles of each language; links to other languages are ignored.

    Attributes
    ----------
    report : Counter
        How many links were read, and how many were left out, by reason.

    Examples
    --------
    >>> pages = {"en": PageIndex({1: "Bled"}), "de": PageIndex({5: "Bled", 6: "Veldes"}, {"Veldes": "Bled"})}
    >>> links = LanguageLinks(pages)
    >>> links.add("en", [(1, "de", "Veldes")])
    >>> links.concepts()("de", "Bled")
    'en:Bled'
    """

    def __init__(self, pages: Mapping[str, PageIndex]) -> None:
        self.pages = pages
        self.report: Counter[str] = Counter()
        self._links: dict[tuple[Article, Article], None] = {}

    def add(self, language: str, links: Iterable[tuple[int, str, str]]) -> None:
        """Links from the articles of a language: number, other language, title there."""
        if language not in self.pages:
            raise ValueError(f"no pages of {language!r}; there are those of {', '.join(self.pages)}")
        own = self.pages[language]
        for number, other, title in links:
            if other not in self.pages or other == language:
                continue
            self.report["links"] += 1
            source = own.article(own.titles[number]) if number in own.titles else None
            target = self.pages[other].article(title)
            if source is None or target is None:
                self.report["to or from no article"] += 1
            else:
                self._links[(language, source), (other, target)] = None

    def concepts(self) -> Concepts:
        """The articles that are about the same thing."""
        first = self._first_links()
        mutual = [
            (source, target)
            for (source, language), target in first.items()
            if first.get((target, source[0])) == source
        ]
        self.report["not first"] = len(first) - len(mutual)
        rows = _Rows()
        for source, target in mutual:
            self.report["two of one language"] += not rows.join(source, target)
        order = {language: number for number, language in enumerate(self.pages)}
        return Concepts(dict(rows.named(order)))

    def _first_links(self) -> dict[tuple[Article, str], Article]:
        """The first link of every article to every language: its own before those that point to it."""
        first: dict[tuple[Article, str], Article] = {}
        for source, target in self._links:
            first.setdefault((source, target[0]), target)
        for source, target in self._links:
            first.setdefault((target, source[0]), source)
        return first


class _Rows:
    """Sets of articles, at most one in each language."""

    def __init__(self) -> None:
        self._rows: dict[Article, dict[str, Article]] = {}

    def join(self, one: Article, other: Article) -> bool:
        """Put the sets of two articles together, unless a language would then have two."""
        left, right = (self._rows.setdefault(article, {article[0]: article}) for article in (one, other))
        if left is right:
            return True
        if left.keys() & right.keys():
            return False
        small, large = sorted((left, right), key=len)
        large.update(small)
        for article in small.values():
            self._rows[article] = large
        return True

    def named(self, order: Mapping[str, int]) -> Iterator[tuple[Article, str]]:
        """Every article with the name of its set: its article in the first of the languages."""
        for article, row in self._rows.items():
            language, title = row[min(row, key=order.__getitem__)]
            yield article, f"{language}:{title}"


@dataclasses.dataclass(frozen=True)
class Concepts:
    """The subject of each article: call it with a language and a title.

    Parameters
    ----------
    rows : mapping of (str, str) to str
        Name of the row, by language and title.

    Examples
    --------
    >>> concepts = Concepts({("en", "Bled"): "Q1011", ("sl", "Bled"): "Q1011"})
    >>> concepts("sl", "Bled"), concepts("sl", "Radovljica")
    ('Q1011', None)
    """

    rows: Mapping[Article, str]

    def __call__(self, language: str, title: str) -> str | None:
        """The row of an article, None when it has none."""
        return self.rows.get((language, title))

    def fingerprint(self) -> str:
        """Return a fingerprint of these rows."""
        total = hashlib.blake2b(digest_size=16)
        for (language, title), name in sorted(self.rows.items()):
            total.update(f"{language}\t{title}\t{name}\n".encode("utf-8", "surrogatepass"))
        return total.hexdigest()

    @classmethod
    def from_sitelinks(cls, path: PathLike, languages: Collection[str]) -> Concepts:
        """From Wikidata: its JSON dump, or the table ``wb_items_per_site``.

        Rows are named after items, ``Q1011``. Items with fewer than two of the languages are left out.
        """
        rows = {(code, title): item for item, code, title in read_sitelinks(path, languages)}
        common = {item for item, count in Counter(rows.values()).items() if count > 1}
        return cls({article: item for article, item in rows.items() if item in common})


def read_sitelinks(path: PathLike, languages: Collection[str]) -> Iterator[tuple[str, str, str]]:
    """Item, language and title of each article, from Wikidata's JSON dump or ``wb_items_per_site``."""
    with open_decompressed(path) as file:
        is_json = file.read(1) in (b"[", b"{")
    sites = {f"{code.replace('-', '_')}wiki": code for code in languages}
    for item, site, title in (_json_items if is_json else _sql_items)(path, sites):
        yield item, sites[site], title


def _sql_items(path: PathLike, sites: Collection[str]) -> Iterator[tuple[str, str, str]]:
    columns = ["ips_item_id", "ips_site_id", "ips_site_page"]
    for number, site, title in read_table(path, "wb_items_per_site", columns):
        if site in sites:
            yield f"Q{number}", site, normal_title(title)


def _json_items(path: PathLike, sites: Collection[str]) -> Iterator[tuple[str, str, str]]:
    """Items of a dump that has one on each line, with brackets around all and commas between them."""
    with open_decompressed(path) as file:
        for number, line in numbered_lines(file, MAX_ITEM_BYTES):
            if line is None:
                logger.warning(
                    "%s:%d: the item is left out; it has more than %d bytes", path, number, MAX_ITEM_BYTES
                )
                continue
            text = line.rstrip(b",")
            if text in (b"", b"[", b"]"):
                continue
            item, titles = _item(text, sites, f"{path}:{number}")
            for site, title in titles.items():
                yield item, site, normal_title(title)


def _item(text: bytes, sites: Collection[str], place: str) -> tuple[str, dict[str, str]]:
    """An item, and its titles in some sites."""
    try:
        item = json.loads(text)
        links = dict(item.get("sitelinks") or {})
        return str(item["id"]), {site: str(links[site]["title"]) for site in links if site in sites}
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as reason:
        raise CorpusError(
            f"{place}: is not an item of Wikidata ({str(reason)[:80]}); expected a JSON dump with an item on "
            "each line"
        ) from reason
