r"""Word vectors from the text of one language: two words are alike if the same words stand around them.

``pmi`` takes the positive pointwise mutual information of a word and the words within a window around it,

.. math:: \max\Bigl(0,\ \log\frac{n_{wc} \sum_c n_c^{.75}}{n_w \, n_c^{.75}}\Bigr) \approx
          U S V^\top , \qquad x_w = U_w S^{1/2} ,

whose singular vectors are those of skip-grams [1]_.

``cca`` takes a word and a word near it as two views of a hidden state, whose canonical variates predict as
much of one from the other as can be [2]_. The views are indicators, so their covariances are diagonal, and
the variates are singular vectors of scaled counts. Counts :math:`m_{wc} = \sqrt{n_{wc}}` enter with their
square roots, which keeps the variance of rare pairs from ruling [3]_:

.. math:: \frac{m_{wc}}{\sqrt{\sum_c m_{wc} \, \sum_w m_{wc}}} \approx U S V^\top , \qquad x_w = U_w S .

Three views, with the words on the left and on the right apart, made much worse dictionaries.

References
----------
.. [1] O. Levy, Y. Goldberg, I. Dagan, *Improving distributional similarity with lessons learned from word
   embeddings*, TACL 3, 2015.
.. [2] Y. Lu, D. P. Foster, *Optimal weighting of multi-view data with low dimensional hidden states*.
.. [3] K. Stratos, M. Collins, D. Hsu, *Model-based word embeddings from decompositions of count matrices*,
   ACL 2015.
"""

from __future__ import annotations

import logging
from array import array
from collections.abc import Callable, Iterable, Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from isogloss.exceptions import VectorFileError
from isogloss.lexicon.vectors._vectors import WordVectors
from isogloss.linalg import krylov_svd
from isogloss.threads import thread_bound

logger = logging.getLogger(__name__)

Array = NDArray[np.float64]
Method = Literal["pmi", "cca"]
METHODS = ("pmi", "cca")

_CONTEXT_POWER = 0.75
"""Frequencies of contexts are raised to this power, which takes weight from rare ones."""

_TINY = 1e-12
"""Replaces the zero sum of a word without neighbours."""

_BLOCK_PAIRS = 1 << 22
"""Neighbouring words that are counted at one time."""


@thread_bound
def train_vectors(
    sentences: Iterable[Sequence[str]],
    language: str = "",
    *,
    method: Method = "pmi",
    n_components: int = 100,
    window: int = 5,
    min_count: int = 5,
    max_words: int = 50_000,
    random_state: int = 0,
    progress: Callable[[str], None] | None = None,
) -> WordVectors:
    """Make word vectors from tokenised text.

    Parameters
    ----------
    sentences : iterable of sequences of str
        The words of each sentence, or of any stretch of text; read once.
    language : str
        A name for the language.
    method : {'pmi', 'cca'}
        Singular vectors of the positive pointwise mutual information, or canonical correlation analysis of a
        word and a word near it.
    n_components : int
        Dimensions, fewer than there are words.
    window : int
        How far away a neighbour may be, in words that are kept.
    min_count : int
        Ignore words that occur less often.
    max_words : int
        Keep this many of the most frequent words.
    random_state : int
        Start of the iterative decomposition.
    progress : callable, optional
        Told in a few words what is being done.

    Raises
    ------
    VectorFileError
        The text has too few words for so many dimensions; with counts.

    Notes
    -----
    Memory: four bytes per word of the text, and some 12 bytes per distinct pair of neighbours.

    Examples
    --------
    >>> text = ["a small cat sleeps", "a small dog sleeps", "the old cat eats", "the old dog eats"] * 9
    >>> vectors = train_vectors((line.split() for line in text), "en", n_components=3, window=2)
    >>> vectors
    WordVectors('en': 8 words, 3 dimensions)
    >>> bool(np.allclose(vectors["cat"], vectors["dog"], atol=1e-3))
    True
    """
    if method not in METHODS:
        raise ValueError(f"method={method!r}; expected one of {', '.join(METHODS)}")
    say = progress or (lambda what: logger.info("%s", what))
    say("reading")
    words, ids, ends = _read(sentences, min_count, max_words)
    most = len(words) - 1
    if n_components > most:
        raise VectorFileError(
            f"{len(words)} words occur {min_count} times or more, enough for {max(most, 0)} dimensions, "
            f"not for {n_components}; give more text, fewer dimensions, or a lower minimum count"
        )
    say("counting neighbours")
    weights = [(distance, (window + 1 - distance) / window) for distance in range(1, window + 1)]
    ordered = _pair_counts(ids, ends, len(words), weights)
    say("decomposing")
    decompose = _pmi_vectors if method == "pmi" else _cca_vectors
    matrix = decompose(sparse.csr_array(ordered + ordered.T), n_components, random_state)
    return WordVectors(words, matrix, language)


def _read(
    sentences: Iterable[Sequence[str]], min_count: int, max_words: int
) -> tuple[list[str], NDArray[np.int32], NDArray[np.int64]]:
    """The words that are kept, most frequent first; the text in their numbers; the end of each sentence."""
    index: dict[str, int] = {}
    found, ends = array("i"), array("q")
    for sentence in sentences:
        found.extend([index.setdefault(word, len(index)) for word in sentence])
        ends.append(len(found))
    ids = np.frombuffer(found, dtype=np.int32) if found else np.zeros(0, dtype=np.int32)
    counts = np.bincount(ids, minlength=len(index))
    order = np.argsort(-counts, kind="stable")[:max_words]
    order = order[counts[order] >= min_count]
    place = np.full(len(index), -1, dtype=np.int32)
    place[order] = np.arange(len(order), dtype=np.int32)
    names = list(index)
    ids, before = place[ids], np.array([0, *ends], dtype=np.int64)
    kept = np.concatenate([[0], np.cumsum(ids >= 0)])
    return [names[i] for i in order], ids[ids >= 0], kept[before[1:]]


def _pair_counts(
    ids: NDArray[np.int32], ends: NDArray[np.int64], n_words: int, weights: Sequence[tuple[int, float]]
) -> sparse.csr_array:
    """Weighted counts of word pairs, left word in rows, by ``(distance, weight)``."""
    total = sparse.csr_array((n_words, n_words), dtype=np.float32)
    sentence = np.repeat(np.arange(len(ends)), np.diff(ends, prepend=0))
    for distance, weight in weights:
        for begin in range(0, max(len(ids) - distance, 0), _BLOCK_PAIRS):
            left = np.arange(begin, min(begin + _BLOCK_PAIRS, len(ids) - distance))
            left = left[sentence[left] == sentence[left + distance]]
            ones = np.full(len(left), weight, dtype=np.float32)
            total += sparse.coo_array((ones, (ids[left], ids[left + distance])), total.shape).tocsr()
    return total


def _pmi_vectors(counts: sparse.csr_array, k: int, random_state: int) -> Array:
    table = counts.tocoo()
    words = np.maximum(table.sum(axis=1), _TINY)
    contexts = words**_CONTEXT_POWER
    ratio = table.data * contexts.sum() / (words[table.row] * contexts[table.col])
    keep = ratio > 1
    data = np.log(ratio[keep], dtype=np.float32)
    pmi = sparse.csr_array((data, (table.row[keep], table.col[keep])), table.shape)
    U, s, _ = krylov_svd(pmi, k, random_state=random_state)
    return np.asarray(U * np.sqrt(s), dtype=np.float64)


def _cca_vectors(counts: sparse.csr_array, k: int, random_state: int) -> Array:
    roots = counts.sqrt()
    scale = sparse.diags_array(1 / np.sqrt(np.maximum(roots.sum(axis=1), _TINY)))
    correlations = sparse.csr_array(scale @ roots @ scale, dtype=np.float32)
    U, s, _ = krylov_svd(correlations, k + 1, random_state=random_state)
    return np.asarray((U * s)[:, 1:], dtype=np.float64)  # the first is the constant
