r"""Products with :math:`R^{-1/2}`, :math:`R = (1 - \kappa)C + \kappa I`, of a view that is never decomposed.

The eigenvalues of :math:`R` lie between :math:`a = \kappa` and :math:`b = (1 - \kappa)\|C\| + \kappa`, and on
:math:`[a, b]` the Chebyshev interpolant of degree d comes within a multiple of :math:`\rho^{-d}`,

.. math:: \rho = \frac{\sqrt{b/a} + 1}{\sqrt{b/a} - 1},

of :math:`t^{-1/2}` ([1]_, theorem 8.2). So the degree, the number of products with the covariance, grows with
the square root of :math:`b/a`: 30 for a ratio of 10, 300 for one of 1,000.

References
----------
.. [1] L. N. Trefethen, *Approximation theory and approximation practice*, SIAM 2013.
"""

from __future__ import annotations

from collections.abc import Callable
from math import ceil, log, sqrt

import numpy as np
from numpy.polynomial.chebyshev import chebpts1, chebvander
from numpy.typing import NDArray
from scipy.sparse.linalg import LinearOperator, eigsh

from isogloss.multiview.solvers._products import RowProducts

Array = NDArray[np.float64]

# Relative error of the polynomial.
_ACCURACY = 1e-11
# The largest eigenvalue is found from below; the interval must hold it.
_ROOM = 1.05


class InverseRoot:
    """The symmetric root of the inverse of the regularised covariance of one view.

    Parameters
    ----------
    products : RowProducts
        The views; the ridge of this one is positive.
    view : int
        Which view.

    Attributes
    ----------
    largest : float
        A little above the largest eigenvalue of the covariance.
    degree : int
        Products with the covariance that one product with the root takes.

    Examples
    --------
    >>> import numpy as np
    >>> from isogloss.views import Views
    >>> X = np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 0.2], [0.0, -0.2]])
    >>> root = InverseRoot(RowProducts(Views([X, X]), ridge=0.5), 0)
    >>> expected = np.diag((0.5 * np.array([2 / 3, 0.08 / 3]) + 0.5) ** -0.5)
    >>> bool(np.allclose(root(np.eye(2)), expected))
    True
    """

    def __init__(self, products: RowProducts, view: int) -> None:
        self.products, self.view = products, view
        kappa = products.ridges[view]
        self.largest = _largest_variance(products, view)
        low, high = kappa, (1.0 - kappa) * self.largest + kappa
        self._centre, self._reach = 0.5 * (high + low), max(0.5 * (high - low), _ACCURACY * high)
        self.degree = _degree(high / low)
        self._coefficients = _interpolate(lambda t: (self._centre + self._reach * t) ** -0.5, self.degree)

    def __call__(self, V: Array) -> Array:
        """Product of the root and the columns of ``V``."""
        before, now = V, self._scaled(V)
        total = self._coefficients[0] * before + self._coefficients[1] * now
        for coefficient in self._coefficients[2:]:
            before, now = now, 2.0 * self._scaled(now) - before
            total += coefficient * now
        return np.asarray(total)

    def _scaled(self, V: Array) -> Array:
        """R, moved and scaled so that its eigenvalues lie in [-1, 1], times ``V``."""
        return (self.products.regularised(self.view, V) - self._centre * V) / self._reach


def _interpolate(function: Callable[[Array], Array], degree: int) -> Array:
    """Chebyshev coefficients of the polynomial through the values at the Chebyshev points."""
    points = chebpts1(degree + 1)
    coefficients: Array = chebvander(points, degree).T @ function(points) * (2.0 / (degree + 1))
    coefficients[0] *= 0.5
    return coefficients


def _degree(ratio: float) -> int:
    rho = (sqrt(ratio) + 1.0) / max(sqrt(ratio) - 1.0, _ACCURACY)
    return max(1, ceil(log(1.0 / _ACCURACY) / log(rho)))


def _largest_variance(products: RowProducts, view: int) -> float:
    """An upper bound, but for Lanczos, on the eigenvalues of the covariance; never above its trace."""
    p, trace = products.dims[view], float(products.variances(view).sum())
    if p < 3 or trace == 0.0:
        return trace

    def times(v: Array) -> Array:
        return products.cross(view, view, v.reshape(-1, 1)).ravel()

    operator = LinearOperator((p, p), matvec=times, dtype=np.float64)
    start = np.random.RandomState(0).normal(size=p)
    values, vectors = eigsh(operator, k=1, which="LA", tol=1e-3, v0=start)
    residual = float(np.linalg.norm(times(vectors) - values[0] * vectors[:, 0]))
    return min(trace, _ROOM * (float(values[0]) + residual))
