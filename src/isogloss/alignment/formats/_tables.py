"""The tables of a fitted aligner as rows for people and other programs."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from isogloss.alignment._base import AlignerBase
from isogloss.alignment.models import DIRECTIONS, FertilityRow, JumpRow

MIN_COUNT = 0.01
"""Rows with a smaller count are left out."""


def lexicon_rows(aligner: AlignerBase) -> list[tuple[str, str, float, float, float]]:
    """Word pairs with their probabilities and counts, the likeliest translations of a word first."""
    sources, t = aligner.table_.sources, aligner.parameters_.lexicon
    keep = np.flatnonzero(aligner.counts_.max(axis=1) >= MIN_COUNT)
    keep = keep[np.lexsort((-t[keep, 0], sources[keep]))]
    counts = aligner.counts_[keep].mean(axis=1)
    columns = sources[keep], aligner.table_.columns[keep], t[keep, 0], t[keep, 1], counts
    return [
        (aligner.source_words_[e], aligner.target_words_[f], float(p), float(q), float(c))
        for e, f, p, q, c in zip(*(column.tolist() for column in columns), strict=True)
    ]


def jump_rows(aligner: AlignerBase) -> Iterator[JumpRow]:
    """Jumps by direction and origin; counts are the numbers of jumps, spread like their weights."""
    words = aligner.source_words_, aligner.target_words_
    classes = aligner.source_classes_, aligner.target_classes_
    for d, name in enumerate(DIRECTIONS):
        weights = getattr(aligner.parameters_, f"jumps_{name}")
        counts = weights / weights.sum(axis=1, keepdims=True) * aligner.jump_totals_[d][:, None]
        reach, last = weights.shape[1] // 2, len(weights) - 2
        frequent = {int(c): words[d][w] for w, c in enumerate(classes[d].tolist()) if c < last}
        for c, at in np.argwhere(counts >= MIN_COUNT).tolist():
            origin = "word" if c < last else "other" if c == last else "start"
            yield name, origin, frequent.get(c, ""), at - reach, float(counts[c, at])


def fertility_rows(aligner: AlignerBase) -> Iterator[FertilityRow]:
    """Yield how often each word generated how many words."""
    words, state = (aligner.source_words_, aligner.target_words_), aligner.fertility_
    if state is None:
        return
    for d, name in enumerate(DIRECTIONS):
        counts = state.counts[f"fertility_{name}"]
        for w, born in np.argwhere(counts >= MIN_COUNT).tolist():
            yield name, words[d][w], born, float(counts[w, born])
