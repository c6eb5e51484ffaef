"""Joint counts of three discrete views: the moments from which spectral methods learn."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

Array = NDArray[np.float64]


class TripleCounts:
    """How often three discrete views took each combination of values; stored sparsely, with weights.

    Parameters
    ----------
    n_values : int
        Number of values of each view; codes run from zero. At most 2 ** 21, so that three fit into 63 bits.

    Examples
    --------
    >>> seen = TripleCounts(3).update([[0, 1, 2], [0, 1, 2], [2, 1, 0]])
    >>> seen.merge(TripleCounts(3).update([[0, 1, 2]])).total, len(seen)
    (4.0, 2)
    >>> seen.pairs(0, 2).toarray()[0]
    array([0., 0., 3.])
    """

    def __init__(self, n_values: int) -> None:
        if not 1 <= n_values <= 1 << 21:
            raise ValueError(f"n_values={n_values}; expected between 1 and {1 << 21}")
        self.n_values = int(n_values)
        self._keys: NDArray[np.int64] = np.empty(0, dtype=np.int64)
        self._values: Array = np.empty(0)

    def update(self, batch: ArrayLike, weights: ArrayLike | None = None) -> Self:
        """Count rows of three codes; rows with a missing value (-1) are left out."""
        codes = np.asarray(batch)
        if codes.size == 0:
            return self
        if codes.ndim != 2 or codes.shape[1] != 3 or codes.dtype.kind not in "iu":
            raise ValueError(
                f"got codes of shape {codes.shape} and dtype {codes.dtype}; expected integers, three columns"
            )
        if codes.max() >= self.n_values or codes.min() < -1:
            raise ValueError(
                f"a code lies outside 0 ... {self.n_values - 1}; expected those, or -1 if missing"
            )
        seen = (codes >= 0).all(axis=1)
        given = np.ones(len(codes)) if weights is None else np.asarray(weights, dtype=np.float64)
        if given.shape != (len(codes),) or not np.isfinite(given).all() or (given < 0).any():
            raise ValueError("weights do not fit: expected one number that is not negative for each row")
        rows = codes[seen].astype(np.int64)
        return self._add((rows[:, 0] * self.n_values + rows[:, 1]) * self.n_values + rows[:, 2], given[seen])

    def merge(self, other: TripleCounts) -> Self:
        """Add what ``other`` has counted."""
        if other.n_values != self.n_values:
            raise ValueError(f"cannot merge counts of {other.n_values} values into those of {self.n_values}")
        return self._add(other._keys, other._values)

    def _add(self, keys: NDArray[np.int64], values: Array) -> Self:
        both, places = np.unique(np.concatenate([self._keys, keys]), return_inverse=True)
        weights = np.concatenate([self._values, values])
        self._keys, self._values = (
            both,
            np.bincount(places, weights=weights, minlength=len(both)).astype(float),
        )
        return self

    def __len__(self) -> int:
        return len(self._keys)

    @property
    def total(self) -> float:
        """The sum of all counts."""
        return float(self._values.sum())

    @property
    def values(self) -> Array:
        """The count of each combination, in the order of ``codes``."""
        return self._values

    @property
    def codes(self) -> NDArray[np.int64]:
        """The combinations that were seen, one per row and sorted."""
        return np.column_stack(np.unravel_index(self._keys, (self.n_values,) * 3)).astype(np.int64)

    def pairs(self, first: int, second: int) -> Any:
        """Counts of two of the views together, as a sparse matrix."""
        codes, n = self.codes, self.n_values
        return sparse.coo_array((self._values, (codes[:, first], codes[:, second])), shape=(n, n)).tocsr()

    def singles(self, view: int) -> Array:
        """Counts of the values of one view."""
        sums = np.bincount(self.codes[:, view], weights=self._values, minlength=self.n_values)
        return sums.astype(float)

    def slices(self, first: Array, third: Array) -> Iterator[tuple[int, Array]]:
        r"""For each value b of the second view, the matrix :math:`\sum_{ac} n_{abc} F_{ai} T_{cl}`.

        Values that were never seen are left out. Nothing dense of three views is ever made.
        """
        codes = self.codes
        order = np.argsort(codes[:, 1], kind="stable")
        starts = np.flatnonzero(np.diff(codes[order, 1], prepend=-1))
        for run in np.split(order, starts[1:]) if len(order) else ():
            left = first[codes[run, 0]] * self._values[run, None]
            yield int(codes[run[0], 1]), left.T @ third[codes[run, 2]]

    def contract(self, first: Array, second: Array, third: Array) -> Array:
        r"""The array :math:`\sum_{abc} n_{abc} F_{ai} S_{bj} T_{cl}`."""
        out = np.zeros((first.shape[1], second.shape[1], third.shape[1]))
        for value, products in self.slices(first, third):
            out += products[:, None, :] * second[value][None, :, None]
        return out

    def arrays(self) -> dict[str, NDArray[Any]]:
        """The whole state as named arrays."""
        return {"n_values": np.array(self.n_values), "keys": self._keys, "values": self._values}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Self:
        """The counts that gave these arrays."""
        return cls(int(arrays["n_values"]))._add(arrays["keys"], np.asarray(arrays["values"], dtype=float))
