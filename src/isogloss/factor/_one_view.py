r"""The parameters of one view that maximise the likelihood, given those of all other views.

What the other views say of the factors, :math:`\hat z = E[z \mid x_{-v}]` with covariance :math:`C`, is
known, and

.. math:: x_v \mid x_{-v} \sim N(W_v \hat z,\; Q_v), \qquad Q_v = \Psi_v + W_v C W_v^\top .

Without a floor :math:`(W_v, Q_v)` are free and the maximum is a linear regression,
:math:`W_v = S_{v\hat z} S_{\hat z\hat z}^{-1}` with :math:`Q_v` the covariance :math:`R` of its residuals. It
may ask for noise below the floor. In the coordinates in which :math:`R = I` and :math:`W C W^\top` is
diagonal, such directions are those in which it exceeds one. For one of them alone, with loadings :math:`w`
and on the floor, the maximum is

.. math:: w = w^* S_{\hat z\hat z} (S_{\hat z\hat z} + \tau C)^{-1}, \qquad
          \tau = 1 - \frac{1 + (w - w^*) S_{\hat z\hat z} (w - w^*)^\top}{\text{floor} + w C w^\top},

a regression that shrinks as much as needed. Several directions are treated as if they were alone, which is
not exact, so the outcome counts only if it is more likely than what was there.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve, eigh, solve_triangular

from isogloss.factor._noise import NOISES

__all__ = ["OneView", "one_view"]

Array = NDArray[np.float64]

_BISECTIONS = 50


@dataclass(frozen=True, eq=False)
class OneView:
    """A view regressed on what the others say of the factors."""

    W: Array
    """Coefficients of the regression. Shape (d, k)."""
    residual: Array
    """Covariance of its residuals. Shape (d, d)."""
    zz: Array
    """Second moment of the factors' means given the other views. Shape (k, k)."""
    C: Array
    """Covariance of the factors given the other views. Shape (k, k)."""

    def likelihood(self, W: Array, noise: Array) -> float:
        """Twice the conditional log-likelihood per row, less a constant."""
        step = W - self.W
        factor = cho_factor(noise + W @ self.C @ W.T, lower=True, check_finite=False)
        scatter = self.residual + step @ self.zz @ step.T
        trace = np.trace(cho_solve(factor, scatter, check_finite=False))
        return float(-2.0 * np.log(np.diag(factor[0])).sum() - trace)

    def free_maximum(self, floor: float) -> tuple[Array, Array] | None:
        """The maximum where it lies above the floor."""
        noise = _symmetric(self.residual - self.W @ self.C @ self.W.T)
        return (self.W, noise) if _is_above(noise, floor) else None

    def floored_maximum(self, floor: float) -> tuple[Array, Array]:
        """Loadings that shrink in the directions whose noise is on the floor."""
        L = np.linalg.cholesky(self.residual)
        gains, E = eigh(self.zz, self.C, driver="gvd", check_finite=False)
        Y = solve_triangular(L, self.W, lower=True, check_finite=False) @ self.C @ E
        explained, U = eigh(Y @ Y.T, driver="evd", check_finite=False)
        floors = floor * np.square(solve_triangular(L, U, trans="T", lower=True, check_finite=False)).sum(
            axis=0
        )
        below = 1.0 - explained < floors
        Y = U.T @ Y
        Y[below] = _shrunk(Y[below], gains, floors[below])
        LU = L @ U
        noise = (LU * np.where(below, floors, 1.0 - explained)) @ LU.T
        return LU @ Y @ E.T, _floored(noise, floor)


def one_view(
    S: Array, xz: Array, zz: Array, C: Array, current: tuple[Array, Array], floor: float
) -> tuple[Array, Array] | None:
    """Loadings and noise of a view with covariance ``S``; None if nothing better than ``current`` is found.

    ``xz`` is its covariance with the means of the factors given the other views.
    """
    try:
        W = cho_solve(cho_factor(zz, lower=True, check_finite=False), xz.T, check_finite=False).T
        view = OneView(W, _symmetric(S - W @ xz.T), _symmetric(zz), _symmetric(C))
        found = view.free_maximum(floor)
        if found is not None:
            return found
        found = view.floored_maximum(floor)
        return found if view.likelihood(*found) > view.likelihood(*current) else None
    except np.linalg.LinAlgError:
        return None


def _shrunk(Y: Array, gains: Array, floors: Array) -> Array:
    """Rows of loadings on the floor, each at its own maximum; its multiplier is found by bisection."""
    low, high = np.zeros(len(Y)), np.ones(len(Y))
    for _ in range(_BISECTIONS):
        tau = 0.5 * (low + high)
        y = Y * (gains / (gains + tau[:, np.newaxis]))
        errors = 1.0 + (gains * (y - Y) ** 2).sum(axis=1)
        short = 1.0 - errors / (floors + (y**2).sum(axis=1)) > tau
        low, high = np.where(short, tau, low), np.where(short, high, tau)
    return np.asarray(Y * (gains / (gains + low[:, np.newaxis])))


def _floored(noise: Array, floor: float) -> Array:
    d = len(noise)
    return NOISES["full"].estimate(noise.ravel(), np.ones(d), [d], floor).reshape(d, d)


def _is_above(noise: Array, floor: float) -> bool:
    try:
        np.linalg.cholesky(noise - floor * np.eye(len(noise)))
    except np.linalg.LinAlgError:
        return False
    return bool(np.isfinite(noise).all())


def _symmetric(S: Array) -> Array:
    return np.asarray(0.5 * (S + S.T))
