r"""Distortion tables of IBM Models 3, 4 and 5, and their M-steps.

Model 3 has :math:`d(j \mid i, I, J)`, a free table per pair of sentence lengths. Models 4 and 5 have
displacements: of the first word of a cept (its head) from the centre of the cept before, given the class of
the word that generated that cept and the class of the word placed; and of every other word of a cept from
the word before it, given its class. Model 4 takes the probability of a displacement as it is, also for places
that are outside the sentence or taken: it is deficient. Model 5 counts in vacant places and normalises over
those that may be chosen,

.. math:: p(v \mid c) = \frac{w_{c,v}}{\sum_{u=a}^{b} w_{c,u}},

so its weights take a tangent step like the jumps of the HMM (see :mod:`isogloss.alignment.models._jumps`).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from isogloss.alignment.models._positions import PositionLayout

Array = NDArray[np.float64]

REACH = 126
"""The most words of a sentence that the fertility models read, and so the longest displacement."""

UNIFORM_SHARE = 0.02
"""Share of the pooled displacements that goes to all of them alike."""

START_TENSION = 8.0
"""Decay of Model 3's pseudo-counts with the distance from the diagonal."""


def even_displacements(contexts: int) -> Array:
    """Every displacement from -REACH to REACH alike."""
    width = 2 * REACH + 1
    return np.full((contexts, width), 1 / width)


def solve_displacements(counts: Array, reached: Array | None, weights: Array, pseudo: float) -> Array:
    """Weights of displacements by context, from expected counts.

    Parameters
    ----------
    counts : array, shape (contexts, 2 * REACH + 1)
        Expected displacements.
    reached : array, shape (contexts, 2 * REACH + 2), or None
        For Model 5, steps up and down of what could have been reached; its running sum belongs to
        displacements.
    weights : array
        The weights under which the counts were taken.
    pseudo : float
        Pseudo-counts per context, spread like the displacements of all contexts together.

    Examples
    --------
    >>> counts = np.zeros((2, 2 * REACH + 1))
    >>> counts[0, REACH + 1], counts[0, REACH - 2] = 3, 1
    >>> solved = solve_displacements(counts, None, even_displacements(2), pseudo=0.001)
    >>> solved[:, [REACH + 1, REACH - 2]].round(2)
    array([[0.75, 0.25],
           [0.74, 0.25]])
    """
    wanted = counts + pseudo * _pooled(counts)
    if reached is None:
        solved = wanted
    else:
        could = np.cumsum(reached, axis=1)[:, :-1] + pseudo / weights.sum(axis=1, keepdims=True)
        with np.errstate(divide="ignore", invalid="ignore"):
            solved = np.where(could > 1e-12, wanted / could, weights)
    totals = solved.sum(axis=1, keepdims=True)
    return np.asarray(np.where(totals > 0, solved / np.where(totals > 0, totals, 1), weights))


def _pooled(counts: Array) -> Array:
    """Shares of the displacements of all contexts, none of them zero."""
    total = counts.sum(axis=0)
    even = np.full(len(total), 1 / len(total))
    return (
        np.asarray((1 - UNIFORM_SHARE) * total / total.sum() + UNIFORM_SHARE * even)
        if total.sum() > 0
        else even
    )


def solve_places(layout: PositionLayout, counts: Array, direction: int, pseudo: float) -> Array:
    """Model 3's table of one direction, with pseudo-counts near the diagonal."""
    distance, by_target, by_source = layout.cells()
    group = by_source if direction == 0 else by_target
    prior = _shares(np.exp(-START_TENSION * distance), group)
    return _shares(counts + (pseudo + 1e-12) * prior, group)


def carried_places(shapes: NDArray[np.int64], places: Array, new: PositionLayout, direction: int) -> Array:
    """Model 3's table for other pairs of lengths; those that were never seen are near the diagonal.

    ``shapes`` are the pairs of lengths whose stretches follow each other in ``places``.
    """
    return carried(shapes, places, new, solve_places(new, np.zeros(new.size), direction, 1.0))


def carried(shapes: NDArray[np.int64], values: Array, new: PositionLayout, rest: Array) -> Array:
    """Values by pair of lengths and place in another layout; ``rest`` for lengths that have none."""
    out = rest.copy()
    ends = np.cumsum(shapes.prod(axis=1)).tolist()
    known = {(n, m): slice(end - n * m, end) for (n, m), end in zip(shapes.tolist(), ends, strict=True)}
    for (n, m), start in zip(new.shapes.tolist(), new.starts.tolist(), strict=True):
        if (n, m) in known:
            out[start : start + n * m] = values[known[n, m]]
    return out


def _shares(values: Array, group: NDArray[np.int64]) -> Array:
    return np.asarray(values / np.bincount(group, weights=values)[group]) if len(values) else values
