r"""Upper bounds from the dual of the relaxation: multipliers whose slack matrix is semi-definite.

For multipliers :math:`\lambda` let :math:`S = \mathrm{blkdiag}(\lambda_i I) - A`. If :math:`S + tI
\succeq 0`, then every point has :math:`0 \le x'(S + tI)x = \sum_i \lambda_i + mt - x'Ax`, hence

.. math:: \max_x x'Ax \le \max_X \mathrm{Tr}(AX) \le \sum_i \lambda_i + m t .

Weak duality needs no optimality of :math:`\lambda`, so the bound holds whatever the solver did; a good
solver makes it tight. That :math:`S + tI \succeq 0` is *proven* by a Cholesky factorisation whose
rounding is accounted for (:func:`isogloss.linalg.is_psd`). A Lanczos eigenvalue only ever errs upwards,
towards a false proof; it serves to guess :math:`t`, and as a *numerical* bound where the matrix is too
large to factorise.
"""

from __future__ import annotations

from math import fsum
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh

from isogloss.linalg import is_psd
from isogloss.multiview.certificates._quadratic import QuadraticForm

Array = NDArray[np.float64]
Kind = Literal["proven", "numerical"]

_EPS = float(np.finfo(float).eps)
# Up to this size LAPACK finds an eigenpair no slower than Lanczos.
_SMALL = 100
_LANCZOS_VECTORS = 40
# A failed proof multiplies the margin; from rounding (1e-16) to a trivial bound takes no more attempts.
_GROWTH, _ATTEMPTS = 4, 40


class DualBound(NamedTuple):
    """An upper bound on x'Ax over the spheres, how it was established, and the shift t that it needed."""

    bound: float
    kind: Kind
    shift: float


class Eigenpair(NamedTuple):
    """An approximate eigenpair; some eigenvalue lies within ``residual`` of ``value``."""

    value: float
    vector: Array
    residual: float


class Slack:
    """The matrix S of one set of multipliers."""

    def __init__(self, form: QuadraticForm, multipliers: Array) -> None:
        self.form, self.multipliers = form, multipliers
        self._diagonal = form.blocks.spread(multipliers)
        self._matrix: Array | None = None
        if form.matrix is not None:
            self._matrix = -form.matrix
            self._matrix[np.diag_indices_from(self._matrix)] += self._diagonal[:, 0]

    def finest_bound(self) -> DualBound | None:
        """The bound with the smallest shift that a factorisation can settle, if it does."""
        shift = self._finest
        return DualBound(self._sum(shift), "proven", shift) if self._proves(shift) else None

    @property
    def _finest(self) -> float:
        """A little more than what ``is_psd`` takes off for rounding, and far more than usual rounding."""
        if self._matrix is None:
            return 0.0
        return float(1.1 * (len(self._matrix) + 3) * _EPS * np.abs(np.diagonal(self._matrix)).sum())

    def _proves(self, shift: float) -> bool:
        """Return whether S + shift I is proven to be positive semi-definite."""
        return self._matrix is not None and is_psd(self._matrix, tol=shift)

    def smallest(self, rng: Any) -> Eigenpair:
        """The smallest eigenvalue of S, as far as one can see."""
        top = float(self.multipliers.max())
        if self._matrix is not None and len(self._matrix) <= _SMALL:
            values, vectors = eigh(self._matrix, subset_by_index=[0, 0])
            return self._pair(float(values[0]), vectors)
        # ARPACK's tolerance is relative to the eigenvalue, and that of S is next to zero; so it looks for
        # the largest one of top I - S, which is not.
        _, vector = _lanczos(lambda u: top * u - self._times(u), self.form.blocks.total, rng, tol=1e-9)
        return self._pair(float(np.vdot(vector, self._times(vector))), vector)

    def bound(self, guess: Eigenpair) -> DualBound:
        """The bound with the smallest shift that works, starting from a guess of the smallest eigenvalue.

        Without entries the shift is the guess and its residual, and the bound is numerical.
        """
        shift = max(guess.residual - guess.value, 0.0)
        if self._matrix is None:
            return DualBound(self._sum(shift), "numerical", shift)
        # A good guess needs no more than rounding on top, which grows with what is on the diagonal.
        margin = self._finest + 2 * (len(self._matrix) + 3) * _EPS * len(self._matrix) * shift
        for _ in range(_ATTEMPTS):
            if self._proves(shift + margin):
                return DualBound(self._sum(shift + margin), "proven", shift + margin)
            margin *= _GROWTH
        shift += margin
        raise FloatingPointError(f"no factorisation of S + tI succeeded up to t={shift:.3g}; is A finite?")

    def _sum(self, shift: float) -> float:
        """Sum of the multipliers and m shifts, rounded up."""
        m = len(self.multipliers)
        terms = [*self.multipliers.tolist(), m * shift]
        return fsum(terms) + 4 * _EPS * fsum(map(abs, terms))

    def _times(self, u: Array) -> Array:
        return self._diagonal * u - self.form(u)

    def _pair(self, value: float, vector: Array) -> Eigenpair:
        return Eigenpair(value, vector, float(np.linalg.norm(self._times(vector) - value * vector)))


def largest_eigenpair(form: QuadraticForm, rng: Any) -> Eigenpair:
    """The leading eigenvector of A: start of the solver, and the norm of (5.5)."""
    if form.matrix is not None and len(form.matrix) <= _SMALL:
        last = len(form.matrix) - 1
        values, vectors = eigh(form.matrix, subset_by_index=[last, last])
        value, vector = float(values[0]), vectors
    else:
        value, vector = _lanczos(form, form.blocks.total, rng, tol=1e-4)
    return Eigenpair(value, vector, float(np.linalg.norm(form(vector) - value * vector)))


def _lanczos(product: Any, n: int, rng: Any, *, tol: float) -> tuple[float, Array]:
    """Largest eigenvalue and its vector, as a column, from a random start."""
    operator = LinearOperator((n, n), matvec=lambda u: product(u.reshape(-1, 1)), dtype=np.float64)
    start = rng.standard_normal(n)
    for vectors in (_LANCZOS_VECTORS, 3 * _LANCZOS_VECTORS):
        try:
            values, found = eigsh(
                operator, k=1, which="LA", tol=tol, v0=start, ncv=min(vectors, n), maxiter=100
            )
        except ArpackNoConvergence:
            continue
        return float(values[0]), found
    # No convergence after thousands of products (a cluster at the end of the spectrum): what a short run has
    # found serves, because its residual is reported with it.
    values, found = eigsh(operator, k=1, which="LA", tol=1e-3, v0=start, ncv=min(vectors, n))
    return float(values[0]), found
