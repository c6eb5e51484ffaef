"""What a fit of hub CCA will take, told before it starts.

Memory is counted from the blocks that are alive together; time from the numbers of operations, at the speed
that this machine shows in a tenth of a second. Time is right within a factor of two or three.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from isogloss.similarity.shards import Shards
from isogloss.similarity.spokes import group_size, waiting_sums

__all__ = ["FitPlan", "predict_fit", "predict_sizes"]

# Extra columns of the random block, times that step 1 applies its operator, and passes of step 2.
_EXTRA, _APPLICATIONS, _CONSENSUS_PASSES = 10, 6, 9
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
    sparse_operations, dense_operations : float
        Multiplications and additions with sparse and with dense matrices.
    seconds : float
        Of one core.
    """

    bytes: int
    sparse_operations: float
    dense_operations: float
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
    dense, products = _dense_operations(sizes), _sparse_operations(sizes, len(rows), rows[hub])
    seconds = products / _sparse_rate() + dense / _dense_rate()
    return FitPlan(int(_memory(sizes, len(rows))), products, dense, seconds)


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
    def group(self) -> int:
        """Languages of a pass of step 1."""
        return min(group_size(max(self.words), self.width, self.n_blocks), len(self.words) - 1)

    @property
    def waiting(self) -> int:
        """Sums of blocks that wait for each other."""
        return waiting_sums(self.n_blocks)


def _memory(s: _Sizes, languages: int) -> float:
    data = (_MAPPED + _WEIGHTED / s.n_blocks) * s.entries
    hub = 8 * s.hub_words * s.width
    bases = 4 * s.width * (sum(s.words) - s.hub_words)
    first = 8 * s.width * max(s.words) * s.group * s.waiting + (2 + s.waiting) * hub
    second = 4 * s.width * s.documents / s.n_blocks + _SMALL_BLOCKS * 8 * languages * s.width * s.k
    return data + hub + max(first, bases + second + hub)


def _sparse_operations(s: _Sizes, languages: int, hub_rows: int) -> float:
    """Products of documents with blocks: of the hub once for each group, and once in step 2 for each pass."""
    groups = -(-(languages - 1) // s.group)
    hub_entries = s.entries * hub_rows / max(s.documents, 1)
    others = s.entries - hub_entries
    reductions = 1 if s.n_blocks == 1 else _CONSENSUS_PASSES
    passes = 2 * _APPLICATIONS + 1
    return 2.0 * s.width * (passes * (others + groups * hub_entries) + reductions * s.entries)


def _dense_operations(s: _Sizes) -> float:
    orthonormal = 4.0 * _APPLICATIONS * s.hub_words * s.width**2
    bases = 2.0 * s.width * sum(s.words) * (2 * s.width + s.k)
    consensus = 4.0 * _CONSENSUS_PASSES * s.documents * s.width * s.k
    return orthonormal + bases + consensus


@cache
def _dense_rate() -> float:
    A = np.ones((400, 400))
    return _rate(lambda: A @ A, 2.0 * 400**3)


@cache
def _sparse_rate() -> float:
    # The dense side is larger than caches are, as that of a vocabulary is.
    columns = np.random.default_rng(0).integers(20_000, size=20_000)
    A = sparse.csr_matrix((np.ones(20_000), columns, np.arange(0, 20_001, 20)), shape=(1000, 20_000))
    B = np.ones((20_000, 256))
    return _rate(lambda: A @ B, 2.0 * 20_000 * 256)


def _rate(trial: Callable[[], Any], operations: float) -> float:
    """Operations per second of CPU, in a trial of some hundredths of a second."""
    trial()
    start, done = time.process_time(), 0.0
    while time.process_time() - start < 0.03:
        trial()
        done += operations
    return done / (time.process_time() - start)
