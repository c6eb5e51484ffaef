"""Steps of a scikit-learn pipeline before and after a model of several views."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from isogloss._estimator import Constraints, Estimator, StrOptions
from isogloss.views import Matrix, Views, ViewsMixin, check_views

Array = NDArray[np.float64]


class ColumnViews(TransformerMixin, Estimator):
    """Make views of groups of columns of one array, sparse matrix or DataFrame.

    A row that is NaN in all columns of a view lacks that view. Use it as the first step of a pipeline, so
    that scikit-learn's cross-validation, which knows one array, reaches a model of several views.

    Parameters
    ----------
    views : mapping of str to a slice, or a sequence of int, bool or str
        Columns of each view: positions, a mask of all columns, or names of the columns of a DataFrame. A
        column may be in several views, or in none.

    Attributes
    ----------
    columns_ : dict of str to array
        Positions of the columns of each view.
    n_features_in_ : int
        Columns seen in ``fit``.
    feature_names_in_ : array of str
        Their names, if they have any.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.model_selection import cross_val_score
    >>> from sklearn.pipeline import make_pipeline
    >>> from isogloss.multiview import CCA, JoinViews
    >>> rng = np.random.default_rng(0)
    >>> z = rng.normal(size=(200, 1))
    >>> X = z @ rng.normal(size=(1, 9)) + rng.normal(size=(200, 9))
    >>> views = ColumnViews({"left": slice(0, 5), "right": [5, 6, 7, 8]})
    >>> views.fit_transform(X)
    Views(200 rows; left: 5 features, 200 rows; right: 4 features, 200 rows)
    >>> model = make_pipeline(views, CCA(1), JoinViews("mean"), LogisticRegression())
    >>> bool(cross_val_score(model, X, z[:, 0] > 0).mean() > 0.8)
    True
    """

    _parameter_constraints: ClassVar[Constraints] = {"views": [Mapping]}

    columns_: dict[str, NDArray[np.int64]]
    n_features_in_: int
    feature_names_in_: NDArray[np.object_]

    def __init__(self, views: Mapping[str, Any]) -> None:
        self.views = views

    def fit(self, X: Any, y: Any = None) -> Self:
        """Find the columns of each view."""
        self._validate_params()
        X = self._check(X, reset=True)
        if not self.views:
            raise ValueError("views is empty; expected the columns of at least one view")
        names = [str(name) for name in getattr(self, "feature_names_in_", ())]
        self.columns_ = {
            view: _positions(view, columns, self.n_features_in_, names)
            for view, columns in self.views.items()
        }
        self._split(X)
        return self

    def transform(self, X: Any) -> Views:
        """Take the columns of each view."""
        check_is_fitted(self)
        return self._split(self._check(X, reset=False))

    def _split(self, X: Matrix) -> Views:
        return Views({view: X[:, columns] for view, columns in self.columns_.items()})

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """Names of the columns of all views side by side, such as ``left__age``."""
        check_is_fitted(self)
        given = getattr(self, "feature_names_in_", input_features)
        names = [f"x{column}" for column in range(self.n_features_in_)] if given is None else list(given)
        out = [f"{view}__{names[column]}" for view, columns in self.columns_.items() for column in columns]
        return np.array(out, dtype=object)

    def _check(self, X: Any, *, reset: bool) -> Matrix:
        return validate_data(
            self,
            X,
            reset=reset,
            accept_sparse="csr",
            dtype=[np.float64, np.float32],
            ensure_all_finite="allow-nan",
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = []
        return tags


class JoinViews(ViewsMixin, TransformerMixin, Estimator):
    """Make one array of views, for a step that takes one.

    Parameters
    ----------
    how : {'concatenate', 'mean'}
        'concatenate' puts the views side by side, NaN where a row lacks one. 'mean' takes the mean of the
        views that a row has, which have to be of one width, as the projections of a model are.

    Attributes
    ----------
    view_names_ : tuple of str
        Names of the views seen in ``fit``.
    dims_ : tuple of int
        Their numbers of features.

    Examples
    --------
    >>> import numpy as np
    >>> views = [[[1.0], [2.0]], [[3.0], [np.nan]]]
    >>> JoinViews().fit_transform(views)
    array([[ 1.,  3.],
           [ 2., nan]])
    >>> JoinViews("mean").fit_transform(views)
    array([[2.],
           [2.]])
    """

    _parameter_constraints: ClassVar[Constraints] = {"how": [StrOptions({"concatenate", "mean"})]}

    def __init__(self, how: str = "concatenate") -> None:
        self.how = how

    def fit(self, views: Any, y: Any = None) -> Self:
        """Remember names and widths of the views."""
        self._validate_params()
        views = check_views(views)
        if self.how == "mean" and len(set(views.dims)) > 1:
            raise ValueError(f"how='mean' needs views of one width; these have {views.dims} features")
        self.view_names_, self.dims_ = views.names, views.dims
        return self

    def transform(self, views: Any) -> Matrix:
        """Join the views of each row; sparse if all views are sparse and complete."""
        views = self._check_seen(views)
        if self.how == "mean":
            return _mean(views)
        if views.complete and all(sparse.issparse(x) for x in views):
            return sparse.hstack(list(views), format="csr")
        return np.asarray(views)

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """Names of the columns, such as ``en_0``, or ``mean0``."""
        check_is_fitted(self)
        if self.how == "mean":
            return np.array([f"mean{column}" for column in range(self.dims_[0])], dtype=object)
        pairs = zip(self.view_names_, self.dims_, strict=True)
        return np.array([f"{view}_{column}" for view, dim in pairs for column in range(dim)], dtype=object)


def _positions(view: str, columns: Any, n_columns: int, names: list[str]) -> NDArray[np.int64]:
    """Return positions of columns given by a slice, positions, a mask or names."""
    if isinstance(columns, slice):
        found = np.arange(n_columns)[columns]
    elif not isinstance(columns, Iterable) or isinstance(columns, str):
        raise TypeError(f"view {view!r}: expected a slice or a sequence of columns, got {columns!r}")
    else:
        found = _listed(view, list(columns), n_columns, names)
    if not len(found):
        raise ValueError(
            f"view {view!r} has no columns; X has {n_columns} feature(s). Leave the view out, or name others"
        )
    return found.astype(np.int64)


def _listed(view: str, columns: list[Any], n_columns: int, names: list[str]) -> NDArray[Any]:
    if columns and all(isinstance(column, str) for column in columns):
        unknown = [column for column in columns if column not in names]
        if unknown:
            known = f"the columns are {', '.join(names)}" if names else "the array has no column names"
            raise ValueError(f"view {view!r}: no column named {unknown[0]!r}; {known}")
        return np.array([names.index(column) for column in columns])
    found = np.asarray(columns)
    if found.dtype.kind == "b":
        if len(found) != n_columns:
            raise ValueError(f"view {view!r}: the mask has {len(found)} entries for {n_columns} columns")
        return np.flatnonzero(found)
    if len(found) and (found.dtype.kind not in "iu" or found.ndim != 1):
        raise TypeError(f"view {view!r}: expected positions, a mask or names of columns, got {columns!r}")
    wrong = [column for column in found.tolist() if not -n_columns <= column < n_columns]
    if wrong:
        raise ValueError(f"view {view!r}: no column {wrong[0]}; X has {n_columns} feature(s), counted from 0")
    return found % n_columns


def _mean(views: Views) -> Array:
    """Mean of the views that each row has; NaN for rows without any."""
    total = np.zeros((len(views), views.dims[0]))
    for x, mask in zip(views, views.present.T, strict=True):
        total[mask] += x.toarray() if sparse.issparse(x) else x
    counts = views.present.sum(axis=1, keepdims=True)
    np.divide(total, counts, out=total, where=counts > 0)
    total[counts[:, 0] == 0] = np.nan
    return total
