"""Events by free text in any language: by what articles mean, and by names that titles share.

The two rankings are joined by the sum of reciprocal ranks, which needs no common scale: an event that both
find comes before one that either finds alone.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from isogloss.service.api.errors import ServiceError
from isogloss.service.models import Models, settle
from isogloss.service.search._neighbours import Neighbours
from isogloss.service.search._titles import Titles
from isogloss.store import Store

__all__ = ["Search"]

MOST = 200
"""Events that are found at most."""

_SOFT = 60
_LONG = 200
"""Characters of a text whose language can be told."""

_LEAST = 0.15
"""Cosine below which an article is about something else."""


class Search:
    """Finds events of a store.

    Parameters
    ----------
    store : Store
        Where events are.
    models, neighbours : Models, Neighbours
        What projects a text, and the articles near it.
    titles : Titles
        Titles of events by their names.
    """

    def __init__(self, store: Store, models: Models, neighbours: Neighbours, titles: Titles) -> None:
        self.store, self.models = store, models
        self.neighbours, self.titles = neighbours, titles

    def events(self, text: str, lang: str | None = None) -> list[str]:
        """Ids of the events that a text is about, the best first."""
        return _joined([self.by_meaning(text, lang), self.titles.find(text, MOST)])[:MOST]

    def by_meaning(self, text: str, lang: str | None) -> list[str]:
        """Events of the nearest articles, where the model can read the text.

        The language of a few words is often taken for another, so that they are read in every language that
        knows some of them; an article counts as near as it is in the best reading.
        """
        model = self.models.similarity
        if model is None:
            return []
        best: dict[int, float] = {}
        for code in self._readings(text, lang, model.languages):
            for near in self.neighbours.nearest(model.project([text], code)[0], MOST)[:MOST]:
                if near.similarity >= max(_LEAST, best.get(near.seq, 0.0)):
                    best[near.seq] = near.similarity
        seqs = sorted(best, key=lambda seq: (-best[seq], seq))[:MOST]
        event = self.store.events_of_articles(seqs)
        return list(dict.fromkeys(event[seq] for seq in seqs if seq in event))

    def _readings(self, text: str, lang: str | None, known: tuple[str, ...]) -> tuple[str, ...]:
        if lang is None and len(text) < _LONG:
            return known
        try:
            return (settle(text, lang, known),)
        except ServiceError:
            return ()


def _joined(rankings: Iterable[list[str]]) -> list[str]:
    scores: dict[str, float] = defaultdict(float)
    for ranking in rankings:
        for rank, name in enumerate(ranking):
            scores[name] += 1 / (_SOFT + rank)
    return sorted(scores, key=lambda name: (-scores[name], name))
