"""Links between clusters as rows of the tables, with what speaks for them: many at a time."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from isogloss.events.link import FEATURES, MIN_SIMILARITY, Linker, LinkState, PairSupport
from isogloss.store import LinkRow

__all__ = ["explained"]

SHOWN = 5
"""Pairs of articles that are told of a link, the most similar ones."""

DIGITS = 9
"""Of a probability: sums of many links at once differ beyond them, by the number of links."""

_COARSE = 4
"""Digits of similarities."""


class _Near(NamedTuple):
    """Pairs of near articles: the link that each belongs to, both numbers, and the similarity."""

    place: NDArray[np.intp]
    one: NDArray[np.int32]
    other: NDArray[np.int32]
    similarity: NDArray[np.float64]

    def only(self, which: NDArray[np.bool_] | NDArray[np.intp]) -> _Near:
        return _Near(self.place[which], self.one[which], self.other[which], self.similarity[which])


def explained(links: LinkState, pairs: Sequence[tuple[int, int]]) -> list[LinkRow]:
    """Everything about the links of pairs of clusters, as :meth:`LinkState.link` tells it of one.

    Parameters
    ----------
    links : LinkState
        The clusters and their articles.
    pairs : sequence of (int, int)
        Clusters, the smaller id first; each pair once.
    """
    ends = np.array(pairs, dtype=np.int32).reshape(-1, 2)
    near = _near(links, ends)
    linker = links.linker
    rows = links.feature_rows(ends, _bound(near, len(ends)))
    shares = linker.shares(rows[:, [FEATURES.index(name) for name in linker.features]])
    chances = expit(shares.sum(axis=1) + linker.constant).round(DIGITS).tolist()
    columns = np.argsort(FEATURES), np.argsort(linker.features)
    told = np.hstack([shares[:, columns[1]], rows[:, columns[0]]]) + 0.0
    form, best = _form(linker), _best(links, near, len(ends))
    return [
        LinkRow(*pair, chance, (form % (*values, alike)).replace(":nan", ":null"))
        for pair, chance, values, alike in zip(pairs, chances, told.tolist(), best, strict=True)
    ]


def _form(linker: Linker) -> str:
    """The text of a link, with gaps for what features add, for the features, and for pairs of articles."""
    contributions = ",".join([f'"(constant)":{linker.constant:.6g}', *_gaps(linker.features)])
    return f'{{"contributions":{{{contributions}}},"features":{{{",".join(_gaps(FEATURES))}}},"pairs":[%s]}}'


def _gaps(names: Iterable[str]) -> list[str]:
    return [f"{json.dumps(name)}:%.6g" for name in sorted(names)]


def _near(links: LinkState, ends: NDArray[np.int32]) -> _Near:
    """What is near in each pair of clusters, in the order in which it was found."""
    articles = (one for cluster in _covering(ends) for one in links.profiles[cluster].articles)
    one, other, similarity = links.near.of(links.numbers(articles))
    groups = np.stack([links.candidates.groups(one), links.candidates.groups(other)])
    keys, order = _keys(ends.T), np.argsort(_keys(ends.T))
    found = _keys(groups)
    places = order[np.searchsorted(keys, found, sorter=order).clip(max=len(keys) - 1)]
    turned = groups[0] > groups[1]
    ones, others = np.where(turned, other, one), np.where(turned, one, other)
    return _Near(places, ones, others, similarity).only(keys[places] == found)


def _covering(ends: NDArray[np.int32]) -> list[int]:
    """Clusters that have an end of every link, few of them: of each link the end that has more links."""
    _, places, counts = np.unique(ends, return_inverse=True, return_counts=True)
    often = counts[places.reshape(-1, 2)]
    found: list[int] = np.unique(np.where(often[:, 1] > often[:, 0], ends[:, 1], ends[:, 0])).tolist()
    return found


def _keys(ends: NDArray[np.int32]) -> NDArray[np.int64]:
    """A number for each pair of clusters, whichever comes first."""
    keys: NDArray[np.int64] = ends.min(axis=0).astype(np.int64) << 32 | ends.max(axis=0)
    return keys


def _bound(near: _Near, n: int) -> PairSupport:
    alike = near.only(near.similarity >= MIN_SIMILARITY)
    links, sums = np.bincount(alike.place, minlength=n), np.bincount(alike.place, alike.similarity, n)
    return PairSupport(links.astype(np.float64), sums.astype(np.float64))


def _best(links: LinkState, near: _Near, n: int) -> list[str]:
    """The most similar pairs of articles of each link; of equal ones those that came first."""
    near = near.only(np.lexsort((near.other, near.one, -near.similarity, near.place)))
    starts = np.searchsorted(near.place, np.arange(n))
    near = near.only(np.arange(len(near.place)) - starts[near.place] < SHOWN)
    names = (map(int, links.candidates.ids_of(numbers)) for numbers in (near.one, near.other))
    told = [
        f"[{one},{other},{similarity!r}]"
        for one, other, similarity in zip(*names, near.similarity.round(_COARSE).tolist(), strict=True)
    ]
    ends = np.searchsorted(near.place, np.arange(n + 1)).tolist()
    return [",".join(told[start:end]) for start, end in pairwise(ends)]
