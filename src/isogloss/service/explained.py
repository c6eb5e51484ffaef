"""Links between clusters as rows of the tables, with what speaks for them: many at a time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from heapq import nlargest
from itertools import groupby
from operator import itemgetter
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from isogloss.events.candidates import LEAST
from isogloss.events.features import FEATURES, Bound
from isogloss.events.linking import LinkState
from isogloss.store import LinkRow

__all__ = ["explained"]

SHOWN = 5
"""Pairs of articles that are told of a link, the most similar ones."""

DIGITS = 9
"""Of a probability: sums of many links at once differ beyond them, by the number of links."""

_FINE = 6
"""Digits of features and of what they add."""

Told = list[list[float]]


class _Near(NamedTuple):
    """Pairs of near articles of two clusters, by their numbers, and their similarities."""

    one: NDArray[np.int32]
    other: NDArray[np.int32]
    similarities: NDArray[np.float64]


def explained(links: LinkState, pairs: Sequence[tuple[int, int]]) -> list[LinkRow]:
    """Everything about the links of pairs of clusters, as :meth:`LinkState.link` tells it of one.

    Parameters
    ----------
    links : LinkState
        The clusters and their articles.
    pairs : sequence of (int, int)
        Clusters, the smaller id first.
    """
    near = dict(_near(links, pairs))
    alike = [near[pair].similarities for pair in pairs]
    alike = [found[found >= LEAST] for found in alike]
    bound = Bound(np.array([float(len(one)) for one in alike]), np.array([one.sum() for one in alike]))
    rows = links.feature_rows(np.array(pairs, dtype=np.int32).reshape(-1, 2), bound)
    linker = links.linker
    shares = linker.shares(rows[:, [FEATURES.index(name) for name in linker.features]])
    chances = expit(shares.sum(axis=1) + linker.constant).round(DIGITS).tolist()
    features, contributions = rows.round(_FINE).tolist(), shares.round(_FINE).tolist()
    constant = round(linker.constant, _FINE)
    return [
        LinkRow(
            *pair,
            chances[n],
            {
                "features": _finite(FEATURES, features[n]),
                "contributions": _finite(linker.features, contributions[n]) | {"(constant)": constant},
                "pairs": _best(links, near[pair]),
            },
        )
        for n, pair in enumerate(pairs)
    ]


def _near(links: LinkState, pairs: Sequence[tuple[int, int]]) -> Iterator[tuple[tuple[int, int], _Near]]:
    """What is near in each pair of clusters; the pairs of articles of a cluster are gathered once."""
    for a, own in groupby(sorted(set(pairs)), key=itemgetter(0)):
        found = links.near.of(links.numbers(links.profiles[a].articles))
        clusters = links.neighbours.groups(found[1])
        for pair in own:
            between = clusters == pair[1]
            yield pair, _Near(*(column[between] for column in found))


def _best(links: LinkState, near: _Near) -> Told:
    """The most similar pairs of articles."""
    if len(near.similarities) > SHOWN:
        least = np.partition(near.similarities, -SHOWN)[-SHOWN]
        near = _Near(*(column[near.similarities >= least] for column in near))
    names = (links.neighbours.names(numbers) for numbers in (near.one, near.other))
    told = zip(near.similarities.tolist(), *names, strict=True)
    return [[int(one), int(other), round(s, 4)] for s, one, other in nlargest(SHOWN, told)]


def _finite(names: Iterable[str], values: Iterable[float]) -> dict[str, float | None]:
    """Values as JSON can hold them: what cannot be said is null, and no zero is negative."""
    return {name: value + 0.0 if value == value else None for name, value in zip(names, values, strict=True)}
