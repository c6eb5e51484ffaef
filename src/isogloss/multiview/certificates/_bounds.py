r"""Bounds on the optimum of multi-set CCA that come with the relaxation: chapter 5 of [1]_.

:math:`\phi` is the optimum of :math:`x'Ax` over the spheres, :math:`\psi` that of its semidefinite
relaxation, :math:`m` the number of views. :math:`A` is the covariance of whitened views: positive
semi-definite, its diagonal blocks identities. Where a bound is increasing in :math:`\psi`, any value
below :math:`\psi` (that of a feasible :math:`X`) gives a valid, weaker bound.

References
----------
.. [1] J. Rupnik, *Multi-view canonical correlation analysis*, doctoral dissertation, Jožef Stefan
   International Postgraduate School; sections 5.2 and 5.3.
"""

from __future__ import annotations

from math import asin, pi, sqrt

import numpy as np
from numpy.typing import NDArray

# Share of the trace of X below which an eigenvalue is rounding, when the rank is counted.
_ZERO = 1e-9


def correlation_sum(value: float, m: int) -> float:
    """Before Corollary 5.10: the sum of correlations over pairs of views is (x'Ax - m) / 2."""
    return (value - m) / 2


def l2_bound(largest_eigenvalue: float, m: int) -> float:
    """Proposition 5.5: the optimum is at most m times the largest eigenvalue of A."""
    return m * largest_eigenvalue


def trivial_bounds(m: int) -> tuple[float, float]:
    """Lemma 5.6: m <= psi <= m^2; no correlation at all, and all of them 1. Both hold for the optimum too."""
    return float(m), float(m * m)


def two_over_pi_bound(psi: float) -> float:
    """Theorem 5.9: the optimum is at least 2/pi of the relaxation."""
    return 2 / pi * psi


def two_over_pi_correlations(psi_correlations: float, m: int) -> float:
    """Corollary 5.10: Theorem 5.9 in terms of sums of correlations."""
    return 2 / pi * psi_correlations - (1 - 2 / pi) * m / 2


def omega(beta: float) -> float:
    """The function before Theorem 5.11: increasing and convex from 1 at 0 to pi/2 at 1."""
    return beta * asin(beta) + sqrt(1 - beta * beta)


def omega_bound(psi: float, m: int) -> float:
    r"""After Theorem 5.11: the optimum is at least max(2/pi omega(m/psi), m/psi) psi.

    The theorem has :math:`\beta_* = (m - t)/(\psi - t)` and interpolates between :math:`\psi` and the
    minimum :math:`t \ge 0` of the relaxation, which nobody computes. Convexity of omega makes that
    expression increasing in t, so :math:`t = 0` is safe.
    """
    beta = min(m / psi, 1.0)
    return max(2 / pi * omega(beta) * psi, float(m))


def rank_two_gap(eigenvalues: NDArray[np.float64], norm: float) -> float | None:
    """Proposition 5.3: how far the rounded solution can be below psi when X has rank two (or one).

    None (not applicable) for a higher rank and outside lambda_1 > 1 > lambda_2.
    """
    rank = int(np.count_nonzero(eigenvalues > _ZERO * eigenvalues.sum()))
    return low_rank_gap(eigenvalues, norm) if rank <= 2 else None


def low_rank_gap(eigenvalues: NDArray[np.float64], norm: float) -> float | None:
    """Proposition 5.4: how far the rounded solution can be below psi when X is close to rank one.

    Parameters
    ----------
    eigenvalues : ndarray
        Of X in falling order; they sum to m.
    norm : float
        Largest eigenvalue of A.

    Returns
    -------
    float or None
        None (not applicable) unless lambda_1 > 1 > sum of the others.
    """
    m, rest = float(eigenvalues.sum()), float(eigenvalues[1:].sum())
    if not eigenvalues[0] > 1 > rest:
        return None
    return (1 / (1 - rest) - 1) * m * m + rest * norm
