"""Measure the speed of this machine at the operations of a fit.

The speed of a product depends on its shape: blocks with few columns stay in the caches and blocks of a large
vocabulary do not. Each trial has the shape of the fit, as far as some tenths of a second allow.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from scipy import linalg, sparse

from isogloss.similarity.fitting._spaces import Weigher
from isogloss.text import TermWeighting
from isogloss.threads import one_thread
from isogloss.views import Views

# CPU seconds that a trial is repeated for.
_ENOUGH = 0.1
# Most documents of a trial, and rows of one with an orthonormal basis.
_DOCUMENTS, _ROWS = 1_000, 2_000
# Words of a document for each different one.
_REPEATED = 1.4
# Most bytes of the block of a trial: many times what caches have, and less than a fit of that size takes.
_BYTES = 250e6


class Speeds(NamedTuple):
    """Work per CPU second."""

    sparse: float
    dense: float
    basis: float
    """Multiplications and additions of products with sparse matrices, of dense products, and of
    orthonormal bases.
    """
    entries: float
    """Counts of words that are read from a matrix and weighted."""
    bytes: float
    """Bytes of new arrays that are filled and added to others."""


@lru_cache(maxsize=32)
def measure_speeds(words: int, columns: int, rows: int, length: int) -> Speeds:
    """Speeds of one core at the shape of a fit; measured once for each.

    ``columns`` are those of the dense blocks that documents are multiplied with, ``rows`` the documents of a
    language that are looked at together, ``length`` the different words of a document.

    Examples
    --------
    >>> speeds = measure_speeds(words=2_000, columns=20, rows=100, length=50)
    >>> bool(0 < speeds.sparse < speeds.dense)
    True
    """
    seen = min(words, max(1, int(_BYTES / (8 * columns))))
    few = min(max(rows * seen // words, 1), _DOCUMENTS)
    with one_thread():
        return Speeds(
            sparse=_sparse(_documents(seen, few, length), columns),
            dense=_dense(columns),
            basis=_basis(min(words, max(_ROWS, 2 * columns)), columns),
            entries=_entries(_documents(words, min(rows, _DOCUMENTS), length)),
            bytes=_bytes(seen, columns),
        )


def _documents(words: int, rows: int, length: int) -> sparse.csr_matrix:
    """Counts of words that follow Zipf's law; with those that a document repeats it is so much longer."""
    drawn = round(_REPEATED * length)
    column = (words ** np.random.default_rng(0).random(rows * drawn)).astype(np.int32) - 1
    line = np.repeat(np.arange(rows), drawn)
    return sparse.csr_matrix((np.ones(len(line), dtype=np.float32), (line, column)), shape=(rows, words))


def _sparse(documents: sparse.csr_matrix, columns: int) -> float:
    """Half of the products are with transposed documents, which fill a new block."""
    block = np.ones((documents.shape[1], columns))
    return _rate(lambda: documents.T @ (documents @ block), 4.0 * documents.nnz * columns)


def _dense(columns: int) -> float:
    reduced, block = np.ones((_DOCUMENTS, columns), dtype=np.float32), np.ones((columns, columns))
    return _rate(lambda: reduced @ block, 2.0 * _DOCUMENTS * columns**2)


def _basis(rows: int, columns: int) -> float:
    block = np.random.default_rng(0).standard_normal((rows, columns))
    return _rate(
        lambda: linalg.qr(block, mode="economic", check_finite=False), 4.0 * rows * min(rows, columns) ** 2
    )


def _entries(counts: sparse.csr_matrix) -> float:
    """Words of a model have another order than those of a corpus, so columns of a row are in none."""
    rows, words = counts.shape
    weigh = Weigher(np.random.default_rng(0).permutation(words), TermWeighting("bm25").fit(counts))
    present = np.ones((rows, 1), dtype=bool)
    return _rate(lambda: Views([weigh(counts[0:rows])], present=present), float(counts.nnz))


def _bytes(words: int, columns: int) -> float:
    total = np.zeros((words, columns))

    def trial() -> None:
        part = np.zeros((words, columns))
        part += 1.0
        np.add(total, part, out=total)

    return _rate(trial, float(total.nbytes))


def _rate(trial: Callable[[], Any], work: float) -> float:
    """Work per second of CPU, after a trial that does not count."""
    trial()
    start, done, spent = time.process_time(), 0.0, 0.0
    while spent < _ENOUGH:
        trial()
        done, spent = done + work, time.process_time() - start
    return done / spent
