"""The journal processor: folds journal lines into the stream, and writes changes to the read model.

The stream depends on the journal lines and on nothing else. A worker that restarts takes the last checkpoint
and replays the lines since then. If that is impossible, because no checkpoint can be read and lines are
missing, it stops with an error: a stream that started elsewhere would give cluster ids to other stories.

A line that fails is tried again; after the second failure it is quarantined and the next one is processed. A
failure to analyse an article leaves the stream unchanged. After any other failure, and after a worker that
crashed, the next lines are processed one at a time, each recorded in the store before it is started, so that
the line that crashes a worker is known.
"""

from __future__ import annotations

import logging
import sys
import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import groupby
from typing import Any

import numpy as np

from isogloss.events import Article, EventStream, EventStreamSettings, trim_heap
from isogloss.events.analyse import AnalyserDiedError, ArticleAnalyser
from isogloss.events.annotate import (
    SEARCH_TERMS_VERSION,
    Annotator,
    ConceptDictionary,
    SearchTerms,
    article_search_terms,
)
from isogloss.events.checkpoint import restore_stream
from isogloss.events.link import Linker
from isogloss.exceptions import IsoglossError, ModelFileError, ReplayError, StoreError
from isogloss.service.models import SimilarityModel
from isogloss.service.settings import StreamSettings
from isogloss.service.worker._checkpoints import CheckpointWriter
from isogloss.service.worker._read_model_changes import ChangeTracker
from isogloss.service.worker._watchdog import Heartbeat
from isogloss.similarity import TextModel
from isogloss.store import JournalLine, RebuildResult, Store, Update, to_micros
from isogloss.store.queries import (
    CHECKPOINT_HEADER,
    GENERATION,
    LAST_CLUSTER_ID,
    LAST_EVENT_ID,
    LINES_READ,
    REBUILD_PROGRESS,
    WORKER_STOPPED,
    ArticleText,
    Point,
    articles_without_point,
    articles_without_text,
    compile_update,
    worker_started,
    worker_stopped,
)

logger = logging.getLogger(__name__)

BATCH_LINES = 256
"""Lines processed in one transaction, and read at once."""

CAREFUL_LINES = 2 * BATCH_LINES
"""Lines processed one at a time after a crash: those that the worker may have been processing."""

MAX_CHECKPOINT_SHARE = 0.1
"""Share of the time during which checkpoints may be written."""

TRIM_HEAP_LINES = 1 << 14
"""Lines after which freed memory is returned to the system."""

REBUILD_HINT = (
    "stop the service, then run isogloss doctor --rebuild, which makes all events again and keeps the ids of "
    "stories"
)

_QUARANTINED = "quarantined"
"""The kind of a line that is skipped."""


@dataclass(frozen=True)
class StreamFactory:
    """Creates the stream of a worker, empty or from a checkpoint.

    A checkpoint keeps the settings it was made with, so that all events of a store are made in the same way.
    Changed settings take effect after ``isogloss doctor --rebuild``.

    Examples
    --------
    >>> StreamFactory(StreamSettings(window_days=3))(None).settings.clusters.window
    3.0
    """

    settings: StreamSettings = field(default_factory=StreamSettings)
    model: TextModel | None = None
    """Maps articles to the latent space."""
    n_jobs: int | None = None
    """Processes that analyse articles, see :class:`~isogloss.events.EventStream`, which the caller closes."""
    scheduler: str = ""
    """The address of a Dask scheduler whose workers do that instead."""
    points: SimilarityModel = field(default_factory=SimilarityModel)
    """The model whose points are stored with the articles, for neighbour search. It is the model of the
    stream, unless the events of the store were started without one.
    """
    concepts: ConceptDictionary | None = None
    """Finds concepts in articles."""
    linker: Linker | None = None
    """Links clusters; by default the one that comes with isogloss."""

    def __call__(self, checkpoint: bytes | None) -> EventStream:
        """Create an empty stream, or restore one from a checkpoint."""
        settings = self._stream_settings()
        create = partial(EventStream, settings) if checkpoint is None else partial(restore_stream, checkpoint)
        stream = create(
            annotator=Annotator(concepts=self.concepts),
            linker=self.linker,
            model=self.model,
            encoder=self.settings.encoder_name,
            n_jobs=self.n_jobs,
            scheduler=self.scheduler,
        )
        if stream.settings != settings:
            logger.warning(
                "the [stream] settings have changed; events keep the settings that they were started with "
                "until isogloss doctor --rebuild makes them again"
            )
        return stream

    def _stream_settings(self) -> EventStreamSettings:
        default, given = EventStreamSettings(), self.settings
        return replace(
            default,
            clusters=replace(
                default.clusters, window=float(given.window_days), max_articles=given.max_articles
            ),
            rules=replace(default.rules, threshold=given.threshold),
        )


class JournalReader:
    """Reads journal lines in order, with prefetch: the analyser starts on the next articles.

    It starts after a line; ``last`` is the last line that was fetched.

    Examples
    --------
    >>> from isogloss.events.ingest import sample_news
    >>> store = Store("read.db")
    >>> _ = store.add(sample_news().articles[:3])
    >>> reader = JournalReader(store, ArticleAnalyser(Annotator()))
    >>> [entry.seq for entry in reader.read(2)], [entry.seq for entry in reader.read(2)]
    ([1, 2], [3])
    >>> store.close()
    """

    def __init__(self, store: Store, analyser: ArticleAnalyser, after: int = 0) -> None:
        self.store, self.analyser, self.last = store, analyser, after
        self._fetched: deque[JournalLine] = deque()

    def read(self, max_lines: int, until: int | None = None) -> list[JournalLine]:
        """Return the next lines, at most ``max_lines`` and none after ``until``."""
        while (missing := self._missing(max_lines + self.analyser.ahead, until)) > 0 and self._fetch(missing):
            pass
        lines: list[JournalLine] = []
        while self._fetched and len(lines) < max_lines and (until is None or self._fetched[0].seq <= until):
            lines.append(self._fetched.popleft())
        return lines

    def _missing(self, wanted: int, until: int | None) -> int:
        missing = min(BATCH_LINES, wanted - len(self._fetched))
        return missing if until is None else min(missing, until - self.last)

    def _fetch(self, max_lines: int) -> bool:
        """Fetch lines and start the analysis of their articles; return whether there were any."""
        lines = self.store.journal(self.last, max_lines)
        if not lines:
            return False
        skipped = self.store.quarantined_lines(self.last, lines[-1].seq)
        lines = [
            replace(line, kind=_QUARANTINED, article=None) if line.seq in skipped else line for line in lines
        ]
        articles = (_article(line) for line in lines if line.kind == "article")
        self.analyser.begin([article for article in articles if article is not None])
        self._fetched.extend(lines)
        self.last = lines[-1].seq
        return True


def _article(line: JournalLine) -> Article | None:
    """Return the article of a line with its number as id, which is its id in the stream."""
    return None if line.article is None else replace(line.article, id=str(line.number))


class JournalProcessor:
    """Brings the read model of a store up to date with its journal.

    A rebuild that was requested comes first.

    Parameters
    ----------
    store : Store
        The store.
    stream_factory : StreamFactory
        Creates an empty stream, or restores one from a checkpoint.
    checkpoint_every : int
        Lines between checkpoints; more if the last one took long.
    heartbeat : Heartbeat, optional
        Reports progress to the process that supervises this one.
    restarted : bool
        Whether this process had another processor before: a line that it had started has then not crashed
        the process.

    Attributes
    ----------
    position, checkpoint_line : int
        The journal lines of the read model and of the last checkpoint.
    lines_read : int
        Number of journal lines up to the position.

    Examples
    --------
    >>> from isogloss.events.ingest import sample_news
    >>> store = Store("processed.db")
    >>> _ = store.add(sample_news().articles[:100])
    >>> JournalProcessor(store, StreamFactory()).catch_up()
    100
    >>> max(event["languages_count"] for event in store.events().events) > 1
    True
    >>> store.close()

    Raises
    ------
    ReplayError
        The stream cannot be restored to the position of the read model.
    """

    def __init__(
        self,
        store: Store,
        stream_factory: StreamFactory,
        *,
        checkpoint_every: int = 20_000,
        heartbeat: Heartbeat | None = None,
        restarted: bool = False,
    ) -> None:
        if store.rebuild_requested():
            rebuild(store, stream_factory, heartbeat=heartbeat, restarted=restarted)
            restarted = True
        self.checkpoint_every = checkpoint_every
        self._init(store, stream_factory, heartbeat)
        self._start(restarted)

    def _init(
        self,
        store: Store,
        stream_factory: StreamFactory,
        heartbeat: Heartbeat | None = None,
    ) -> None:
        self.store, self._stream_factory = store, stream_factory
        self.heartbeat = heartbeat or Heartbeat(shared=False)
        self._line_of: dict[str, int] = {}
        self._update_line, self._careful = 0, range(0)
        self._failed = set(store.failed_lines())
        self._points: dict[int, Point] = {}
        self._texts: dict[int, ArticleText] = {}
        self._texts_position = 0
        self._backfill_before = self._texts_before = sys.maxsize

    def _check_crash(self, restarted: bool) -> bool:
        """Return whether the last worker crashed; record a failure of the line that it processed alone."""
        crashed, line = self.store.crash_marker()
        if line and not restarted:
            self.store.record_failure(
                line, WORKER_STOPPED, "the service stopped while it processed this line"
            )
        return crashed

    def _start(self, restarted: bool) -> None:
        """Restore the stream to the position of the read model."""
        crashed = self._check_crash(restarted)
        store = self.store
        self.position, self.generation = store.position(), store.position(GENERATION)
        # Versions that did not count lines had journals without gaps.
        self.lines_read = store.position(LINES_READ) or self.position
        self._careful = range(self.lines_read, self.lines_read + CAREFUL_LINES) if crashed else range(0)
        self.checkpoint_line, self._checkpointed_at = 0, time.monotonic()
        self.ids = store.public_ids()
        self.stream = self._restore()
        self.stream.heartbeat = self.heartbeat.beat
        self.checkpoints = CheckpointWriter(store, self.checkpoint_line, generation=self.generation)
        try:
            self.reader = self._replay()
        except BaseException:
            self.stream.close()
            raise
        self._track_changes()

    def _track_changes(self) -> None:
        self._points.clear()  # of lines that failed
        self._texts.clear()
        self._changes = ChangeTracker(self.stream, self.ids)
        self.stream.observer = self._changes.record

    def catch_up(self, max_lines: int | None = None) -> int:
        """Process new journal lines, then update events; return the number of lines."""
        processed = self.process(max_lines)
        self.update_events()
        return processed

    def process(self, max_lines: int | None = None) -> int:
        """Process new journal lines; return their number."""
        processed = 0
        while max_lines is None or processed < max_lines:
            self.stream.analyser.paused = self.lines_read < self._careful.stop
            careful = self.lines_read in self._careful
            batch = self._batch_lines(careful)
            lines = self.reader.read(batch if max_lines is None else min(batch, max_lines - processed))
            if not lines:
                break
            if self._try_lines(lines, careful):
                processed += len(lines)
                self.lines_read += len(lines)
                self._write(lines[-1].seq)
        return processed

    def _batch_lines(self, careful: bool) -> int:
        """Return the size of the next batch, which ends before lines that are processed one at a time."""
        if careful:
            return 1
        before = self._careful.start - self.lines_read
        return min(BATCH_LINES, before) if before > 0 else BATCH_LINES

    def update_events(self) -> int:
        """Update events with the articles since their last update; return the number of journal lines."""
        if not self.stream.pending:
            return 0
        self.store.record_update()
        return self.process(BATCH_LINES)

    def save_checkpoint(self) -> None:
        """Save a checkpoint at the present position."""
        if self.position > self.checkpoint_line:
            self.checkpoints.write_now(self.stream, self.position, self.lines_read)
            self.checkpoint_line, self._checkpointed_at = self.position, time.monotonic()

    def close(self) -> None:
        """Save a checkpoint and record a proper stop."""
        try:
            self.save_checkpoint()
            self.store.apply(worker_stopped(self.position))
        finally:
            self.checkpoints.close()
            self.stream.close()

    def _try_lines(self, lines: list[JournalLine], careful: bool) -> bool:
        """Fold lines into the stream; return False if one failed and the stream was restored."""
        if careful and lines[0].kind != _QUARANTINED:
            self.store.record_line_start(lines[0].seq)
        try:
            self._fold(lines)
        except IsoglossError:
            raise
        except Exception as error:
            line = self._line_of.get(self.stream.current, self._update_line)
            if not line:
                raise
            self._record_failure(line, error)
            self.checkpoints.close()
            self.stream.close()
            self._start(restarted=True)
            return False
        return True

    def _fold(self, lines: list[JournalLine], *, replay: bool = False) -> None:
        """Fold lines into the stream; a revision does not move its article, and a replay needs no points."""
        self._line_of = {str(line.number): line.seq for line in lines if line.kind == "article"}
        self.heartbeat.busy = True
        try:
            for kind, group in groupby(lines, key=lambda line: line.kind):
                if kind == "update":
                    for line in group:
                        self.heartbeat.beat()
                        self._update_line = line.seq
                        self.stream.update()
                    self._update_line = 0
                elif kind == "article":
                    self._add_articles(list(group), replay=replay)
                elif kind == "revision" and not replay:
                    revised = list(group)
                    self._project({one.number: one.article for one in revised if one.article is not None})
                    self._add_texts(revised)
        finally:
            self.heartbeat.busy = False

    def _add_articles(self, lines: list[JournalLine], *, replay: bool) -> None:
        """Add articles to the stream, and keep their points for the next update."""
        articles = {line.number: line.article for line in lines if line.article is not None}
        added = (article for article in map(_article, lines) if article is not None)
        outcomes = self.stream.add(added, on_error=self._retry_article)
        if replay:
            return
        added_numbers = {int(one.article) for one in outcomes}
        self._add_texts([line for line in lines if line.number in added_numbers])
        if self.stream.model is None:
            self._project({int(one.article): articles[int(one.article)] for one in outcomes})
            return
        for number, latent in ((int(one.article), one.latent) for one in outcomes if not one.repeated):
            vector = np.empty(0, np.float32) if latent is None else latent
            lang, micros = articles[number].lang, to_micros(articles[number].time)
            self._points[number] = Point(number, lang, micros, vector)

    def _project(self, articles: Mapping[int, Article]) -> None:
        """Project articles outside of the stream; one that fails has no point."""
        model = self._stream_factory.points
        if model.model is None or not articles:
            return
        try:
            self._points.update((point.article, point) for point in model.project(articles))
        except Exception as error:
            if len(articles) > 1:
                for number, article in articles.items():
                    self._project({number: article})
                return
            ((number, article),) = articles.items()
            logger.warning("article %d cannot be projected: %s", number, _describe(error)[1])
            self._points[number] = Point(number, article.lang, 0, np.empty(0, np.float32))

    def _add_texts(self, lines: Iterable[JournalLine]) -> None:
        """Make the search terms of the articles of lines, unless the store has them."""
        for line in lines:
            if line.article is not None and line.seq > self._texts_position:
                self._texts[line.number] = _article_text(line.number, line.article)

    def _take_points(self) -> dict[str, Any]:
        """Return the points and search terms since the last call as arguments of ``Update``."""
        points, self._points = list(self._points.values()), {}
        texts, self._texts = list(self._texts.values()), {}
        taken: dict[str, Any] = {"texts": texts, "text_version": SEARCH_TERMS_VERSION}
        model = self._stream_factory.points
        if model.model is not None:
            taken |= {"points": points, "point_model": model.fingerprint}
        return taken

    def backfill(self) -> int:
        """Store points or search terms of some articles that have none; return how many."""
        return self.add_missing_points() or self.add_missing_texts()

    def add_missing_points(self) -> int:
        """Store points of some articles that have none of this model, the newest first; return how many.

        Articles of older versions, and of stores with another model before, have none.
        """
        if self._stream_factory.points.model is None or not self._backfill_before:
            return 0
        with self.store.database.read() as session:
            model = self._stream_factory.points.fingerprint
            numbers = articles_without_point(session, model, self._backfill_before, BATCH_LINES)
        self._backfill_before = numbers[-1] if numbers else 0
        self._project(self.store.articles(numbers))
        if self._points:
            update = Update(self.position, self.position, generation=self.generation, **self._take_points())
            self.store.apply(update)
        return len(numbers)

    def add_missing_texts(self) -> int:
        """Store search terms of some articles that have none, the newest first; return how many.

        Articles of older versions have none.
        """
        if not self._texts_before:
            return 0
        with self.store.database.read() as session:
            numbers = articles_without_text(session, SEARCH_TERMS_VERSION, self._texts_before, BATCH_LINES)
        self._texts_before = numbers[-1] if numbers else 0
        for number, article in self.store.articles(numbers).items():
            self._texts[number] = _article_text(number, article)
        if self._texts:
            update = Update(self.position, self.position, generation=self.generation, **self._take_points())
            self.store.apply(update)
        return len(numbers)

    def _retry_article(self, article: Article, error: Exception) -> bool:
        """Record a failed analysis; return whether to try again."""
        line = self._line_of[article.id]
        if line <= self.position:
            raise StoreError(
                f"line {line} of the journal is part of the events and can no longer be analysed "
                f"({_describe(error)[1]}); isogloss doctor --rebuild makes all events again without it"
            ) from error
        return not self._record_failure(line, error)

    def _record_failure(self, line: int, error: Exception) -> bool:
        """Record a failed attempt; return whether the line is quarantined now."""
        reason, message = _describe(error)
        quarantined = self.store.record_failure(line, reason, message, taken=self.position)
        self._failed.add(line)
        logger.warning(
            "line %d of the journal failed%s: %s",
            line,
            " again and is quarantined, see isogloss doctor" if quarantined else "; trying again",
            message,
            exc_info=error,
        )
        return quarantined

    def _restore(self) -> EventStream:
        """Restore the stream from the newest valid checkpoint up to the position, or create an empty one."""
        damaged = []
        for line in self.store.checkpoint_lines():
            if line > self.position:
                continue
            try:
                checkpoint = self.store.checkpoint(line)
                stream = self._stream_factory(checkpoint.data)
            except ModelFileError as error:
                logger.warning("%s; trying an older checkpoint, or the journal from its beginning", error)
                damaged.append(str(error))
                continue
            try:
                self._check_journal(line, checkpoint.lines, damaged)
            except ReplayError:
                stream.close()
                raise
            self.checkpoint_line = line
            return stream
        self._check_journal(0, 0, damaged)
        return self._stream_factory(None)

    def _check_journal(self, line: int, lines: int | None, damaged: list[str]) -> None:
        """Raise ReplayError unless the journal has all lines between a checkpoint and the position."""
        if lines is None:
            return
        expected, found = self.lines_read - lines, self.store.count_lines(line, self.position)
        if expected == found:
            return
        start = f"the checkpoint of line {line}" if line else "the beginning"
        reason = "; ".join(damaged) or ("there is no later checkpoint" if line else "there is no checkpoint")
        raise ReplayError(
            f"events cannot be continued: from {start} to line {self.position} the journal should have "
            f"{expected:,} lines and has {found:,}; some were pruned or lost ({reason}); {REBUILD_HINT}"
        )

    def _replay(self) -> JournalReader:
        """Replay the journal up to the position; return the reader of the lines after it."""
        reader = JournalReader(self.store, self.stream.analyser, self.checkpoint_line)
        self.store.apply(worker_started(self.position))
        try:
            while lines := reader.read(BATCH_LINES, until=self.position):
                self._fold(lines, replay=True)
        except IsoglossError:
            raise
        except Exception as error:
            raise StoreError(
                f"the journal cannot be replayed to line {self.position}, where the events stand "
                f"({_describe(error)[1]}); isogloss doctor --rebuild makes all events again"
            ) from error
        self._check_last_ids()
        return reader

    def _check_last_ids(self) -> None:
        """Raise ReplayError unless the replayed stream has used the same ids as the read model."""
        if not self.store.position(LINES_READ):
            return
        for name, found in self._last_ids().items():
            expected = self.store.position(name)
            if expected != found:
                raise ReplayError(
                    f"events cannot be continued: the replay of the journal has {name} {found:,} and the "
                    f"tables have {expected:,}; the settings, the model or the version of isogloss changed, "
                    f"or the journal did; {REBUILD_HINT}"
                )

    def _last_ids(self) -> dict[str, int]:
        """Return the highest ids that were used, and the number of lines read."""
        return {
            LAST_CLUSTER_ID: self.ids.cluster_base + self.stream.clusters.last_id,
            LAST_EVENT_ID: self.ids.event_base + self.stream.tracker.ids.last,
            LINES_READ: self.lines_read,
        }

    def _write(self, after: int) -> None:
        """Write the changes up to a line and the next step of a checkpoint; start a checkpoint if due."""
        step = self.checkpoints.next_step()
        recovered = [line for line in self._failed if line <= after]
        update = replace(
            self._changes.take_update(self.position, after),
            progress=self._last_ids(),
            generation=self.generation,
            recovered=recovered,
            **self._take_points(),
            **step,
        )
        self.store.apply(update)
        self._failed.difference_update(recovered)
        self.checkpoints.confirm(step)
        if after // TRIM_HEAP_LINES > self.position // TRIM_HEAP_LINES:
            trim_heap()
        self.position = after
        self.checkpoint_line = max(self.checkpoint_line, self.checkpoints.line)
        if self._checkpoint_due():
            self._checkpointed_at = time.monotonic()
            self.checkpoints.start(self.stream, after, self.lines_read)

    def _checkpoint_due(self) -> bool:
        """Return whether enough lines, and enough time, have passed since the last checkpoint."""
        rested = time.monotonic() - self._checkpointed_at >= self.checkpoints.seconds / MAX_CHECKPOINT_SHARE
        new_lines = self.position - self.checkpoint_line
        return rested and not self.checkpoints.busy and new_lines >= self.checkpoint_every


class _Rebuild(JournalProcessor):
    """Processes the whole journal into the tables of a rebuild."""

    def __init__(
        self,
        store: Store,
        stream_factory: StreamFactory,
        heartbeat: Heartbeat | None = None,
        restarted: bool = False,
    ) -> None:
        self._init(store, stream_factory, heartbeat)
        self._start(restarted)

    def _start(self, restarted: bool) -> None:
        """Start at the first line; lines after the progress of a crashed rebuild are processed singly."""
        store = self.store
        if self._check_crash(restarted):
            survived = store.count_lines(0, store.position(REBUILD_PROGRESS))
            self._careful = range(survived, survived + CAREFUL_LINES)
        self.position = self.lines_read = 0
        self._texts_position = store.position()  # texts do not depend on events
        self.generation = store.position(GENERATION)
        self.ids = store.begin_rebuild()
        store.apply(worker_started(store.position()))
        self.checkpoints = CheckpointWriter(store, generation=self.generation)
        self.stream = self._stream_factory(None)
        self.stream.heartbeat = self.heartbeat.beat
        self.reader = JournalReader(store, self.stream.analyser)
        self._track_changes()

    def finish(self) -> None:
        """Save a checkpoint, and replace the read model."""
        self.store.record_update()  # no older checkpoint is of the same line
        self.process()
        self.checkpoints.start_inline(self.stream, self.position, self.lines_read)
        while (part := self.checkpoints.next_step()["checkpoint_parts"][0])[0] != CHECKPOINT_HEADER:
            self._apply(Update(self.position, self.position, checkpoint_parts=[part]))
        result = RebuildResult(
            self.position,
            self.lines_read,
            self.stream.clusters.last_id,
            self.stream.tracker.ids.last,
            self.stream.links.profiles.keys(),
            self.stream.tracker.ids.members.keys(),
            part,
            self.generation,
        )
        self.store.finish_rebuild(self.ids, result)

    def _write(self, after: int) -> None:
        recovered = [line for line in self._failed if line <= after]
        update = self._changes.take_update(self.position, after)
        self._apply(replace(update, recovered=recovered, **self._take_points()))
        self._failed.difference_update(recovered)
        self.position = after

    def _apply(self, update: Update) -> None:
        self.store.apply(compile_update(replace(update, generation=self.generation), rebuilt=True))


def rebuild(
    store: Store,
    stream_factory: StreamFactory,
    *,
    should_continue: Callable[[], bool] = lambda: True,
    progress: Callable[[int], None] = lambda _: None,
    heartbeat: Heartbeat | None = None,
    restarted: bool = False,
) -> bool:
    """Rebuild clusters, links and events from the journal, and save a checkpoint.

    The present read model stays in use until it is replaced in one transaction. A line that fails twice is
    quarantined, and the rebuild starts over without it. ``should_continue`` is called after every batch; if
    it returns False the rebuild is abandoned, and starts over next time. ``progress`` is called with the
    number of lines of every batch. Other parameters are those of :class:`JournalProcessor`. Returns whether
    the rebuild was completed.
    """
    logger.info("rebuilding events from the journal; the present events stay in use until that is done")
    processor = _Rebuild(store, stream_factory, heartbeat, restarted)
    completed = True
    try:
        while completed and (processed := processor.process(BATCH_LINES)):
            progress(processed)
            completed = should_continue()
        if completed:
            processor.finish()
    finally:
        processor.stream.close()  # not the first one, if a line failed
    store.apply(worker_stopped(store.position()))
    if completed:
        logger.info("rebuilt events from %s lines of the journal", f"{processor.lines_read:,}")
    return completed


def _article_text(number: int, article: Article) -> ArticleText:
    """Return the search terms of an article; none if making them fails."""
    try:
        terms = article_search_terms(article.title, article.body, article.lang)
    except Exception as error:
        logger.warning("article %d cannot be found by its words: %s", number, _describe(error)[1])
        terms = SearchTerms()
    return ArticleText(number, terms.title, terms.body, terms.keys)


def _describe(error: Exception) -> tuple[str, str]:
    """Return the kind of a failure, and a message."""
    message = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    if isinstance(error, MemoryError):
        return "out of memory", message
    return ("process died" if isinstance(error, AnalyserDiedError) else "raised an error"), message
