r"""The similarity of two languages as a bilinear form.

.. math:: \mathrm{sim}_{ij}(x, y) = \langle \phi_i(x), S_{ij} \phi_j(y) \rangle, \quad S_{ij} = P_i^\top P_j

(thesis, section 6.1). :math:`S_{ij}` has a row for each word of language i and a column for each of language
j, too many to write down, so it is kept as its factors. Two languages need not share a document: their
projectors meet in the common space.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isogloss.linalg import check_count

Single = NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class ProxyMatrix:
    """``S`` with one row for each word of a language and one column for each word of another.

    Attributes
    ----------
    lang_a, lang_b : str
        The languages of rows and columns.
    left, right : array (words x components)
        The factors: ``S = left @ right.T``.
    words_a, words_b : tuple of str
        Names of rows and columns.
    """

    lang_a: str
    lang_b: str
    left: Single
    right: Single
    words_a: tuple[str, ...]
    words_b: tuple[str, ...]

    @property
    def shape(self) -> tuple[int, int]:
        """Words of both languages."""
        return len(self.left), len(self.right)

    def __repr__(self) -> str:
        return f"ProxyMatrix({self.shape[0]} words of {self.lang_a!r} x {self.shape[1]} of {self.lang_b!r})"

    def __matmul__(self, Y: Any) -> Any:
        """``S @ Y`` without forming ``S``."""
        return self.left @ (self.right.T @ Y)

    def toarray(self) -> Single:
        """The matrix itself, for small vocabularies."""
        return self.left @ self.right.T

    def translations(self, word: str, k: int = 10) -> list[tuple[str, float]]:
        """The words of ``lang_b`` that say most about a word of ``lang_a``, with the cosines of their rows.

        A word of many documents has a short row and a rare one a noisy one, so cosines compare better than
        the entries of ``S``.
        """
        if word not in self.words_a:
            raise ValueError(f"the model has no word {word!r} in {self.lang_a!r}; {self.shape[0]} are known")
        k = check_count(k, "k", 1, self.shape[1], f"words of {self.lang_b!r}")
        row = self.left[self.words_a.index(word)]
        scale = np.linalg.norm(self.right, axis=1) * np.linalg.norm(row)
        cosines = self.right @ row / np.where(scale > 0, scale, 1.0)
        best = np.argsort(-cosines, kind="stable")[:k]
        return [(self.words_b[column], float(cosines[column])) for column in best.tolist()]
