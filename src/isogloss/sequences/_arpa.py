r"""Language models in ARPA files, which SRILM, KenLM and most other tools read and write.

A file has one section per length, and one line per n-gram: the logarithm, to base 10, of its probability,
its words, and the logarithm of its back-off weight. A logarithm of -99 means zero.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator

import numpy as np
from numpy.typing import NDArray

from isogloss.exceptions import CorpusError, ModelFileError
from isogloss.io import PathLike, atomic_write, iter_lines, open_decompressed
from isogloss.sequences._backoff import BEGIN, END, UNKNOWN, BackoffModel, Level

_ZERO = -99.0


def write_arpa(model: BackoffModel, path: PathLike) -> None:
    """Write a model; every number is written so that reading gives it back to the last bit.

    Parameters
    ----------
    model : BackoffModel
        As in ``NgramModel.model_``.
    path : path
        The file to write or replace; a name that ends in ``.gz`` is compressed.

    Examples
    --------
    >>> from isogloss.sequences import NgramModel
    >>> bigram = NgramModel(2, smoothing="add_k").fit(["the cat", "the dog"])
    >>> write_arpa(bigram.model_, "pets.arpa")
    >>> read_arpa("pets.arpa").prob("cat", ["the"]) == bigram.prob("cat", ["the"])
    True
    """
    for word in model.words:
        if not word or word.split() != [word]:
            raise ValueError(f"the word {word!r} has a space in it or is empty; ARPA files cannot hold it")
    with atomic_write(path, ModelFileError) as file:
        file.writelines(line.encode("utf-8", "surrogatepass") for line in _lines(model))


def read_arpa(path: PathLike) -> BackoffModel:
    """Read a model.

    Parameters
    ----------
    path : path
        The file, packed or not.

    Raises
    ------
    ModelFileError
        The file cannot be read; the message names the line.
    """
    with open_decompressed(path, ModelFileError) as file:
        try:
            return _Reader(os.fspath(path), iter_lines(file, os.fspath(path))).read()
        except CorpusError as error:
            raise ModelFileError(str(error)) from error


def _lines(model: BackoffModel) -> Iterator[str]:
    yield "\\data\\\n"
    for length, level in enumerate(model.levels, 1):
        yield f"ngram {length}={len(level)}\n"
    for length, level in enumerate(model.levels, 1):
        yield f"\n\\{length}-grams:\n"
        last = length == model.order
        for gram, p, b in zip(model.ngrams(length).tolist(), level.log_probs, level.backoffs, strict=True):
            weight = "" if last or b == 0 else f"\t{_number(b)}"
            yield f"{_number(p)}\t{' '.join(model.words[i] for i in gram)}{weight}\n"
    yield "\n\\end\\\n"


def _number(value: float) -> str:
    return repr(max(float(value), _ZERO))


class _Reader:
    """One pass through the lines of a file; ``number`` is that of the line being read."""

    def __init__(self, name: str, lines: Iterable[bytes]) -> None:
        self.name, self.number = name, 0
        self.lines = iter(lines)

    def read(self) -> BackoffModel:
        declared = self._header()
        words, first = self._single_words(declared[0])
        ids = {word: number for number, word in enumerate(words)}
        levels = [first]
        for length, count in enumerate(declared[1:], 2):
            levels.append(self._section(length, count, ids, levels))
        self._expect("\\end\\")
        return BackoffModel(words, tuple(levels))

    def _error(self, message: str) -> ModelFileError:
        return ModelFileError(f"{self.name}:{self.number}: {message}")

    def _line(self) -> str:
        """The next line that is not empty."""
        for raw in self.lines:
            self.number += 1
            try:
                line = raw.decode("utf-8").strip()
            except UnicodeDecodeError as error:
                raise self._error(f"is not UTF-8 ({error.reason}); convert the file") from error
            if line:
                return line
        raise self._error("the file ends here; expected \\end\\ after the last section")

    def _expect(self, wanted: str) -> None:
        line = self._line()
        if line != wanted:
            raise self._error(f"{line!r:.60}; expected {wanted}")

    def _header(self) -> list[int]:
        while self._line() != "\\data\\":
            pass
        counts: list[int] = []
        while (line := self._line()).startswith("ngram "):
            length, equals, count = line[6:].partition("=")
            if not (equals and length.strip() == str(len(counts) + 1) and count.strip().isdigit()):
                raise self._error(f"{line!r:.60}; expected 'ngram {len(counts) + 1}=' and a number")
            counts.append(int(count))
        if not counts or line != "\\1-grams:":
            raise self._error(f"{line!r:.60}; expected the numbers of n-grams, then \\1-grams:")
        return counts

    def _entry(self, length: int) -> tuple[float, list[str], float]:
        fields = self._line().split()
        if len(fields) not in (length + 1, length + 2):
            raise self._error(
                f"{len(fields)} fields; expected a logarithm, {length} words and perhaps a back-off weight"
            )
        try:
            p, weight = float(fields[0]), float(fields[length + 1]) if len(fields) == length + 2 else 0.0
        except ValueError:
            raise self._error(f"{fields[0]!r:.30} or {fields[-1]!r:.30} is not a number") from None
        if not p <= 1e-6 or not weight < np.inf:
            raise self._error(
                f"the logarithms {p} and {weight}; expected that of a probability, and a finite one"
            )
        return _log(min(p, 0.0)), fields[1 : length + 1], _log(weight)

    def _single_words(self, count: int) -> tuple[tuple[str, ...], Level]:
        found: dict[str, tuple[float, float]] = {}
        for _ in range(count):
            p, (word,), weight = self._entry(1)
            word = UNKNOWN if word == "<UNK>" else word
            if word in found:
                raise self._error(f"the word {word!r:.60} is there twice")
            found[word] = p, weight
        special = (UNKNOWN, BEGIN, END)
        words = (*special, *(word for word in found if word not in special))
        numbers = np.array([found.get(word, (-np.inf, 0.0)) for word in words]).reshape(-1, 2)
        numbers[1, 0] = -np.inf
        none, last = np.full(len(words), -1, dtype=np.int64), np.arange(len(words), dtype=np.int32)
        return words, Level(none, last, numbers[:, 0].copy(), numbers[:, 1].copy(), len(words))

    def _section(self, length: int, count: int, ids: dict[str, int], levels: list[Level]) -> Level:
        self._expect(f"\\{length}-grams:")
        first = self.number + 1
        codes, logs = [], []
        for _ in range(count):
            p, words, weight = self._entry(length)
            try:
                codes.append([ids[UNKNOWN if word == "<UNK>" else word] for word in words])
            except KeyError as error:
                raise self._error(f"the word {error.args[0]!r:.60} is not among the single words") from None
            logs.append((p, weight))
        table, numbers = np.array(codes, dtype=np.int64).reshape(-1, length), np.array(logs).reshape(-1, 2)
        parents = table[:, 0]
        for level, column in zip(levels[1:], table.T[1:-1], strict=True):
            parents = level.find(parents, column)
        return self._level(parents, table, numbers, first, len(ids))

    def _level(
        self,
        parents: NDArray[np.int64],
        table: NDArray[np.int64],
        numbers: NDArray[np.float64],
        first: int,
        n_words: int,
    ) -> Level:
        if (parents < 0).any():
            self.number = first + int(np.flatnonzero(parents < 0)[0])
            raise self._error("an n-gram whose context is not in the section before; the file is not whole")
        order = np.lexsort((table[:, -1], parents))
        parents, last, numbers = parents[order], table[order, -1].astype(np.int32), numbers[order]
        twice = np.flatnonzero((np.diff(parents) == 0) & (np.diff(last) == 0))
        if len(twice):
            self.number = first + int(order[twice + 1].max())
            raise self._error("an n-gram that is there twice")
        return Level(parents, last, numbers[:, 0].copy(), numbers[:, 1].copy(), n_words)


def _log(value: float) -> float:
    return -np.inf if value <= _ZERO else value
