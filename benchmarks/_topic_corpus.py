"""A comparable corpus with planted topics, of any size: Zipf's law, no word common to two languages."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from isogloss.corpora import Corpus, Settings

TOPIC_WORDS, TOPICS_OF_A_DOCUMENT, TOPICAL = 200, 3, 0.2
# Documents that are drawn together, so that a large corpus needs little memory beside its counts.
ROWS_TOGETHER = 20_000


class TopicCorpus(Corpus):
    """Rows about a few topics each, told in every language with its own words.

    A document has three topics. A fifth of its words comes from them, the others from the whole vocabulary;
    both follow Zipf's law. Counts of a language are drawn when they are asked for, the same ones each time.

    Parameters
    ----------
    rows, words, topics, length : int
        Rows, words of a language, topics, and words of a document.
    languages : int
        How many; the first has every row.
    missing : float
        Share of the rows that each of the others lacks.
    """

    def __init__(
        self,
        rows: int,
        words: int,
        *,
        languages: int,
        topics: int,
        length: int,
        missing: float,
        seed: int = 0,
    ) -> None:
        rng = np.random.default_rng(seed)
        self.words, self.topics, self.length, self.seed = words, topics, length, seed
        self.languages = tuple(f"l{number:02d}" for number in range(languages))
        self.ids = [str(row) for row in range(rows)]
        self.presence = rng.random((rows, languages)) >= missing
        self.presence[:, 0] = True
        self.about = rng.integers(topics, size=(rows, TOPICS_OF_A_DOCUMENT))

    def matrix(self, language: str) -> Any:
        """Counts of words."""
        number = self.index(language)
        rng = np.random.default_rng([self.seed, number])
        about = self.about[self.presence[:, number]]
        of_topics = rng.integers(self.words, size=(self.topics, TOPIC_WORDS))
        parts = [
            self._counts(rng, of_topics, about[start : start + ROWS_TOGETHER])
            for start in range(0, len(about), ROWS_TOGETHER)
        ]
        return sparse.vstack(parts, format="csr")

    def _counts(
        self, rng: np.random.Generator, of_topics: NDArray[np.int64], about: NDArray[np.int64]
    ) -> Any:
        """Counts of some documents."""
        n = len(about)
        topic = about[np.arange(n)[:, None], rng.integers(TOPICS_OF_A_DOCUMENT, size=(n, self.length))]
        topical = of_topics[topic, zipf(rng, TOPIC_WORDS, (n, self.length))]
        general = zipf(rng, self.words, (n, self.length))
        column = np.where(rng.random((n, self.length)) < TOPICAL, topical, general).ravel()
        line = np.repeat(np.arange(n), self.length)
        ones = np.ones(len(line), dtype=np.float32)
        return sparse.csr_matrix((ones, (line, column)), shape=(n, self.words))

    def vocabulary(self, language: str) -> Sequence[str]:
        """Words that say which language they are of."""
        return [f"{language}{word:06d}" for word in range(self.words)]

    def titles(self, language: str) -> Sequence[str]:
        """No titles."""
        return [""] * int(self.presence[:, self.index(language)].sum())

    def tokeniser(self, language: str) -> Settings:
        """None made the counts."""
        return None


def zipf(rng: np.random.Generator, words: int, shape: tuple[int, int]) -> NDArray[np.int64]:
    """Ranks of words, from 0, whose frequencies fall as one over the rank."""
    reached = np.cumsum(1 / np.arange(1, words + 1))
    return np.minimum(np.searchsorted(reached / reached[-1], rng.random(shape)), words - 1)
