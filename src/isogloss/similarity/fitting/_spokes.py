r"""Step 1 of hub CCA over blocks of rows: what other languages vary with the hub.

With :math:`C_{1j}` the covariance of the hub and language j over the rows that have both, the operator is

.. math:: U \mapsto \sum_j C_{1j} C_{j1} U, \qquad
          C_{j1} U = \frac{1}{n_j - 1} \sum_r x_{rj}\, (x_{r1}^\top U - \mu_{1j}^\top U) ,

two passes over the rows for some languages at a time, so that documents of the hub are multiplied once for
all of them. Only the thin side is centred, about means that a first pass has found, so sparse rows stay
sparse and what a pass adds up are plain arrays of (words x directions).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.linalg import LinearOperator

from isogloss.engine import Engine, Source
from isogloss.linalg import whitening_matrix
from isogloss.similarity.fitting._shards import Shards
from isogloss.stats import column_means
from isogloss.views import Matrix, Views

Array = NDArray[np.float64]
Single = NDArray[np.float32]

# Bytes that the products of the languages of one pass may take.
_BUDGET = 700e6


class SharedRows(NamedTuple):
    """Rows of the hub with one language: how many, and the means of both."""

    n: int
    hub: Array
    language: Array


class Group(NamedTuple):
    """Languages that one pass looks at."""

    names: tuple[str, ...]
    source: Source[Views]
    shared: list[SharedRows]


class Spokes(LinearOperator):
    """``sum of C_1j C_j1``, known by its products.

    A cluster keeps the documents of each group, the hub's with all of them. From ``width``, about the number
    of columns that will be asked for, follows how many languages a pass can take.
    """

    def __init__(self, shards: Shards, hub: str, engine: Engine, *, width: int) -> None:
        self.engine, self.dims = engine, dict(zip(shards.names, shards.dims, strict=True))
        others = [name for name in shards.names if name != hub]
        size = group_size(max(shards.dims), width, shards.n_blocks)
        self.groups = [
            self._group(shards, hub, others[start : start + size]) for start in range(0, len(others), size)
        ]
        super().__init__(np.dtype(np.float64), (self.dims[hub],) * 2)

    def _group(self, shards: Shards, hub: str, names: Sequence[str]) -> Group:
        source = self.engine.persist(shards.source([hub, *names]))
        return Group(tuple(names), source, self.engine.map_reduce(_shared, _merge, source))

    def _matmat(self, U: Array) -> Array:
        out = np.zeros((self.shape[0], U.shape[1]))
        for group in self.groups:
            out += self._inwards(group, self._outwards(group, U))
        return out

    def _outwards(self, group: Group, U: Array) -> list[Array]:
        """``C_j1 U`` for each language of a group."""
        # Products with sparse rows would copy a block in another order, once for every batch.
        U = np.ascontiguousarray(U)
        centres = [seen.hub @ U for seen in group.shared]
        sums: list[Array] = self.engine.map_reduce(_outward, _add_each, group.source, U, centres)
        for product, seen in zip(sums, group.shared, strict=True):
            product /= max(seen.n - 1, 1)
        return sums

    def _inwards(self, group: Group, blocks: list[Array]) -> Array:
        """Sum of ``C_1j blocks_j`` over a group."""
        for block, seen in zip(blocks, group.shared, strict=True):
            block /= max(seen.n - 1, 1)
        centres = [seen.language @ block for seen, block in zip(group.shared, blocks, strict=True)]
        total: Array = self.engine.map_reduce(_inward, add_into, group.source, blocks, centres)
        return total

    def bases(self, U: Array) -> dict[str, Single]:
        """Orthonormal bases of what varies with the directions ``U`` of the hub, for each other language."""
        out: dict[str, Single] = {}
        for group in self.groups:
            products = self._outwards(group, U)
            for name in group.names:
                out[name] = _basis(products.pop(0), self.dims[name])
        return out


def group_size(words: int, width: int, n_blocks: int) -> int:
    """Languages that a pass takes, as their sums fit a budget of memory."""
    return max(1, int(_BUDGET / (8 * words * width * waiting_sums(n_blocks))))


def waiting_sums(n_blocks: int) -> int:
    """Sums over blocks that an engine holds at a time: they wait for each other in a tree."""
    return 1 if n_blocks == 1 else int(np.ceil(np.log2(n_blocks))) + 1


def _basis(T: Array, words: int) -> Single:
    if words <= T.shape[1]:
        return np.eye(words, dtype=np.float32)
    return (T @ whitening_matrix(T.T @ T).matrix).astype(np.float32)


def _pairs(batch: Views) -> list[tuple[NDArray[np.bool_], Matrix]]:
    """For each language except the hub: the rows of the hub that have it, and its own rows."""
    hub = batch.present[:, 0]
    out = []
    for x, has in zip(batch.arrays[1:], batch.present.T[1:], strict=True):
        out.append((has[hub], x if hub[has].all() else x[hub[has]]))
    return out


def _shared(batch: Views) -> list[SharedRows]:
    """Counts and means of a block."""
    hub, out = batch.arrays[0], []
    for rows, x in _pairs(batch):
        n = int(rows.sum())
        means = (
            (column_means(hub[rows]), column_means(x))
            if n
            else (np.zeros(hub.shape[1]), np.zeros(x.shape[1]))
        )
        out.append(SharedRows(n, *means))
    return out


def _merge(left: list[SharedRows], right: list[SharedRows]) -> list[SharedRows]:
    out = []
    for a, b in zip(left, right, strict=True):
        share = b.n / max(a.n + b.n, 1)
        means = (a.hub + (b.hub - a.hub) * share, a.language + (b.language - a.language) * share)
        out.append(SharedRows(a.n + b.n, *means))
    return out


def _outward(batch: Views, U: Array, centres: Sequence[Array]) -> list[Array]:
    Z = np.asarray(batch.arrays[0] @ U)
    return [
        np.asarray(x.T @ (Z[rows] - centre)) for (rows, x), centre in zip(_pairs(batch), centres, strict=True)
    ]


def _inward(batch: Views, blocks: Sequence[Array], centres: Sequence[Array]) -> Array:
    hub = batch.arrays[0]
    W = np.zeros((hub.shape[0], blocks[0].shape[1]))
    for (rows, x), block, centre in zip(_pairs(batch), blocks, centres, strict=True):
        W[rows] += x @ block - centre
    return np.asarray(hub.T @ W)


def add_into(left: Array, right: Array) -> Array:
    """Add in place, as engines combine."""
    left += right
    return left


def _add_each(left: list[Array], right: list[Array]) -> list[Array]:
    return [add_into(a, b) for a, b in zip(left, right, strict=True)]
