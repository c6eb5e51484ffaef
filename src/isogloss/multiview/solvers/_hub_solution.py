r"""Step 2 of hub CCA: the sum of squared correlations with the hub, an eigenproblem.

With :math:`D_{ij}` the covariances of the reduced views, :math:`D_{ii} = K_i^\top K_i` and
:math:`G_i = K_1^{-\top} D_{1i} K_i^{-1}`, the directions of the hub (view 1) and of the others are

.. math:: Y_1 = \text{eigenvectors of } \sum_{i>1} G_i G_i^\top, \quad
          W_1 = K_1^{-1} Y_1, \quad W_i = K_i^{-1} G_i^\top Y_1 N_i

(thesis, 6.6-6.8), :math:`N_i` scaling every column of :math:`G_i^\top Y_1` to unit length.

:math:`D_{11}`, :math:`D_{ii}` and :math:`D_{1i}` each come from the rows that are there for them, so
:math:`G_i` can have singular values above 1, correlations that no data can have. :math:`D_{1i}` is then
scaled down until :math:`[D_{11}, D_{1i}; D_{1i}^\top, D_{ii}]` is positive semi-definite. The ridge
:math:`(1 - \kappa) D_{ii} + \kappa I` comes after that.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh

from isogloss.linalg import shrink_to_psd, whitening_matrix
from isogloss.stats import ViewMoments

__all__ = [
    "Coupling",
    "HubSolution",
    "check_rank",
    "couple",
    "solve_hub",
    "spoke_coefficients",
    "whiten",
]

Array = NDArray[np.float64]

# Singular values below this part of the largest one are rounding.
_RANK_TOL = 1e-10
# Variance below this part of the squared mean is what centring a constant leaves.
_CONSTANT = 1e-20


class Whitenings(NamedTuple):
    """Bases in which the covariance of a view is the identity, without and with the ridge."""

    plain: Array
    ridged: Array


@dataclass(frozen=True, eq=False)
class Coupling:
    r"""The cross covariance of a view and the hub, in whitened coordinates."""

    whitening: Array
    """:math:`K_i^{-1}`. Shape (directions of the view, rank)."""
    cross: Array
    """:math:`G_i`, shrunk. Shape (rank of the hub, rank)."""
    shrinkage: float
    """The part of :math:`D_{1i}` that was taken away."""
    rank: int
    """Directions that the view and the hub have in common."""


@dataclass(frozen=True, eq=False)
class HubSolution:
    """Coefficients of the reduced views, and what they reach on the rows seen."""

    coefficients: list[Array]
    eigenvalues: Array
    """Sum over the other views of the squared correlations with the hub. Shape (components,)."""
    shrinkage: Array
    """See :class:`Coupling`; zero for the hub. Shape (views,)."""


def solve_hub(
    moments: ViewMoments, hub: int, n_components: int, *, ridge: float, names: Sequence[str]
) -> HubSolution:
    """Directions of all views from the moments of the reduced views."""
    _check_varying(moments, hub, names)
    white = whiten(moments.covariance(hub), ridge)
    others = [j for j in range(len(moments.dims)) if j != hub]
    coupled = {j: couple(white, moments, hub, j, ridge=ridge, names=names) for j in others}
    for j, coupling in coupled.items():
        check_rank(coupling, n_components, (names[j], names[hub]))
    S = np.sum([coupled[j].cross @ coupled[j].cross.T for j in others], axis=0)
    values, vectors = eigh(S)
    Y = vectors[:, : -n_components - 1 : -1]
    coefficients = [
        white.ridged @ Y if v == hub else spoke_coefficients(coupled[v], Y) for v in range(len(moments.dims))
    ]
    shrinkage = np.array([coupled[v].shrinkage if v != hub else 0.0 for v in range(len(moments.dims))])
    return HubSolution(coefficients, values[: -n_components - 1 : -1], shrinkage)


def couple(
    white: Whitenings,
    moments: ViewMoments,
    hub: int,
    view: int,
    *,
    ridge: float,
    names: Sequence[str],
) -> Coupling:
    """``G`` of one view, ``white`` being the whitening of the hub."""
    _check_varying(moments, view, names)
    own, D = whiten(moments.covariance(view), ridge), moments.covariance(hub, view)
    shrinkage = _excess(white.plain.T @ D @ own.plain)
    G = white.ridged.T @ ((1.0 - shrinkage) * D) @ own.ridged
    return Coupling(own.ridged, G, shrinkage, int(np.linalg.matrix_rank(G, rtol=_RANK_TOL)))


def check_rank(coupling: Coupling, n_components: int, names: Sequence[str]) -> None:
    """Refuse more components than a view and the hub, with these names, have directions in common."""
    if coupling.rank < n_components:
        raise ValueError(
            f"view {names[0]!r} and the hub {names[1]!r} have {coupling.rank} directions in common; "
            f"n_components={n_components} asks for more: lower it, or give the views more features or rows"
        )


def spoke_coefficients(coupling: Coupling, Y: Array) -> Array:
    """``W_i`` of 6.8: what of the view best predicts the hub's directions, at unit variance."""
    directions = coupling.cross.T @ Y
    coefficients: Array = coupling.whitening @ (directions / np.linalg.norm(directions, axis=0))
    return coefficients


def whiten(D: Array, ridge: float) -> Whitenings:
    """Both whitenings of a covariance."""
    plain = whitening_matrix(D).matrix
    return Whitenings(plain, whitening_matrix(D, ridge=ridge).matrix if ridge else plain)


def _excess(G: Array) -> float:
    """Return the factor that shrinks a whitened cross covariance to valid correlations."""
    h, r = G.shape
    joint = np.block([[np.eye(h), G], [G.T, np.eye(r)]])
    return shrink_to_psd(joint, blocks=[h, r]).weight


def _check_varying(moments: ViewMoments, view: int, names: Sequence[str]) -> None:
    mean = moments.mean(view)
    if np.trace(moments.covariance(view)) <= _CONSTANT * (mean @ mean):
        raise ValueError(f"view {names[view]!r} does not vary over its rows; leave it out")
