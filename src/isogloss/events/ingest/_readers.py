"""Article reader for files, folders and standard input, and the quarantine for bad records.

One bad record never stops a stream: it is counted by reason, the first few are kept, and all are written to a
file if one is given.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import IO, Any, TypeVar

from isogloss.corpora.readers import BadRecordError, numbered_lines, parsed_object
from isogloss.events.article import MAX_BODY_CHARS, MAX_TITLE_CHARS, Article, parse_article
from isogloss.events.ingest._quarantine import Quarantine
from isogloss.events.ingest._warc import PageParser, is_warc, web_pages
from isogloss.exceptions import ArticleError, CorpusError
from isogloss.extras import require_extra
from isogloss.io import PathLike, open_binary, open_decompressed, total_size

STANDARD_INPUT = "-"

MAX_UNDATED_ARTICLES = 1_000
"""Articles from the far future that are held back until one with a plausible time comes."""

_EXTENSIONS = (".jsonl", ".ndjson", ".warc")
_COMPRESSED_EXTENSIONS = (".gz", ".bz2", ".xz")

Raw = TypeVar("Raw")


@dataclass
class ArticleReport:
    """Counts of articles and repairs of one pass."""

    articles: int = 0
    notes: Counter[str] = field(default_factory=Counter)

    def __str__(self) -> str:
        parts = [f"{self.articles} articles", *(f"{n} with {note}" for note, n in sorted(self.notes.items()))]
        return ", ".join(parts)


class ArticleReader:
    r"""Iterable over the articles of JSON lines and WARC files.

    A record that is not an article goes to the quarantine with a reason, and so does the rest of a damaged
    file.

    Parameters
    ----------
    *sources : path
        Files; folders, whose ``.jsonl``, ``.ndjson`` and ``.warc`` files are read in alphabetical order;
        ``-`` for JSON lines from standard input. Files may be compressed (gzip, bzip2, xz).
    quarantine : Quarantine, optional
        Receives bad records; by default a new one that keeps the first few in memory.
    now : datetime, optional
        Later times become this one; by default the current time.
    newest : callable, optional
        Returns the time of the newest article that is known from elsewhere, see
        :func:`~isogloss.events.parse_article`. Articles of this pass count too.
    max_bytes : int
        Maximum length of a line.
    max_text, max_title : int
        Maximum lengths of a body and of a title in characters; see
        :func:`~isogloss.events.parse_article`.
    check_language : bool
        Whether language tags are checked against the texts.

    Attributes
    ----------
    report : ArticleReport
        Counts of the last pass; complete when the pass is.
    quarantine : Quarantine
        Bad records of all passes.

    Examples
    --------
    >>> from pathlib import Path
    >>> _ = Path("news.jsonl").write_text(
    ...     '{"id": 1, "lang": "en-GB", "title": "Storm", "time": "2021-07-01T08:00:00Z"}\n'
    ...     '{"id": 2, "title": "No time"}\n'
    ...     '{"id": 3, '
    ... )
    >>> reader = ArticleReader("news.jsonl")
    >>> [(article.id, article.lang, article.title) for article in reader]
    [('1', 'en', 'Storm')]
    >>> print(reader.quarantine)
    2 records left out (1 not JSON, 1 without time); the first:
      news.jsonl:2: field "time" is missing; expected a time such as 2031-03-05T08:40:00+01:00
      news.jsonl:3: is not JSON (Expecting property name enclosed in double quotes: ...)
    """

    def __init__(
        self,
        *sources: PathLike,
        quarantine: Quarantine | None = None,
        now: datetime | None = None,
        newest: Callable[[], datetime | None] = lambda: None,
        max_bytes: int = 1 << 26,
        max_text: int = MAX_BODY_CHARS,
        max_title: int = MAX_TITLE_CHARS,
        check_language: bool = True,
    ) -> None:
        self.sources = sources
        self.quarantine = Quarantine() if quarantine is None else quarantine
        self.now, self.newest, self.max_bytes = now, newest, max_bytes
        self.max_text, self.max_title = max_text, max_title
        self.check_language = check_language
        self.report = ArticleReport()
        self._latest: datetime | None = None
        self._undated: list[Article] = []

    def check(self) -> None:
        """Check that the sources can be read; every pass does so first.

        Raises CorpusError if a source does not exist, and ModuleNotFoundError for web archives without the
        extra ``isogloss[warc]``.
        """
        if any(is_warc(str(path)) for path in self._files()):
            require_extra("warc", "a web archive")

    def total_bytes(self) -> int | None:
        """Return the size of all sources as they are on the disk, or None if one of them is a pipe."""
        files: list[PathLike | int] = [*self._files()]
        if any(map(_is_stdin, self.sources)):
            try:
                files.append(sys.stdin.fileno())
            except (OSError, ValueError):  # replaced by something that is not a file
                return None
        return total_size(files)

    def _files(self) -> list[Path]:
        """Return every file of the sources, including those in folders."""
        return [path for source in self.sources if not _is_stdin(source) for path in _files(Path(source))]

    def __iter__(self) -> Iterator[Article]:
        self.check()
        self.report = ArticleReport()
        self._latest, self._undated = None, []
        yield from self._read()
        yield from self._undated

    def _read(self) -> Iterator[Article]:
        for source in self.sources:
            if _is_stdin(source):
                lines = numbered_lines(_stdin(), self.max_bytes)
                yield from self._articles("standard input", lines, self._record_of_line)
            else:
                for path in _files(Path(source)):
                    yield from self._of_file(path)

    def _of_file(self, path: Path) -> Iterator[Article]:
        name = str(path)
        try:
            if is_warc(name):
                with PageParser() as parse:
                    yield from self._articles(name, web_pages(path, self.max_bytes), parse)
            else:
                with open_decompressed(path) as file:
                    lines = numbered_lines(file, self.max_bytes)
                    yield from self._articles(name, lines, self._record_of_line)
        except CorpusError as error:
            self.quarantine.add("damaged file", str(error), name, 0)

    def _articles(
        self, name: str, items: Iterable[tuple[int, Raw]], record_of: Callable[[Raw], Mapping[str, Any]]
    ) -> Iterator[Article]:
        """Yield the articles among numbered items; the others go to the quarantine."""
        for number, raw in items:
            known = _NewestTime(self.newest, self._latest)
            try:
                article = parse_article(
                    record_of(raw),
                    now=self.now,
                    newest=known,
                    max_text=self.max_text,
                    max_title=self.max_title,
                    check_language=self.check_language,
                    notes=self.report.notes,
                )
            except ArticleError as error:
                self.quarantine.add(error.reason, str(error), name, number, _shown(raw))
                continue
            self.report.articles += 1
            if known.unknown and len(self._undated) < MAX_UNDATED_ARTICLES:
                self._undated.append(article)
            else:
                yield from self._with_undated(article, believed=not known.unknown)

    def _with_undated(self, article: Article, *, believed: bool) -> Iterator[Article]:
        """Yield an article and the articles from the far future that were held back for it."""
        time, undated = article.time, self._undated
        self._latest, self._undated = max(self._latest or time, time), []
        if believed:
            yield article
            yield from (replace(each, time=time) for each in undated)
        else:
            yield from (*undated, article)

    def _record_of_line(self, line: bytes | None) -> Mapping[str, Any]:
        if line is None:
            message = f"the line is longer than {self.max_bytes:,} bytes; raise max_bytes"
            raise ArticleError("too long", message)
        try:
            return parsed_object(line)
        except BadRecordError as bad:
            raise ArticleError(bad.problem, bad.what) from bad


class _NewestTime:
    """Returns the newest known time for one record; sets ``unknown`` if there is none."""

    def __init__(self, elsewhere: Callable[[], datetime | None], here: datetime | None) -> None:
        self.elsewhere, self.here, self.unknown = elsewhere, here, False

    def __call__(self) -> datetime | None:
        found = max(filter(None, (self.elsewhere(), self.here)), default=None)
        self.unknown = found is None
        return found


def _is_stdin(source: PathLike) -> bool:
    return str(source) == STANDARD_INPUT


def _stdin() -> IO[bytes]:
    """Return standard input, counted for progress where it is a file."""
    try:
        return open_binary(sys.stdin.fileno())
    except (OSError, ValueError):
        return sys.stdin.buffer


def _files(path: Path) -> list[Path]:
    """Return the file itself, or the files of a folder that may have articles."""
    if path.is_dir():
        return sorted(file for file in path.iterdir() if file.is_file() and _may_have_articles(file))
    if not path.exists():
        raise CorpusError(f"{path}: there is no such file; check the path")
    return [path]


def _may_have_articles(path: Path) -> bool:
    name = path.name.lower()
    for ending in _COMPRESSED_EXTENSIONS:
        name = name.removesuffix(ending)
    return name.endswith(_EXTENSIONS) and not name.startswith(".")


def _shown(raw: object) -> bytes | str | None:
    """Return what the quarantine keeps of an item."""
    return raw if isinstance(raw, bytes) or raw is None else str(raw)
