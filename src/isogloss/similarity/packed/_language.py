r"""A language of a packed model: a rounded projector and the words of its rows, in arrays that may be mapped.

A row of the projector is kept as bytes :math:`\hat p \in [-127, 127]^k` and one scale, or in half precision.
A text of some hundred words reads as many rows, so little of the file is in memory, and that is shared by all
processes that map it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from isogloss.similarity.fitting import LanguageSpace
from isogloss.similarity.models import DocumentModel, WordPulls
from isogloss.similarity.packed._words import PackedVocabulary, PackedWords
from isogloss.text import TermWeighting, Tokeniser

Single = NDArray[np.float32]
PackedStorage = Literal["float16", "int8"]
Pulls: TypeAlias = tuple[NDArray[np.int32], Single]

TOP_WORDS = 20
"""Words of each end of a component that are kept beside the projector: topics need not read all of it."""
_LARGEST = 127
# Components whose strongest words are looked for together.
_TOGETHER = 16


@dataclass(frozen=True, eq=False)
class PackedProjector:
    """A projector in bytes or in half precision.

    Attributes
    ----------
    rows : int8 or float16 array (words x components)
    scales : float32 array (words,)
        What a byte is worth in each row; none in half precision.
    """

    rows: NDArray[Any]
    scales: Single

    @classmethod
    def of(cls, projector: Any, storage: PackedStorage) -> PackedProjector:
        """Round a projector."""
        if storage == "float16":
            return cls(np.asarray(projector, dtype=np.float16), np.empty(0, np.float32))
        largest = np.abs(projector).max(axis=1) / _LARGEST
        scales = np.where(largest > 0, largest, 1).astype(np.float32)
        return cls(np.rint(projector / scales[:, None]).astype(np.int8), scales)

    @property
    def shape(self) -> tuple[int, int]:
        """Words and components."""
        return self.rows.shape[0], self.rows.shape[1]

    def __len__(self) -> int:
        return len(self.rows)

    def take(self, words: NDArray[np.integer[Any]]) -> Single:
        """Return some rows in single precision."""
        rows = np.asarray(self.rows[words], dtype=np.float32)
        return rows * self.scales[words][:, None] if len(self.scales) else rows

    def toarray(self) -> Single:
        """Return the whole projector in single precision: all of the file, for uses that need it."""
        return self.take(np.arange(len(self)))

    def __rmatmul__(self, documents: sparse.csr_matrix) -> Single:
        """Project documents, reading the rows of their words only."""
        words, place = np.unique(documents.indices, return_inverse=True)
        fewer = sparse.csr_matrix(
            (documents.data, place.astype(np.int32), documents.indptr), shape=(documents.shape[0], len(words))
        )
        return np.asarray(fewer @ self.take(words), dtype=np.float32)


@dataclass(frozen=True, eq=False)
class PackedLanguage:
    """The arrays and settings of a language, which one file holds.

    Attributes
    ----------
    lang : str
        Code of the language.
    rows, scales
        See :class:`PackedProjector`.
    offset : float32 array (components,)
        Where the mean document goes.
    letters, ends, hashes, columns
        See :class:`PackedWords`.
    weighting : TermWeighting
        Weights of the words.
    tokeniser : Tokeniser or None
        Finds words; None if the corpus did not say how its words were found.
    top_words : int32 array (components x 2 x words)
        The columns of the words that move documents most towards either end of a component.
    top_pulls : float32 array of the same shape
        How much they do; 0 where there are fewer words.
    """

    lang: str
    rows: NDArray[Any]
    scales: Single
    offset: Single
    letters: NDArray[np.uint8]
    ends: NDArray[np.int64]
    hashes: NDArray[np.uint64]
    columns: NDArray[np.int32]
    weighting: TermWeighting
    tokeniser: Tokeniser | None
    top_words: NDArray[np.int32]
    top_pulls: Single

    @classmethod
    def of(cls, model: DocumentModel, lang: str, storage: PackedStorage) -> PackedLanguage:
        """Pack a language of a fitted model."""
        space, projector = model.spaces_[lang], model.projectors_[lang]
        packed = PackedProjector.of(projector, storage)
        return cls(
            lang,
            packed.rows,
            packed.scales,
            np.asarray(model.offsets_[lang], dtype=np.float32),
            *PackedWords.of(space.vocabulary.words),
            space.weighting,
            space.tokeniser,
            *strongest(projector, space.weighting.idf_),
        )

    @property
    def projector(self) -> PackedProjector:
        """The projector."""
        return PackedProjector(self.rows, self.scales)

    def space(self) -> LanguageSpace:
        """Return what turns texts into weighted words."""
        return LanguageSpace(self.lang, self.tokeniser, PackedVocabulary(self._words()), self.weighting)

    def _words(self) -> PackedWords:
        return PackedWords(self.letters, self.ends, self.hashes, self.columns)

    def ends_of(self, component: int, n: int) -> tuple[WordPulls, WordPulls]:
        """Return the strongest words of both ends of a component with their pulls."""
        words = self._words()
        if n > self.top_words.shape[2] < len(self.rows):
            pulls = self.projector.toarray()[:, [component]] * self.weighting.idf_[:, None]
            columns, values = (part[0] for part in _strongest(pulls, n))
        else:
            columns, values = self.top_words[component, :, :n], self.top_pulls[component, :, :n]
        positive, negative = (
            [
                (words.word(column), round(pull, 6))
                for column, pull in zip(columns[end].tolist(), values[end].tolist(), strict=True)
                if pull > 0
            ]
            for end in (0, 1)
        )
        return positive, negative


def strongest(projector: Any, idf: NDArray[np.floating[Any]], n: int = TOP_WORDS) -> Pulls:
    """Return the words that pull most to either end of each component, and how much: two arrays."""
    parts = [
        _strongest(projector[:, start : start + _TOGETHER] * idf[:, None], n)
        for start in range(0, projector.shape[1], _TOGETHER)
    ]
    columns, pulls = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
    return columns, pulls


def _strongest(pulls: NDArray[Any], n: int) -> Pulls:
    """Columns and pulls of the ``n`` strongest words of each component's ends; equal ones in their order."""
    n, words = min(n, len(pulls)), []
    for signed in (pulls, -pulls):
        best = np.argpartition(-signed, n - 1, axis=0)[:n]
        order = np.lexsort((best, -np.take_along_axis(signed, best, axis=0)), axis=0)
        words.append(np.take_along_axis(best, order, axis=0).T)
    columns = np.stack(words, axis=1)
    signs = np.array([1, -1], dtype=np.float32)[:, None]
    found = signs * pulls[columns, np.arange(pulls.shape[1])[:, None, None]]
    return columns.astype(np.int32), np.maximum(found, 0).astype(np.float32)
