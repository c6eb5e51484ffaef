"""Analyses articles ahead of the stream, in a process pool when there are many.

Most of the time of an article goes into its text: fingerprint, terms, annotations, latent point. All of these
depend on the article alone, so they are computed in batches and the results are the same in one process or in
many. Until the pool is up, articles are analysed in this process. A caller that hands articles over in small
portions announces the next ones with :meth:`ArticleAnalyser.begin`, so that the pool keeps busy.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import BrokenExecutor, Future
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from itertools import chain, groupby, islice
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from isogloss.events.analyse._analysed_article import (
    AnalysedArticle,
    AnalysisBatch,
    DeferredAnalysis,
    pack_analyses,
    unpack_analyses,
)
from isogloss.events.analyse._fingerprint import way_of
from isogloss.events.analyse._pool import Workers
from isogloss.events.annotate import Annotator
from isogloss.events.article import Article
from isogloss.similarity import DocumentModel
from isogloss.threads import count_threads

__all__ = ["AnalysedArticle", "AnalyserDiedError", "ArticleAnalyser"]

logger = logging.getLogger(__name__)

Batch = list[Article]

_BATCH_ARTICLES = 96
"""Articles of a task."""

_MIN_POOL_ARTICLES = 512
"""Articles after which starting a pool pays off."""

_TASKS_PER_PROCESS = 3
"""Tasks in flight for each process."""

_MIN_TASK_ARTICLES = 16
"""Minimum number of articles of a task."""

_MAX_DEATHS = 3
"""Consecutive deaths of worker processes after which none is started any more."""


class AnalyserDiedError(RuntimeError):
    """A worker process died while it analysed a single article."""


class ArticleAnalyser:
    """Analyses articles in order, ahead of the consumer.

    Processes are started when there is enough to do: after some hundred articles, and only for calls with
    more than one batch. One that dies is replaced, and its articles are analysed one by one in a separate
    process: an article that kills this process raises :class:`AnalyserDiedError` when its analysis is read.

    Parameters
    ----------
    annotator : Annotator
        Finds names, places, dates and keywords.
    model : DocumentModel, optional
        Maps articles to a latent space.
    n_jobs : int, optional
        Processes beside this one; None or 1 is none, -1 one per core.

    Attributes
    ----------
    count : int
        Articles that were analysed in this process.
    paused : bool
        Whether the pool gets no new articles, so that nothing is analysed ahead of its turn.
    model_digest : str
        Digest of the model; empty if it has none.

    Notes
    -----
    A script that has ``n_jobs`` begins its work under ``if __name__ == "__main__":``, because processes
    import it. Each process takes about 150 MB for names of places and the like; the arrays of a model are
    shared.

    Examples
    --------
    >>> from isogloss.events.ingest import sample_news
    >>> articles = sample_news().articles[:2]
    >>> analyser = ArticleAnalyser(Annotator())
    >>> [(article.id == analysed.profile.id) for article, analysed in analyser.run(articles)]
    [True, True]
    """

    def __init__(
        self, annotator: Annotator, model: DocumentModel | None = None, *, n_jobs: int | None = None
    ) -> None:
        self.annotator = annotator
        self.model = model
        self.jobs = count_threads(n_jobs)
        self.count = 0
        self.paused = False
        self.model_digest = ""
        self._deaths = 0
        self._languages: set[str] = set()
        self._workers: Workers[Batch, AnalysisBatch] | None = None
        self._single: Workers[Batch, AnalysisBatch] | None = None
        self._begun: dict[str, AnalysedArticle | _Task] = {}

    @property
    def way(self) -> int | None:
        """Fingerprint of the pipeline; see :func:`~isogloss.events.analyse._fingerprint.way_of`."""
        return way_of(self.annotator, None if self.model is None else self.model_digest)

    @property
    def ahead(self) -> int:
        """Number of articles that :meth:`begin` should be ahead so that no process idles."""
        return (
            _TASKS_PER_PROCESS * self.jobs * _BATCH_ARTICLES if not self._in_process and self.started else 0
        )

    @property
    def started(self) -> bool:
        """Whether the pool was started."""
        return self._workers is not None

    def start(self) -> None:
        """Start the pool now, and wait until it is up."""
        if self.jobs > 1:
            self._started().wait()

    def begin(self, articles: Sequence[Article], known: Mapping[str, AnalysedArticle] | None = None) -> None:
        """Start to analyse articles that :meth:`run` will be given, in this order.

        Parameters
        ----------
        articles : sequence of Article
            The articles; without a running pool nothing happens.
        known : mapping of str to AnalysedArticle, optional
            Analyses that are known already, by article id.
        """
        self._begun.update(known or {})
        rest = [article for article in articles if article.id not in self._begun]
        if self._in_process or len(rest) < self.jobs * _MIN_TASK_ARTICLES or not self._started().ready:
            return
        workers, size = self._started(), min(_BATCH_ARTICLES, -(-len(rest) // self.jobs))
        for batch in _batches(rest, size):
            task = _Task(batch, workers, workers.submit(batch))
            self._begun.update((article.id, task) for article in batch)

    def run(self, articles: Iterable[Article]) -> Iterator[tuple[Article, AnalysedArticle]]:
        """Yield articles with their analyses.

        With a pool, some hundred articles are read before the first is yielded, unless they were announced
        with :meth:`begin`; if reading fails, the articles before are yielded first.
        """
        for begun, some in groupby(articles, key=lambda article: article.id in self._begun):
            if begun:
                yield from map(self._take, some)
            else:
                yield from self._run(some)

    def _take(self, article: Article) -> tuple[Article, AnalysedArticle]:
        """Return an announced article with its analysis."""
        found = self._begun.pop(article.id)
        if isinstance(found, _Task):
            self._begun.update((each.id, analysed) for each, analysed in self._collect(found))
            return self._take(article)
        return article, found

    def _run(self, articles: Iterable[Article]) -> Iterator[tuple[Article, AnalysedArticle]]:
        batches = _batches(articles)
        while self._in_process and (batch := next(batches, None)):
            yield from self._analyse_here(batch)
        first = list(islice(batches, 2))
        if len(first) == 2:
            yield from self._analyse_ahead(chain(first, batches))
        else:
            yield from chain.from_iterable(map(self._analyse_here, first))

    def close(self) -> None:
        """Stop the pool; it is started again when it is needed."""
        self._begun = {name: task for name, task in self._begun.items() if not isinstance(task, _Task)}
        self._end()

    def _end(self) -> None:
        if self._workers is not None:
            self._workers.close()
            self._workers = None
        self._end_single()

    def _end_single(self) -> None:
        if self._single is not None:
            self._single.close()
            self._single = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def _in_process(self) -> bool:
        return self.paused or self.jobs == 1 or not (self.started or self.count >= _MIN_POOL_ARTICLES)

    def _started(self) -> Workers[Batch, AnalysisBatch]:
        if self._workers is None:
            self._workers = Workers(self._task(), self.jobs)
        return self._workers

    def _task(self) -> _AnalysisTask:
        return _AnalysisTask(self.annotator, self.model, tuple(sorted(self._languages)))

    def _analyse_here(self, batch: Batch) -> Iterator[tuple[Article, AnalysedArticle]]:
        self.count += len(batch)
        self._languages.update(article.lang for article in batch)
        return zip(batch, _analyse(batch, self.annotator, self.model), strict=True)

    def _analyse_ahead(self, batches: Iterable[Batch]) -> Iterator[tuple[Article, AnalysedArticle]]:
        """Let the pool analyse the next batches while one is consumed."""
        waiting: deque[_Task] = deque()
        failures: list[Exception] = []
        try:
            for batch in _until_failure(batches, failures):
                workers = self._started() if self.jobs > 1 else None
                if workers is not None and workers.ready:
                    waiting.append(_Task(batch, workers, workers.submit(batch)))
                    batch = []
                while len(waiting) > (0 if batch else _TASKS_PER_PROCESS * self.jobs):
                    yield from self._collect(waiting.popleft())
                yield from self._analyse_here(batch)
            while waiting:
                yield from self._collect(waiting.popleft())
        finally:
            for task in waiting:
                task.future.cancel()
        if failures:
            raise failures[0]

    def _collect(self, task: _Task) -> Iterator[tuple[Article, AnalysedArticle]]:
        """Return the results of a task; a failed batch is analysed again, article by article."""
        try:
            found = unpack_analyses(task.future.result())
            self._deaths = 0
            return zip(task.batch, found, strict=True)
        except BrokenExecutor:
            logger.warning("a worker process died; analysing its %d articles one by one", len(task.batch))
            if task.workers is self._workers:
                self._replace_workers()
            return (
                (article, DeferredAnalysis(partial(self._analyse_isolated, article)))
                for article in task.batch
            )
        except Exception:
            logger.warning(
                "a worker process failed on %d articles; analysing them in this process", len(task.batch)
            )
        return self._analyse_here(task.batch)

    def _analyse_isolated(self, article: Article) -> AnalysedArticle:
        """Analyse one article in a process of its own."""
        if self._single is None:
            self._single = Workers(self._task(), 1)
        try:
            (found,) = unpack_analyses(self._single.submit([article]).result())
        except BrokenExecutor as error:
            self._end_single()
            raise AnalyserDiedError("the process that analysed the article died") from error
        return found

    def _replace_workers(self) -> None:
        """Stop a pool with a dead process; after too many deaths no other is started."""
        self._end()
        self._deaths += 1
        if self._deaths == _MAX_DEATHS:
            logger.warning(
                "worker processes died %d times in a row; analysing in this process from now on (a script "
                "that sets n_jobs must do its work under if __name__ == '__main__':)",
                _MAX_DEATHS,
            )
            self.jobs = 1


class _Task(NamedTuple):
    """A batch that was submitted to a pool."""

    batch: Batch
    workers: Workers[Batch, AnalysisBatch]
    future: Future[AnalysisBatch]


@dataclass(frozen=True)
class _AnalysisTask:
    """The function that worker processes run, and the languages to load in advance."""

    annotator: Annotator
    model: DocumentModel | None
    languages: tuple[str, ...]

    def warm_up(self) -> None:
        """Load the tables of the languages."""
        for lang in self.languages:
            with suppress(Exception):
                self([Article("", lang, "A b", "C d.", datetime(2000, 1, 1, tzinfo=UTC))])

    def __call__(self, batch: Batch) -> AnalysisBatch:
        return pack_analyses(_analyse(batch, self.annotator, self.model))


def _batches(articles: Iterable[Article], size: int = 0) -> Iterator[Batch]:
    source = iter(articles)
    while batch := list(islice(source, size or _BATCH_ARTICLES)):
        yield batch


def _until_failure(batches: Iterable[Batch], failures: list[Exception]) -> Iterator[Batch]:
    """Yield batches until reading fails; the exception goes to ``failures``."""
    try:
        yield from batches
    except Exception as error:
        failures.append(error)


def _analyse(batch: Batch, annotator: Annotator, model: DocumentModel | None) -> list[AnalysedArticle]:
    try:
        latents = _project(batch, model)
    except Exception:
        logger.warning("projecting %d articles together failed; projecting them one by one", len(batch))
        return [DeferredAnalysis(partial(_analyse_alone, article, annotator, model)) for article in batch]
    return [
        AnalysedArticle(article, annotator, latent) for article, latent in zip(batch, latents, strict=True)
    ]


def _analyse_alone(article: Article, annotator: Annotator, model: DocumentModel | None) -> AnalysedArticle:
    return AnalysedArticle(article, annotator, *_project([article], model))


def _project(articles: Sequence[Article], model: DocumentModel | None) -> list[NDArray[np.float32] | None]:
    """Project articles to the latent space; None for a text without known words."""
    found: list[NDArray[np.float32] | None] = [None] * len(articles)
    for lang in model.languages if model is not None else ():
        places = [place for place, article in enumerate(articles) if article.lang == lang]
        if model is not None and places:
            points = model.project([articles[place].text for place in places], lang)
            for place, point in zip(places, points, strict=True):
                found[place] = point if point.any() else None
    return found
