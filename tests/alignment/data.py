"""Small bitexts with known structure."""

from __future__ import annotations

import numpy as np

from isogloss.alignment import Bitext, PairTable
from isogloss.alignment.models import IndexedBitext, PositionLayout


def planted(n=300, words=30, seed=0):
    """Sentence pairs of a word-for-word language with local reordering, and their links."""
    rng = np.random.default_rng(seed)
    pairs, gold = [], []
    for _ in range(n):
        size = int(rng.integers(1, 9))
        source = rng.integers(0, words, size)
        order = np.argsort(np.arange(size) + rng.normal(0, 0.8, size))
        target = [f"t{source[i]}" for i in order]
        links = {(int(i), j) for j, i in enumerate(order)}
        if rng.random() < 0.3:
            target.append("noise")
        pairs.append(([f"s{w}" for w in source], target))
        gold.append(links)
    return pairs, gold


def indexed(pairs):
    """A bitext with its table, its layout of positions, and the index of its pairs."""
    bitext = Bitext.from_pairs(pairs)
    table, layout = PairTable.of(bitext), PositionLayout([bitext])
    return bitext, table, layout, IndexedBitext(bitext, table, table_offsets=layout.offsets(bitext))
