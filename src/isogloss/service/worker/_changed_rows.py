"""What changed in a stream, as rows of the tables: each row once, and only if it is another than before.

An update of the stream names the events that it looked at. Most of what they are made of is as it was: an
event is described again when one of its clusters changed or another came or went, a link when one of its two
clusters did, and of a cluster only the articles that joined are written.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from typing import Any

from isogloss.events import Event, EventStream
from isogloss.events.annotate import concept_label, find_place
from isogloss.events.stream import StreamChanges
from isogloss.service.worker._link_rows import explained
from isogloss.store import ClusterRow, EventRow, LinkRow, PublicIds, Update, to_micros

__all__ = ["Rows"]

LEAST = 0.2
"""Probability from which on a link is kept."""


class Rows:
    """Rows that the tables of a store still want.

    Memory: bounded by the clusters and articles of the stream.

    Parameters
    ----------
    stream : EventStream
        Whose changes are noted.
    ids : PublicIds, optional
        Ids in the tables for the numbers of the stream; the same by default.

    Examples
    --------
    >>> from isogloss.events.ingest import sample_news
    >>> from dataclasses import replace
    >>> stream = EventStream()
    >>> rows = Rows(stream)
    >>> stream.observer = rows.note
    >>> _ = stream.add(replace(one, id=str(n)) for n, one in enumerate(sample_news().articles[:70]))
    >>> update = rows.take(0, 70)
    >>> sum(len(row.members) for row in update.clusters) >= 64
    True
    >>> rows.take(70, 70).events
    []
    """

    def __init__(self, stream: EventStream, ids: PublicIds | None = None) -> None:
        self.stream, self.ids = stream, ids or PublicIds()
        self._members: dict[int, frozenset[int]] = {}
        self._titles: dict[int, Mapping[str, str]] = {}
        self._terms: dict[int, int] = {}
        self._clusters: dict[int, tuple[int, frozenset[int]]] = {}
        self._pairs: list[tuple[int, int]] = []
        self._clear()

    def _clear(self) -> None:
        self.clusters: dict[int, ClusterRow] = {}
        self.links: dict[tuple[int, int], LinkRow] = {}
        self.events: dict[str, EventRow] = {}
        self.removed_clusters: list[int] = []
        self.relinked: set[int] = set()
        self.aliases: list[tuple[str, str]] = []

    def note(self, changes: StreamChanges) -> None:
        """Describe what changed, while the stream knows it."""
        for old, new in changes.aliases.items():
            self._joined(old, new)
        for gone in changes.merged:
            self._gone(gone)
        for event in changes.ended:
            self._forget(event)
        ids = self.stream.tracker.ids
        looked_at = sorted(changes.events & ids.members.keys())
        fresh = frozenset[int]().union(*(self._look_at(number, changes.clusters) for number in looked_at))
        self._relink(fresh)
        for cluster in sorted(self._with_reprints(changes)):
            self._put_cluster(cluster, ids.event_of[cluster])

    def take(self, before: int, after: int) -> Update:
        """Everything noted since the last time."""
        update = Update(
            before,
            after,
            clusters=list(self.clusters.values()),
            links=list(self.links.values()),
            events=list(self.events.values()),
            removed_clusters=self.removed_clusters,
            relinked=sorted(self.relinked),
            removed_events=[old for old, _ in self.aliases],
            aliases=self.aliases,
        )
        self._clear()
        return self.ids.apply(update)

    def _joined(self, old: int, new: int) -> None:
        self.aliases.append((_name(old), _name(new)))
        self.events.pop(_name(old), None)
        self._forget(old)

    def _gone(self, cluster: int) -> None:
        self.removed_clusters.append(cluster)
        self.clusters.pop(cluster, None)
        self._clusters.pop(cluster, None)
        self._drop_links({cluster})

    def _forget(self, event: int) -> None:
        """An event is no more."""
        self._terms.pop(event, None)
        self._titles.pop(event, None)
        self._forget_clusters(self._members.pop(event, ()))

    def _forget_clusters(self, clusters: Iterable[int]) -> None:
        for cluster in clusters:
            if cluster not in self.stream.links.profiles:
                self._clusters.pop(cluster, None)

    def _look_at(self, number: int, changed: set[int]) -> frozenset[int]:
        """Describe an event, unless it is as it was; its clusters that are new to it or changed."""
        members = frozenset(self.stream.tracker.ids.members[number])
        before = self._members.get(number, frozenset())
        fresh = (members - before) | (members & changed)
        if members == before and not fresh:
            return fresh
        event = self.stream.event(number)
        self.events[_name(number)] = self._event(event)
        self._forget_clusters(before - members)
        self._members[number] = members
        for cluster in sorted(fresh | self._retitled(members, event)):
            self._put_cluster(cluster, number)
        self._pairs += self._linked(members, fresh)
        return fresh

    def _retitled(self, members: frozenset[int], event: Event) -> set[int]:
        """Clusters of languages in which an event has another title than before, which is kept."""
        profiles, before = self.stream.links.profiles, self._titles.get(event.id, {})
        self._titles[event.id] = event.titles
        changed = {lang for lang, title in event.titles.items() if before.get(lang) != title}
        return {one for one in members if profiles[one].lang in changed} if changed else set()

    def _with_reprints(self, changes: StreamChanges) -> set[int]:
        owner = self.stream.links.cluster_of
        found = {owner[first] for _, first in changes.reprints if first in owner}
        return found & self.stream.tracker.ids.event_of.keys()

    def _put_cluster(self, number: int, event: int) -> None:
        profile = self.stream.links.profiles[number]
        reprints = {copy: one for one in profile.articles for copy in self.stream.reprints(one)}
        members = [*map(int, profile.articles), *map(int, reprints)]
        title = self._titles_of(event).get(profile.lang, "")
        repeated = {"reprint_of": {copy: int(one) for copy, one in reprints.items()}} if reprints else {}
        row = ClusterRow(
            number,
            profile.lang,
            _name(event),
            round(profile.first * 1e6),
            round(profile.last * 1e6),
            members,
            {"title": title, "reprints": [*map(int, reprints)], **repeated},
        )
        self._note_cluster(row)

    def _titles_of(self, event: int) -> Mapping[str, str]:
        """Titles of an event as it was last described; of one that never was, those of now."""
        if event not in self._titles:
            self._titles[event] = self.stream.event(event).titles
        return self._titles[event]

    def _note_cluster(self, row: ClusterRow) -> None:
        """Keep a row that is new, with the articles that joined since the tables were last written."""
        told = hash((row.event, row.first, row.last, len(row.members), row.data["title"]))
        members = frozenset(row.members)
        known, before = self._clusters.get(row.id, (None, frozenset()))
        if known == told and before == members:
            return
        waiting = self.clusters[row.id].joined or () if row.id in self.clusters else ()
        joined = [one for one in row.members if one not in before or one in waiting]
        self.clusters[row.id] = ClusterRow(
            row.id, row.lang, row.event, row.first, row.last, row.members, row.data, joined
        )
        self._clusters[row.id] = told, members

    def _linked(self, members: frozenset[int], fresh: frozenset[int]) -> list[tuple[int, int]]:
        """Links within an event that have an end which is new to it or changed."""
        known = self.stream.tracker.probabilities
        return [
            (min(a, b), max(a, b))
            for a in sorted(fresh)
            for b, probability in known.get(a, {}).items()
            if b in members and probability >= LEAST and (a < b or b not in fresh)
        ]

    def _relink(self, clusters: AbstractSet[int]) -> None:
        """Clusters have the links that were found within their events, and no others."""
        self._drop_links(clusters)
        self.relinked |= clusters
        for row in explained(self.stream.links, self._pairs) if self._pairs else ():
            self.links[row.a, row.b] = row
        self._pairs = []

    def _drop_links(self, clusters: AbstractSet[int]) -> None:
        self.links = {pair: row for pair, row in self.links.items() if clusters.isdisjoint(pair)}

    def _event(self, event: Event) -> EventRow:
        labels = {one: label for one in event.concepts if (label := concept_label(one)) is not None}
        terms = sorted({("place", one) for one in event.places} | {("concept", one) for one in labels})
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
        first, last = to_micros(event.first), to_micros(event.last)
        alike = self._found_alike(event.id, (*sorted(event.languages), *terms))
        return EventRow(_name(event.id), first, last, len(event), event.languages, terms, data, alike)

    def _found_alike(self, event: int, terms: Iterable[object]) -> bool:
        """Whether an event is found by what the tables say already."""
        told = hash(tuple(terms))
        waiting = self.events.get(_name(event))
        alike = self._terms.get(event) == told and (waiting is None or waiting.terms_unchanged)
        self._terms[event] = told
        return alike


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
