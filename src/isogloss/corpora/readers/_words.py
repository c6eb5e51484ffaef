"""Sentence pairs of raw text, split into words on the way; tokenised text is left as it is."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain, islice
from typing import NamedTuple

import numpy as np

from isogloss.corpora.readers._blocks import PairBlock, PlainPairs
from isogloss.corpora.readers._checking import ParallelText, RawPair
from isogloss.io import Spans
from isogloss.text import is_tokenised, split_words, word_offsets

SAMPLE_SENTENCES = 1000
"""Sentences from which it is seen whether a side is tokenised."""


class PairWords(NamedTuple):
    """A sentence pair: its text, its words, and where they start and end, in characters."""

    texts: tuple[str, str]
    words: tuple[list[str], list[str]]
    offsets: tuple[list[tuple[int, int]], list[tuple[int, int]]]


class WordPairs(PlainPairs):
    r"""The sentence pairs of another reader, with raw text split into words.

    Parameters
    ----------
    text : ParallelText
        The reader; its checks and its limit apply to the words.
    tokenised : bool or None
        Whether its text is tokenised, with spaces between words. None is to look at the first thousand
        sentences of each side, see :func:`~isogloss.text.is_tokenised`.

    Attributes
    ----------
    tokenised_sides : tuple of two bool
        What was decided for source and target in the last pass.

    Examples
    --------
    >>> from pathlib import Path
    >>> from isogloss.corpora import LinePairs
    >>> _ = Path("en").write_text("The house, the cat.\n")
    >>> _ = Path("fr").write_text("la maison , le chat .\n")
    >>> pairs = WordPairs(LinePairs("en", "fr"))
    >>> list(pairs)
    [(['The', 'house', 'the', 'cat'], ['la', 'maison', ',', 'le', 'chat', '.'])]
    >>> pairs.tokenised_sides
    (False, True)
    >>> next(pairs.with_offsets()).offsets[0]
    [(0, 3), (4, 9), (11, 14), (15, 18)]
    """

    def __init__(self, text: ParallelText, tokenised: bool | None = None) -> None:
        super().__init__(max_tokens=text.max_tokens, on_bad=text.on_bad)
        self.text, self.tokenised = text, tokenised
        self.absent = text.absent
        self.tokenised_sides = (bool(tokenised), bool(tokenised))

    def place(self, line: int) -> str:
        """Return the location of a pair in the text."""
        return self.text.place(line)

    def blocks(self) -> Iterator[PairBlock]:
        """Pairs with a blank between their words."""
        blocks = self.text.blocks() if isinstance(self.text, PlainPairs) else _single_blocks(self.text.raw())
        sample = list(_sample(blocks))
        if self.tokenised is None:
            sides = [block.source for block in sample], [block.target for block in sample]
            source, target = (is_tokenised(list(islice(_decoded(side), SAMPLE_SENTENCES))) for side in sides)
            self.tokenised_sides = source, target
        source, target = self.tokenised_sides
        for block in chain(sample, blocks):
            left, right = block.source, block.target
            yield PairBlock(block.first, left if source else _split(left), right if target else _split(right))

    def with_offsets(self) -> Iterator[PairWords]:
        """The text of every pair, its words and their offsets; a bad pair has no words."""
        for raw, (source, target) in zip(self.text.raw(), self, strict=True):
            texts = tuple((side or b"").removesuffix(b"\r").decode("utf-8", "replace") for side in raw[1:])
            offsets = (word_offsets(text, words) for text, words in zip(texts, (source, target), strict=True))
            yield PairWords((texts[0], texts[1]), (source, target), (next(offsets), next(offsets)))


def _sample(blocks: Iterator[PairBlock]) -> Iterator[PairBlock]:
    """The first blocks, until they have as many sentences as are looked at or the text ends."""
    seen = 0
    while seen < SAMPLE_SENTENCES and (block := next(blocks, None)) is not None:
        seen += len(block.source)
        yield block


def _single_blocks(pairs: Iterable[RawPair]) -> Iterator[PairBlock]:
    """Pairs one at a time, each with its own line."""
    for line, source, target in pairs:
        yield PairBlock(line, _spans([source]), _spans([target]))


def _split(lines: Spans) -> Spans:
    """Lines with a blank between their words; those that are not UTF-8 stay as they are."""
    parts = list(lines)
    if not parts:
        return lines
    try:
        text = b"\n".join((part or b"").replace(b"\n", b" ") for part in parts).decode()
    except UnicodeDecodeError:
        return _spans([part if part is None else _split_line(part) for part in parts])
    words = split_words(text).split("\n")
    return _spans([None if part is None else line.encode() for part, line in zip(parts, words, strict=True)])


def _split_line(line: bytes) -> bytes:
    try:
        return split_words(line.decode()).encode()
    except UnicodeDecodeError:
        return line


def _spans(lines: list[bytes | None]) -> Spans:
    lengths = np.array([len(line or b"") for line in lines], dtype=np.int64)
    ends = np.cumsum(lengths)
    missing = np.array([line is None for line in lines], dtype=bool)
    starts, ends = np.where(missing, -1, ends - lengths), np.where(missing, -1, ends)
    return Spans(b"".join(line or b"" for line in lines), starts, ends)


def _decoded(sides: Iterable[Spans]) -> Iterator[str]:
    return (line.decode("utf-8", "replace") for lines in sides for line in lines if line)
