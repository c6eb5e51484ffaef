"""The journal reader of the worker, with prefetch.

Lines are read ahead of the fold, so that the executor analyses the next articles while the worker takes in
those before.
"""

from __future__ import annotations

from collections import deque
from dataclasses import replace

from isogloss.events import Article
from isogloss.events.analyse import ArticleAnalyser
from isogloss.store import JournalLine, Store

__all__ = ["QUARANTINED", "Lines", "article_of"]

PART = 256
"""Lines that are read at once."""

QUARANTINED = "quarantined"
"""The kind of a line that is skipped."""


class Lines:
    """Read the lines of a journal in order, and start the analysis of articles that come next.

    Parameters
    ----------
    store : Store
        Whose journal.
    analyser : ArticleAnalyser
        Analyses the articles; it is told which come next.
    after : int
        The line before the first.

    Attributes
    ----------
    last : int
        The last line that was read.

    Examples
    --------
    >>> from isogloss.events.annotate import Annotator
    >>> from isogloss.events.ingest import sample_news
    >>> store = Store("read.db")
    >>> _ = store.add(sample_news().articles[:3])
    >>> lines = Lines(store, ArticleAnalyser(Annotator()))
    >>> [entry.seq for entry in lines.take(2)], [entry.seq for entry in lines.take(2)]
    ([1, 2], [3])
    >>> store.close()
    """

    def __init__(self, store: Store, analyser: ArticleAnalyser, after: int = 0) -> None:
        self.store, self.analyser, self.last = store, analyser, after
        self._read: deque[JournalLine] = deque()

    def take(self, most: int, until: int | None = None) -> list[JournalLine]:
        """Return the next lines, at most ``most``; none after ``until``."""
        self._read_ahead(most + self.analyser.ahead, until)
        taken: list[JournalLine] = []
        while self._read and len(taken) < most and (until is None or self._read[0].seq <= until):
            taken.append(self._read.popleft())
        return taken

    def _read_ahead(self, wanted: int, until: int | None) -> None:
        """Read until so many lines are waiting, or the journal ends."""
        while (most := self._missing(wanted, until)) > 0:
            entries = self.store.journal(self.last, most)
            if not entries:
                return
            skipped = self.store.quarantined_lines(self.last, entries[-1].seq)
            entries = [_skipped(entry) if entry.seq in skipped else entry for entry in entries]
            articles = (article_of(entry) for entry in entries if entry.kind == "article")
            self.analyser.begin([article for article in articles if article is not None])
            self._read.extend(entries)
            self.last = entries[-1].seq

    def _missing(self, wanted: int, until: int | None) -> int:
        most = min(PART, wanted - len(self._read))
        return most if until is None else min(most, until - self.last)


def _skipped(entry: JournalLine) -> JournalLine:
    """Return a quarantined line without its article: nothing is made of it."""
    return replace(entry, kind=QUARANTINED, article=None)


def article_of(entry: JournalLine) -> Article | None:
    """Return the article of a line under the id that the stream knows it by: its number."""
    return None if entry.article is None else replace(entry.article, id=str(entry.number))
