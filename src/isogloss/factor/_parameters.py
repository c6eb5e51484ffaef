r"""The parameters of battery factor analysis, and what follows from them alone.

.. math:: x_v = \mu_v + W_v z + \epsilon_v, \qquad z \sim N(0, I_k), \quad \epsilon_v \sim N(0, \Psi_v)

so that, stacked over views, :math:`x \sim N(\mu, W W^\top + \Psi)`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from isogloss.factor._noise import Noise, Precision, noise_of
from isogloss.factor._units import Units

Array = NDArray[np.float64]


@dataclasses.dataclass(frozen=True, eq=False)
class FactorParameters:
    """Means, loadings and noise of all views, stacked.

    Attributes
    ----------
    mean : array (D,)
        Means of all features.
    W : array (D, k)
        Loadings.
    noise : array
        Flat; ``noises`` gives a matrix per view.
    kind : {'full', 'diag', 'isotropic'}
        What the noise is.
    dims : tuple of int
        Features of each view.
    """

    mean: Array
    W: Array
    noise: Array
    kind: str
    dims: tuple[int, ...]

    @property
    def n_components(self) -> int:
        """Number of factors."""
        return int(self.W.shape[1])

    @property
    def shape(self) -> Noise:
        """The layout of the noise."""
        return noise_of(self.kind, self.dims)

    @property
    def means(self) -> list[Array]:
        """The mean of each view."""
        return np.split(self.mean, np.cumsum(self.dims)[:-1])

    @property
    def loadings(self) -> list[Array]:
        """The loadings of each view."""
        return np.split(self.W, np.cumsum(self.dims)[:-1])

    @property
    def noises(self) -> list[Array]:
        """The noise covariance of each view."""
        return self.shape.matrices(self.noise, self.dims)

    @cached_property
    def precision(self) -> Precision:
        """The inverse of the noise."""
        return self.shape.precision(self.noise, self.dims)

    @cached_property
    def weights(self) -> Array:
        """The weights ``Psi^-1 W``."""
        return self.precision.solve(self.W)

    @cached_property
    def grams(self) -> Array:
        """``W_v' Psi_v^-1 W_v`` per view: what a view adds to the precision of the factors."""
        pairs = zip(self.loadings, np.split(self.weights, np.cumsum(self.dims)[:-1]), strict=True)
        return np.stack([w.T @ a for w, a in pairs])

    def moved(self, units: Units) -> FactorParameters:
        """The parameters of ``origin + T y`` where these are those of ``y``."""
        return dataclasses.replace(
            self,
            mean=units.origin + units.times(self.mean),
            W=units.times(self.W),
            noise=self.shape.moved(self.noise, units, self.dims),
        )

    def covariance(self, views: Sequence[int] | None = None) -> Array:
        """The covariance of the given views together; of all by default."""
        chosen = range(len(self.dims)) if views is None else views
        columns, cuts = columns_of(self.dims, chosen), block_slices([self.dims[v] for v in chosen])
        W, noises = self.W[columns], self.noises
        Sigma = W @ W.T
        for v, cut in zip(chosen, cuts, strict=True):
            Sigma[cut, cut] += noises[v]
        return np.asarray(Sigma)


def block_slices(dims: Sequence[int]) -> list[slice]:
    """Return the slice of each view's features in a stack."""
    ends = np.cumsum(dims).tolist()
    return [slice(end - d, end) for d, end in zip(dims, ends, strict=True)]


def columns_of(dims: Sequence[int], views: Sequence[int]) -> slice | NDArray[np.int64]:
    """The features of the given views in a stack of all: everything as a slice, for speed."""
    if len(views) == len(dims):
        return slice(None)
    cuts = block_slices(dims)
    return np.concatenate([np.arange(cuts[v].start, cuts[v].stop) for v in views])
