r"""Rotations of the vectors of every language onto those of one.

.. math:: \min_{Q_v'Q_v = I} \sum_i \| x_{vi}Q_v - x_{ui}Q_u \|^2 , \qquad
          Q_v = UV', \quad X_v'X_uQ_u = USV' ,

the orthogonal Procrustes problem [1]_, over the rows that two views share. The hub stays as it is; every
other view is rotated onto the hub, or onto a view that already was, whichever it shares most rows with.

References
----------
.. [1] P. H. Schönemann, *A generalized solution of the orthogonal Procrustes problem*, Psychometrika
   31, 1966.
"""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import svd

from isogloss._estimator import NON_NEGATIVE_INT, Constraints
from isogloss.multiview import LinearMultiview
from isogloss.views import Views, check_views

Array = NDArray[np.float64]


class Procrustes(LinearMultiview):
    """Rotate every view onto the hub view, over the rows they share.

    Parameters
    ----------
    hub : int or str
        The view that stays as it is. A view without rows in common with it is rotated by way of others.

    Attributes
    ----------
    weights_ : list of array (features, features of the hub)
        The rotations: orthonormal rows, or columns for a view with more features than the hub.
    means_ : list of array
        Zeros: vectors are centred, or not, before they come here.

    Notes
    -----
    Time: one product X_v'X_hub and one SVD per view.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=(50, 3))
    >>> turn = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    >>> model = Procrustes().fit({"en": x, "de": x @ turn})
    >>> bool(np.allclose(model.transform_view(x @ turn, "de"), x))
    True
    """

    _parameter_constraints: ClassVar[Constraints] = {"hub": [NON_NEGATIVE_INT, str]}

    def __init__(self, hub: int | str = 0) -> None:
        self.hub = hub

    def fit(self, views: Any, y: Any = None) -> Self:
        """Find the rotations."""
        self._validate_params()
        views = check_views(views, min_views=2)
        self._remember(views)
        self.weights_ = _rotations(views, self._view_index(self.hub))
        self.means_ = [np.zeros(dim) for dim in views.dims]
        return self


def _rotations(views: Views, hub: int) -> list[Array]:
    """One view after the other, the one that shares most rows with a view already placed first."""
    shared = views.present.T.astype(np.int64) @ views.present.astype(np.int64)
    placed = {hub: np.eye(views.dims[hub])}
    while len(placed) < views.n_views:
        left = [v for v in range(views.n_views) if v not in placed]
        count, view, onto = max((int(shared[v, u]), -v, -u) for v in left for u in placed)
        if count == 0:
            names = ", ".join(views.names[v] for v in left)
            raise ValueError(
                f"no rows connect the views {names} with the hub {views.names[hub]!r}; expected some"
            )
        placed[-view] = _rotation(views, -view, -onto, placed[-onto])
    return [placed[v] for v in range(views.n_views)]


def _rotation(views: Views, view: int, onto: int, turned: Array) -> Array:
    source, target = views.shared(view, onto)
    product = source.T @ (target @ turned)
    U, _, Vt = svd(np.asarray(product, dtype=np.float64), full_matrices=False)
    return np.asarray(U @ Vt)
