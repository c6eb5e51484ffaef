"""Search for events by free text in any language: by the meaning of articles, and by names in titles.

The two rankings are merged by reciprocal rank fusion, which needs no common scale: an event in both rankings
comes before one in either alone.
"""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Iterable
from typing import Any

import numpy as np
from scipy import sparse

from isogloss.service._change_feed import changed_events_by_line
from isogloss.service.api.errors import ServiceError
from isogloss.service.models import Models, resolve_language
from isogloss.service.search._neighbours import NeighbourIndex
from isogloss.service.search._query_syntax import parse_query
from isogloss.similarity import NameChannel
from isogloss.store import Store

MAX_EVENTS = 200
"""Events that a search returns."""

_RANK_OFFSET = 60
"""The usual constant of reciprocal rank fusion."""

_MIN_IDENTIFIABLE_CHARS = 200
"""Characters of a text whose language can be identified reliably."""

_MIN_ARTICLE_COSINE = 0.15
"""Articles with a smaller cosine are about something else."""

_MIN_TITLE_COSINE = 0.2
"""Titles with a smaller cosine do not match."""

_MAX_TITLE_CHARS = 1000
_MAX_BLOCKS = 50


class EventSearch:
    """Finds events of a store by free text.

    Parameters
    ----------
    store : Store
        The store.
    models : Models
        Models; the similarity model projects the text.
    neighbours : NeighbourIndex
        Index of articles.
    titles : TitleIndex
        Index of titles.
    """

    def __init__(self, store: Store, models: Models, neighbours: NeighbourIndex, titles: TitleIndex) -> None:
        self.store, self.models = store, models
        self.neighbours, self.titles = neighbours, titles

    def events(self, text: str, lang: str | None = None) -> list[str]:
        """Return the ids of the events that match a text, the best first.

        Raises
        ------
        ValueError
            The text is not a valid query, see :func:`~isogloss.service.search.parse_query`.
        """
        text = parse_query(text).text
        return _fuse([self.by_meaning(text, lang), self.titles.find(text, MAX_EVENTS)])[:MAX_EVENTS]

    def by_meaning(self, text: str, lang: str | None) -> list[str]:
        """Return the events of the nearest articles, if the model can read the text.

        The language of a few words is often misidentified, so they are projected in every language of the
        model; the similarity of an article is that of the best projection.
        """
        model = self.models.similarity
        if model is None:
            return []
        best: dict[int, float] = {}
        for code in self._candidate_languages(text, lang, model.languages):
            point = model.project([text], code)[0]
            for near in self.neighbours.nearest(point, MAX_EVENTS)[:MAX_EVENTS]:
                if near.similarity >= max(_MIN_ARTICLE_COSINE, best.get(near.seq, 0.0)):
                    best[near.seq] = near.similarity
        articles = sorted(best, key=lambda seq: (-best[seq], seq))[:MAX_EVENTS]
        event_of = self.store.events_of_articles(articles)
        return list(dict.fromkeys(event_of[seq] for seq in articles if seq in event_of))

    def _candidate_languages(self, text: str, lang: str | None, known: tuple[str, ...]) -> tuple[str, ...]:
        if lang is None and len(text) < _MIN_IDENTIFIABLE_CHARS:
            return known
        try:
            return (resolve_language(text, lang, known),)
        except ServiceError:
            return ()


def _fuse(rankings: Iterable[list[str]]) -> list[str]:
    """Merge rankings by the sum of reciprocal ranks."""
    scores: dict[str, float] = defaultdict(float)
    for ranking in rankings:
        for rank, event in enumerate(ranking):
            scores[event] += 1 / (_RANK_OFFSET + rank)
    return sorted(scores, key=lambda event: (-scores[event], event))


class TitleIndex:
    """Finds events by the names, numbers and letters of their titles, across scripts.

    It follows the changes of the store. Vectors are sparse rows in blocks: rows of a changed event are
    invalidated and new ones appended, and many blocks are compacted into one.

    Parameters
    ----------
    store : Store
        The store.
    channel : NameChannel, optional
        Makes the vectors.
    """

    def __init__(self, store: Store, channel: NameChannel | None = None) -> None:
        self.store, self.channel = store, channel or NameChannel(n_features=1 << 16)
        self.line = 0
        self._lock = threading.Lock()
        self._owners: list[str | None] = []
        self._rows: dict[str, list[int]] = {}
        self._blocks: list[Any] = []

    def find(self, text: str, k: int) -> list[str]:
        """Return the ids of the events whose titles are most similar to a text, the best first."""
        query = self.channel.transform([text[:_MAX_TITLE_CHARS]]).astype(np.float32)
        if not query.nnz:
            return []
        with self._lock:
            self._catch_up()
            if not self._blocks:
                return []
            scores = np.concatenate([(block @ query.T).toarray()[:, 0] for block in self._blocks])
            best = np.argsort(-scores, kind="stable").tolist()
            owners = (self._owners[row] for row in best if scores[row] >= _MIN_TITLE_COSINE)
            found = dict.fromkeys(owner for owner in owners if owner is not None)
        return list(found)[:k]

    def _catch_up(self) -> None:
        while groups := changed_events_by_line(self.store, self.line):
            self._add([event for group in groups for event in group])
            self.line = groups[-1][-1]["changed"]

    def _add(self, events: list[dict[str, Any]]) -> None:
        texts = []
        for event in events:
            for row in self._rows.pop(event["id"], []):
                self._owners[row] = None
            titles = [str(title) for title in event.get("title", {}).values()]
            start = len(self._owners)
            self._rows[event["id"]] = list(range(start, start + len(titles)))
            self._owners += [event["id"]] * len(titles)
            texts += titles
        if texts:
            self._blocks.append(self.channel.transform(texts).astype(np.float32))
        if len(self._blocks) > _MAX_BLOCKS:
            self._compact()

    def _compact(self) -> None:
        """Merge all blocks, without invalidated rows and rows of removed events."""
        present = self.store.event_ids()
        kept = [row for row, owner in enumerate(self._owners) if owner in present]
        self._blocks = [sparse.vstack(self._blocks, format="csr")[kept]]
        self._owners = [self._owners[row] for row in kept]
        self._rows = {}
        for row, owner in enumerate(self._owners):
            if owner is not None:
                self._rows.setdefault(owner, []).append(row)
