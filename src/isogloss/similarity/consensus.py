r"""Step 2 of hub CCA with all languages in the place of the hub.

The thesis (6.8) maximises correlations with the hub. When the hub is poor, or other languages tell more about
each other, agreement of all is the better aim: variables :math:`g_c` of the rows that are predicted best by
the languages that have them,

.. math:: \max_{G^\top G = I} \operatorname{tr} G^\top N^{-1/2} \Bigl( \sum_i H_i \Bigr) N^{-1/2} G,
          \qquad H_i = R_i (R_i^\top R_i + \lambda I)^{-1} R_i^\top,

with :math:`R_i` the reduced documents of language i, centred, and N the number of languages that a row has.
This is MAXVAR with a ridge of :math:`\lambda` documents. A language's directions are the regression of G on
it, so that one that says little about a component moves documents little along it. Eigenvalues are the mean
share of a component's variance that a language predicts, from 0 to 1.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.linalg import LinearOperator

from isogloss.linalg import randomized_eigh, whitening_matrix

__all__ = ["Consensus", "find_consensus"]

Array = NDArray[np.float64]

# Power iterations; components far down differ little in what they are worth.
_ITERATIONS = 3


class Consensus(NamedTuple):
    """What the languages agree on.

    Attributes
    ----------
    coefficients : dict of str to array (directions x components)
        Regression of the common variables on the reduced documents of each language.
    eigenvalues : array (components,)
        Mean share of each variable that a language predicts.
    """

    coefficients: dict[str, Array]
    eigenvalues: Array


class _Predictor(NamedTuple):
    """A language: its rows, and a factor A of its smoother ``H = A A'``, with ``A = R K``."""

    rows: NDArray[np.int64]
    A: Array
    K: Array


class _Agreement(LinearOperator):
    """The matrix of the problem, known by its products."""

    def __init__(self, predictors: Mapping[str, _Predictor], n: int) -> None:
        self.predictors = predictors
        counts = np.zeros(n)
        for one in predictors.values():
            counts[one.rows] += 1
        self.scale = 1 / np.sqrt(np.maximum(counts, 1))[:, None]
        super().__init__(np.dtype(np.float64), (n, n))

    def _matmat(self, G: Array) -> Array:
        out, scaled = np.zeros(G.shape), self.scale * G
        for rows, A, _ in self.predictors.values():
            out[rows] += A @ (A.T @ scaled[rows])
        return self.scale * out


def find_consensus(
    reduced: Mapping[str, Array],
    present: NDArray[np.bool_],
    n_components: int,
    *,
    ridge: float,
    random_state: Any = None,
) -> Consensus:
    """Common variables of reduced documents, and how each language predicts them.

    Parameters
    ----------
    reduced : mapping of str to array (documents x directions)
        Reduced documents of each language, centred.
    present : array of bool (rows x languages)
        Which row each language has; every row has two or more.
    n_components : int
        How many variables.
    ridge : float
        In documents of length one.
    random_state : int, RandomState or None
        Seed of the randomised eigenvectors.

    Notes
    -----
    Memory: twice the reduced documents. Time: about ten products of all of them with a block of
    ``n_components`` columns.
    """
    columns = zip(reduced.items(), present.T, strict=True)
    predictors = {name: _predictor(np.flatnonzero(has), R, ridge) for (name, R), has in columns}
    agreement = _Agreement(predictors, len(present))
    values, G = randomized_eigh(agreement, n_components, n_iter=_ITERATIONS, random_state=random_state)
    G = agreement.scale * G
    coefficients = {name: K @ (A.T @ G[rows]) for name, (rows, A, K) in predictors.items()}
    return Consensus(coefficients, np.clip(values, 0.0, 1.0))


def _predictor(rows: NDArray[np.int64], R: Array, ridge: float) -> _Predictor:
    scatter = R.T @ R
    scatter.flat[:: len(scatter) + 1] += ridge
    K = whitening_matrix(scatter).matrix
    return _Predictor(rows, R @ K, K)
