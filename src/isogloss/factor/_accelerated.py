r"""Two M-steps that go further than EM's, for complete rows.

**One view at a time.** Every view in turn is put at its maximum given the others
(:mod:`~isogloss.factor._one_view`). Where that fails, because noise reaches its floor, the view takes a step
of EM instead, and the sweep ends with the next step, because EM hardly moves loadings in a direction that
has no noise. Nothing lets the likelihood fall: all are conditional maximisations, or improvements, in the
sense of ECM (Meng and Rubin, 1993) and ECME (Liu and Rubin, 1994).

**Loadings given noise.** For any :math:`\Psi` the best loadings are
:math:`W = \Psi^{1/2} U (\Lambda - I)_+^{1/2}` with the leading eigenpairs of
:math:`\Psi^{-1/2} S \Psi^{-1/2}` (Lawley and Maxwell, 1971).
"""

from __future__ import annotations

import dataclasses

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve, eigh

from isogloss.factor._noise import NOISES
from isogloss.factor._one_view import one_view
from isogloss.factor._parameters import FactorParameters, block_slices

Array = NDArray[np.float64]


def leave_one_out(S: Array, p: FactorParameters, floor: float) -> FactorParameters:
    """One sweep over the views, each put at its maximum given the others; rows have mean zero."""
    sweep = _Sweep(S, p, floor)
    improved = [sweep.visit(v) for v in range(len(p.dims))]
    noise = np.concatenate([psi.ravel() for psi in sweep.noises])
    swept = dataclasses.replace(p, mean=np.zeros_like(p.mean), W=sweep.W, noise=noise)
    return swept if all(improved) else best_loadings(S, swept)


def best_loadings(S: Array, p: FactorParameters) -> FactorParameters:
    """The loadings that maximise the likelihood given the noise."""
    D, k = p.W.shape
    white = p.precision.whiten(p.precision.whiten(S).T)
    last = [D - k, D - 1]
    values, vectors = eigh(white, subset_by_index=last, overwrite_a=True, check_finite=False)
    W = p.precision.colour(vectors * np.sqrt(np.maximum(values - 1.0, 0.0)))
    return dataclasses.replace(p, W=W[:, ::-1])


class _Sweep:
    """Loadings, noise and the products with the covariance, kept up to date as views change."""

    def __init__(self, S: Array, p: FactorParameters, floor: float) -> None:
        self.S, self.floor, self.dims = S, floor, p.dims
        self.cuts = block_slices(p.dims)
        self.W, self.A, self.noises = p.W.copy(), p.weights.copy(), list(p.noises)
        self.grams = list(p.grams)
        self.precision = np.eye(p.n_components) + p.grams.sum(axis=0)
        self.SA = S @ self.A

    def visit(self, v: int) -> bool:
        """Improve one view; whether that could be done without EM."""
        cut = self.cuts[v]
        others = self.SA - self.S[:, cut] @ self.A[cut]
        C = _inverse(self.precision - self.grams[v])
        pulled = self.A.T @ others - self.A[cut].T @ others[cut]
        current = self.W[cut], self.noises[v]
        found = one_view(self.S[cut, cut], others[cut] @ C, C @ pulled @ C, C, current, self.floor)
        W, noise = found or self._em_step(v)
        A = cho_solve(cho_factor(noise, lower=True, check_finite=False), W, check_finite=False)
        gram = W.T @ A
        self.precision += gram - self.grams[v]
        self.W[cut], self.A[cut], self.noises[v], self.grams[v] = W, A, noise, gram
        self.SA = others + self.S[:, cut] @ A
        return found is not None

    def _em_step(self, v: int) -> tuple[Array, Array]:
        cut, M = self.cuts[v], _inverse(self.precision)
        xz = self.SA[cut] @ M
        zz = M + M @ (self.A.T @ self.SA) @ M
        W = cho_solve(cho_factor(zz, lower=True, check_finite=False), xz.T, check_finite=False).T
        residual = self.S[cut, cut] - W @ xz.T
        d = self.dims[v]
        return W, NOISES["full"].estimate(residual.ravel(), np.ones(d), [d], self.floor).reshape(d, d)


def _inverse(precision: Array) -> Array:
    factor = cho_factor(precision, lower=True, check_finite=False)
    return np.asarray(cho_solve(factor, np.eye(len(precision)), check_finite=False))
