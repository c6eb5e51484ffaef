r"""Count, mean and centred second moment of the rows of every presence pattern.

Rows that have the same views make a group :math:`o`; a likelihood with missing views needs, per group,

.. math:: n_o, \qquad \bar x_o, \qquad \sum_r (x_r - \bar x_o)(x_r - \bar x_o)^\top

over the features of those views together. A group with fewer rows than features is smaller than its
second moment, so it is kept as the rows themselves until it grows. The summary is therefore never larger
than the rows, and never larger than the moments.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from isogloss.stats._cross import CrossMoments, about_mean
from isogloss.threads import thread_bound
from isogloss.views import Matrix, Views, check_views

Array = NDArray[np.float64]

_PATTERN_BLOCK_BYTES = 32 * 2**20


class Pattern(NamedTuple):
    """The rows that have exactly the given views.

    One of the last two is None: ``rows`` are the rows about their mean where they are few, ``product`` is
    the sum of their outer products where they are many.
    """

    views: tuple[int, ...]
    n: int
    mean: Array
    rows: Array | None
    product: Array | None


class PatternMoments:
    r"""Second moments of rows, one summary per set of views that rows have.

    Parameters
    ----------
    dims : sequence of int
        Number of features of each view.

    Notes
    -----
    Memory: per pattern :math:`d_o \min(n_o, d_o)` doubles for :math:`n_o` rows of :math:`d_o` features.
    Rows without any view are left out. Sparse rows are made dense, block by block.

    Examples
    --------
    >>> import numpy as np
    >>> from isogloss.views import Views
    >>> rows = Views([np.arange(6.0).reshape(3, 2), np.ones((3, 1))], present=[[1, 1], [1, 0], [1, 1]])
    >>> moments = PatternMoments(rows.dims).update(rows)
    >>> [(pattern.views, pattern.n) for pattern in moments.patterns()]
    [((0,), 1), ((0, 1), 2)]
    >>> moments.merge(moments).counts
    array([[6, 4],
           [4, 4]])
    """

    def __init__(self, dims: Sequence[int]) -> None:
        self.dims = tuple(int(d) for d in dims)
        if not self.dims or min(self.dims) < 1:
            raise ValueError(f"dims={self.dims}; expected the number of features of each view")
        self._sums: dict[tuple[int, ...], _Sum] = {}

    @thread_bound
    def update(self, batch: Views | Sequence[Matrix | None]) -> Self:
        """Add the rows of ``batch``, whatever views each of them has; None is a view that no row has."""
        batch = check_views(batch, min_rows=0, dims=self.dims)
        if batch.dims != self.dims:
            raise ValueError(f"the batch has views of {batch.dims} features; expected {self.dims}")
        if batch.complete:  # looking for patterns takes longer than the sums of narrow rows
            self._add(tuple(range(len(self.dims))), batch)
            return self
        for present, rows in batch.patterns():
            views = tuple(np.flatnonzero(present).tolist())
            if views:
                self._add(views, batch if len(rows) == len(batch) else batch[rows])
        return self

    def _add(self, views: tuple[int, ...], batch: Views) -> None:
        if not len(batch):
            return
        sums = self._of(views)
        size = max(1, _PATTERN_BLOCK_BYTES // (8 * sums.width))
        for start in range(0, len(batch), size):
            sums.add_rows(_stack(batch, views, slice(start, start + size)))

    def merge(self, other: PatternMoments) -> Self:
        """Add the rows that ``other`` has seen; ``other`` is left as it was."""
        self._check_same_views(other)
        for views, sums in list(other._sums.items()):
            self._of(views).merge(sums)
        return self

    def subtract(self, other: PatternMoments) -> Self:
        """Take back rows that were added before; exact in real arithmetic, as for ``ViewMoments``."""
        self._check_same_views(other)
        if any(sums.n > self._count(views) for views, sums in other._sums.items()):
            raise ValueError("cannot take away more rows than were added: compare the patterns of the two")
        for views, sums in list(other._sums.items()):
            mine = self._sums[views]
            mine.subtract(sums)
            if mine.n == 0:
                del self._sums[views]
        return self

    @property
    def n_rows(self) -> int:
        """Rows seen that have at least one view."""
        return sum(sums.n for sums in self._sums.values())

    @property
    def counts(self) -> NDArray[np.int64]:
        """Rows shared by each pair of views; on the diagonal, rows of each view."""
        out = np.zeros((len(self.dims),) * 2, dtype=np.int64)
        for views, sums in self._sums.items():
            out[np.ix_(views, views)] += sums.n
        return out

    def patterns(self) -> Iterator[Pattern]:
        """The patterns that rows have, in sorted order of their views."""
        for views in sorted(self._sums):
            yield self._sums[views].as_pattern(views)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """The whole state as named arrays."""
        kept = sorted(views for views, sums in self._sums.items() if sums.n)
        present = np.zeros((len(kept), len(self.dims)), dtype=bool)
        out: dict[str, NDArray[Any]] = {"dims": np.array(self.dims, dtype=np.int64), "present": present}
        for p, views in enumerate(kept):
            present[p, list(views)] = True
            out |= {f"{p}.{name}": array for name, array in self._sums[views].arrays().items()}
        return out

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Self:
        """The moments that gave these arrays."""
        out = cls(arrays["dims"].tolist())
        present = np.asarray(arrays["present"], dtype=bool)
        if present.ndim != 2 or present.shape[1] != len(out.dims):
            raise ValueError(f"patterns of shape {present.shape} for {len(out.dims)} views")
        for p, mask in enumerate(present):
            views = tuple(np.flatnonzero(mask).tolist())
            out._sums[views] = _Sum.from_arrays(arrays, f"{p}.", sum(out.dims[v] for v in views))
        return out

    def _of(self, views: tuple[int, ...]) -> _Sum:
        return self._sums.setdefault(views, _Sum(sum(self.dims[v] for v in views)))

    def _count(self, views: tuple[int, ...]) -> int:
        return self._sums[views].n if views in self._sums else 0

    def _check_same_views(self, other: PatternMoments) -> None:
        if self.dims != other.dims:
            raise ValueError(f"cannot combine moments of views {other.dims} with those of {self.dims}")


class _Sum:
    """Rows while they are at most as many as features, moments from then on."""

    __slots__ = ("moments", "rows", "width")

    def __init__(self, width: int) -> None:
        self.width = width
        self.rows = np.zeros((0, width))
        self.moments: CrossMoments | None = None

    @property
    def n(self) -> int:
        return len(self.rows) if self.moments is None else self.moments.n

    def add_rows(self, x: Array) -> None:
        if self.moments is None and len(self.rows) + len(x) <= self.width:
            self.rows = np.concatenate([self.rows, x])
            return
        _add_rows(self._as_moments(), x)

    def merge(self, other: _Sum) -> None:
        if other.moments is None:
            self.add_rows(other.rows)
        else:
            self._as_moments().merge(other.moments)

    def subtract(self, other: _Sum) -> None:
        taken = other.moments
        if taken is None:
            _add_rows(taken := CrossMoments(self.width, self.width), other.rows)
        self._as_moments().subtract(taken)

    def as_pattern(self, views: tuple[int, ...]) -> Pattern:
        if self.moments is not None:
            return Pattern(views, self.n, self.moments.mean_x, None, self.moments.product)
        rows, mean = about_mean(self.rows)
        return Pattern(views, self.n, mean, rows, None)

    def arrays(self) -> dict[str, NDArray[Any]]:
        return {"rows": self.rows} if self.moments is None else self.moments.arrays()

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]], prefix: str, width: int) -> Self:
        out = cls.__new__(cls)
        out.width, out.moments, out.rows = width, None, np.empty((0, 0))
        if prefix + "rows" in arrays:
            out.rows = np.array(arrays[prefix + "rows"], dtype=np.float64)
            shape: tuple[int, ...] = out.rows.shape[1:]
        else:
            out.moments = CrossMoments.from_arrays(arrays, prefix)
            shape = (len(out.moments.product),)
        if shape != (width,):
            raise ValueError(f"pattern {prefix[:-1]} has arrays of width {shape}; its views have {width}")
        return out

    def _as_moments(self) -> CrossMoments:
        if self.moments is None:
            self.moments = CrossMoments(self.width, self.width)
            _add_rows(self.moments, self.rows)
            self.rows = self.rows[:0]
        return self.moments


def _add_rows(moments: CrossMoments, x: Array) -> None:
    if len(x):
        centred, mean = about_mean(x)
        moments.add(len(x), mean, mean, centred.T @ centred)


def _stack(batch: Views, views: tuple[int, ...], rows: slice) -> Array:
    """The views side by side, dense; every row has all of them."""
    parts = [batch.arrays[v][rows] for v in views]
    return np.hstack([np.asarray(x.toarray() if issparse(x) else x, dtype=np.float64) for x in parts])
