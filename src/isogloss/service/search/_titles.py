"""Titles of events by the names, numbers and letters in them, across scripts; follows what changes.

Vectors are sparse rows of :class:`~isogloss.similarity.NameChannel`, in blocks. Rows of an event that
changed are struck out and new ones appended; when there are many blocks they are packed into one.
"""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
from scipy import sparse

from isogloss.service._change_feed import changed_groups
from isogloss.similarity import NameChannel
from isogloss.store import Store

__all__ = ["Titles"]

_BLOCKS = 50
_LEAST = 0.2
"""Cosine below which a title is another."""


class Titles:
    """The titles of the events of a store.

    Parameters
    ----------
    store : Store
        Where events are.
    channel : NameChannel, optional
        What makes vectors.
    """

    def __init__(self, store: Store, channel: NameChannel | None = None) -> None:
        self.store, self.channel = store, channel or NameChannel(n_features=1 << 16)
        self.line = 0
        self._lock = threading.Lock()
        self._owners: list[str | None] = []
        self._rows: dict[str, list[int]] = {}
        self._blocks: list[Any] = []

    def find(self, text: str, k: int) -> list[str]:
        """Ids of the events with the titles most like a text, the best first."""
        query = self.channel.transform([text[:1000]]).astype(np.float32)
        if not query.nnz:
            return []
        with self._lock:
            self._catch_up()
            if not self._blocks:
                return []
            scores = np.concatenate([(block @ query.T).toarray()[:, 0] for block in self._blocks])
            best = np.argsort(-scores, kind="stable").tolist()
            owners = (self._owners[row] for row in best if scores[row] >= _LEAST)
            found = dict.fromkeys(owner for owner in owners if owner is not None)
        return list(found)[:k]

    def _catch_up(self) -> None:
        while groups := changed_groups(self.store, self.line):
            self._put([event for group in groups for event in group])
            self.line = groups[-1][-1]["changed"]

    def _put(self, events: list[dict[str, Any]]) -> None:
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
        if len(self._blocks) > _BLOCKS:
            self._pack()

    def _pack(self) -> None:
        """One block without rows that are struck out or whose events are gone."""
        there = self.store.event_ids()
        kept = [row for row, owner in enumerate(self._owners) if owner in there]
        self._blocks = [sparse.vstack(self._blocks, format="csr")[kept]]
        self._owners = [self._owners[row] for row in kept]
        self._rows = {}
        for row, owner in enumerate(self._owners):
            if owner is not None:
                self._rows.setdefault(owner, []).append(row)
