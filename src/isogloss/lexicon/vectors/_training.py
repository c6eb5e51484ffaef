r"""Word vectors from the text of one language: two words are alike if the same words stand around them.

``pmi`` takes the positive pointwise mutual information of a word and the words within a window around it,

.. math:: \max\Bigl(0,\ \log\frac{n_{wc}\,n}{n_w\,n_c^{.75}/\sum_c n_c^{.75}\cdot n}\Bigr) \approx
          U S V^\top , \qquad x_w = U_w S^{1/2} ,

whose singular vectors are those of skip-grams [1]_.

``three_views`` takes each word with one on its left and one on its right, at the same distance, as three
views of a hidden state [2]_. The views are indicators, so their covariances are diagonal, and all that is
needed are the counts of pairs at each distance and at twice that distance. Each view is reduced to k
dimensions by CCA with the others, the three are weighted against each other as in
:class:`~isogloss.multiview.OptimalWeighting`, and the vector of a word is the mean of the features over its
occurrences. Counts enter with their square roots, which keeps the variance of rare pairs from ruling [3]_.

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
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from isogloss.exceptions import VectorFileError
from isogloss.lexicon.vectors._vectors import WordVectors
from isogloss.linalg import krylov_svd
from isogloss.multiview.solvers import three_view_subspace
from isogloss.threads import thread_bound

logger = logging.getLogger(__name__)

Array = NDArray[np.float64]
Method = Literal["pmi", "three_views"]
METHODS = ("pmi", "three_views")

_CONTEXT_POWER = 0.75
"""Frequencies of contexts are raised to this power, which takes weight from rare ones."""

_BLOCK = 1 << 22
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
    method : {'pmi', 'three_views'}
        Positive pointwise mutual information and its singular vectors, or canonical correlation analysis of
        the word and its left and right neighbours.
    n_components : int
        Dimensions, at most one less than the number of words (a third of it for ``'three_views'``).
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
    most = (len(words) - 1) // (3 if method == "three_views" else 1)
    if n_components > most:
        raise VectorFileError(
            f"{len(words)} words occur {min_count} times or more, enough for {max(most, 0)} dimensions, "
            f"not for {n_components}; give more text, or a lower n_components or min_count"
        )
    say("counting neighbours")
    near = _pair_counts(ids, ends, len(words), [(d, (window + 1 - d) / window) for d in range(1, window + 1)])
    if method == "pmi":
        say("decomposing")
        matrix = _pmi_vectors(near, n_components, random_state)
    else:
        far = _pair_counts(
            ids, ends, len(words), [(2 * d, (window + 1 - d) / window) for d in range(1, window + 1)]
        )
        say("decomposing")
        matrix = _three_view_vectors(near, far, n_components, random_state)
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
        for begin in range(0, max(len(ids) - distance, 0), _BLOCK):
            left = np.arange(begin, min(begin + _BLOCK, len(ids) - distance))
            left = left[sentence[left] == sentence[left + distance]]
            ones = np.full(len(left), weight, dtype=np.float32)
            total += sparse.coo_array((ones, (ids[left], ids[left + distance])), total.shape).tocsr()
    return total


def _pmi_vectors(near: sparse.csr_array, k: int, random_state: int) -> Array:
    table = (near + near.T).tocoo()
    words = np.maximum(table.sum(axis=1), 1e-12)
    contexts = words**_CONTEXT_POWER
    ratio = table.data * contexts.sum() / (words[table.row] * contexts[table.col])
    keep = ratio > 1
    data = np.log(ratio[keep], dtype=np.float32)
    pmi = sparse.csr_array((data, (table.row[keep], table.col[keep])), table.shape)
    U, s, _ = krylov_svd(pmi, k, random_state=random_state)
    return np.asarray(U * np.sqrt(s), dtype=np.float64)


def _three_view_vectors(near: sparse.csr_array, far: sparse.csr_array, k: int, random_state: int) -> Array:
    """Means of the weighted features over the occurrences of each word.

    The triples are (left, word, right), so ``near`` are the counts of (left, word) and of (word, right), and
    ``far`` those of (left, right). Each is scaled to a correlation of indicators; what is constant is left
    out.
    """
    lw, lr = _correlations(near), _correlations(far)
    reduced = _reduce(lw, lr, k, random_state)
    left, word, right = reduced
    cross = {(0, 1): left.T @ (lw @ word), (1, 2): word.T @ (lw @ right), (0, 2): left.T @ (lr @ right)}
    Sigma = np.eye(3 * k)
    for (g, h), block in cross.items():
        Sigma[g * k : (g + 1) * k, h * k : (h + 1) * k] = block
        Sigma[h * k : (h + 1) * k, g * k : (g + 1) * k] = block.T
    of_left, of_word, of_right = np.split(three_view_subspace(Sigma, k, symmetric=True), 3)
    return np.asarray(word @ of_word + lw.T @ (left @ of_left) + lw @ (right @ of_right))


def _correlations(counts: sparse.csr_array) -> sparse.csr_array:
    r""":math:`D_r^{-1/2} N D_c^{-1/2}` for the square roots of counts."""
    roots = counts.sqrt()
    rows, columns = (1 / np.sqrt(np.maximum(roots.sum(axis=axis), 1e-12)) for axis in (1, 0))
    return sparse.csr_array(sparse.diags_array(rows) @ roots @ sparse.diags_array(columns), dtype=np.float32)


def _reduce(lw: sparse.csr_array, lr: sparse.csr_array, k: int, random_state: int) -> list[Array]:
    """Each view reduced to its k best directions by CCA with the other two, in coordinates of variance 1."""
    against: list[list[Any]] = [[lw, lr], [lw.T, lw], [lr.T, lw.T]]
    bases = []
    for parts in against:
        U = krylov_svd(sparse.hstack(parts, format="csr"), k + 1, random_state=random_state)[0]
        bases.append(np.asarray(U[:, 1:], dtype=np.float64))
    return bases
