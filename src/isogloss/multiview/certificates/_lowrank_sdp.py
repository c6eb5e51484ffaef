r"""The semidefinite relaxation of multi-set CCA, solved in low-rank form.

.. math:: \max_{X \succeq 0} \mathrm{Tr}(AX), \quad \mathrm{Tr}(B_i X) = 1, \; i = 1 \dots m
          \qquad (\text{SDP}), \qquad X = VV', \; V \in R^{N \times r}

([1]_ section 5.2). Some solution has :math:`r(r + 1)/2 \le m` (Theorem 3.5, with the equality that the
printed text lacks), and often :math:`r = 1`, in which case the column of :math:`V` solves the original
problem. So the search starts with one column and a second is added only when the dual certificate of the
first fails: the eigenvector :math:`u` of the negative eigenvalue of :math:`S` is a direction in which
:math:`[V, tu]` ascends ([2]_, [3]_).

References
----------
.. [1] J. Rupnik, *Multi-view canonical correlation analysis*, doctoral dissertation, Jožef Stefan
   International Postgraduate School; sections 3.3 and 5.2.
.. [2] S. Burer and R. D. C. Monteiro, *A nonlinear programming algorithm for solving semidefinite
   programs via low-rank factorization*, Mathematical Programming 95, 2003.
.. [3] N. Boumal, *A Riemannian low-rank method for optimization over semidefinite matrices with
   block-diagonal constraints*, arXiv:1506.00575, 2015.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import isqrt
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from isogloss.multiview.certificates._dual import DualBound, Slack
from isogloss.multiview.certificates._quadratic import QuadraticForm
from isogloss.multiview.certificates._trust_region import SpherePoint, climb_factor, evaluate

Array = NDArray[np.float64]

# Slope at which a factor of more than one column is tried with fewer of them.
_ROUGH = 1e-4
# Columns may be dropped when they hold no more than this share of the trace of X, and are dropped for
# good when the value does not fall by more than _SAME of it.
_DROPPED, _SAME = 0.02, 1e-10
_HALVINGS = 30


class Relaxation(NamedTuple):
    """A solution of the relaxation: its factor, and the bound that its multipliers give.

    Columns of ``V`` are orthogonal and in falling order of length, so that the first is the leading
    eigenvector of X times the root of its eigenvalue.
    """

    V: Array
    value: float
    multipliers: Array
    dual: DualBound

    @property
    def eigenvalues(self) -> Array:
        """Eigenvalues of X in falling order; they sum to m."""
        return np.asarray(np.sum(self.V**2, axis=0))


def largest_rank(m: int) -> int:
    """Smallest r with r(r + 1)/2 >= m, enough columns for some solution with m constraints."""
    r = (isqrt(8 * m + 1) - 1) // 2
    return r if r * (r + 1) // 2 >= m else r + 1


def solve_relaxation(form: QuadraticForm, starts: Sequence[Array], *, tol: float, rng: Any) -> Relaxation:
    """Solve (SDP) from the best of some points, adding columns while the certificate fails.

    Parameters
    ----------
    form : QuadraticForm
        The form to maximise.
    starts : sequence of ndarray of shape (N, 1)
        Points to climb from.
    tol : float
        No column is added when the bound is within this fraction of the value.
    rng : RandomState
        For the starts of Lanczos runs.
    """
    state = max((climb_factor(form, start) for start in starts), key=lambda s: s.value)
    # One column more than needed, so that no second-order point is a trap, and room for those that still are.
    most = min(form.blocks.total, 2 * largest_rank(len(form.blocks)) + 1)
    while True:
        slack = Slack(form, state.multipliers)
        if dual := slack.finest_bound():
            return _relaxation(state, dual)
        guess = slack.smallest(rng)
        loose = -guess.value * len(form.blocks) > tol * abs(state.value) and state.V.shape[1] < most
        higher = _escape(form, state, guess.vector) if loose else None
        if higher is None or not _is_higher(higher.value, state.value):
            return _relaxation(state, slack.bound(guess))
        state = higher


def _relaxation(state: SpherePoint, dual: DualBound) -> Relaxation:
    return Relaxation(_principal(state.V), state.value, state.multipliers, dual)


def _principal(V: Array) -> Array:
    """The factor of the same X with orthogonal columns in falling order."""
    if V.shape[1] == 1:
        return V
    rotation = np.linalg.eigh(V.T @ V)[1][:, ::-1]
    return np.asarray(V @ rotation)


def _escape(form: QuadraticForm, state: SpherePoint, direction: Array) -> SpherePoint | None:
    """Climb on from [V, t u] for the first t of 1, 1/2, ... that lies higher."""
    u = direction * np.sqrt(len(form.blocks))
    for halving in range(_HALVINGS):
        trial = evaluate(form, np.hstack([state.V, u * 0.5**halving]))
        if trial.value > state.value:
            return _climb(form, trial.V, state.value)
    return None


def _climb(form: QuadraticForm, V: Array, floor: float) -> SpherePoint:
    """Ascend, then drop the columns that the solution does not need, but never fall back to ``floor``.

    Near a solution of lower rank the Hessian is singular and the ascent slow, hence a rough ascent
    first and an exact one with the columns that are left.
    """
    state = climb_factor(form, V, tol=_ROUGH)
    fewer = _drop_columns(form, state, floor)
    if fewer is None:
        state = climb_factor(form, state.V)
        fewer = _drop_columns(form, state, floor)
    return fewer if fewer is not None else state


def _drop_columns(form: QuadraticForm, state: SpherePoint, floor: float) -> SpherePoint | None:
    """The ascent with fewer columns, if it gets as high."""
    V = _principal(state.V)
    share = np.cumsum(np.sum(V**2, axis=0)) / len(form.blocks)
    rank = int(np.searchsorted(share, 1 - _DROPPED)) + 1
    if rank >= V.shape[1]:
        return None
    fewer = climb_factor(form, V[:, :rank])
    as_high = fewer.value >= state.value - _SAME * abs(state.value)
    return fewer if as_high and _is_higher(fewer.value, floor) else None


def _is_higher(value: float, other: float) -> bool:
    return bool(value - other > 8 * np.finfo(float).eps * max(abs(value), abs(other)))
