"""The interface of statistics: add rows, merge another statistic, save and load."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any, Protocol, Self, runtime_checkable

import numpy as np
from numpy.typing import NDArray


@runtime_checkable
class Statistic(Protocol):
    """A summary of rows through which a model sees the data; summaries add.

    ``update`` adds a batch, ``merge`` adds what another instance has seen (the other is left as it
    was), both return ``self``. ``arrays`` and ``from_arrays`` carry the whole state to and from disk.
    """

    def update(self, batch: Any) -> Self:
        """Add the rows of a batch."""

    def merge(self, other: Self) -> Self:
        """Add the rows that ``other`` has seen."""

    def arrays(self) -> dict[str, NDArray[Any]]:
        """The whole state as named arrays."""

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Self:
        """The statistic that gave these arrays."""


def fingerprint(*arrays: NDArray[Any]) -> str:
    """Short digest of the exact contents, shapes and types of arrays."""
    digest = hashlib.sha256()
    for array in arrays:
        array = np.asarray(array)
        digest.update(f"{array.dtype.str}{array.shape}".encode())
        digest.update(np.ascontiguousarray(array).data)
    return digest.hexdigest()[:24]
