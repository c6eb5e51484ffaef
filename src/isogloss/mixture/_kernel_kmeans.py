r"""k-means in the feature space of a kernel.

.. math:: \min_S \sum_k \sum_{i \in S_k} w_i \| \phi(x_i) - c_k \|^2, \qquad
          c_k = \frac{1}{|S_k|} \sum_{j \in S_k} w_j \phi(x_j), \qquad |S_k| = \sum_{j \in S_k} w_j.

Centroids stay implicit: the squared distance of a row to one is ([1]_ section 3.4.1, there without weights)

.. math:: \kappa(x, x) - \frac{2}{|S_k|} \sum_{j \in S_k} w_j \kappa(x, x_j)
          + \frac{1}{|S_k|^2} \sum_{j, l \in S_k} w_j w_l \kappa(x_j, x_l),

which for all rows and clusters is one product :math:`KA` with :math:`A_{jk} = w_j [j \in S_k] / |S_k|`,
the sums on the right being the diagonal of :math:`A'KA`.

References
----------
.. [1] J. Rupnik, *Multi-view canonical correlation analysis*, doctoral dissertation, Jožef Stefan
   International Postgraduate School; sections 3.1 and 3.4.1.
.. [2] D. Arthur and S. Vassilvitskii, *k-means++: the advantages of careful seeding*, SODA 2007.
.. [3] V. Roth, J. Laub, M. Kawanabe and J. M. Buhmann, *Optimal cluster preserving embedding of nonmetric
   proximity data*, IEEE PAMI 25(12), 2003.
"""

from __future__ import annotations

from collections.abc import Callable
from numbers import Real
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import pairwise_kernels
from sklearn.utils import assert_all_finite, check_random_state, gen_batches
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from isogloss._estimator import NON_NEGATIVE, POSITIVE_INT, Constraints, Estimator, StrOptions, warn_caller
from isogloss.linalg import check_count, check_symmetric, check_vector
from isogloss.views import Matrix

Array = NDArray[np.float64]
Labels = NDArray[np.int64]

KERNELS = ("linear", "rbf", "poly", "sigmoid", "cosine", "precomputed")

# What is put down to rounding, relative to the largest kernel value; single precision kernels reach 1e-7.
_GAIN_ROUNDING = 1e-6
# Two centroids are equally near when their distances agree to this many digits.
_TIE_TOL = 1e-12
# Rows whose kernel is evaluated at a time in prediction.
_BATCH_ROWS = 512


class KernelKMeans(ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin, Estimator):
    """Kernel k-means: clusters that are round in the feature space of a kernel, whatever their shape here.

    Parameters
    ----------
    n_clusters : int
        Number of clusters.
    kernel : {'linear', 'rbf', 'poly', 'sigmoid', 'cosine', 'precomputed'} or callable
        As in :func:`sklearn.metrics.pairwise.pairwise_kernels`. 'precomputed': ``fit`` takes the kernel
        matrix of the training rows, ``predict`` the kernel between new and training rows.
    gamma, degree, coef0 : float or None
        Parameters of the named kernels that have them; ``gamma=None`` is 1 / n_features.
    kernel_params : dict, optional
        Keyword arguments of a callable kernel.
    n_init : int
        Number of starts; the partition with the lowest inertia is kept, the earlier one if equal.
    max_iter : int
        Most iterations of one start.
    tol : float
        A start ends when an iteration lowers the inertia by no more than this fraction of it, or leaves
        the partition as it is.
    random_state : int, RandomState or None
        Seed of the starts; the same seed gives the same result.

    Attributes
    ----------
    labels_ : ndarray of shape (n_rows,)
        The nearest centroid of each training row: what ``predict`` says of it.
    inertia_ : float
        Weighted sum of squared distances to the nearest centroid, in feature space.
    inertia_trace_ : ndarray of shape (n_iter_ + 1,)
        Inertia at the start and after each iteration of the best start. It never rises.
    n_iter_ : int
        Iterations of the best start.
    X_fit_ : ndarray or CSR matrix of shape (n_rows, n_features_in_), or None
        Copy of the training rows, on which the kernel of a new row depends; None when precomputed.
    dual_coef_ : ndarray of shape (n_rows, n_clusters)
        Centroids as combinations of the training rows: weight over total weight of the cluster, or 0.
    centroid_norms_ : ndarray of shape (n_clusters,)
        Mean kernel value within each cluster: the squared length of its centroid.
    n_features_in_ : int
        Number of features; of training rows when precomputed.

    Notes
    -----
    *Memory and time.* ``fit`` holds the kernel matrix, n^2 doubles (800 MB for 10,000 rows; a precomputed
    one costs twice that beside itself while it is checked); an iteration costs n^2 k multiplications.
    ``predict`` takes 512 rows at a time. Above a few thousand rows approximate the feature map with
    :class:`sklearn.kernel_approximation.Nystroem`, which leaves a cost linear in n::

        make_pipeline(Nystroem(kernel="rbf", gamma=0.5, n_components=300), KMeans(8))

    With all components of ``KernelPCA`` in its place the inertia is that of kernel k-means exactly.

    *Starts* are those of greedy k-means++ [2]_ in feature space. Rows are drawn in the order of their
    distance to the mean of all rows, and clusters are numbered in that order: cluster 0 is that of the row
    nearest to the mean, cluster 1 that of the nearest row outside cluster 0, and so on. So neither the order
    of rows, nor a row repeated instead of given weight two, nor a row of weight zero changes the result,
    unless distances are tied. A row equally near to two centroids belongs to the lower number.

    *Empty clusters* are given the row that is farthest from its centroid among those that do not leave
    another cluster empty, which lowers the inertia. With fewer distinct rows than clusters some clusters
    stay without labels, with a warning.

    *Kernels that are not positive semi-definite* ('sigmoid' often) have no feature space: squared distances
    may be negative and an iteration may raise the inertia. Such an iteration is not taken, and either event
    ends in a ``ConvergenceWarning``. A large enough constant added to the diagonal makes a kernel definite
    and does not change which partition of rows with equal weights is best [3]_.

    *Precision.* Distances are differences of kernel values; centre rows that are far from the origin before
    using a linear or polynomial kernel.

    Examples
    --------
    >>> from sklearn.datasets import make_circles
    >>> X, ring = make_circles(200, factor=0.2, noise=0.05, random_state=0)
    >>> rings = KernelKMeans(2, kernel="rbf", gamma=2.0, random_state=0).fit(X)
    >>> bool(((rings.labels_ == 0) == (ring == 1)).all())
    True
    >>> rings.predict([[0.1, 0.1], [0.0, -1.1]])
    array([0, 1])
    """

    _parameter_constraints: ClassVar[Constraints] = {
        "n_clusters": [POSITIVE_INT],
        "kernel": [StrOptions(set(KERNELS)), callable],
        "gamma": [NON_NEGATIVE, None],
        "degree": [NON_NEGATIVE],
        "coef0": [Real],
        "kernel_params": [dict, None],
        "n_init": [POSITIVE_INT],
        "max_iter": [POSITIVE_INT],
        "tol": [NON_NEGATIVE],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        kernel: str | Callable[..., float] = "linear",
        gamma: float | None = None,
        degree: float = 3,
        coef0: float = 1,
        kernel_params: dict[str, Any] | None = None,
        n_init: int = 4,
        max_iter: int = 300,
        tol: float = 1e-6,
        random_state: Any = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    def fit(self, X: Matrix, y: Any = None, sample_weight: ArrayLike | None = None) -> Self:
        """Cluster the rows of ``X`` (the kernel matrix if precomputed); ``y`` is ignored."""
        self._validate_params()
        X = self._check_rows(X, reset=True)
        weight = _check_weights(sample_weight, X)
        rows = int(np.count_nonzero(weight))
        check_count(self.n_clusters, "n_clusters", 1, rows, f"at most one per weighted row, n_samples={rows}")
        K = check_symmetric(X, "the precomputed kernel X") if self._precomputed else self._kernel(X)
        order = _from_the_mean(K, weight)
        best, trace = self._best_start(K, weight, order)
        number = _numbering(best.labels[order], self.n_clusters)
        self.dual_coef_, self.centroid_norms_ = best.coef[:, number], best.norms[number]
        self.labels_ = _nearest(best.products[:, number], self.centroid_norms_)
        self.inertia_trace_, self.inertia_, self.n_iter_ = np.asarray(trace), trace[-1], len(trace) - 1
        self.X_fit_ = None if self._precomputed else X.copy()
        return self

    def predict(self, X: Matrix) -> Labels:
        """The nearest centroid of each row."""
        return _nearest(self._products(self._check_rows(X)), self.centroid_norms_)

    def transform(self, X: Matrix, self_kernel: ArrayLike | None = None) -> Array:
        """Distances in feature space to each centroid, (n_rows, n_clusters).

        ``self_kernel`` is for precomputed kernels alone, where it is needed: the kernel of each row with
        itself, which the kernel with the training rows does not tell.
        """
        return np.sqrt(self._squared_distances(X, self_kernel))

    def fit_transform(self, X: Matrix, y: Any = None, sample_weight: ArrayLike | None = None) -> Array:
        """Cluster the rows and give their distances to the centroids."""
        self.fit(X, sample_weight=sample_weight)
        return self.transform(X, self_kernel=np.diagonal(X) if self._precomputed else None)

    def score(self, X: Matrix, y: Any = None, sample_weight: Any = None, self_kernel: Any = None) -> float:
        """Minus the inertia of ``X``; ``self_kernel`` as in :meth:`transform`."""
        nearest = self._squared_distances(X, self_kernel).min(axis=1)
        return -float(_check_weights(sample_weight, nearest) @ nearest)

    @property
    def _precomputed(self) -> bool:
        return isinstance(self.kernel, str) and self.kernel == "precomputed"

    @property
    def _n_features_out(self) -> int:
        return int(self.dual_coef_.shape[1])

    def _check_rows(self, X: Matrix, reset: bool = False) -> Matrix:
        if not reset:
            check_is_fitted(self)
        sparse = False if self._precomputed else "csr"
        return validate_data(self, X, reset=reset, accept_sparse=sparse, dtype=np.float64)

    def _kernel(self, X: Matrix, Y: Matrix | None = None) -> Array:
        named = {"gamma": self.gamma, "degree": self.degree, "coef0": self.coef0}
        params = (self.kernel_params or {}) if callable(self.kernel) else named
        K = np.asarray(pairwise_kernels(X, Y, metric=self.kernel, filter_params=True, **params))
        assert_all_finite(K, input_name=f"the kernel matrix (kernel={self.kernel!r})")
        return K

    def _best_start(self, K: Array, weight: Array, order: Labels) -> tuple[_State, list[float]]:
        """Descend from each start; the lowest inertia wins, the earlier start if equal."""
        rng = check_random_state(self.random_state)
        starts = (_start(K, weight, order, self.n_clusters, rng) for _ in range(self.n_init))
        runs = [_descend(K, weight, coef, max_iter=self.max_iter, tol=self.tol) for coef in starts]
        lowest = min(run.trace[-1] for run in runs)
        best = next(run for run in runs if run.trace[-1] <= lowest * (1 + _TIE_TOL))
        _warn(best, any(run.indefinite for run in runs), self.max_iter)
        return best.state, best.trace

    def _products(self, X: Matrix) -> Array:
        """Inner products of rows and centroids."""
        if self._precomputed:
            return np.asarray(X @ self.dual_coef_)
        batches = gen_batches(X.shape[0], _BATCH_ROWS)
        return np.vstack([self._kernel(X[rows], self.X_fit_) @ self.dual_coef_ for rows in batches])

    def _self_kernel(self, X: Matrix, given: ArrayLike | None) -> Array:
        """The kernel of each row with itself, from small square blocks."""
        if self._precomputed:
            if given is None:
                raise ValueError(
                    "distances need the kernel of each row with itself, which a precomputed kernel with the "
                    "training rows does not hold; pass it as self_kernel (predict does not need it)"
                )
            return check_vector(given, X.shape[0], "self_kernel")
        batches = gen_batches(X.shape[0], 1 if callable(self.kernel) else _BATCH_ROWS)
        return np.concatenate([np.diagonal(self._kernel(X[rows])).copy() for rows in batches])

    def _squared_distances(self, X: Matrix, self_kernel: ArrayLike | None) -> Array:
        X = self._check_rows(X)
        squares = self._self_kernel(X, self_kernel)[:, None] - 2 * self._products(X) + self.centroid_norms_
        return np.maximum(squares, 0.0)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = not self._precomputed
        tags.input_tags.pairwise = self._precomputed
        return tags


class _State(NamedTuple):
    """Centroids (columns of ``coef``) and what the rows have to do with them."""

    coef: Array
    products: Array
    norms: Array
    labels: Labels
    gaps: Array
    """Squared distance of each row to its nearest centroid."""
    inertia: float


class _Run(NamedTuple):
    """The result of one start."""

    state: _State
    trace: list[float]
    converged: bool
    indefinite: bool


def _check_weights(sample_weight: ArrayLike | None, X: Matrix) -> Array:
    weight: Array = _check_sample_weight(sample_weight, X, dtype=np.float64)
    if weight.min() < 0 or not weight.any():
        raise ValueError("sample_weight is negative for a row, or zero for all; expected weights >= 0")
    return weight


def _from_the_mean(K: Array, weight: Array) -> Labels:
    """Rows of positive weight, by their distance to the mean of all rows."""
    distances = np.diagonal(K) - 2 * (K @ weight) / weight.sum()
    rows = np.flatnonzero(weight)
    return rows[np.argsort(distances[rows], kind="stable")]


def _start(K: Array, weight: Array, order: Labels, n_clusters: int, rng: Any) -> Array:
    """Greedy k-means++: rows drawn by squared distance, of a few candidates the one that helps most."""
    coef, n_candidates = np.zeros((len(K), n_clusters)), 2 + int(np.log(n_clusters))
    gaps = np.full(len(K), 4 * _largest(K))  # no row is as far from another: the first draw is by weight
    for column in coef.T:
        mass = np.cumsum((weight * gaps)[order])
        drawn = np.searchsorted(mass, mass[-1] * rng.uniform(size=n_candidates), side="right")
        candidates = order[np.minimum(drawn, len(order) - 1)]
        squares = np.diagonal(K) - 2 * K[candidates] + np.diagonal(K)[candidates, None]
        after = np.minimum(gaps, np.maximum(squares, 0.0))
        helps_most = (after @ weight).argmin()
        column[candidates[helps_most]], gaps = 1.0, after[helps_most]
    return coef


def _descend(K: Array, weight: Array, coef: Array, *, max_iter: int, tol: float) -> _Run:
    """Alternate centroids and assignments (Equations 3.2 and 3.3) while the inertia falls."""
    state, n_clusters, rounding = _assess(K, weight, coef), coef.shape[1], _GAIN_ROUNDING * _largest(K)
    partition = _fill_empty(state.labels, state.gaps, weight, n_clusters)
    trace, converged, indefinite = [state.inertia], False, bool(state.gaps.min() < -rounding)
    while not converged and len(trace) <= max_iter:
        proposal = _assess(K, weight, _centroids(partition, weight, n_clusters))
        fall = state.inertia - proposal.inertia
        indefinite |= bool(proposal.gaps.min() < -rounding or fall < -rounding * weight.sum())
        state = proposal if fall >= 0 else state
        trace.append(state.inertia)
        previous, partition = partition, _fill_empty(state.labels, state.gaps, weight, n_clusters)
        none_empty = np.array_equal(partition, state.labels)
        settled = (none_empty and fall <= tol * trace[-2]) or np.array_equal(partition, previous)
        converged = fall <= 0 or settled
    return _Run(state, trace, converged, indefinite)


def _assess(K: Array, weight: Array, coef: Array) -> _State:
    """The norms are the diagonal of A'KA."""
    products = K @ coef
    norms = np.einsum("ik,ik->k", coef, products)
    labels = _nearest(products, norms)
    gaps = np.diagonal(K) - 2 * products[np.arange(len(K)), labels] + norms[labels]
    return _State(coef, products, norms, labels, gaps, float(weight @ np.maximum(gaps, 0.0)))


def _nearest(products: Array, norms: Array) -> Labels:
    """The first of the nearest centroids, by squared distance less the kernel of the row with itself."""
    distances = norms - 2 * products
    slack = _TIE_TOL * (norms.max() + 2 * np.abs(products).max(axis=1, keepdims=True))
    return np.asarray((distances <= distances.min(axis=1, keepdims=True) + slack).argmax(axis=1))


def _fill_empty(labels: Labels, gaps: Array, weight: Array, n_clusters: int) -> Labels:
    """Give each empty cluster the farthest row that does not leave its own cluster empty."""
    labels, movable = labels.copy(), np.where(weight > 0, gaps, -np.inf)
    sizes = np.bincount(labels[weight > 0], minlength=n_clusters)
    for empty in np.flatnonzero(sizes == 0):
        farthest = np.where(sizes[labels] > 1, movable, -np.inf).argmax()
        sizes[[labels[farthest], empty]] += [-1, 1]
        labels[farthest] = empty
    return labels


def _centroids(labels: Labels, weight: Array, n_clusters: int) -> Array:
    coef = np.zeros((len(labels), n_clusters))
    coef[np.arange(len(labels)), labels] = weight
    return np.asarray(coef / coef.sum(axis=0))


def _numbering(labels: Labels, n_clusters: int) -> Labels:
    """Clusters in the order in which they are met, then those that are not."""
    met, first = np.unique(labels, return_index=True)
    return np.concatenate([met[np.argsort(first)], np.setdiff1d(np.arange(n_clusters), met)])


def _largest(K: Array) -> float:
    return float(max(K.max(), -K.min()))


def _warn(best: _Run, indefinite: bool, max_iter: int) -> None:
    k, found = best.state.coef.shape[1], len(np.unique(best.state.labels))
    message = ""
    if indefinite:
        message = (
            "the kernel is not positive semi-definite: squared distances are negative or an iteration raised "
            "the inertia; the best partition met is kept. Add a constant to the diagonal of the kernel"
        )
    elif not best.converged:
        message = f"the inertia still falls after max_iter={max_iter} iterations; raise max_iter or tol"
    elif found < k:
        message = f"only {found} of {k} clusters have rows: fewer rows than clusters are distinct"
    if message:
        warn_caller(message, ConvergenceWarning)
