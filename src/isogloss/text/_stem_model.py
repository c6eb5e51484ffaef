r"""Stems and suffixes learned from a list of words.

A word is a stem and a suffix, which may be empty. A Dirichlet process draws both: a stem that other words
have is likelier than a new one, whose probability falls with its length, and so is a suffix. With
:math:`n(s)` and :math:`n(x)` the expected numbers of other words with stem :math:`s` and suffix :math:`x`,

.. math:: p(s, x) \propto \bigl(n(s) + a\, p_0(s)\bigr) \bigl(n(x) + p_0(x)\bigr).

The expectations are iterated with each word left out of its own counts (collapsed variational Bayes of
order zero; Asuncion and others, UAI 2009). Each different word counts once, however frequent it is, because
frequent words are often irregular (Goldwater, Griffiths and Johnson, NIPS 2005).
"""

from __future__ import annotations

import dataclasses
from array import array
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

MIN_STEM_CHARS = 2
"""Letters of the shortest stem, except of shorter words."""

MAX_SUFFIX_CHARS = 6
"""Letters of the longest suffix."""

STEM_CONCENTRATION = 100.0
"""Weight of new stems against those that other words have."""

END_PROBABILITY = 0.5
"""Chance that a new suffix has no further letter."""

ITERATIONS = 30

MIN_COUNT = 1e-3
"""Stems and suffixes of which fewer words are expected are forgotten."""


@dataclasses.dataclass(frozen=True)
class StemModel:
    """Divides words into stem and suffix, as it learned from a list of words without further knowledge.

    Examples
    --------
    >>> verbs = ["walk", "play", "talk", "jump", "look", "turn", "help", "call"]
    >>> model = StemModel.learn(verb + suffix for verb in verbs for suffix in ("", "s", "ed", "ing"))
    >>> model.stem("walking"), model.stem("jumps"), model.split("zapped")
    ('walk', 'jump', ('zapp', 'ed'))
    """

    stems: dict[str, float]
    """Expected number of different words by stem."""
    suffixes: dict[str, float]
    """Expected number of different words by suffix."""
    letter: float
    """Probability of a letter in a new stem or suffix."""

    @classmethod
    def learn(cls, words: Iterable[str]) -> Self:
        """Learn from words, each of which counts once."""
        kinds = list(dict.fromkeys(words))
        letter = _letter_probability(kinds)
        splits = _Splits.of(kinds)
        stem_prior = np.array([_new_stem(len(stem), letter) for stem in splits.stems])
        suffix_prior = np.array([_new_suffix(len(suffix), letter) for suffix in splits.suffixes])
        posterior = 1 / np.bincount(splits.word)[splits.word]
        for _ in range(ITERATIONS):
            stems, suffixes = splits.counts(posterior)
            score = np.log(np.maximum(stems[splits.stem] - posterior, 0) + stem_prior[splits.stem])
            score += np.log(np.maximum(suffixes[splits.suffix] - posterior, 0) + suffix_prior[splits.suffix])
            posterior = splits.normalised(score)
        stems, suffixes = splits.counts(posterior)
        return cls(_frequent(splits.stems, stems), _frequent(splits.suffixes, suffixes), letter)

    def split(self, word: str) -> tuple[str, str]:
        """The likeliest stem and suffix of a word, known or not."""
        best, highest = len(word), -1.0
        new_stem, new_suffix = _new_stem(len(word), self.letter), _new_suffix(0, self.letter)
        for stem, suffix in _divisions(word):
            score = (self.stems.get(stem, 0.0) + new_stem) * (self.suffixes.get(suffix, 0.0) + new_suffix)
            if score > highest:
                best, highest = len(stem), score
            new_stem /= self.letter
            new_suffix *= (1 - END_PROBABILITY) * self.letter
        return word[:best], word[best:]

    def stem(self, word: str) -> str:
        """The likeliest stem of a word."""
        return self.split(word)[0]


class _Splits(NamedTuple):
    """All divisions of all words: the word, the stem and the suffix of each by number."""

    word: NDArray[np.int64]
    stem: NDArray[np.int64]
    suffix: NDArray[np.int64]
    stems: list[str]
    suffixes: list[str]

    @classmethod
    def of(cls, words: Sequence[str]) -> Self:
        stems: dict[str, int] = {}
        suffixes: dict[str, int] = {}
        columns = array("q"), array("q"), array("q")
        for k, word in enumerate(words):
            for stem, suffix in _divisions(word):
                columns[0].append(k)
                columns[1].append(stems.setdefault(stem, len(stems)))
                columns[2].append(suffixes.setdefault(suffix, len(suffixes)))
        word_of, stem_of, suffix_of = (np.array(column, dtype=np.int64) for column in columns)
        return cls(word_of, stem_of, suffix_of, list(stems), list(suffixes))

    def counts(self, posterior: Array) -> tuple[Array, Array]:
        """Expected numbers of words by stem and by suffix."""
        stems = np.bincount(self.stem, posterior, len(self.stems))
        suffixes = np.bincount(self.suffix, posterior, len(self.suffixes))
        return np.asarray(stems, dtype=np.float64), np.asarray(suffixes, dtype=np.float64)

    def normalised(self, score: Array) -> Array:
        """Posteriors of the divisions of every word from their logarithms."""
        if not len(score):
            return score
        first = np.flatnonzero(np.diff(self.word, prepend=-1))
        share = np.exp(score - np.maximum.reduceat(score, first)[self.word])
        return np.asarray(share / np.add.reduceat(share, first)[self.word])


def _divisions(word: str) -> list[tuple[str, str]]:
    """Stems and suffixes that a word may have, the longest stem first; numbers and codes are not divided."""
    shortest = max(min(MIN_STEM_CHARS, len(word)), len(word) - MAX_SUFFIX_CHARS)
    if not word.isalpha() and any(char.isdigit() for char in word):
        shortest = len(word)
    return [(word[:k], word[k:]) for k in range(len(word), shortest - 1, -1)]


def _letter_probability(words: Sequence[str]) -> float:
    """Return the geometric mean of the probabilities of the letters of words."""
    counts = np.array(list(Counter("".join(words)).values()) or [1], dtype=np.float64)
    shares = counts / counts.sum()
    return float(np.exp((shares * np.log(shares)).sum()))


def _new_stem(length: int, letter: float) -> float:
    """Weight of a stem of so many letters that no other word has."""
    return STEM_CONCENTRATION * float(letter**length)


def _new_suffix(length: int, letter: float) -> float:
    """Weight of a suffix of so many letters that no other word has."""
    return END_PROBABILITY * float(((1 - END_PROBABILITY) * letter) ** length)


def _frequent(names: Sequence[str], counts: Array) -> dict[str, float]:
    return {name: count for name, count in zip(names, counts.tolist(), strict=True) if count > MIN_COUNT}
