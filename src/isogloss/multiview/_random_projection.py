r"""Few dimensions for wide views: random directions, and what the other views say about them.

A certificate of SUMCOR costs what the number of features in all costs. Purely random directions of several
views hardly correlate, so algorithm 5.1 of [1]_ draws them in one view at a time and finds their counterparts
in the others by ridge regression,

.. math:: P_{(i,i)} \sim N(0, 1)^{n_i \times k}, \text{ columns scaled to } \sqrt{n_i/k}, \qquad
          P_{(i,j)} = \bigl((1 - \gamma)C_{jj} + \gamma I\bigr)^{-1} C_{ji} P_{(i,i)},

so that view j is reduced by :math:`P_j = [P_{(1,j)}, \dots, P_{(m,j)}]` (5.4) to :math:`mk` features. Column
c of every view belongs to the same random direction.

The algorithm prints :math:`X_jX_j'` where :math:`C_{jj} = X_jX_j'/(s - 1)` stands here, so that
:math:`\gamma` does not depend on the number of rows and means what ``ridge`` means elsewhere. The printed one
with :math:`\gamma'` has the same columns up to a common factor for
:math:`\gamma = \gamma' / ((1 - \gamma')(s - 1) + \gamma')`. Data are centred.

References
----------
.. [1] J. Rupnik, *Multi-view canonical correlation analysis*, doctoral dissertation, Jožef Stefan
   International Postgraduate School, section 5.4.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from isogloss._estimator import POSITIVE_INT, POSITIVE_SHARE, SHARE, Constraints
from isogloss.multiview._base import LinearMultiview
from isogloss.multiview.solvers import RowProducts, check_ridges, lack_of_rows
from isogloss.views import Views, check_views

Array = NDArray[np.float64]


class RandomProjection(LinearMultiview):
    """Reduce each view to ``n_views * n_components`` features that keep what the views share.

    Parameters
    ----------
    n_components : int
        Random directions per view, the k of the algorithm.
    ridge : float in (0, 1], or one per view
        Regularisation of the regressions, the gamma of the algorithm.
    orthonormal : bool
        Replace each basis by an orthonormal one of the same span. Then a ridge on the reduced features is the
        same ridge on the features, within that span; but columns of different views no longer correspond,
        and ``score`` means nothing.
    tol : float
        Relative residual of the conjugate gradients.
    random_state : int, RandomState or None
        Source of the directions.

    Attributes
    ----------
    weights_ : list of array (features, n_views * n_components)
        The bases P_j.
    means_ : list of array
        Subtracted before projecting.

    Notes
    -----
    Sparse views stay sparse: the work is products of them with ``n_components`` columns at a time, m (m - 1)
    solves in all, and memory is that of the bases. Rows may lack views; every covariance is taken over the
    rows that have both.

    Examples
    --------
    >>> import numpy as np
    >>> from isogloss.multiview import SumCor
    >>> rng = np.random.default_rng(0)
    >>> z = rng.normal(size=(400, 2))
    >>> views = [z @ rng.normal(size=(2, p)) + rng.normal(size=(400, p)) for p in (80, 90, 100)]
    >>> reduction = RandomProjection(4, random_state=0).fit(views)
    >>> reduced = reduction.transform(views)
    >>> reduced.dims
    (12, 12, 12)
    >>> model = SumCor(1, random_state=0).fit(reduced)
    >>> [w.shape for w in reduction.lift(model.weights_)]
    [(80, 1), (90, 1), (100, 1)]
    """

    _parameter_constraints: ClassVar[Constraints] = {
        "n_components": [POSITIVE_INT],
        "ridge": [POSITIVE_SHARE, "array-like"],
        "orthonormal": ["boolean"],
        "tol": [SHARE],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        n_components: int = 10,
        *,
        ridge: float | Sequence[float] = 0.1,
        orthonormal: bool = False,
        tol: float = 1e-8,
        random_state: Any = None,
    ) -> None:
        self.n_components = n_components
        self.ridge = ridge
        self.orthonormal = orthonormal
        self.tol = tol
        self.random_state = random_state

    def fit(self, views: Any, y: Any = None) -> Self:
        """Draw the directions and find their counterparts.

        Parameters
        ----------
        views : Views, list or dict of arrays
            Aligned rows, dense or sparse, some of which may be missing.
        y : None
            Not used.
        """
        self._validate_params()
        views = check_views(views, min_views=2)
        products = RowProducts(views, self._check_views(views))
        lack = lack_of_rows(products.counts, 1)
        if lack is not None:
            raise ValueError(lack)
        self._remember(views)
        rng = check_random_state(self.random_state)
        blocks = [_bases_from(products, i, self.n_components, self.tol, rng) for i in range(views.n_views)]
        bases = [np.hstack(column) for column in zip(*blocks, strict=True)]
        self.weights_ = [np.linalg.qr(P)[0] for P in bases] if self.orthonormal else bases
        self.means_ = [products.mean(i).copy() for i in range(views.n_views)]
        return self

    def lift(self, weights: Sequence[Any]) -> list[Array]:
        """Weights of the features from weights of the reduced features, per view."""
        check_is_fitted(self)
        if len(weights) != len(self.weights_):
            raise ValueError(f"weights of {len(weights)} views given; there are {len(self.weights_)}")
        return [P @ np.asarray(W, dtype=np.float64) for P, W in zip(self.weights_, weights, strict=True)]

    def _check_views(self, views: Views) -> tuple[float, ...]:
        """Refuse views that the parameters are not for; the ridge of each."""
        k = self.n_components
        if self.orthonormal and k * views.n_views > min(views.dims):
            raise ValueError(
                f"{views.n_views} views of n_components={k} make {k * views.n_views} columns, and the "
                f"narrowest view has {min(views.dims)} features; lower n_components, or "
                "give orthonormal=False"
            )
        ridges = check_ridges(self.ridge, views.n_views)
        if not all(gamma > 0 for gamma in ridges):
            raise ValueError(f"ridge={self.ridge}; the regressions need it in (0, 1], above zero")
        return ridges


def _bases_from(products: RowProducts, i: int, k: int, tol: float, rng: np.random.RandomState) -> list[Array]:
    """Random directions of view ``i``, and their counterparts in every view."""
    n_i = products.dims[i]
    P = rng.normal(size=(n_i, k))
    P *= np.sqrt(n_i / k) / np.linalg.norm(P, axis=0)
    return [
        P if j == i else products.solve(j, products.cross(j, i, P), tol=tol)
        for j in range(len(products.dims))
    ]
