"""Inflected forms: words of one language that share a stem and their translations.

Both must hold, so that *light* and *lightly* stay apart where their translations do. Translations are
compared by their first letters, because they are inflected too.
"""

from __future__ import annotations

from collections import defaultdict
from itertools import takewhile

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix, diags_array
from sklearn.preprocessing import normalize

from isogloss.lexicon.aligned._names import NameSigns
from isogloss.lexicon.aligned._text import AlignedText, Ints, fold_marks

PREFIX = 4
"""Letters by which translations are compared."""
MIN_STEM = 3
MIN_SHARE = 0.5
"""The least part of the longer form that the stem takes up."""
MAX_ENDING = 5
MIN_SIMILARITY = 0.5
"""The least cosine of the translations of two forms with short endings; more is asked of others."""
MIN_LINKED = 0.4
"""Words with fewer links, by share of their occurrences, have no translation to compare."""
MAX_BUCKET = 2000
"""Words with the same first letters that are compared with each other."""


def group_both(text: AlignedText) -> tuple[Ints, Ints]:
    """For each word of both sides, the most frequent word of its group.

    Three passes, each of which compares translations by the groups that the one before has found.
    """
    back = text.swapped()
    source = group_forms(text, np.arange(len(text.target.words)))
    target = group_forms(back, source)
    return group_forms(text, target), target


def group_forms(text: AlignedText, translations: Ints) -> Ints:
    """Group the words of the source side; ``translations`` are the groups of the target side."""
    side = text.source
    profiles = _profiles(text, translations)
    linked = np.bincount(side.tokens[np.unique(text.source_token)], minlength=len(side.words))
    stems = [fold_marks(word) for word in side.words]
    buckets: defaultdict[str, list[int]] = defaultdict(list)
    for word in np.argsort(-side.counts, kind="stable").tolist():
        stem = stems[word]
        if len(stem) >= MIN_STEM and stem.isalpha() and linked[word] >= MIN_LINKED * side.counts[word]:
            buckets[stem[:MIN_STEM]].append(word)
    group = np.arange(len(side.words))
    for words in buckets.values():
        for first in range(0, len(words), MAX_BUCKET):
            part = words[first : first + MAX_BUCKET]
            cosines = (profiles[part] @ profiles[part].T).toarray()
            group[part] = np.array(part)[_leaders([stems[word] for word in part], cosines)]
    return group


def _leaders(stems: list[str], cosines: NDArray[np.float64]) -> list[int]:
    """For each word, most frequent first, the first of its group: the most similar earlier one, or itself."""
    found: list[int] = []
    leaders: list[int] = []
    for word, stem in enumerate(stems):
        near = [
            (cosines[word, one] - needed, one) for one in leaders if (needed := _needed(stems[one], stem))
        ]
        excess, best = max(near, default=(-1.0, word))
        if excess < 0:
            leaders.append(word)
            best = word
        found.append(best)
    return found


def _stem(one: str, other: str) -> int:
    """The number of letters with which both words begin."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))


def _needed(one: str, other: str) -> float | None:
    """The similarity of translations that is asked of two forms, more for longer endings.

    None if they have no stem to speak of.
    """
    stem, longest = _stem(one, other), max(len(one), len(other))
    if stem < max(MIN_STEM, MIN_SHARE * longest) or longest - stem > MAX_ENDING:
        return None
    return MIN_SIMILARITY + 0.5 * (1 - stem / longest) ** 2


def _profiles(text: AlignedText, translations: Ints) -> csr_matrix:
    """For each source word, how often it is linked with words that begin alike, as unit vectors.

    Beginnings that are linked with fewer different words weigh more, like rare words in documents. Names are
    compared by whole words: they are transliterated, so different names that begin alike do so in both
    languages.
    """
    words = text.target.words
    whole = np.array([fold_marks(words[word]) for word in translations.tolist()], dtype=str)
    _, features = np.unique([*whole.astype(f"U{PREFIX}"), *whole], return_inverse=True)
    rows, columns = text.source.tokens[text.source_token], text.target.tokens[text.target_token]
    names = NameSigns.of(text.source, text.source.tokens)
    by_whole = names.capitals[rows] if names.telling else np.zeros(len(rows), dtype=bool)
    columns = features[columns + len(words) * by_whole]
    shape = len(text.source.words), int(features.max(initial=0)) + 1
    counts = csr_matrix((text.probability.astype(np.float64), (rows, columns)), shape=shape)
    if not counts.nnz:
        return counts
    together = np.bincount(counts.indices, minlength=shape[1])
    return normalize(counts @ diags_array(np.log(1 + shape[0] / np.maximum(together, 1))))
