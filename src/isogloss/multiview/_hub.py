r"""Multi-view CCA through a hub: views that need only share rows with one of them.

.. math:: \max_{w_1 \dots w_m} \sum_{i=2}^m \rho(w_1^\top T_1^\top x_1,\; w_i^\top T_i^\top x_i)^2

with the bases :math:`T_i` from a truncated SVD of the covariances with the hub, view 1 (J. Rupnik,
*Multi-view canonical correlation analysis*, doctoral dissertation, section 6.8, equations 6.1-6.8). English
Wikipedia is the model of a hub: most articles in other languages have an English one, while two small
languages may have no article in common.
"""

from __future__ import annotations

import logging
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from isogloss._estimator import NON_NEGATIVE_INT, POSITIVE_INT, SHARE, Constraints
from isogloss.engine import ENGINE_CONSTRAINTS, BatchesMixin, Engine, Source
from isogloss.linalg import check_count, regularise
from isogloss.multiview._base import LinearMultiview, two_or_more
from isogloss.multiview.solvers import (
    HubOperator,
    Survey,
    check_bases,
    check_rank,
    check_rows,
    couple,
    hub_bases,
    merge_surveys,
    orthonormal_basis,
    projected_moments,
    sketch,
    solve_hub,
    spoke_coefficients,
    streamed_correlations,
    survey_views,
    whiten,
)
from isogloss.stats import Sketch, ViewMoments

Array = NDArray[np.float64]
logger = logging.getLogger(__name__)

# Less shrinkage than this is rounding and not worth a word.
_WORTH_SAYING = 1e-8


class HubCCA(BatchesMixin, LinearMultiview):
    """CCA of many views with missing rows, each view tied to the hub by the rows it shares with it.

    Step 1 reduces every view to the directions that covary with the hub, step 2 maximises the sum of
    squared correlations with the hub in the reduced space, an eigenproblem of size ``n_directions``.

    Parameters
    ----------
    n_components : int
        Dimensions of the common space.
    hub : int or str
        The view that the others share rows with, by position or name.
    n_directions : int or None
        Size of the reduction in step 1; ``max(2 * n_components, n_components + 10)`` by default. The
        thesis takes ``n_components`` itself, which leaves step 2 no choice of directions. A view of no
        more features than that is not reduced.
    ridge : float in [0, 1]
        The reduced views are whitened with ``(1 - ridge) D + ridge I``. Bases are orthonormal, so that
        it weighs coefficients of features, like the ridge of CCA.
    n_oversamples, n_iter : int
        Effort of the randomised SVD (:func:`~isogloss.linalg.randomized_svd`). It is exact, in one pass,
        when the features of the hub or those of all others are at most 500.
    random_state : int, RandomState or None
        Seed of the randomised SVD.
    n_jobs : int or None
        Threads over batches of rows; -1 for all cores. The result does not depend on it.
    batch_rows : int
        Rows per batch.
    engine : Engine, optional
        Where the sums run, for example :class:`~isogloss.engine.dask.DaskEngine`; threads by default.

    Attributes
    ----------
    hub_ : int
        Position of the hub.
    weights_ : list of array (features of the view x components)
        Directions. On the rows seen every projection has variance 1 (less with a ridge); projections of
        the hub are uncorrelated, those of the other views nearly so. Signs: the largest weight of each
        hub direction is positive, and the other views correlate positively with it.
    means_ : list of array
        Means of each view over all of its rows.
    correlations_ : array (components, views, views)
        Correlations of the projections of each pair of views over the rows that have both; zero where
        fewer than two rows have.
    eigenvalues_ : array (components,)
        What ``fit`` maximised: the sum over the other views of the squared correlations with the hub, as
        the covariances have them (with rows missing, not quite the squares of ``correlations_``).
    shrinkage_ : array (views,)
        How much the covariance of each view with the hub had to be scaled down, because it came from
        other rows than the variances did and implied correlations above 1. Above zero it is logged.
    counts_ : array (views, views)
        Rows that each pair of views shares.
    bases_ : list of array (features of the view x directions)
        Orthonormal bases of step 1.
    singular_values_ : array
        Singular values of step 1, empty when nothing was reduced.
    hub_covariance_ : array (directions, directions)
        Covariance of the reduced hub, which ``add_view`` needs.

    Notes
    -----
    Covariances are taken about the means of the rows shared (the thesis takes all rows of each view for
    the means), which is exact for rows missing at random and does not mix the difference between rows that
    have a view and rows that do not into the covariance.

    Passes over the data: ``2 * n_iter + 5``; 4 where the SVD is exact, 3 where nothing is reduced.
    Memory: m blocks of (features x (n_directions + n_oversamples)) doubles, and ``4 (m n_directions)^2``
    bytes for the moments of the reduced views. For a hundred languages fit the large ones and add the
    others with :meth:`add_view`.

    Step 1 looks at covariances, so a view whose features have a larger scale has more to say about the
    directions of the hub; scale features that do not come in one unit.

    Examples
    --------
    >>> import numpy as np
    >>> from isogloss.views import Views
    >>> rng = np.random.default_rng(0)
    >>> z = rng.standard_normal((600, 2))
    >>> en, de, sl = (z @ rng.standard_normal((2, 5)) + 0.1 * rng.standard_normal((600, 5)) for _ in range(3))
    >>> present = np.ones((600, 3), dtype=bool)
    >>> present[:300, 1] = present[300:, 2] = False  # German and Slovene share no row
    >>> views = Views({"en": en, "de": de, "sl": sl}, present=present)
    >>> model = HubCCA(2, hub="en").fit(views)
    >>> [f"{rho:.2f}" for rho in model.correlations_[:, 0, 1]]
    ['1.00', '0.99']
    >>> model.transform_view(sl[:3], "sl").shape
    (3, 2)
    """

    _parameter_constraints: ClassVar[Constraints] = {
        "n_components": [POSITIVE_INT],
        "hub": [NON_NEGATIVE_INT, str],
        "n_directions": [POSITIVE_INT, None],
        "ridge": [SHARE],
        "n_oversamples": [NON_NEGATIVE_INT],
        "n_iter": [NON_NEGATIVE_INT],
        "random_state": ["random_state"],
        **ENGINE_CONSTRAINTS,
    }

    hub_: int
    counts_: NDArray[np.int64]
    shrinkage_: Array
    correlations_: Array
    hub_covariance_: Array
    bases_: list[Array]

    def __init__(
        self,
        n_components: int = 2,
        *,
        hub: int | str = 0,
        n_directions: int | None = None,
        ridge: float = 0.0,
        n_oversamples: int = 10,
        n_iter: int = 4,
        random_state: Any = None,
        n_jobs: int | None = None,
        batch_rows: int = 65_536,
        engine: Engine | None = None,
    ) -> None:
        self.n_components = n_components
        self.hub = hub
        self.n_directions = n_directions
        self.ridge = ridge
        self.n_oversamples = n_oversamples
        self.n_iter = n_iter
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.batch_rows = batch_rows
        self.engine = engine

    def fit(self, views: Any, y: Any = None) -> Self:
        """Find the directions of all views.

        Parameters
        ----------
        views : Views, list or dict of matrices, or Source
            Rows of several views, any of which may be missing in any row; or a source whose batches are
            such rows.
        y : None
            Not used.
        """
        self._validate_params()
        engine, source = self._engine_and_source(views, two_or_more)
        seen = engine.map_reduce(survey_views, merge_surveys, source)
        hub = self._find_hub(seen)
        for view in range(len(seen.dims)):
            check_rows(seen, hub, view, self.n_components)
        bases, singular_values = hub_bases(
            HubOperator(engine, source, seen.dims, hub),
            self._directions(),
            n_oversamples=self.n_oversamples,
            n_iter=self.n_iter,
            random_state=self.random_state,
        )
        check_bases(bases, seen, hub)
        moments = engine.map_reduce(projected_moments, ViewMoments.merge, source, bases)
        solution = solve_hub(moments, hub, self.n_components, ridge=self.ridge, names=seen.names)
        weights = [basis @ a for basis, a in zip(bases, solution.coefficients, strict=True)]
        weights = [w * _signs(weights[hub]) for w in weights]
        correlations = streamed_correlations(engine, source, weights)
        self.view_names_, self.dims_, self.hub_ = seen.names, seen.dims, hub
        self.counts_, self.means_ = seen.counts, list(seen.means)
        self.bases_, self.singular_values_ = bases, singular_values
        self.hub_covariance_, self.shrinkage_ = moments.covariance(hub), solution.shrinkage
        self.weights_, self.eigenvalues_, self.correlations_ = weights, solution.eigenvalues, correlations
        for name, weight in zip(seen.names, solution.shrinkage, strict=True):
            _report(name, weight)
        return self

    def add_view(self, name: str, views: Any) -> Self:
        """Add a view by the rows it shares with the hub; nothing that was fitted changes.

        Its directions are those that 6.8 gives for fixed directions of the hub, so a new fit of all rows
        differs only as far as the new view moves the hub.

        Parameters
        ----------
        name : str
            Name of the new view.
        views : Views, list or dict of two matrices, or Source of such
            Rows of the hub and of the new view; under their names, or without names in this order.
        """
        check_is_fitted(self)
        if name in self.view_names_:
            raise ValueError(f"the model has a view {name!r} already; the views are {self.view_names_}")
        engine, source = self._engine_and_source(views, two_or_more)
        seen = self._in_order(engine.map_reduce(survey_views, merge_surveys, source), name)
        hub, new = (0, 1) if seen.names[0] == self.view_names_[self.hub_] else (1, 0)
        check_rows(seen, hub, new, self.n_components)
        bases = [self.bases_[self.hub_]] * 2
        bases[new] = self._new_basis(engine, source, seen, hub, new)
        check_bases(bases, seen, hub)
        moments = engine.map_reduce(projected_moments, ViewMoments.merge, source, bases)
        white = whiten(self.hub_covariance_, self.ridge)
        coupling = couple(white, moments, hub, new, ridge=self.ridge, names=seen.names)
        check_rank(coupling, self.n_components, (seen.names[new], seen.names[hub]))
        weights = [self.weights_[self.hub_]] * 2
        weights[new] = bases[new] @ spoke_coefficients(coupling, self._hub_directions(white.ridged))
        rho = streamed_correlations(engine, source, weights)[:, 0, 1]
        self._append(seen, hub, new, bases[new], weights[new], rho)
        self.shrinkage_ = np.append(self.shrinkage_, coupling.shrinkage)
        _report(name, coupling.shrinkage)
        return self

    def _hub_directions(self, K: Array) -> Array:
        """``Y_1``: the directions of the hub in whitened coordinates."""
        coefficients = self.bases_[self.hub_].T @ self.weights_[self.hub_]
        return np.asarray(K.T @ regularise(self.hub_covariance_, self.ridge) @ coefficients)

    def _append(self, seen: Survey, hub: int, new: int, basis: Array, weights: Array, rho: Array) -> None:
        """One more entry at the end of everything that has one per view."""
        self.view_names_, self.dims_ = (*self.view_names_, seen.names[new]), (*self.dims_, seen.dims[new])
        self.bases_, self.weights_ = [*self.bases_, basis], [*self.weights_, weights]
        self.means_ = [*self.means_, seen.means[new]]
        self.counts_ = np.pad(self.counts_, (0, 1))
        self.counts_[-1, self.hub_] = self.counts_[self.hub_, -1] = seen.counts[hub, new]
        self.counts_[-1, -1] = seen.counts[new, new]
        self.correlations_ = np.pad(self.correlations_, ((0, 0), (0, 1), (0, 1)))
        self.correlations_[:, -1, self.hub_] = self.correlations_[:, self.hub_, -1] = rho
        self.correlations_[:, -1, -1] = 1.0

    def _new_basis(self, engine: Engine, source: Source[Any], seen: Survey, hub: int, new: int) -> Array:
        """Basis of a new view: ``C_j1 U`` spans what its block of V would."""
        if seen.dims[new] <= self._directions():
            return np.eye(seen.dims[new])
        blocks, pairs = {hub: self.bases_[self.hub_]}, [(new, hub)]
        products = engine.map_reduce(sketch, Sketch.merge, source, seen.dims, blocks, pairs)
        return orthonormal_basis(products.covariance(new, hub))

    def _in_order(self, seen: Survey, name: str) -> Survey:
        """The survey with the names that the two views have in the model."""
        hub_name = self.view_names_[self.hub_]
        names = (hub_name, name) if seen.names == ("view0", "view1") else seen.names
        if sorted(names) != sorted((hub_name, name)):
            raise ValueError(f"rows of the views {names} given; expected {hub_name!r} (the hub) and {name!r}")
        width = seen.dims[names.index(hub_name)]
        if width != self.dims_[self.hub_]:
            raise ValueError(f"the hub {hub_name!r} has {width} features; fitted on {self.dims_[self.hub_]}")
        return Survey(names, seen.dims, seen.counts, seen.means)

    def _validate_params(self) -> None:
        super()._validate_params()
        if self.n_directions is not None and self.n_directions < self.n_components:
            raise ValueError(
                f"n_directions={self.n_directions}; expected at least n_components={self.n_components}"
            )

    def _directions(self) -> int:
        k = self.n_components
        return max(2 * k, k + 10) if self.n_directions is None else self.n_directions

    def _find_hub(self, seen: Survey) -> int:
        names, hub = seen.names, self.hub
        if len(names) < 2:
            raise ValueError(f"one view given ({names[0]!r}); expected the hub and at least one other")
        if isinstance(hub, str):
            if hub not in names:
                raise ValueError(f"hub={hub!r} is not among the views; they are {', '.join(names)}")
            return names.index(hub)
        return check_count(hub, "hub", 0, len(names) - 1, f"the position of a view among {', '.join(names)}")


def _signs(weights: Array) -> Array:
    """Signs that make the largest weight of every direction positive."""
    largest = np.abs(weights).argmax(axis=0)
    return np.where(weights[largest, np.arange(weights.shape[1])] < 0, -1.0, 1.0)


def _report(name: str, shrinkage: float) -> None:
    if shrinkage > _WORTH_SAYING:
        logger.warning(
            "view %r: its covariance with the hub comes from other rows than the variances and implied "
            "correlations above 1; it was scaled down by %.2g %%. A ridge or more common rows would help",
            name,
            100.0 * shrinkage,
        )
