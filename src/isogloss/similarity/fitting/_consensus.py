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

With :math:`R_i^\top R_i + \lambda I = (K_i K_i^\top)^{-1}` and :math:`B = N^{-1/2} [R_1 K_1 \dots R_m K_m]`
the matrix of the problem is :math:`B B^\top`. Its eigenvectors are found from those of
:math:`B^\top B = V \Lambda V^\top`, whose size does not depend on the number of rows and whose products are
sums over blocks of rows; the regression is then :math:`K_i V_i \Lambda^{1/2}`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.linalg import LinearOperator

from isogloss.engine import Engine, Source
from isogloss.linalg import randomized_eigh, whitening_matrix
from isogloss.stats import ViewMoments
from isogloss.views import Views

Array = NDArray[np.float64]

# Power iterations; components far down differ little in what they are worth.
_ITERATIONS = 3


class Consensus(NamedTuple):
    """The consensus of the languages."""

    coefficients: list[Array]
    """Regression of the common variables on the reduced documents of each language. Shape (directions,
    components).
    """
    eigenvalues: Array
    """Mean share of each variable that a language predicts. Shape (components,)."""


class _Agreement(LinearOperator):
    """``B'B``, known by its products; each is a pass over the source."""

    def __init__(
        self, engine: Engine, source: Source[Views], means: Sequence[Array], whitenings: Sequence[Array]
    ) -> None:
        self.engine, self.source, self.means, self.whitenings = engine, source, means, whitenings
        sizes = [K.shape[1] for K in whitenings]
        self.cuts = np.cumsum(sizes)[:-1]
        super().__init__(np.dtype(np.float64), (sum(sizes),) * 2)

    def split(self, V: Array) -> list[Array]:
        """``K_i V_i`` for each language."""
        return [K @ part for K, part in zip(self.whitenings, np.split(V, self.cuts), strict=True)]

    def _matmat(self, V: Array) -> Array:
        sums = self.engine.map_reduce(_products, _add, self.source, self.means, self.split(V))
        return np.concatenate([K.T @ part for K, part in zip(self.whitenings, sums, strict=True)])


def find_consensus(
    engine: Engine, source: Source[Views], n_components: int, *, ridge: float, random_state: Any = None
) -> Consensus:
    """Common variables of reduced documents, and how each language predicts them.

    Parameters
    ----------
    engine : Engine
        Where sums over blocks run.
    source : Source of Views
        Blocks of the reduced documents of all languages; rows with one language do not count.
    n_components : int
        How many variables; those beyond what the documents span are zero.
    ridge : float
        In documents of length one.
    random_state : int, RandomState or None
        Seed of the randomised eigenvectors.

    Notes
    -----
    Memory: a few blocks of (directions of all languages) x ``n_components``. Time: nine passes over the
    source, eight of them with two products of all reduced documents with such a block.
    """
    moments = engine.map_reduce(_moments, _merge, source)
    means = [seen.mean(0) for seen in moments]
    whitenings = [_ridged_whitening(seen.product(0, 0), ridge) for seen in moments]
    agreement = _Agreement(engine, source, means, whitenings)
    k = min(n_components, agreement.shape[0])
    values, V = randomized_eigh(agreement, k, n_iter=_ITERATIONS, random_state=random_state)
    values, missing = np.clip(values, 0.0, 1.0), n_components - k
    coefficients = [np.pad(part, ((0, 0), (0, missing))) for part in agreement.split(V * np.sqrt(values))]
    return Consensus(coefficients, np.pad(values, (0, missing)))


def _ridged_whitening(scatter: Array, ridge: float) -> Array:
    return whitening_matrix(scatter + ridge * np.eye(len(scatter))).matrix


def _together(batch: Views) -> Views:
    """The rows that have two languages or more."""
    several = batch.present.sum(axis=1) > 1
    kept: Views = batch if several.all() else batch[several]
    return kept


def _moments(batch: Views) -> list[ViewMoments]:
    """Means and scatter of each language."""
    return [ViewMoments([R.shape[1]]).update([R]) for R in _together(batch).arrays]


def _merge(left: list[ViewMoments], right: list[ViewMoments]) -> list[ViewMoments]:
    return [a.merge(b) for a, b in zip(left, right, strict=True)]


def _products(batch: Views, means: Sequence[Array], blocks: Sequence[Array]) -> list[Array]:
    """``R_i' N^-1 (sum of R_j blocks_j)`` for each language, R about its mean."""
    batch = _together(batch)
    total = np.zeros((len(batch), blocks[0].shape[1]))
    for R, has, mean, block in zip(batch.arrays, batch.present.T, means, blocks, strict=True):
        total[has] += R @ block - mean @ block
    total /= np.maximum(batch.present.sum(axis=1), 1)[:, None]
    out = []
    for R, has, mean in zip(batch.arrays, batch.present.T, means, strict=True):
        part = total[has]
        out.append(R.T @ part - np.outer(mean, part.sum(axis=0)))
    return out


def _add(left: list[Array], right: list[Array]) -> list[Array]:
    for a, b in zip(left, right, strict=True):
        a += b
    return left
