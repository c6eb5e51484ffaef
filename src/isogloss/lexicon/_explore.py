"""Look around a word: its nearest words in all languages at once, and where they lie in a plane."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import svd

from isogloss.exceptions import DictionaryError
from isogloss.lexicon.retrieval import unit_rows
from isogloss.lexicon.vectors import WordVectors
from isogloss.linalg import top_k
from isogloss.threads import thread_bound

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Neighbour:
    """A word of a language, and its cosine with the word that was asked for."""

    language: str
    word: str
    cosine: float


@dataclass(frozen=True)
class Neighbourhood:
    """The nearest words of a word, nearest first, and a plane through them.

    Attributes
    ----------
    language, word : str
        What was asked for; it is the first of ``neighbours``.
    neighbours : tuple of Neighbour
    positions : array (neighbours, 2)
        The first two principal components of the words' directions.
    """

    language: str
    word: str
    neighbours: tuple[Neighbour, ...]
    positions: Array

    def of(self, language: str) -> tuple[Neighbour, ...]:
        """The neighbours in one language, without the word itself."""
        return tuple(one for one in self.neighbours[1:] if one.language == language)


@thread_bound
def neighbourhood(
    placed: Mapping[str, WordVectors],
    word: str,
    language: str,
    *,
    k: int = 5,
    languages: Iterable[str] | None = None,
    n_jobs: int | None = None,
) -> Neighbourhood:
    """The ``k`` nearest words in each language, its own included.

    Parameters
    ----------
    placed : mapping from language to WordVectors
        Words in a common space, as :meth:`~isogloss.lexicon.WordSpace.place` gives them.
    word, language : str
        What to look for.
    k : int
        How many in each language.
    languages : iterable of str, optional
        Where to look; everywhere by default.
    n_jobs : int or None
        Threads.

    Examples
    --------
    >>> en = WordVectors(["cat", "kitten", "sun"], [[1, 0], [0.9, 0.2], [0, 1]], "en")
    >>> it = WordVectors(["sole", "gatto"], [[0.1, 1], [1, 0.1]], "it")
    >>> around = neighbourhood({"en": en, "it": it}, "cat", "en", k=1)
    >>> [(one.word, round(one.cosine, 2)) for one in around.neighbours]
    [('cat', 1.0), ('gatto', 1.0), ('kitten', 0.98)]
    """
    if word not in placed[language]:
        raise DictionaryError(f"{word!r} is not among the {len(placed[language])} words of {language!r}")
    query = unit_rows(placed[language][word][None, :])
    rows: list[tuple[Neighbour, NDArray[np.float32]]] = []
    for name in placed if languages is None else languages:
        rows += _nearest(query, placed[name], name, k, n_jobs, skip=word if name == language else None)
    rows.sort(key=lambda item: -item[0].cosine)
    found = [Neighbour(language, word, 1.0), *(one for one, _ in rows)]
    points = np.vstack([query, *(vector[None, :] for _, vector in rows)])
    return Neighbourhood(language, word, tuple(found), _plane(points))


def _nearest(
    query: NDArray[np.float32],
    vectors: WordVectors,
    name: str,
    k: int,
    n_jobs: int | None,
    *,
    skip: str | None,
) -> list[tuple[Neighbour, NDArray[np.float32]]]:
    units = unit_rows(vectors.matrix)
    found = top_k(query, units, min(k + (skip is not None), len(vectors)), n_jobs=n_jobs)
    listed = zip(found.indices[0], found.scores[0], strict=True)
    near = [(Neighbour(name, vectors.words[j], float(score)), units[j]) for j, score in listed]
    return [item for item in near if item[0].word != skip][:k]


def _plane(points: NDArray[np.float32]) -> Array:
    """Principal components, each with its largest entry positive, so that a picture can be drawn again."""
    centred = points.astype(np.float64) - points.mean(axis=0, dtype=np.float64)
    U, s, _ = svd(centred, full_matrices=False)
    width = min(2, len(s))
    plane = np.zeros((len(points), 2))
    plane[:, :width] = U[:, :width] * s[:width]
    signs = np.sign(plane[np.abs(plane).argmax(axis=0), [0, 1]])
    return np.asarray(plane * np.where(signs == 0, 1.0, signs))
