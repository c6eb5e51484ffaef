"""The worker: reads the journal, follows the stream, and writes what changed to the tables.

The stream depends on the lines of the journal and on nothing else. A worker that starts again takes the last
saved state, goes through the lines since then, and is where it was. If that cannot be, because no state can
be read and lines are missing, it stops and says so: a stream that began elsewhere would give the numbers of
clusters to other stories.

A line that fails is tried again; after the second failure it is quarantined, and the next one is taken. Where
an article cannot be prepared, nothing else has changed. After any other failure, and after a worker that
ended without a proper stop, the next lines are taken one at a time, each noted in the store before it is
begun: so the line is known that a worker did not survive.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import replace
from itertools import groupby
from multiprocessing.sharedctypes import RawArray
from typing import Any

from isogloss.events import Article, EventStream, trim_heap
from isogloss.events.analyse import AnalyserDiedError
from isogloss.exceptions import IsoglossError, ModelFileError, ReplayError, StoreError
from isogloss.service.worker._changed_rows import Rows
from isogloss.service.worker._checkpoints import Keeping
from isogloss.service.worker._journal_reader import QUARANTINED, Lines, article_of
from isogloss.store import JournalLine, RebuildResult, Store, Update
from isogloss.store.queries import (
    CHECKPOINT_HEADER,
    GENERATION,
    LAST_CLUSTER_ID,
    LAST_EVENT_ID,
    LINES_READ,
    REBUILD_PROGRESS,
    WORKER_STOPPED,
    compile_update,
    worker_started,
    worker_stopped,
)

__all__ = ["Follower", "Heartbeat", "keep_up", "rebuild"]

logger = logging.getLogger(__name__)

BATCH = 256
FEW = 32
"""Lines that are too few to look for more at once: a moment later there are more for one transaction."""
CAREFUL = 2 * BATCH
"""Lines that are taken one at a time after a worker that ended without a proper stop: those that it may have
been at."""
SHARE = 0.1
"""Part of the time in which a state may be on its way."""

TIDY = 1 << 14
"""Lines after which memory that became free is given back."""

LONGEST = 4.0
"""Seconds that saving the state at a stop may take."""

REBUILD = (
    "stop the service, then run isogloss doctor --rebuild: it makes events anew, and stories keep their ids"
)

_BUSY, _BEATS = 0, 1


class Heartbeat:
    """Whether a worker is at records, and how many it has begun.

    Parameters
    ----------
    shared : bool
        Whether it is in memory that a process sees which is started with it.
    """

    def __init__(self, *, shared: bool = True) -> None:
        self._cells: Any = RawArray("q", 2) if shared else [0, 0]

    @property
    def busy(self) -> bool:
        """Whether the worker is at records: it neither waits nor writes."""
        return bool(self._cells[_BUSY])

    @busy.setter
    def busy(self, value: bool) -> None:
        self._cells[_BUSY] = value

    @property
    def count(self) -> int:
        """Records that were begun."""
        return int(self._cells[_BEATS])

    def beat(self) -> None:
        """A record is begun."""
        self._cells[_BEATS] += 1


class Follower:
    """Brings the tables of a store up to date with its journal.

    If a rebuild of the tables was asked for, that comes first.

    Parameters
    ----------
    store : Store
        The store.
    make : callable
        Makes an empty stream; it is also told a saved state to go on from.
    snapshot_every : int
        Lines of the journal after which the state is saved, or more if that took long the last time.
    heartbeat : Heartbeat, optional
        Tells another process how it goes on.
    restarted : bool
        Whether another follower of this process was here before: a line that it had begun has not ended the
        process, and is not to blame.

    Attributes
    ----------
    position, saved : int
        The lines of the journal that the tables stand at, and that the saved state is of.
    read : int
        How many lines of the journal were read, from the first to that of the tables.
    save_seconds : float
        How long it took to save the state the last time.

    Examples
    --------
    >>> from isogloss.events.ingest import sample_news
    >>> from isogloss.service.worker import StreamMaker
    >>> store = Store("followed.db")
    >>> _ = store.add(sample_news().articles[:100])
    >>> Follower(store, StreamMaker()).catch_up()
    100
    >>> max(event["languages_count"] for event in store.events().events) > 1
    True
    >>> store.close()

    Raises
    ------
    ReplayError
        The stream cannot be brought to where the tables stand.
    """

    def __init__(
        self,
        store: Store,
        make: Callable[[bytes | None], EventStream],
        *,
        snapshot_every: int = 20_000,
        heartbeat: Heartbeat | None = None,
        restarted: bool = False,
    ) -> None:
        if store.rebuild_requested():
            rebuild(store, make, heartbeat=heartbeat, restarted=restarted)
            restarted = True
        self.store, self.snapshot_every = store, snapshot_every
        self._expect_failures(make, heartbeat)
        self._start(restarted)

    def _expect_failures(
        self, make: Callable[[bytes | None], EventStream], heartbeat: Heartbeat | None = None
    ) -> None:
        self._make, self.heartbeat = make, heartbeat or Heartbeat(shared=False)
        self._line_of: dict[str, int] = {}
        self._line, self._careful = 0, range(0)
        self._failed = set(self.store.failed_lines())

    def _notice_crash(self, restarted: bool) -> bool:
        """Whether the last worker has crashed; the line that it was at alone has failed, if it was."""
        stopped, at = self.store.crash_marker()
        if at and not restarted:
            self.store.record_failure(at, WORKER_STOPPED, "the service ended while it was at this line")
        return stopped

    def _start(self, restarted: bool) -> None:
        """Bring the stream to where the tables stand."""
        stopped = self._notice_crash(restarted)
        store = self.store
        self.position, self.generation = store.position(), store.position(GENERATION)
        self.read = (
            store.position(LINES_READ) or self.position
        )  # versions that counted none had lines without gaps
        self._careful = range(self.read, self.read + CAREFUL) if stopped else range(0)
        self.saved, self.save_seconds, self._saved_at = 0, 0.0, time.monotonic()
        self.ids = store.public_ids()
        self.stream = self._restored()
        self.stream.heartbeat = self.heartbeat.beat
        self.keeping = Keeping(store, self.saved, generation=self.generation)
        try:
            self.lines = self._replayed()
        except BaseException:
            self.stream.close()
            raise
        self._rows = Rows(self.stream, self.ids)
        self.stream.observer = self._rows.note

    def catch_up(self, most: int | None = None) -> int:
        """Go through the lines of the journal that are new, then bring events up to date; how many lines."""
        done = self.follow(most)
        self.settle()
        return done

    def follow(self, most: int | None = None) -> int:
        """Go through the lines of the journal that are new."""
        done = 0
        while most is None or done < most:
            self.stream.analyser.paused = self.read < self._careful.stop
            careful = self.read in self._careful
            entries = self.lines.take(min(self._batch(careful), BATCH if most is None else most - done))
            if not entries:
                break
            if self._survived(entries, careful):
                done += len(entries)
                self.read += len(entries)
                self._write(entries[-1].seq)
        return done

    def _batch(self, careful: bool) -> int:
        """Return how many lines are taken at once; none beyond those that are taken one at a time."""
        return 1 if careful else min(BATCH, max(self._careful.start - self.read, 0) or BATCH)

    def _survived(self, entries: list[JournalLine], careful: bool) -> bool:
        """Have the stream take lines in; False if one of them failed and the stream was made anew."""
        if careful and entries[0].kind != QUARANTINED:
            self.store.record_line_start(entries[0].seq)
        try:
            self._feed(entries)
        except IsoglossError:
            raise
        except Exception as error:
            line = self._line_of.get(self.stream.current, self._line)
            if not line:
                raise
            self._note_failure(line, error)
            self.keeping.close()
            self.stream.close()
            self._start(restarted=True)
            return False
        return True

    def _feed(self, entries: list[JournalLine]) -> None:
        """Have the stream take lines in; a revision does not move an article."""
        self._line_of = {str(entry.number): entry.seq for entry in entries if entry.kind == "article"}
        self.heartbeat.busy = True
        try:
            for kind, lines in groupby(entries, key=lambda entry: entry.kind):
                if kind == "update":
                    for entry in lines:
                        self.heartbeat.beat()
                        self._line = entry.seq
                        self.stream.update()
                    self._line = 0
                elif kind == "article":
                    articles = (article for article in map(article_of, lines) if article is not None)
                    self.stream.add(articles, on_error=self._try_again)
        finally:
            self.heartbeat.busy = False

    def _try_again(self, article: Article, error: Exception) -> bool:
        """Count a failed attempt to prepare an article; whether there is another one."""
        line = self._line_of[article.id]
        if line <= self.position:
            raise StoreError(
                f"line {line} of the journal, which events are made of, cannot be prepared any more "
                f"({_described(error)[1]}); isogloss doctor --rebuild makes all events anew without it"
            ) from error
        return not self._note_failure(line, error)

    def _note_failure(self, line: int, error: Exception) -> bool:
        """Count a failed attempt; whether the line is in quarantine now."""
        reason, said = _described(error)
        quarantined = self.store.record_failure(line, reason, said, taken=self.position)
        self._failed.add(line)
        logger.warning(
            "line %d of the journal failed%s: %s",
            line,
            " again and is quarantined, see isogloss doctor" if quarantined else "; trying again",
            said,
            exc_info=error,
        )
        return quarantined

    def settle(self) -> int:
        """Bring events up to date with articles that came since they last were; how many lines that took."""
        if not self.stream.pending:
            return 0
        self.store.record_update()
        return self.follow(BATCH)

    def save(self) -> None:
        """Save the state, to start again from here."""
        if self.position > self.saved:
            self.keeping.keep_now(self.stream, self.position, self.read)
            self.saved, self.save_seconds = self.position, self.keeping.seconds
            self._saved_at = time.monotonic()

    def close(self) -> None:
        """Save the state, unless that takes longer than a stop may; the next start reads more lines then."""
        try:
            if self.save_seconds < LONGEST:
                self.save()
            self.store.apply(worker_stopped(self.position))
        finally:
            self.keeping.close()
            self.stream.close()

    def _restored(self) -> EventStream:
        """Return the stream as it was at the latest possible line up to the one where the tables stand."""
        damaged = []
        for line in self.store.checkpoint_lines():
            if line > self.position:
                continue
            try:
                state = self.store.checkpoint(line)
                stream = self._make(state.data)
            except ModelFileError as error:
                logger.warning("%s; trying an older checkpoint, or the journal from its beginning", error)
                damaged.append(str(error))
                continue
            try:
                self._check_journal(line, state.lines, damaged)
            except ReplayError:
                stream.close()
                raise
            self.saved = line
            return stream
        self._check_journal(0, 0, damaged)
        return self._make(None)

    def _check_journal(self, line: int, lines: int | None, damaged: list[str]) -> None:
        """Raise ReplayError unless all lines are there that lead from a line to where the tables stand."""
        if lines is None:
            return
        wanted, found = self.read - lines, self.store.count_lines(line, self.position)
        if wanted == found:
            return
        start = f"the checkpoint of line {line}" if line else "the beginning"
        why = "; ".join(damaged) or ("no later state is saved" if line else "no state is saved")
        raise ReplayError(
            f"events cannot go on: from {start} to line {self.position} the journal should have {wanted:,} "
            f"lines and has {found:,}, some were pruned or lost ({why}); {REBUILD}"
        )

    def _replayed(self) -> Lines:
        """Bring the stream to the line where the tables stand; return the reader of the lines after it."""
        lines = Lines(self.store, self.stream.analyser, self.saved)
        self.store.apply(worker_started(self.position))
        try:
            while entries := lines.take(BATCH, until=self.position):
                self._feed(entries)
        except IsoglossError:
            raise
        except Exception as error:
            raise StoreError(
                f"events stand at line {self.position} of the journal, and lines before cannot be replayed "
                f"({_described(error)[1]}); isogloss doctor --rebuild makes all events anew"
            ) from error
        self._check_marks()
        return lines

    def _check_marks(self) -> None:
        """Raise ReplayError unless the stream has given as many numbers as the tables know of."""
        if not self.store.position(LINES_READ):
            return
        for name, found in self._marks().items():
            wanted = self.store.position(name)
            if wanted != found:
                raise ReplayError(
                    f"events cannot go on: reading the journal again led to {name} {found:,}, and the tables "
                    f"have {wanted:,}; the settings, the model or the version of isogloss changed, or the "
                    f"journal did; {REBUILD}"
                )

    def _marks(self) -> dict[str, int]:
        """Return the highest ids that were given, and how many lines that took."""
        return {
            LAST_CLUSTER_ID: self.ids.cluster_base + self.stream.clusters.last_id,
            LAST_EVENT_ID: self.ids.event_base + self.stream.tracker.ids.last,
            LINES_READ: self.read,
        }

    def _write(self, after: int) -> None:
        update = self._rows.take(self.position, after)
        step = self.keeping.step()
        recovered = [line for line in self._failed if line <= after]
        update = replace(update, progress=self._marks(), generation=self.generation, recovered=recovered)
        self.store.apply(replace(update, **step))
        self._failed.difference_update(recovered)
        self.keeping.done(step)
        if after // TIDY > self.position // TIDY:
            trim_heap()
        self.position = after
        self.saved = max(self.saved, self.keeping.saved)
        if self._is_due(after):
            self._saved_at = time.monotonic()
            self.keeping.begin(self.stream, after, self.read)

    def _is_due(self, after: int) -> bool:
        """Whether to save the state: after enough lines, and in a small part of the time."""
        rested = time.monotonic() - self._saved_at >= self.keeping.seconds / SHARE
        return rested and not self.keeping.busy and after - self.saved >= self.snapshot_every


class _Rebuild(Follower):
    """Reads the whole journal, and writes to the tables of a rebuild."""

    def __init__(
        self,
        store: Store,
        make: Callable[[bytes | None], EventStream],
        heartbeat: Heartbeat | None = None,
        restarted: bool = False,
    ) -> None:
        self.store = store
        self._expect_failures(make, heartbeat)
        self._start(restarted)

    def _start(self, restarted: bool) -> None:
        """Begin with the first line; those that the rebuild before has not survived are taken alone."""
        store = self.store
        if self._notice_crash(restarted):
            survived = store.count_lines(0, store.position(REBUILD_PROGRESS))
            self._careful = range(survived, survived + CAREFUL)
        self.position = self.read = 0
        self.generation = store.position(GENERATION)
        self.ids = store.begin_rebuild()
        store.apply(worker_started(store.position()))
        self.keeping = Keeping(store, generation=self.generation)
        self.stream = self._make(None)
        self.stream.heartbeat = self.heartbeat.beat
        self.lines = Lines(store, self.stream.analyser)
        self._rows = Rows(self.stream, self.ids)
        self.stream.observer = self._rows.note

    def finish(self) -> None:
        """Save the state, and put the rebuilt tables in the place of the others."""
        self.store.record_update()  # the state is of a line that no older one is of
        self.follow()
        self.keeping.begin_here(self.stream, self.position, self.read)
        while (part := self.keeping.step()["checkpoint_parts"][0])[0] != CHECKPOINT_HEADER:
            self._apply(
                Update(self.position, self.position, checkpoint_parts=[part], generation=self.generation)
            )
        rebuilt = RebuildResult(
            self.position,
            self.read,
            self.stream.clusters.last_id,
            self.stream.tracker.ids.last,
            self.stream.links.profiles.keys(),
            self.stream.tracker.ids.members.keys(),
            part,
            self.generation,
        )
        self.store.finish_rebuild(self.ids, rebuilt)

    def _write(self, after: int) -> None:
        recovered = [line for line in self._failed if line <= after]
        update = self._rows.take(self.position, after)
        self._apply(replace(update, generation=self.generation, recovered=recovered))
        self._failed.difference_update(recovered)
        self.position = after

    def _apply(self, update: Update) -> None:
        self.store.apply(compile_update(update, rebuilt=True))


def rebuild(
    store: Store,
    make: Callable[[bytes | None], EventStream],
    *,
    go_on: Callable[[], bool] = lambda: True,
    progress: Callable[[int], None] = lambda _: None,
    heartbeat: Heartbeat | None = None,
    restarted: bool = False,
) -> bool:
    """Make clusters, links and events anew from the journal, and save the state.

    What is there stays as it is until all of it is replaced at once. A line that fails twice is quarantined,
    as it is by a :class:`Follower`, and the rebuild begins again without it.

    Parameters
    ----------
    store, make, heartbeat, restarted
        See :class:`Follower`.
    go_on : callable
        Asked every few hundred lines; False gives the rebuild up, and the next one begins again.
    progress : callable
        Told the number of lines that were read.

    Returns
    -------
    bool
        Whether it was done.
    """
    logger.info("events are made anew from the journal; those that there are stay until that is done")
    work = _Rebuild(store, make, heartbeat, restarted)
    finished = True
    try:
        while finished and (done := work.follow(BATCH)):
            progress(done)
            finished = go_on()
        if finished:
            work.finish()
    finally:
        work.stream.close()
    store.apply(worker_stopped(store.position()))
    if finished:
        logger.info("events were made anew from %s lines of the journal", f"{work.read:,}")
    return finished


def _described(error: Exception) -> tuple[str, str]:
    """The reason of a failure in a word or two, and in a sentence."""
    said = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    if isinstance(error, MemoryError):
        return "out of memory", said
    return ("process died" if isinstance(error, AnalyserDiedError) else "raised an error"), said


def keep_up(
    store: Store,
    make: Callable[[bytes | None], EventStream],
    *,
    snapshot_every: int,
    pause: float,
    wait: Callable[[float], bool],
    tell: Callable[[int, str], None],
    heartbeat: Heartbeat | None = None,
) -> None:
    """Follow the journal of a store until it is time to stop; then save the state.

    Parameters
    ----------
    store, make, snapshot_every, heartbeat
        See :class:`Follower`.
    pause : float
        Seconds between two looks at a journal without news.
    wait : callable
        Waits so many seconds, or until it is time to stop; whether it is.
    tell : callable
        Is told the line that the tables stand at, and what went wrong, if anything did.
    """
    follower: Follower | None = None
    refused: tuple[str, object] | None = None
    restarted = False
    while not wait(0.0):
        try:
            if refused is not None and refused[1] == _start(store):
                tell(0, refused[0])
                wait(1.0)
                continue
            wanted = follower is None and store.rebuild_requested()
            again, restarted = restarted, True
            if wanted and not rebuild(
                store,
                make,
                go_on=lambda: _goes_on(store, tell, wait),
                heartbeat=heartbeat,
                restarted=again,
            ):
                continue
            if follower is None:
                follower = Follower(
                    store, make, snapshot_every=snapshot_every, heartbeat=heartbeat, restarted=again
                )
            done = follower.follow(BATCH)
            busy = done or follower.settle()
            tell(follower.position, "")
            if done < FEW:
                wait(pause / 2 if busy else pause)
        except IsoglossError as error:
            if isinstance(error, ReplayError):  # trying again is in vain until the store is another
                refused = str(error), _start(store)
            tell(follower.position if follower else 0, str(error))
            if follower is not None:
                follower.stream.close()
            follower = None
            wait(1.0)
    if follower is not None:
        began = time.perf_counter()
        follower.close()
        logger.info("state saved in %.1f s", time.perf_counter() - began)


def _start(store: Store) -> object:
    """Return what decides whether and where a worker can begin."""
    return store.position(), store.checkpoint_lines(), store.rebuild_requested()


def _goes_on(store: Store, tell: Callable[[int, str], None], wait: Callable[[float], bool]) -> bool:
    """Say that a rebuild makes progress, and ask whether it is time to stop."""
    tell(store.position(), "")
    return not wait(0.0)
