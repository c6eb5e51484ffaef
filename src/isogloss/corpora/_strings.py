"""Long lists of strings in two arrays, which can be memory-mapped."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

STRINGS_PER_CHUNK = 1 << 16


class StringTable(Sequence[str]):
    """A sequence of strings: their concatenated UTF-8, and the offset of each.

    Parameters
    ----------
    text : array of uint8
        The concatenated strings.
    offsets : array of int64
        Start of each string, and the end of the last one.

    Examples
    --------
    >>> table = StringTable.of(["hiša", "", "dom"])
    >>> table[0], table[-1], len(table), table.text.nbytes
    ('hiša', 'dom', 3, 8)
    >>> list(table[[2, 0]])
    ['dom', 'hiša']
    """

    def __init__(self, text: NDArray[np.uint8], offsets: NDArray[np.int64]) -> None:
        self.text, self.offsets = text, offsets

    @classmethod
    def of(cls, strings: Iterable[str]) -> StringTable:
        """Make a table of strings; lone surrogates are kept."""
        encoded = [string.encode("utf-8", "surrogatepass") for string in strings]
        offsets = np.zeros(len(encoded) + 1, dtype=np.int64)
        np.cumsum([len(part) for part in encoded], out=offsets[1:])
        return cls(np.frombuffer(b"".join(encoded), dtype=np.uint8), offsets)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __iter__(self) -> Iterator[str]:
        for first in range(0, len(self), STRINGS_PER_CHUNK):
            ends = self.offsets[first : first + STRINGS_PER_CHUNK + 1].tolist()
            text = self.text[ends[0] : ends[-1]].tobytes()
            for start, stop in pairwise(ends):
                yield text[start - ends[0] : stop - ends[0]].decode("utf-8", "surrogatepass")

    @overload
    def __getitem__(self, key: int) -> str: ...

    @overload
    def __getitem__(self, key: Any) -> Any: ...

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, int | np.integer):
            row = range(len(self))[int(key)]
            start, stop = self.offsets[row : row + 2].tolist()
            return self.text[start:stop].tobytes().decode("utf-8", "surrogatepass")
        return StringTable.of(self[row] for row in np.arange(len(self))[key])

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, StringTable):
            return NotImplemented
        return np.array_equal(self.offsets, other.offsets) and np.array_equal(self.text, other.text)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        shown = ", ".join(repr(self[row]) for row in range(min(3, len(self))))
        return f"StringTable({len(self)} strings: {shown}{', ...' if len(self) > 3 else ''})"
