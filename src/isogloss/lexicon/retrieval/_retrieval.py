r"""Rules by which a query finds its targets.

Every rule ranks the targets :math:`y` of a query :math:`x` by an inner product and a bias of the target, so
that all of them run on :func:`isogloss.linalg.top_k` and none ever holds the table of similarities:

====================  ==============================================  =================================
rule                  score                                           bias of a target
====================  ==============================================  =================================
``cosine``            :math:`\cos(x, y)`                              none
``csls``              :math:`2\cos(x, y) - r_T(x) - r_S(y)`           :math:`-r_S(y)/2`
``inverted_softmax``  :math:`\cos(x, y)/\tau - \log Z(y)`             :math:`-\tau\log Z(y)`
``density``           :math:`\log N(y \mid x, C)`                     :math:`-\tfrac12 y'C^{-1}y`
====================  ==============================================  =================================

CSLS is in the module ``_csls``. The inverted softmax [1]_ asks of every target how probable the
query is among all sources, :math:`Z(y) = \sum_{x'} \exp(\cos(x', y)/\tau)`; like CSLS it keeps a target that
is near to everything from being the answer to everything. The density is for vectors that are posterior
means of a latent variable: :math:`C` is the covariance of what lies between the two, for example the sum of
the posterior covariances of the two languages, and directions about which little is known count little.

References
----------
.. [1] S. L. Smith, D. H. P. Turban, S. Hamblin, N. Y. Hammerla, *Offline bilingual word vectors, orthogonal
   transformations and the inverted softmax*, ICLR 2017.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import LinAlgError, cholesky, solve_triangular
from scipy.special import logsumexp
from sklearn.utils import check_array

from isogloss.engine import LocalEngine, Rows
from isogloss.lexicon.retrieval._csls import csls_top_k, unit_rows
from isogloss.linalg import TopK, check_count, check_number, check_symmetric, top_k
from isogloss.threads import thread_bound

Array = NDArray[np.float64]
Single = NDArray[np.float32]
Rule = Literal["cosine", "csls", "inverted_softmax", "density"]

RULES = ("cosine", "csls", "inverted_softmax", "density")

# Rows and columns of the blocks over which a softmax is summed.
_BLOCK_SHAPE = (2048, 1024)


@dataclass(frozen=True, eq=False)
class Matches:
    """The best targets of every query; the place in a row, counted from one, is the rank.

    Attributes
    ----------
    scores : array of shape (n_queries, k), float64
        Scores of the rule, the best first.
    indices : array of shape (n_queries, k), int64
        Rows of the targets.
    margins : array of shape (n_queries, k), float64
        Score minus that of the next one, which for the best is the runner-up; infinite where no target is
        left.
    """

    scores: Array
    indices: NDArray[np.int64]
    margins: Array

    @property
    def ranks(self) -> NDArray[np.int64]:
        """Ranks of shape (n_queries, k), from one."""
        return np.broadcast_to(np.arange(1, self.scores.shape[1] + 1), self.scores.shape)


@thread_bound
def retrieve(
    queries: ArrayLike,
    targets: ArrayLike,
    k: int = 10,
    *,
    rule: Rule | str = "csls",
    sources: ArrayLike | None = None,
    neighbours: int = 10,
    temperature: float = 1 / 30,
    covariance: ArrayLike | None = None,
    n_jobs: int | None = None,
) -> Matches:
    """The ``k`` best targets of every query by one of the rules.

    Parameters
    ----------
    queries, targets : arrays of shape (n_queries, d) and (n_targets, d)
        Vectors in one space.
    k : int
        How many, at most ``n_targets``.
    rule : {'cosine', 'csls', 'inverted_softmax', 'density'}
        How targets are ranked.
    sources : array of shape (n_sources, d), optional
        For 'csls' and 'inverted_softmax': the vocabulary from which the queries come; the queries
        themselves by default.
    neighbours : int
        For 'csls': over how many nearest the means are taken.
    temperature : float
        For 'inverted_softmax': small values let the nearest sources decide.
    covariance : array of shape (d, d), optional
        For 'density', which needs it: covariance of a target around its query.
    n_jobs : int or None
        Threads; ``None`` is one, ``-1`` one per core. The result does not depend on it.

    Returns
    -------
    Matches
        Scores, indices and margins, each of shape (n_queries, k).

    Examples
    --------
    >>> from isogloss.lexicon import retrieve
    >>> queries, targets = [[3, 1], [1, 3]], [[1, 1], [2, -1], [-1, 2]]
    >>> retrieve(queries, targets, 1, rule="cosine").indices.ravel().tolist()
    [0, 0]
    >>> found = retrieve(queries, targets, 2, rule="csls", neighbours=2)
    >>> found.indices.tolist()
    [[1, 0], [2, 0]]
    >>> found.margins.round(3).tolist()
    [[0.237, 1.46], [0.237, 1.46]]
    """
    if rule not in RULES:
        raise ValueError(f"rule={rule!r}; expected one of {', '.join(map(repr, RULES))}")
    n_targets = len(check_array(targets, dtype=None, ensure_all_finite=False, input_name="targets"))
    k = check_count(k, "k", 1, n_targets, "targets for each query")
    wanted = min(k + 1, n_targets)
    if rule == "csls":
        found = csls_top_k(queries, targets, wanted, sources=sources, neighbours=neighbours, n_jobs=n_jobs)
    elif rule == "inverted_softmax":
        found = _inverted_softmax(queries, targets, wanted, sources, temperature, n_jobs)
    elif rule == "density":
        found = _density(queries, targets, wanted, covariance, n_jobs)
    else:
        found = top_k(unit_rows(queries, "queries"), unit_rows(targets, "targets"), wanted, n_jobs=n_jobs)
    return _with_margins(found, k)


def _with_margins(found: TopK, k: int) -> Matches:
    """The first k, each with its distance to the next."""
    margins = np.full((len(found.scores), k), np.inf)
    gaps = found.scores[:, :-1] - found.scores[:, 1:]
    margins[:, : gaps.shape[1]] = gaps[:, :k]
    return Matches(found.scores[:, :k].copy(), found.indices[:, :k].copy(), margins)


def _inverted_softmax(
    queries: ArrayLike,
    targets: ArrayLike,
    k: int,
    sources: ArrayLike | None,
    temperature: float,
    n_jobs: int | None,
) -> TopK:
    x, y = unit_rows(queries, "queries"), unit_rows(targets, "targets")
    s = x if sources is None else unit_rows(sources, "sources")
    tau = check_number(temperature, "temperature", np.inf, "what cosines are divided by")
    if tau == 0:
        raise ValueError(
            "temperature=0.0; expected a positive number, use rule='cosine' for no softmax at all"
        )
    engine = LocalEngine(n_jobs)
    log_z = engine.map_reduce(_log_sums, np.logaddexp, Rows(s, batch_rows=_BLOCK_SHAPE[0]), y, tau)
    found = top_k(x, y, k, bias=-tau * log_z, n_jobs=n_jobs)
    return TopK(found.scores / tau, found.indices)


def _log_sums(sources: Single, targets: Single, temperature: float) -> Array:
    """For each target, the logarithm of the sum of exp(cosine / temperature) over some sources."""
    sums = np.empty(len(targets))
    for j in range(0, len(targets), _BLOCK_SHAPE[1]):
        table = sources @ targets[j : j + _BLOCK_SHAPE[1]].T
        sums[j : j + _BLOCK_SHAPE[1]] = logsumexp(table / np.float32(temperature), axis=0)
    return sums


def _density(
    queries: ArrayLike, targets: ArrayLike, k: int, covariance: ArrayLike | None, n_jobs: int | None
) -> TopK:
    x = check_array(queries, dtype=np.float64, input_name="queries")
    y = check_array(targets, dtype=np.float64, input_name="targets")
    root = _root(covariance, y.shape[1])
    # Distances do not change with the origin, but rounding to float32 is kindest around the mean.
    origin = y.mean(axis=0)
    x, y = (_whitened(v - origin, root) for v in (x, y))
    found = top_k(x, y, k, bias=-0.5 * _squares(y), n_jobs=n_jobs)
    constant = np.log(np.diag(root)).sum() + 0.5 * len(root) * np.log(2 * np.pi)
    return TopK(found.scores - 0.5 * _squares(x)[:, None] - constant, found.indices)


def _root(covariance: ArrayLike | None, d: int) -> Array:
    """Lower Cholesky factor of the covariance."""
    if covariance is None:
        raise ValueError("rule='density' needs covariance, that of a target around its query")
    C = check_symmetric(covariance, "covariance")
    if len(C) != d:
        raise ValueError(f"covariance has shape {C.shape}; expected {(d, d)} for vectors of {d} dimensions")
    try:
        root: Array = cholesky(C, lower=True)
    except LinAlgError as error:
        raise ValueError(
            "covariance is not positive definite; add the noise that is missing, or a small multiple of the "
            "identity"
        ) from error
    return root


def _whitened(vectors: Array, root: Array) -> Single:
    white: Single = solve_triangular(root, vectors.T, lower=True).T.astype(np.float32)
    return np.ascontiguousarray(white)


def _squares(vectors: Single) -> Array:
    squares: Array = np.einsum("ij,ij->i", vectors, vectors, dtype=np.float64)
    return squares
