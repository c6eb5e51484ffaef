"""Bilingual dictionaries: pairs of words, read, written, split, and held against the vectors there are."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from isogloss.exceptions import DictionaryError
from isogloss.io import PathLike, atomic_write, open_decompressed
from isogloss.lexicon.vectors import WordVectors

Rows = NDArray[np.int64]
_NAMES = {"src": "source", "source": "source", "tgt": "target", "target": "target", "split": "split"}


@dataclass(frozen=True)
class Coverage:
    """Coverage of a dictionary by word vectors."""

    pairs: int
    pairs_covered: int
    source_words: int
    source_covered: int
    target_words: int
    target_covered: int

    @property
    def source_share(self) -> float:
        """Share of the source words that have a vector."""
        return self.source_covered / max(self.source_words, 1)

    def __str__(self) -> str:
        return (
            f"{self.pairs_covered} of {self.pairs} pairs have vectors for both words (source words: "
            f"{self.source_covered} of {self.source_words}, target words: {self.target_covered} of "
            f"{self.target_words})"
        )


@dataclass(frozen=True)
class BilingualDictionary:
    """Pairs of a word and one of its translations.

    Parameters
    ----------
    source, target : str
        The languages.
    pairs : sequence of (str, str)
        A word with several translations occurs in several pairs. Repeated pairs are kept once.

    Examples
    --------
    >>> seed = BilingualDictionary("en", "it", [("cat", "gatto"), ("dog", "cane"), ("cat", "gatta")])
    >>> seed.translations["cat"]
    ('gatto', 'gatta')
    >>> seed.inverse().pairs[0]
    ('gatto', 'cat')
    """

    source: str
    target: str
    pairs: Sequence[tuple[str, str]]

    def __post_init__(self) -> None:
        object.__setattr__(self, "pairs", tuple(dict.fromkeys((s, t) for s, t in self.pairs)))

    def __len__(self) -> int:
        return len(self.pairs)

    @property
    def name(self) -> str:
        """``source-target``."""
        return f"{self.source}-{self.target}"

    @property
    def translations(self) -> dict[str, tuple[str, ...]]:
        """Every source word with its translations."""
        found: dict[str, list[str]] = {}
        for s, t in self.pairs:
            found.setdefault(s, []).append(t)
        return {s: tuple(ts) for s, ts in found.items()}

    def inverse(self) -> BilingualDictionary:
        """The same pairs the other way round."""
        return BilingualDictionary(self.target, self.source, [(t, s) for s, t in self.pairs])

    def without(self, pairs: Iterable[tuple[str, str]]) -> BilingualDictionary:
        """The pairs that are not among those given."""
        unwanted = set(pairs)
        return BilingualDictionary(self.source, self.target, [p for p in self.pairs if p not in unwanted])

    def split(
        self, share: float = 0.2, *, random_state: int = 0
    ) -> tuple[BilingualDictionary, BilingualDictionary]:
        """Two dictionaries without a common source word; the second has ``share`` of the source words."""
        if not 0.0 < share < 1.0:
            raise ValueError(f"share={share}; expected a number between 0 and 1")
        words = list(dict.fromkeys(s for s, _ in self.pairs))
        held = max(1, round(share * len(words)))
        chosen = np.random.default_rng(random_state).permutation(len(words))[:held]
        out = {words[i] for i in chosen}
        parts = [p for p in self.pairs if p[0] not in out], [p for p in self.pairs if p[0] in out]
        first, second = (BilingualDictionary(self.source, self.target, part) for part in parts)
        return first, second

    def coverage(self, source: WordVectors, target: WordVectors) -> Coverage:
        """Return how many of the words have vectors."""
        sources, targets = ({pair[side] for pair in self.pairs} for side in (0, 1))
        return Coverage(
            pairs=len(self.pairs),
            pairs_covered=sum(s in source and t in target for s, t in self.pairs),
            source_words=len(sources),
            source_covered=sum(word in source for word in sources),
            target_words=len(targets),
            target_covered=sum(word in target for word in targets),
        )

    def rows(self, source: WordVectors, target: WordVectors) -> tuple[Rows, Rows]:
        """Rows of both words of every pair that has vectors.

        Raises
        ------
        DictionaryError
            The dictionary is empty, or none of its pairs has vectors; with counts.
        """
        if not self.pairs:
            raise DictionaryError(f"the dictionary {self.name} is empty; expected pairs of words")
        i, j = source.rows(s for s, _ in self.pairs), target.rows(t for _, t in self.pairs)
        both = (i >= 0) & (j >= 0)
        if not both.any():
            raise DictionaryError(self._nothing_covered(source, target))
        return i[both], j[both]

    def _nothing_covered(self, source: WordVectors, target: WordVectors) -> str:
        message = (
            f"the dictionary {self.name} is of no use with these vectors: {self.coverage(source, target)}"
        )
        swapped = self.inverse().coverage(source, target).pairs_covered
        small = BilingualDictionary(self.source, self.target, [(s.lower(), t.lower()) for s, t in self.pairs])
        lowered = small.coverage(source, target).pairs_covered
        if swapped:
            return f"{message}; {swapped} would, with the languages the other way round"
        if lowered:
            return f"{message}; {lowered} would, in lower case"
        return f"{message}; check that the languages and the spelling are those of the vectors"


def read_dictionary(
    path: PathLike,
    source: str = "",
    target: str = "",
    *,
    split: str | None = None,
    columns: tuple[int, int] | None = None,
) -> BilingualDictionary:
    r"""Read a dictionary.

    Parameters
    ----------
    path : path
        One pair per line: two words between a blank or a tab (MUSE), or columns between tabs, of which the
        first two are taken unless a first line names ``src``/``source`` and ``tgt``/``target``. gzip or not.
    source, target : str
        The languages; by default from a file name such as ``en-it.tsv``.
    split : str, optional
        Keep the lines that have this in their column ``split``.
    columns : (int, int), optional
        Where the two words are, counted from 0, in a file without names.

    Examples
    --------
    >>> from pathlib import Path
    >>> _ = Path("en-it.txt").write_text("cat gatto\ndog\tcane\n")
    >>> read_dictionary("en-it.txt").pairs
    (('cat', 'gatto'), ('dog', 'cane'))
    """
    name = os.fspath(path)
    with open_decompressed(path, DictionaryError) as file:
        lines = file.read().splitlines()
    table = [_fields(line, name, number) for number, line in enumerate(lines, 1) if line.strip()]
    guess = languages_of(name)
    first, second = source or guess[0], target or guess[1]
    header = {_NAMES[text]: at for at, text in enumerate(table[0] if table else []) if text in _NAMES}
    if {"source", "target"} <= header.keys():
        columns, table = (header["source"], header["target"]), table[1:]
    if split is not None:
        table = _of_split(table, header, split, name)
    if not table:
        raise DictionaryError(f"{name}: holds no pairs of words; expected 'word translation' on every line")
    left, right = columns or (0, 1)
    return BilingualDictionary(first, second, [_pair(row, left, right, name) for row in table])


def write_dictionary(dictionary: BilingualDictionary, path: PathLike) -> None:
    """Write pairs with a tab between them, whole or not at all."""
    with atomic_write(path, DictionaryError) as file:
        file.writelines(f"{s}\t{t}\n".encode() for s, t in dictionary.pairs)


def _fields(line: bytes, name: str, number: int) -> list[str]:
    try:
        text = line.decode("utf-8-sig" if number == 1 else "utf-8")
    except UnicodeDecodeError as reason:
        raise DictionaryError(
            f"{name}:{number}: is not UTF-8 ({reason.reason}); convert the file"
        ) from reason
    fields = [field.strip() for field in text.split("\t")] if "\t" in text else text.split()
    if len(fields) < 2 or not all(fields[:2]):
        raise DictionaryError(
            f"{name}:{number}: {text.strip()!r:.60} is not a pair; expected 'word translation'"
        )
    return fields


def _pair(row: list[str], left: int, right: int, name: str) -> tuple[str, str]:
    if max(left, right) >= len(row):
        raise DictionaryError(
            f"{name}: a line has {len(row)} columns ({' '.join(row)!r:.60}); no column {right}"
        )
    return row[left], row[right]


def _of_split(table: list[list[str]], header: dict[str, int], split: str, name: str) -> list[list[str]]:
    if "split" not in header:
        raise DictionaryError(f"{name}: has no column 'split'; leave out split={split!r}")
    column = header["split"]
    for row in table:
        if column >= len(row):
            raise DictionaryError(
                f"{name}: a line has {len(row)} columns ({' '.join(row)!r:.60}); no column 'split'"
            )
    return [row for row in table if row[column] == split]


def languages_of(path: PathLike) -> tuple[str, str]:
    """The languages that a file name such as ``en-it.tsv`` tells, or ``('source', 'target')``."""
    first, sign, second = os.path.basename(os.fspath(path)).partition(".")[0].partition("-")
    return (first, second) if sign and first and second and "-" not in second else ("source", "target")
