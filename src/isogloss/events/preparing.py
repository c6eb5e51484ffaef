"""What can be said of articles without knowing what came before, in other processes if there are many.

Most of the time of an article goes into its words: its fingerprint, its names and places, its terms, its
point in a common space. All of that depends on the article alone. So it is found in batches, ahead of the
fold that takes articles in one by one; what comes out is the same in one process or in many.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import BrokenExecutor, Future, ProcessPoolExecutor
from functools import cached_property
from itertools import chain, islice
from typing import Self

import numpy as np
from numpy.typing import NDArray

from isogloss.events.annotation import Annotator
from isogloss.events.article import Article
from isogloss.events.duplicates import fingerprint
from isogloss.events.signature import Draft, draft_signature
from isogloss.events.terms import Terms, article_terms
from isogloss.linalg.threads import count_threads, one_thread
from isogloss.similarity.base import DocumentModel

__all__ = ["Prepared", "Preparer"]

logger = logging.getLogger(__name__)

Batch = list[Article]

_BATCH = 64
"""Articles of a task."""

_WORTH = 512
"""Articles after which processes are worth their start."""

_AHEAD = 2
"""Tasks of a process that are begun or wait."""


class Prepared:
    """What an article alone tells; found when it is asked for.

    Parameters
    ----------
    article : Article
        The article.
    annotator : Annotator
        Finds names, places, dates and keywords.
    latent : array or None
        Its point in a common space of documents.
    """

    def __init__(self, article: Article, annotator: Annotator, latent: NDArray[np.float32] | None) -> None:
        self._origin: tuple[Article, Annotator] | None = (article, annotator)
        self.latent = latent

    @cached_property
    def fingerprint(self) -> NDArray[np.uint32]:
        """By which near-duplicates are found."""
        return fingerprint(self._article.text)

    @cached_property
    def terms(self) -> Terms:
        """The terms by which it is clustered."""
        return article_terms(self._article)

    @cached_property
    def draft(self) -> Draft:
        """What linking knows of it, without weights."""
        return draft_signature(self._article, self._given()[1].annotate(self._article))

    def complete(self) -> Self:
        """Find all of it, and forget the article."""
        _ = self.fingerprint, self.terms, self.draft
        self._origin = None
        return self

    @property
    def _article(self) -> Article:
        return self._given()[0]

    def _given(self) -> tuple[Article, Annotator]:
        assert self._origin is not None
        return self._origin


class Preparer:
    """Prepares articles, in order, ahead of who takes them.

    Processes are started when there is enough to do: after some hundred articles, and only for calls with
    more than one batch. One that dies is replaced, and its articles are prepared here.

    Parameters
    ----------
    annotator : Annotator
        Finds names, places, dates and keywords.
    model : DocumentModel, optional
        A common space of documents.
    n_jobs : int, optional
        Processes beside this one; None or 1 is none, -1 one per core.

    Examples
    --------
    >>> from isogloss.events.samples import sample_news
    >>> articles = sample_news().articles[:2]
    >>> [(article.id == prepared.draft.id) for article, prepared in Preparer(Annotator()).run(articles)]
    [True, True]
    """

    def __init__(
        self, annotator: Annotator, model: DocumentModel | None = None, *, n_jobs: int | None = None
    ) -> None:
        self.annotator = annotator
        self.model = model
        self.jobs = count_threads(n_jobs)
        self.count = 0
        self._pool: ProcessPoolExecutor | None = None

    @property
    def started(self) -> bool:
        """Whether there are processes."""
        return self._pool is not None

    def run(self, articles: Iterable[Article]) -> Iterator[tuple[Article, Prepared]]:
        """Articles, each with what is known of it.

        With processes, some hundred articles are read before the first is given; if reading fails, those
        before are given first.
        """
        batches = _batches(articles)
        while (self.jobs == 1 or self.count < _WORTH) and (batch := next(batches, None)):
            yield from self._here(batch)
        first = list(islice(batches, 2))
        if len(first) == 2:
            yield from self._ahead(chain(first, batches))
        else:
            yield from chain.from_iterable(map(self._here, first))

    def close(self) -> None:
        """End the processes; they are started again when they are needed."""
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)
            self._pool = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _here(self, batch: Batch) -> Iterator[tuple[Article, Prepared]]:
        self.count += len(batch)
        return zip(batch, _prepared(batch, self.annotator, self.model), strict=True)

    def _ahead(self, batches: Iterable[Batch]) -> Iterator[tuple[Article, Prepared]]:
        """Let processes prepare the next batches while one is taken."""
        waiting: deque[tuple[Batch, Future[list[Prepared]]]] = deque()
        failures: list[Exception] = []
        try:
            for batch in _until_failure(batches, failures):
                waiting.append((batch, self._submit(batch)))
                if len(waiting) > _AHEAD * self.jobs:
                    yield from self._taken(*waiting.popleft())
            while waiting:
                yield from self._taken(*waiting.popleft())
        finally:
            for _, future in waiting:
                future.cancel()
        if failures:
            raise failures[0]

    def _submit(self, batch: Batch) -> Future[list[Prepared]]:
        if self._pool is None:
            self._pool = ProcessPoolExecutor(
                self.jobs, initializer=_begin, initargs=(self.annotator, self.model)
            )
        try:
            return self._pool.submit(_complete, batch)
        except BrokenExecutor as error:
            failed: Future[list[Prepared]] = Future()
            failed.set_exception(error)
            return failed

    def _taken(self, batch: Batch, future: Future[list[Prepared]]) -> Iterator[tuple[Article, Prepared]]:
        """What a process found; what it failed at is tried here, and fails at the article it is about."""
        try:
            return zip(batch, future.result(), strict=True)
        except BrokenExecutor:
            logger.warning("a process that prepares articles died; %d are prepared here", len(batch))
            self.close()
        except Exception:
            logger.warning("a process could not prepare %d articles; they are prepared here", len(batch))
        return self._here(batch)


def _batches(articles: Iterable[Article]) -> Iterator[Batch]:
    source = iter(articles)
    while batch := list(islice(source, _BATCH)):
        yield batch


def _until_failure(batches: Iterable[Batch], failures: list[Exception]) -> Iterator[Batch]:
    """Batches until reading fails, which is noted."""
    try:
        yield from batches
    except Exception as error:
        failures.append(error)


def _prepared(batch: Batch, annotator: Annotator, model: DocumentModel | None) -> list[Prepared]:
    latents = _latents(batch, model)
    return [Prepared(article, annotator, latent) for article, latent in zip(batch, latents, strict=True)]


def _latents(articles: Sequence[Article], model: DocumentModel | None) -> list[NDArray[np.float32] | None]:
    """Articles as points of the common space; None where a text says nothing there."""
    found: list[NDArray[np.float32] | None] = [None] * len(articles)
    for lang in model.languages if model is not None else ():
        places = [place for place, article in enumerate(articles) if article.lang == lang]
        if model is not None and places:
            points = model.project([articles[place].text for place in places], lang)
            for place, point in zip(places, points, strict=True):
                found[place] = point if point.any() else None
    return found


_tools: list[tuple[Annotator, DocumentModel | None]] = []
"""What a process prepares articles with."""


def _begin(annotator: Annotator, model: DocumentModel | None) -> None:
    one_thread()
    _tools[:] = [(annotator, model)]


def _complete(batch: Batch) -> list[Prepared]:
    return [one.complete() for one in _prepared(batch, *_tools[0])]
