"""Alignments that an inversion transduction grammar can bracket (Wu 1997).

Such a grammar puts the two halves of every phrase in the same order in both languages, or in the opposite
order. A one-to-one alignment can be bracketed like that exactly when no four links have the order 2413 or
3142 ("inside-out" alignments). Here links of a word with several words are allowed, and the rule is that no
four links of four source words and four target words are inside out: whichever one-to-one part of the
alignment is chosen, it can be bracketed.

:func:`itg_links` leaves out the links with the least total probability that make this so. Links are taken
from the most probable down, each that offends is dropped, and then a search over which of four offending
links to drop improves on that. The search ends with the best answer, or after ``max_nodes`` steps with the
best so far; tangles of more than ``MAX_LINKS`` links are not searched. Time: O(k^2 log k) for a tangle of k
links that does not offend; links that follow one another in both languages are no tangle and cost nothing.
"""

from __future__ import annotations

import bisect
from collections.abc import Iterator
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from isogloss.alignment.decoding._links import Links

Ints: TypeAlias = NDArray[np.integer]
Array: TypeAlias = NDArray[np.float64]
Mask: TypeAlias = NDArray[np.bool_]

MAX_LINKS = 100
"""Links of a tangle up to which the best answer is searched for."""


def itg_links(links: Links, *, max_nodes: int = 500) -> Links:
    """The most probable links that can be bracketed, of each sentence pair.

    Parameters
    ----------
    links : Links
        Candidates, for instance all with a posterior above some threshold. Without probabilities all
        links weigh the same.
    max_nodes : int
        Steps of the search for the best answer in one tangle.

    Examples
    --------
    >>> links = Links([0, 4], [0, 1, 2, 3], [1, 3, 0, 2], [0.9, 0.8, 0.6, 0.7])
    >>> itg_links(links).to_lists()
    [[(0, 1), (1, 3), (3, 2)]]
    """
    weight = np.ones(links.n_links) if links.probability is None else links.probability.astype(np.float64)
    keep = np.ones(links.n_links, dtype=bool)
    for a, b in _tangles(links):
        source, target = links.source[a:b], links.target[a:b]
        if inside_out(source, target) is not None:
            keep[a:b] = _best(source, target, weight[a:b], max_nodes if b - a <= MAX_LINKS else 0)
    return links.select(keep)


def _tangles(links: Links) -> NDArray[np.int64]:
    """Runs of four and more links that no point splits into links before and after it in both languages.

    Four links that are inside out cannot be split like that, so they are in one run.
    """
    keys = links.sentence * (int(links.target.max(initial=0)) + 1) + links.target
    before, after = np.maximum.accumulate(keys), np.minimum.accumulate(keys[::-1])[::-1]
    ends = np.flatnonzero(before[:-1] <= after[1:]) + 1
    bounds = np.concatenate([[0], ends, [links.n_links]])
    runs = np.column_stack([bounds[:-1], bounds[1:]])
    return runs[np.diff(runs, axis=1)[:, 0] >= 4]


def inside_out(source: Ints, target: Ints) -> tuple[int, int, int, int] | None:
    """Four links in the order 2413 or 3142, as their numbers by rising source, or None.

    Examples
    --------
    >>> import numpy as np
    >>> inside_out(np.array([0, 1, 2, 3]), np.array([1, 3, 0, 2]))
    (0, 1, 2, 3)
    >>> inside_out(np.array([0, 1, 2, 3]), np.array([1, 0, 3, 2])) is None
    True
    """
    for first in range(len(source)):
        for sign in (1, -1):  # 3142 is 2413 with the target read backwards
            found = _from(first, source, sign * target)
            if found is not None:
                return found
    return None


def _from(first: int, source: Ints, target: Ints) -> tuple[int, int, int, int] | None:
    """Links that have the order 2413 with link ``first`` as the 2."""
    after = np.flatnonzero(source > source[first])
    ones = after[target[after] < target[first]]
    above = after[target[after] > target[first]]
    if not len(ones) or len(above) < 2:
        return None
    ones = ones[np.argsort(source[ones], kind="stable")]
    above = above[np.argsort(-target[above], kind="stable")]
    one = np.searchsorted(source[ones], source[above]) - 1  # the last 1 before each candidate for 3
    higher = np.searchsorted(-target[above], -target[above])  # how many candidates for 4 it has
    four = _earliest(source[above])[higher - 1]
    fits = (higher > 0) & (one >= 0) & (source[above[four]] < source[ones[one]])
    if not fits.any():
        return None
    last = int(fits.argmax())
    return first, int(above[four[last]]), int(ones[one[last]]), int(above[last])


def _earliest(values: Ints) -> Ints:
    """Position of the smallest value of each prefix."""
    least = np.minimum.accumulate(values)
    return np.maximum.accumulate(np.where(values == least, np.arange(len(values)), 0))


def _best(source: Ints, target: Ints, weight: Array, nodes: int) -> Mask:
    """Depth first over which link of an offending four to drop, the least probable first."""
    best = _greedy(source, target, weight)
    least = float(weight[~best].sum())
    everything = np.ones(len(source), dtype=bool)
    stack = [(everything, ~everything, 0.0)]
    while stack and nodes > 0:
        keep, fixed, cost = stack.pop()
        if cost >= least:
            continue
        nodes -= 1
        offence = _offence(source, target, keep)
        if offence is None:
            best, least = keep, cost
        else:
            stack += reversed(list(_branches(keep, fixed, cost, offence, weight)))
    return best


def _branches(
    keep: Mask, fixed: Mask, cost: float, offence: list[int], weight: Array
) -> Iterator[tuple[Mask, Mask, float]]:
    """Without each link that may go, those tried before it there to stay, so that no answer comes twice."""
    fixed = fixed.copy()
    for link in sorted(offence, key=lambda number: float(weight[number])):
        if not fixed[link]:
            rest = keep.copy()
            rest[link] = False
            yield rest, fixed.copy(), cost + float(weight[link])
            fixed[link] = True


def _greedy(source: Ints, target: Ints, weight: Array) -> Mask:
    """From the most probable link down, each that offends with those before it left out.

    What does not offend with all of a list does not offend with part of it, so the next link to leave out
    is found by halving.
    """
    rest = np.argsort(-weight, kind="stable")
    keep = np.zeros(len(source), dtype=bool)

    def offends(count: int) -> bool:
        trial = keep.copy()
        trial[rest[:count]] = True
        return _offence(source, target, trial) is not None

    while len(rest):
        fitting = bisect.bisect_left(range(1, len(rest) + 1), True, key=offends)
        keep[rest[:fitting]] = True
        rest = rest[fitting + 1 :]
    return keep


def _offence(source: Ints, target: Ints, keep: Mask) -> list[int] | None:
    at = np.flatnonzero(keep)
    found = inside_out(source[at], target[at])
    if found is None:
        return None
    return [int(at[number]) for number in found]
