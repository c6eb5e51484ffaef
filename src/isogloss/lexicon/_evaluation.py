"""Scores of translations: precision, reciprocal rank and coverage by frequency, with standard errors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from isogloss.exceptions import DictionaryError
from isogloss.lexicon._dictionaries import BilingualDictionary
from isogloss.lexicon._induction import InducedDictionary
from isogloss.lexicon.retrieval import retrieve
from isogloss.lexicon.vectors import WordVectors
from isogloss.threads import thread_bound

Array = NDArray[np.float64]
Of: TypeAlias = Literal["queries", "all", "reachable"]
BANDS = (1_000, 5_000, 20_000, 100_000)


@dataclass(frozen=True)
class Band:
    """Precision at one among queries whose frequency rank is in ``[first, last)``."""

    first: int
    last: int
    n_queries: int
    precision: float
    standard_error: float


@dataclass(frozen=True)
class Evaluation:
    """Scores of translations against a test dictionary.

    Attributes
    ----------
    source, target, rule : str
    n_words : int
        Source words of the test dictionary.
    n_queries : int
        Those that were translated at all: they have a vector, or are in the dictionary that is tested.
    n_reachable : int or None
        Those with a right translation in the target vocabulary as well, as papers count them; None where
        that vocabulary is not known.
    query_words : tuple of str
    ranks : array of int (n_queries,)
        Place of the best right answer, counted from 1; 0 if it is not among the first ``depth``.
    depth : int
    bands : tuple of Band
    """

    source: str
    target: str
    rule: str
    n_words: int
    query_words: tuple[str, ...]
    ranks: NDArray[np.int64]
    depth: int
    bands: tuple[Band, ...]
    n_reachable: int | None = None

    @property
    def n_queries(self) -> int:
        """Number of words that were translated."""
        return len(self.ranks)

    @property
    def coverage(self) -> float:
        """Share of the test dictionary's source words that were translated."""
        return self.n_queries / self.n_words

    def precision(self, k: int = 1, *, of: Of = "queries") -> float:
        """Share of words with a right answer among the first ``k``.

        Parameters
        ----------
        k : int
            Answers that are looked at.
        of : {'queries', 'all', 'reachable'}
            Among which words: those that were translated, all of the test dictionary, or those with a right
            translation in the target vocabulary.
        """
        return _mean(self._hits(k), self._count(of))

    def standard_error(self, k: int = 1, *, of: Of = "queries") -> float:
        """Standard error of :meth:`precision` over words."""
        return _error(self._hits(k), self._count(of))

    def mean_reciprocal_rank(self, *, of: Of = "queries") -> float:
        """Mean reciprocal rank of the best right answer; 0 for those beyond ``depth``."""
        return _mean(self._reciprocal(), self._count(of))

    @property
    def mrr(self) -> float:
        """Mean reciprocal rank among the words that were translated."""
        return self.mean_reciprocal_rank()

    @property
    def mrr_error(self) -> float:
        """Standard error of ``mrr``."""
        return _error(self._reciprocal(), self.n_queries)

    def as_dict(self) -> dict[str, Any]:
        """The figures, for a table or JSON.

        Names without an ending are among the words that were translated, ``_all`` among all words of the test
        dictionary, ``_reachable`` among those with a right translation in the target vocabulary.
        """
        figures: dict[str, Any] = {
            "source": self.source,
            "target": self.target,
            "rule": self.rule,
            "words": self.n_words,
            "queries": self.n_queries,
            "coverage": self.coverage,
        }
        among: dict[str, Of] = {"": "queries", "_all": "all"}
        if self.n_reachable is not None:
            figures["reachable"] = self.n_reachable
            among["_reachable"] = "reachable"
        for ending, of in among.items():
            for k in (k for k in (1, 5, 10) if k <= self.depth):
                figures[f"p@{k}{ending}"] = self.precision(k, of=of)
                figures[f"p@{k}{ending}_error"] = self.standard_error(k, of=of)
            figures[f"mrr{ending}"] = self.mean_reciprocal_rank(of=of)
            figures[f"mrr{ending}_error"] = _error(self._reciprocal(), self._count(of))
        return figures | {"bands": [vars(band) for band in self.bands]}

    def _count(self, of: Of) -> int:
        count = {"queries": self.n_queries, "all": self.n_words, "reachable": self.n_reachable}[of]
        if count is None:
            raise ValueError("the target vocabulary is not known; evaluate with vectors for of='reachable'")
        return count

    def _hits(self, k: int) -> Array:
        if not 1 <= k <= self.depth:
            raise ValueError(f"k={k}; answers were looked at up to place {self.depth}")
        return np.asarray((self.ranks > 0) & (self.ranks <= k), dtype=np.float64)

    def _reciprocal(self) -> Array:
        return np.asarray(np.where(self.ranks > 0, 1.0 / np.maximum(self.ranks, 1), 0.0))


@thread_bound
def evaluate_space(
    placed: Mapping[str, WordVectors],
    gold: BilingualDictionary,
    *,
    rule: str = "csls",
    depth: int = 10,
    bands: Sequence[int] = BANDS,
    covariance: ArrayLike | None = None,
    reachable_only: bool = False,
    n_jobs: int | None = None,
) -> Evaluation:
    """Translate the source words of a dictionary and compare.

    Parameters
    ----------
    placed : mapping from language to WordVectors
        Words in a common space, as :meth:`~isogloss.lexicon.WordSpace.place` gives them.
    gold : BilingualDictionary
        Any of the translations of a word is right.
    rule : {'csls', 'cosine', 'inverted_softmax', 'density'}
        How answers are ranked, see :func:`~isogloss.lexicon.retrieve`.
    depth : int
        How many answers are looked at.
    bands : sequence of int
        Where bands of frequency rank end.
    covariance : array, optional
        For ``'density'``: what :meth:`~isogloss.lexicon.WordSpace.covariance` gives.
    reachable_only : bool
        Leave out words none of whose right translations has a vector, as papers do. By default they are
        translated, which cannot be right.
    n_jobs : int or None
        Threads.

    Raises
    ------
    DictionaryError
        No word of the dictionary can be asked for; with counts.

    Examples
    --------
    >>> import numpy as np
    >>> en = WordVectors(["cat", "dog", "sun"], np.eye(3), "en")
    >>> it = WordVectors(["cane", "gatto", "sole"], np.eye(3)[[1, 0, 2]], "it")
    >>> gold = BilingualDictionary("en", "it", [("cat", "gatto"), ("dog", "sole"), ("tree", "albero")])
    >>> result = evaluate_space({"en": en, "it": it}, gold, rule="cosine", depth=3)
    >>> result.precision(1), result.n_queries, round(result.coverage, 2)
    (0.5, 2, 0.67)
    >>> round(result.precision(1, of="all"), 2)
    0.33
    """
    source, target = placed[gold.source], placed[gold.target]
    gold.rows(source, target)
    answers = _answers(gold, source, target)
    n_reachable = sum(map(bool, answers.values()))
    if reachable_only:
        answers = {word: right for word, right in answers.items() if right}
    queries = source.rows(answers)
    depth = min(depth, len(target))
    found = retrieve(
        source.matrix[queries],
        target.matrix,
        depth,
        rule=rule,
        sources=source.matrix,
        covariance=covariance,
        n_jobs=n_jobs,
    )
    ranks = _ranks(found.indices, list(answers.values()))
    return Evaluation(
        source=gold.source,
        target=gold.target,
        rule=rule,
        n_words=len({s for s, _ in gold.pairs}),
        query_words=tuple(answers),
        ranks=ranks,
        depth=depth,
        bands=_by_frequency(queries, ranks, [*(end for end in bands if end < len(source)), len(source)]),
        n_reachable=n_reachable,
    )


@thread_bound
def evaluate_induced(found: InducedDictionary, gold: BilingualDictionary) -> Evaluation:
    """Compare a dictionary that was made with one that is right; no vectors are needed.

    Words that are missing in ``found`` are not covered. Precision is known up to the number of translations
    that ``found`` has for a word; there are no bands of frequency. The figures are those of
    :func:`evaluate_space` with the vectors that ``found`` was made from.
    """
    answers: dict[str, list[str]] = {}
    for (s, t), _ in sorted(zip(found.pairs, found.ranks, strict=True), key=lambda item: item[1]):
        answers.setdefault(s, []).append(t)
    right = gold.translations
    asked = [word for word in right if word in answers]
    if not asked:
        raise DictionaryError(f"none of the {len(right)} words of {gold.name} is in the dictionary made")
    hits = ([at for at, t in enumerate(answers[s], 1) if t in right[s]] for s in asked)
    return Evaluation(
        source=found.source,
        target=found.target,
        rule="as it is",
        n_words=len(right),
        query_words=tuple(asked),
        ranks=np.array([places[0] if places else 0 for places in hits], dtype=np.int64),
        depth=int(found.ranks.max()),
        bands=(),
    )


def _answers(gold: BilingualDictionary, source: WordVectors, target: WordVectors) -> dict[str, set[int]]:
    """The rows of the right answers to each word that has a vector."""
    out: dict[str, set[int]] = {}
    for s, t in gold.pairs:
        if s in source:
            right = out.setdefault(s, set())
            if t in target:
                right.add(target.index[t])
    return out


def _ranks(found: NDArray[Any], answers: Sequence[set[int]]) -> NDArray[np.int64]:
    places = (
        [at for at, j in enumerate(row, 1) if j in right]
        for row, right in zip(found.tolist(), answers, strict=True)
    )
    return np.array([place[0] if place else 0 for place in places], dtype=np.int64)


def _by_frequency(
    queries: NDArray[np.int64], ranks: NDArray[np.int64], ends: Sequence[int]
) -> tuple[Band, ...]:
    out = []
    for first, last in pairwise([0, *ends]):
        hits = (ranks[(queries >= first) & (queries < last)] == 1).astype(np.float64)
        if len(hits):
            out.append(Band(first, last, len(hits), float(hits.mean()), _error(hits, len(hits))))
    return tuple(out)


def _mean(values: Array, n: int) -> float:
    """Mean of ``n`` values, of which those that are not given are 0; zeros may be given in excess."""
    return float(values.sum() / n)


def _error(values: Array, n: int) -> float:
    """Standard error of that mean."""
    mean = _mean(values, n)
    return float(np.sqrt(max(np.square(values).sum() / n - mean**2, 0.0) / n))
