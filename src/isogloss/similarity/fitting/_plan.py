"""Estimate the time and memory of a fit of hub CCA before it starts.

Memory is counted from the blocks that are alive together; time from how much work of each kind there is
(products with sparse matrices, dense products, orthonormal bases, counts that are read and weighted, and
arrays that are filled and added), at the speed that this machine shows for each of them in a trial of this
shape (:mod:`~isogloss.similarity.fitting._speeds`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from isogloss.similarity.fitting._shards import Shards
from isogloss.similarity.fitting._speeds import measure_speeds
from isogloss.similarity.fitting._spokes import group_size, waiting_sums

# Extra columns of random blocks, and times that steps 1 and 2 apply their operators.
_EXTRA, _APPLICATIONS, _CONSENSUS = 10, 6, 8
# Rows up to which eigenvectors are found by one application to all unit vectors.
_SMALL = 500
# Bytes of a count that was read from its file, and of a weighted one with the copy that weighing makes.
_MAPPED, _WEIGHTED = 8, 12
# Blocks of (directions of all languages x components) that are alive together in step 2.
_SMALL_BLOCKS = 6
# Arrays of (documents x columns) that an application of step 1 fills.
_COPIES = 5
# Multiplications of an eigenvalue problem, in cubes of its size.
_EIGEN = 12
# Checks and small steps beside these, and caches that are colder than in a trial.
_AROUND = 1.25


@dataclass(frozen=True)
class FitPlan:
    """Resources of a fit."""

    bytes: int
    """Most memory in use, the data included."""
    sparse_operations: float
    dense_operations: float
    basis_operations: float
    """Multiplications and additions with sparse and with dense matrices, and for orthonormal bases."""
    entries: float
    """Counts of words that are read and weighted, in all passes together."""
    filled_bytes: float
    """Bytes of arrays that are filled and added up."""
    seconds: float
    """CPU seconds of one core."""

    def __str__(self) -> str:
        minutes, seconds = divmod(round(self.seconds), 60)
        return f"a fit takes about {self.bytes / 1e9:.2g} GB and {minutes} min {seconds} s of one core"


def predict_fit(
    documents: Shards, hub: str, n_components: int, n_directions: int, *, agreement: str = "all"
) -> FitPlan:
    """The plan of a fit of these documents."""
    rows, centre = documents.present.sum(axis=0).tolist(), documents.names.index(hub)
    sizes = (rows, documents.dims, documents.entries, centre, n_components, n_directions)
    return predict_sizes(*sizes, n_blocks=documents.n_blocks, agreement=agreement)


def predict_sizes(
    rows: list[int],
    words: tuple[int, ...],
    entries: int,
    hub: int,
    n_components: int,
    n_directions: int,
    *,
    n_blocks: int = 1,
    agreement: str = "all",
) -> FitPlan:
    """The plan of a fit from sizes alone.

    Parameters
    ----------
    rows, words : sequences of int
        Documents and words of each language.
    entries : int
        Different words of all documents together.
    hub : int
        Position of the hub.
    n_components, n_directions, agreement
        As in :class:`HubSimilarity`.
    n_blocks : int
        Blocks that the rows are read in. Documents and what they are reduced to then take the memory of one
        block, and are made again in every pass. Counts that were read from a file still show as memory of the
        process, which the system takes back when it needs it.

    Examples
    --------
    >>> whole = predict_sizes([10**5] * 20, (2_000,) * 20, 20 * 10**5 * 50, 0, 50, 50)
    >>> 2e9 < whole.bytes < 3e9
    True
    >>> blocks = predict_sizes([10**5] * 20, (2_000,) * 20, 20 * 10**5 * 50, 0, 50, 50, n_blocks=100)
    >>> blocks.bytes < whole.bytes / 2
    True
    """
    s = _Sizes(rows, words, hub, entries, n_components, n_directions, n_blocks, agreement)
    work = (
        _sparse_operations(s),
        _dense_operations(s),
        _basis_operations(s),
        _entries_read(s),
        _filled_bytes(s),
    )
    length = max(1, round(s.entries / max(s.documents, 1)))
    speeds = measure_speeds(max(words), s.width, max(1, max(rows) // n_blocks), length)
    seconds = sum(amount / speed for amount, speed in zip(work, speeds, strict=True))
    return FitPlan(int(_memory(s)), *work, _AROUND * seconds)


class _Sizes(NamedTuple):
    """The dimensions that memory and time depend on."""

    rows: list[int]
    words: tuple[int, ...]
    hub: int
    entries: int
    k: int
    n_directions: int
    n_blocks: int
    agreement: str

    @property
    def documents(self) -> int:
        """Total over all languages."""
        return sum(self.rows)

    @property
    def languages(self) -> int:
        """The number of languages, including the hub."""
        return len(self.words)

    @property
    def hub_words(self) -> int:
        """Words of the hub."""
        return self.words[self.hub]

    @property
    def hub_entries(self) -> float:
        """Different words of the documents of the hub, about."""
        return self.entries * self.rows[self.hub] / max(self.documents, 1)

    @property
    def directions(self) -> int:
        """Return the number of directions that step 1 keeps."""
        return min(self.n_directions, self.hub_words)

    @property
    def reduced(self) -> int:
        """Directions of all languages together: of others than the hub what their documents span."""
        others = [i for i in range(self.languages) if i != self.hub]
        return self.directions + sum(_spanned(self.rows[i], self.words[i], self.directions) for i in others)

    @property
    def first(self) -> tuple[int, int]:
        """Applications of step 1, and columns of its block."""
        return _effort(self.hub_words, self.n_directions + _EXTRA, _APPLICATIONS)

    @property
    def second(self) -> tuple[int, int]:
        """The same of step 2, which has none if only the hub is to be agreed with."""
        if self.agreement == "hub":
            return 0, 0
        return _effort(self.reduced, self.k + _EXTRA, _CONSENSUS)

    @property
    def width(self) -> int:
        """Columns of the block of step 1."""
        return self.first[1]

    @property
    def group(self) -> int:
        """Languages of a pass of step 1."""
        return min(group_size(max(self.words), self.directions, self.n_blocks), self.languages - 1)

    @property
    def passed(self) -> float:
        """Different words of the documents of a pass over all groups, each with the hub's."""
        groups = -(-(self.languages - 1) // max(self.group, 1))
        return self.entries + (groups - 1) * self.hub_entries

    @property
    def waiting(self) -> int:
        """Sums of blocks that wait for each other."""
        return waiting_sums(self.n_blocks)


def _spanned(rows: int, words: int, directions: int) -> int:
    """Directions of a language; all of its words, if they are no more."""
    return words if words <= directions else min(directions, rows)


def _effort(rows: int, columns: int, applications: int) -> tuple[int, int]:
    """Applications of an operator of so many rows and their columns: one to unit vectors, if it is small."""
    return (1, rows) if rows <= max(columns, _SMALL) else (applications, columns)


def _memory(s: _Sizes) -> float:
    data = (_MAPPED + _WEIGHTED / s.n_blocks) * s.entries
    hub = 8 * s.hub_words * s.width
    bases = 4 * s.width * (sum(s.words) - s.hub_words)
    first = 8 * s.width * max(s.words) * s.group * s.waiting + (2 + s.waiting) * hub
    second = 4 * s.width * s.documents / s.n_blocks + _SMALL_BLOCKS * 8 * s.languages * s.width * s.k
    return data + hub + max(first, bases + second + hub)


def _sparse_operations(s: _Sizes) -> float:
    """Products of documents with blocks; those with bases, in single precision, are half the work."""
    applications, columns = s.first
    first = 2.0 * s.passed * (2 * applications * columns + s.directions)
    again = 1 if s.n_blocks == 1 else 1 + s.second[0]
    doubles = s.hub_entries * (s.languages if s.agreement == "hub" else 1)
    return first + 2.0 * s.directions * (doubles + again * s.entries / 2)


def _dense_operations(s: _Sizes) -> float:
    """Bases of languages, moments of reduced documents, products of step 2, and directions."""
    d, (applications, columns) = s.directions, s.second
    bases = 4.0 * sum(s.words) * d**2
    directions = 2.0 * sum(s.words) * d * s.k
    moments = 2.0 * s.documents * d**2 * (4 if s.agreement == "hub" else 1)
    whitened = 4.0 * applications * s.reduced * d * columns
    products = 4.0 * applications * s.documents * d * columns
    return bases + directions + moments + whitened + products


def _basis_operations(s: _Sizes) -> float:
    """Orthonormal bases of blocks after every application but the last, and eigenvectors of moments."""
    (first, columns), (second, narrow) = s.first, s.second
    blocks = 4.0 * (first - 1) * s.hub_words * columns**2
    small = 4.0 * max(second - 1, 0) * s.reduced * narrow**2
    moments = _EIGEN * (2.0 * s.reduced * s.directions**2 + columns**3 + narrow**3)
    return blocks + small + moments


def _entries_read(s: _Sizes) -> float:
    """Counts that are weighted: once, or in every pass over blocks."""
    if s.n_blocks == 1:
        return float(s.entries)
    passes = (2 * s.first[0] + 2) * s.passed
    if s.agreement == "hub":
        return passes + 2 * (s.entries + (s.languages - 1) * s.hub_entries)
    return passes + s.hub_entries + (2 + s.second[0]) * s.entries


def _filled_bytes(s: _Sizes) -> float:
    """Sums of (words x columns) over blocks, and copies of (documents x columns), in step 1."""
    applications, columns = s.first
    sums = (s.n_blocks - 1) * sum(s.words) * (applications * columns + s.directions)
    copies = _COPIES * s.documents * applications * columns
    return 8.0 * (sums + copies)
