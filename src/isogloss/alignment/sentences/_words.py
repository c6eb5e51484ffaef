"""Sentences as word numbers, and what is known of word pairs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from anyascii import anyascii
from numpy.typing import NDArray

from isogloss.alignment._bitext import Bitext, Sentences, WordForms, WordList
from isogloss.alignment.aligner import Aligner
from isogloss.alignment.models import Priors
from isogloss.text import split_words
from isogloss.text.raw import SplitText

Ratios = tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float32]]
"""A sparse matrix: where rows begin, columns, how much likelier the column's word is beside the row's."""

MIN_COUNT = 2
"""Rarer words say nothing of their translation: what was learned of them is where they were aligned."""

MIN_KEY = 4
"""Letters of the shortest words that are taken for the same in both languages."""

KEY_LENGTH = 6
"""Letters by which words are compared."""

MAX_PARTNERS = 4
"""Words that look like more than so many of the other side are not compared."""

SAME_WORD = 0.3
"""Probability that a word is kept as it is, where the other side has it, or translated as the user says."""

MIN_TRANSLATION = 1e-3
"""Rarer translations are left out."""

SCHEDULE = "1:4"
"""Schedule of the lexicon: four iterations of IBM Model 1."""


@dataclass(frozen=True, eq=False)
class SentenceSide:
    """One side of a document: words, lengths and ends of paragraphs by sentence."""

    words: NDArray[np.int32]
    offsets: NDArray[np.int64]
    lengths: NDArray[np.float64]
    """Characters without blanks."""
    ends: NDArray[np.uint8]
    """1 for the last sentence of a paragraph."""

    @classmethod
    def of(cls, text: SplitText, vocabulary: WordList, forms: WordForms) -> SentenceSide:
        """Split the sentences of a text into words, and add new ones to the vocabulary."""
        sentences = [" ".join(sentence.split()) for sentence in text.sentences]
        lines = split_words("\n".join(sentences)).split("\n") if sentences else []
        index, offsets, words = vocabulary.index, [0], list[int]()
        for line in lines:
            words += [index.setdefault(forms(word), len(index)) for word in line.split()]
            offsets.append(len(words))
        paragraphs = np.array([*text.paragraphs, -1])
        return cls(
            np.array(words, np.int32),
            np.array(offsets, np.int64),
            np.array([max(len(s) - s.count(" "), 1) for s in sentences], np.float64),
            (paragraphs[1:] != paragraphs[:-1]).astype(np.uint8),
        )

    def __len__(self) -> int:
        return len(self.lengths)

    def __getitem__(self, rows: slice) -> SentenceSide:
        offsets = self.offsets[rows.start : rows.stop + 1]
        return SentenceSide(
            self.words[offsets[0] : offsets[-1]], offsets - offsets[0], self.lengths[rows], self.ends[rows]
        )

    def turned(self) -> SentenceSide:
        """The sentences from the last to the first."""
        counts = np.diff(self.offsets)[::-1]
        offsets = np.append(0, np.cumsum(counts))
        order = np.repeat(self.offsets[:-1][::-1] - offsets[:-1], counts) + np.arange(len(self.words))
        return SentenceSide(
            self.words[order],
            offsets,
            self.lengths[::-1].copy(),
            np.append(self.ends[:-1][::-1], self.ends[-1:]),
        )

    def joined(self, spans: Iterable[range]) -> tuple[list[NDArray[np.int32]], list[int]]:
        """Words of stretches of sentences, and how many they are."""
        words = [self.words[self.offsets[s.start] : self.offsets[s.stop]] for s in spans]
        return words, list(map(len, words))


class Lexicon:
    """Probabilities of word pairs in both directions, from several sources, of which the largest counts.

    The vocabularies are complete: they have the words of all documents.
    """

    def __init__(
        self, vocabularies: tuple[WordList, WordList], sides: Sequence[Sequence[SentenceSide]]
    ) -> None:
        self.vocabularies = vocabularies
        self.counts = [
            np.bincount(np.concatenate([side.words for side in part]), minlength=max(len(v), 1))
            for v, part in zip(vocabularies, sides, strict=True)
        ]
        self.pairs: dict[tuple[int, int], tuple[float, float]] = {}

    def add_same_words(self) -> None:
        """Numbers, and words of at least four letters that begin alike in the Latin alphabet."""
        source, target = (_by_key(v.index) for v in self.vocabularies)
        for key in source.keys() & target.keys():
            self._add(source[key], target[key])

    def add(self, priors: Priors, forms: WordForms) -> None:
        """Translations that are known."""
        found: dict[int, set[int]] = defaultdict(set)
        source, target = (v.index for v in self.vocabularies)
        for left, right, _ in zip(*priors.lexicon, strict=True):
            s, t = source.get(forms(left)), target.get(forms(right))
            if s is not None and t is not None:
                found[s].add(t)
        for s, translations in found.items():
            for t in translations:
                self.pairs[s, t] = SAME_WORD / len(translations), SAME_WORD

    def learn(self, bitext: Bitext, priors: Priors | None, jobs: int | None) -> tuple[Ratios, Ratios]:
        """Learn a lexicon from aligned sentences, and give the ratios of what is known then."""
        aligner = Aligner(
            SCHEDULE, agreement="product", ensemble=(), classes=1, lower=False, priors=priors, n_jobs=jobs
        ).fit(bitext)
        table, values = aligner.table_, aligner.parameters_.lexicon.astype(np.float64)
        pairs = np.stack([table.sources, table.columns], axis=1).astype(np.int64)
        keep = (self.counts[0][pairs[:, 0]] >= MIN_COUNT) & (self.counts[1][pairs[:, 1]] >= MIN_COUNT)
        keep &= (values >= MIN_TRANSLATION).any(axis=1)
        return self.ratios(pairs[keep], values[keep])

    def ratios(
        self, pairs: NDArray[np.int64] | None = None, values: NDArray[np.float64] | None = None
    ) -> tuple[Ratios, Ratios]:
        """Probabilities of words beside others, divided by those of the words alone; in both directions."""
        keys = np.array(list(self.pairs), np.int64).reshape(-1, 2)
        known = np.array(list(self.pairs.values()), np.float64).reshape(-1, 2)
        if pairs is not None and values is not None:
            keys, known = np.vstack([keys, pairs]), np.vstack([known, values])
        shares = [(count + 0.5) / (count.sum() + 0.5 * len(count)) for count in self.counts]
        sizes = [len(count) for count in self.counts]
        forward = _matrix(keys[:, 0], keys[:, 1], known[:, 0] / shares[1][keys[:, 1]], sizes[0])
        backward = _matrix(keys[:, 1], keys[:, 0], known[:, 1] / shares[0][keys[:, 0]], sizes[1])
        return forward, backward

    def bitext(
        self, parts: Sequence[tuple[tuple[SentenceSide, SentenceSide], Sequence[tuple[range, range]]]]
    ) -> Bitext:
        """Stretches of sentences of several documents as sentence pairs."""
        sides = []
        for which, vocabulary in enumerate(self.vocabularies):
            words, counts = list[NDArray[np.int32]](), [0]
            for texts, pairs in parts:
                more = texts[which].joined(pair[which] for pair in pairs)
                words += more[0]
                counts += more[1]
            numbers = np.concatenate(words) if words else np.empty(0, np.int32)
            sides.append(Sentences(numbers, np.cumsum(counts, dtype=np.int64), vocabulary))
        return Bitext(*sides)

    def _add(self, left: Sequence[int], right: Sequence[int]) -> None:
        if len(left) <= MAX_PARTNERS and len(right) <= MAX_PARTNERS:
            for s in left:
                for t in right:
                    self.pairs[s, t] = SAME_WORD / len(right), SAME_WORD / len(left)


def _matrix(
    rows: NDArray[np.int64], columns: NDArray[np.int64], values: NDArray[np.float64], n_rows: int
) -> Ratios:
    """Sparse rows; of two values for a pair the larger."""
    order = np.lexsort((-values, columns, rows))
    rows, columns, values = rows[order], columns[order], values[order]
    first = np.ones(len(rows), bool)
    first[1:] = (rows[1:] != rows[:-1]) | (columns[1:] != columns[:-1])
    starts = np.append(0, np.cumsum(np.bincount(rows[first], minlength=n_rows))).astype(np.int64)
    return starts, columns[first].astype(np.int32), values[first].astype(np.float32)


def _by_key(index: dict[str, int]) -> dict[str, list[int]]:
    """Numbers of words by how they are compared."""
    out: dict[str, list[int]] = defaultdict(list)
    for word, number in index.items():
        key = _key(word)
        if key:
            out[key].append(number)
    return out


@cache
def _key(word: str) -> str:
    """Digits as they are; letters in the Latin alphabet, the first ones; nothing for a short word."""
    plain: str = anyascii(word).lower()
    if plain.isdecimal():
        return plain
    letters = "".join(filter(str.isalnum, plain))
    return letters[:KEY_LENGTH] if len(letters) >= MIN_KEY else ""
