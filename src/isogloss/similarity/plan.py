"""What a fit of hub CCA will take, told before it starts.

Memory is counted from the blocks that are alive together; time from the numbers of operations, at the speed
that this machine shows in a tenth of a second. Time is right within a factor of two or three.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from scipy import sparse

from isogloss.views import Views

__all__ = ["FitPlan", "predict_fit", "predict_sizes"]

# Passes of step 1 over the data, each a product with a block, and of step 2 over the reduced documents.
_SPARSE_PASSES = 16
_DENSE_PASSES = 20


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


def predict_fit(views: Views, hub: str, n_components: int, n_directions: int) -> FitPlan:
    """The plan of a fit of these documents."""
    rows = views.present.sum(axis=0).tolist()
    entries = sum(x.nnz if sparse.issparse(x) else x.size for x in views.arrays)
    return predict_sizes(rows, views.dims, entries, views.index(hub), n_components, n_directions)


def predict_sizes(
    rows: list[int], words: tuple[int, ...], entries: int, hub: int, n_components: int, n_directions: int
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

    Examples
    --------
    >>> plan = predict_sizes([10_000] * 20, (50_000,) * 20, 20 * 10_000 * 150, 0, 500, 500)
    >>> 3e9 < plan.bytes < 6e9
    True
    """
    k, block = n_components, n_directions + 10
    reduced = 2 * 8 * sum(rows) * min(n_directions, max(words))
    blocks = 8 * block * (4 * words[hub] + 2 * max(words))
    answer = 4 * k * sum(words) + 8 * (k + n_directions) * words[hub]
    memory = 16 * entries + max(reduced, 4 * k * max(words)) + blocks + answer
    sparse_operations = 2.0 * _SPARSE_PASSES * entries * block
    dense_operations = (
        2.0 * block * (_DENSE_PASSES * sum(rows) * k + 4 * sum(words) * block + 8 * words[hub] * block)
    )
    seconds = sparse_operations / _sparse_rate() + dense_operations / _dense_rate()
    return FitPlan(int(memory), sparse_operations, dense_operations, seconds)


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
