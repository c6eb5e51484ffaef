r"""Exact nearest neighbours by inner product, without ever holding the table of similarities.

For queries :math:`x_i`, targets :math:`y_j` and a bias :math:`b_j` of every target, the ``k`` largest

.. math:: s_{ij} = \langle x_i, y_j \rangle + b_j

of every row :math:`i` and, in the same pass, of every column :math:`j` (with a bias of every row).

**What is exact.** Vectors are taken as float32; float64 input is rounded to it on entry. Their inner
products are accumulated in float64 in a fixed order, the bias is added in float64, and the ``k`` best are
those of *these* numbers, equal scores in the order of their indices. Neither the size of blocks nor the
number of threads nor the BLAS library changes a bit of the answer.

**How.** BLAS multiplies blocks in float32, and a compiled loop keeps a list per row (and column) that is a
little longer than ``k``. A float32 inner product is wrong by at most :math:`\gamma_d\,|x||y|`,
:math:`\gamma_d \approx d\,2^{-24}`, in whatever order it is summed [1]_. The listed candidates are therefore
scored again in float64, and where the bound leaves open whether a target outside the list belongs to the
``k`` best, the row is searched once more for everything within the bound. That happens to few rows unless
there are many exact ties.

**Cost.** One product of float32 matrices; at 300 dimensions and 50,000 targets about a sixth of it on top,
for both sides of a pass a quarter. Memory beside input and output: a block of 4 MB per thread and 8 bytes for
each place in a list; the lists of columns are kept once per thread. Threads go over blocks of rows; BLAS is
held to one thread in each.

References
----------
.. [1] N. J. Higham, *Accuracy and Stability of Numerical Algorithms*, 2nd ed., SIAM 2002, section 3.1.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_array

from isogloss import kernels
from isogloss.linalg._validation import check_count, check_vector
from isogloss.threads import count_threads, map_threads

Array = NDArray[np.float64]
Single = NDArray[np.float32]

# Rows and columns of a block: fast shapes for BLAS whose 4 MB stay in the cache until they are searched.
BLOCK_SHAPE = (512, 2048)
# Rows that are searched together when they are searched again, where every target may tie.
_REPEATED_ROWS = 16


class TopK(NamedTuple):
    """The best targets of every query, the best first.

    Attributes
    ----------
    scores : array of shape (n_queries, k), float64
        Inner products plus bias.
    indices : array of shape (n_queries, k), int64
        Rows of the targets.
    """

    scores: Array
    indices: NDArray[np.int64]


def top_k(
    queries: ArrayLike,
    targets: ArrayLike,
    k: int,
    *,
    bias: ArrayLike | None = None,
    n_jobs: int | None = None,
    block: tuple[int, int] = BLOCK_SHAPE,
) -> TopK:
    """The ``k`` targets with the largest inner product (plus bias) with each query.

    Parameters
    ----------
    queries, targets : arrays of shape (n_queries, d) and (n_targets, d)
        Dense vectors as rows; taken as float32.
    k : int
        How many, at most ``n_targets``.
    bias : array of shape (n_targets,), optional
        What to add to the inner products with each target; minus infinity leaves a target out.
    n_jobs : int or None
        Threads over blocks of queries; ``None`` is one, ``-1`` one per core.
    block : (int, int)
        Rows and columns of the blocks of similarities.

    Returns
    -------
    TopK
        ``scores`` and ``indices``, both of shape (n_queries, k); index -1 and score minus infinity where
        fewer than ``k`` targets are not left out.

    Examples
    --------
    >>> import numpy as np
    >>> from isogloss.linalg import top_k
    >>> compass = np.array([[0, 1], [1, 0], [0, -1], [-1, 0]])
    >>> scores, indices = top_k([[2, 1], [-1, -3]], compass, 2)
    >>> indices.tolist()
    [[1, 0], [2, 3]]
    >>> scores.tolist()
    [[2.0, 1.0], [3.0, 1.0]]
    >>> top_k([[2, 1]], compass, 2, bias=[1.5, 0, 0, 0]).indices.tolist()
    [[0, 1]]
    """
    rows, columns = _sides(queries, targets, ("queries", "targets"), None, bias)
    k = check_count(k, "k", 1, len(columns.vectors), "targets for each query")
    lists, _ = _scan(rows, columns, k, False, count_threads(n_jobs), _check_block(block))
    return _settle(rows, columns, lists, k, count_threads(n_jobs))


def top_k_both(
    rows: ArrayLike,
    columns: ArrayLike,
    k: int,
    *,
    row_bias: ArrayLike | None = None,
    column_bias: ArrayLike | None = None,
    n_jobs: int | None = None,
    block: tuple[int, int] = BLOCK_SHAPE,
) -> tuple[TopK, TopK]:
    """The ``k`` best columns of each row and the ``k`` best rows of each column, in one pass.

    Parameters
    ----------
    rows, columns : arrays of shape (n, d) and (m, d)
        Dense vectors as rows; taken as float32.
    k : int
        How many, at most ``min(n, m)``.
    row_bias : array of shape (n,), optional
        Added where rows compete for a column.
    column_bias : array of shape (m,), optional
        Added where columns compete for a row.
    n_jobs, block
        As in :func:`top_k`.

    Returns
    -------
    of_rows, of_columns : TopK
        The same as ``top_k(rows, columns, k, bias=column_bias)`` and ``top_k(columns, rows, k,
        bias=row_bias)``, to the bit.

    Examples
    --------
    >>> import numpy as np
    >>> from isogloss.linalg import top_k_both
    >>> of_rows, of_columns = top_k_both([[1, 0], [0, 1]], [[2, 1], [3, 0], [0, 5]], 1)
    >>> of_rows.indices.ravel().tolist(), of_columns.indices.ravel().tolist()
    ([1, 2], [0, 0, 1])
    """
    left, right = _sides(rows, columns, ("rows", "columns"), row_bias, column_bias)
    fewest = min(len(left.vectors), len(right.vectors))
    k, n_threads = check_count(k, "k", 1, fewest, "neighbours on both sides"), count_threads(n_jobs)
    of_rows, of_columns = _scan(left, right, k, True, n_threads, _check_block(block))
    return _settle(left, right, of_rows, k, n_threads), _settle(right, left, of_columns, k, n_threads)


def rescore(
    queries: ArrayLike, targets: ArrayLike, candidates: ArrayLike, *, bias: ArrayLike | None = None
) -> TopK:
    """Scores of given targets for each query, sorted; the numbers by which :func:`top_k` decides.

    Parameters
    ----------
    queries, targets : arrays of shape (n_queries, d) and (n_targets, d)
        Dense vectors as rows; taken as float32.
    candidates : integer array of shape (n_queries, c)
        Rows of the targets to score for each query.
    bias : array of shape (n_targets,), optional
        What to add to the inner products with each target.

    Examples
    --------
    >>> from isogloss.linalg import rescore
    >>> rescore([[2, 1]], [[0, 1], [1, 0], [4, 4]], [[0, 1]])
    TopK(scores=array([[2., 1.]]), indices=array([[1, 0]]))
    """
    rows, columns = _sides(queries, targets, ("queries", "targets"), None, bias)
    listed = np.array(candidates, dtype=np.int32, order="C")
    if listed.ndim != 2 or len(listed) != len(rows.vectors):
        raise ValueError(
            f"candidates have shape {listed.shape}; expected one row for each of {len(rows.vectors)} queries"
        )
    if listed.min(initial=0) < 0:
        raise ValueError(f"candidate {listed.min()}: a candidate is not a row of targets")
    return _rank(rows.vectors, columns, listed)


@dataclass(frozen=True, eq=False)
class _Side:
    """Vectors, what is added to products with them, and how large both are."""

    vectors: Single
    bias: Array
    rounded: Single
    norms: Array

    def error_with(self, other: _Side) -> Array:
        """Return a bound of the float32 rounding error of each vector's products with ``other``."""
        largest = np.abs(other.bias[np.isfinite(other.bias)]).max(initial=0.0)
        # Products with a zero vector, to which nothing is added, are exact.
        size = self.norms * other.norms.max() + largest
        error: Array = (self.vectors.shape[1] + 4) * (size * 2.0**-24 + np.sign(size) * 2.0**-126)
        return error


class _Lists(NamedTuple):
    """Heaps of the best float32 scores, the worst of each first, and their indices."""

    scores: Single
    indices: NDArray[np.int32]

    @classmethod
    def empty(cls, n: int, size: int) -> _Lists:
        return cls(np.full((n, size), -np.inf, np.float32), np.full((n, size), -1, np.int32))

    def part(self, chosen: slice) -> _Lists:
        return _Lists(self.scores[chosen], self.indices[chosen])


def _sides(
    x: ArrayLike, y: ArrayLike, names: tuple[str, str], x_bias: Any, y_bias: Any
) -> tuple[_Side, _Side]:
    left, right = (_side(v, name, b) for v, name, b in zip((x, y), names, (x_bias, y_bias), strict=True))
    if left.vectors.shape[1] != right.vectors.shape[1]:
        raise ValueError(
            f"{names[0]} have {left.vectors.shape[1]} dimensions and {names[1]} {right.vectors.shape[1]}; "
            "expected vectors of one space"
        )
    if not left.norms.max() * right.norms.max() < np.finfo(np.float32).max / 4:
        raise ValueError(
            f"inner products of {names[0]} and {names[1]} reach "
            f"{left.norms.max() * right.norms.max():.3g}, beyond float32; scale the vectors down"
        )
    return left, right


def _side(values: ArrayLike, name: str, bias: Any) -> _Side:
    vectors: Single = check_array(values, dtype=np.float32, order="C", input_name=name)
    n = len(vectors)
    added = np.zeros(n) if bias is None else check_bias(bias, n, f"bias of {name}")
    norms = np.sqrt(np.einsum("ij,ij->i", vectors, vectors, dtype=np.float64))
    return _Side(vectors, added, added.astype(np.float32), norms)


def _check_block(block: tuple[int, int]) -> tuple[int, int]:
    rows, columns = block
    return (
        check_count(rows, "block[0]", 1, 2**31 - 1, "rows of a block"),
        check_count(columns, "block[1]", 1, 2**31 - 1, "columns of a block"),
    )


def _list_size(k: int, n: int) -> int:
    """Places in a list: a few more than k, so that the rounding of float32 seldom leaves a doubt."""
    return min(n, k + 3 + k // 8)


def _scan(
    rows: _Side, columns: _Side, k: int, both: bool, n_threads: int, block: tuple[int, int]
) -> tuple[_Lists, _Lists]:
    """Lists of rows and of columns (empty ones unless ``both``) from one pass over all blocks."""
    n, m = len(rows.vectors), len(columns.vectors)
    of_rows = _Lists.empty(n, _list_size(k, m))
    starts = range(0, n, block[0])
    work = partial(_scan_rows, rows, columns, of_rows, _list_size(k, n) if both else 0, block)
    parts = map_threads(work, [starts[i::n_threads] for i in range(min(n_threads, len(starts)))], n_threads)
    return of_rows, _merge(parts)


def _scan_rows(
    rows: _Side, columns: _Side, of_rows: _Lists, column_places: int, block: tuple[int, int], starts: range
) -> _Lists:
    """Fill the lists of the rows of some blocks; gives the lists of all columns over these rows."""
    n, m = len(rows.vectors), len(columns.vectors)
    height, width = min(block[0], n), min(block[1], m)
    buffer = np.empty(height * width, np.float32)
    of_columns = _Lists.empty(m, column_places)
    floors = np.full(m if column_places else 0, -np.inf, np.float32)
    for i in starts:
        across = slice(i, min(i + height, n))
        for j in range(0, m, width):
            down = slice(j, min(j + width, m))
            shape = across.stop - i, down.stop - j
            products = buffer[: shape[0] * shape[1]].reshape(shape)
            np.matmul(rows.vectors[across], columns.vectors[down].T, out=products)
            best = of_rows.part(across)
            if column_places:
                biases, lists = (columns.rounded[down], rows.rounded[across]), of_columns.part(down)
                kernels.select_both(products, *biases, i, j, *best, *lists, floors[down])
            else:
                kernels.select_rows(products, columns.rounded[down], j, *best)
    return of_columns


def _merge(parts: list[_Lists]) -> _Lists:
    """The best of the lists that threads kept of the same columns, the worst of each first again."""
    if len(parts) == 1:
        return parts[0]
    scores, indices = (np.concatenate(arrays, axis=1) for arrays in zip(*parts, strict=True))
    size = parts[0].scores.shape[1]
    # An unfilled place has index -1, which sorts behind every other one when taken as unsigned.
    order = np.lexsort((indices.view(np.uint32), -scores), axis=1)[:, :size][:, ::-1]
    return _Lists(np.take_along_axis(scores, order, axis=1), np.take_along_axis(indices, order, axis=1))


def _settle(rows: _Side, columns: _Side, lists: _Lists, k: int, n_threads: int) -> TopK:
    """Exact scores of the listed candidates, and another look where the list may be too short."""
    n, listed = lists.scores.shape
    pieces = [slice(i, i + BLOCK_SHAPE[0]) for i in range(0, n, BLOCK_SHAPE[0])]
    worst = lists.scores[:, 0].astype(np.float64)
    ranked = map_threads(
        lambda piece: _rank(rows.vectors[piece], columns, lists.indices[piece]), pieces, n_threads
    )
    scores = np.concatenate([part.scores[:, :k] for part in ranked])
    indices = np.concatenate([part.indices[:, :k] for part in ranked])
    if listed == len(columns.vectors):
        return TopK(scores, indices)
    error = rows.error_with(columns)
    doubtful = np.flatnonzero((worst + error >= scores[:, -1]) & (error > 0) & np.isfinite(worst))
    again = partial(_search_again, rows, columns, scores, indices, error)
    map_threads(
        again, [doubtful[i : i + _REPEATED_ROWS] for i in range(0, len(doubtful), _REPEATED_ROWS)], n_threads
    )
    return TopK(scores, indices)


def _search_again(
    rows: _Side,
    columns: _Side,
    scores: Array,
    indices: NDArray[np.int64],
    error: Array,
    chosen: NDArray[np.int64],
) -> None:
    """Replace the answers of the chosen rows by the best of all targets that rounding may have hidden."""
    queries, k = rows.vectors[chosen], scores.shape[1]
    least = (scores[chosen, -1] - error[chosen])[:, None]
    found: list[list[NDArray[np.int64]]] = [[] for _ in chosen]
    for j in range(0, len(columns.vectors), BLOCK_SHAPE[1]):
        down = slice(j, j + BLOCK_SHAPE[1])
        near = queries @ columns.vectors[down].T + columns.rounded[down] >= least
        for hits, row in zip(found, near, strict=True):
            hits.append(np.flatnonzero(row) + j)
    for r, query, hits in zip(chosen, queries, found, strict=True):
        listed = np.concatenate(hits).astype(np.int32)[None]
        best = _rank(query[None], columns, listed)
        scores[r], indices[r] = best.scores[0, :k], best.indices[0, :k]


def _rank(queries: Single, columns: _Side, listed: NDArray[np.int32]) -> TopK:
    """Score and sort the listed candidates, whose array is used up."""
    return rank(queries, columns.vectors, columns.bias, listed)


def rank(queries: Single, targets: Single, bias: Array, listed: NDArray[np.int32]) -> TopK:
    """Score and sort listed targets; -1 is an empty place, which only a bias of minus infinity can leave.

    The array of listed targets is used up.
    """
    scores = np.empty(listed.shape)
    listed[listed < 0] = bias.argmin()
    kernels.rank_candidates(queries, targets, bias, listed, scores)
    indices = listed.astype(np.int64)
    indices[np.isneginf(scores)] = -1
    return TopK(scores, indices)


def check_bias(bias: ArrayLike, n: int, name: str) -> Array:
    """One number for each vector, finite or minus infinity."""
    out = np.asarray(bias, dtype=np.float64)
    check_vector(np.where(np.isneginf(out), 0.0, out), n, name)
    return out
