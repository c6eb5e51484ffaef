r"""The quadratic form :math:`x'Ax` over a product of unit spheres, and the geometry of that product.

A point has one unit vector for each block (view): :math:`\|x^{(i)}\| = 1, i = 1 \dots m`. A factor
:math:`V` of :math:`r` columns has blocks :math:`V^{(i)}` of Frobenius norm 1, so that :math:`X = VV'`
has :math:`\mathrm{Tr}(B_i X) = 1`; a point is a factor of one column.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.linalg import LinearOperator, aslinearoperator
from sklearn.utils import check_array

from isogloss.linalg import ASYMMETRY, check_symmetric

Array = NDArray[np.float64]

DENSE_LIMIT = 15_000
"""Most features for which a matrix is factorised, a minute of work and four times 1.8 GB."""

# Columns that are multiplied at a time when an operator is written out as a matrix.
_CHUNK = 256


class Blocks:
    """Sizes of consecutive blocks, and what is done block by block."""

    def __init__(self, sizes: Sequence[int]) -> None:
        sizes = list(sizes)
        if not all(isinstance(size, Integral) and size >= 1 for size in sizes):
            raise ValueError(
                f"blocks={sizes}; expected the number of features of each view, integers from 1 up"
            )
        if len(sizes) < 2:
            raise ValueError(f"blocks={sizes} has {len(sizes)} view(s); a correlation needs at least two")
        self.sizes = tuple(int(size) for size in sizes)

    def __len__(self) -> int:
        return len(self.sizes)

    @cached_property
    def total(self) -> int:
        """N, the number of features of all views."""
        return sum(self.sizes)

    @cached_property
    def slices(self) -> list[slice]:
        """The slice of each block."""
        ends = np.cumsum(self.sizes)
        return [slice(int(end) - size, int(end)) for size, end in zip(self.sizes, ends, strict=True)]

    @cached_property
    def _starts(self) -> NDArray[np.intp]:
        return np.concatenate([[0], np.cumsum(self.sizes)[:-1]]).astype(np.intp)

    def inner(self, U: Array, V: Array) -> Array:
        """Frobenius inner product of each pair of blocks."""
        return np.add.reduceat(np.einsum("ij,ij->i", U, V), self._starts)

    def spread(self, values: Array) -> Array:
        """One value per block, repeated for its rows, as a column."""
        return np.repeat(values, self.sizes)[:, None]

    def normalise(self, V: Array) -> Array:
        """Blocks on their spheres: the map pi of section 5.2, with the first unit vector for a zero block."""
        norms = np.sqrt(self.inner(V, V))
        if not norms.all():
            V = V.copy()
            V[self._starts[norms == 0], 0] = 1.0
            norms[norms == 0] = 1.0
        return V / self.spread(norms)

    def normalise_columns(self, X: Array) -> Array:
        """Every column a point of its own."""
        norms = np.sqrt(np.add.reduceat(X * X, self._starts, axis=0))
        if not norms.all():
            X = X.copy()
            X[self._starts] += norms == 0
            norms[norms == 0] = 1.0
        return np.asarray(X / np.repeat(norms, self.sizes, axis=0))


class QuadraticForm:
    """A symmetric matrix that can be multiplied, and may also be there as entries.

    Attributes
    ----------
    blocks : Blocks
    matrix : ndarray of shape (N, N), or None when only products are to be had
    n_products : int
        Products of A with a vector so far.
    """

    def __init__(
        self, blocks: Blocks, matrix: Array | None = None, product: Callable[[Array], Array] | None = None
    ) -> None:
        self.blocks, self.matrix, self._product, self.n_products = blocks, matrix, product, 0

    def __call__(self, V: Array) -> Array:
        """Product of A and the columns of ``V``."""
        self.n_products += V.shape[1]
        if self.matrix is not None:
            return np.asarray(self.matrix @ V)
        assert self._product is not None
        return np.asarray(self._product(V), dtype=np.float64)

    def value(self, V: Array) -> float:
        """Tr(V'AV)."""
        return float(np.vdot(V, self(V)))

    @property
    def operator(self) -> LinearOperator:
        """Return a linear operator for SciPy's iterative solvers."""
        n = self.blocks.total
        return LinearOperator((n, n), matvec=lambda v: self(v.reshape(-1, 1)), dtype=np.float64)


def as_quadratic_form(A: Any, blocks: Sequence[int], *, dense_limit: int) -> QuadraticForm:
    """Check ``A`` and ``blocks``; up to ``dense_limit`` features the entries of A are written out.

    Parameters
    ----------
    A : ndarray, sparse matrix, LinearOperator or callable
        Symmetric, of shape (N, N). A callable multiplies arrays of shape (N, k).
    blocks : sequence of int
        Sizes of the blocks, which sum to N.
    dense_limit : int
        Most features for which an operator is turned into a matrix.
    """
    sizes = Blocks(blocks)
    n = sizes.total
    shape = (n, n) if callable(A) and not isinstance(A, LinearOperator) else np.shape(A)
    if shape != (n, n):
        raise ValueError(
            f"A has shape {shape}; expected ({n}, {n}), because blocks={list(sizes.sizes)} sum to {n}"
        )
    if not (callable(A) or sparse.issparse(A)):
        matrix = check_symmetric(A, "A")
        return (
            QuadraticForm(sizes, matrix)
            if n <= dense_limit
            else QuadraticForm(sizes, product=matrix.__matmul__)
        )
    if sparse.issparse(A):
        A = check_array(A, accept_sparse="csr", dtype=np.float64, input_name="A")
    product = aslinearoperator(A).matmat if not callable(A) or isinstance(A, LinearOperator) else A
    form = QuadraticForm(sizes, product=product)
    if n > dense_limit:
        _probe_symmetry(form)
        return form
    return QuadraticForm(sizes, matrix=check_symmetric(_entries(form), "A"))


def deflate(form: QuadraticForm, previous: Array) -> QuadraticForm:
    r"""The form :math:`PAP`, :math:`P^{(i)} = I - Z_i Z_i'`, where :math:`Z_i` spans block i of ``previous``.

    Its maximum over the spheres is that over unit vectors orthogonal, view by view, to earlier
    directions: the problem (4.8)-(4.11) of the next component.
    """
    blocks = form.blocks
    bases = [np.linalg.qr(previous[part])[0] for part in blocks.slices]

    def project(V: Array) -> Array:
        return np.vstack([V[s] - Z @ (Z.T @ V[s]) for s, Z in zip(blocks.slices, bases, strict=True)])

    if form.matrix is None:
        return QuadraticForm(blocks, product=lambda V: project(form(project(V))))
    matrix = project(project(form.matrix).T)
    return QuadraticForm(blocks, matrix=0.5 * (matrix + matrix.T))


def _entries(form: QuadraticForm) -> Array:
    n = form.blocks.total
    out = np.empty((n, n))
    for start in range(0, n, _CHUNK):
        width = min(_CHUNK, n - start)
        columns = np.zeros((n, width))
        columns[start : start + width] = np.eye(width)
        out[:, start : start + width] = form(columns)
    return out


def _probe_symmetry(form: QuadraticForm) -> None:
    """Refuse an operator whose products with two random vectors betray it."""
    U = np.random.default_rng(0).standard_normal((form.blocks.total, 2))
    AU = form(U)
    if AU.shape != U.shape or not np.isfinite(AU).all():
        raise ValueError(
            f"A times an array of shape {U.shape} gave shape {AU.shape}, finite or not; expected {U.shape}"
        )
    difference = abs(U[:, 0] @ AU[:, 1] - U[:, 1] @ AU[:, 0])
    if difference > ASYMMETRY * np.linalg.norm(AU) * np.linalg.norm(U):
        raise ValueError(f"A is not symmetric: u'Av and v'Au differ by {difference:.3g} for random u and v")
