"""Lines of the journal for the worker, read ahead, with what others have prepared of their articles.

The processes of the worker prepare what nobody has prepared, while the lines before are taken in. What comes
out is the same whoever prepares: what was found in another way, or cannot be read, is not used.
"""

from __future__ import annotations

import logging
from collections import Counter, deque
from collections.abc import Mapping, Sequence
from dataclasses import replace

from isogloss.events import Article
from isogloss.events.analyse import Prepared, Preparer, from_bytes
from isogloss.store import JournalLine, Store

__all__ = ["QUARANTINED", "Lines", "article_of"]

logger = logging.getLogger(__name__)

PART = 256
"""Lines that are read at once."""

QUARANTINED = "quarantined"
"""The kind of a line that is skipped."""


class Lines:
    """The lines of a journal, in order.

    Parameters
    ----------
    store : Store
        Whose journal.
    preparer : Preparer
        What the articles are prepared with; it is told which come next.
    after : int
        The line before the first.

    Attributes
    ----------
    last : int
        The last line that was read.
    counts : Counter
        Articles by who prepared them: ``here`` or ``elsewhere``; and those that were prepared elsewhere for
        nothing: ``stale`` in another way than this, ``damaged`` if the bytes were.

    Examples
    --------
    >>> from isogloss.events.annotate import Annotator
    >>> from isogloss.events.ingest import sample_news
    >>> store = Store("read.db")
    >>> _ = store.add(sample_news().articles[:3])
    >>> lines = Lines(store, Preparer(Annotator()))
    >>> [entry.seq for entry in lines.take(2)], [entry.seq for entry in lines.take(2)]
    ([1, 2], [3])
    >>> store.close()
    """

    def __init__(self, store: Store, preparer: Preparer, after: int = 0) -> None:
        self.store, self.preparer, self.last = store, preparer, after
        self.way = preparer.way
        self.counts: Counter[str] = Counter()
        self._read: deque[tuple[JournalLine, str]] = deque()
        self._warned = False

    def take(self, most: int, until: int | None = None) -> list[JournalLine]:
        """The next lines, as many as there are; none after ``until``."""
        self._read_ahead(most + self.preparer.ahead, until)
        taken: list[JournalLine] = []
        while self._read and len(taken) < most and (until is None or self._read[0][0].seq <= until):
            entry, who = self._read.popleft()
            taken.append(entry)
            if entry.kind == "article":
                self.counts[who] += 1
        return taken

    def _read_ahead(self, wanted: int, until: int | None) -> None:
        """Have so many lines in hand, if there are as many."""
        while (most := self._missing(wanted, until)) > 0:
            entries = self.store.journal(self.last, most)
            if not entries:
                return
            skipped = self.store.quarantined_lines(self.last, entries[-1].seq)
            entries = [_skipped(entry) if entry.seq in skipped else entry for entry in entries]
            known = self._begin([entry for entry in entries if entry.kind == "article"], entries[-1].seq)
            whose = ("elsewhere" if str(entry.number) in known else "here" for entry in entries)
            self._read.extend(zip(entries, whose, strict=True))
            self.last = entries[-1].seq

    def _missing(self, wanted: int, until: int | None) -> int:
        most = min(PART, wanted - len(self._read))
        return most if until is None else min(most, until - self.last)

    def _begin(self, entries: Sequence[JournalLine], last: int) -> Mapping[str, Prepared]:
        """Have the preparer begin with articles; what others have found of them, by ids."""
        articles = {entry.seq: article for entry in entries if (article := article_of(entry)) is not None}
        known = self._known(articles, last) if articles and self.way is not None else {}
        self.preparer.begin(list(articles.values()), known)
        return known

    def _known(self, articles: Mapping[int, Article], last: int) -> dict[str, Prepared]:
        """What others have found, by the ids of articles."""
        found: dict[str, Prepared] = {}
        for line, (way, data) in self.store.prepared(self.last, last).items():
            if way != self.way:
                self.counts["stale"] += 1
                self._warn("articles are prepared elsewhere in another way, by other versions or settings")
            elif line in articles:
                try:
                    found[articles[line].id] = from_bytes(articles[line], data)
                except ValueError as error:
                    self.counts["damaged"] += 1
                    self._warn(f"what was prepared of line {line} cannot be used: {error}")
        return found

    def _warn(self, said: str) -> None:
        """Once is enough; the counts have the rest."""
        if not self._warned:
            logger.warning("%s", said)
        self._warned = True


def _skipped(entry: JournalLine) -> JournalLine:
    """A line that is in quarantine: nothing is made of it."""
    return replace(entry, kind=QUARANTINED, article=None)


def article_of(entry: JournalLine) -> Article | None:
    """The article of a line as the stream knows it: by its number."""
    return None if entry.article is None else replace(entry.article, id=str(entry.number))
