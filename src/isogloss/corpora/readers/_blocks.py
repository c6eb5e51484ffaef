"""Sentence pairs in plain files, many lines at a time: numbers instead of a string for every word."""

from __future__ import annotations

import abc
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from isogloss.corpora.readers._checking import PairReport, ParallelText, RawPair
from isogloss.exceptions import CorpusError
from isogloss.io import Spans
from isogloss.kernels import number_pairs, part_spans


class PairBlock(NamedTuple):
    """Sentences and their translations; ``first`` is the line of the first of them."""

    first: int
    source: Spans
    target: Spans


class NumberedSentences(NamedTuple):
    """One side of a block: words as positions in ``forms``, which has each once, in the order of the text.

    A bad pair has no words on either side.
    """

    words: NDArray[np.int32]
    lengths: NDArray[np.int64]
    forms: list[str]


class PlainPairs(ParallelText):
    """Sentence pairs in files of lines.

    Besides one pair at a time they can be had as numbers, which takes a tenth of the time.
    """

    @abc.abstractmethod
    def blocks(self) -> Iterator[PairBlock]:
        """Lines of the two sides, unchecked."""

    def raw(self) -> Iterator[RawPair]:
        """Pairs as bytes, unchecked."""
        for first, source, target in self.blocks():
            for number, (left, right) in enumerate(zip(source, target, strict=True), first):
                yield number, left, right

    def numbered(self) -> Iterator[tuple[NumberedSentences, NumberedSentences]]:
        r"""The two sides of many pairs at a time, with the same checks and the same report as one at a time.

        Examples
        --------
        >>> from pathlib import Path
        >>> from isogloss.corpora import BarPairs
        >>> _ = Path("pairs").write_text("the house ||| la maison\nthe cat ||| le chat\n")
        >>> for source, target in BarPairs("pairs").numbered():
        ...     print(source.words, source.lengths, source.forms)
        [0 1 0 2] [2 2] ['the', 'house', 'cat']
        """
        report = self.report = PairReport()
        for block in self.blocks():
            bad, source, target = number_pairs(*block.source.arrays, *block.target.arrays, self.max_tokens)
            before = report.pairs
            for row in bad.tolist():
                report.pairs = before + row + 1
                self._checked(_raw(block, row))
            report.pairs = before + len(block.source)
            yield _numbered(*source), _numbered(*target)


def parts_of(
    lines: Spans, separator: bytes, first: int, second: int, *, parts: int = 0
) -> tuple[Spans, Spans]:
    r"""Two of the parts into which a separator cuts lines; absent in lines that do not have them.

    With ``parts``, lines with more or fewer of them have none.

    Examples
    --------
    >>> import numpy as np
    >>> lines = Spans(b"1\ta b\tx", np.array([0, 0]), np.array([7, 2]))
    >>> [list(part) for part in parts_of(lines, b"\t", 1, 2)]
    [[b'a b', b''], [b'x', None]]
    """
    between = np.frombuffer(separator, dtype=np.uint8)
    a, b, c, d = part_spans(*lines.arrays, between, first, second, parts)
    return Spans(lines.text, a, b), Spans(lines.text, c, d)


def side_by_side(
    source: Iterator[Spans], target: Iterator[Spans], source_name: str, target_name: str
) -> Iterator[PairBlock]:
    """Lines of two files; that one is shorter is known at its end, and the rest of the other is counted."""
    left, right, number = _Lines(source), _Lines(target), 0
    while (ready := min(left.ready(), right.ready())) > 0:
        yield PairBlock(number + 1, left.take(ready), right.take(ready))
        number += ready
    counts = number + left.rest(), number + right.rest()
    if counts[0] != counts[1]:
        raise CorpusError(
            f"{source_name} has {counts[0]} lines and {target_name} has {counts[1]}; expected as many, "
            "so that lines with the same number are translations"
        )


class _Lines:
    """Lines that come in blocks and are taken in others."""

    def __init__(self, blocks: Iterator[Spans]) -> None:
        none = np.empty(0, dtype=np.int64)
        self.blocks, self.now = blocks, Spans(b"", none, none)

    def ready(self) -> int:
        """Return the number of items that can be taken; 0 at the end."""
        if not len(self.now):
            self.now = next(self.blocks, self.now)
        return len(self.now)

    def take(self, n: int) -> Spans:
        """The next ``n``."""
        out, self.now = self.now[:n], self.now[n:]
        return out

    def rest(self) -> int:
        """Return the number of items that are left."""
        return len(self.now) + sum(map(len, self.blocks))


def _raw(block: PairBlock, row: int) -> RawPair:
    (source,), (target,) = (side[row : row + 1] for side in (block.source, block.target))
    return block.first + row, source, target


def _numbered(
    words: NDArray[np.int32], lengths: NDArray[np.int64], text: NDArray[np.uint8]
) -> NumberedSentences:
    forms = text.tobytes().decode("utf-8").split("\n") if len(text) else []
    return NumberedSentences(words, lengths, forms)
