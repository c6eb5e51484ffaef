r"""Views in coordinates in which certificates are made: :math:`x_i'x_i = w_i'R_iw_i`.

:math:`R_i = (1 - \kappa_i)C_{ii} + \kappa_iI` is the regularised covariance of view i, and
:math:`A_{ij} = W_i'C_{ij}W_j`, :math:`A_{ii} = I`, for some :math:`W_i` with :math:`W_i'R_iW_i = I`. Three
ways there, of which :func:`row_coordinates` takes the first that is small enough:

* the *row space*: the matrix between views sees nothing of a direction in which the rows of its view do
  not differ, and the best solution has no part in it. With fewer rows than features it is enough to look
  at the span of the rows, the problem of a linear kernel (:mod:`~isogloss.multiview.kernels._problem`): three
  views of a hundred thousand features and three thousand rows have nine thousand directions;
* the *features*, from second moments;
* an *operator*, :math:`W_i = R_i^{-1/2}` as a polynomial (``solvers/_inverse_root.py``), where
  nothing is decomposed and the bound is numerical.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from isogloss.linalg import regularise
from isogloss.multiview.certificates import DENSE_LIMIT
from isogloss.multiview.kernels import (
    KernelSpectrum,
    ViewKernel,
    dual_problem,
    kernel_spectrum,
    whitened_point,
)
from isogloss.multiview.solvers import (
    InverseRoot,
    RowProducts,
    WhitenedProblem,
    block_slices,
    check_ridges,
    whitened_problem,
)
from isogloss.stats import ViewMoments

Array = NDArray[np.float64]

# Rows up to which the kernel of a view is eigendecomposed, which takes a minute for each view.
_FEW_ROWS = 6_000


class Coordinates(Protocol):
    """A problem that :func:`~isogloss.multiview.certify` takes, and the way there and back."""

    A: Array | Callable[[Array], Array]
    sizes: tuple[int, ...]
    whitened: bool | None

    def point(self, weights: Sequence[Array]) -> Array:
        """Coordinates (N x components) of weights of the features."""

    def weights(self, X: Array) -> list[Array]:
        """Weights of the features, per view, from coordinates."""


class MomentCoordinates(Coordinates):
    """All features, from second moments.

    Parameters
    ----------
    moments : ViewMoments
        Of the views.
    ridge : float in [0, 1], or one per view
        The thesis's kappa.
    shrink : bool
        Whether covariances that no rows can have are shrunk, as in the fit from moments.
    """

    def __init__(
        self, moments: ViewMoments, ridge: float | Sequence[float] = 0.0, *, shrink: bool = True
    ) -> None:
        self.moments, self.ridges = moments, check_ridges(ridge, len(moments.dims))
        self.problem = whitened_problem(moments, ridge, shrink=shrink)
        self.A, self.sizes = self.problem.A, self.problem.sizes
        complete = bool((moments.counts == moments.counts[0, 0]).all())
        # A ridge lets regularised correlations exceed one, so with it a look at A has to decide.
        self.whitened = True if (complete or shrink) and not any(self.ridges) else None

    def point(self, weights: Sequence[Array]) -> Array:
        """Coordinates (N x components) of weights of the features."""
        whitenings = self.problem.whitenings
        return np.vstack(
            [
                white.matrix.T @ (regularise(self.moments.covariance(i), self.ridges[i]) @ weights[i])
                for i, white in enumerate(whitenings)
            ]
        )

    def weights(self, X: Array) -> list[Array]:
        """Weights of the features, per view, from coordinates."""
        return self.problem.weights(X)


class RowCoordinates(Coordinates):
    """The span of the rows of each view, from the linear kernel between them.

    Rows may lack views; covariances are not shrunk.
    """

    def __init__(self, products: RowProducts) -> None:
        self.products = products
        rng = np.random.RandomState(0)
        self.spectra: list[KernelSpectrum] = [
            kernel_spectrum(ViewKernel("linear"), rows.X, rng=rng) for rows in products.rows
        ]
        self.problem: WhitenedProblem = dual_problem(
            self.spectra, products.ridges, "exact", moved=products.moved
        )
        self.A, self.sizes, self.whitened = self.problem.A, self.problem.sizes, None

    def point(self, weights: Sequence[Array]) -> Array:
        """Coordinates (N x components) of weights of the features."""
        variates = [self.products.project(i, W) for i, W in enumerate(weights)]
        return whitened_point(self.problem, self.spectra, variates)

    def weights(self, X: Array) -> list[Array]:
        """Weights of the features, per view, from coordinates."""
        coefficients = self.problem.weights(X)
        return [np.asarray(rows.H @ Y) for rows, Y in zip(self.products.rows, coefficients, strict=True)]


class OperatorCoordinates(Coordinates):
    """All features, by products with the rows alone; every ridge must be positive.

    Rows may lack views; covariances are not shrunk.
    """

    def __init__(self, products: RowProducts) -> None:
        self.products, self.sizes = products, products.dims
        self.slices = block_slices(products.dims)
        self.roots = [InverseRoot(products, i) for i in range(len(products.dims))]
        complete = bool(products.present.all())
        # Blocks of (1 - kappa)C + kappa I cover those of C where no variance exceeds one.
        self.whitened = complete and all(root.largest <= 1.0 for root in self.roots)
        self.A = self._product

    def _product(self, V: Array) -> Array:
        """Product of A and the columns of ``V``."""
        views = range(len(self.sizes))
        Z = [self.products.project(i, self.roots[i](V[self.slices[i]])) for i in views]
        pulls = [self.products.pull(i, {j: z for j, z in enumerate(Z) if j != i}) for i in views]
        return V + np.vstack([self.roots[i](pull) for i, pull in enumerate(pulls)])

    def point(self, weights: Sequence[Array]) -> Array:
        """Coordinates (N x components) of weights of the features."""
        return np.vstack([self.roots[i](self.products.regularised(i, W)) for i, W in enumerate(weights)])

    def weights(self, X: Array) -> list[Array]:
        """Weights of the features, per view, from coordinates."""
        return [root(X[part]) for root, part in zip(self.roots, self.slices, strict=True)]


def row_coordinates(products: RowProducts) -> Coordinates:
    """The coordinates of views that suit their size.

    Rows may lack views.

    Examples
    --------
    >>> import numpy as np
    >>> from isogloss.views import Views
    >>> rng = np.random.default_rng(0)
    >>> views = Views([rng.normal(size=(5, 70)), rng.normal(size=(5, 90))])
    >>> row_coordinates(RowProducts(views, ridge=0.1)).sizes
    (4, 4)
    """
    rows = products.counts.diagonal()
    features, directions = sum(products.dims), int(np.minimum(rows, products.dims).sum())
    if directions < features and directions <= DENSE_LIMIT and max(rows) <= _FEW_ROWS:
        return RowCoordinates(products)
    if features <= DENSE_LIMIT:
        moments = ViewMoments(products.dims).update(products.views)
        return MomentCoordinates(moments, products.ridges, shrink=False)
    if not all(products.ridges):
        raise ValueError(
            f"ridge={products.ridges} with {features} features and {max(rows)} rows; views as large as these "
            f"(over {DENSE_LIMIT} features and {_FEW_ROWS} rows) need ridge > 0 for a certificate"
        )
    return OperatorCoordinates(products)
