"""The base of multi-view estimators: projecting views, and scoring how well the projections agree."""

from __future__ import annotations

from abc import abstractmethod
from itertools import combinations
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.base import TransformerMixin

from isogloss._estimator import Estimator
from isogloss.views import Matrix, Views, ViewsMixin, check_views

Array = NDArray[np.float64]


class Multiview(ViewsMixin, TransformerMixin, Estimator):
    """A model that gives every view a projection into one common space.

    Subclasses implement ``fit`` (which calls :meth:`_remember`) and ``_project``.
    """

    @abstractmethod
    def fit(self, views: Any, y: Any = None) -> Self:
        """Learn from views."""

    def _remember(self, views: Views) -> None:
        self.view_names_, self.dims_ = views.names, views.dims

    @abstractmethod
    def _project(self, X: Matrix, view: int) -> Array: ...

    def transform_view(self, X: Any, view: int | str) -> Array:
        """Project rows of one view alone, as a query in one language needs it."""
        return self._project(*self._check_one(X, view))

    def transform(self, views: Any) -> Views:
        """Project every view; rows that lack a view lack its projection too.

        ``numpy.asarray`` of the result, and ``set_output(transform="pandas")``, put the projections side by
        side, NaN where a row lacks a view; :class:`JoinViews` does this, or averages them, as a step of a
        pipeline.
        """
        views = self._check_seen(views)
        projected = [self._project(x, v) if x.shape[0] else None for v, x in enumerate(views.arrays)]
        width = next(z.shape[1] for z in projected if z is not None)
        dims = [width] * views.n_views
        return Views(projected, names=views.names, present=views.present, ids=views.ids, dims=dims)

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """Names of the columns of the projections side by side, such as ``en_cca0``.

        Parameters
        ----------
        input_features : None
            Not used; here because scikit-learn passes it.
        """
        names = self._component_names()
        return np.array([f"{view}_{name}" for view in self.view_names_ for name in names], dtype=object)

    def score(self, views: Any, y: Any = None) -> float:
        """Sum over components and pairs of views of the correlations of the projections."""
        correlations = view_correlations(self.transform(views))
        return float(sum(correlations[:, i, j].sum() for i, j in combinations(range(len(self.dims_)), 2)))


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


def two_or_more(views: Any) -> Views:
    """Views, at least two of them."""
    return check_views(views, min_views=2)


def view_loadings(views: Views, projected: Views) -> list[Array]:
    """Correlations (features x components) of the features of each view with its projection.

    Zero for constant features, and for projections that do not vary.
    """
    out = []
    for x, z in zip(views.arrays, projected.arrays, strict=True):
        rows = np.asarray(x.toarray() if issparse(x) else x, dtype=np.float64)
        scale = np.outer(rows.std(axis=0), np.asarray(z).std(axis=0)) * max(len(rows), 1)
        covariances = (rows - rows.mean(axis=0)).T @ (z - np.asarray(z).mean(axis=0))
        out.append(np.where(scale > 0, covariances / np.where(scale > 0, scale, 1.0), 0.0))
    return out


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
