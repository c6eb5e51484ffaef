r"""CSLS for documents that come and go: neighbours of everything are held back.

Some documents are near to many others, whatever these are about, and crowd out the right answers. CSLS [1]_
subtracts half of what the surroundings of a document let one expect,

.. math:: s(x, y) = \langle x, y \rangle - \tfrac12 r_L(y),

with :math:`r_L(y)` the mean inner product of y with the nearest documents of the language L of the query. The
mean is needed for the few documents with the highest inner products only, which are put into a new order.

:math:`r_L` is taken over a sample of the documents of L: those whose ids have the lowest hashes. So it
depends on which documents there are and not on the order in which they came and went, and a saved index gives
the same answers. In a sample with a share q of the documents, q times as many are the nearest ones.

References
----------
.. [1] A. Conneau, G. Lample, M. Ranzato, L. Denoyer, H. Jégou, *Word translation without parallel data*,
   ICLR 2018.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from isogloss.linalg import check_count, top_k
from isogloss.similarity.index._graph_index import GraphIndex
from isogloss.similarity.index._index import Index
from isogloss.similarity.index._together import NearRows, search_each

AnyIndex: TypeAlias = Index | GraphIndex
Single = NDArray[np.float32]

NEIGHBOURS = 10
"""Nearest documents of a mean, of all documents of a language."""
SAMPLE = 2048
"""Documents of a sample."""
MIN_DOCUMENTS = 100
"""Fewer documents of a language say too little about what is near to everything."""


class CorrectedRows(NamedTuple):
    """The documents of an index that are nearest, the nearest first.

    Attributes
    ----------
    scores : array
        Inner products.
    corrected : array
        The same less half of the mean, by which they are ordered.
    ids, vectors : array
        Which documents, and their vectors.
    """

    scores: NDArray[np.float64]
    corrected: NDArray[np.float64]
    ids: NDArray[np.int64]
    vectors: Single


@dataclass(frozen=True, eq=False)
class HubnessSample:
    """Documents of a language, and the mean similarity of other documents with the nearest of them.

    Attributes
    ----------
    vectors : float32 array (documents x dimensions)
        The sample.
    neighbours : int
        Documents of a mean; 0 for no correction.
    """

    vectors: Single
    neighbours: int

    @classmethod
    def draw(
        cls,
        ids: ArrayLike,
        take: Callable[[NDArray[np.int64]], Single],
        *,
        neighbours: int,
        size: int = SAMPLE,
    ) -> HubnessSample:
        """Draw the sample of some ids; ``take`` gives the vectors of those drawn, which ascend.

        There is no correction by fewer than ``MIN_DOCUMENTS`` documents.
        """
        known = np.asarray(ids, dtype=np.int64)
        if len(known) < MIN_DOCUMENTS or not neighbours:
            return NO_CORRECTION
        drawn = sample_ids(known, size)
        share = len(drawn) / len(known)
        return cls(take(drawn), max(1, round(neighbours * share)))

    def means(self, vectors: Single) -> NDArray[np.float64]:
        """Return the mean inner product of each vector with its nearest documents of the sample."""
        if not self.neighbours or not len(vectors):
            return np.zeros(len(vectors))
        scores = top_k(vectors, self.vectors, self.neighbours).scores
        return np.asarray(scores.mean(axis=1))


NO_CORRECTION = HubnessSample(np.empty((0, 0), np.float32), 0)


class SearchCandidates(NamedTuple):
    """Documents of each language with the highest inner products, and what corrects these.

    Attributes
    ----------
    rows : dict of str to NearRows
        More documents of each language than are wanted.
    sample : HubnessSample
        That of the query's language.
    """

    rows: dict[str, NearRows]
    sample: HubnessSample

    def best(self, k: int) -> dict[str, CorrectedRows]:
        """Return the ``k`` best of each language by CSLS, equal ones in the order of ids."""
        vectors = [rows.vectors for rows in self.rows.values() if len(rows.ids)]
        means = self.sample.means(np.concatenate(vectors)) if vectors else np.empty(0)
        out, start = {}, 0
        for lang, rows in self.rows.items():
            mean, start = means[start : start + len(rows.ids)], start + len(rows.ids)
            corrected = rows.scores - mean / 2
            best = np.lexsort((rows.ids, -corrected))[:k]
            out[lang] = CorrectedRows(rows.scores[best], corrected[best], rows.ids[best], rows.vectors[best])
        return out


@dataclass(eq=False)
class CrossLingualSearch:
    """Searches the indexes of several languages, with CSLS.

    Parameters
    ----------
    indexes : mapping of str to Index or GraphIndex
        An index for each language. Documents may enter and leave between two searches.
    neighbours : int
        Nearest documents of the mean that is subtracted; 0 for plain inner products.
    sample : int
        Documents of the query's language that the mean is taken over, at most.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> points = rng.normal(size=(300, 20)).astype(np.float32)
    >>> points /= np.linalg.norm(points, axis=1, keepdims=True)
    >>> both = {code: Index(20).add(np.arange(300), points) for code in ("en", "de")}
    >>> search = CrossLingualSearch(both)
    >>> search.nearest(points[7], "en", 2)["de"].ids[0]
    np.int64(7)
    """

    indexes: Mapping[str, AnyIndex]
    neighbours: int = NEIGHBOURS
    sample: int = SAMPLE
    _samples: dict[str, tuple[AnyIndex, int, HubnessSample]] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        check_count(self.neighbours, "neighbours", 0, 10**6, "nearest documents, 0 for plain inner products")
        check_count(self.sample, "sample", MIN_DOCUMENTS, 2**24, "documents of a language")

    def nearest(
        self,
        point: ArrayLike,
        lang: str,
        k: int = 10,
        *,
        languages: Collection[str] | None = None,
        since: float | None = None,
        until: float | None = None,
    ) -> dict[str, CorrectedRows]:
        """Return the ``k`` nearest documents of each language.

        Parameters
        ----------
        point : array of shape (dims,)
            The query.
        lang : str
            Its language. If no index has documents of it, or few, answers are those of plain inner products.
        k : int
            How many of each language, or as many as there are.
        languages : collection of str, optional
            Only these.
        since, until : float, optional
            See :meth:`Index.search`.
        """
        return self.collect(point, lang, k, languages=languages, since=since, until=until).best(k)

    def collect(
        self,
        point: ArrayLike,
        lang: str,
        k: int = 10,
        *,
        languages: Collection[str] | None = None,
        since: float | None = None,
        until: float | None = None,
        sample: HubnessSample | None = None,
    ) -> SearchCandidates:
        """Return the documents that may be the nearest: the part of a search that reads the indexes.

        A program whose threads share the indexes holds its lock here. ``sample`` replaces that of the query's
        language, which need not have an index then; the other parameters are those of :meth:`nearest`.
        """
        k = check_count(k, "k", 1, 2**31 - 1, "documents of each index")
        wanted = [code for code in self.indexes if languages is None or code in languages]
        sample = self.sample_of(lang) if sample is None else sample
        listed = candidate_count(k) if sample.neighbours else k
        found = _search([self.indexes[code] for code in wanted], point, listed, since, until)
        return SearchCandidates(dict(zip(wanted, found, strict=True)), sample)

    def sample_of(self, lang: str) -> HubnessSample:
        """Return the sample of a language, drawn anew if documents entered or left."""
        index = self.indexes.get(lang)
        if index is None:
            return NO_CORRECTION
        known = self._samples.get(lang)
        if known is None or known[0] is not index or known[1] != index.changes:
            sample = HubnessSample.draw(
                index.ids, index.vectors_of, neighbours=self.neighbours, size=self.sample
            )
            known = self._samples[lang] = (index, index.changes, sample)
        return known[2]


def candidate_count(k: int) -> int:
    """Return how many documents with the highest inner products are put into a new order for ``k`` answers.

    With k = 1, the mean reciprocal rank was that of all documents to .0002.
    """
    return 3 * k + 20


def sample_ids(ids: NDArray[np.int64], size: int) -> NDArray[np.int64]:
    """Return the ids with the lowest hashes, ascending: which they are depends on the ids alone."""
    if len(ids) <= size:
        return np.sort(ids)
    return np.sort(ids[np.argpartition(_hashes(ids), size - 1)[:size]])


def _hashes(ids: NDArray[np.int64]) -> NDArray[np.uint64]:
    """Return the finaliser of SplitMix64, a bijection, so that no two ids have the same."""
    x = ids.astype(np.uint64) + np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(x ^ (x >> np.uint64(31)))


def _search(
    indexes: Sequence[AnyIndex], point: ArrayLike, k: int, since: float | None, until: float | None
) -> list[NearRows]:
    """Search indexes together where that is possible."""
    if all(isinstance(index, Index) and index.storage == "float32" for index in indexes):
        return search_each(
            [index for index in indexes if isinstance(index, Index)], point, k, since=since, until=until
        )
    query, out = np.asarray(point)[None], []
    for index in indexes:
        best = index.search(query, min(k, max(len(index), 1)), since=since, until=until)
        there = best.indices[0] >= 0
        ids = best.indices[0][there]
        out.append(NearRows(best.scores[0][there], ids, index.vectors_of(ids)))
    return out
