"""Make small dumps in the real format, to try things out: invented languages, planted topics, wiki markup.

The pages have templates within templates, tables, references, formulas, comments, pictures with captions,
categories and lists; there are redirects, also double ones and ones that lead nowhere, disambiguation pages,
links to pages that do not exist, talk pages, templates and modules. Words of a language follow Zipf's law,
and each topic has words of its own.
"""

from __future__ import annotations

import bz2
import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from html import escape
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from isogloss.io import PathLike, atomic_write
from isogloss.wikipedia._catalogue import wiki_of

T = TypeVar("T")

_SITE = """<mediawiki xmlns="http://www.mediawiki.org/xml/export-0.11/" version="0.11" xml:lang="{code}">
  <siteinfo>
    <sitename>Wikipedia</sitename>
    <dbname>{wiki}</dbname>
    <generator>MediaWiki 1.45.0-wmf.5</generator>
    <case>first-letter</case>
    <namespaces>
      <namespace key="0" case="first-letter" />
      <namespace key="1" case="first-letter">Talk</namespace>
      <namespace key="6" case="first-letter">Picture</namespace>
      <namespace key="10" case="first-letter">Template</namespace>
      <namespace key="14" case="first-letter">Topic</namespace>
      <namespace key="828" case="first-letter">Module</namespace>
    </namespaces>
  </siteinfo>
"""

_PAGE = """  <page>
    <title>{title}</title>
    <ns>{namespace}</ns>
    <id>{number}</id>
{redirect}    <revision>
      <id>{revision}</id>
      <parentid>{number}</parentid>
      <timestamp>2025-01-01T00:00:00Z</timestamp>
      <contributor>
        <username>A &amp; B</username>
        <id>7</id>
      </contributor>
      <comment>/* {title} */ &lt;page&gt;</comment>
      <model>{model}</model>
      <format>text/x-wiki</format>
      <text bytes="{size}" sha1="0" xml:space="preserve">{text}</text>
    </revision>
  </page>
"""

_ARTICLE = """{{{{Infobox|name={title}|image=[[Picture:{title}.jpg|thumb|{words[0]} of [[{link}]]]]
|coordinates={{{{coord|46|22|N|14|06|E|{{{{small|type:city}}}}}}}}
}}}}
'''{title}''' {words[1]} [[{link}|{anchor}]]{words[2]}.<ref name="a">{{{{cite book|title={words[3]}}}}}</ref>
<!-- {words[4]} -->{words[5]} [[{missing}]] &amp;nbsp;{words[6]} ''[[{other}]]''s.<ref name="a" />
== {words[7]} ==
{{| class="wikitable" style="text-align:right"
! {words[8]} !! {words[9]}
|-
| 1910 || [[{link}]]
|-
| colspan=2 | {words[10]}
|}}
* {words[11]} <math>x^{{2}} + \\frac{{1}}{{2}}</math>
* [https://example.org/{number} {words[12]}]
# {words[13]} <nowiki>[[not a link]]</nowiki>
{paragraphs}
<gallery>
{title}.jpg|{words[14]}
</gallery>
{{{{DEFAULTSORT:{title}}}}}
[[Topic:{topic}]] __NOTOC__
"""

PAGES_PER_STREAM = 100
"""As in Wikimedia's dumps."""

ROWS_PER_INSERT = 1_000


@dataclass
class _Wiki:
    """Pages of a language: rows of its tables, and titles by concept."""

    code: str
    titles: dict[int, str] = field(default_factory=dict)
    """By concept."""
    pages: list[tuple[int, int, str]] = field(default_factory=list)
    redirects: list[tuple[int, int, str]] = field(default_factory=list)
    langlinks: list[tuple[int, str, str]] = field(default_factory=list)


def write_sample(
    folder: PathLike,
    languages: Sequence[str],
    *,
    concepts: int = 600,
    topics: int = 12,
    words: int = 3_000,
    length: int = 120,
    missing: float = 0.25,
    date: str = "20250101",
    random_state: int = 0,
) -> dict[str, int]:
    """Write dumps of Wikipedias in invented languages, laid out as on a mirror of Wikimedia's dumps.

    Parameters
    ----------
    folder : path
        The folder to write them to, as ``WIKI/DATE/WIKI-DATE-...``.
    languages : sequence of str
        Codes of Wikipedias; only the codes are real.
    concepts, topics, words : int
        Subjects of articles, topics of subjects, and words of a language.
    length : int
        Mean number of words of the running text of an article.
    missing : float
        Share of the subjects that a language other than the first has no article about.
    date : str
        The date in the names.
    random_state : int
        Seed of the random numbers.

    Returns
    -------
    dict of str to int
        Articles of each language, without redirects.

    Examples
    --------
    >>> write_sample("mirror", ["en", "sl"], concepts=40, missing=0)
    {'en': 42, 'sl': 42}
    """
    rng = np.random.default_rng(random_state)
    here = {
        code: np.flatnonzero(rng.random(concepts) >= (missing if i else 0))
        for i, code in enumerate(languages)
    }
    topic_of = rng.integers(topics, size=concepts)
    place = Path(folder)
    wikis = [_Wiki(code) for code in languages]
    vocabularies = {code: _words(words, code) for code in languages}
    for wiki in wikis:
        names = _words(concepts + 20, f"{wiki.code} names")
        wiki.titles = {
            int(c): names[c].capitalize() + (" & Co." if c % 50 == 7 else "") for c in here[wiki.code]
        }
    counts = {}
    for number, wiki in enumerate(wikis):
        draw = np.random.default_rng([random_state, number])
        texts = _Texts(draw, vocabularies[wiki.code], topic_of, topics, length)
        pages = list(_pages(wiki, wikis, texts))
        own = place / wiki_of(wiki.code) / date
        own.mkdir(parents=True, exist_ok=True)
        _write_wiki(own, wiki, date, pages)
        counts[wiki.code] = sum(page["namespace"] == 0 and not page["redirect"] for page in pages)
    own = place / "wikidatawiki" / date
    own.mkdir(parents=True, exist_ok=True)
    items = [(c + 1, wiki_of(w.code), title) for w in wikis for c, title in w.titles.items()]
    items += [(concepts + 7, wiki_of(wikis[0].code), "Talk:Nothing")]
    columns = ("ips_row_id", "ips_item_id", "ips_site_id", "ips_site_page")
    rows = [(number, *row) for number, row in enumerate(sorted(items), 1)]
    _write_table(own / f"wikidatawiki-{date}-wb_items_per_site.sql.gz", "wb_items_per_site", columns, rows)
    _write_status(own)
    return counts


def _words(count: int, seed: str) -> list[str]:
    """Different words of two to five syllables, frequent ones shorter; a language has its own sounds."""
    digest = hashlib.blake2b(seed.encode(), digest_size=8).digest()
    rng = np.random.default_rng(int.from_bytes(digest, "little"))
    consonants = rng.permutation(list("bcdfghjklmnprstvzčšž"))[:11]
    vowels = rng.permutation(list("aeiouäöé"))[:5]
    found: dict[str, None] = {}
    while len(found) < count:
        size = 2 + int(3 * len(found) / count) + int(rng.integers(2))
        syllables = zip(rng.choice(consonants, size), rng.choice(vowels, size), strict=True)
        found["".join(a + b for a, b in syllables)] = None
    return list(found)


@dataclass
class _Texts:
    """Draws running text: half of the words are of the topic."""

    rng: np.random.Generator
    vocabulary: list[str]
    topic_of: Any
    topics: int
    length: int

    def __post_init__(self) -> None:
        chance = 1 / np.arange(1, len(self.vocabulary) + 1)
        self._zipf = np.cumsum(chance / chance.sum())

    def draw(self, concept: int, count: int) -> list[str]:
        """Words of a text about a concept."""
        topic = int(self.topic_of[concept])
        places = np.searchsorted(self._zipf, self.rng.random(count))
        own = self.rng.random(count) < 0.5
        block = len(self.vocabulary) // (self.topics + 1)
        start = (topic + 1) * block
        places[own] = start + (places[own] + 7 * concept) % block
        return [self.vocabulary[min(place, len(self.vocabulary) - 1)] for place in places.tolist()]


def _pages(wiki: _Wiki, wikis: Sequence[_Wiki], texts: _Texts) -> Iterator[dict[str, Any]]:
    """Pages of a language in the order of their numbers; fills the rows of its tables."""
    make = partial(_page, wiki)
    known = list(wiki.titles)
    for position, (concept, title) in enumerate(wiki.titles.items()):
        number = len(wiki.pages) + 10
        near = [wiki.titles[known[(position + step) % len(known)]] for step in (1, 3)]
        yield make(title, _article(texts, concept, number, title, near))
        links = ((other.code, other.titles[concept]) for other in wikis if concept in other.titles)
        for code, there in links:
            if code != wiki.code:
                stale = concept % 10 == 3
                wiki.langlinks.append((number, code, f"{there} (old)" if stale else there))
        if concept % 10 == 3:
            yield make(f"{title} (old)", f"#REDIRECT [[{title}]]", redirect=title)
        if concept % 25 == 4:
            yield make(f"{title} x", f"#REDIRECT [[{title} (old)]]", redirect=f"{title} (old)")
        if concept % 7 == 1:
            yield make(f"Talk:{title}", "Please [[sign]]. ~~~~", namespace=1)
    yield make("Nowhere", "#REDIRECT [[No such page]]", redirect="No such page")
    some = list(wiki.titles.values())[:4]
    listed = "\n".join(f"* [[{title}]], a thing" for title in some)
    yield make("Many (disambiguation)", f"'''Many''' may mean:\n{listed}\n{{{{disambiguation}}}}\n")
    yield make("Empty", "{{stub}}")
    yield make("Template:Infobox", "<includeonly>{{{name}}}</includeonly>", namespace=10)
    yield make("Module:Coord", "return {} -- [[not a link]]", namespace=828, model="Scribunto")


def _article(texts: _Texts, concept: int, number: int, title: str, near: Sequence[str]) -> str:
    size = int(texts.rng.poisson(texts.length))
    drawn = [" ".join(texts.draw(concept, 3)) for _ in range(15)]
    paragraphs = [
        " ".join([*part[:8], f"[[{near[k % 2]}]]", *part[8:]]).capitalize() + "."
        for k, part in enumerate(_blocks(texts.draw(concept, max(size, 20)), 40))
    ]
    return _ARTICLE.format(
        title=title,
        number=number,
        words=drawn,
        link=near[0],
        anchor=f"the {near[0].lower()}",
        other=near[1],
        missing=f"{title} that nobody wrote",
        topic=f"topic {int(texts.topic_of[concept])}",
        paragraphs="\n\n".join(paragraphs),
    )


def _page(
    wiki: _Wiki, title: str, text: str, *, namespace: int = 0, redirect: str = "", model: str = "wikitext"
) -> dict[str, Any]:
    number = len(wiki.pages) + 10
    wiki.pages.append((number, namespace, title.partition(":")[2] if namespace else title))
    if redirect:
        wiki.redirects.append((number, 0, redirect))
    page = {"title": title, "namespace": namespace, "number": number, "model": model, "text": text}
    return page | {"redirect": redirect}


def _write_wiki(folder: Path, wiki: _Wiki, date: str, pages: list[dict[str, Any]]) -> None:
    """Write the files of a language."""
    stem = f"{wiki_of(wiki.code)}-{date}"
    streams = [_SITE.format(code=wiki.code, wiki=wiki_of(wiki.code))]
    index, offset = [], len(bz2.compress(streams[0].encode()))
    packed = [bz2.compress(streams[0].encode())]
    for some in _blocks(pages, PAGES_PER_STREAM):
        packed.append(bz2.compress("".join(map(_xml, some)).encode()))
        index += [f"{offset}:{page['number']}:{escape(page['title'], quote=False)}\n" for page in some]
        offset += len(packed[-1])
    packed.append(bz2.compress(b"</mediawiki>\n"))
    _write(folder / f"{stem}-pages-articles-multistream.xml.bz2", b"".join(packed))
    _write(folder / f"{stem}-pages-articles-multistream-index.txt.bz2", bz2.compress("".join(index).encode()))
    for table, columns, rows in (
        ("page", ("page_id", "page_namespace", "page_title"), wiki.pages),
        ("redirect", ("rd_from", "rd_namespace", "rd_title"), wiki.redirects),
        ("langlinks", ("ll_from", "ll_lang", "ll_title"), wiki.langlinks),
    ):
        underscored = [
            (*row[:2], row[2] if table == "langlinks" else row[2].replace(" ", "_")) for row in rows
        ]
        _write_table(folder / f"{stem}-{table}.sql.gz", table, columns, underscored)
    _write_status(folder)


def _xml(page: dict[str, Any]) -> str:
    text = page["text"]
    redirect = f'    <redirect title="{escape(page["redirect"])}" />\n' if page["redirect"] else ""
    return _PAGE.format(
        title=escape(page["title"], quote=False),
        namespace=page["namespace"],
        number=page["number"],
        redirect=redirect,
        revision=page["number"] + 100_000,
        model=page["model"],
        size=len(text.encode()),
        text=escape(text, quote=False),
    )


def _write_table(path: Path, table: str, columns: Sequence[str], rows: Sequence[tuple[Any, ...]]) -> None:
    """Write a table as mysqldump does."""
    kinds = ",\n".join(f"  `{name}` varbinary(255) NOT NULL" for name in columns)
    lines = [f"DROP TABLE IF EXISTS `{table}`;\nCREATE TABLE `{table}` (\n{kinds}\n) ENGINE=InnoDB;\n\n"]
    for some in _blocks(rows, ROWS_PER_INSERT):
        values = ",".join("(" + ",".join(map(_sql, row)) + ")" for row in some)
        lines.append(f"INSERT INTO `{table}` VALUES {values};\n")
    _write(path, "".join(lines).encode())


def _blocks(items: Sequence[T], size: int) -> Iterator[Sequence[T]]:
    return (items[first : first + size] for first in range(0, len(items), size))


def _sql(value: int | str) -> str:
    if isinstance(value, int):
        return str(value)
    return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"


def _write_status(folder: Path) -> None:
    """Write dumpstatus.json, with sizes and digests of the files in a folder."""
    files = {}
    for path in sorted(folder.glob("*wiki-*")):
        content = path.read_bytes()
        files[path.name] = {
            "size": len(content),
            "url": f"/{folder.parent.name}/{folder.name}/{path.name}",
            "md5": hashlib.md5(content, usedforsecurity=False).hexdigest(),
            "sha1": hashlib.sha1(content, usedforsecurity=False).hexdigest(),
        }
    jobs = {"sampledump": {"status": "done", "updated": "2025-01-01 00:00:00", "files": files}}
    _write(folder / "dumpstatus.json", json.dumps({"version": "0.8", "jobs": jobs}, indent=1).encode())


def _write(path: Path, content: bytes) -> None:
    """Write a file; ``.gz`` is compressed on the way."""
    with atomic_write(path) as file:
        file.write(content)
