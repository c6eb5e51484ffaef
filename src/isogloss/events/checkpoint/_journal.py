"""Write-ahead journal of articles, one line each, from which a stream can be replayed.

A line that was cut short by a crash is dropped when the journal is opened again; its article was never
acknowledged.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import TracebackType
from typing import Self

from isogloss.events.article import Article, parse_article
from isogloss.exceptions import ArticleError
from isogloss.io import open_binary


class Journal:
    """Append-only file of articles, in the order of arrival.

    Parameters
    ----------
    path : path
        The file; created if it does not exist, and appended to otherwise.

    Examples
    --------
    >>> from isogloss.events.ingest import sample_news
    >>> articles = sample_news().articles[:3]
    >>> with Journal("news.journal") as journal:
    ...     journal.add(articles)
    >>> tuple(read_journal("news.journal")) == articles
    True
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        try:
            self._file = self.path.open("ab+")
        except OSError as error:
            raise ArticleError("no journal", f"{self.path}: cannot be opened ({error.strerror})") from error
        self._file.truncate(_whole_lines(self.path))
        self._file.seek(0, os.SEEK_END)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def add(self, articles: Iterable[Article]) -> None:
        """Append articles; they are on disk when this returns."""
        lines = [json.dumps(article.as_record(), ensure_ascii=False) + "\n" for article in articles]
        try:
            self._file.write("".join(lines).encode())
            self._file.flush()
            os.fsync(self._file.fileno())
        except OSError as error:
            message = (
                f"{self.path}: cannot be written ({error.strerror}); the articles of earlier batches are safe"
            )
            raise ArticleError("no journal", message) from error

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def read_journal(path: str | os.PathLike[str]) -> Iterator[Article]:
    """Yield the articles of a journal, in order.

    Raises
    ------
    ArticleError
        A complete line is not an article: the file is not a journal, or was changed.
    """
    try:
        file = open_binary(path)
    except OSError as error:
        raise ArticleError("no journal", f"{path}: cannot be opened ({error.strerror})") from error
    with file:
        for number, line in enumerate(file, start=1):
            if not line.endswith(b"\n"):
                return
            try:
                record = json.loads(line)
                yield parse_article(record, check_language=False)
            except (ValueError, RecursionError, ArticleError) as error:
                message = f"{path}:{number}: is not a journal line ({error})"
                raise ArticleError("damaged journal", message) from error


def _whole_lines(path: Path) -> int:
    """Return the size of the file up to its last complete line."""
    size = path.stat().st_size
    with path.open("rb") as file:
        end = size
        while end > 0:
            start = max(0, end - 4096)
            file.seek(start)
            found = file.read(end - start).rfind(b"\n")
            if found >= 0:
                return start + found + 1
            end = start
    return 0
