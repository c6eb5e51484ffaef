"""Similarity of spelling: a prior for names, numbers and cognates."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from anyascii import anyascii
from numpy.typing import NDArray

from isogloss.alignment.models._pairs import PairTable
from isogloss.kernels import spelling_similarity

MIN_CHARS = 4
"""Shorter words are alike by chance, unless they are the same."""

MIN_SIMILARITY = 0.6
"""Minimum spelling similarity that counts."""

SIMILARITY_EXPONENT = 4
"""Likeness is this power of the similarity."""


def similarity(table: PairTable, source: Sequence[str], target: Sequence[str]) -> NDArray[np.float32]:
    """Longest common subsequence over the longer length, for every pair of a table.

    Words are compared in ASCII transliteration, so that accents and scripts do not matter.

    Examples
    --------
    >>> import numpy as np
    >>> table = PairTable(np.array([0, 2]), np.array([0, 1], dtype=np.int32), (1, 2))
    >>> similarity(table, ["Берлин"], ["berlin", "dublin"]).round(2)
    array([1.  , 0.67], dtype=float32)
    """
    e, f = [anyascii(w).lower() for w in source], [anyascii(w).lower() for w in target]
    e_letters, e_offsets = _letters(e)
    f_letters, f_offsets = _letters(f)
    out = np.empty(len(table), dtype=np.float32)
    spelling_similarity(e_letters, e_offsets, f_letters, f_offsets, 256, table.rows, table.columns, out)
    return out


def likeness(table: PairTable, source: Sequence[str], target: Sequence[str]) -> NDArray[np.float32]:
    """Between 0 and 1 for pairs that may be the same name, number or cognate; 0 for all others."""
    alike = similarity(table, source, target)
    lengths = [np.array([len(anyascii(word)) for word in words]) for words in (source, target)]
    near = np.flatnonzero(alike >= MIN_SIMILARITY)
    row = np.searchsorted(table.rows, near, side="right") - 1
    shorter = np.minimum(lengths[0][row], lengths[1][table.columns[near]])
    comparable = near[((shorter >= MIN_CHARS) | (alike[near] == 1)) & (shorter > 0)]
    out = np.zeros_like(alike)
    out[comparable] = alike[comparable] ** SIMILARITY_EXPONENT
    return out


def _letters(words: Sequence[str]) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    encoded = [word.encode("ascii", "replace") for word in words]
    offsets = np.concatenate([[0], np.cumsum([len(word) for word in encoded], dtype=np.int64)])
    return np.frombuffer(b"".join(encoded), dtype=np.uint8).astype(np.int32), offsets.astype(np.int64)
