"""Translations of all words, with what tells good ones from bad: score, rank and margin."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from isogloss.exceptions import DictionaryError
from isogloss.io import PathLike, atomic_write, open_decompressed
from isogloss.lexicon._dictionaries import BilingualDictionary, languages_of
from isogloss.lexicon.retrieval import csls_both, retrieve
from isogloss.lexicon.vectors import WordVectors
from isogloss.threads import thread_bound

Array = NDArray[np.float64]
INDUCED_COLUMNS = ("source", "target", "score", "rank", "margin")


@dataclass(frozen=True)
class InducedDictionary:
    """Pairs that were found, the best first for each source word.

    Attributes
    ----------
    source, target : str
        The languages.
    pairs : tuple of (str, str)
    scores : array
        How well the two fit, by the rule that was used.
    ranks : array of int
        1 for the best translation of the source word.
    margins : array
        By how much the score is above that of the next candidate; a small one is a toss-up.
    """

    source: str
    target: str
    pairs: tuple[tuple[str, str], ...]
    scores: Array
    ranks: NDArray[np.int64]
    margins: Array

    def __len__(self) -> int:
        return len(self.pairs)

    def best(self) -> BilingualDictionary:
        """The best translation of every word, as a dictionary."""
        kept = [pair for pair, rank in zip(self.pairs, self.ranks, strict=True) if rank == 1]
        return BilingualDictionary(self.source, self.target, kept)


@thread_bound
def induce(
    source: WordVectors,
    target: WordVectors,
    words: Iterable[str] | None = None,
    *,
    k: int = 1,
    rule: str = "csls",
    mutual: bool = False,
    covariance: ArrayLike | None = None,
    n_jobs: int | None = None,
) -> InducedDictionary:
    """Translate words.

    Parameters
    ----------
    source, target : WordVectors
        Two languages in a common space, as :meth:`~isogloss.lexicon.WordSpace.place` gives them.
    words : iterable of str, optional
        What to translate; every source word by default.
    k : int
        Translations per word.
    rule : {'csls', 'cosine', 'inverted_softmax', 'density'}
        How candidates are ranked, see :func:`~isogloss.lexicon.retrieve`.
    mutual : bool
        Keep a translation only if the source word is among the ``k`` best of its own, by CSLS.
    covariance : array, optional
        For ``'density'``: what :meth:`~isogloss.lexicon.WordSpace.covariance` gives.
    n_jobs : int or None
        Threads.

    Examples
    --------
    >>> import numpy as np
    >>> en = WordVectors(["cat", "dog"], [[1.0, 0.1], [0.0, 1.0]], "en")
    >>> it = WordVectors(["cane", "gatto"], [[0.1, 1.0], [1.0, 0.0]], "it")
    >>> found = induce(en, it, rule="cosine")
    >>> found.pairs
    (('cat', 'gatto'), ('dog', 'cane'))
    >>> found.margins.round(2)
    array([0.8, 1. ])
    """
    queries = _queries(source, words)
    found = retrieve(
        source.matrix[queries],
        target.matrix,
        min(k, len(target)),
        rule=rule,
        sources=source.matrix,
        covariance=covariance,
        n_jobs=n_jobs,
    )
    keep = _is_mutual(source, target, queries, found.indices, n_jobs) if mutual else found.ranks > 0
    row, place = np.nonzero(keep)
    left, right = queries[row], found.indices[row, place]
    return InducedDictionary(
        source=source.language,
        target=target.language,
        pairs=tuple((source.words[i], target.words[j]) for i, j in zip(left, right, strict=True)),
        scores=found.scores[row, place],
        ranks=found.ranks[row, place],
        margins=found.margins[row, place],
    )


@thread_bound
def mutual_pairs(
    source: WordVectors, target: WordVectors, *, n_jobs: int | None = None
) -> tuple[BilingualDictionary, float]:
    """Words that are each other's best translation by CSLS, and the mean score of those pairs."""
    right, left = csls_both(source.matrix, target.matrix, 1, n_jobs=n_jobs)
    best, back = right.indices[:, 0], left.indices[:, 0]
    kept = np.flatnonzero(back[best] == np.arange(len(best)))
    pairs = [(source.words[i], target.words[best[i]]) for i in kept]
    mean = float(right.scores[kept, 0].mean()) if len(kept) else float("-inf")
    return BilingualDictionary(source.language, target.language, pairs), mean


def write_induced(found: InducedDictionary, path: PathLike) -> None:
    """Write a table with a first line of names: source, target, score, rank, margin; whole or not at all."""
    with atomic_write(path, DictionaryError) as file:
        file.write(("\t".join(INDUCED_COLUMNS) + "\n").encode())
        for (s, t), score, rank, margin in zip(
            found.pairs, found.scores, found.ranks, found.margins, strict=True
        ):
            file.write(f"{s}\t{t}\t{score:.6f}\t{rank}\t{margin:.6f}\n".encode())


def read_induced(path: PathLike) -> InducedDictionary:
    """Read a table that :func:`write_induced` wrote; the languages come from a name such as ``en-it.tsv``."""
    name = os.fspath(path)
    pairs, numbers = [], []
    with open_decompressed(path, DictionaryError) as file:
        header, *lines = file.read().decode("utf-8", "replace").splitlines() or [""]
    if header.split("\t") != list(INDUCED_COLUMNS):
        raise DictionaryError(
            f"{name}:1: expected the columns {', '.join(INDUCED_COLUMNS)}; this is not an induced dictionary"
        )
    for number, line in enumerate(lines, 2):
        try:
            s, t, score, rank, margin = line.split("\t")
            pairs.append((s, t))
            numbers.append((float(score), float(int(rank)), float(margin)))
        except (ValueError, OverflowError) as reason:
            raise DictionaryError(
                f"{name}:{number}: {line!r:.60} is not a line of the table ({reason})"
            ) from reason
    scores, ranks, margins = np.array(numbers, dtype=np.float64).reshape(-1, 3).T
    source, target = languages_of(name)
    return InducedDictionary(source, target, tuple(pairs), scores, ranks.astype(np.int64), margins)


def _queries(source: WordVectors, words: Iterable[str] | None) -> NDArray[np.int64]:
    if words is None:
        return np.arange(len(source))
    asked = list(dict.fromkeys(words))
    rows = source.rows(asked)
    if not len(rows) or rows.min() < 0:
        missing = [word for word, row in zip(asked, rows, strict=True) if row < 0]
        raise DictionaryError(
            f"{len(missing)} of {len(asked)} words have no vector in {source.language!r} ({len(source)} "
            f"words): {', '.join(missing[:5])}"
        )
    return rows


def _is_mutual(
    source: WordVectors,
    target: WordVectors,
    queries: NDArray[np.int64],
    found: NDArray[Any],
    n_jobs: int | None,
) -> NDArray[np.bool_]:
    asked, where = np.unique(found, return_inverse=True)
    depth = min(found.shape[1], len(source))
    back = retrieve(
        target.matrix[asked], source.matrix, depth, rule="csls", sources=target.matrix, n_jobs=n_jobs
    )
    candidates = np.asarray(back.indices)[where.reshape(found.shape)]
    return np.asarray((candidates == queries[:, None, None]).any(axis=2))
