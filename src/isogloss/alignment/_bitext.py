"""Sentence pairs as integers: the form in which every alignment model reads a text."""

from __future__ import annotations

import dataclasses
import itertools
import os
from array import array
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import IO, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from isogloss.corpora.readers import NumberedSentences, PlainPairs
from isogloss.exceptions import CorpusError
from isogloss.text import StemModel

BLOCK_CELLS = 2_000_000
"""Word pairs that are looked at together when all of them would take too much memory."""

BUFFER_WORDS = 1 << 20
"""Words that are gathered before they are written to disk."""


@dataclasses.dataclass(frozen=True)
class WordForms:
    """Normalisation of words for the statistics; the text itself is not changed.

    Parameters
    ----------
    lower : bool
        Ignore case.
    prefix : int or None
        Look at the first letters only, a crude stem for languages with rich endings.
    stems : StemModel, optional
        Look at the stems only.

    Examples
    --------
    >>> WordForms(prefix=5)("Translations")
    'trans'
    """

    lower: bool = True
    prefix: int | None = None
    stems: StemModel | None = None

    def __post_init__(self) -> None:
        if self.prefix is not None and self.prefix < 1:
            raise ValueError(f"prefix={self.prefix}; expected a number of letters, or None for whole words")

    def __call__(self, word: str) -> str:
        """The form of one word."""
        word = word.lower() if self.lower else word
        word = word if self.stems is None else self.stems.stem(word)
        return word if self.prefix is None else word[: self.prefix]


BothForms: TypeAlias = WordForms | tuple[WordForms, WordForms]
"""Normalisation of the words of both sides, alike or of each side."""


def source_and_target(forms: BothForms) -> tuple[WordForms, WordForms]:
    """The forms of each side."""
    return (forms, forms) if isinstance(forms, WordForms) else forms


class WordList:
    """Words and their numbers, in the order in which they were first seen."""

    def __init__(self, words: Iterable[str] = ()) -> None:
        self.index: dict[str, int] = {}
        for word in words:
            self.index.setdefault(word, len(self.index))

    @property
    def words(self) -> list[str]:
        """The words by number."""
        return list(self.index)

    def __len__(self) -> int:
        return len(self.index)

    def __contains__(self, word: str) -> bool:
        return word in self.index

    def __eq__(self, other: object) -> bool:
        return isinstance(other, WordList) and self.words == other.words

    __hash__ = None  # type: ignore[assignment]

    def copy(self) -> WordList:
        """The same words; adding to the copy leaves this one as it is."""
        out = WordList()
        out.index = dict(self.index)
        return out


class Sentences:
    """One side of a bitext: word numbers of all sentences in one array."""

    def __init__(self, words: NDArray[np.int32], offsets: NDArray[np.int64], vocabulary: WordList) -> None:
        self.words, self.offsets, self.vocabulary = words, offsets, vocabulary

    @property
    def lengths(self) -> NDArray[np.int64]:
        """Words per sentence."""
        return np.diff(self.offsets)

    @property
    def counts(self) -> NDArray[np.int64]:
        """Return the frequency of each word of the vocabulary."""
        out = np.zeros(len(self.vocabulary), dtype=np.int64)
        for start in range(0, len(self.words), BUFFER_WORDS):
            out += np.bincount(self.words[start : start + BUFFER_WORDS], minlength=len(out))
        return out

    def texts(self) -> Iterator[list[str]]:
        """The words of every sentence back from their numbers."""
        words = self.vocabulary.words
        for a, b in itertools.pairwise(self.offsets.tolist()):
            yield [words[w] for w in self.words[a:b].tolist()]

    def take(self, rows: NDArray[np.int64]) -> Sentences:
        """Some sentences by number."""
        lengths = self.lengths[rows]
        offsets = np.concatenate([[0], np.cumsum(lengths)])
        at = np.repeat(self.offsets[rows] - offsets[:-1], lengths) + np.arange(offsets[-1])
        return Sentences(np.asarray(self.words[at]), offsets, self.vocabulary)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, rows: slice) -> Sentences:
        start, stop, _ = rows.indices(len(self))
        offsets = self.offsets[start : max(stop, start) + 1]
        return Sentences(self.words[offsets[0] : offsets[-1]], offsets - offsets[0], self.vocabulary)


class Bitext:
    """Aligned sentences of two languages.

    Parameters
    ----------
    source, target : Sentences
        Equally many sentences; a sentence may be empty and then has no links.

    Examples
    --------
    >>> bitext = Bitext.from_pairs([("the house", "la maison"), ("the", "la")])
    >>> bitext
    Bitext(2 sentence pairs; 3 source words, 2 of them different; 3 target words, 2 of them different)
    >>> bitext.source.words
    array([0, 1, 0], dtype=int32)
    """

    def __init__(self, source: Sentences, target: Sentences) -> None:
        if len(source) != len(target):
            raise ValueError(
                f"{len(source)} source sentences and {len(target)} target sentences; expected equally many"
            )
        self.source, self.target = source, target

    @classmethod
    def from_pairs(
        cls,
        pairs: Iterable[tuple[str | Sequence[str], str | Sequence[str]]],
        *,
        forms: BothForms | None = None,
        vocabularies: tuple[WordList, WordList] | None = None,
        folder: str | os.PathLike[str] | None = None,
    ) -> Self:
        """Number the words of sentence pairs, given as token lists or as text to be split at spaces.

        Parameters
        ----------
        pairs : iterable of (source, target)
            Read once. Plain files (:class:`~isogloss.corpora.LinePairs` and its like) are read many lines at
            a time, by a compiled loop.
        forms : WordForms or pair of WordForms, optional
            Which words count as the same, on both sides or on each of them; lower case by default.
        vocabularies : pair of WordList, optional
            Known words keep their numbers and new ones are appended, to copies.
        folder : path, optional
            Keep the numbers of the words (4 bytes each) in this folder instead of in memory. Two files,
            ``source.words`` and ``target.words``, are written there and must stay while the bitext is used.
        """
        normal = source_and_target(WordForms() if forms is None else forms)
        known = vocabularies or (WordList(), WordList())
        with ExitStack() as stack:
            paths = [None, None] if folder is None else _paths(folder)
            files = [None if path is None else stack.enter_context(path.open("wb")) for path in paths]
            sides = [
                _Side(words.copy(), form, file)
                for words, form, file in zip(known, normal, files, strict=True)
            ]
            if isinstance(pairs, PlainPairs):
                _add_blocks(sides, pairs)
            else:
                _add_pairs(sides, pairs)
            return cls(*(side.sentences() for side in sides))

    def __len__(self) -> int:
        return len(self.source)

    def __getitem__(self, rows: slice) -> Bitext:
        return Bitext(self.source[rows], self.target[rows])

    def sample(self, most: int) -> Bitext:
        """Sentence pairs from all parts of the text, at most so many.

        Examples
        --------
        >>> Bitext.from_pairs([(f"a{k}", f"b{k}") for k in range(9)]).sample(3).source.words
        array([0, 4, 8], dtype=int32)
        """
        rows = np.unique(np.linspace(0, len(self) - 1, min(most, len(self))).round().astype(np.int64))
        return Bitext(self.source.take(rows), self.target.take(rows))

    def __repr__(self) -> str:
        s, t = self.source, self.target
        return (
            f"Bitext({len(self)} sentence pairs; {len(s.words)} source words, {len(s.vocabulary)} of them "
            f"different; {len(t.words)} target words, {len(t.vocabulary)} of them different)"
        )

    def in_forms(self, forms: BothForms, *, vocabularies: tuple[WordList, WordList] | None = None) -> Bitext:
        """The same text with words in other forms, as :meth:`from_pairs` would number them.

        Text that is kept on disk stays there: the new numbers are written beside the old ones.

        Examples
        --------
        >>> text = Bitext.from_pairs([("the houses", "la maison"), ("house", "maisons")])
        >>> text.in_forms(WordForms(prefix=4))
        Bitext(2 sentence pairs; 3 source words, 2 of them different; 3 target words, 2 of them different)
        """
        known = vocabularies or (WordList(), WordList())
        sides = zip((self.source, self.target), known, source_and_target(forms), strict=True)
        return Bitext(*(_renumbered(side, words.copy(), form) for side, words, form in sides))

    @property
    def words(self) -> tuple[list[str], list[str]]:
        """The vocabularies, by number."""
        return self.source.vocabulary.words, self.target.vocabulary.words

    @property
    def shape(self) -> tuple[int, int]:
        """Sizes of the vocabularies."""
        return len(self.source.vocabulary), len(self.target.vocabulary)

    def texts(self) -> Iterator[tuple[list[str], list[str]]]:
        """The words of every sentence pair back from their numbers."""
        return zip(self.source.texts(), self.target.texts(), strict=True)

    @property
    def cells(self) -> NDArray[np.int64]:
        """Return the offset of each sentence pair's word pairs in one flat array."""
        return np.concatenate([[0], np.cumsum(self.source.lengths * self.target.lengths)])

    def blocks(self, most: int = BLOCK_CELLS) -> Iterator[slice]:
        """Sentence pairs, one after the other, in stretches of at most ``most`` word pairs or of one pair.

        Examples
        --------
        >>> list(Bitext.from_pairs([("a b", "x"), ("a", "x"), ("a b", "x y")]).blocks(3))
        [slice(0, 2, None), slice(2, 3, None)]
        """
        cells, start = self.cells, 0
        while start < len(self):
            stop = int(np.searchsorted(cells, cells[start] + most, side="right")) - 1
            stop = min(max(stop, start + 1), len(self))
            yield slice(start, stop)
            start = stop


class _Numbers(dict[str, int]):
    """The number of every word as it is written; a new one is brought to its form first."""

    def __init__(self, vocabulary: WordList, forms: WordForms) -> None:
        super().__init__()
        self.index, self.forms = vocabulary.index, forms

    def __missing__(self, word: str) -> int:
        number = self[word] = self.index.setdefault(self.forms(word), len(self.index))
        return number


class _Side:
    """Numbers the words of one side as sentences come in, in memory or in a file."""

    def __init__(self, vocabulary: WordList, forms: WordForms, file: IO[bytes] | None) -> None:
        self.vocabulary = vocabulary
        self.number = _Numbers(vocabulary, forms).__getitem__
        self.words, self.ends = array("i"), array("q", [0])
        self.file, self.written = file, 0

    def add(self, sentence: Sequence[str]) -> None:
        self.words.extend(map(self.number, sentence))
        self.ends.append(self.written + len(self.words))
        self._flush()

    def add_block(self, block: NumberedSentences) -> None:
        numbers = np.fromiter(map(self.number, block.forms), np.int32, len(block.forms))
        self.words.frombytes(numbers[block.words].tobytes())
        self.ends.frombytes((self.ends[-1] + np.cumsum(block.lengths)).tobytes())
        self._flush()

    def _flush(self) -> None:
        if self.file is not None and len(self.words) >= BUFFER_WORDS:
            self._write(self.file)

    def sentences(self) -> Sentences:
        return Sentences(self._numbers(), np.frombuffer(self.ends, dtype=np.int64), self.vocabulary)

    def _numbers(self) -> NDArray[np.int32]:
        if self.file is not None and self.ends[-1]:
            self._write(self.file)
            self.file.flush()
            return np.memmap(self.file.name, dtype=np.int32, mode="r")
        return np.frombuffer(self.words, dtype=np.int32) if self.words else np.empty(0, dtype=np.int32)

    def _write(self, file: IO[bytes]) -> None:
        self.words.tofile(file)
        self.written += len(self.words)
        self.words = array("i")


def _add_pairs(
    sides: Sequence[_Side], pairs: Iterable[tuple[str | Sequence[str], str | Sequence[str]]]
) -> None:
    for pair in pairs:
        if len(pair) != 2 or isinstance(pair, str):
            raise ValueError(f"{pair!r} is not a sentence pair; expected (source, target)")
        for side, sentence in zip(sides, pair, strict=True):
            side.add(sentence.split() if isinstance(sentence, str) else sentence)


def _add_blocks(sides: Sequence[_Side], pairs: PlainPairs) -> None:
    for blocks in pairs.numbered():
        for side, block in zip(sides, blocks, strict=True):
            side.add_block(block)


def _paths(folder: str | os.PathLike[str]) -> list[Path]:
    """The two files of a bitext that is kept on disk."""
    if not os.path.isdir(folder):
        raise CorpusError(f"{os.fspath(folder)}: is not a folder; make it first, or give another")
    return [Path(folder, "source.words"), Path(folder, "target.words")]


def _renumbered(side: Sentences, vocabulary: WordList, forms: WordForms) -> Sentences:
    """One side with its words in other forms, numbered in the order in which they first occur."""
    number, old = _Numbers(vocabulary, forms), side.vocabulary.words
    to = np.full(len(old), -1, dtype=np.int32)
    path = _beside(side.words, forms)
    with ExitStack() as stack:
        file = None if path is None else stack.enter_context(path.open("wb"))
        words = np.empty(len(side.words) if file is None else 0, dtype=np.int32)
        for start in range(0, len(side.words), BUFFER_WORDS):
            part = np.asarray(side.words[start : start + BUFFER_WORDS])
            fresh, first = np.unique(part[to[part] < 0], return_index=True)
            for word in fresh[np.argsort(first)].tolist():
                to[word] = number[old[word]]
            if file is None:
                words[start : start + len(part)] = to[part]
            else:
                to[part].tofile(file)
    if path is not None:
        words = np.memmap(path, dtype=np.int32, mode="r")
    return Sentences(words, side.offsets, vocabulary)


def _beside(words: NDArray[np.int32], forms: WordForms) -> Path | None:
    """The file for other forms of words that are kept in a file; None for words in memory."""
    if not isinstance(words, np.memmap) or words.filename is None or not len(words):
        return None
    path = Path(words.filename)
    kind = forms.prefix or ("all" if forms.stems is None else "stems")
    return path.with_name(f"{path.stem}.{kind}{path.suffix}")
