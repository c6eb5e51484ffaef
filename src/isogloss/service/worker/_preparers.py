"""Prepares articles for the worker that makes events: as many of these as there are cores and hosts.

What an article alone tells is about half of the work, and anybody can find it. Who prepares claims the oldest
articles that nobody is at, writes down what it found, and goes on. The worker uses what is there when it
comes to an article, and finds out the rest itself: it waits for nobody, and events are the same, to the last
bit.
"""

from __future__ import annotations

import logging
import os
import secrets
import socket
import time
from collections.abc import Iterator, Mapping

from isogloss.events import Article
from isogloss.events.analyse import AnalysedArticle, ArticleAnalyser, to_bytes
from isogloss.exceptions import StoreError
from isogloss.service._background import Background
from isogloss.service.worker._journal_reader import article_of
from isogloss.store import Store

__all__ = ["NICE", "PreparingWorker", "prepared_figures"]

logger = logging.getLogger(__name__)

NICE = 10
"""How much who prepares stands back behind the worker on the same machine, which all wait for."""

_SAID = {
    "prepared_here": "Articles that the worker prepared itself",
    "prepared_elsewhere": "Articles that others prepared for the worker",
    "prepared_stale": "Articles that others prepared in another way than the worker, which were done again",
    "prepared_damaged": "Articles that others prepared and that could not be read, which were done again",
}


class PreparingWorker(Background):
    """Prepares the articles of a store that wait, until it is stopped.

    Parameters
    ----------
    store : Store
        The store.
    preparer : ArticleAnalyser
        Finds what articles tell; with the annotator and the model of the worker, or nothing is to be had.
    part : int
        Articles that are claimed and written at once.
    seconds : float
        After which others may have what was claimed: much longer than a part takes.
    pause : float
        Seconds between two looks at a journal without work.

    Attributes
    ----------
    owner : str
        What claims are made under.
    done, late : int
        Articles that were prepared and written, and those that came too late, because the worker or somebody
        else was faster.

    Examples
    --------
    >>> from isogloss.events.annotate import Annotator
    >>> from isogloss.events.ingest import sample_news
    >>> store = Store("prepared.db")
    >>> _ = store.add(sample_news().articles[:20])
    >>> PreparingWorker(store, ArticleAnalyser(Annotator())).prepare()
    20
    >>> len(store.prepared(0, 20))
    20
    >>> store.close()
    """

    def __init__(
        self,
        store: Store,
        preparer: ArticleAnalyser,
        *,
        part: int = 96,
        seconds: float = 60.0,
        pause: float = 0.2,
    ) -> None:
        super().__init__("isogloss-preparer")
        self.store, self.preparer = store, preparer
        self.part, self.seconds, self.pause = part, seconds, pause
        self.owner = f"{socket.gethostname()}:{os.getpid()}:{secrets.token_hex(4)}"
        self.done, self.late = 0, 0
        self._way = _way(preparer)
        self._error = ""
        self._lines: dict[str, int] = {}

    def status(self) -> Mapping[str, object]:
        """How it is: alive, what it has done, and what went wrong last."""
        return {"alive": self.alive, "prepared": self.done, "late": self.late, "error": self._error}

    def run(self) -> None:
        """Prepare what waits, and look again."""
        try:
            while not self._stop.is_set():
                self._stop.wait(self._go())
        finally:
            self.preparer.close()

    def prepare(self) -> int:
        """Prepare all that waits now; how many articles were claimed."""
        began, found = time.monotonic(), list[tuple[int, bytes]]()
        claimed = 0
        try:
            for article, prepared in self.preparer.run(self._claimed()):
                claimed += 1
                found += self._told(article, prepared)
                if len(found) >= self.part:
                    self._keep(found)
            self._keep(found)
        finally:
            self._give_back()
        if claimed:
            logger.info("%d articles prepared in %.1f s", claimed, time.monotonic() - began)
        return claimed

    def _go(self) -> float:
        """Prepare what waits; the seconds to rest after it."""
        try:
            claimed = self.prepare()
            self._say("" if claimed else self._mismatch())
        except StoreError as error:
            self._say(str(error))
            return 1.0
        return 0.0 if claimed else self.pause

    def _claimed(self) -> Iterator[Article]:
        """Articles that are claimed as they are asked for."""
        while not self._stop.is_set():
            entries = self.store.claim(self.owner, self._way, most=self.part, seconds=self.seconds)
            if not entries:
                return
            for entry in entries:
                if (article := article_of(entry)) is not None:
                    self._lines[article.id] = entry.seq
                    yield article

    def _told(self, article: Article, prepared: AnalysedArticle) -> Iterator[tuple[int, bytes]]:
        """The line and the bytes of an article; an article that cannot be prepared is left to the worker."""
        line = self._lines.pop(article.id)
        try:
            yield line, to_bytes(article, prepared)
        except Exception:
            logger.exception("line %d of the journal could not be prepared; it is left to the worker", line)

    def _keep(self, found: list[tuple[int, bytes]]) -> None:
        kept = self.store.keep_prepared(self.owner, found)
        self.done += kept
        self.late += len(found) - kept
        found.clear()

    def _give_back(self) -> None:
        """Leave to others what was claimed and not done."""
        if self._lines:
            self.store.forget_claims(self.owner, list(self._lines.values()))
            self._lines.clear()

    def _mismatch(self) -> str:
        """What is wrong if the worker prepares in another way."""
        if self.store.way_of_worker() in (None, self._way):
            return ""
        return (
            "the worker that makes events has another isogloss, other packages or another similarity model "
            "than this host, so nothing is prepared here; install the same on both"
        )

    def _say(self, error: str) -> None:
        if error and error != self._error:
            logger.warning("%s", error)
        self._error = error


def prepared_figures(store: Store) -> dict[str, tuple[str, float]]:
    """How many articles were prepared by whom, as figures with their sentences.

    Examples
    --------
    >>> store = Store("figures.db")
    >>> prepared_figures(store)["prepared_elsewhere"]
    ('Articles that others prepared for the worker', 0)
    >>> store.close()
    """
    tallies = store.tallies()
    return {name: (said, tallies.get(name, 0)) for name, said in _SAID.items()}


def _way(preparer: ArticleAnalyser) -> int:
    if preparer.way is None:
        raise StoreError(
            "articles are prepared for others with the annotator that comes with isogloss, and with a model "
            "that has a digest; expected these"
        )
    return preparer.way
