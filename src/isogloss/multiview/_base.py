"""What every multi-view estimator shares: projecting views, and scoring how well the projections agree."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted

from isogloss.threads import ThreadBoundMixin
from isogloss.views import Matrix, Views, check_views

__all__ = ["LinearMultiview", "Multiview", "view_correlations"]

Array = NDArray[np.float64]


class Multiview(ThreadBoundMixin, TransformerMixin, BaseEstimator):
    """A model that gives every view a projection into one common space.

    Subclasses implement ``fit`` (which calls :meth:`_remember`) and ``_project``.

    Attributes
    ----------
    view_names_ : tuple of str
        Names of the views seen in ``fit``.
    dims_ : tuple of int
        Their numbers of features.
    """

    view_names_: tuple[str, ...]
    dims_: tuple[int, ...]

    def _remember(self, views: Views) -> None:
        self.view_names_, self.dims_ = views.names, views.dims

    def _project(self, X: Matrix, view: int) -> Array:
        raise NotImplementedError

    def transform_view(self, X: Any, view: int | str) -> Array:
        """Project rows of one view alone, as a query in one language needs it."""
        check_is_fitted(self)
        index = self._view_index(view)
        X = check_array(X, accept_sparse="csr", dtype=[np.float64, np.float32], input_name="X")
        if X.shape[1] != self.dims_[index]:
            raise ValueError(
                f"X has {X.shape[1]} features; view {self.view_names_[index]!r} has {self.dims_[index]}"
            )
        return self._project(X, index)

    def transform(self, views: Any) -> Views:
        """Project every view; rows that lack a view lack its projection too."""
        check_is_fitted(self)
        views = self._check_seen(views)
        projected = [self._project(x, v) if x.shape[0] else None for v, x in enumerate(views.arrays)]
        width = next(z.shape[1] for z in projected if z is not None)
        dims = [width] * views.n_views
        return Views(projected, names=views.names, present=views.present, ids=views.ids, dims=dims)

    def score(self, views: Any, y: Any = None) -> float:
        """Sum over components and pairs of views of the correlations of the projections."""
        correlations = view_correlations(self.transform(views))
        return float(sum(correlations[:, i, j].sum() for i, j in combinations(range(len(self.dims_)), 2)))

    def _check_seen(self, views: Any) -> Views:
        seen = check_views(views)
        if seen.dims != self.dims_:
            raise ValueError(f"views have {seen.dims} features; the model was fitted on {self.dims_}")
        return seen

    def _view_index(self, view: int | str) -> int:
        if isinstance(view, str):
            if view not in self.view_names_:
                raise ValueError(f"no view named {view!r}; the views are {', '.join(self.view_names_)}")
            return self.view_names_.index(view)
        if not 0 <= view < len(self.dims_):
            raise ValueError(f"no view {view}; there are {len(self.dims_)} views, counted from 0")
        return view

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.input_tags.sparse = True
        return tags


class LinearMultiview(Multiview):
    """Projections ``(x - mean_i) W_i``.

    Attributes
    ----------
    weights_ : list of array (features of the view x components)
    means_ : list of array
    """

    weights_: list[Array]
    means_: list[Array]

    def _project(self, X: Matrix, view: int) -> Array:
        weights = self.weights_[view]
        return np.asarray(X @ weights, dtype=np.float64) - self.means_[view] @ weights


def view_correlations(projected: Views) -> Array:
    """Correlations (components x views x views), each pair over the rows that have both views.

    A projection that does not vary, and a pair that shares fewer than two rows, give zero.
    """
    k, m = projected.dims[0], projected.n_views
    out = np.tile(np.eye(m), (k, 1, 1))
    for i, j in combinations(range(m), 2):
        a, b = (np.asarray(z) for z in projected.shared(i, j))
        if len(a) > 1:
            a, b = a - a.mean(axis=0), b - b.mean(axis=0)
            scale = np.sqrt((a**2).sum(axis=0) * (b**2).sum(axis=0))
            product = (a * b).sum(axis=0)
            out[:, i, j] = out[:, j, i] = np.where(scale > 0, product / np.where(scale > 0, scale, 1.0), 0.0)
        else:
            out[:, i, j] = out[:, j, i] = 0.0
    return out
