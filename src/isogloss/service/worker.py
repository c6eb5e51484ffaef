"""The worker: reads the journal, follows the stream, and writes what changed to the tables.

The stream depends on the lines of the journal and on nothing else. A worker that starts again takes the last
saved state, goes through the lines since then, and is where it was.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import replace
from itertools import groupby

from isogloss.events.garbage import give_back
from isogloss.events.stream import EventStream
from isogloss.exceptions import IsoglossError, ModelFileError
from isogloss.service.keeping import Keeping
from isogloss.service.lines import Lines, article_of
from isogloss.service.rows import Rows
from isogloss.store import Entry, Store
from isogloss.store.preparation import announcement

__all__ = ["Follower", "keep_up"]

logger = logging.getLogger(__name__)

BATCH = 256
FEW = 32
"""Lines that are too few to look for more at once: a moment later there are more for one transaction."""
SHARE = 0.1
"""Part of the time in which a state may be on its way."""

TIDY = 1 << 14
"""Lines after which memory that became free is given back."""

LONGEST = 4.0
"""Seconds that saving the state at a stop may take."""


class Follower:
    """Brings the tables of a store up to date with its journal.

    Parameters
    ----------
    store : Store
        The store.
    make : callable
        Makes an empty stream; it is also told a saved state to go on from.
    snapshot_every : int
        Lines of the journal after which the state is saved, or more if that took long the last time.

    Attributes
    ----------
    position, saved : int
        The lines of the journal that the tables stand at, and that the saved state is of.
    save_seconds : float
        How long it took to save the state the last time.

    Examples
    --------
    >>> from isogloss.events.samples import sample_news
    >>> from isogloss.service.making import StreamMaker
    >>> store = Store("followed.db")
    >>> _ = store.add(sample_news().articles[:100])
    >>> Follower(store, StreamMaker()).catch_up()
    100
    >>> max(event["languages_count"] for event in store.events().events) > 1
    True
    >>> store.close()
    """

    def __init__(
        self, store: Store, make: Callable[[bytes | None], EventStream], *, snapshot_every: int = 20_000
    ) -> None:
        self.store, self.snapshot_every = store, snapshot_every
        self.position = store.position()
        self.saved, self.save_seconds, self._saved_at = 0, 0.0, time.monotonic()
        self.stream = self._restored(make)
        self.keeping = Keeping(store, self.saved)
        try:
            self.lines = self._replayed()
        except BaseException:
            self.stream.close()
            raise
        self._rows = Rows(self.stream)
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
            entries = self.lines.take(BATCH if most is None else min(BATCH, most - done))
            if not entries:
                break
            _feed(self.stream, entries)
            done += len(entries)
            self._write(entries[-1].seq)
        return done

    def settle(self) -> int:
        """Bring events up to date with articles that came since they last were; how many lines that took."""
        if not self.stream.pending:
            return 0
        self.store.note_update()
        return self.follow(BATCH)

    def save(self) -> None:
        """Save the state, to start again from here."""
        if self.position > self.saved:
            self.keeping.keep_now(self.stream, self.position)
            self.saved, self.save_seconds = self.position, self.keeping.seconds
            self._saved_at = time.monotonic()

    def close(self) -> None:
        """Save the state, unless that takes longer than a stop may; the next start reads more lines then."""
        try:
            if self.save_seconds < LONGEST:
                self.save()
        finally:
            self.keeping.close()
            self.stream.close()

    def _restored(self, make: Callable[[bytes | None], EventStream]) -> EventStream:
        """The stream as it was at a line before the one where the tables stand."""
        kept = self.store.snapshot()
        try:
            stream = make(kept[1] if kept else None)
            self.saved = kept[0] if kept else 0
        except ModelFileError as error:
            logger.warning("%s", error)
            stream, self.saved = make(None), 0
        return stream

    def _replayed(self) -> Lines:
        """Bring the stream to the line where the tables stand, and tell who helps; the lines after it."""
        lines = Lines(self.store, self.stream.preparer, self.saved)
        if lines.way is not None:
            self.store.apply(announcement(self.position, lines.way))
        while entries := lines.take(BATCH, until=self.position):
            _feed(self.stream, entries)
        lines.counts.clear()
        return lines

    def _write(self, after: int) -> None:
        update = self._rows.take(self.position, after)
        tallies = {f"prepared_{who}": n for who, n in self.lines.counts.items()}
        step = self.keeping.step()
        self.store.apply(replace(update, begun=self.lines.last + BATCH, tallies=tallies, **step))
        self.keeping.done(step)
        self.lines.counts.clear()
        if after // TIDY > self.position // TIDY:
            give_back()
        self.position = after
        self.saved = max(self.saved, self.keeping.saved)
        if self._is_due(after):
            self._saved_at = time.monotonic()
            self.keeping.begin(self.stream, after)

    def _is_due(self, after: int) -> bool:
        """Whether to save the state: after enough lines, and in a small part of the time."""
        rested = time.monotonic() - self._saved_at >= self.keeping.seconds / SHARE
        return rested and not self.keeping.busy and after - self.saved >= self.snapshot_every


def _feed(stream: EventStream, entries: list[Entry]) -> None:
    """Lines of the journal to a stream; a revision does not move an article."""
    for kind, lines in groupby(entries, key=lambda entry: entry.kind):
        if kind == "update":
            for _ in lines:
                stream.update()
        elif kind == "article":
            stream.add(article for article in map(article_of, lines) if article is not None)


def keep_up(
    store: Store,
    make: Callable[[bytes | None], EventStream],
    *,
    snapshot_every: int,
    pause: float,
    wait: Callable[[float], bool],
    tell: Callable[[int, str], None],
) -> None:
    """Follow the journal of a store until it is time to stop; then save the state.

    Parameters
    ----------
    store, make, snapshot_every
        See :class:`Follower`.
    pause : float
        Seconds between two looks at a journal without news.
    wait : callable
        Waits so many seconds, or until it is time to stop; whether it is.
    tell : callable
        Is told the line that the tables stand at, and what went wrong, if anything did.
    """
    follower: Follower | None = None
    while not wait(0.0):
        try:
            if follower is None:
                follower = Follower(store, make, snapshot_every=snapshot_every)
            done = follower.follow(BATCH)
            busy = done or follower.settle()
            tell(follower.position, "")
            if done < FEW:
                wait(pause / 2 if busy else pause)
        except IsoglossError as error:
            tell(follower.position if follower else 0, str(error))
            if follower is not None:
                follower.stream.close()
            follower = None
            wait(1.0)
    if follower is not None:
        began = time.perf_counter()
        follower.close()
        logger.info("state saved in %.1f s", time.perf_counter() - began)
