r"""CSLS: cosines corrected for words that are close to everything.

.. math::

    \mathrm{CSLS}(x, y) = 2\cos(x, y) - r_T(x) - r_S(y),

where :math:`r_T(x)` is the mean cosine of the query :math:`x` with its nearest targets and :math:`r_S(y)`
that of the target :math:`y` with its nearest sources [1]_. A query's own mean never changes its ranking; the
means of the targets are nearly all of the work.

**One answer, whichever way.** Vectors are scaled to length one and taken as float32; everything after that
follows the rule of :mod:`isogloss.linalg._topk`, float64 sums in a fixed order. A mean is therefore the same
number whether it was computed for one target or for all, and the ranking is by
:math:`\cos(x, y) - r_S(y)/2`, equal scores in the order of their indices.

**Lazily.** For a few queries most means are not needed. The nearest among *some* sources are never nearer
than the nearest among all, so a sample of the sources gives a lower bound of :math:`r_S(y)`, and with it an
upper bound of every score. Targets are listed for each query by that bound, and for the listed ones the
sources around the query, which are around them too, give a much better one. As long as one of the first
``k`` of a list has a bound only, its mean is computed and the list is sorted again. When the first ``k`` are
exact and above everything that is not listed, they are the answer. Sums round monotonically, so bounds stay
bounds in floating point, and the answer is that of the full pass to the bit.

References
----------
.. [1] A. Conneau, G. Lample, M. Ranzato, L. Denoyer, H. Jégou, *Word translation without
   parallel data*, ICLR 2018.
"""

from __future__ import annotations

import logging
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_array

from isogloss.engine import Batches, LocalEngine
from isogloss.linalg import TopK, check_count, check_vector, rescore, top_k, top_k_both
from isogloss.threads import thread_bound

Array = NDArray[np.float64]
Single = NDArray[np.float32]
Method = Literal["auto", "full", "lazy"]

logger = logging.getLogger(__name__)

# Sources in the sample that bounds the mean of every target.
_SAMPLE = 4096
# Sources around a query that bound the means of the targets listed for it.
_NEARBY = 2048
# Fewer means than this are not worth a pass over the sources of their own.
_FEW = 256


def unit_rows(X: ArrayLike, name: str = "X") -> Single:
    """Rows scaled to length one, as float32; rows of zeros stay.

    An array that is float32 and has this form already is given back as it is, without a copy.

    Examples
    --------
    >>> from isogloss.lexicon import unit_rows
    >>> unit_rows([[3.0, 4.0], [0.0, 0.0]]).tolist()
    [[0.6000000238418579, 0.800000011920929], [0.0, 0.0]]
    """
    rows = check_array(X, dtype=[np.float32, np.float64], order="C", input_name=name)
    norms = np.sqrt(np.einsum("ij,ij->i", rows, rows, dtype=np.float64))
    norms[norms == 0] = 1.0
    if rows.dtype == np.float32 and np.abs(norms - 1.0).max() < 2.0**-22:
        unchanged: Single = rows
        return unchanged
    scaled: Single = np.empty(rows.shape, np.float32)
    np.divide(rows, norms[:, None], out=scaled, casting="same_kind")
    return scaled


@thread_bound
def csls_means(
    rows: ArrayLike, columns: ArrayLike, neighbours: int = 10, *, n_jobs: int | None = None
) -> tuple[Array, Array]:
    """Mean cosine of every row with its nearest columns, and of every column with its nearest rows.

    Both come from one pass over the similarities.

    Parameters
    ----------
    rows, columns : arrays of shape (n, d) and (m, d)
        Vectors of two vocabularies in one space.
    neighbours : int
        Over how many nearest the mean is taken; over all if there are fewer.
    n_jobs : int or None
        Threads; ``None`` is one, ``-1`` one per core. The result does not depend on it.

    Examples
    --------
    >>> from isogloss.lexicon import csls_means
    >>> of_rows, of_columns = csls_means([[1, 0], [0, 1]], [[0, 2], [0, 3], [-1, 0]], neighbours=1)
    >>> of_rows.tolist(), of_columns.tolist()
    ([0.0, 1.0], [1.0, 1.0, 0.0])
    """
    x, y = unit_rows(rows, "rows"), unit_rows(columns, "columns")
    near = _check_neighbours(neighbours)
    if near <= min(len(x), len(y)):
        of_rows, of_columns = top_k_both(x, y, near, n_jobs=n_jobs)
        return _mean(of_rows.scores), _mean(of_columns.scores)
    return _means(x, y, near, n_jobs), _means(y, x, near, n_jobs)


@thread_bound
def csls_top_k(
    queries: ArrayLike,
    targets: ArrayLike,
    k: int = 10,
    *,
    sources: ArrayLike | None = None,
    neighbours: int = 10,
    method: Method = "auto",
    target_means: ArrayLike | None = None,
    n_jobs: int | None = None,
) -> TopK:
    """The ``k`` targets with the highest CSLS score for each query.

    Parameters
    ----------
    queries, targets : arrays of shape (n_queries, d) and (n_targets, d)
        Vectors in one space.
    k : int
        How many, at most ``n_targets``.
    sources : array of shape (n_sources, d), optional
        The vocabulary from which the queries come, over which the targets' means are taken; the queries
        themselves by default.
    neighbours : int
        Over how many nearest a mean is taken; over all if there are fewer.
    method : {'auto', 'full', 'lazy'}
        Compute the means of all targets, or of those alone that can be among the answers. Both give the
        same answer to the bit; 'auto' takes what should cost less.
    target_means : array of shape (n_targets,), optional
        The means of the targets, where they are known from an earlier :func:`csls_means`.
    n_jobs : int or None
        Threads; ``None`` is one, ``-1`` one per core. The result does not depend on it.

    Returns
    -------
    TopK
        ``scores`` (CSLS) and ``indices``, both of shape (n_queries, k).

    Examples
    --------
    The first target is near to everything, and therefore nothing special to either query:

    >>> from isogloss.lexicon import csls_top_k
    >>> targets = [[1, 1], [2, -1], [-1, 2]]
    >>> csls_top_k([[3, 1], [1, 3]], targets, 1, neighbours=2).indices.ravel().tolist()
    [1, 2]
    """
    x, y = unit_rows(queries, "queries"), unit_rows(targets, "targets")
    s = x if sources is None else unit_rows(sources, "sources")
    k, near = check_count(k, "k", 1, len(y), "targets for each query"), _check_neighbours(neighbours)
    if method not in ("auto", "full", "lazy"):
        raise ValueError(f"method={method!r}; expected 'auto', 'full' or 'lazy'")
    if target_means is not None:
        of_x, of_y = _means(x, y, near, n_jobs), check_vector(target_means, len(y), "target_means")
    elif method == "lazy" or (method == "auto" and _lazy_pays(len(x), len(y), len(s), k)):
        return _as_csls(_lazy(x, y, k, _Bounds(y, s, near, n_jobs), n_jobs), _means(x, y, near, n_jobs))
    elif s is x or np.array_equal(s, x):
        of_x, of_y = csls_means(x, y, near, n_jobs=n_jobs)
    else:
        of_x, of_y = _means(x, y, near, n_jobs), _means(y, s, near, n_jobs)
    return _as_csls(_biased(x, y, k, of_y, n_jobs), of_x)


@thread_bound
def csls_both(
    rows: ArrayLike, columns: ArrayLike, k: int = 1, *, neighbours: int = 10, n_jobs: int | None = None
) -> tuple[TopK, TopK]:
    """The ``k`` best columns of each row and the ``k`` best rows of each column, by CSLS.

    Takes two passes over the similarities, one for all the means and one for both rankings, where
    two calls of :func:`csls_top_k` would take more. What is best for each other is a mutual neighbour.

    Parameters
    ----------
    rows, columns : arrays of shape (n, d) and (m, d)
        Vectors of two vocabularies in one space.
    k : int
        How many, at most ``min(n, m)``.
    neighbours, n_jobs
        As in :func:`csls_top_k`.

    Examples
    --------
    >>> from isogloss.lexicon import csls_both
    >>> of_rows, of_columns = csls_both([[3, 1], [1, 3]], [[1, 1], [2, -1], [-1, 2]], neighbours=2)
    >>> of_rows.indices.ravel().tolist(), of_columns.indices.ravel().tolist()
    ([1, 2], [0, 0, 1])
    """
    x, y = unit_rows(rows, "rows"), unit_rows(columns, "columns")
    of_x, of_y = csls_means(x, y, neighbours, n_jobs=n_jobs)
    right, left = top_k_both(x, y, k, row_bias=-0.5 * of_x, column_bias=-0.5 * of_y, n_jobs=n_jobs)
    return _as_csls(right, of_x), _as_csls(left, of_y)


def _check_neighbours(neighbours: int) -> int:
    return check_count(neighbours, "neighbours", 1, 2**31 - 1, "nearest vectors to take the mean over")


def _mean(scores: Array) -> Array:
    """Means of rows, added from left to right: the same bits for any number of rows."""
    total: Array = scores[:, 0].copy()
    for column in scores.T[1:]:
        total += column
    total /= scores.shape[1]
    return total


def _means(x: Single, y: Single, neighbours: int, n_jobs: int | None) -> Array:
    """Mean cosine of every x with its nearest y."""
    return _mean(top_k(x, y, min(neighbours, len(y)), n_jobs=n_jobs).scores)


def _biased(x: Single, y: Single, k: int, means: Array, n_jobs: int | None) -> TopK:
    """The best by cos(x, y) - r(y) / 2."""
    return top_k(x, y, k, bias=-0.5 * means, n_jobs=n_jobs)


def _as_csls(found: TopK, means: Array) -> TopK:
    return TopK(2.0 * found.scores - means[:, None], found.indices)


def _lazy_pays(n_queries: int, n_targets: int, n_sources: int, k: int) -> bool:
    """Return whether the bounds and the means that will be needed ask for far fewer similarities.

    Far fewer, because those of the lazy way come in small pieces, and need is known only afterwards.
    """
    bounds = _SAMPLE * n_targets + n_queries * (n_sources + n_targets + _NEARBY * _width(k))
    needed = 2 * min(n_targets, n_queries * k) * n_sources
    return 2.5 * (bounds + needed) < n_targets * n_sources


def _width(k: int) -> int:
    """Targets that are listed for a query at first."""
    return 8 * k + 16


class _Bounds:
    """Means of targets over their nearest sources: lower bounds at first, exact where they are needed."""

    def __init__(self, targets: Single, sources: Single, neighbours: int, n_jobs: int | None) -> None:
        self.targets, self.sources = targets, sources
        self.neighbours, self.n_jobs = min(neighbours, len(sources)), n_jobs
        size = min(len(sources), max(_SAMPLE, self.neighbours))
        sample = np.sort(np.random.default_rng(0).choice(len(sources), size, replace=False))
        self.means = self._means_over(np.arange(len(targets)), sources[sample])
        self.exact = np.zeros(len(targets), dtype=bool)

    def raise_with(self, pairs: list[tuple[NDArray[np.int64], NDArray[np.int64]]]) -> None:
        """Raise the bounds of some targets to their means over some sources, where these are higher."""
        loose = [(which[~self.exact[which]], sources) for which, sources in pairs]
        raised = LocalEngine(self.n_jobs).map(self._mean_from_below, Batches(loose))
        for (which, _), load in zip(loose, raised.loaders(), strict=True):
            self.means[which] = np.maximum(self.means[which], load())

    def _mean_from_below(self, pair: tuple[NDArray[np.int64], NDArray[np.int64]]) -> Array:
        """Means in float32, less what rounding can have added to a product of two unit vectors."""
        which, sources = pair
        table = self.targets[which] @ self.sources[sources].T
        table.partition(len(sources) - self.neighbours, axis=1)
        error = (self.targets.shape[1] + 8) * 2.0**-24
        return np.asarray(table[:, -self.neighbours :].mean(axis=1, dtype=np.float64) - error)

    def settle(self, which: NDArray[np.int64]) -> None:
        """Replace the bounds of some targets by their means over all sources."""
        self.means[which], self.exact[which] = self._means_over(which, self.sources), True

    def _means_over(self, which: NDArray[np.int64], sources: Single) -> Array:
        targets = self.targets if len(which) == len(self.targets) else self.targets[which]
        return _means(targets, sources, self.neighbours, self.n_jobs)


def _lazy(x: Single, y: Single, k: int, bounds: _Bounds, n_jobs: int | None) -> TopK:
    """The best by cos(x, y) - r(y) / 2, with as few means as the bounds allow."""
    nearby = _nearby(x, bounds, n_jobs)
    scores, indices = np.full((len(x), k), -np.inf), np.empty((len(x), k), dtype=np.int64)
    left, width = np.arange(len(x)), min(len(y), _width(k))
    while len(left):
        listed = _biased(x[left], y, width, bounds.means, n_jobs)
        reachable = listed.scores >= scores[left, -1:]
        able = [row[reach] for row, reach in zip(listed.indices, reachable, strict=True)]
        bounds.raise_with(list(zip(able, nearby[left], strict=True)))
        best = _settle(x[left], y, k, listed.indices, bounds)
        scores[left], indices[left] = best.scores, best.indices
        complete = (best.scores[:, -1] > listed.scores[:, -1]) | (width == len(y))
        left, width = left[~complete], min(len(y), 4 * width)
        logger.debug("%d of %d means, %d queries left", bounds.exact.sum(), len(y), len(left))
    return TopK(scores, indices)


def _nearby(x: Single, bounds: _Bounds, n_jobs: int | None) -> NDArray[np.int64]:
    """The sources nearest to each query: those near to its candidates are mostly among them."""
    size = min(len(bounds.sources), max(_NEARBY, bounds.neighbours))
    return top_k(x, bounds.sources, size, n_jobs=n_jobs).indices


def _settle(x: Single, y: Single, k: int, listed: NDArray[np.int64], bounds: _Bounds) -> TopK:
    """The best ``k`` of the listed targets, with exact means for all that could be among them."""
    scores, indices = np.empty((len(x), k)), np.empty((len(x), k), dtype=np.int64)
    left = np.arange(len(x))
    while len(left):
        ranked = rescore(x[left], y, listed[left], bias=-0.5 * bounds.means)
        scores[left], indices[left] = ranked.scores[:, :k], ranked.indices[:, :k]
        loose = ~bounds.exact[ranked.indices]
        undecided = np.flatnonzero(loose[:, :k].any(axis=1))
        left = left[undecided]
        if len(left):
            bounds.settle(_wanted(ranked.indices[undecided], ranked.scores[undecided], loose[undecided], k))
    return TopK(scores, indices)


def _wanted(indices: NDArray[np.int64], scores: Array, loose: NDArray[np.bool_], k: int) -> NDArray[np.int64]:
    """Loosely bounded targets that are among the first k or, when these are few, could still come up."""
    wanted: NDArray[np.int64] = np.unique(indices[:, :k][loose[:, :k]])
    if len(wanted) < _FEW:
        reached = np.sort(np.where(loose, -np.inf, scores), axis=1)[:, -k]
        wanted = np.unique(indices[loose & (scores >= reached[:, None])])
    return wanted
