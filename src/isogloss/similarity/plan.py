"""What a fit of hub CCA will take, told before it starts.

Memory is counted from the blocks that are alive together; time from the numbers of operations of three kinds
(products with sparse matrices, dense products, and orthonormal bases, which are slower), at the speed that
this machine shows for each of them in a tenth of a second.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from scipy import linalg, sparse

from isogloss.similarity.shards import Shards
from isogloss.similarity.spokes import group_size, waiting_sums

__all__ = ["FitPlan", "predict_fit", "predict_sizes"]

# Extra columns of random blocks, and times that steps 1 and 2 apply their operators.
_EXTRA, _APPLICATIONS, _CONSENSUS = 10, 6, 8
# Copies and checks between products, beside these.
_AROUND = 1.1
# Operations that reading and weighing an entry is worth.
_READING = 64
# Bytes of a count that was read from its file, and of a weighted one with the copy that weighing makes.
_MAPPED, _WEIGHTED = 8, 12
# Blocks of (directions of all languages x components) that are alive together in step 2.
_SMALL_BLOCKS = 6


@dataclass(frozen=True)
class FitPlan:
    """Resources of a fit.

    Attributes
    ----------
    bytes : int
        Most memory in use, the data included.
    sparse_operations, dense_operations, basis_operations : float
        Multiplications and additions with sparse and with dense matrices, and for orthonormal bases.
    seconds : float
        Of one core.
    """

    bytes: int
    sparse_operations: float
    dense_operations: float
    basis_operations: float
    seconds: float

    def __str__(self) -> str:
        minutes, seconds = divmod(round(self.seconds), 60)
        return f"a fit takes about {self.bytes / 1e9:.2g} GB and {minutes} min {seconds} s of one core"


def predict_fit(documents: Shards, hub: str, n_components: int, n_directions: int) -> FitPlan:
    """The plan of a fit of these documents."""
    rows, centre = documents.present.sum(axis=0).tolist(), documents.names.index(hub)
    sizes = (rows, documents.dims, documents.entries, centre, n_components, n_directions)
    return predict_sizes(*sizes, n_blocks=documents.n_blocks)


def predict_sizes(
    rows: list[int],
    words: tuple[int, ...],
    entries: int,
    hub: int,
    n_components: int,
    n_directions: int,
    *,
    n_blocks: int = 1,
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
    n_components, n_directions : int
        As in :class:`HubSimilarity`.
    n_blocks : int
        Blocks that the rows are read in. Documents and what they are reduced to then take the memory of one
        block, and are made again in every pass. Counts that were read from a file still show as memory of the
        process, which the system takes back when it needs it.

    Examples
    --------
    >>> plan = predict_sizes([10_000] * 20, (50_000,) * 20, 20 * 10_000 * 150, 0, 500, 500)
    >>> 3e9 < plan.bytes < 6e9
    True
    >>> blocks = predict_sizes([10**6] * 20, (50_000,) * 20, 20 * 10**6 * 150, 0, 500, 500, n_blocks=100)
    >>> whole = predict_sizes([10**6] * 20, (50_000,) * 20, 20 * 10**6 * 150, 0, 500, 500)
    >>> blocks.bytes < whole.bytes / 2
    True
    """
    sizes = _Sizes(sum(rows), words, words[hub], entries, n_components, n_directions + _EXTRA, n_blocks)
    products, dense, bases = (
        _sparse_operations(sizes, rows[hub]),
        _dense_operations(sizes),
        _basis_operations(sizes),
    )
    seconds = products / _sparse_rate() + dense / _dense_rate() + bases / _basis_rate()
    return FitPlan(int(_memory(sizes)), products, dense, bases, _AROUND * seconds)


class _Sizes(NamedTuple):
    """What memory and time depend on."""

    documents: int
    words: tuple[int, ...]
    hub_words: int
    entries: int
    k: int
    width: int
    n_blocks: int

    @property
    def languages(self) -> int:
        """How many, the hub too."""
        return len(self.words)

    @property
    def wide_k(self) -> int:
        """Columns of the block of step 2."""
        return self.k + _EXTRA

    @property
    def group(self) -> int:
        """Languages of a pass of step 1."""
        return min(group_size(max(self.words), self.width, self.n_blocks), self.languages - 1)

    @property
    def waiting(self) -> int:
        """Sums of blocks that wait for each other."""
        return waiting_sums(self.n_blocks)


def _memory(s: _Sizes) -> float:
    data = (_MAPPED + _WEIGHTED / s.n_blocks) * s.entries
    hub = 8 * s.hub_words * s.width
    bases = 4 * s.width * (sum(s.words) - s.hub_words)
    first = 8 * s.width * max(s.words) * s.group * s.waiting + (2 + s.waiting) * hub
    second = 4 * s.width * s.documents / s.n_blocks + _SMALL_BLOCKS * 8 * s.languages * s.width * s.k
    return data + hub + max(first, bases + second + hub)


def _sparse_operations(s: _Sizes, hub_rows: int) -> float:
    """Products of documents with blocks: of the hub once for each group, and once in step 2 for each pass."""
    groups = -(-(s.languages - 1) // s.group)
    hub_entries = s.entries * hub_rows / max(s.documents, 1)
    first = (2 * _APPLICATIONS + 1) * (s.entries + (groups - 1) * hub_entries)
    second = hub_entries + (1 if s.n_blocks == 1 else 1 + _CONSENSUS) * s.entries
    readings = 1 if s.n_blocks == 1 else 2 * _APPLICATIONS + 3 + _CONSENSUS
    return 2.0 * s.width * (first + second) + _READING * readings * s.entries


def _dense_operations(s: _Sizes) -> float:
    """Bases of languages, moments of reduced documents, products of step 2, and directions."""
    bases = 4.0 * sum(s.words) * s.width**2
    directions = 2.0 * sum(s.words) * s.width * s.k
    moments = 2.0 * s.documents * s.width**2
    whitened = 4.0 * _CONSENSUS * s.languages * s.width**2 * s.wide_k
    products = 4.0 * _CONSENSUS * s.documents * s.width * s.wide_k
    return bases + directions + moments + whitened + products


def _basis_operations(s: _Sizes) -> float:
    """Orthonormal bases of blocks after every application of an operator but the last."""
    first = 4.0 * (_APPLICATIONS - 1) * s.hub_words * s.width**2
    second = 4.0 * (_CONSENSUS - 1) * s.languages * s.width * s.wide_k**2
    return first + second


@cache
def _dense_rate() -> float:
    A = np.ones((400, 400))
    return _rate(lambda: A @ A, 2.0 * 400**3)


@cache
def _basis_rate() -> float:
    A = np.random.default_rng(0).standard_normal((1500, 300))
    return _rate(lambda: linalg.qr(A, mode="economic"), 4.0 * 1500 * 300**2)


@cache
def _sparse_rate() -> float:
    # The dense side is larger than caches are, as that of a vocabulary is; words follow Zipf's law.
    columns = (20_000 ** np.random.default_rng(0).random(20_000)).astype(np.int32)
    A = sparse.csr_matrix((np.ones(20_000), columns, np.arange(0, 20_001, 20)), shape=(1000, 20_000))
    B, C = np.ones((20_000, 256)), np.ones((1000, 256))
    return _rate(lambda: (A @ B, A.T @ C), 4.0 * 20_000 * 256)


def _rate(trial: Callable[[], Any], operations: float) -> float:
    """Operations per second of CPU, in a trial of some hundredths of a second."""
    trial()
    start, done = time.process_time(), 0.0
    while time.process_time() - start < 0.03:
        trial()
        done += operations
    return done / (time.process_time() - start)
