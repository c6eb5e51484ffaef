r"""Back-off language models: what every n-gram model is once its probabilities are known.

.. math:: p(w \mid c) = \begin{cases} p^*(w \mid c) & \text{if } c\,w \text{ is listed} \\
          \beta(c)\, p(w \mid c') & \text{otherwise,} \end{cases}

with :math:`c'` the context :math:`c` without its first word, and :math:`\beta(c) = 1` for a context that is
not listed. Maximum likelihood, add-k and interpolated Kneser-Ney are all of this form, and so are ARPA files.

N-grams stand in a trie of sorted arrays: an n-gram is the row of its first n - 1 words and its last word, so
whole texts are looked up at once.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["BEGIN", "END", "UNKNOWN", "BackoffModel", "Level", "find_rows", "tokens_of"]

Array = NDArray[np.float64]
Rows = NDArray[np.int64]

UNKNOWN, BEGIN, END = "<unk>", "<s>", "</s>"
_LOG10 = float(np.log(10.0))


@dataclasses.dataclass(frozen=True, eq=False)
class Level:
    """The n-grams of one length, in the order of their contexts and then of their last words."""

    parents: Rows
    """Rows of the contexts in the level before; -1 for single words."""
    last: NDArray[np.int32]
    """Last words."""
    log_probs: Array
    """Logarithms, to base 10, of the listed probabilities."""
    backoffs: Array
    """Logarithms, to base 10, of the back-off weights."""
    n_words: int
    """Size of the vocabulary."""

    def __len__(self) -> int:
        return len(self.last)

    @cached_property
    def keys(self) -> Rows:
        """One number per n-gram, in rising order."""
        return np.asarray(self.parents * self.n_words + self.last, dtype=np.int64)

    def find(self, parents: Rows, words: NDArray[Any]) -> Rows:
        """The rows of n-grams given by context and last word; -1 for those that are not listed."""
        return np.where(parents >= 0, find_rows(self.keys, parents * self.n_words + words), -1)

    def children(self, parent: int) -> slice:
        """The rows of the n-grams with that context."""
        first, last = np.searchsorted(self.parents, [parent, parent + 1])
        return slice(int(first), int(last))


@dataclasses.dataclass(frozen=True, eq=False)
class BackoffModel:
    """Probabilities of words given the words before them.

    Parameters
    ----------
    words : tuple of str
        The vocabulary; ``<unk>``, ``<s>`` and ``</s>`` are the first three.
    levels : tuple of Level
        N-grams by length; the first level has a row for every word, in the order of ``words``.

    Examples
    --------
    >>> from isogloss.sequences import NgramModel
    >>> model = NgramModel(2, smoothing="mle").fit(["the cat sat", "the dog sat"]).model_
    >>> round(model.prob("cat", ["the"]), 3), model.prob("sat", ["the"])
    (0.5, 0.0)
    """

    words: tuple[str, ...]
    levels: tuple[Level, ...]

    @property
    def order(self) -> int:
        """Length of the longest n-grams."""
        return len(self.levels)

    @cached_property
    def ids(self) -> dict[str, int]:
        """The number of each word."""
        return {word: number for number, word in enumerate(self.words)}

    def prob(self, word: str, context: Sequence[str] = ()) -> float:
        """The probability of a word after others; a sentence begins with the context ``["<s>"]``."""
        if isinstance(context, str):
            raise TypeError(f"got the text {context[:20]!r} as context; expected a list of words")
        codes = self._codes([*context[max(len(context) - self.order + 1, 0) :], word])
        return float(10.0 ** self._log_probs(codes, np.zeros(len(codes), dtype=np.int64))[-1])

    def distribution(self, context: Sequence[str] = ()) -> Array:
        """The probabilities of all words after the context, in the order of ``words``."""
        codes = self._codes(context[max(len(context) - self.order + 1, 0) :])
        out = np.asarray(10.0 ** self.levels[0].log_probs)
        for length in range(1, len(codes) + 1):
            row = self._row(codes[-length:])
            if row >= 0:
                out *= 10.0 ** self.levels[length - 1].backoffs[row]
                level = self.levels[length]
                seen = level.children(row)
                out[level.last[seen]] = 10.0 ** level.log_probs[seen]
        return out

    def score_sentences(self, sentences: Iterable[str | Sequence[str]]) -> tuple[Array, NDArray[np.int64]]:
        """Log probability of each sentence with its end, and the number of events (words and the end)."""
        texts = [tokens_of(sentence) for sentence in sentences]
        lengths = np.array([len(text) for text in texts], dtype=np.int64)
        codes = self._codes([word for text in texts for word in (BEGIN, *text, END)])
        starts = np.cumsum(lengths + 2) - (lengths + 2)
        logs = self._log_probs(codes, np.repeat(starts, lengths + 2)) * _LOG10
        logs[starts] = 0.0
        sums = np.add.reduceat(logs, starts) if len(texts) else np.empty(0)
        return np.asarray(sums, dtype=np.float64), lengths + 1

    def perplexity(self, sentences: Iterable[str | Sequence[str]]) -> float:
        """The inverse of the geometric mean of the probabilities of all words and ends of sentences."""
        logs, events = self.score_sentences(sentences)
        if not len(events):
            raise ValueError("no sentences; expected at least one")
        return float(np.exp(-logs.sum() / events.sum()))

    def sample(
        self, rng: np.random.RandomState, *, context: Sequence[str] = (), longest: int = 100
    ) -> list[str]:
        """Draw words, after ``context`` if there is one, until a sentence ends or has ``longest`` words."""
        out = [BEGIN, *context]
        while len(out) - 1 - len(context) < longest:
            p = self.distribution(out)
            word = self.words[int(rng.choice(len(p), p=p / p.sum()))]
            if word == END:
                break
            out.append(word)
        return out[1 + len(context) :]

    def ngrams(self, length: int) -> NDArray[np.int32]:
        """The n-grams of one length as numbers of words, one per row."""
        columns, rows = [], np.arange(len(self.levels[length - 1]))
        for level in self.levels[length - 1 :: -1]:
            columns.append(level.last[rows])
            rows = level.parents[rows]
        return np.stack(columns[::-1], axis=1)

    def _codes(self, words: Sequence[str]) -> Rows:
        unknown = self.ids[UNKNOWN]
        return np.array([self.ids.get(word, unknown) for word in words], dtype=np.int64)

    def _row(self, codes: Rows) -> int:
        row = codes[:1]
        for level, code in zip(self.levels[1:], codes[1:], strict=False):
            row = level.find(row, np.array([code]))
        return int(row[0])

    def _log_probs(self, codes: Rows, starts: Rows) -> Array:
        """Logarithm, to base 10, of the probability of every word given those before it."""
        n, places = len(codes), np.arange(len(codes))
        row = codes
        out = self.levels[0].log_probs[codes]
        for length in range(1, self.order):
            context = np.concatenate([[-1], row[:-1]]) if n else row
            context = np.where(places - length >= starts, context, -1)
            row = self.levels[length].find(context, codes)
            weights = np.where(context >= 0, self.levels[length - 1].backoffs[context], 0.0)
            listed = self.levels[length].log_probs[row] if len(self.levels[length]) else out
            out = np.where(row >= 0, listed, out + weights)
        return np.asarray(out)


def find_rows(keys: Rows, wanted: Rows) -> Rows:
    """Return the position of each number in a sorted array; -1 if it is missing.

    Examples
    --------
    >>> find_rows(np.array([2, 5, 9]), np.array([5, 6, 2, 10]))
    array([ 1, -1,  0, -1])
    """
    if not len(keys):
        return np.full(len(wanted), -1, dtype=np.int64)
    at = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    return np.asarray(np.where(keys[at] == wanted, at, -1), dtype=np.int64)


def tokens_of(sentence: str | Sequence[str]) -> list[str]:
    """The words of a sentence; a text is split at spaces."""
    tokens = sentence.split() if isinstance(sentence, str) else list(sentence)
    for token in tokens:
        if not isinstance(token, str):
            raise TypeError(f"a sentence has the word {token!r:.40}; expected texts: str(word)")
        if token in (BEGIN, END):
            raise ValueError(
                f"a sentence has the word {token}, which marks the begin or end of one; leave it out"
            )
    return tokens
