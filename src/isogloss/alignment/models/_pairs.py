"""The word pairs that ever occur together, each resolved once to a position in a table."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from isogloss.alignment._bitext import Bitext
from isogloss.engine import tree_reduce
from isogloss.kernels import pair_slots, pair_table

PAIRS_PER_BLOCK = 1_000_000
"""Sentence pairs whose word pairs are gathered at a time."""

INDEX_CELLS = 1 << 28
"""Word pairs up to which their positions are held when nothing else was asked for: a gigabyte."""


class Text(NamedTuple):
    """The arrays of a bitext as the compiled loops read them."""

    source: NDArray[np.int32]
    source_offsets: NDArray[np.int64]
    target: NDArray[np.int32]
    target_offsets: NDArray[np.int64]
    cells: NDArray[np.int64]
    slots: NDArray[np.int32]
    table_offsets: NDArray[np.int64]


@dataclasses.dataclass(frozen=True, eq=False)
class PairTable:
    """A CSR matrix of word pairs: a row per source word, the target words it meets in ascending order.

    Parameters
    ----------
    rows : array of int64, length n_source + 1
        Where each source word's pairs begin.
    columns : array of int32
        Target words.
    shape : (n_source, n_target)
        Sizes of the vocabularies.

    Examples
    --------
    >>> table = PairTable.of(Bitext.from_pairs([("the house", "la maison"), ("the", "la")]))
    >>> table.rows.tolist(), table.columns.tolist()
    ([0, 2, 4], [0, 1, 0, 1])
    """

    rows: NDArray[np.int64]
    columns: NDArray[np.int32]
    shape: tuple[int, int]

    @classmethod
    def of(cls, bitext: Bitext, *, threads: int = 1) -> PairTable:
        """The pairs of a bitext."""
        starts = range(0, max(len(bitext), 1), PAIRS_PER_BLOCK)
        return tree_reduce((cls._of(bitext[k : k + PAIRS_PER_BLOCK], threads) for k in starts), cls.merge)

    @classmethod
    def _of(cls, bitext: Bitext, threads: int) -> PairTable:
        shape = len(bitext.source.vocabulary), len(bitext.target.vocabulary)
        s, t = bitext.source, bitext.target
        return cls(*pair_table(s.words, s.offsets, t.words, t.offsets, *shape, threads), shape)

    def __len__(self) -> int:
        return len(self.columns)

    @property
    def sources(self) -> NDArray[np.int32]:
        """The source word of every pair."""
        return np.repeat(np.arange(self.shape[0], dtype=np.int32), np.diff(self.rows))

    def merge(self, other: PairTable) -> PairTable:
        """The pairs of either; vocabularies may have grown between the two."""
        shape = max(self.shape[0], other.shape[0]), max(self.shape[1], other.shape[1])
        keys = np.union1d(self.keys(shape[1]), other.keys(shape[1]))
        sources, columns = np.divmod(keys, shape[1])
        rows = np.concatenate([[0], np.cumsum(np.bincount(sources, minlength=shape[0]))])
        return PairTable(rows, columns.astype(np.int32), shape)

    def select(self, keep: NDArray[np.bool_]) -> PairTable:
        """The pairs that ``keep`` says, in the same order."""
        kept = np.bincount(self.sources[keep], minlength=self.shape[0])
        return PairTable(np.concatenate([[0], np.cumsum(kept)]), self.columns[keep], self.shape)

    def keys(self, width: int) -> NDArray[np.int64]:
        """One ascending number per pair, given the width of a row."""
        return self.sources.astype(np.int64) * width + self.columns

    def find(self, other: PairTable) -> NDArray[np.int64]:
        """Position in ``other`` of every pair of this table; -1 where it has none."""
        width = max(self.shape[1], other.shape[1])
        mine, theirs = self.keys(width), other.keys(width)
        at = np.searchsorted(theirs, mine)
        at[at == len(theirs)] = 0
        return np.where(theirs[at] == mine, at, -1) if len(theirs) else np.full(len(mine), -1)

    def slots(self, bitext: Bitext, *, threads: int = 1) -> NDArray[np.int32]:
        """The position of every word pair of every sentence pair; -1 for pairs that are not here."""
        s, t, cells = bitext.source, bitext.target, bitext.cells
        out = np.empty(cells[-1], dtype=np.int32)
        width = max(self.shape[1], len(t.vocabulary))
        text = s.words, s.offsets, t.words, t.offsets, cells
        pair_slots(*text, self._rows(bitext), self.columns, width, threads, out)
        return out

    def _rows(self, bitext: Bitext) -> NDArray[np.int64]:
        """Row starts, with empty rows for source words that came later."""
        extra = len(bitext.source.vocabulary) - self.shape[0]
        return np.append(self.rows, np.full(extra, self.rows[-1])) if extra > 0 else self.rows


class IndexedBitext:
    """A bitext with its word pairs resolved, or resolved anew in every pass to save memory.

    Parameters
    ----------
    bitext : Bitext
        The text.
    table : PairTable
        Where its pairs are.
    table_offsets : array of int64, optional
        Where the position table of each sentence pair begins, for models that have one.
    keep : bool or None
        Hold the slots: four bytes per word pair. None holds them up to a gigabyte.
    threads : int
        How many look for the slots.
    """

    def __init__(
        self,
        bitext: Bitext,
        table: PairTable,
        *,
        table_offsets: NDArray[np.int64] | None = None,
        keep: bool | None = True,
        threads: int = 1,
    ) -> None:
        self.bitext, self.table, self.threads = bitext, table, threads
        self.table_offsets = np.zeros(len(bitext), np.int64) if table_offsets is None else table_offsets
        keep = bool(bitext.cells[-1] <= INDEX_CELLS) if keep is None else keep
        self._slots = table.slots(bitext, threads=threads) if keep else None

    def text(self) -> Text:
        """The arrays for the compiled loops, of the whole text."""
        return self._text(slice(0, len(self.bitext)))

    def blocks(self) -> Iterator[tuple[slice, Text]]:
        """The arrays of the whole text, or of one stretch after the other when slots are not held."""
        everything = iter([slice(0, len(self.bitext))])
        for rows in self.bitext.blocks() if self._slots is None else everything:
            yield rows, self._text(rows)

    def move(self, table: PairTable, to: NDArray[np.int32]) -> None:
        """Go over to another table, where pair ``k`` of this one is ``to[k]``, or nowhere (-1)."""
        self.table = table
        for start in range(0, 0 if self._slots is None else len(self._slots), PAIRS_PER_BLOCK):
            part = self._slots[start : start + PAIRS_PER_BLOCK]  # type: ignore[index]
            part[:] = np.where(part >= 0, to[part], np.int32(-1))

    def apart(self) -> tuple[IndexedBitext, NDArray[np.int32]]:
        """The same text with a slot of its own for every cell, and the slots that the cells had."""
        out = IndexedBitext(self.bitext, self.table, table_offsets=self.table_offsets, keep=False)
        slots = self.text().slots
        out._slots = np.arange(len(slots), dtype=np.int32)
        return out, slots

    def _text(self, rows: slice) -> Text:
        part = self.bitext[rows]
        s, t = part.source, part.target
        slots = self.table.slots(part, threads=self.threads) if self._slots is None else self._slots
        return Text(s.words, s.offsets, t.words, t.offsets, part.cells, slots, self.table_offsets[rows])
