r"""Vectors rounded to bytes, whose inner products are cheap.

A vector :math:`y` is kept as bytes :math:`\hat y` in [-127, 127] and one scale, a quarter of its size in
float32, and the query is rounded to seven bits. An inner product of rounded vectors costs half of one in
float32 and is wrong by about a thousandth of :math:`|x||y|`, for vectors of 500 components that are alike.

Rounded products are integers: the instruction set does not change an answer.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_array

from isogloss import kernels

Single = NDArray[np.float32]

_PANEL, _QUERIES, _QUAD = 16, 4, 4
_ZERO, _LARGEST = 64, 127


@dataclass(frozen=True, eq=False)
class RoundedVectors:
    """Vectors as bytes, in the order in which products read them.

    Parameters
    ----------
    packed : array of int8
        The bytes.
    sums : array of shape (n,), int32
        Sum of the bytes of each vector.
    scales : array of shape (n,), float32
        What a byte is worth in each.
    dims : int
        Dimensions.

    Examples
    --------
    >>> rounded = RoundedVectors.of([[1.0, -0.5], [0.0, 0.0]])
    >>> len(rounded), rounded.dims, rounded.sums.tolist()
    (2, 2, [63, 0])
    """

    packed: NDArray[np.int8]
    sums: NDArray[np.int32]
    scales: Single
    dims: int

    @classmethod
    def of(cls, vectors: ArrayLike) -> Self:
        """Round vectors, the rows of an array, each by its largest component."""
        x: Single = check_array(vectors, dtype=np.float32, input_name="vectors")
        scales = _scales(x, _LARGEST)
        rounded = np.rint(x / scales[:, None]).astype(np.int8)
        packed = np.empty(_packed_size(x.shape, _PANEL), np.int8)
        kernels.pack_targets(rounded, packed)
        return cls(packed, rounded.sum(axis=1, dtype=np.int32), scales, x.shape[1])

    def __len__(self) -> int:
        return len(self.sums)


@dataclass(frozen=True, eq=False)
class RoundedQueries:
    """Queries in seven bits, in the order in which products read them."""

    packed: NDArray[np.uint8]
    """The bytes, 64 standing for zero."""
    scales: Single
    """Size of a quantisation step of each vector. Shape (n,)."""
    dims: int
    """Dimensions."""

    @classmethod
    def of(cls, x: Single) -> Self:
        """Round queries, the rows of an array, each by its largest component."""
        scales = _scales(x, _ZERO - 1)
        codes = (np.rint(x / scales[:, None]) + _ZERO).astype(np.uint8)
        packed = np.empty(_packed_size(x.shape, _QUERIES), np.uint8)
        kernels.pack_queries(codes, packed)
        return cls(packed, scales, x.shape[1])

    def offer(
        self,
        targets: RoundedVectors,
        bias: Single,
        first: int,
        scores: Single,
        indices: NDArray[np.int32],
    ) -> None:
        """Offer the targets, numbered from ``first`` on, to the lists of the queries."""
        kernels.select_rounded(
            self.packed,
            self.scales,
            targets.packed,
            targets.sums,
            targets.scales,
            bias,
            self.dims,
            first,
            False,
            scores,
            indices,
        )


def _scales(x: Single, largest: int) -> Single:
    """Return the quantisation step of each row; 1 where all components are zero."""
    most = np.abs(x).max(axis=1)
    return np.where(most > 0, most / largest, 1.0).astype(np.float32)


def _packed_size(shape: tuple[int, ...], panel: int) -> int:
    n, d = shape
    return -(-n // panel) * panel * -(-d // _QUAD) * _QUAD
