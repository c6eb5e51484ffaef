"""Integer counts, over keys that turn up as they are seen and over fixed tables.

Both add and subtract to the bit, so a sliding window forgets exactly what it once learned.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

Key: TypeAlias = str | int | tuple[str | int, ...]


class Counts:
    """Integer counts by key: words, word pairs, documents that contain a word.

    Keys are strings, integers or tuples of these. ``batches`` is the number of ``update`` calls, each
    of which carries the keys of one document or sentence; document frequencies divide by it.

    Examples
    --------
    >>> seen = Counts().update(["a", "b", "a"])
    >>> seen["a"], seen["c"], len(seen)
    (2, 0, 2)
    >>> seen.merge(Counts().update(["c"])).subtract(Counts().update(["a", "b", "a"]))
    Counts(1 keys, 1 occurrences, 1 batches)
    """

    def __init__(self) -> None:
        self._table: Counter[Key] = Counter()
        self.batches = 0

    def update(self, batch: Iterable[Key]) -> Self:
        """Count every key of ``batch``; one bad key and nothing is counted."""
        if isinstance(batch, str):
            raise TypeError(f"got the text {batch[:20]!r}; expected its keys, a list of words say")
        self._table.update(Counter(iter(batch)))
        self.batches += 1
        return self

    def merge(self, other: Counts) -> Self:
        """Add what ``other`` has counted."""
        self._table.update(other._table)
        self.batches += other.batches
        return self

    def subtract(self, other: Counts) -> Self:
        """Take back what ``other`` has counted; keys that reach zero are forgotten."""
        for key, n in other._table.items():
            if n > self._table[key]:
                raise ValueError(f"cannot take away {n} x {key!r}: it was counted {self._table[key]} times")
        if other.batches > self.batches:
            raise ValueError(f"cannot take away {other.batches} batches of {self.batches}")
        for key, n in list(other._table.items()):
            self._table[key] -= n
            if not self._table[key]:
                del self._table[key]
        self.batches -= other.batches
        return self

    def __getitem__(self, key: Key) -> int:
        return self._table[key]

    def __contains__(self, key: Key) -> bool:
        return key in self._table

    def __len__(self) -> int:
        return len(self._table)

    def __iter__(self) -> Iterator[Key]:
        return iter(self._table)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Counts) and (self._table, self.batches) == (other._table, other.batches)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Counts({len(self)} keys, {self.total} occurrences, {self.batches} batches)"

    @property
    def total(self) -> int:
        """Number of occurrences of all keys."""
        return self._table.total()

    def items(self) -> Iterable[tuple[Key, int]]:
        """Keys with their counts."""
        return self._table.items()

    def most_common(self, n: int | None = None) -> list[tuple[Key, int]]:
        """Keys with the highest counts; equal counts in order of the keys as text."""
        ranked = sorted(self._table.items(), key=lambda item: (-item[1], str(item[0])))
        return ranked if n is None else ranked[:n]

    def arrays(self) -> dict[str, NDArray[Any]]:
        """The whole state as named arrays; keys as JSON text in UTF-8."""
        lines = (json.dumps(key, ensure_ascii=False, default=int) for key in self._table)
        text = "\n".join(lines).encode(errors="surrogatepass")
        return {
            "keys": np.frombuffer(text, dtype=np.uint8),
            "values": np.fromiter(self._table.values(), dtype=np.int64, count=len(self)),
            "batches": np.array(self.batches, dtype=np.int64),
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Self:
        """The counts that gave these arrays."""
        out = cls()
        text = arrays["keys"].tobytes().decode(errors="surrogatepass")
        keys = [json.loads(line) for line in text.split("\n")] if text else []
        values = arrays["values"].tolist()
        if len(keys) != len(values):
            raise ValueError(f"{len(keys)} keys and {len(values)} counts; expected as many")
        out._table = Counter({_as_key(key): n for key, n in zip(keys, values, strict=True)})
        out.batches = int(arrays["batches"])
        return out


class CountTable:
    """A dense integer table: how often each combination of small codes was seen.

    Parameters
    ----------
    shape : sequence of int
        Number of states of each variable.

    Examples
    --------
    >>> CountTable((2, 3)).update([[0, 2], [1, 0], [0, 2]]).table
    array([[0, 0, 2],
           [1, 0, 0]])
    """

    def __init__(self, shape: Sequence[int]) -> None:
        self.table = np.zeros(tuple(int(s) for s in shape), dtype=np.int64)

    def update(self, batch: ArrayLike) -> Self:
        """Count rows of integer codes, one column per axis of the table."""
        codes = np.asarray(batch)
        if codes.size == 0:
            return self
        if codes.ndim != 2 or codes.shape[1] != self.table.ndim or codes.dtype.kind not in "iu":
            raise ValueError(
                f"got codes of shape {codes.shape} and dtype {codes.dtype}; expected integers, "
                f"one row per observation and {self.table.ndim} columns"
            )
        if (codes < 0).any() or (codes >= self.table.shape).any():
            raise ValueError(f"a code lies outside the table of shape {self.table.shape}")
        flat = np.ravel_multi_index(tuple(codes.T.astype(np.intp)), self.table.shape)
        self.table += np.bincount(flat, minlength=self.table.size).reshape(self.table.shape)
        return self

    def merge(self, other: CountTable) -> Self:
        """Add what ``other`` has counted."""
        self._check_same_shape(other)
        self.table += other.table
        return self

    def subtract(self, other: CountTable) -> Self:
        """Take back what ``other`` has counted."""
        self._check_same_shape(other)
        if (other.table > self.table).any():
            raise ValueError("cannot take away more than was counted")
        self.table -= other.table
        return self

    def _check_same_shape(self, other: CountTable) -> None:
        if self.table.shape != other.table.shape:
            raise ValueError(f"cannot combine tables of shapes {other.table.shape} and {self.table.shape}")

    def arrays(self) -> dict[str, NDArray[Any]]:
        """The whole state as named arrays."""
        return {"table": self.table}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Self:
        """The table that gave these arrays."""
        out = cls(arrays["table"].shape)
        out.table[...] = arrays["table"]
        return out


def _as_key(value: Any) -> Key:
    return tuple(value) if isinstance(value, list) else value
