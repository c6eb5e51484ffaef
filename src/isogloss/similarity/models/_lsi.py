r"""Cross-lingual latent semantic indexing: an SVD of all languages side by side.

.. math:: [X_1 \dots X_m] \approx V S\, [U^{(1)\top} \dots U^{(m)\top}]

with a row for each subject, and zeros where a language is missing (thesis, section 6.6). A
document of language i goes to :math:`x^\top U^{(i)}`, or, with ``inverse=True``, to :math:`P_i x` with
:math:`P_i` the pseudo-inverse of :math:`U^{(i)}`, found by QR: :math:`R_i P_i = Q_i^\top`.
"""

from __future__ import annotations

import logging
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import qr, solve_triangular
from scipy.sparse.linalg import LinearOperator

from isogloss._estimator import NON_NEGATIVE_INT, POSITIVE_INT, Constraints
from isogloss.corpora import Corpus
from isogloss.engine import Engine, EngineMixin
from isogloss.linalg import check_count, krylov_svd, randomized_eigh
from isogloss.similarity.fitting import HeldShards, Shards, add_into, shards_of
from isogloss.similarity.models._base import DocumentModel, FittedDirections
from isogloss.text import Scheme
from isogloss.views import Views, stack_views

Array = NDArray[np.float64]
logger = logging.getLogger(__name__)

# Columns below this part of the largest one, after what others explain of them, depend on those.
_DEPENDENT = 1e-10


class LSISimilarity(EngineMixin, DocumentModel):
    r"""CL-LSI: the model to compare with.

    Parameters
    ----------
    n_components : int
        Dimensions of the common space, at most the number of rows.
    inverse : bool
        Whether documents are projected with the pseudo-inverse of a language's block.
    power : float
        Power of the singular values in an inner product: 0 for :math:`U` itself, -2 for the :math:`U S^{-1}`
        of the thesis.
    drop_first, normalise, scheme, min_df, drop_top, max_features
        See :class:`DocumentModel`.
    n_iter : int
        Effort of the SVD. Documents that are kept: its basis has ``1 + n_iter / 3`` times as many columns as
        there are components. Blocks of rows: half as many power iterations, rounded up.
    batch_rows : int or None
        Rows that are read and weighted at a time, anew in every pass; by default documents are kept.
    random_state : int, RandomState or None
        Seed of the SVD.
    engine : Engine or None
        Where sums over blocks of ``batch_rows`` run; threads of this process by default.
    n_jobs : int or None
        Processes that read text and threads over blocks.

    Attributes
    ----------
    spaces_, projectors_, offsets_, strengths_
        See :class:`DocumentModel`; strengths are singular values divided by the first, and nothing is
        subtracted: the model does not centre.

    Notes
    -----
    Blocks of rows give eigenvectors of :math:`X^\top X` in the place of singular vectors of :math:`X`, which
    agree as far as the power iterations have converged. Memory is then some blocks of (words of all languages
    x components) and no documents.
    """

    _parameter_constraints: ClassVar[Constraints] = {
        **DocumentModel._parameter_constraints,
        "inverse": ["boolean"],
        "n_iter": [NON_NEGATIVE_INT],
        "batch_rows": [POSITIVE_INT, None],
        "engine": [Engine, None],
    }

    def __init__(
        self,
        n_components: int = 500,
        *,
        inverse: bool = False,
        power: float = 0.0,
        drop_first: int = 0,
        normalise: bool = True,
        scheme: Scheme = "bm25",
        min_df: int = 1,
        drop_top: int = 0,
        max_features: int | None = None,
        n_iter: int = 4,
        batch_rows: int | None = None,
        random_state: int | None = None,
        engine: Engine | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_components = n_components
        self.inverse = inverse
        self.power = power
        self.drop_first = drop_first
        self.normalise = normalise
        self.scheme = scheme
        self.min_df = min_df
        self.drop_top = drop_top
        self.max_features = max_features
        self.n_iter = n_iter
        self.batch_rows = batch_rows
        self.random_state = random_state
        self.engine = engine
        self.n_jobs = n_jobs

    def _documents(self, corpus: Corpus) -> Shards:
        return shards_of(corpus, self.spaces_, self.batch_rows, self.engine)

    def _solve(self, documents: Shards) -> FittedDirections:
        s, U = self._singular(documents)
        blocks = dict(zip(documents.names, np.split(U, np.cumsum(documents.dims)[:-1]), strict=True))
        if self.inverse:
            blocks = {name: pseudo_inverse(block, name).T for name, block in blocks.items()}
        means = {name: np.zeros(len(block)) for name, block in blocks.items()}
        return FittedDirections(blocks, means, s / s[0])

    def _singular(self, documents: Shards) -> tuple[Array, Array]:
        """Singular values and right singular vectors of all languages side by side."""
        if isinstance(documents, HeldShards):
            X, k = stack_views(documents.views), self.n_components
            size = basis_size(k, self.n_iter)
            _, s, Ut = krylov_svd(X, k, n_basis=size, random_state=self.random_state)
            return s, Ut.T
        check_count(self.n_components, "n_components", 1, len(documents.present), "rows of the corpus")
        gram, half = _Gram(documents, self._engine()), -(-self.n_iter // 2)
        values, U = randomized_eigh(gram, self.n_components, n_iter=half, random_state=self.random_state)
        return np.sqrt(values), U


def basis_size(n_components: int, n_iter: int) -> int:
    """Columns of the Krylov basis for an effort."""
    n_iter = check_count(n_iter, "n_iter", 0, 10**6, "the effort of the SVD")
    return n_components + -(-n_components * n_iter // 3)


class _Gram(LinearOperator):
    """``X'X`` of all languages side by side, known by its products; each is a pass over blocks of rows."""

    def __init__(self, documents: Shards, engine: Engine) -> None:
        self.engine, self.source = engine, engine.persist(documents.source(documents.names))
        super().__init__(np.dtype(np.float64), (sum(documents.dims),) * 2)

    def _matmat(self, V: Array) -> Array:
        product: Array = self.engine.map_reduce(_gram_product, add_into, self.source, V)
        return product


def _gram_product(batch: Views, V: Array) -> Array:
    X = stack_views(batch)
    return np.asarray(X.T @ (X @ V))


def pseudo_inverse(B: Array, name: str) -> Array:
    """``(B'B)^-1 B'`` by QR, for a basis in columns.

    Columns that depend on others, as those of clusters without a document of a language do, have no
    coordinate: the Gram-Schmidt step of the thesis. Columns are pivoted, so the largest ones stay.
    """
    Q, R, order = qr(B, mode="economic", pivoting=True)
    diagonal = np.abs(np.diag(R))
    least = max(_DEPENDENT, 100 * np.finfo(R.dtype).eps)
    rank = int(np.count_nonzero(diagonal > least * diagonal[0]))
    if rank < B.shape[1]:
        logger.warning("%r: %d of %d basis vectors depend on others", name, B.shape[1] - rank, B.shape[1])
    P = np.zeros(B.T.shape)
    P[order[:rank]] = solve_triangular(R[:rank, :rank], Q[:, :rank].T)
    return P
