r"""Products of huge cross-covariances with a random block, summed over rows.

A cross-covariance :math:`C_{ij}` of sparse views with :math:`10^5` features each cannot be formed,
but a randomised SVD only needs :math:`C_{ij}\,\Omega_j` for a thin :math:`\Omega_j`, and

.. math:: M_{ij}\,\Omega_j = \sum_r (x_{ri} - \bar x_i)\,(x_{rj}^\top\Omega_j - \bar z_j)^\top ,
          \qquad \bar z_j = \bar x_j^\top \Omega_j ,

is a sum over rows. Only the thin side needs centring, so sparse rows stay sparse. One pass over the
data gives one product; a power iteration is another pass with another block.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from isogloss.stats._base import fingerprint
from isogloss.stats._cross import CrossMoments, about_mean, column_means, row_blocks
from isogloss.threads import thread_bound
from isogloss.views import Matrix, Views

Array = NDArray[np.float64]


class Sketch:
    """Centred products ``X_i' (X_j Omega_j)`` for chosen ordered pairs of views.

    Parameters
    ----------
    dims : sequence of int
        Number of features of each view.
    blocks : mapping of int to array
        ``Omega_j`` (features of view j x k) by view position; the same k throughout.
    pairs : sequence of (int, int)
        The ordered pairs ``(i, j)`` wanted; every ``j`` needs a block.

    Notes
    -----
    Memory: ``sum over pairs of p_i x k`` doubles. Merging sketches of different blocks is refused.
    """

    def __init__(
        self, dims: Sequence[int], blocks: Mapping[int, Array], pairs: Sequence[tuple[int, int]]
    ) -> None:
        self.dims = tuple(int(d) for d in dims)
        self.blocks = {j: np.asarray(block, dtype=np.float64) for j, block in sorted(blocks.items())}
        self.pairs = tuple((int(i), int(j)) for i, j in pairs)
        _check_blocks(self.dims, self.blocks, self.pairs)
        self.blocks_id = fingerprint(*self.blocks.values())
        width = next(iter(self.blocks.values())).shape[1]
        self._sums = {pair: CrossMoments(self.dims[pair[0]], width) for pair in self.pairs}

    @thread_bound
    def update(self, batch: Views | Sequence[Matrix | None]) -> Self:
        """Add the rows of ``batch``; each pair takes the rows that have both of its views."""
        for rows in row_blocks(batch, self.dims):
            self._update_block(rows)
        return self

    def _update_block(self, batch: Views) -> None:
        for (i, j), sums in self._sums.items():
            x, y = batch.shared(i, j)
            if x.shape[0]:
                z, thin_mean = about_mean(np.asarray(y @ self.blocks[j]))
                sums.add(x.shape[0], column_means(x), thin_mean, np.asarray(x.T @ z))

    def merge(self, other: Sketch) -> Self:
        """Add the rows that ``other`` has seen with the same blocks."""
        if (self.dims, self.pairs, self.blocks_id) != (other.dims, other.pairs, other.blocks_id):
            raise ValueError("sketches of different views, pairs or random blocks do not add")
        for pair, sums in self._sums.items():
            sums.merge(other._sums[pair])
        return self

    def product(self, i: int, j: int) -> Array:
        """Centred ``X_i' X_j Omega_j`` over the rows that have both views."""
        return self._of(i, j).product

    def covariance(self, i: int, j: int, *, ddof: int = 1) -> Array:
        """``C_ij Omega_j``: the product divided by the rows shared, less ``ddof``."""
        return self._of(i, j).covariance(ddof)

    def count(self, i: int, j: int) -> int:
        """Rows that have both views."""
        return self._of(i, j).n

    def _of(self, i: int, j: int) -> CrossMoments:
        if (i, j) not in self._sums:
            raise ValueError(f"the pair {(i, j)} was not sketched; the pairs are {self.pairs}")
        return self._sums[i, j]

    def arrays(self) -> dict[str, NDArray[Any]]:
        """The whole state as named arrays."""
        out: dict[str, NDArray[Any]] = {
            "dims": np.array(self.dims, dtype=np.int64),
            "pairs": np.array(self.pairs, dtype=np.int64),
        }
        out |= {f"block.{j}": block for j, block in self.blocks.items()}
        for (i, j), sums in self._sums.items():
            out |= {f"{i}.{j}.{name}": array for name, array in sums.arrays().items()}
        return out

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Self:
        """The sketch that gave these arrays."""
        blocks = {int(key[6:]): a for key, a in arrays.items() if key.startswith("block.")}
        dims, pairs = arrays["dims"].tolist(), [(int(i), int(j)) for i, j in arrays["pairs"]]
        sums = {(i, j): CrossMoments.from_arrays(arrays, f"{i}.{j}.") for i, j in pairs}
        for (i, j), pair in sums.items():
            if pair.product.shape != (dims[i], blocks[j].shape[1]):
                raise ValueError(f"views of {dims} features with a {pair.product.shape} product {(i, j)}")
        out = cls(dims, blocks, pairs)
        out._sums = sums
        return out


def _check_blocks(
    dims: tuple[int, ...], blocks: Mapping[int, Array], pairs: Sequence[tuple[int, int]]
) -> None:
    if not pairs:
        raise ValueError("no pairs of views given; expected at least one (i, j)")
    for i, j in pairs:
        if not (0 <= i < len(dims) and 0 <= j < len(dims)):
            raise ValueError(f"the pair {(i, j)} names a view outside 0..{len(dims) - 1}")
        if j not in blocks:
            raise ValueError(f"the pair {(i, j)} needs a random block for view {j}")
    width = next(iter(blocks.values())).shape[-1]
    for j, block in blocks.items():
        if not 0 <= j < len(dims) or block.shape != (dims[j], width):
            raise ValueError(
                f"the block of view {j} has shape {block.shape}; expected one row for each feature of a view "
                f"(they have {dims}) and as many columns as the others"
            )
