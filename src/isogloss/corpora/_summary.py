r"""Summarise a comparable corpus: what each pair of languages shares, and how much documents differ.

The sizes are those of Table 8.5 of [1]_. Table 8.7 asks whether documents differ from each other: for the
rows that a language shares with the hub it compares

.. math:: \frac{\operatorname{rank}(A)}{\min(\operatorname{rows}(A), \operatorname{cols}(A))}

of both languages' matrices. Pages made from a template, with few words of their own, leave the rank
far below its limit; the two ratios of a pair should be near each other.

References
----------
.. [1] J. Rupnik, *Multi-view canonical correlation analysis*, doctoral dissertation, Jožef Stefan
   International Postgraduate School.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigvalsh
from scipy.sparse import csr_matrix
from sklearn.preprocessing import normalize
from sklearn.utils import check_random_state

if TYPE_CHECKING:
    from isogloss.corpora._base import Corpus


@dataclasses.dataclass(frozen=True)
class RankRatio:
    """Ranks of the matrices of a language and of the hub over their common rows, as shares of the limit."""

    rows: int
    hub: float
    language: float


@dataclasses.dataclass(frozen=True)
class CorpusSummary:
    """Sizes of a corpus; see :func:`summarise`."""

    languages: tuple[str, ...]
    rows: int
    words: dict[str, int]
    counts: dict[str, int]
    pair_sizes: NDArray[np.int64]
    hub: str
    ranks: dict[str, RankRatio]

    def as_dict(self) -> dict[str, Any]:
        """Return the summary for JSON."""
        return {
            "rows": self.rows,
            "languages": {
                language: {
                    "documents": int(self.pair_sizes[k, k]),
                    "words": self.words[language],
                    "counts": self.counts[language],
                }
                for k, language in enumerate(self.languages)
            },
            "pairs": {
                f"{one}-{other}": int(self.pair_sizes[i, j])
                for i, one in enumerate(self.languages)
                for j, other in enumerate(self.languages)
                if i < j
            },
            "hub": self.hub,
            "ranks": {language: dataclasses.asdict(ratio) for language, ratio in self.ranks.items()},
        }


def summarise(
    corpus: Corpus, *, hub: str | None = None, max_rows: int = 1000, random_state: int | None = 0
) -> CorpusSummary:
    """Return the sizes of all pairs of languages, and rank ratios with a hub.

    Parameters
    ----------
    corpus : Corpus
        The corpus.
    hub : str, optional
        The language to compare with; by default the one with the most documents.
    max_rows : int
        Ranks of larger matrices are estimated from this many random rows, which makes them somewhat too
        high. 0 leaves ranks out.
    random_state : int or None
        Seed of the random numbers.
    """
    sizes = corpus.pair_sizes()
    centre = corpus.languages[int(sizes.diagonal().argmax())] if hub is None else hub
    corpus.index(centre)
    matrices = {language: corpus.matrix(language) for language in corpus.languages}
    ranks: dict[str, RankRatio] = {}
    for other in corpus.languages:
        if other != centre and max_rows:
            ratio = _compare(corpus, centre, other, max_rows, random_state)
            ranks |= {} if ratio is None else {other: ratio}
    return CorpusSummary(
        corpus.languages,
        len(corpus),
        {language: matrix.shape[1] for language, matrix in matrices.items()},
        {language: int(matrix.nnz) for language, matrix in matrices.items()},
        sizes,
        centre,
        ranks,
    )


def _compare(
    corpus: Corpus, hub: str, other: str, max_rows: int, random_state: int | None
) -> RankRatio | None:
    common = corpus.rows([hub, other])
    if not len(common):
        return None
    if len(common) > max_rows:
        common = np.sort(check_random_state(random_state).permutation(common)[:max_rows])
    pair = corpus.select(common, [hub, other])
    return RankRatio(len(common), rank_ratio(pair.matrix(hub)), rank_ratio(pair.matrix(other)))


def rank_ratio(counts: Any) -> float:
    """Return the numerical rank of a matrix as a share of its rows or used columns, whichever are fewer.

    Rows are first scaled to length 1, which does not change the rank.

    Examples
    --------
    >>> rank_ratio(csr_matrix([[1, 0, 0], [2, 0, 0], [0, 1, 1], [0, 1, 2]]))
    1.0
    >>> rank_ratio(csr_matrix([[1, 1, 0], [2, 2, 0], [3, 3, 0]]))
    0.5
    """
    used = np.flatnonzero(np.bincount(counts.indices, minlength=counts.shape[1]))
    limit = min(counts.shape[0], len(used))
    if not limit:
        return 0.0
    X = normalize(csr_matrix(counts, dtype=np.float64)[:, used])
    gram = (X @ X.T if X.shape[0] <= X.shape[1] else X.T @ X).toarray()
    values = eigvalsh(gram, overwrite_a=True, check_finite=False)
    return float((values > values[-1] * limit * np.finfo(np.float64).eps).sum() / limit)
