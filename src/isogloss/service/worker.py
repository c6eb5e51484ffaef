"""The worker: reads the journal, follows the stream, and writes what changed to the tables.

The stream depends on the lines of the journal and on nothing else. A worker that starts again takes the last
saved state, goes through the lines since then, and is where it was.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import groupby
from typing import Any

from isogloss.events.event import Event
from isogloss.events.labels import concept_label, find_place
from isogloss.events.saving import save_stream
from isogloss.events.stream import Changes, EventStream
from isogloss.exceptions import IsoglossError, ModelFileError
from isogloss.service.background import Background
from isogloss.service.making import StreamMaker
from isogloss.store import ClusterRow, Entry, EventRow, LinkRow, Store, Update, micros

__all__ = ["Follower", "StreamWorker"]

logger = logging.getLogger(__name__)

BATCH = 256
LEAST = 0.2
"""Probability from which on a link is kept."""


class Follower:
    """Brings the tables of a store up to date with its journal.

    Parameters
    ----------
    store : Store
        The store.
    make : callable
        Makes an empty stream; it is also told a saved state to go on from.
    snapshot_every : int
        Lines of the journal after which the state is saved.

    Examples
    --------
    >>> from isogloss.events.samples import sample_news
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
        self.saved = 0
        self.stream = self._restored(make)
        self.stream.observer = self._observe
        self._rows = _Rows(self.stream)

    def catch_up(self, most: int | None = None) -> int:
        """Go through the lines of the journal that are new, then bring events up to date; how many lines."""
        done = self.follow(most)
        self.settle()
        return done

    def follow(self, most: int | None = None) -> int:
        """Go through the lines of the journal that are new."""
        done = 0
        while most is None or done < most:
            entries = self.store.journal(self.position, BATCH if most is None else min(BATCH, most - done))
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
            self._write(self.position, save=True)

    def _restored(self, make: Callable[[bytes | None], EventStream]) -> EventStream:
        """The stream as it was at the line where the tables stand."""
        kept = self.store.snapshot()
        try:
            stream = make(kept[1] if kept else None)
            self.saved = kept[0] if kept else 0
        except ModelFileError as error:
            logger.warning("%s", error)
            stream, self.saved = make(None), 0
        line = self.saved
        while line < self.position:
            entries = [entry for entry in self.store.journal(line, BATCH) if entry.seq <= self.position]
            if not entries:
                break
            _feed(stream, entries)
            line = entries[-1].seq
        return stream

    def _observe(self, changes: Changes) -> None:
        self._rows.note(changes)

    def _write(self, after: int, *, save: bool = False) -> None:
        save = save or after - self.saved >= self.snapshot_every
        snapshot = save_stream(self.stream) if save else None
        self.store.apply(self._rows.take(self.position, after, snapshot))
        self.position = after
        if save:
            self.saved = after


def _feed(stream: EventStream, entries: list[Entry]) -> None:
    """Lines of the journal to a stream; a revision does not move an article."""
    for kind, lines in groupby(entries, key=lambda entry: entry.kind):
        if kind == "update":
            for _ in lines:
                stream.update()
        elif kind == "article":
            stream.add(
                replace(entry.article, id=str(entry.number)) for entry in lines if entry.article is not None
            )


class _Rows:
    """What changed in a stream since the tables were last written, as rows of theirs."""

    def __init__(self, stream: EventStream) -> None:
        self.stream = stream
        self._clear()

    def _clear(self) -> None:
        self.clusters: dict[int, ClusterRow] = {}
        self.links: dict[tuple[int, int], LinkRow] = {}
        self.events: dict[str, EventRow] = {}
        self.gone_clusters: list[int] = []
        self.aliases: list[tuple[str, str]] = []

    def note(self, changes: Changes) -> None:
        """Describe what changed, while the stream knows it."""
        for old, new in changes.aliases.items():
            self.aliases.append((_name(old), _name(new)))
            self.events.pop(_name(old), None)
        for gone in changes.merged:
            self.gone_clusters.append(gone)
            self.clusters.pop(gone, None)
            self.links = {pair: row for pair, row in self.links.items() if gone not in pair}
        touched = set(changes.clusters)
        for number in sorted(changes.events & self.stream.tracker.ids.members.keys()):
            event = self.stream.event(number)
            self.events[_name(number)] = self._event(event)
            touched.update(event.clusters)
            self._note_links(event)
        touched.update(self._with_reprints(changes))
        for cluster in sorted(touched & self.stream.links.profiles.keys()):
            self.clusters[cluster] = self._cluster(cluster)

    def take(self, before: int, after: int, snapshot: bytes | None) -> Update:
        """Everything noted since the last time."""
        update = Update(
            before,
            after,
            clusters=list(self.clusters.values()),
            links=list(self.links.values()),
            events=list(self.events.values()),
            gone_clusters=self.gone_clusters,
            gone_events=[old for old, _ in self.aliases],
            aliases=self.aliases,
            snapshot=snapshot,
        )
        self._clear()
        return update

    def _with_reprints(self, changes: Changes) -> set[int]:
        owner = self.stream.links.cluster_of
        return {owner[first] for _, first in changes.reprints if first in owner}

    def _cluster(self, number: int) -> ClusterRow:
        profile = self.stream.links.profiles[number]
        reprints = [int(copy) for one in profile.articles for copy in self.stream.reprints(one)]
        titles = self.stream.event(self.stream.tracker.ids.event_of[number]).titles
        return ClusterRow(
            number,
            profile.lang,
            _name(self.stream.tracker.ids.event_of[number]),
            round(profile.first * 1e6),
            round(profile.last * 1e6),
            [*map(int, profile.articles), *reprints],
            {"title": titles.get(profile.lang, ""), "reprints": reprints},
        )

    def _note_links(self, event: Event) -> None:
        known = self.stream.tracker.probabilities
        linker = self.stream.links.linker
        for a in event.clusters:
            for b, probability in known.get(a, {}).items():
                if a < b and b in event.clusters and probability >= LEAST:
                    link = self.stream.links.link(a, b)
                    self.links[a, b] = LinkRow(
                        a,
                        b,
                        link.probability,
                        {
                            "features": _finite(link.features),
                            "contributions": _finite(linker.contributions(link.features)),
                            "pairs": [[int(one), int(other), round(s, 4)] for one, other, s in link.pairs],
                        },
                    )

    def _event(self, event: Event) -> EventRow:
        labels = {one: label for one in event.concepts if (label := concept_label(one)) is not None}
        terms = {("place", one) for one in event.places} | {("concept", one) for one in labels}
        data: dict[str, Any] = {
            "title": dict(event.titles),
            "summary": dict(event.summaries),
            "languages": {lang: len(own) for lang, own in event.articles.items()},
            "timeline": [[day.isoformat(), n] for day, n in event.timeline.items()],
            "places": [told for one, n in event.places.items() if (told := _place(one, n)) is not None],
            "concepts": [
                {"id": one, "label": label, "weight": round(event.concepts[one], 3)}
                for one, label in labels.items()
            ],
            "confidence": round(event.confidence, 4),
        }
        first, last = micros(event.first), micros(event.last)
        return EventRow(_name(event.id), first, last, len(event), event.languages, sorted(terms), data)


def _name(event: int) -> str:
    return f"e{event}"


def _place(place_id: str, count: float) -> dict[str, Any] | None:
    place = find_place(place_id)
    if place is None:
        return None
    return {
        "id": place_id,
        "name": place.name,
        "country": place.country,
        "latitude": place.latitude,
        "longitude": place.longitude,
        "count": int(count),
    }


def _finite(values: Mapping[str, float]) -> dict[str, float | None]:
    """Values as JSON can hold them: what cannot be said is null."""
    return {name: round(value, 6) if value == value else None for name, value in values.items()}


class StreamWorker(Background):
    """A thread that follows the journal of a store.

    Parameters
    ----------
    store : Store
        The store.
    make : callable, optional
        Makes the stream, see :class:`Follower`; one with default settings if none is given.
    snapshot_every : int
        Lines of the journal after which the state is saved.
    pause : float
        Seconds between two looks at a journal without news.
    """

    def __init__(
        self,
        store: Store,
        make: Callable[[bytes | None], EventStream] | None = None,
        *,
        snapshot_every: int = 20_000,
        pause: float = 0.2,
    ) -> None:
        super().__init__("isogloss-worker")
        self.store, self.make = store, make or StreamMaker()
        self.snapshot_every, self.pause = snapshot_every, pause
        self._position, self._error = 0, ""

    def status(self) -> Mapping[str, object]:
        """How it is: alive, the line it has come to, and what went wrong last."""
        return {"alive": self.alive, "position": self._position, "error": self._error}

    def run(self) -> None:
        """Follow the journal; at the end save the state."""
        follower: Follower | None = None
        while not self._stop.is_set():
            try:
                if follower is None:
                    follower = Follower(self.store, self.make, snapshot_every=self.snapshot_every)
                busy = follower.follow(BATCH) or follower.settle()
                self._position, self._error = follower.position, ""
                if not busy:
                    self._stop.wait(self.pause)
            except IsoglossError as error:
                logger.warning("events are not brought up to date: %s", error)
                self._error, follower = str(error), None
                self._stop.wait(1.0)
        if follower is not None:
            began = time.perf_counter()
            follower.save()
            logger.info("state saved in %.1f s", time.perf_counter() - began)
