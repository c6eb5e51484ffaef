r"""Mate retrieval: how far up a document finds its own version in another language.

With r the rank of the mate of each of n queries among the n documents of the other language, the scores of an
ordered pair of languages are

.. math::

    \mathrm{MRR} = \frac1n \sum \frac1r, \qquad P@k = \frac1n \#\{r \le k\}, \qquad
    \mathrm{score} = \frac{200}{n} \sum \left(\frac{n - r}{n - 1} - \frac12\right),

the last one between -100 and 100 with 0 for chance (thesis, section 8.3.2, where the factor is misprinted as
100). AMRR is the mean of MRR over ordered pairs of languages. Documents as similar as the mate count half: a
document without a known word, similar to nothing, finds its mate in the middle and not on top.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from isogloss.corpora import Corpus
from isogloss.linalg import check_count, top_k
from isogloss.similarity.models import TextModel
from isogloss.threads import thread_bound

Array = NDArray[np.float64]
Single = NDArray[np.float32]

# Queries that are compared with all documents at a time.
_BLOCK_QUERIES = 1024


class PairScores(NamedTuple):
    """Retrieval scores: how well documents of one language find their mates in another.

    Attributes
    ----------
    documents : int
        Queries, and documents to find.
    mrr, p1, p10 : float
        Mean reciprocal rank, and the shares of mates on rank 1 and up to rank 10.
    score : float
        The score of the thesis, from -100 to 100; 100 when there is one document.
    """

    documents: int
    mrr: float
    p1: float
    p10: float
    score: float

    @classmethod
    def of_ranks(cls, ranks: Array) -> PairScores:
        """The scores that ranks give."""
        n = len(ranks)
        if not n:
            raise ValueError("no ranks given; expected those of at least one document")
        score = 200.0 * float(np.mean((n - ranks) / (n - 1) - 0.5)) if n > 1 else 100.0
        p1, p10 = (float(np.mean(ranks <= k)) for k in (1, 10))
        return cls(n, float(np.mean(1.0 / ranks)), p1, p10, score)


@dataclass(frozen=True, eq=False)
class RetrievalReport:
    """Scores of all ordered pairs of languages that share documents.

    Attributes
    ----------
    pairs : dict of (str, str) to PairScores
        By language of the queries and of the documents to find. A pair of a language with itself is the
        monolingual control.
    """

    pairs: dict[tuple[str, str], PairScores]

    @property
    def amrr(self) -> float:
        """Mean of MRR over ordered pairs of different languages."""
        return self._mean("mrr")

    @property
    def p1(self) -> float:
        """Mean over pairs of the share of mates on rank 1."""
        return self._mean("p1")

    @property
    def p10(self) -> float:
        """Mean over pairs of the share of mates up to rank 10."""
        return self._mean("p10")

    @property
    def score(self) -> float:
        """Mean over pairs of the score of the thesis."""
        return self._mean("score")

    @property
    def monolingual(self) -> float | None:
        """Mean of MRR within languages; None when queries were the documents themselves."""
        own = [scores.mrr for (a, b), scores in self.pairs.items() if a == b]
        return float(np.mean(own)) if own else None

    def _mean(self, name: str) -> float:
        return float(np.mean([getattr(scores, name) for (a, b), scores in self.pairs.items() if a != b]))

    def as_dict(self) -> dict[str, Any]:
        """Everything as JSON can hold it."""
        means = {name: getattr(self, name) for name in ("amrr", "p1", "p10", "score", "monolingual")}
        return means | {"pairs": {f"{a}-{b}": scores._asdict() for (a, b), scores in self.pairs.items()}}


@thread_bound
def evaluate(
    model: TextModel,
    corpus: Corpus,
    *,
    csls: int = 0,
    languages: Sequence[str] | None = None,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> RetrievalReport:
    """Mate retrieval between all languages that a model and a corpus have.

    Parameters
    ----------
    model : DocumentModel or EncodedHub
        Fitted, on other rows.
    corpus : Corpus
        Rows to find.
    csls : int
        Neighbours of the correction of :func:`mate_ranks`; 0 for plain inner products.
    languages : sequence of str, optional
        Only these.
    progress : callable
        Called with the number of pairs of languages that are done, and of all of them.
    """
    names = [name for name in corpus.languages if name in model.languages]
    names = names if languages is None else [name for name in names if name in languages]
    if len(names) < 2:
        raise ValueError(
            f"the corpus has {', '.join(corpus.languages)}, the model {', '.join(model.languages)}; "
            "expected two common languages to compare"
        )
    projected = {name: model.project_corpus(corpus, name) for name in names}
    presence = corpus.presence[:, [corpus.index(name) for name in names]]
    return compare(projected, presence=presence, csls=csls, progress=progress)


@thread_bound
def compare(
    queries: Mapping[str, Any],
    targets: Mapping[str, Any] | None = None,
    *,
    presence: NDArray[np.bool_],
    csls: int = 0,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> RetrievalReport:
    """Mate retrieval between projected documents.

    Parameters
    ----------
    queries : mapping of str to array (documents x components)
        For each language its projected documents, in the order of rows.
    targets : mapping of str to array, optional
        Documents to find, when they are not the queries: other halves of the same texts, say. A language
        is then compared with itself too.
    presence : array of bool, rows x languages
        Which row has which language.
    csls : int
        See :func:`mate_ranks`.
    progress : callable
        Called with the number of pairs of languages that are done, and of all of them.

    Examples
    --------
    >>> report = compare({"en": np.eye(3), "de": np.eye(3)[[0, 2, 1]]}, presence=np.ones((3, 2), dtype=bool))
    >>> round(report.amrr, 3), report.pairs["en", "de"].score
    (0.6, 0.0)
    """
    names = list(queries)
    found = queries if targets is None else targets
    lines = np.cumsum(presence, axis=0) - 1
    pairs = {}
    for (i, a), (j, b) in product(enumerate(names), repeat=2):
        rows = np.flatnonzero(presence[:, i] & presence[:, j])
        if len(rows) and (a != b or targets is not None):
            left, right = queries[a][lines[rows, i]], found[b][lines[rows, j]]
            pairs[a, b] = PairScores.of_ranks(mate_ranks(left, right, csls=csls))
        progress(i * len(names) + j + 1, len(names) ** 2)
    if not pairs:
        raise ValueError("no row has two languages; expected rows that documents can find each other in")
    return RetrievalReport(pairs)


def mate_ranks(queries: Any, targets: Any, *, csls: int = 0) -> Array:
    """Rank of ``targets[i]`` among all targets for ``queries[i]``, from 1; ties count half.

    Parameters
    ----------
    queries, targets : arrays (documents x components)
        Projected documents and their mates.
    csls : int
        With neighbours given, half of the mean inner product of each target with that many nearest queries is
        subtracted: documents close to everything are held back.
    """
    left, right = (np.ascontiguousarray(X, dtype=np.float32) for X in (queries, targets))
    if left.shape != right.shape:
        raise ValueError(f"queries {left.shape} and targets {right.shape}; expected a target for each query")
    bias = _crowding(left, right, csls) / 2
    out = np.empty(len(left))
    for start in range(0, len(left), _BLOCK_QUERIES):
        scores = left[start : start + _BLOCK_QUERIES] @ right.T - bias
        mates = scores[np.arange(len(scores)), np.arange(start, start + len(scores))][:, None]
        above, level = (scores > mates).sum(axis=1), (scores == mates).sum(axis=1)
        out[start : start + _BLOCK_QUERIES] = above + (level + 1) / 2
    return out


def _crowding(queries: Single, targets: Single, neighbours: int) -> Single:
    """Mean inner product of each target with its nearest queries."""
    k = check_count(neighbours, "csls", 0, 10**6, "neighbours, 0 for none")
    if not k:
        return np.zeros(len(targets), dtype=np.float32)
    nearest = top_k(targets, queries, min(k, len(queries))).scores
    return np.asarray(nearest.mean(axis=1), dtype=np.float32)
