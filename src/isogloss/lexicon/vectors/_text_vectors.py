"""Word vectors as text: many lines parsed at once, doubtful ones one by one, the bad ones counted."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import IO, NamedTuple

import numpy as np
from numpy.typing import NDArray

from isogloss.exceptions import VectorFileError
from isogloss.lexicon.vectors._vectors import WordVectors

Array = NDArray[np.float32]
BLOCK = 1000
"""Lines parsed at once."""
EXAMPLES = 5
MAX_COUNT_DIGITS = 18
MAX_DIM_DIGITS = 6
"""Digits of the numbers of words and of values in the first line of a file."""


@dataclass(frozen=True)
class ReadReport:
    """The result of reading a file of vectors, with the lines that were skipped."""

    path: str
    words: int
    repeated: int = 0
    broken: int = 0
    wrong_length: int = 0
    missing: int = 0
    examples: tuple[str, ...] = ()

    @property
    def skipped(self) -> int:
        """Number of lines left out, and of words that the header promised and the file does not have."""
        return self.repeated + self.broken + self.wrong_length + self.missing

    def __str__(self) -> str:
        summary = f"{self.path}: read {self.words} words"
        if not self.skipped:
            return summary
        kinds = {
            "repeated word": self.repeated,
            "broken": self.broken,
            "wrong number of values": self.wrong_length,
            "promised by the header but absent": self.missing,
        }
        parts = ", ".join(f"{count} {kind}" for kind, count in kinds.items() if count)
        return "\n  ".join(
            [f"{summary}, left out {self.skipped} lines ({parts}); the first:", *self.examples]
        )


class FirstLine(NamedTuple):
    """The first line of a text file: the counts in its header (None without one), and values per line."""

    declared: tuple[int, int] | None
    dim: int


class Collector:
    """Takes words and vectors, keeps the good ones and an account of the others."""

    def __init__(self, path: str, *, limit: int | None, strict: bool) -> None:
        self.path, self.limit, self.strict = path, limit, strict
        self._rows: dict[bytes, int] = {}
        self._blocks: list[Array] = []
        self._problems: Counter[str] = Counter()
        self._examples: list[str] = []
        self._dim = 0
        self._declared: int | None = None

    def expect(self, dim: int, declared: int | None) -> None:
        """Say how long vectors are, and how many the file promises."""
        self._dim, self._declared = dim, declared

    @property
    def full(self) -> bool:
        """Return whether as many words were read as asked for."""
        return self.limit is not None and len(self._rows) >= self.limit

    def add(self, number: int, words: Sequence[bytes], values: Array, lines: Sequence[int] = ()) -> None:
        """Take vectors; ``number`` is the line of the first, unless ``lines`` gives that of each."""
        fine = np.isfinite(values.sum(axis=1, dtype=np.float64))
        keep = []
        for position, word in enumerate(words):
            if self.full:
                break
            line = lines[position] if lines else number + position
            if self._good(word, line, finite=bool(fine[position])):
                self._rows[word] = line
                keep.append(position)
        self._blocks.append(values[keep] if len(keep) < len(values) else values)

    def problem(self, kind: str, line: int, what: str) -> None:
        """Note a bad line, or refuse the file for it."""
        if self.strict:
            raise VectorFileError(
                f"{self.path}:{line}: {what}; correct the file, or read it with strict=False to leave such "
                "lines out"
            )
        self._problems[kind] += 1
        if len(self._examples) < EXAMPLES:
            self._examples.append(f"line {line}: {what}")

    def finish(self, language: str) -> tuple[WordVectors, ReadReport]:
        """The vectors, and the account."""
        self._check_promise()
        if not self._rows:
            seen = sum(self._problems.values())
            first = f"; the first: {self._examples[0]}" if self._examples else ""
            raise VectorFileError(f"{self.path}: holds no word vectors ({seen} lines left out{first})")
        words = [word.decode() for word in self._rows]
        vectors = WordVectors(words, np.concatenate(self._blocks), language)
        report = ReadReport(self.path, len(words), examples=tuple(self._examples), **self._problems)
        return vectors, report

    def _good(self, word: bytes, line: int, *, finite: bool) -> bool:
        if not finite:
            self.problem("broken", line, f"the vector of {_shown(word)} is not finite")
        elif word in self._rows:
            self.problem("repeated", line, f"the word {_shown(word)} was on line {self._rows[word]} already")
        elif not word or not _is_utf8(word):
            self.problem("broken", line, f"{_shown(word)} is not a word in UTF-8")
        else:
            return True
        return False

    def _check_promise(self) -> None:
        found = len(self._rows) + sum(self._problems.values())
        if self._declared is not None and not self.full and found < self._declared:
            if self.strict:
                raise VectorFileError(
                    f"{self.path}: the first line promises {self._declared} words and {found} follow; the "
                    "file is cut short: get it again, or read it with strict=False"
                )
            self._problems["missing"] = self._declared - found


def first_line(file: IO[bytes], path: str) -> FirstLine:
    """Look at the first line, and leave the file where the vectors begin."""
    fields = file.readline().split()
    if not fields:
        raise VectorFileError(
            f"{path}: is empty or begins with an empty line; expected 'word value value ...'"
        )
    if len(fields) == 2 and all(field.isdigit() for field in fields):
        if len(fields[0]) > MAX_COUNT_DIGITS or len(fields[1]) > MAX_DIM_DIGITS or int(fields[1]) < 1:
            raise VectorFileError(
                f"{path}:1: the first line promises vectors of {fields[1].decode()[:40]} values"
            )
        count, dim = map(int, fields)
        return FirstLine((count, dim), dim)
    file.seek(0)
    if len(fields) < 2:
        raise VectorFileError(
            f"{path}:1: no values after {_shown(fields[0])}; expected 'word value value ...'"
        )
    return FirstLine(None, len(fields) - 1)


def read_text(file: IO[bytes], first: FirstLine, collector: Collector) -> None:
    """Read lines into the collector until the file ends or the collector is full."""
    collector.expect(first.dim, None if first.declared is None else first.declared[0])
    number = 1 if first.declared is None else 2
    for lines in _blocks(file):
        _read_block(lines, number, first.dim, collector)
        number += len(lines)
        if collector.full:
            return


def _blocks(file: IO[bytes]) -> Iterator[list[bytes]]:
    while lines := list(islice(file, BLOCK)):
        yield lines


def _read_block(lines: list[bytes], number: int, dim: int, collector: Collector) -> None:
    """Parse a block in one go if every line looks right, and line by line otherwise."""
    parts = [line.rstrip().partition(b" ") for line in lines]
    if all(values.count(b" ") == dim - 1 for _, _, values in parts):
        numbers = _parse(b" ".join(values for _, _, values in parts))
        if numbers is not None and numbers.size == dim * len(lines):
            collector.add(number, [word for word, _, _ in parts], numbers.reshape(-1, dim))
            return
    for line, text in enumerate(lines, number):
        _read_line(text, line, dim, collector)
        if collector.full:
            return


def _read_line(text: bytes, line: int, dim: int, collector: Collector) -> None:
    """One line with any white space; a word may hold blanks if as many values follow as expected."""
    fields = text.rsplit(None, dim)
    values = _parse(b" ".join(fields[1:])) if len(fields) == dim + 1 and _is_phrase(fields[0]) else None
    if values is not None and values.size == dim:
        collector.add(line, [fields[0].strip()], values[None, :])
        return
    word, *rest = text.split() or [b""]
    if len(rest) == dim:
        wrong = next((field for field in rest if (one := _parse(field)) is None or one.size != 1), b"")
        collector.problem("broken", line, f"{_shown(wrong)} after {_shown(word)} is not a number")
    elif not word:
        collector.problem("broken", line, "the line is empty")
    else:
        values_are = "1 value" if len(rest) == 1 else f"{len(rest)} values"
        collector.problem("wrong_length", line, f"{values_are} after {_shown(word)}, expected {dim}")


def _is_phrase(text: bytes) -> bool:
    """Return whether the text before the values is one or more words, and not a word and an extra value."""
    _, *more = text.split()
    return not more or _parse(more[-1]) is None


def _parse(text: bytes) -> Array | None:
    """Numbers between blanks, or None where something else is among them."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", DeprecationWarning)
        try:
            return np.fromstring(text, dtype=np.float32, sep=" ")
        except (ValueError, DeprecationWarning):
            return None


def _is_utf8(word: bytes) -> bool:
    try:
        word.decode()
    except UnicodeDecodeError:
        return False
    return True


def _shown(word: bytes) -> str:
    text = repr(word.decode("utf-8", "backslashreplace"))
    return text if len(text) <= 42 else text[:40] + "..."
