"""Sources of batches: row slices of data in memory, files, and given batches."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Generic, TypeVar

B = TypeVar("B")


class Rows:
    """Consecutive row slices of something with rows: an array, a sparse matrix, Views.

    Several row-aligned things (data and weights, say) give batches that are tuples; one gives plain
    slices. ``None`` stays ``None``.

    Parameters
    ----------
    *data : sliceable or None
        At least the first must not be None; all have the same number of rows.
    batch_rows : int
        Rows per batch. It is fixed, not derived from the number of workers, so that results do not
        depend on that number.

    Examples
    --------
    >>> import numpy as np
    >>> [load().tolist() for load in Rows(np.arange(5), batch_rows=2).loaders()]
    [[0, 1], [2, 3], [4]]
    """

    def __init__(self, *data: Any, batch_rows: int = 65_536) -> None:
        if not data or data[0] is None:
            raise ValueError("no data given; expected something with rows")
        if batch_rows < 1:
            raise ValueError(f"batch_rows={batch_rows}; expected at least 1")
        lengths = {x.shape[0] for x in data if x is not None}
        if len(lengths) > 1:
            raise ValueError(f"row-aligned data have unequal numbers of rows: {sorted(lengths)}")
        self.data = data
        self.n_rows = lengths.pop()
        self.batch_rows = batch_rows

    def loaders(self) -> Sequence[Callable[[], Any]]:
        """Return one callable per slice; each is pickled with its own rows only."""
        starts = range(0, max(self.n_rows, 1), self.batch_rows)
        return [_Slice(self.data, slice(start, start + self.batch_rows)) for start in starts]


class Batches(Generic[B]):
    """Given batches in memory."""

    def __init__(self, batches: Sequence[B]) -> None:
        self.batches = list(batches)

    def loaders(self) -> Sequence[Callable[[], B]]:
        """Return one callable per batch."""
        return [partial(_given, batch) for batch in self.batches]


class Files(Generic[B]):
    """One batch per file, read again in every pass, so that data can be larger than memory.

    Parameters
    ----------
    paths : sequence of path
        The files, in order. On a cluster every worker must reach them.
    read : callable
        Returns the batch of a path.
    """

    def __init__(self, paths: Sequence[str | Path], read: Callable[[Path], B]) -> None:
        self.paths = [Path(path) for path in paths]
        self.read = read
        missing = [str(path) for path in self.paths if not path.exists()]
        if missing:
            raise FileNotFoundError(f"{len(missing)} of {len(self.paths)} files are missing: {missing[0]}")

    def loaders(self) -> Sequence[Callable[[], B]]:
        """Return one callable per file."""
        return [partial(self.read, path) for path in self.paths]


class _Slice:
    """Slices rows when called, because slices of sparse rows are copies."""

    def __init__(self, data: tuple[Any, ...], rows: slice) -> None:
        self.data, self.rows = data, rows

    def __call__(self) -> Any:
        parts = tuple(None if x is None else x[self.rows] for x in self.data)
        return parts[0] if len(parts) == 1 else parts

    def __reduce__(self) -> tuple[Any, ...]:
        return partial, (_given, self())


def _given(batch: B) -> B:
    return batch
