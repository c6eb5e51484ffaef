"""Checks of sentence pairs, and handling of bad ones."""

from __future__ import annotations

import abc
import dataclasses
from collections import Counter
from collections.abc import Iterator
from typing import Literal, TypeAlias

from isogloss.exceptions import CorpusError

SentencePair: TypeAlias = tuple[list[str], list[str]]
"""Tokens of the source sentence and of the target sentence."""

RawPair: TypeAlias = tuple[int, bytes | None, bytes | None]
"""Line of the file, and the two sides as UTF-8; None is a side that the line does not have."""

OnBad: TypeAlias = Literal["raise", "skip"]

MAX_EXAMPLES = 5


@dataclasses.dataclass(kw_only=True)
class Problems:
    """Bad records of a file: counts by kind, and messages about the first few."""

    problems: Counter[str] = dataclasses.field(default_factory=Counter)
    examples: list[str] = dataclasses.field(default_factory=list)

    @property
    def bad(self) -> int:
        """Return the number of bad records."""
        return self.problems.total()

    def add(self, problem: str, sentence: str) -> None:
        """Count a bad one, and keep what was wrong with the first few."""
        self.problems[problem] += 1
        self.note(sentence)

    def note(self, sentence: str) -> None:
        """Keep a sentence about a bad one, if it is among the first few."""
        if len(self.examples) < MAX_EXAMPLES:
            self.examples.append(sentence)

    @property
    def kinds(self) -> str:
        """Format the number of bad records by kind."""
        return ", ".join(f"{count} {kind}" for kind, count in sorted(self.problems.items()))


@dataclasses.dataclass
class PairReport(Problems):
    """The number of pairs that a reader returned, and those that it emptied because they were bad."""

    pairs: int = 0

    def __str__(self) -> str:
        summary = f"{self.pairs} sentence pairs"
        if not self.bad:
            return summary
        return "\n  ".join(
            [f"{summary}, {self.bad} of them left out ({self.kinds}); the first:", *self.examples]
        )


class ParallelText(abc.ABC):
    """Sentence pairs from a file: iterate over it as often as you like.

    Each pass opens the file again and gives ``(source tokens, target tokens)``, split at blanks and
    tabs, one pair per line of the input. A pair is bad when a side is absent, empty, longer than
    ``max_tokens`` or not UTF-8.

    Parameters
    ----------
    max_tokens : int
        The longest sentence to accept.
    on_bad : {"raise", "skip"}
        Refuse the file, naming it and the line, or give ``([], [])`` in the place of a bad pair, so that
        what comes out still has the line numbers of what went in.

    Attributes
    ----------
    report : PairReport
        An account of the last pass.
    """

    absent = "has one side only"
    """Message for a line that lacks one of the sides."""

    def __init__(self, *, max_tokens: int = 1000, on_bad: OnBad = "raise") -> None:
        if on_bad not in ("raise", "skip"):
            raise ValueError(f"on_bad={on_bad!r}; expected 'raise' or 'skip'")
        if max_tokens < 1:
            raise ValueError(f"max_tokens={max_tokens}; expected at least 1")
        self.max_tokens = max_tokens
        self.on_bad = on_bad
        self.report = PairReport()

    @abc.abstractmethod
    def raw(self) -> Iterator[RawPair]:
        """Pairs as bytes, unchecked."""

    @abc.abstractmethod
    def place(self, line: int) -> str:
        """Return the location of a pair for messages: file and line."""

    def __iter__(self) -> Iterator[SentencePair]:
        report = self.report = PairReport()
        for raw in self.raw():
            report.pairs += 1
            yield self._checked(raw)

    def _checked(self, raw: RawPair) -> SentencePair:
        """The tokens of a pair, or none of a bad one, which is refused or reported."""
        line, source, target = raw
        try:
            return self._side(source, "source"), self._side(target, "target")
        except _PairError as bad:
            self._leave_out(bad, line)
            return [], []

    def _side(self, text: bytes | None, side: str) -> list[str]:
        if text is None:
            raise _PairError("incomplete", self.absent)
        try:
            words = tokens(text)
        except UnicodeDecodeError as error:
            raise _PairError("not UTF-8", f"the {side} side is not UTF-8 ({error.reason})") from error
        if not words:
            raise _PairError("empty", f"the {side} side is empty")
        if len(words) > self.max_tokens:
            what = f"the {side} side has {len(words)} tokens, the limit is {self.max_tokens}"
            raise _PairError("too long", what)
        return words

    def _leave_out(self, bad: _PairError, line: int) -> None:
        sentence = f"{self.place(line)}: {bad.what}"
        if self.on_bad == "raise":
            raise CorpusError(
                f"{sentence}; correct the file, or leave such pairs out with on_bad='skip' "
                "(on the command line: without --strict)"
            )
        self.report.add(bad.problem, sentence)


class _PairError(Exception):
    """A problem of a pair: its kind and a message."""

    def __init__(self, problem: str, what: str) -> None:
        super().__init__(what)
        self.problem, self.what = problem, what


def tokens(text: bytes) -> list[str]:
    r"""Split at blanks, tabs and the like, as aligners do; a no-break or ideographic space is a letter.

    Examples
    --------
    >>> tokens("la  maison\tbleue".encode())
    ['la', 'maison', 'bleue']
    >>> tokens("1\u00a0000 mots".encode())
    ['1\xa0000', 'mots']
    """
    words = text.split()
    return b"\n".join(words).decode("utf-8").split("\n") if words else []
