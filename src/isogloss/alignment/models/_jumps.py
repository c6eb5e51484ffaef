r"""Jumps of the HMM: how far from the previous word's origin the next one's lies.

From position :math:`i` of :math:`n`, position :math:`k` follows with probability

.. math:: (1 - u) \frac{w_{k-i}}{Z_i} + \frac{u}{n}, \qquad Z_i = \sum_{l=1}^{n} w_{l-i},

one weight per jump width and per class of the word at :math:`i`; the start is a jump from before the
first word, with a class of its own. Because :math:`Z_i` depends on where in which sentence one stands, the
maximum has no closed form. The step here raises the bound by replacing :math:`-\log Z` with its tangent:
:math:`w_d \leftarrow c_d / \sum (n / Z)`, the sum over what could have jumped by :math:`d` (the device
that Hunter, Annals of Statistics 32, 2004, uses for Bradley-Terry models).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import xlogy

Array = NDArray[np.float64]

JUMP_SCALE = 2.0
"""Distance from one step forward at which the initial weight of a jump has fallen by a factor of e."""

UNIFORM_WEIGHT = 1e-3
"""Added to the initial weight of every jump."""


def jump_shape(reach: int) -> Array:
    """The first guess of jump weights from -reach to reach; they sum to one.

    Examples
    --------
    >>> jump_shape(2).round(2)
    array([0.08, 0.13, 0.22, 0.36, 0.22])
    """
    distance = np.abs(np.arange(-reach, reach + 1) - 1)
    weights = np.exp(-distance / JUMP_SCALE) + UNIFORM_WEIGHT
    return np.asarray(weights / weights.sum())


def first_jumps(classes: int, reach: int) -> Array:
    """The first guess for every class and for the start."""
    return np.tile(jump_shape(reach), (classes + 1, 1))


def solve_jumps(counts: Array, reached: Array, weights: Array, pseudo: Array) -> Array:
    """One tangent step from expected jumps and what they could have reached.

    ``pseudo`` are jumps to be added, by class or the same for every class, from where every width is open.
    """
    could = np.cumsum(reached, axis=1)[:, :-1]
    could = could + pseudo.sum(axis=-1, keepdims=True) / weights.sum(axis=1, keepdims=True)
    wanted = counts + pseudo
    with np.errstate(divide="ignore", invalid="ignore"):
        solved = np.where(could > 1e-12, wanted / could, weights)
    return np.asarray(solved / solved.sum(axis=1, keepdims=True))


def log_prior(weights: Array, pseudo: Array) -> float:
    """Return the contribution of the pseudo-jumps to the bound."""
    share = weights / weights.sum(axis=1, keepdims=True)
    return float(xlogy(pseudo, share).sum())
