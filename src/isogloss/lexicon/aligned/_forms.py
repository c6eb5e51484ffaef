"""Inflected forms: words of one language that share a stem and their translations.

Both must hold, so that *light* and *lightly* stay apart where their translations do. Translations are compared
by their first letters, because they are inflected too.
"""

from __future__ import annotations

from collections import defaultdict
from os.path import commonprefix

import numpy as np
from scipy.sparse import csr_matrix, diags_array
from sklearn.preprocessing import normalize

from isogloss.lexicon.aligned._text import AlignedText, Ints, fold_marks

PREFIX = 4
"""Letters by which translations are compared."""
MIN_STEM = 3
MIN_SHARE = 0.5
"""The least part of the longer form that the stem takes up."""
MAX_ENDING = 5
MIN_SIMILARITY = 0.5
"""The least cosine of the translations of two forms with short endings; more is asked of others."""
MAX_FOLLOWERS = 400


def group_forms(text: AlignedText) -> Ints:
    """For each word of the source side, the most frequent word of its group."""
    side = text.source
    profiles = _profiles(text)
    leaders: defaultdict[str, list[int]] = defaultdict(list)
    group = np.arange(len(side.words))
    stems = [fold_marks(word) for word in side.words]
    for word in np.argsort(-side.counts, kind="stable").tolist():
        stem = stems[word]
        if len(stem) < MIN_STEM or not stem.isalpha():
            continue
        near = leaders[stem[:MIN_STEM]]
        candidates = [one for one in near if _ending(stems[one], stem) is not None]
        if candidates:
            cosines = (profiles[candidates] @ profiles[word].T).toarray().ravel()
            needed = np.array([_needed(stems[one], stem) for one in candidates])
            best = int(np.argmax(cosines - needed))
            if cosines[best] >= needed[best]:
                group[word] = candidates[best]
                continue
        if len(near) < MAX_FOLLOWERS:
            near.append(word)
    return group


def _ending(one: str, other: str) -> int | None:
    """Letters of the longer ending after a common stem, or None where there is no stem to speak of."""
    stem = len(commonprefix([one, other]))
    longest = max(len(one), len(other))
    ending = longest - stem
    enough = stem >= MIN_STEM and stem >= MIN_SHARE * longest
    return ending if enough and ending <= MAX_ENDING else None


def _needed(one: str, other: str) -> float:
    """The similarity of translations that is asked of two forms: the longer their endings, the more."""
    stem = len(commonprefix([one, other]))
    return MIN_SIMILARITY + 0.5 * (1 - stem / max(len(one), len(other))) ** 2


def _profiles(text: AlignedText) -> csr_matrix:
    """For each source word, how often it is linked with words that begin alike, as unit vectors.

    Beginnings that are linked with fewer different words weigh more, as the inverse document frequency has it.
    """
    beginnings, starts = np.unique([fold_marks(word)[:PREFIX] for word in text.target.words] or [""], return_inverse=True)
    words = text.source.tokens[text.source_token]
    columns = starts[text.target.tokens[text.target_token]]
    shape = len(text.source.words), len(beginnings)
    counts = csr_matrix((text.probability.astype(np.float64), (words, columns)), shape=shape)
    together = np.bincount(counts.indices, minlength=len(beginnings))
    return normalize(counts @ diags_array(np.log(1 + shape[0] / np.maximum(together, 1))))

