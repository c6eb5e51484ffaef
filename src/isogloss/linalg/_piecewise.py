r"""Nearest neighbours by inner product among targets that come piece by piece, some of them as bytes.

A list per query, a little longer than the answer, is carried from piece to piece. A piece of vectors is
multiplied in float32; one of :class:`~isogloss.linalg.RoundedVectors` in bytes, at half the cost or less. At
the end the listed candidates are scored from the vectors themselves in float64, added in a fixed order.

The scores are therefore exact. So is the choice, where no piece was rounded, but for queries whose list may
have been too short for the rounding of float32; these are returned, to be searched for in another way. From
bytes, the choice is that of the best few, twice as many as are wanted and eight: hardly one answer in a
thousand is missed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_array

from isogloss import kernels
from isogloss.linalg._rounded import RoundedQueries, RoundedVectors
from isogloss.linalg._topk import TopK, check_bias, rank
from isogloss.linalg._validation import check_count
from isogloss.threads import count_threads, map_threads

Array = NDArray[np.float64]
Single = NDArray[np.float32]
Gather = Callable[[NDArray[np.int32]], Single]
"""The vectors of some targets by their numbers, which ascend."""

# Queries that are searched for together.
QUERIES_PER_BLOCK = 256
# Targets of a block of products, at least, and products of a block where there are few queries.
_MIN_BLOCK_TARGETS = 2048
_MIN_BLOCK_PRODUCTS = 1 << 17


class Settled(NamedTuple):
    """All candidates of every query, the best first, and whether one of the best k may be missing."""

    candidates: TopK
    doubtful: NDArray[np.bool_]


class PiecewiseSearch:
    """The best ``k`` targets of some queries.

    Parameters
    ----------
    queries : array of shape (n, d), float32
        Vectors as rows.
    k : int
        How many are wanted.
    candidates : int
        Places in a list.
    """

    def __init__(self, queries: Single, k: int, candidates: int) -> None:
        self.queries, self.k = queries, k
        self.scores = np.full((len(queries), candidates), -np.inf, np.float32)
        self.indices = np.full((len(queries), candidates), -1, np.int32)
        self._rounded: RoundedQueries | None = None
        self._longest = 0.0

    def scan(
        self, vectors: NDArray[np.floating], bias: Single, first: int, *, longest: float | None = None
    ) -> None:
        """Offer targets numbered from ``first`` on; a bias of minus infinity leaves one out.

        ``longest`` is the square of the length of the longest of them, if somebody knows it.
        """
        width = max(_MIN_BLOCK_TARGETS, _MIN_BLOCK_PRODUCTS // max(1, len(self.queries)))
        buffer = np.empty(len(self.queries) * min(width, len(vectors)), np.float32)
        for start in range(0, len(vectors), width):
            piece = vectors[start : start + width].astype(np.float32, copy=False)
            products = buffer[: len(self.queries) * len(piece)].reshape(len(self.queries), len(piece))
            np.matmul(self.queries, piece.T, out=products)
            kernels.select_rows(
                products, bias[start : start + width], first + start, self.scores, self.indices
            )
            known = float(np.einsum("ij,ij->i", piece, piece).max()) if longest is None else longest
            self._longest = max(self._longest, known)

    def scan_rounded(self, vectors: RoundedVectors, bias: Single, first: int) -> None:
        """Offer rounded targets numbered from ``first`` on."""
        if self._rounded is None:
            self._rounded = RoundedQueries.of(self.queries)
        self._rounded.offer(vectors, bias, first, self.scores, self.indices)

    def settle(self, gather: Gather, bias: Array | None = None) -> Settled:
        """Score the candidates again; ``bias`` has a number for every target."""
        worst = self.scores[:, 0].astype(np.float64)
        listed, places = np.unique(self.indices, return_inverse=True)
        empty = int(listed[0] < 0)
        listed = listed[empty:]
        # One more row, of score minus infinity, stands for empty places.
        vectors = np.concatenate([gather(listed), np.zeros((1, self.queries.shape[1]), np.float32)])
        added = np.append(np.zeros(len(listed)) if bias is None else bias[listed], -np.inf)
        local = np.where(self.indices < 0, len(listed), places.reshape(self.indices.shape) - empty)
        found = rank(self.queries, vectors, added, local.astype(np.int32))
        named = np.where(found.indices < 0, -1, np.append(listed, -1)[found.indices])
        doubtful = np.isfinite(worst) & (worst + self._error() >= found.scores[:, self.k - 1])
        return Settled(TopK(found.scores, named.astype(np.int64)), doubtful)

    def _error(self) -> Array:
        """Return a bound of the float32 rounding error of each query's products."""
        norms = np.sqrt(np.einsum("ij,ij->i", self.queries, self.queries, dtype=np.float64))
        unit = (self.queries.shape[1] + 4) * 2.0**-24
        return np.asarray(unit * norms * np.sqrt(self._longest) * (1 + unit))


def top_k_rounded(
    queries: ArrayLike,
    rounded: RoundedVectors,
    vectors: NDArray[np.floating],
    k: int,
    *,
    candidates: int | None = None,
    bias: ArrayLike | None = None,
    n_jobs: int | None = None,
) -> TopK:
    """The ``k`` targets with the largest inner product (plus bias) among the best by rounded products.

    Parameters
    ----------
    queries : array of shape (n_queries, d)
        Dense vectors as rows; taken as float32.
    rounded : RoundedVectors
        The targets as bytes.
    vectors : array of shape (n_targets, d), float32 or float16
        The targets themselves, by which candidates are scored again.
    k : int
        How many, at most ``n_targets``.
    candidates : int, optional
        How many to score again, for each query; twice ``k`` and eight by default.
    bias : array of shape (n_targets,), optional
        What to add to the inner products with each target; minus infinity leaves a target out.
    n_jobs : int or None
        Threads over blocks of queries; ``None`` is one, ``-1`` one per core.

    Returns
    -------
    TopK
        Exact scores, and indices; index -1 and score minus infinity where fewer targets were not left out.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.random.default_rng(0).normal(size=(1000, 20)).astype(np.float32)
    >>> top_k_rounded(x[:3], RoundedVectors.of(x), x, 1).indices.ravel().tolist()
    [0, 1, 2]
    """
    x: Single = check_array(queries, dtype=np.float32, order="C", input_name="queries")
    n, d = vectors.shape
    if (n, d) != (len(rounded), rounded.dims) or x.shape[1] != d:
        raise ValueError(
            f"queries have {x.shape[1]} dimensions, {len(rounded)} rounded vectors {rounded.dims} and {n} "
            f"vectors {d}; expected the same vectors in both forms, and queries of the same space"
        )
    k = check_count(k, "k", 1, n, "targets for each query")
    listed = (
        min(n, 2 * k + 8) if candidates is None else check_count(candidates, "candidates", k, n, "targets")
    )
    added = np.zeros(n) if bias is None else check_bias(bias, n, "bias")

    def search(start: int) -> TopK:
        piece = PiecewiseSearch(x[start : start + QUERIES_PER_BLOCK], k, listed)
        piece.scan_rounded(rounded, added.astype(np.float32), 0)
        found = piece.settle(lambda rows: vectors[rows].astype(np.float32), added).candidates
        return TopK(found.scores[:, :k].copy(), found.indices[:, :k].copy())

    parts = map_threads(search, list(range(0, len(x), QUERIES_PER_BLOCK)), count_threads(n_jobs))
    return TopK(*(np.concatenate(arrays) for arrays in zip(*parts, strict=True)))
