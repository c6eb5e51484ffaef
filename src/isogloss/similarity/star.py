r"""Hub CCA one language at a time, for vocabularies that do not fit side by side.

:class:`~isogloss.multiview.HubCCA` takes singular vectors of :math:`C = [C_{12} \dots C_{1m}]`, whose long
side has the words of all languages. The hub's side of them are the eigenvectors of

.. math:: C C^\top = \sum_j C_{1j} C_{1j}^\top ,

and the side of language j spans what :math:`C_{j1} U` does, so that languages can be looked at one at a time.
Step 2 needs of each only :math:`G_j`, of the size of the reduction. The directions are those of HubCCA,
memory is that of the largest language and of the answer.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh
from scipy.sparse.linalg import LinearOperator

from isogloss.engine import LocalEngine, Rows
from isogloss.linalg import randomized_eigh, whitening_matrix
from isogloss.multiview.hub_reduction import HubOperator, check_bases, projected_moments
from isogloss.multiview.hub_solution import Coupling, Whitenings, couple, spoke_coefficients, whiten
from isogloss.multiview.survey import merge_surveys, survey_views
from isogloss.similarity.consensus import find_consensus
from isogloss.stats import ViewMoments
from isogloss.views import Matrix, Views

__all__ = ["Spoke", "Star", "fit_consensus", "fit_star", "largest_signs"]

Array = NDArray[np.float64]
logger = logging.getLogger(__name__)


@dataclass(frozen=True, eq=False)
class Star:
    """A fitted hub with its spokes.

    Attributes
    ----------
    directions : dict of str to array (words x components)
        In double precision for the hub, in single for the others.
    means : dict of str to array (words,)
    eigenvalues : array (components,)
        Sum over the other languages of squared correlations with the hub; see also :func:`fit_consensus`.
    basis : array (words of the hub x directions)
        Orthonormal basis of the hub from step 1.
    covariance : array (directions x directions)
        Covariance of the reduced hub.
    """

    directions: dict[str, Any]
    means: dict[str, Array]
    eigenvalues: Array
    basis: Array
    covariance: Array


class Spoke:
    """One language with the hub: the rows of both, and products of their covariance."""

    def __init__(self, views: Views, hub: str, name: str, engine: LocalEngine) -> None:
        columns = [views.index(hub), views.index(name)]
        self.name, self.names, self.engine = name, (hub, name), engine
        pair = Views({v: views[v] for v in self.names}, present=views.present[:, columns])
        self.source = Rows(pair[pair.present.any(axis=1)])
        self.covariance = HubOperator(engine, self.source, pair.dims, 0)
        self._whitening: Array | None = None

    def basis(self, U: Array) -> Array:
        """Orthonormal basis of what varies with the directions ``U`` of the hub."""
        if self.covariance.shape[1] <= U.shape[1]:
            return np.eye(self.covariance.shape[1])
        T = self.covariance.rmatmat(U)
        if self._whitening is None:
            self._whitening = whitening_matrix(T.T @ T).matrix
        return np.asarray(T @ self._whitening)

    def moments(self, bases: Sequence[Array]) -> ViewMoments:
        """Second moments of both languages on their bases."""
        seen: ViewMoments = self.engine.map_reduce(projected_moments, ViewMoments.merge, self.source, bases)
        return seen

    def survey(self) -> Any:
        """Counts and means of both languages."""
        return self.engine.map_reduce(survey_views, merge_surveys, self.source)


class _SumOfSquares(LinearOperator):
    """``sum of C_1j C_1j'``, known by its products."""

    def __init__(self, spokes: Sequence[Spoke]) -> None:
        self.spokes = spokes
        p = spokes[0].covariance.shape[0]
        super().__init__(np.dtype(np.float64), (p, p))

    def _matmat(self, U: Array) -> Array:
        out = np.zeros((self.shape[0], U.shape[1]))
        for spoke in self.spokes:
            out += spoke.covariance.matmat(spoke.covariance.rmatmat(U))
        return out


class _Reduced(NamedTuple):
    """What step 2 needs of a language."""

    coupling: Coupling
    mean: Array


def fit_star(
    views: Views,
    hub: str,
    n_components: int,
    *,
    n_directions: int,
    ridge: float,
    n_iter: int = 2,
    random_state: Any = None,
    n_jobs: int | None = None,
) -> Star:
    """Directions of all languages by their correlations with the hub.

    Parameters
    ----------
    views : Views
        Rows of all languages, each of which shares rows with the hub.
    hub : str
        Name of the hub.
    n_components, n_directions, ridge
        As in :class:`~isogloss.multiview.HubCCA`.
    n_iter : int
        Power iterations with ``C C'``, each worth two of an SVD.
    random_state : int, RandomState or None
        Seed of the random block.
    n_jobs : int or None
        Threads over batches of rows.
    """
    U, spokes = _step_one(views, hub, n_directions, n_iter, random_state, n_jobs)
    covariance, mean = _reduced_hub(views[hub], U)
    white = whiten(covariance, ridge)
    reduced = {spoke.name: _reduce(spoke, U, white, n_components, ridge) for spoke in spokes}
    values, Y = _agreement([r.coupling for r in reduced.values()], n_components)
    W = U @ (white.ridged @ Y)
    Y = Y * largest_signs(W)
    directions: dict[str, Any] = {hub: U @ (white.ridged @ Y)}
    for spoke in spokes:
        coefficients = spoke_coefficients(reduced[spoke.name].coupling, Y)
        directions[spoke.name] = (spoke.basis(U) @ coefficients).astype(np.float32)
    means = {hub: mean} | {name: r.mean for name, r in reduced.items()}
    return Star(directions, means, values, U, covariance)


def fit_consensus(
    views: Views,
    hub: str,
    n_components: int,
    *,
    n_directions: int,
    ridge: float,
    n_iter: int = 2,
    random_state: Any = None,
    n_jobs: int | None = None,
) -> Star:
    """Directions of all languages by the agreement of all; the hub only reduces them.

    Parameters are those of :func:`fit_star`, with the ridge in documents. The eigenvalues are those of
    :func:`~isogloss.similarity.consensus.find_consensus`.
    """
    U, spokes = _step_one(views, hub, n_directions, n_iter, random_state, n_jobs)
    covariance, hub_mean = _reduced_hub(views[hub], U)
    together = views.present.sum(axis=1) > 1
    means, reduced = {hub: hub_mean}, {}
    for name, basis in [(hub, U), *((spoke.name, spoke.basis(U)) for spoke in spokes)]:
        has = views.present[:, views.index(name)]
        means[name] = np.asarray(views[name].mean(axis=0, dtype=np.float64)).ravel()
        R = np.asarray(views[name] @ basis)[together[has]]
        reduced[name] = R - R.mean(axis=0)
    order = [views.index(name) for name in reduced]
    found = find_consensus(
        reduced, views.present[together][:, order], n_components, ridge=ridge, random_state=random_state
    )
    del reduced
    signs = largest_signs(U @ found.coefficients[hub])
    directions: dict[str, Any] = {hub: U @ (found.coefficients[hub] * signs)}
    for spoke in spokes:
        coefficients = found.coefficients[spoke.name] * signs
        directions[spoke.name] = (spoke.basis(U) @ coefficients).astype(np.float32)
    return Star(directions, means, found.eigenvalues, U, covariance)


def largest_signs(W: Array) -> Array:
    """Signs that make the largest weight of every direction positive."""
    return np.where(W[np.abs(W).argmax(axis=0), np.arange(W.shape[1])] < 0, -1.0, 1.0)


def _step_one(
    views: Views, hub: str, n_directions: int, n_iter: int, random_state: Any, n_jobs: int | None
) -> tuple[Array, list[Spoke]]:
    """Directions of the hub that vary with other languages, and those languages."""
    engine = LocalEngine(n_jobs)
    spokes = [Spoke(views, hub, name, engine) for name in views.names if name != hub]
    size = min(n_directions, views.dims[views.index(hub)])
    _, U = randomized_eigh(_SumOfSquares(spokes), size, n_iter=n_iter, random_state=random_state)
    return U, spokes


def _reduced_hub(X: Matrix, U: Array) -> tuple[Array, Array]:
    """Covariance of the reduced hub, and the mean of the hub."""
    moments = ViewMoments([U.shape[1]]).update([np.asarray(X @ U)])
    return moments.covariance(0), np.asarray(X.mean(axis=0, dtype=np.float64)).ravel()


def _reduce(spoke: Spoke, U: Array, white: Whitenings, n_components: int, ridge: float) -> _Reduced:
    bases = [U, spoke.basis(U)]
    seen = spoke.survey()
    check_bases(bases, seen, 0)
    coupling = couple(white, spoke.moments(bases), 0, 1, n_components, ridge=ridge, names=spoke.names)
    if coupling.shrinkage > 0:
        logger.debug("%r: covariance with the hub scaled down by %.2g", spoke.name, coupling.shrinkage)
    return _Reduced(coupling, seen.means[1])


def _agreement(couplings: Sequence[Coupling], n_components: int) -> tuple[Array, Array]:
    """Leading eigenvalues and eigenvectors of the sum of ``G G'``."""
    S = np.sum([coupling.cross @ coupling.cross.T for coupling in couplings], axis=0)
    values, vectors = eigh(S, subset_by_index=(len(S) - n_components, len(S) - 1))
    return values[::-1], vectors[:, ::-1]
