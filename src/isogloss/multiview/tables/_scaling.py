"""Standardised features of several views."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, diags_array, issparse
from sklearn.base import TransformerMixin
from sklearn.preprocessing import StandardScaler

from isogloss._estimator import Constraints, Estimator
from isogloss.views import Matrix, Views, ViewsMixin, check_views

Array = NDArray[np.float64]


class ScaleViews(ViewsMixin, TransformerMixin, Estimator):
    """Standardise the features of every view, over the rows that have it.

    Features of dense views get mean 0 and variance 1. Sparse views stay sparse: their features are only
    divided by their standard deviations. A ridge treats all features of a view alike, so features in
    different units should be standardised first.

    Attributes
    ----------
    means_ : list of array
        What is subtracted from each view; 0 for sparse views.
    deviations_ : list of array
        What its features are divided by; 1 for constant features.
    view_names_, dims_
        Names and numbers of features of the views.

    Examples
    --------
    >>> import numpy as np
    >>> views = ScaleViews().fit_transform([[[1.0], [3.0]], [[500.0], [np.nan]]])
    >>> views["view0"].ravel().tolist(), views["view1"].ravel().tolist()
    ([-1.0, 1.0], [0.0])
    """

    _parameter_constraints: ClassVar[Constraints] = {}

    means_: list[Array]
    deviations_: list[Array]

    def fit(self, views: Any, y: Any = None) -> Self:
        """Find means and standard deviations."""
        views = check_views(views)
        self.view_names_, self.dims_ = views.names, views.dims
        self.means_, self.deviations_ = [], []
        for x, width in zip(views.arrays, views.dims, strict=True):
            mean, deviation = np.zeros(width), np.ones(width)
            if x.shape[0]:
                scaler = StandardScaler(with_mean=not issparse(x)).fit(x)
                deviation = np.asarray(scaler.scale_, dtype=np.float64)
                if not issparse(x):
                    mean = np.asarray(scaler.mean_, dtype=np.float64)
            self.means_.append(mean)
            self.deviations_.append(deviation)
        return self

    def transform_view(self, X: Any, view: int | str) -> Matrix:
        """Standardise rows of one view."""
        return self._scale(*self._check_one(X, view))

    def transform(self, views: Any) -> Views:
        """Standardise every view."""
        views = self._check_seen(views)
        scaled = [self._scale(x, v) if x.shape[0] else None for v, x in enumerate(views.arrays)]
        return Views(scaled, names=views.names, present=views.present, ids=views.ids, dims=views.dims)

    def _scale(self, X: Matrix, view: int) -> Matrix:
        if issparse(X):
            return csr_array(X @ diags_array(1.0 / self.deviations_[view]))
        return np.asarray((X - self.means_[view]) / self.deviations_[view])

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """Names of the features of all views side by side, such as ``en_0``."""
        return np.array(
            [
                f"{name}_{k}"
                for name, width in zip(self.view_names_, self.dims_, strict=True)
                for k in range(width)
            ],
            dtype=object,
        )
