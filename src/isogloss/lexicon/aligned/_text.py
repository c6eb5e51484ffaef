"""Aligned text: sentences in characters and in words, and the links between the words."""

from __future__ import annotations

import re
import unicodedata
from array import array
from collections import Counter
from collections.abc import Iterable
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from isogloss.alignment import Links
from isogloss.corpora import PairWords

Ints = NDArray[np.int64]

_CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\ufffe\uffff]")
_MARKS = re.compile(r"[\u0300-\u036f\u0591-\u05c7\u064b-\u065f\u0670\u06d6-\u06ed]+")
_WITHIN = re.compile(r"[\s'\u2019\u2010\u2011\u00b7-]*")
_ENDS = re.compile('[.!?:;"(\u00ab\u00bb\u2014\u2018\u201c\u201d\u201e\u2026\u061f\u0964\u3002\uff01\uff1f]')
APOSTROPHES = "'\u2019"
_COVERED = 0.9
_FEW_TYPES = 20


def fold_marks(word: str) -> str:
    """Remove accents, Hebrew points and Arabic vowel signs; vowel signs that are letters stay.

    Examples
    --------
    >>> fold_marks("Ježíš"), fold_marks("हिन्दी")
    ('Jezis', 'हिन्दी')
    """
    return unicodedata.normalize("NFC", _MARKS.sub("", unicodedata.normalize("NFD", word)))


class WordRules(NamedTuple):
    """Which written words count as the same, and which signs are letters."""

    case: bool = False
    """Distinguish upper and lower case."""
    marks: bool = True
    """Distinguish accents, Hebrew points and Arabic vowel signs."""
    letters: str = ""
    """Characters, such as an apostrophe or a hyphen, that are parts of the words they touch."""

    def key(self, word: str) -> str:
        """What words that count as the same have in common."""
        word = unicodedata.normalize("NFC", word)
        word = word if self.case else word.lower()
        return word if self.marks else fold_marks(word)

    def extend(self, text: str, spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
        """Offsets of words with the signs that are letters added, and words that these join made one."""
        if not self.letters:
            return list(spans)
        found: list[tuple[int, int]] = []
        for start, end in spans:
            while start and text[start - 1] in self.letters:
                start -= 1
            while end < len(text) and text[end] in self.letters:
                end += 1
            if found and start <= found[-1][1]:
                start = found.pop()[0]
            found.append((start, end))
        return found


def detect_letters(texts: Iterable[str]) -> str:
    """Apostrophes, if they are letters: if many different words come before them and after them.

    Elided articles (*l'eau*) and endings (*Lord's*) have few words on one of their sides.

    Examples
    --------
    >>> detect_letters(["l'eau d'une rivière", "the Lord's house"])
    ''
    """
    left: Counter[str] = Counter()
    right: Counter[str] = Counter()
    for text in texts:
        for before, after in re.findall(rf"(\w+)[{APOSTROPHES}](?=(\w+))", text.lower()):
            left[before] += 1
            right[after] += 1
    return APOSTROPHES if min(_covering(left), _covering(right)) > _FEW_TYPES else ""


def _covering(counts: Counter[str]) -> int:
    """The number of most frequent words that cover most of all occurrences."""
    numbers = np.array(sorted(counts.values(), reverse=True))
    return int(np.searchsorted(np.cumsum(numbers), _COVERED * numbers.sum()) + 1) if len(numbers) else 0


class TextSide:
    """One language of a text: its sentences, and its tokens as numbers of words.

    ``starts`` and ``ends`` are in characters of the sentence; the tokens of sentence ``s`` are those from
    ``offsets[s]`` to ``offsets[s + 1]``.
    """

    def __init__(
        self, rules: WordRules, texts: list[str], words: list[str], tokens: Ints, spans: Ints, offsets: Ints
    ) -> None:
        self.rules = rules
        self.texts, self.words, self.tokens, self.offsets = texts, words, tokens, offsets
        self.starts, self.ends = spans[:, 0], spans[:, 1]

    def __len__(self) -> int:
        return len(self.texts)

    @cached_property
    def sentence(self) -> Ints:
        """The sentence of each token."""
        return np.repeat(np.arange(len(self)), np.diff(self.offsets))

    @cached_property
    def counts(self) -> Ints:
        """The number of occurrences of each word."""
        return np.bincount(self.tokens, minlength=len(self.words))

    def surface(self, first: int, length: int = 1) -> str:
        """Some tokens of one sentence as they are written, with what is between them."""
        text, last = self.texts[int(self.sentence[first])], first + length - 1
        return text[int(self.starts[first]) : int(self.ends[last])]

    def keys(self, sentence: int) -> list[str]:
        """The words of a sentence."""
        a, b = self.offsets[sentence : sentence + 2]
        return [self.words[word] for word in self.tokens[a:b].tolist()]

    @cached_property
    def gaps(self) -> NDArray[np.int8]:
        """What is before each token: blanks or hyphens (0), punctuation (1) or a new sentence (2)."""
        found = np.full(len(self.tokens), 2, dtype=np.int8)
        for row, text in enumerate(self.texts):
            a, b = self.offsets[row : row + 2].tolist()
            starts, ends = self.starts[a + 1 : b].tolist(), self.ends[a : b - 1].tolist()
            for token, (end, start) in enumerate(zip(ends, starts, strict=True), a + 1):
                gap = text[end:start]
                found[token] = 0 if _WITHIN.fullmatch(gap) else 2 if _ENDS.search(gap) else 1
        return found

    def unbroken(self, first: Ints, length: Ints) -> NDArray[np.bool_]:
        """Whether spans have no punctuation between their tokens."""
        broken = np.concatenate([[0], np.cumsum(self.gaps > 0)])
        return np.asarray(broken[first + length] == broken[first + 1])


class _SideBuilder:
    """Collects the sentences of one side."""

    def __init__(self, rules: WordRules) -> None:
        self.rules = rules
        self.texts: list[str] = []
        self.numbers: dict[str, int] = {}
        self.tokens, self.spans, self.lengths = array("q"), array("q"), array("q", [0])

    def add(self, text: str, spans: Iterable[tuple[int, int]]) -> None:
        text = _CONTROLS.sub(" ", text)
        words = self.rules.extend(text, spans)
        self.texts.append(text)
        self.lengths.append(len(words))
        for start, end in words:
            self.tokens.append(self.numbers.setdefault(self.rules.key(text[start:end]), len(self.numbers)))
            self.spans.extend((start, end))

    def side(self) -> TextSide:
        tokens, spans, lengths = (
            np.array(values, dtype=np.int64) for values in (self.tokens, self.spans, self.lengths)
        )
        return TextSide(
            self.rules, self.texts, list(self.numbers), tokens, spans.reshape(-1, 2), np.cumsum(lengths)
        )


def read_sides(
    pairs: Iterable[PairWords], source: WordRules | None = None, target: WordRules | None = None
) -> tuple[TextSide, TextSide]:
    """Number the words of sentence pairs; pairs with an empty side are left out.

    Parameters
    ----------
    pairs : iterable
        Sentence pairs with texts and offsets of words, as
        :meth:`~isogloss.corpora.WordPairs.with_offsets` gives them.
    source, target : WordRules, optional
        Which words of each side count as the same.
    """
    sides = _SideBuilder(source or WordRules()), _SideBuilder(target or WordRules())
    for pair in pairs:
        if all(pair.offsets):
            for side, text, spans in zip(sides, pair.texts, pair.offsets, strict=True):
                side.add(text, spans)
    return sides[0].side(), sides[1].side()


class AlignedText(NamedTuple):
    """Two sides with as many sentences, and links between tokens, which are numbered over all sentences."""

    source: TextSide
    target: TextSide
    source_token: Ints
    target_token: Ints
    probability: NDArray[np.float32]

    @classmethod
    def of(cls, source: TextSide, target: TextSide, links: Links) -> AlignedText:
        """Sides and their links."""
        first = links.source + source.offsets[:-1][links.sentence]
        second = links.target + target.offsets[:-1][links.sentence]
        known = links.probability
        p = np.ones(links.n_links, dtype=np.float32) if known is None else known
        return cls(source, target, first, second, p)

    def swapped(self) -> AlignedText:
        """Source and target exchanged."""
        return AlignedText(self.target, self.source, self.target_token, self.source_token, self.probability)

    @property
    def linked_shares(self) -> tuple[float, float]:
        """The shares of the tokens of each side that have a link."""
        sides = (self.source, self.source_token), (self.target, self.target_token)
        first, second = (len(np.unique(linked)) / max(len(side.tokens), 1) for side, linked in sides)
        return first, second


def sentence_pairs(source: TextSide, target: TextSide) -> list[tuple[list[str], list[str]]]:
    """The words of each sentence pair, for an aligner."""
    return [(source.keys(row), target.keys(row)) for row in range(len(source))]
