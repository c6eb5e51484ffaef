"""Vectors of two vocabularies in one space, with a spectrum like that of word vectors."""

import time

import numpy as np
from numpy.typing import NDArray

from isogloss.lexicon import unit_rows

Single = NDArray[np.float32]


def two_languages(words: int, dims: int = 300, noise: float = 0.35) -> tuple[Single, Single]:
    """Unit vectors, each word near to its translation; dimension i has a share of 1 / i of the variance."""
    rng = np.random.default_rng(0)
    scale = (np.arange(1, dims + 1) ** -0.5).astype(np.float32)
    x = rng.standard_normal((words, dims), dtype=np.float32) * scale
    y = x + noise * rng.standard_normal((words, dims), dtype=np.float32) * scale
    return unit_rows(x), unit_rows(y)


def sgemm_seconds(x: Single, y: Single, repeats: int = 16) -> list[float]:
    """CPU seconds per similarity of large plain products of these vectors, one by one."""
    a, b = x[:4096], y[:8192]
    out = np.empty((len(a), len(b)), np.float32)
    seconds = []
    for _ in range(repeats):
        start = time.process_time()
        np.matmul(a, b.T, out=out)
        seconds.append((time.process_time() - start) / out.size)
    return seconds
