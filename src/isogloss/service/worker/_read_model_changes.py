"""Changes of a stream as rows of the read model: each row once, and only if it differs from the stored one.

An update of the stream names the events that it examined, most of which are unchanged. An event is written
when one of its clusters changed, joined or left, a link when one of its two clusters changed, and of a
cluster only the articles that joined. Links are explained many at a time.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from isogloss.events import Event, EventStream
from isogloss.events.annotate import concept_label, find_place
from isogloss.events.link import FEATURES, MIN_SIMILARITY, Linker, LinkState, PairSupport, find_shared
from isogloss.events.stream import StreamChanges
from isogloss.store import ClusterRow, EventRow, LinkRow, PublicIds, Update, to_micros

MIN_LINK_PROBABILITY = 0.2
"""Less probable links are not stored."""

MAX_EXPLAINED_PAIRS = 5
"""Pairs of articles stored with a link, the most similar ones."""

PROBABILITY_DIGITS = 9
"""Further digits depend on how many links are explained at once."""

_SIMILARITY_DIGITS = 4


class ChangeTracker:
    """Collects the rows of the read model that changed since the last update.

    Memory: bounded by the clusters and articles of the stream. The observer of the stream is :meth:`record`.
    ``ids`` maps the stream's numbers to public ids; by default they are the same.
    The tables have the present events of the stream already: links of a cluster are not written again until
    it changes, because those to expired clusters cannot be computed.

    Examples
    --------
    >>> from isogloss.events.ingest import sample_news
    >>> from dataclasses import replace
    >>> stream = EventStream()
    >>> tracker = ChangeTracker(stream)
    >>> stream.observer = tracker.record
    >>> _ = stream.add(replace(one, id=str(n)) for n, one in enumerate(sample_news().articles[:70]))
    >>> update = tracker.take_update(0, 70)
    >>> sum(len(row.members) for row in update.clusters) >= 64
    True
    >>> tracker.take_update(70, 70).events
    []
    """

    def __init__(self, stream: EventStream, ids: PublicIds | None = None) -> None:
        self.stream, self.ids = stream, ids or PublicIds()
        members = stream.tracker.ids.members
        self._event_clusters = {event: frozenset(clusters) for event, clusters in members.items()}
        self._event_titles: dict[int, Mapping[str, str]] = {}
        self._event_terms: dict[int, int] = {}
        self._written_clusters: dict[int, tuple[int, frozenset[int]]] = {}
        self._pairs: list[tuple[int, int]] = []
        self._clear()

    def _clear(self) -> None:
        self.clusters: dict[int, ClusterRow] = {}
        self.links: dict[tuple[int, int], LinkRow] = {}
        self.events: dict[str, EventRow] = {}
        self.removed_clusters: list[int] = []
        self.relinked: set[int] = set()
        self.aliases: list[tuple[str, str]] = []

    def record(self, changes: StreamChanges) -> None:
        """Record the changes of one update of the stream, before it forgets expired data."""
        for old, new in changes.aliases.items():
            self._record_alias(old, new)
        for cluster in changes.merged:
            self._record_removed_cluster(cluster)
        for event in changes.ended:
            self._forget_event(event)
        ids = self.stream.tracker.ids
        examined = sorted(changes.events & ids.members.keys())
        changed = frozenset[int]().union(*(self._record_event(each, changes.clusters) for each in examined))
        self._record_links(changed)
        for cluster in sorted(self._clusters_with_reprints(changes)):
            self._record_cluster(cluster, ids.event_of[cluster])

    def take_update(self, before: int, after: int) -> Update:
        """Return everything recorded since the last call."""
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

    def _record_alias(self, old: int, new: int) -> None:
        self.aliases.append((_event_id(old), _event_id(new)))
        self.events.pop(_event_id(old), None)
        self._forget_event(old)

    def _record_removed_cluster(self, cluster: int) -> None:
        self.removed_clusters.append(cluster)
        self.clusters.pop(cluster, None)
        self._written_clusters.pop(cluster, None)
        self._drop_links({cluster})

    def _forget_event(self, event: int) -> None:
        self._event_terms.pop(event, None)
        self._event_titles.pop(event, None)
        self._forget_clusters(self._event_clusters.pop(event, ()))

    def _forget_clusters(self, clusters: Iterable[int]) -> None:
        for cluster in clusters:
            if cluster not in self.stream.links.profiles:
                self._written_clusters.pop(cluster, None)

    def _record_event(self, number: int, changed: set[int]) -> frozenset[int]:
        """Record an event unless it is unchanged; return its clusters that changed or joined it."""
        members = frozenset(self.stream.tracker.ids.members[number])
        before = self._event_clusters.get(number, frozenset())
        new = (members - before) | (members & changed)
        if members == before and not new:
            return new
        event = self.stream.event(number)
        self.events[_event_id(number)] = self._event_row(event)
        self._forget_clusters(before - members)
        self._event_clusters[number] = members
        for cluster in sorted(new | self._retitled_clusters(members, event)):
            self._record_cluster(cluster, number)
        self._pairs += self._linked_pairs(new)
        return new

    def _retitled_clusters(self, members: frozenset[int], event: Event) -> set[int]:
        """Return the clusters of languages in which the event's title changed, and remember its titles."""
        profiles, before = self.stream.links.profiles, self._event_titles.get(event.id, {})
        self._event_titles[event.id] = event.titles
        changed = {lang for lang, title in event.titles.items() if before.get(lang) != title}
        return {one for one in members if profiles[one].lang in changed} if changed else set()

    def _clusters_with_reprints(self, changes: StreamChanges) -> set[int]:
        owner = self.stream.links.cluster_of
        found = {owner[first] for _, first in changes.reprints if first in owner}
        return found & self.stream.tracker.ids.event_of.keys()

    def _record_cluster(self, number: int, event: int) -> None:
        """Record a cluster that changed, with the articles that joined since the last update."""
        profile = self.stream.links.profiles[number]
        reprints = {int(copy): int(one) for one in profile.articles for copy in self.stream.reprints(one)}
        articles = [*map(int, profile.articles), *reprints]
        if event not in self._event_titles:
            self._event_titles[event] = self.stream.event(event).titles
        title = self._event_titles[event].get(profile.lang, "")
        first, last = round(profile.first * 1e6), round(profile.last * 1e6)
        state, members = hash((_event_id(event), first, last, len(articles), title)), frozenset(articles)
        written, before = self._written_clusters.get(number, (None, frozenset()))
        if (written, before) == (state, members):
            return
        waiting = self.clusters[number].joined or () if number in self.clusters else ()
        self.clusters[number] = ClusterRow(
            number,
            profile.lang,
            _event_id(event),
            first,
            last,
            articles,
            {
                "title": title,
                "reprints": list(reprints),
                **({"reprint_of": {str(copy): one for copy, one in reprints.items()}} if reprints else {}),
            },
            [one for one in articles if one not in before or one in waiting],
        )
        self._written_clusters[number] = state, members

    def _linked_pairs(self, new: frozenset[int]) -> list[tuple[int, int]]:
        """Return the pairs of linked clusters, of the same event or not, of which one is new or changed."""
        known, profiles = self.stream.tracker.probabilities, self.stream.links.profiles
        return [
            (min(a, b), max(a, b))
            for a in sorted(new)
            for b, probability in known.get(a, {}).items()
            if b in profiles and probability >= MIN_LINK_PROBABILITY
        ]

    def _record_links(self, clusters: AbstractSet[int]) -> None:
        """Replace all links of the changed clusters by those that were found."""
        self._drop_links(clusters)
        self.relinked |= clusters
        pairs = list(dict.fromkeys(self._pairs))
        for row in explain_links(self.stream.links, pairs) if pairs else ():
            self.links[row.a, row.b] = row
        self._pairs = []

    def _drop_links(self, clusters: AbstractSet[int]) -> None:
        self.links = {pair: row for pair, row in self.links.items() if clusters.isdisjoint(pair)}

    def _event_row(self, event: Event) -> EventRow:
        labels = {one: label for one in event.concepts if (label := concept_label(one)) is not None}
        terms = sorted({("place", one) for one in event.places} | {("concept", one) for one in labels})
        places = (_place_json(one, n) for one, n in event.places.items())
        data: dict[str, Any] = {
            "title": dict(event.titles),
            "summary": dict(event.summaries),
            "languages": {lang: len(own) for lang, own in event.articles.items()},
            "timeline": [[day.isoformat(), n] for day, n in event.timeline.items()],
            "places": [place for place in places if place is not None],
            "concepts": [
                {"id": one, "label": label, "weight": round(event.concepts[one], 3)}
                for one, label in labels.items()
            ],
            "confidence": round(event.confidence, 4),
        }
        first, last = to_micros(event.first), to_micros(event.last)
        unchanged = self._terms_unchanged(event.id, (*sorted(event.languages), *terms))
        return EventRow(_event_id(event.id), first, last, len(event), event.languages, terms, data, unchanged)

    def _terms_unchanged(self, event: int, terms: Iterable[object]) -> bool:
        """Return whether the tables already have the terms that an event is found by."""
        state = hash(tuple(terms))
        waiting = self.events.get(_event_id(event))
        unchanged = self._event_terms.get(event) == state and (waiting is None or waiting.terms_unchanged)
        self._event_terms[event] = state
        return unchanged


def _event_id(event: int) -> str:
    return f"e{event}"


def _place_json(place_id: str, count: float) -> dict[str, Any] | None:
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


class _ArticlePairs(NamedTuple):
    """Pairs of similar articles: the index of the link that each supports, both numbers, the similarity."""

    link: NDArray[np.intp]
    one: NDArray[np.int32]
    other: NDArray[np.int32]
    similarity: NDArray[np.float64]

    def select(self, which: NDArray[np.bool_] | NDArray[np.intp]) -> _ArticlePairs:
        return _ArticlePairs(self.link[which], self.one[which], self.other[which], self.similarity[which])


def explain_links(links: LinkState, pairs: Sequence[tuple[int, int]]) -> list[LinkRow]:
    """Return the links of many pairs of clusters with the evidence that :meth:`LinkState.link` gives for one.

    The pairs are distinct, with the smaller id first.
    """
    ends = np.array(pairs, dtype=np.int32).reshape(-1, 2)
    similar = _similar_articles(links, ends)
    linker = links.linker
    features = links.feature_rows(ends, _pair_support(similar, len(ends)))
    columns = [FEATURES.index(name) for name in linker.features]
    contributions, constants = linker.terms(features[:, columns])
    log_odds = contributions.sum(axis=1) + constants
    probabilities = expit(log_odds).round(PROBABILITY_DIGITS).tolist()
    by_name = contributions[:, np.argsort(linker.features)], features[:, np.argsort(FEATURES)]
    values = np.hstack([constants[:, None], *by_name]) + 0.0  # no negative zeros
    template, best = _link_template(linker), _best_pairs(links, similar, len(ends))
    return [
        LinkRow(*pair, probability, (template % (*row,)).replace(":nan", ":null") + articles)
        for pair, probability, row, articles in zip(pairs, probabilities, values.tolist(), best, strict=True)
    ]


def _link_template(linker: Linker) -> str:
    """Return the beginning of the JSON of a link, with placeholders for contributions and features."""
    contributions = ",".join(_placeholders(["(constant)", *linker.features]))
    features = ",".join(_placeholders(FEATURES))
    return f'{{"contributions":{{{contributions}}},"features":{{{features}}},'


def _placeholders(names: Iterable[str]) -> list[str]:
    return [f"{json.dumps(name)}:%.6g" for name in sorted(names)]


def _similar_articles(links: LinkState, ends: NDArray[np.int32]) -> _ArticlePairs:
    """Return the similar articles of each pair of clusters, in the order in which they were found."""
    articles = (one for cluster in _vertex_cover(ends) for one in links.profiles[cluster].articles)
    one, other, similarity = links.near.of(links.numbers(articles))
    clusters = np.stack([links.candidates.groups(one), links.candidates.groups(other)])
    keys, order = _pair_keys(ends.T), np.argsort(_pair_keys(ends.T))
    found = _pair_keys(clusters)
    link = order[np.searchsorted(keys, found, sorter=order).clip(max=len(keys) - 1)]
    swapped = clusters[0] > clusters[1]
    ones, others = np.where(swapped, other, one), np.where(swapped, one, other)
    return _ArticlePairs(link, ones, others, similarity).select(keys[link] == found)


def _vertex_cover(ends: NDArray[np.int32]) -> list[int]:
    """Return few clusters that cover every link: of each link the cluster with more links."""
    _, indices, counts = np.unique(ends, return_inverse=True, return_counts=True)
    degrees = counts[indices.reshape(-1, 2)]
    found: list[int] = np.unique(np.where(degrees[:, 1] > degrees[:, 0], ends[:, 1], ends[:, 0])).tolist()
    return found


def _pair_keys(ends: NDArray[np.int32]) -> NDArray[np.int64]:
    """Return one number for each unordered pair of clusters."""
    keys: NDArray[np.int64] = ends.min(axis=0).astype(np.int64) << 32 | ends.max(axis=0)
    return keys


def _pair_support(similar: _ArticlePairs, n: int) -> PairSupport:
    linked = similar.select(similar.similarity >= MIN_SIMILARITY)
    counts, sums = np.bincount(linked.link, minlength=n), np.bincount(linked.link, linked.similarity, n)
    return PairSupport(counts.astype(np.float64), sums.astype(np.float64))


def _best_pairs(links: LinkState, similar: _ArticlePairs, n: int) -> list[str]:
    """Return the rest of the JSON of each link: its most similar articles, and what they share.

    Of equally similar pairs the oldest are taken.
    """
    similar = similar.select(np.lexsort((similar.other, similar.one, -similar.similarity, similar.link)))
    starts = np.searchsorted(similar.link, np.arange(n))
    ranks = np.arange(len(similar.link)) - starts[similar.link]
    similar = similar.select(ranks < MAX_EXPLAINED_PAIRS)
    ids = (links.candidates.ids_of(numbers) for numbers in (similar.one, similar.other))
    similarities = similar.similarity.round(_SIMILARITY_DIGITS).tolist()
    best = list(zip(*ids, similarities, strict=True))
    ends = np.searchsorted(similar.link, np.arange(n + 1)).tolist()
    return [_pairs_json(links, best[start:end]) for start, end in pairwise(ends)]


def _pairs_json(links: LinkState, pairs: Sequence[tuple[str, str, float]]) -> str:
    formatted = ",".join(f"[{int(one)},{int(other)},{value!r}]" for one, other, value in pairs)
    shared = find_shared((links.articles[one], links.articles[other]) for one, other, _ in pairs)
    return f'"pairs":[{formatted}],"shared":{json.dumps(shared, ensure_ascii=False)}}}'
