r"""Hub CCA one language at a time, for vocabularies that do not fit side by side.

:class:`~isogloss.multiview.HubCCA` takes singular vectors of :math:`C = [C_{12} \dots C_{1m}]`, whose long
side has the words of all languages. The hub's side of them are the eigenvectors of

.. math:: C C^\top = \sum_j C_{1j} C_{1j}^\top ,

and the side of language j spans what :math:`C_{j1} U` does, so that languages can be looked at one at a time.
Step 2 needs of each only :math:`G_j`, of the size of the reduction. The directions are those of HubCCA,
memory is that of some languages (:mod:`~isogloss.similarity.fitting._spokes`) and of the answer.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh

from isogloss._estimator import warn_caller
from isogloss.engine import Engine, LocalEngine, Source
from isogloss.linalg import randomized_eigh
from isogloss.multiview.solvers import (
    Coupling,
    Survey,
    Whitenings,
    check_bases,
    check_rank,
    couple,
    merge_surveys,
    projected_moments,
    spoke_coefficients,
    survey_views,
    whiten,
)
from isogloss.similarity.fitting._consensus import find_consensus
from isogloss.similarity.fitting._shards import Shards
from isogloss.similarity.fitting._spokes import Spokes
from isogloss.stats import ViewMoments
from isogloss.views import Views

Array = NDArray[np.float64]
Single = NDArray[np.float32]
logger = logging.getLogger(__name__)


@dataclass(frozen=True, eq=False)
class Star:
    """A fitted hub with its spokes."""

    directions: dict[str, Any]
    """In double precision for the hub, in single for the others. Shape (words, components)."""
    means: dict[str, Array]
    eigenvalues: Array
    """Sum over the other languages of squared correlations with the hub; see also :func:`fit_consensus`.
    Shape (components,).
    """
    basis: Array
    """Orthonormal basis of the hub from step 1. Shape (words of the hub, directions)."""
    covariance: Array
    """Covariance of the reduced hub. Shape (directions, directions)."""


class _Reduced(NamedTuple):
    """The statistics of a language that step 2 needs."""

    coupling: Coupling
    mean: Array


class _Reducing:
    """Blocks that are reduced whenever they are read."""

    def __init__(self, source: Source[Views], bases: dict[str, Any]) -> None:
        self.source, self.bases = source, bases

    def loaders(self) -> Sequence[Any]:
        """One callable per block."""
        return [partial(_load_reduced, load, self.bases) for load in self.source.loaders()]


def fit_star(
    shards: Shards,
    hub: str,
    n_components: int,
    *,
    n_directions: int,
    ridge: float,
    n_iter: int = 2,
    random_state: Any = None,
    engine: Engine | None = None,
) -> Star:
    """Directions of all languages by their correlations with the hub.

    Each language shares rows with the hub; the one with the fewest directions in common bounds the number of
    components, with a warning. ``n_iter`` power iterations with ``C C'`` are made, each worth two
    of an SVD; the other parameters are those of :class:`~isogloss.multiview.HubCCA`.
    """
    engine = LocalEngine() if engine is None else engine
    U, bases = _step_one(shards, hub, n_directions, n_iter, random_state, engine)
    covariance, mean = _reduced_hub(shards, hub, U, engine)
    white = whiten(covariance, ridge)
    reduced = {
        name: _reduce(shards, (hub, name), [U, basis], white, ridge, engine) for name, basis in bases.items()
    }
    couplings = {name: r.coupling for name, r in reduced.items()}
    values, Y = _agreement(list(couplings.values()), _possible_components(couplings, hub, n_components))
    Y = Y * largest_signs(U @ (white.ridged @ Y))
    directions: dict[str, Any] = {hub: U @ (white.ridged @ Y)}
    for name in list(bases):
        directions[name] = bases.pop(name) @ _single(spoke_coefficients(reduced[name].coupling, Y))
    means = {hub: mean} | {name: r.mean for name, r in reduced.items()}
    return Star(directions, means, values, U, covariance)


def fit_consensus(
    shards: Shards,
    hub: str,
    n_components: int,
    *,
    n_directions: int,
    ridge: float,
    n_iter: int = 2,
    random_state: Any = None,
    engine: Engine | None = None,
) -> Star:
    """Directions of all languages by the agreement of all; the hub only reduces them.

    Parameters are those of :func:`fit_star`, with the ridge in documents. The eigenvalues are those of
    :func:`~isogloss.similarity.fitting._consensus.find_consensus`.
    """
    engine = LocalEngine() if engine is None else engine
    U, bases = _step_one(shards, hub, n_directions, n_iter, random_state, engine)
    covariance, hub_mean = _reduced_hub(shards, hub, U, engine)
    means = {hub: hub_mean} | {name: _survey(shards, [name], engine).means[0] for name in bases}
    source = _reduced_documents(shards, {hub: _single(U)} | bases, engine)
    found = find_consensus(engine, source, n_components, ridge=ridge, random_state=random_state)
    del source
    coefficients = dict(zip([hub, *bases], found.coefficients, strict=True))
    signs = largest_signs(U @ coefficients[hub])
    directions: dict[str, Any] = {hub: U @ (coefficients[hub] * signs)}
    for name in list(bases):
        directions[name] = bases.pop(name) @ _single(coefficients[name] * signs)
    return Star(directions, means, found.eigenvalues, U, covariance)


def largest_signs(W: Array) -> Array:
    """Signs that make the largest weight of every direction positive."""
    return np.where(W[np.abs(W).argmax(axis=0), np.arange(W.shape[1])] < 0, -1.0, 1.0)


def _step_one(
    shards: Shards, hub: str, n_directions: int, n_iter: int, random_state: Any, engine: Engine
) -> tuple[Array, dict[str, Single]]:
    """Directions of the hub that vary with other languages, and bases of what varies with them there."""
    size = min(n_directions, shards.dims[shards.names.index(hub)])
    spokes = Spokes(shards, hub, engine, width=size)
    _, U = randomized_eigh(spokes, size, n_iter=n_iter, random_state=random_state)
    return U, spokes.bases(U)


def _reduced_documents(shards: Shards, bases: dict[str, Any], engine: Engine) -> Source[Views]:
    """Documents on their bases: kept where they are computed, or, to save the memory of this machine, not."""
    source = shards.source(list(bases))
    if shards.n_blocks > 1 and isinstance(engine, LocalEngine):
        return _Reducing(source, bases)
    kept: Source[Views] = engine.map(_reduced_views, source, bases)
    return kept


def _load_reduced(load: Any, bases: dict[str, Any]) -> Views:
    return _reduced_views(load(), bases)


def _reduced_views(batch: Views, bases: dict[str, Any]) -> Views:
    return Views(
        {name: np.asarray(batch[name] @ basis) for name, basis in bases.items()}, present=batch.present
    )


def _reduced_hub(shards: Shards, hub: str, U: Array, engine: Engine) -> tuple[Array, Array]:
    """Covariance of the reduced hub, and the mean of the hub."""
    moments = engine.map_reduce(projected_moments, ViewMoments.merge, shards.source([hub]), [U])
    return moments.covariance(0), _survey(shards, [hub], engine).means[0]


def _survey(shards: Shards, names: Sequence[str], engine: Engine) -> Survey:
    return engine.map_reduce(survey_views, merge_surveys, shards.source(names))


def _reduce(
    shards: Shards,
    names: tuple[str, str],
    bases: list[Any],
    white: Whitenings,
    ridge: float,
    engine: Engine,
) -> _Reduced:
    seen = _survey(shards, names, engine)
    check_bases(bases, seen, 0)
    moments = engine.map_reduce(projected_moments, ViewMoments.merge, shards.source(names), bases)
    coupling = couple(white, moments, 0, 1, ridge=ridge, names=names)
    if coupling.shrinkage > 0:
        logger.debug("%r: covariance with the hub scaled down by %.2g", names[1], coupling.shrinkage)
    return _Reduced(coupling, seen.means[1])


def _possible_components(couplings: Mapping[str, Coupling], hub: str, n_components: int) -> int:
    """Return the number of components that all languages have, with a warning if it is not the wanted one."""
    poorest = min(couplings, key=lambda name: couplings[name].rank)
    rank = couplings[poorest].rank
    if rank >= n_components:
        return n_components
    check_rank(couplings[poorest], 1, (poorest, hub))
    warn_caller(
        f"{poorest!r} and the hub {hub!r} have {rank} directions in common, fewer than "
        f"n_components={n_components}: the model has {rank} components",
        UserWarning,
    )
    return rank


def _agreement(couplings: Sequence[Coupling], n_components: int) -> tuple[Array, Array]:
    """Leading eigenvalues and eigenvectors of the sum of ``G G'``."""
    S = np.sum([coupling.cross @ coupling.cross.T for coupling in couplings], axis=0)
    values, vectors = eigh(S, subset_by_index=(len(S) - n_components, len(S) - 1))
    return values[::-1], vectors[:, ::-1]


def _single(X: Array) -> Single:
    return X.astype(np.float32)
