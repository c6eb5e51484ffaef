"""A vocabulary in arrays: words as bytes and a sorted table of their hashes, both of which may be mapped."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple, overload

import numpy as np
from numpy.typing import NDArray

from isogloss.text import Vocabulary


class PackedWords(NamedTuple):
    """The arrays of a vocabulary.

    Attributes
    ----------
    letters : uint8 array
        All words in UTF-8, one after the other.
    ends : int64 array (words,)
        Where each of them ends.
    hashes : uint64 array (words,)
        Hashes of the words, ascending.
    columns : int32 array (words,)
        The column of the word of each hash.
    """

    letters: NDArray[np.uint8]
    ends: NDArray[np.int64]
    hashes: NDArray[np.uint64]
    columns: NDArray[np.int32]

    @classmethod
    def of(cls, words: Sequence[str]) -> PackedWords:
        """Return the arrays of distinct words."""
        encoded = [_encoded(word) for word in words]
        hashes = np.array([_hash(one) for one in encoded], dtype=np.uint64)
        order = np.argsort(hashes, kind="stable")
        if len(hashes) > 1 and (np.diff(np.sort(hashes)) == 0).any():
            raise ValueError(
                "two words have the same hash of 64 bits, or a word occurs twice; leave one of them out"
            )
        letters = np.frombuffer(b"".join(encoded), dtype=np.uint8)
        ends = np.cumsum([len(one) for one in encoded], dtype=np.int64)
        return cls(letters, ends, hashes[order], order.astype(np.int32))

    def word(self, column: int) -> str:
        """Return the word of a column."""
        start = int(self.ends[column - 1]) if column else 0
        return self.letters[start : int(self.ends[column])].tobytes().decode("utf-8", "surrogatepass")

    def find(self, word: str) -> int:
        """Return the column of a word; -1 if it has none."""
        encoded = _encoded(word)
        wanted = _hash(encoded)
        at = int(np.searchsorted(self.hashes, np.uint64(wanted)))
        if at == len(self.hashes) or int(self.hashes[at]) != wanted:
            return -1
        column = int(self.columns[at])
        start = int(self.ends[column - 1]) if column else 0
        return column if self.letters[start : int(self.ends[column])].tobytes() == encoded else -1


class PackedVocabulary(Vocabulary):
    """A vocabulary whose words are looked up in :class:`PackedWords`, without a dictionary in memory."""

    def __init__(self, packed: PackedWords) -> None:
        object.__setattr__(self, "words", _Words(packed))
        # Takes the place of the cached property.
        object.__setattr__(self, "index", _Columns(packed))


class _Words(Sequence[str]):
    """The words, decoded when they are asked for."""

    def __init__(self, packed: PackedWords) -> None:
        self.packed = packed

    def __len__(self) -> int:
        return len(self.packed.ends)

    @overload
    def __getitem__(self, at: int) -> str: ...
    @overload
    def __getitem__(self, at: slice) -> tuple[str, ...]: ...
    def __getitem__(self, at: int | slice) -> str | tuple[str, ...]:
        if isinstance(at, slice):
            return tuple(self.packed.word(column) for column in range(*at.indices(len(self))))
        if not -len(self) <= at < len(self):
            raise IndexError(f"{at} is no column of {len(self)}")
        return self.packed.word(at % len(self))


class _Columns(Mapping[str, int]):
    """Words and their columns."""

    def __init__(self, packed: PackedWords) -> None:
        self.packed = packed

    def __contains__(self, word: object) -> bool:
        return isinstance(word, str) and self.packed.find(word) >= 0

    def __getitem__(self, word: str) -> int:
        column = self.packed.find(word)
        if column < 0:
            raise KeyError(word)
        return column

    def __len__(self) -> int:
        return len(self.packed.ends)

    def __iter__(self) -> Iterator[str]:
        return (self.packed.word(column) for column in range(len(self)))


def _encoded(word: str) -> bytes:
    return word.encode("utf-8", "surrogatepass")


def _hash(encoded: bytes) -> int:
    return int.from_bytes(hashlib.blake2b(encoded, digest_size=8).digest(), "little")
