"""Which dumps a list of languages needs, where they lie on a disk, and what a mirror has.

A mirror has a folder for each wiki and date, ``slwiki/20250101``, with the files and a ``dumpstatus.json``
that lists them with sizes and digests. On a disk, files may lie anywhere below one folder.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias, get_args

from isogloss.corpora import check_language
from isogloss.exceptions import CorpusError

Links: TypeAlias = Literal["wikidata", "langlinks"]
"""What says which articles are about the same subject: Wikidata, or links between the Wikipedias."""

ARTICLES, INDEX = "pages-articles-multistream.xml.bz2", "pages-articles-multistream-index.txt.bz2"
PLAIN_ARTICLES = "pages-articles.xml.bz2"
ITEMS, LANGLINKS, PAGE, REDIRECT = "wb_items_per_site", "langlinks", "page", "redirect"
WIKIDATA = "wikidatawiki"

_NAME = re.compile(r"\A(?P<wiki>[a-z][a-z0-9_]*wiki)-(?P<date>[0-9]{8}|latest)-(?P<kind>[\w.-]+)")


def wiki_of(code: str) -> str:
    """Return the name of the database of the Wikipedia in a language.

    Examples
    --------
    >>> wiki_of("sl"), wiki_of("zh-min-nan")
    ('slwiki', 'zh_min_nanwiki')
    """
    return f"{check_language(code).lower().replace('-', '_')}wiki"


class Need(NamedTuple):
    """A file that is needed: the wiki, and the part of its name after the date."""

    wiki: str
    kind: str

    def __str__(self) -> str:
        return f"{self.wiki}-DATE-{self.kind}"


@dataclass(frozen=True)
class DumpFile:
    """A file of a dump: what is published about it, and where it lies, if it does."""

    need: Need
    date: str
    size: int
    """In bytes; -1 if not known."""
    sha1: str = ""
    md5: str = ""
    path: Path | None = None

    @property
    def name(self) -> str:
        """The name as Wikimedia gives it."""
        return f"{self.need.wiki}-{self.date}-{self.need.kind}"


def needed_files(languages: Sequence[str], links: Links) -> list[Need]:
    """Return the files that languages need: of each the articles, and what says which are of one subject.

    Examples
    --------
    >>> [str(need) for need in needed_files(["sl"], "langlinks")][:2]
    ['slwiki-DATE-pages-articles-multistream.xml.bz2', 'slwiki-DATE-langlinks.sql.gz']
    """
    if links not in get_args(Links):
        raise ValueError(f"links={links!r}; expected {' or '.join(get_args(Links))}")
    if len(set(languages)) < 2 and links == "wikidata":
        raise CorpusError(
            f"{', '.join(languages) or 'no language'}: articles of at least two languages are compared; "
            "name two or more, such as en sl"
        )
    tables = (LANGLINKS, PAGE, REDIRECT) if links == "langlinks" else ()
    needs = [
        Need(wiki_of(code), kind)
        for code in dict.fromkeys(languages)
        for kind in (ARTICLES, *(f"{table}.sql.gz" for table in tables))
    ]
    return needs + ([Need(WIKIDATA, f"{ITEMS}.sql.gz")] if links == "wikidata" else [])


def files_on_disk(folder: Path, needs: Iterable[Need]) -> dict[Need, DumpFile]:
    """Find the files below a folder, the newest of each; ``pages-articles`` will do for multistream.

    Sizes and digests come from a ``dumpstatus.json`` beside a file, if there is one.
    """
    found: dict[tuple[str, str], list[tuple[str, Path]]] = {}
    if folder.is_dir():
        for path in sorted(folder.rglob("*wiki-*")):
            parts = _NAME.fullmatch(path.name)
            if parts and path.is_file():
                found.setdefault((parts["wiki"], parts["kind"]), []).append((parts["date"], path))
    out = {}
    for need in needs:
        kinds = (need.kind, PLAIN_ARTICLES) if need.kind == ARTICLES else (need.kind,)
        for kind in kinds:
            if here := found.get((need.wiki, kind)):
                date, path = max(here)
                out[need] = _described(Need(need.wiki, kind), date, path)
                break
    return out


def index_beside(path: Path) -> Path | None:
    """Return the index of a multistream dump that lies beside it, if it does."""
    index = path.with_name(path.name.replace(ARTICLES, INDEX))
    return index if index != path and index.is_file() else None


def _described(need: Need, date: str, path: Path) -> DumpFile:
    status = path.with_name("dumpstatus.json")
    if status.is_file():
        listed = parse_status(status.read_bytes(), str(status))
        if path.name in listed:
            published = listed[path.name]
            return DumpFile(need, date, published.size, published.sha1, published.md5, path)
    return DumpFile(need, date, path.stat().st_size, path=path)


class Published(NamedTuple):
    """What dumpstatus.json says of a file."""

    size: int
    sha1: str
    md5: str


def parse_status(content: bytes, place: str) -> dict[str, Published]:
    """Return the finished files that a ``dumpstatus.json`` lists, by name.

    Examples
    --------
    >>> text = b'{"jobs": {"page": {"status": "done", "files": {"slwiki-1.gz": {"size": 9, "sha1": "a"}}}}}'
    >>> parse_status(text, "dumpstatus.json")
    {'slwiki-1.gz': Published(size=9, sha1='a', md5='')}
    """
    try:
        jobs: Mapping[str, Any] = json.loads(content)["jobs"]
        return {
            str(name): Published(
                int(entry.get("size", -1)), *(str(entry.get(k, "")) for k in ("sha1", "md5"))
            )
            for job in jobs.values()
            if job.get("status") == "done"
            for name, entry in job.get("files", {}).items()
        }
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as reason:
        raise CorpusError(
            f"{place}: does not list the files of a dump ({str(reason)[:80]}); expected the dumpstatus.json "
            "of a mirror of Wikimedia's dumps"
        ) from reason
