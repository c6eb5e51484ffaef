r"""Cross-lingual explicit semantic analysis: similarities to the documents of a corpus as coordinates.

.. math:: z = X_i\, \phi_i(d)

with a coordinate for each of some rows of the corpus, the documents of which in language i are the rows of
:math:`X_i` (Potthast, Stein and Anderka, 2008; Cimiano and others, 2009). Nothing is learned.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from sklearn.utils import check_random_state

from isogloss._estimator import Constraints
from isogloss.similarity.models._base import DocumentModel, FittedDirections
from isogloss.text import Scheme
from isogloss.views import Views


class ESASimilarity(DocumentModel):
    """Cosines with documents that exist in many languages.

    Parameters
    ----------
    n_components : int
        Rows of the corpus that are coordinates: those with most languages, drawn at random among equals.
    power, drop_first, normalise, scheme, min_df, drop_top, max_features
        See :class:`DocumentModel`; all strengths are 1.
    random_state : int, RandomState or None
        Seed of the choice of rows.
    n_jobs : int or None
        Processes that read text.

    Attributes
    ----------
    spaces_, projectors_, offsets_, strengths_
        See :class:`DocumentModel`; nothing is subtracted.
    rows_ : array of int (components,)
        The rows of the corpus that are coordinates.

    Notes
    -----
    A row that lacks a language is 0 for its documents. Memory: a number for each word and coordinate.

    Examples
    --------
    >>> ESASimilarity(1000).get_params()["scheme"]
    'bm25'
    """

    _parameter_constraints: ClassVar[Constraints] = {**DocumentModel._parameter_constraints}

    def __init__(
        self,
        n_components: int = 1000,
        *,
        power: float = 0.0,
        drop_first: int = 0,
        normalise: bool = True,
        scheme: Scheme = "bm25",
        min_df: int = 1,
        drop_top: int = 0,
        max_features: int | None = None,
        random_state: int | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_components = n_components
        self.power = power
        self.drop_first = drop_first
        self.normalise = normalise
        self.scheme = scheme
        self.min_df = min_df
        self.drop_top = drop_top
        self.max_features = max_features
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _solve(self, documents: Views) -> FittedDirections:
        n = len(documents)
        if n < self.n_components:
            raise ValueError(f"n_components={self.n_components} rows of {n}; ask for fewer")
        drawn = check_random_state(self.random_state).permutation(n)
        languages = documents.present.sum(axis=1)[drawn]
        self.rows_ = np.sort(drawn[np.argsort(-languages, kind="stable")[: self.n_components]])
        directions = {}
        for x, has, name in zip(documents.arrays, documents.present.T, documents.names, strict=True):
            directions[name] = np.zeros((x.shape[1], self.n_components))
            held = has[self.rows_]
            directions[name][:, held] = x[np.cumsum(has)[self.rows_[held]] - 1].T.toarray()
        means = {name: np.zeros(len(words)) for name, words in directions.items()}
        return FittedDirections(directions, means, np.ones(self.n_components))
