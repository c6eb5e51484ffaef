"""Articles prepared ahead of the fold that takes them in one by one, in other processes if there are many.

Most of the time of an article goes into its words: its fingerprint, its names and places, its terms, its
point in a common space. All of that depends on the article alone. So it is found in batches; what comes out
is the same in one process or in many. Until processes are up, articles are prepared here.

Who hands articles over in small parts says before which come next: processes go on with these meanwhile, and
what others have found of some of them is taken as it is.
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

__all__ = ["AnalysedArticle", "ArticleAnalyser", "AnalyserDiedError"]

logger = logging.getLogger(__name__)

Batch = list[Article]

_BATCH_ARTICLES = 96
"""Articles of a task."""

_MIN_POOL_ARTICLES = 512
"""Articles after which processes are worth their start."""

_TASKS_PER_PROCESS = 3
"""Tasks of a process that are begun or wait."""

_MIN_TASK_ARTICLES = 16
"""Articles of the smallest task that is worth sending."""

_MAX_DEATHS = 3
"""Deaths of processes in a row after which none is started any more."""


class AnalyserDiedError(RuntimeError):
    """A process died while it prepared an article, and nothing else."""


class ArticleAnalyser:
    """Prepares articles, in order, ahead of who takes them.

    Processes are started when there is enough to do: after some hundred articles, and only for calls with
    more than one batch. One that dies is replaced, and its articles are prepared one by one in a process of
    their own: an article that ends that process raises :class:`AnalyserDiedError` when it is asked for.

    Parameters
    ----------
    annotator : Annotator
        Finds names, places, dates and keywords.
    model : DocumentModel, optional
        A common space of documents.
    n_jobs : int, optional
        Processes beside this one; None or 1 is none, -1 one per core.

    Attributes
    ----------
    count : int
        Articles that were prepared in this process.
    paused : bool
        Whether nothing is given to processes, so that nothing is found ahead of its turn.
    model_digest : str
        By which others know the model; empty if they do not.

    Notes
    -----
    A script that has ``n_jobs`` begins its work under ``if __name__ == "__main__":``, because processes
    import it. Each process takes about 150 MB for names of places and the like; the arrays of a model are
    shared.

    Examples
    --------
    >>> from isogloss.events.ingest import sample_news
    >>> articles = sample_news().articles[:2]
    >>> [(article.id == analysed.profile.id) for article, analysed in ArticleAnalyser(Annotator()).run(articles)]
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
        """A number that is the same for all who prepare alike, see :func:`~isogloss.events.analyse._fingerprint.way_of`."""
        return way_of(self.annotator, None if self.model is None else self.model_digest)

    @property
    def ahead(self) -> int:
        """Articles that :meth:`begin` should have in hand, so that no process waits."""
        return (
            _TASKS_PER_PROCESS * self.jobs * _BATCH_ARTICLES if not self._in_process and self.started else 0
        )

    @property
    def started(self) -> bool:
        """Whether there are processes."""
        return self._workers is not None

    def start(self) -> None:
        """Start the processes now, and wait until they are up."""
        if self.jobs > 1:
            self._started().wait()

    def begin(self, articles: Sequence[Article], known: Mapping[str, AnalysedArticle] | None = None) -> None:
        """Begin with articles that :meth:`run` will be given, in this order; others have their own ids.

        Parameters
        ----------
        articles : sequence of Article
            The articles; processes that are up prepare them meanwhile, and without processes nothing happens.
        known : mapping of str to AnalysedArticle, optional
            What is known of some of them already, by their ids.
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
        """Articles, each with what is known of it.

        With processes, some hundred articles are read before the first is given, unless they were begun with;
        if reading fails, those before are given first.
        """
        for begun, some in groupby(articles, key=lambda article: article.id in self._begun):
            if begun:
                yield from map(self._take, some)
            else:
                yield from self._run(some)

    def _take(self, article: Article) -> tuple[Article, AnalysedArticle]:
        """An article that was begun with."""
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
        """End the processes; they are started again when they are needed."""
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
        """Let processes prepare the next batches while one is taken."""
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
        """What a process found; what it failed at is tried again, and fails at the article it is about."""
        try:
            found = unpack_analyses(task.future.result())
            self._deaths = 0
            return zip(task.batch, found, strict=True)
        except BrokenExecutor:
            logger.warning(
                "a process that prepares articles died; %d are prepared one by one", len(task.batch)
            )
            if task.workers is self._workers:
                self._replace_workers()
            return (
                (article, DeferredAnalysis(partial(self._analyse_isolated, article)))
                for article in task.batch
            )
        except Exception:
            logger.warning("a process could not prepare %d articles; they are prepared here", len(task.batch))
        return self._analyse_here(task.batch)

    def _analyse_isolated(self, article: Article) -> AnalysedArticle:
        """Prepare one article in a process that does nothing else meanwhile."""
        if self._single is None:
            self._single = Workers(self._task(), 1)
        try:
            (found,) = unpack_analyses(self._single.submit([article]).result())
        except BrokenExecutor as error:
            self._end_single()
            raise AnalyserDiedError("the process that prepared the article died") from error
        return found

    def _replace_workers(self) -> None:
        """End processes one of which died; others are started, unless that happens all the time."""
        self._end()
        self._deaths += 1
        if self._deaths == _MAX_DEATHS:
            logger.warning(
                "processes died %d times in a row; articles are prepared here from now on; a script that "
                "wants processes does its work under if __name__ == '__main__':",
                _MAX_DEATHS,
            )
            self.jobs = 1


class _Task(NamedTuple):
    """Articles that processes were given, and what becomes of them."""

    batch: Batch
    workers: Workers[Batch, AnalysisBatch]
    future: Future[AnalysisBatch]


@dataclass(frozen=True)
class _AnalysisTask:
    """What processes prepare articles with, and the languages that these are likely in."""

    annotator: Annotator
    model: DocumentModel | None
    languages: tuple[str, ...]

    def warm_up(self) -> None:
        """Read the tables of the languages."""
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
    """Batches until reading fails, which is noted."""
    try:
        yield from batches
    except Exception as error:
        failures.append(error)


def _analyse(batch: Batch, annotator: Annotator, model: DocumentModel | None) -> list[AnalysedArticle]:
    try:
        latents = _project(batch, model)
    except Exception:
        logger.warning("%d articles could not be projected together; each is projected alone", len(batch))
        return [DeferredAnalysis(partial(_analyse_alone, article, annotator, model)) for article in batch]
    return [
        AnalysedArticle(article, annotator, latent) for article, latent in zip(batch, latents, strict=True)
    ]


def _analyse_alone(article: Article, annotator: Annotator, model: DocumentModel | None) -> AnalysedArticle:
    return AnalysedArticle(article, annotator, *_project([article], model))


def _project(articles: Sequence[Article], model: DocumentModel | None) -> list[NDArray[np.float32] | None]:
    """Articles as points of the common space; None where a text says nothing there."""
    found: list[NDArray[np.float32] | None] = [None] * len(articles)
    for lang in model.languages if model is not None else ():
        places = [place for place, article in enumerate(articles) if article.lang == lang]
        if model is not None and places:
            points = model.project([articles[place].text for place in places], lang)
            for place, point in zip(places, points, strict=True):
                found[place] = point if point.any() else None
    return found
