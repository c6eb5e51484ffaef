"""What each token of a text is translated as."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from isogloss.lexicon.aligned._spans import SpanPairs, consistent_spans, first_of
from isogloss.lexicon.aligned._text import AlignedText, Ints


def word_translations(text: AlignedText, max_words: int) -> SpanPairs:
    """Translate each linked source token: by a word, or by neighbours that are linked with it alone.

    A token that shares its translation with others gets the word with its likeliest link.
    """
    spans = consistent_spans(text, 1, max_words)
    whole = text.target.unbroken(spans.target, spans.target_length)
    spans = SpanPairs(*(column[whole] for column in spans))
    covered = np.zeros(len(text.source.tokens), dtype=bool)
    covered[spans.source] = True
    best = first_of(text.source_token, -text.probability)
    best = best[~covered[text.source_token[best]]]
    ones = np.ones(len(best), dtype=np.int64)
    single = SpanPairs(text.source_token[best], ones, text.target_token[best], ones)
    return SpanPairs(*(np.concatenate(columns) for columns in zip(spans, single, strict=True)))


class Pairs(NamedTuple):
    """Different pairs of a unit and a term, with joint counts, and the pair of each occurrence."""

    unit: Ints
    term: Ints
    joint: Ints
    of_occurrence: Ints


def count_pairs(units: Ints, terms: Ints) -> Pairs:
    """Count pairs of a unit and a term, given those of each occurrence."""
    width = int(terms.max(initial=0)) + 1
    keys, inverse, counts = np.unique(units * width + terms, return_inverse=True, return_counts=True)
    return Pairs(keys // width, keys % width, counts, inverse)


def best_of_each(groups: Ints, scores: NDArray[np.float64], number: int) -> Ints:
    """Rows with the highest scores of each group, so many of each, group by group."""
    rows = np.lexsort((-scores, groups))
    new = np.ones(len(rows), dtype=bool)
    new[1:] = np.diff(groups[rows]) != 0
    starts = np.flatnonzero(new)
    rank = np.arange(len(rows)) - np.repeat(starts, np.diff(np.append(starts, len(rows))))
    return rows[rank < number]
