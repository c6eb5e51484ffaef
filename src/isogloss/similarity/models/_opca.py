r"""Oriented principal component analysis (OPCA) of documents.

.. math:: \max_v \frac{v^\top C_s v}{v^\top (C_n + \gamma I) v}

With :math:`x_{il}` the document of row i in language l, in a space that has the words of all languages, and
:math:`\bar x_i` the mean over its languages, the signal :math:`C_s` is the covariance of :math:`\bar x_i`
and the noise :math:`C_n` that of :math:`x_{il} - \bar x_i` (Platt, Toutanova and Yih, *Translingual
document representations from discriminative projections*, EMNLP 2010). The eigenproblem is as large as all
vocabularies together, so it is solved in the space of the leading singular vectors of CL-LSI.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh

from isogloss._estimator import NON_NEGATIVE, POSITIVE_INT, Constraints
from isogloss.linalg import krylov_svd
from isogloss.similarity.models._base import DocumentModel, FittedDirections
from isogloss.similarity.models._lsi import basis_size
from isogloss.text import Scheme
from isogloss.views import Views, stack_views

Array = NDArray[np.float64]

_EFFORT = 4


class OPCASimilarity(DocumentModel):
    r"""Directions in which the documents of a row agree and rows differ.

    Parameters
    ----------
    n_components : int
        Dimensions of the common space.
    ridge : float
        :math:`\gamma`, in units of the mean variance of the noise.
    n_directions : int or None
        Singular vectors that the eigenproblem is solved in; twice ``n_components`` by default.
    power, drop_first, normalise, scheme, min_df, drop_top, max_features
        See :class:`DocumentModel`; strengths are eigenvalues divided by the first.
    random_state : int, RandomState or None
        Seed of the SVD.
    n_jobs : int or None
        Processes that read text.

    Attributes
    ----------
    spaces_, projectors_, offsets_, strengths_
        See :class:`DocumentModel`; the mean of each language is subtracted.

    Examples
    --------
    >>> OPCASimilarity(100).get_params()["ridge"]
    1.0
    """

    _parameter_constraints: ClassVar[Constraints] = {
        **DocumentModel._parameter_constraints,
        "ridge": [NON_NEGATIVE],
        "n_directions": [POSITIVE_INT, None],
    }

    def __init__(
        self,
        n_components: int = 500,
        *,
        ridge: float = 1.0,
        n_directions: int | None = None,
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
        self.ridge = ridge
        self.n_directions = n_directions
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
        X = stack_views(documents)
        size = min(self.n_directions or 2 * self.n_components, min(X.shape) - 1)
        if size < self.n_components:
            raise ValueError(
                f"n_components={self.n_components} of {size} directions; the corpus has {X.shape[0]} "
                f"rows and {X.shape[1]} words: ask for fewer"
            )
        basis = krylov_svd(X, size, n_basis=basis_size(size, _EFFORT), random_state=self.random_state)[2].T
        parts = np.split(basis, np.cumsum(documents.dims)[:-1])
        signal, noise = covariances(documents, parts)
        noise += max(self.ridge * np.trace(noise) / size, 1e-12) * np.eye(size)
        values, vectors = eigh(signal, noise, subset_by_index=[size - self.n_components, size - 1])
        values, vectors = np.maximum(values[::-1], 0.0), vectors[:, ::-1]
        directions = {name: part @ vectors for name, part in zip(documents.names, parts, strict=True)}
        means = {
            name: np.asarray(x.mean(axis=0), dtype=np.float64).ravel()
            for name, x in zip(documents.names, documents.arrays, strict=True)
        }
        return FittedDirections(directions, means, values / values[0] if values[0] > 0 else values)


def covariances(documents: Views, parts: list[Array]) -> tuple[Array, Array]:
    """Signal and noise of rows with two languages or more, in the basis whose parts are given."""
    present = documents.present.astype(np.float64)
    several = present.sum(axis=1) > 1
    if not several.any():
        raise ValueError("no row of the corpus has two languages; expected rows whose documents can agree")
    weight = np.where(several[:, None], present / np.maximum(present.sum(axis=1, keepdims=True), 1), 0.0)
    points = []
    for x, has, part in zip(documents.arrays, documents.present.T, parts, strict=True):
        point = np.zeros((len(has), part.shape[1]))
        point[has] = x @ part
        points.append(point)
    means = sum(w[:, None] * point for w, point in zip(weight.T, points, strict=True))
    n = several.sum()
    noise = (
        sum((weight[:, v, None] * (point - means)).T @ (point - means) for v, point in enumerate(points)) / n
    )
    centred = means[several] - means[several].mean(axis=0)
    return centred.T @ centred / n, noise
