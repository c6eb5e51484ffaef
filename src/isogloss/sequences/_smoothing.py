r"""From counts of n-grams to probabilities: maximum likelihood, add-k and interpolated Kneser-Ney.

Kneser-Ney is the modified form of Chen and Goodman, *An empirical study of smoothing techniques for language
modeling* (1999), with one discount each for counts of one, two, and three or more,

.. math:: p(w \mid c) = \frac{a(c\,w) - D(a(c\,w))}{\sum_x a(c\,x)} + \gamma(c)\, p(w \mid c'),

where :math:`a` is the count of n-grams of full length and of those that begin a sentence, and the number of
different words before it for all others. Below single words is the uniform distribution over the vocabulary,
from which the unknown word has its probability.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isogloss.sequences._backoff import BEGIN, END, UNKNOWN, BackoffModel, Level, find_rows
from isogloss.stats import Counts

Array = NDArray[np.float64]

_FALLBACK = 0.5
"""The discount where there are no n-grams that were seen once, or none that were seen twice."""


@dataclasses.dataclass(frozen=True, eq=False)
class _Grams:
    """Counted n-grams of one length; rows as in :class:`Level`."""

    parents: NDArray[np.int64]
    last: NDArray[np.int32]
    counts: Array
    begins: NDArray[np.bool_]
    suffixes: NDArray[np.int64]

    def totals(self, values: Array, contexts: int) -> Array:
        """Sums over the n-grams of each context."""
        return _tally(self.parents, values, contexts)


@dataclasses.dataclass(frozen=True, eq=False)
class _Trie:
    words: tuple[str, ...]
    grams: tuple[_Grams, ...]

    @property
    def predictable(self) -> int:
        """Number of words that may come next: all but the begin of a sentence."""
        return len(self.words) - 1

    def is_event(self, length: int) -> NDArray[np.bool_]:
        """Return whether an n-gram is a word with all of the context that a model of this order looks at."""
        grams = self.grams[length - 1]
        return grams.begins | (length == len(self.grams))

    def model(self, probabilities: Sequence[Array], backoffs: Sequence[Array]) -> BackoffModel:
        """The model with these probabilities and weights; nothing predicts the begin of a sentence."""
        first = probabilities[0].copy()
        first[self.words.index(BEGIN)] = 0.0
        levels = []
        for grams, p, b in zip(self.grams, [first, *probabilities[1:]], backoffs, strict=True):
            levels.append(Level(grams.parents, grams.last, _log10(p), _log10(b), len(self.words)))
        return BackoffModel(self.words, tuple(levels))


def ngram_trie(counts: Counts, order: int, vocabulary: Collection[str] | None, min_count: int) -> _Trie:
    """Counted n-grams as sorted arrays; words outside the vocabulary become the unknown word."""
    words = (UNKNOWN, BEGIN, END, *_vocabulary(counts, vocabulary, min_count))
    ids = _Ids((word, number) for number, word in enumerate(words))
    grams: list[_Grams] = []
    for length, found in enumerate(_by_length(counts, order), 1):
        codes = np.fromiter(map(ids.__getitem__, itertools.chain.from_iterable(found)), dtype=np.int64)
        values = np.fromiter(found.values(), dtype=np.float64)
        table = codes.reshape(-1, length)
        grams.append(
            _longer(table, values, grams, len(words)) if grams else _single_words(table, values, words)
        )
    return _Trie(words, tuple(grams))


def maximum_likelihood(trie: _Trie) -> BackoffModel:
    """Relative frequencies; after a context that was never seen, those of the shorter context."""
    probabilities, backoffs = [_shares(_word_counts(trie))], []
    for grams, longer in zip(trie.grams, trie.grams[1:], strict=False):
        totals = longer.totals(longer.counts, len(grams.last))
        backoffs.append(np.where(totals > 0, 0.0, 1.0))
        probabilities.append(longer.counts / totals[longer.parents])
    return trie.model(probabilities, [*backoffs, np.ones(len(trie.grams[-1].last))])


def add_k(trie: _Trie, k: float) -> BackoffModel:
    """Every word after every context has ``k`` more counts."""
    n_words, order = trie.predictable, len(trie.grams)
    uniform = 1.0 / n_words
    counts = _word_counts(trie)
    single = (counts + k) / (counts.sum() + k * n_words) if order == 1 else np.full(len(counts), uniform)
    probabilities, backoffs = [single], []
    for length, (grams, longer) in enumerate(zip(trie.grams, trie.grams[1:], strict=False), 2):
        totals = longer.totals(longer.counts, len(grams.last)) + k * n_words
        events = trie.is_event(length)
        estimates = (longer.counts + k) / totals[longer.parents]
        probabilities.append(np.where(events, estimates, uniform))
        full = grams.begins | (length == order)
        backoffs.append(np.where(full, k * n_words / totals, 1.0))
    return trie.model(probabilities, [*backoffs, np.ones(len(trie.grams[-1].last))])


def kneser_ney(trie: _Trie, discount: Sequence[float] | None = None) -> BackoffModel:
    """Interpolated, modified Kneser-Ney; discounts are estimated for each length unless given."""
    adjusted = [_adjusted(trie, length) for length in range(1, len(trie.grams) + 1)]
    given = [None if discount is None else np.asarray(discount, dtype=np.float64)] * len(adjusted)
    taken = [_taken(a, discounts(a) if d is None else d) for a, d in zip(adjusted, given, strict=True)]
    total = adjusted[0].sum()
    probabilities = [(adjusted[0] - taken[0] + taken[0].sum() / trie.predictable) / total]
    backoffs = []
    for level in range(1, len(trie.grams)):
        grams, contexts = trie.grams[level], len(trie.grams[level - 1].last)
        totals = grams.totals(adjusted[level], contexts)
        safe = np.where(totals > 0, totals, 1.0)
        left = np.where(totals > 0, grams.totals(taken[level], contexts) / safe, 1.0)
        own = (adjusted[level] - taken[level]) / safe[grams.parents]
        probabilities.append(own + left[grams.parents] * probabilities[-1][grams.suffixes])
        backoffs.append(left)
    return trie.model(probabilities, [*backoffs, np.ones(len(trie.grams[-1].last))])


def discounts(adjusted: Array) -> Array:
    """The discounts of counts of 1, 2, and 3 or more, from how many n-grams have counts of 1 to 4.

    Where one of these numbers is zero, or a discount would be out of range, there is one discount for all:
    ``t1 / (t1 + 2 t2)``, or one half if that is not between 0 and 1.

    Examples
    --------
    >>> discounts(np.repeat([1, 2, 3, 4], [40, 20, 10, 8])).round(3)
    array([0.5 , 1.25, 1.4 ])
    """
    t = np.bincount(np.minimum(np.asarray(adjusted, dtype=np.int64), 5), minlength=6).astype(np.float64)
    single = t[1] / (t[1] + 2 * t[2]) if t[1] else _FALLBACK
    if (t[1:5] > 0).all():
        j = np.arange(1, 4)
        found = j - (j + 1) * single * t[2:5] / t[1:4]
        if ((found >= 0) & (found <= j)).all():
            return np.asarray(found)
    return np.full(3, single if 0 < single < 1 else _FALLBACK)


def _vocabulary(counts: Counts, given: Collection[str] | None, min_count: int) -> list[str]:
    special = (UNKNOWN, BEGIN, END)
    if given is not None:
        return sorted(set(given).difference(special))
    seen = (
        key[0] for key, n in counts.items() if isinstance(key, tuple) and len(key) == 1 and n >= min_count
    )
    return sorted({str(word) for word in seen}.difference(special))


class _Ids(dict[Any, int]):
    """Numbers of words; those of others are that of the unknown word."""

    def __missing__(self, word: Any) -> int:
        return 0


def _by_length(counts: Counts, order: int) -> list[dict[tuple[Any, ...], int]]:
    out: list[dict[tuple[Any, ...], int]] = [{} for _ in range(order)]
    for key, count in counts.items():
        if not isinstance(key, tuple) or len(key) > order:
            raise ValueError(f"the counts have the key {key!r:.60}; expected n-grams of up to {order} words")
        out[len(key) - 1][key] = count
    return out


def _single_words(table: NDArray[np.int64], values: Array, words: Sequence[str]) -> _Grams:
    n_words = len(words)
    counts = _tally(table[:, 0], values, n_words)
    none = np.full(n_words, -1, dtype=np.int64)
    begins = np.arange(n_words) == words.index(BEGIN)
    return _Grams(none, np.arange(n_words, dtype=np.int32), counts, begins, none)


def _longer(table: NDArray[np.int64], values: Array, shorter: Sequence[_Grams], n_words: int) -> _Grams:
    """N-grams of one length more; the same ones are added up."""
    rows = table[:, 0]
    for level, column in zip(shorter[1:], table.T[1:-1], strict=True):
        rows = _find(level, rows, column, n_words)
    keys, where = np.unique(rows * n_words + table[:, -1], return_inverse=True)
    counts = _tally(where, values, len(keys))
    parents, last = keys // n_words, (keys % n_words).astype(np.int32)
    before = shorter[-1]
    inner = before.suffixes[parents]
    suffixes = last.astype(np.int64) if len(shorter) == 1 else _find(before, inner, last, n_words)
    return _Grams(parents, last, counts, before.begins[parents], suffixes)


def _find(grams: _Grams, parents: NDArray[np.int64], last: NDArray[Any], n_words: int) -> NDArray[np.int64]:
    rows = find_rows(grams.parents * n_words + grams.last, parents * n_words + last)
    if (rows < 0).any():
        raise ValueError("the counts have an n-gram without its parts; count all lengths with count_ngrams")
    return rows


def _tally(rows: NDArray[np.int64], values: Array, n_rows: int) -> Array:
    return np.asarray(np.bincount(rows, weights=values, minlength=n_rows), dtype=np.float64)


def _word_counts(trie: _Trie) -> Array:
    return np.where(trie.grams[0].begins, 0.0, trie.grams[0].counts)


def _shares(counts: Array) -> Array:
    return np.asarray(counts / counts.sum())


def _adjusted(trie: _Trie, length: int) -> Array:
    grams = trie.grams[length - 1]
    counts = _word_counts(trie) if length == 1 else grams.counts
    if length == len(trie.grams):
        return counts
    longer = trie.grams[length]
    before = np.bincount(longer.suffixes, minlength=len(grams.last)).astype(np.float64)
    return np.where(grams.begins, counts, before)


def _taken(adjusted: Array, discount: Array) -> Array:
    """Return the discount of each count."""
    steps = np.concatenate([[0.0], discount])
    return np.asarray(steps[np.minimum(adjusted, 3).astype(np.int64)])


def _log10(values: Array) -> Array:
    with np.errstate(divide="ignore"):
        return np.asarray(np.log10(values))
