"""Sentence pairs that show a translation: short, ordinary, well aligned, and different from each other."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from isogloss.lexicon.aligned._entries import Example, Span
from isogloss.lexicon.aligned._text import AlignedText, Ints, TextSide

BEST_WORDS = 12
"""Sentences get less useful with every word above this, or below half of it."""
MAX_OVERLAP = 0.5
"""The greatest share of common words of two examples of one entry."""
CANDIDATES = 8


def sentence_scores(text: AlignedText) -> NDArray[np.float64]:
    """Score sentence pairs as examples: share of linked words, frequency of the words, length."""
    found = np.zeros(len(text.source))
    for side, linked in ((text.source, text.source_token), (text.target, text.target_token)):
        lengths = np.diff(side.offsets)
        safe = np.maximum(lengths, 1)
        has_link = np.zeros(len(side.tokens))
        has_link[linked] = 1
        common = np.log(side.counts[side.tokens] + 1.0) / np.log(len(side.tokens) + 2.0)
        for values, weight in ((has_link, 1.0), (common, 1.0)):
            found += weight * np.bincount(side.sentence, values, minlength=len(side)) / safe
        found -= 0.06 * np.maximum(lengths - BEST_WORDS, 0) + 0.15 * np.maximum(BEST_WORDS / 2 - lengths, 0)
    return found


def token_spans(side: TextSide, first: int, length: int) -> tuple[Span, ...]:
    """Where tokens are in their sentence, each on its own, so that what is between them stays plain."""
    return tuple(
        zip(
            side.starts[first : first + length].tolist(),
            side.ends[first : first + length].tolist(),
            strict=True,
        )
    )


class ExampleFinder:
    """Finds examples among occurrences of translations, each a span of source and of target tokens."""

    def __init__(self, text: AlignedText) -> None:
        self.text = text
        self.scores = sentence_scores(text)
        self._words: dict[int, frozenset[int]] = {}

    def order(self, groups: Ints, source: Ints) -> Ints:
        """Rows by group, and within a group from the best example on."""
        return np.lexsort((-self.scores[self.text.source.sentence[source]], groups))

    def example(self, source: int, source_length: int, target: int, target_length: int) -> Example:
        """One occurrence as an example."""
        here, there = self.text.source, self.text.target
        row = int(here.sentence[source])
        return Example(
            row, token_spans(here, source, source_length), token_spans(there, target, target_length)
        )

    def choose(
        self, rows: list[tuple[int, int, int, int]], number: int, chosen: list[int]
    ) -> tuple[Example, ...]:
        """Choose the first few occurrences that differ from the sentences chosen before, and add theirs."""
        found: list[Example] = []
        for row in rows[:CANDIDATES]:
            sentence = int(self.text.source.sentence[row[0]])
            if len(found) < number and all(self._overlap(sentence, other) <= MAX_OVERLAP for other in chosen):
                found.append(self.example(*row))
                chosen.append(sentence)
        if not found and rows:
            found.append(self.example(*rows[0]))
        return tuple(found)

    def _overlap(self, one: int, other: int) -> float:
        if one == other:
            return 1.0
        a, b = self._of(one), self._of(other)
        return len(a & b) / max(len(a | b), 1)

    def _of(self, sentence: int) -> frozenset[int]:
        if sentence not in self._words:
            side = self.text.source
            a, b = side.offsets[sentence : sentence + 2]
            self._words[sentence] = frozenset(side.tokens[a:b].tolist())
        return self._words[sentence]
