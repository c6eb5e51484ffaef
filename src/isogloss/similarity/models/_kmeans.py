r"""k-means of all languages side by side: centroids as aligned bases.

Rows of :math:`[X_1 \dots X_m]` are clustered; the part :math:`C^{(i)}` of the k centroids that belongs to
language i is a basis of k vectors, and a document has the coordinates

.. math:: P_i x, \qquad P_i = (C^{(i)\top} C^{(i)})^{-1} C^{(i)\top}

in it (thesis, section 6.5; :math:`P_i` by QR).
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from sklearn.cluster import KMeans, MiniBatchKMeans

from isogloss._estimator import POSITIVE_INT, Constraints
from isogloss.similarity.models._base import DocumentModel, FittedDirections
from isogloss.similarity.models._lsi import pseudo_inverse
from isogloss.text import Scheme
from isogloss.views import Views, stack_views


class KMeansSimilarity(DocumentModel):
    """Coordinates in a basis of cluster centroids, the simplest of the models.

    Parameters
    ----------
    n_components : int
        Clusters, and dimensions of the common space.
    batch_size : int or None
        Rows of a step of scikit-learn's ``MiniBatchKMeans``; None for its ``KMeans``, all rows at a time.
    max_iter : int
        Most iterations.
    power, drop_first, normalise, scheme, min_df, drop_top, max_features
        See :class:`DocumentModel`.
    random_state : int, RandomState or None
        Seed of the first centroids.
    n_jobs : int or None
        Processes that read text.

    Attributes
    ----------
    spaces_, projectors_, offsets_, strengths_
        See :class:`DocumentModel`; all strengths are 1, and nothing is subtracted.
    sizes_ : array (components,)
        Rows of each cluster.
    """

    _parameter_constraints: ClassVar[Constraints] = {
        **DocumentModel._parameter_constraints,
        "batch_size": [POSITIVE_INT, None],
        "max_iter": [POSITIVE_INT],
    }

    def __init__(
        self,
        n_components: int = 500,
        *,
        batch_size: int | None = None,
        max_iter: int = 50,
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
        self.batch_size = batch_size
        self.max_iter = max_iter
        self.power = power
        self.drop_first = drop_first
        self.normalise = normalise
        self.scheme = scheme
        self.min_df = min_df
        self.drop_top = drop_top
        self.max_features = max_features
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _solve(self, views: Views) -> FittedDirections:
        X = stack_views(views)
        if X.shape[0] < self.n_components:
            raise ValueError(f"n_components={self.n_components} clusters of {X.shape[0]} rows; ask for fewer")
        clusters = self._clusters().fit(X)
        self.sizes_ = np.bincount(clusters.labels_, minlength=self.n_components)
        C = clusters.cluster_centers_.T.astype(np.float64)
        blocks = dict(zip(views.names, np.split(C, np.cumsum(views.dims)[:-1]), strict=True))
        directions = {name: pseudo_inverse(block, name).T for name, block in blocks.items()}
        means = {name: np.zeros(len(block)) for name, block in blocks.items()}
        return FittedDirections(directions, means, np.ones(self.n_components))

    def _clusters(self) -> KMeans | MiniBatchKMeans:
        same = {"n_init": 1, "max_iter": self.max_iter, "random_state": self.random_state}
        if self.batch_size is None:
            return KMeans(self.n_components, **same)
        return MiniBatchKMeans(self.n_components, batch_size=self.batch_size, **same)
