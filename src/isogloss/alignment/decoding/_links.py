"""Links between the words of many sentence pairs, in four arrays.

A link says that word ``source`` of a sentence and word ``target`` of its translation belong together,
both counted from zero. The links of sentence pair ``s`` are those from ``offsets[s]`` to
``offsets[s + 1]``, sorted by source and then by target.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, TypeAlias, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

Ints: TypeAlias = NDArray[np.int64]
Pair: TypeAlias = tuple[int, int]


class Links:
    """Links of ``n`` sentence pairs, each with a probability or none of them.

    Parameters
    ----------
    offsets : array of int, shape (n + 1,)
        Where the links of each sentence pair begin, and where those of the last one end.
    source, target : array of int, shape (n_links,)
        Positions of words, sorted within each sentence pair and different from each other.
    probability : array of float, shape (n_links,), optional
        How probable each link is.

    Examples
    --------
    >>> links = Links.from_sets([{(0, 0), (1, 2)}, set(), {(3, 1)}])
    >>> links
    Links(3 sentence pairs, 3 links)
    >>> links[0]
    array([[0, 0],
           [1, 2]], dtype=int32)
    >>> links[1:] == Links.from_sets([set(), {(3, 1)}])
    True
    >>> links.to_lists()
    [[(0, 0), (1, 2)], [], [(3, 1)]]

    An integer gives the links of one pair as rows (source, target); a slice, a mask or a list of numbers
    gives the ``Links`` of these pairs. The arrays cannot be written to. Memory: 8 bytes per link, 12 with
    probabilities, and 8 per sentence pair.
    """

    def __init__(
        self, offsets: ArrayLike, source: ArrayLike, target: ArrayLike, probability: ArrayLike | None = None
    ) -> None:
        self.offsets = _frozen(offsets, np.int64)
        self.source = _frozen(source, np.int32)
        self.target = _frozen(target, np.int32)
        self.probability = None if probability is None else _frozen(probability, np.float32)
        self._check()

    def _check(self) -> None:
        n = len(self.source)
        arrays = [self.target, *([] if self.probability is None else [self.probability])]
        if any(len(array) != n for array in arrays):
            raise ValueError(
                f"{n} sources and {[len(a) for a in arrays]} targets; expected arrays of one length"
            )
        fine = len(self.offsets) and self.offsets[0] == 0 and self.offsets[-1] == n
        if not fine or (np.diff(self.offsets) < 0).any():
            raise ValueError(f"offsets that do not rise from 0 to {n}, the number of links")
        if n and min(self.source.min(), self.target.min()) < 0:
            raise ValueError("a negative position; words are counted from zero")
        if (np.diff(link_keys(self)) <= 0).any():
            raise ValueError("links that are not sorted or repeat; use Links.from_arrays, which sorts them")

    @classmethod
    def from_arrays(
        cls,
        sentence: ArrayLike,
        source: ArrayLike,
        target: ArrayLike,
        probability: ArrayLike | None = None,
        *,
        n: int,
    ) -> Links:
        """Links in any order, each with the number of its sentence pair; of equal ones the likeliest stays.

        Examples
        --------
        >>> Links.from_arrays([1, 0, 1], [2, 0, 1], [0, 0, 5], n=2).to_lists()
        [[(0, 0)], [(1, 5), (2, 0)]]
        """
        s, i, j = (np.asarray(a, dtype=np.int64) for a in (sentence, source, target))
        p = None if probability is None else np.asarray(probability, dtype=np.float32)
        if s.size and not 0 <= s.min() <= s.max() < n:
            raise ValueError(f"sentence pairs {s.min()} to {s.max()}; expected 0 to {n - 1}")
        order = np.lexsort((j, i, s) if p is None else (-p, j, i, s))
        s, i, j = s[order], i[order], j[order]
        first = np.ones(len(s), dtype=bool)
        first[1:] = (np.diff(s) != 0) | (np.diff(i) != 0) | (np.diff(j) != 0)
        offsets = np.concatenate([[0], np.cumsum(np.bincount(s[first], minlength=n))])
        return cls(offsets, i[first], j[first], None if p is None else p[order][first])

    @classmethod
    def from_sets(cls, sentences: Iterable[Iterable[Pair]]) -> Links:
        """From one collection of (source, target) per sentence pair."""
        rows = [sorted(set(pairs)) for pairs in sentences]
        flat = np.array([pair for row in rows for pair in row], dtype=np.int64).reshape(-1, 2)
        return cls(np.cumsum([0, *map(len, rows)]), flat[:, 0], flat[:, 1])

    @classmethod
    def concatenate(cls, parts: Sequence[Links]) -> Links:
        """The sentence pairs of all parts, one part after the other."""
        counts = np.concatenate([part.counts for part in parts]) if parts else np.zeros(0, dtype=np.int64)
        source, target = (_joined([getattr(part, name) for part in parts]) for name in ("source", "target"))
        known = [part.probability for part in parts if part.probability is not None]
        if known and len(known) < len(parts):
            raise ValueError(f"{len(known)} of {len(parts)} parts have probabilities; expected all or none")
        return cls(
            np.concatenate([[0], np.cumsum(counts)]), source, target, _joined(known) if known else None
        )

    @property
    def n_links(self) -> int:
        """Number of links."""
        return len(self.source)

    @property
    def counts(self) -> Ints:
        """Number of links of each sentence pair."""
        return np.diff(self.offsets)

    @property
    def sentence(self) -> Ints:
        """Number of the sentence pair of each link."""
        return np.repeat(np.arange(len(self)), self.counts)

    def to_lists(self) -> list[list[Pair]]:
        """One sorted list of (source, target) per sentence pair."""
        pairs = list(zip(self.source.tolist(), self.target.tolist(), strict=True))
        ends = self.offsets.tolist()
        return [pairs[a:b] for a, b in itertools.pairwise(ends)]

    def to_sets(self) -> list[set[Pair]]:
        """One set of (source, target) per sentence pair."""
        return [set(row) for row in self.to_lists()]

    def select(self, keep: NDArray[np.bool_]) -> Links:
        """The links for which a mask is true, of as many sentence pairs.

        Examples
        --------
        >>> links = Links([0, 2], [0, 1], [0, 2], [0.9, 0.2])
        >>> links.select(links.probability > 0.5).to_lists()
        [[(0, 0)]]
        """
        running = np.concatenate([[0], np.cumsum(keep)])
        p = None if self.probability is None else self.probability[keep]
        return Links(running[self.offsets], self.source[keep], self.target[keep], p)

    def swapped(self) -> Links:
        """Source and target exchanged."""
        return Links.from_arrays(self.sentence, self.target, self.source, self.probability, n=len(self))

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @overload
    def __getitem__(self, rows: int) -> NDArray[np.int32]: ...
    @overload
    def __getitem__(self, rows: slice | ArrayLike) -> Links: ...
    def __getitem__(self, rows: Any) -> Any:
        chosen = np.arange(len(self))[rows]
        if chosen.ndim == 0:
            a, b = self.offsets[chosen], self.offsets[chosen + 1]
            return np.column_stack([self.source[a:b], self.target[a:b]])
        counts = self.counts[chosen]
        offsets = np.concatenate([[0], np.cumsum(counts)])
        at = np.repeat(self.offsets[chosen] - offsets[:-1], counts) + np.arange(offsets[-1])
        p = None if self.probability is None else self.probability[at]
        return Links(offsets, self.source[at], self.target[at], p)

    def __iter__(self) -> Iterator[NDArray[np.int32]]:
        for row in range(len(self)):
            yield self[row]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Links):
            return NotImplemented
        names = ("offsets", "source", "target", "probability")
        return all(np.array_equal(getattr(self, n), getattr(other, n)) for n in names)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        note = "" if self.probability is None else ", with probabilities"
        return f"Links({len(self)} sentence pairs, {self.n_links} links{note})"


def widths(*several: Links) -> Pair:
    """One more than the largest source and target positions."""
    return (
        max((int(links.source.max()) + 1 for links in several if links.n_links), default=1),
        max((int(links.target.max()) + 1 for links in several if links.n_links), default=1),
    )


def link_keys(links: Links, width: Pair | None = None) -> Ints:
    """One number per link, which rises with sentence pair, source and target.

    Keys of several ``Links`` compare when they are made with the same ``width``.
    """
    rows, columns = widths(links) if width is None else width
    if len(links) * rows * columns >= 2**63:
        raise ValueError(
            f"positions up to {rows} and {columns} in {len(links)} sentence pairs; too many to number"
        )
    keys: Ints = (links.sentence * rows + links.source) * columns + links.target
    return keys


def _frozen(values: ArrayLike, dtype: type[np.generic]) -> NDArray[Any]:
    array = np.array(values, dtype=dtype, ndmin=1)
    array.flags.writeable = False
    return array


def _joined(arrays: Sequence[NDArray[Any]]) -> NDArray[Any]:
    return np.concatenate(arrays) if arrays else np.zeros(0)
