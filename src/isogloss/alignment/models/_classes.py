r"""Word classes by exchange: words that keep the same company.

With every word :math:`w` in one class :math:`c(w)`, the text has the likelihood

.. math:: p(w' \mid w) = p\bigl(c(w') \mid c(w)\bigr)\, p\bigl(w' \mid c(w')\bigr).

Words move, one after the other and the frequent ones first, to the class that raises it most, until none
moves (Kneser and Ney, Eurospeech 1993; the classes of Och, EACL 1999). The objective never falls, and
nothing is drawn at random: the same text gives the same classes.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from isogloss.alignment._bitext import Sentences
from isogloss.kernels import exchange_sweeps


def exchange_classes(sentences: Sentences, n_classes: int = 50, *, iterations: int = 10) -> NDArray[np.int32]:
    """The class of every word of the vocabulary.

    Parameters
    ----------
    sentences : Sentences
        One side of a bitext.
    n_classes : int
        How many classes.
    iterations : int
        Most sweeps over the vocabulary. One sweep takes ``n_classes`` times the number of different
        bigrams.

    Examples
    --------
    >>> from isogloss.alignment import Bitext
    >>> text = ["a dog sleeps", "the cat sleeps", "a cat runs", "the dog runs"]
    >>> side = Bitext.from_pairs((line, "") for line in text).source
    >>> classes = dict(zip(side.vocabulary.words, exchange_classes(side, 3).tolist()))
    >>> classes["dog"] == classes["cat"], classes["a"] == classes["the"], classes["a"] == classes["dog"]
    (True, True, False)
    """
    return exchange_trace(sentences, n_classes, iterations)[0]


def exchange_trace(
    sentences: Sentences, n_classes: int, iterations: int
) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    """The classes, and the objective at the start and after every sweep."""
    if n_classes < 1 or iterations < 0:
        raise ValueError(
            f"n_classes={n_classes}, iterations={iterations}; expected at least 1 class and 0 iterations"
        )
    n_words = len(sentences.vocabulary)
    counts = sentences.counts
    order = np.argsort(-counts, kind="stable").astype(np.int32)
    classes = np.empty(n_words, dtype=np.int32)
    classes[order] = np.arange(n_words) % n_classes
    first, second = _bigrams(sentences)
    objective = np.zeros(iterations + 1)
    after, before = _rows(first, second, n_words), _rows(second, first, n_words)
    sweeps = exchange_sweeps(*after, *before, order, n_classes, classes, objective)
    return classes, objective[: sweeps + 1]


def _bigrams(sentences: Sentences) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """First and second words of all neighbours within sentences."""
    words = sentences.words
    inside = np.ones(max(len(words) - 1, 0), dtype=bool)
    ends = sentences.offsets[1:-1]
    inside[ends[(ends > 0) & (ends < len(words))] - 1] = False
    return words[:-1][inside], words[1:][inside]


def _rows(
    first: NDArray[np.int32], second: NDArray[np.int32], n_words: int
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int64]]:
    """Counts of different bigrams as a CSR matrix."""
    keys, counts = np.unique(first.astype(np.int64) * n_words + second, return_counts=True)
    rows = np.concatenate([[0], np.cumsum(np.bincount(keys // max(n_words, 1), minlength=n_words))])
    return rows.astype(np.int64), (keys % max(n_words, 1)).astype(np.int32), counts.astype(np.int64)
