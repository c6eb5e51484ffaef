r"""Optimal weighting of three views of a hidden state.

With a hidden state :math:`h` of dimension k and views that are independent given it,
:math:`x_i = M_i h + \epsilon_i`, the best linear predictor of anything that depends on :math:`h` needs only
k combinations :math:`U_1^\top x` of the stacked, reduced views :math:`x = (x_1; x_2; x_3)`. They are found
through their complement, the combinations that know nothing of :math:`h`:

.. math:: \operatorname{span} R = \{a : \operatorname{Cov}(a^\top x, h) = 0\}, \qquad
          R = \begin{pmatrix} 0 & R_{2a} \\ R_{1a} & R_{2b} \\ R_{1b} & 0 \end{pmatrix}, \qquad
          U_1 = Q^{-1} (Q R)^\perp, \quad Q = \Sigma^{1/2}

:math:`(R_{1a}; R_{1b})` being the directions of :math:`(x_2; x_3)` that do not correlate with
:math:`x_1`, and :math:`(R_{2a}; R_{2b})` those of :math:`(x_1; x_2)` that do not correlate with :math:`x_3`
(Y. Lu and D. P. Foster, *Optimal weighting of multi-view data with low dimensional hidden states*,
section 3; its equation 8, as printed, has the blocks in the wrong places).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import block_diag

from isogloss._estimator import POSITIVE_INT, SHARE, Constraints
from isogloss.engine import ENGINE_CONSTRAINTS, BatchesMixin, Engine
from isogloss.linalg import whitening_matrix
from isogloss.multiview._base import Multiview, two_or_more, view_correlations
from isogloss.multiview.solvers import Survey, merge_surveys, reduce_parts, survey_views, three_view_subspace
from isogloss.stats import ViewMoments
from isogloss.views import Matrix, Views, check_views

Array = NDArray[np.float64]

# Variance below this part of the squared mean is what centring a constant leaves.
_CONSTANT = 1e-20


class OptimalWeighting(BatchesMixin, Multiview):
    """The k features of three or more views that predict as well as all of their features.

    Every view (or group of views) is reduced to k features by CCA with the others; the three reduced
    views are then weighted against each other. No labels are needed: the less noisy a view is, the more
    weight it gets.

    Parameters
    ----------
    n_components : int
        k, the dimension of the hidden state.
    groups : sequence of three sequences of int or str, optional
        How more than three views are put into three parts, by position or name; every view once. By
        default view i goes to part i modulo 3.
    symmetric : bool
        The paper does two of the three possible CCAs of one part against the other two, so its answer
        depends on which part is in the middle. With True all three are done and the k combinations least
        correlated with what they give are taken: the order does not matter, and the loss is lower, above
        all for loadings that are far from orthogonal (with Gaussian ones, k = 10 and 50,000 rows, 3 %
        above that of all features on average instead of 8 %).
    ridge : float in [0, 1]
        The parts are whitened with ``(1 - ridge) C + ridge I`` before their CCA.
    n_jobs : int or None
        Threads over batches of rows; -1 for all cores. The result does not depend on it.
    batch_rows : int
        Rows per batch.
    engine : Engine, optional
        Where the sums run, for example :class:`~isogloss.engine.dask.DaskEngine`; threads by default.

    Attributes
    ----------
    weights_ : list of array (features of the view x features out)
        The features are the sum over the views of ``(x - mean) @ weights``.
    means_ : list of array
        Means of the views.
    shares_ : array (views, features out)
        Share of the variance of each feature that comes through each view; they sum to 1.
    regressions_ : list of array (features of the view x features out)
        Coefficients of the best linear estimate of the features from one view alone.
    groups_ : list of list of int
        The three parts (two for two views).

    Notes
    -----
    Features are uncorrelated, have variance 1 on the rows seen, and are ordered by the agreement of the
    parts: the variance of a feature over what it would be if the parts were uncorrelated. The largest
    weight of each is positive.

    Two views cannot tell which of them is less noisy (example 1 of the paper). For them the features are
    the k canonical variates of the first and the k of the second (section 2.2), 2k in all.

    Every row must have every view. Where views are missing use :class:`~isogloss.multiview.HubCCA`,
    or fit on the rows that have all.

    Two passes over the data; memory about ``4 p^2`` bytes for p features in all, so reduce views of more
    than some 5,000 features first.

    The published algorithm divides by covariances between views. With loadings :math:`M_i` that are far
    from orthogonal this costs accuracy: with Gaussian ones at 50,000 rows the loss can be twice that of
    all features and more.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> h = rng.standard_normal((20_000, 1))
    >>> views = [h + noise * rng.standard_normal((20_000, 1)) for noise in (2.0, 0.5, 0.2)]
    >>> model = OptimalWeighting(1).fit(views)
    >>> model.shares_[:, 0].round(2)
    array([0.01, 0.14, 0.85])
    >>> model.transform(views).shape
    (20000, 1)
    """

    _parameter_constraints: ClassVar[Constraints] = {
        "n_components": [POSITIVE_INT],
        "groups": [list, tuple, None],
        "symmetric": ["boolean"],
        "ridge": [SHARE],
        **ENGINE_CONSTRAINTS,
    }

    weights_: list[Array]
    means_: list[Array]
    regressions_: list[Array]

    def __init__(
        self,
        n_components: int = 2,
        *,
        groups: Sequence[Sequence[int | str]] | None = None,
        symmetric: bool = False,
        ridge: float = 0.0,
        n_jobs: int | None = None,
        batch_rows: int = 65_536,
        engine: Engine | None = None,
    ) -> None:
        self.n_components = n_components
        self.groups = groups
        self.symmetric = symmetric
        self.ridge = ridge
        self.n_jobs = n_jobs
        self.batch_rows = batch_rows
        self.engine = engine

    def fit(self, views: Any, y: Any = None) -> Self:
        """Find the weights.

        Parameters
        ----------
        views : Views, list or dict of matrices, or Source
            At least two views, complete; or a source whose batches are such rows.
        y : None
            Not used.
        """
        self._validate_params()
        engine, source = self._engine_and_source(views, two_or_more)
        seen = engine.map_reduce(survey_views, merge_surveys, source)
        _check_complete(seen)
        groups = _check_groups(self.groups, seen.names)
        moments = engine.map_reduce(_moments, ViewMoments.merge, source)
        _check_varying(moments, seen.names)
        Sigma = moments.joint_covariance()
        W = self._weigh(Sigma, seen, groups)
        cuts = np.cumsum(seen.dims)[:-1]
        self.view_names_, self.dims_, self.groups_ = seen.names, seen.dims, groups
        self.means_, self.weights_ = list(seen.means), np.split(W, cuts)
        covariances = np.split(Sigma @ W, cuts)
        shares = np.array([(w * c).sum(axis=0) for w, c in zip(self.weights_, covariances, strict=True)])
        self.shares_ = shares / shares.sum(axis=0)
        self.regressions_ = [
            _regress(moments.covariance(v), c, self.ridge) for v, c in enumerate(covariances)
        ]
        return self

    def transform(self, views: Any) -> Array:  # type: ignore[override]
        """The features of complete rows: an array (n, k), or (n, 2k) for two views."""
        views = self._check_seen(views)
        if not views.complete:
            _refuse_incomplete(int((~views.present.all(axis=1)).sum()))
        projected = [np.asarray(x @ w) for x, w in zip(views.arrays, self.weights_, strict=True)]
        shift = sum(mean @ w for mean, w in zip(self.means_, self.weights_, strict=True))
        return np.asarray(np.sum(projected, axis=0) - shift, dtype=np.float64)

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """Names of the features, such as ``optimalweighting0``."""
        return np.array(self._component_names(), dtype=object)

    def transform_view(self, X: Any, view: int | str) -> Array:
        """The best linear estimate of the features from one view alone."""
        return super().transform_view(X, view)

    def score(self, views: Any, y: Any = None) -> float:
        """Sum over features and pairs of views of the correlations of the estimates from one view each."""
        views = self._check_seen(views)
        estimates = [self._project(x, v) for v, x in enumerate(views.arrays)]
        correlations = view_correlations(Views(estimates, present=views.present))
        return float(sum(correlations[:, i, j].sum() for i, j in combinations(range(views.n_views), 2)))

    def _project(self, X: Matrix, view: int) -> Array:
        coefficients = self.regressions_[view]
        return np.asarray(X @ coefficients, dtype=np.float64) - self.means_[view] @ coefficients

    def _weigh(self, Sigma: Array, seen: Survey, groups: list[list[int]]) -> Array:
        """Weights of all features, in the order of the views."""
        starts = np.cumsum((0, *seen.dims))
        parts = [np.concatenate([np.arange(starts[v], starts[v + 1]) for v in group]) for group in groups]
        order = np.concatenate(parts)
        Sigma = Sigma[np.ix_(order, order)]
        names = ["view " + " + ".join(repr(seen.names[v]) for v in group) for group in groups]
        k, sizes = self.n_components, [len(part) for part in parts]
        T = block_diag(*reduce_parts(Sigma, sizes, k, ridge=self.ridge, names=names))
        W = T
        if len(groups) > 2:
            W = T @ three_view_subspace(T.T @ Sigma @ T, k, symmetric=self.symmetric)
        signs = np.sign(W[np.abs(W).argmax(axis=0), np.arange(W.shape[1])])
        if len(groups) == 2:  # canonical variates come in pairs, which correlate positively
            signs[k:] = signs[:k] * np.sign(np.diag((T.T @ Sigma @ T)[:k, k:]))
        return np.asarray((W * signs)[np.argsort(order)])


def _moments(batch: Any) -> ViewMoments:
    views = check_views(batch, min_rows=0)
    return ViewMoments(views.dims).update(views)


def _regress(covariance: Array, cross: Array, ridge: float) -> Array:
    K = whitening_matrix(covariance, ridge=ridge).matrix
    return np.asarray(K @ (K.T @ cross))


def _check_complete(seen: Survey) -> None:
    if len(seen.names) < 2:
        raise ValueError(f"one view given ({seen.names[0]!r}); expected three or more, or at least two")
    if (seen.counts != seen.counts.max()).any():
        _refuse_incomplete(int(seen.counts.max() - seen.counts.min()))


def _refuse_incomplete(rows: int) -> None:
    raise ValueError(
        f"at least {rows} rows lack a view; OptimalWeighting needs complete rows: take "
        "views[views.present.all(axis=1)], or use HubCCA, which takes missing views"
    )


def _check_varying(moments: ViewMoments, names: Sequence[str]) -> None:
    for v, name in enumerate(names):
        if np.trace(moments.covariance(v)) <= _CONSTANT * (moments.mean(v) @ moments.mean(v)):
            raise ValueError(f"view {name!r} does not vary over its rows; leave it out")


def _check_groups(groups: Sequence[Sequence[int | str]] | None, names: tuple[str, ...]) -> list[list[int]]:
    """Positions of the views in each part."""
    if groups is None:
        n_parts = min(3, len(names))
        return [list(range(g, len(names), n_parts)) for g in range(n_parts)]
    out = [[names.index(v) if isinstance(v, str) and v in names else v for v in group] for group in groups]
    flat = [v for group in out for v in group]
    if len(out) != 3 or not all(out) or sorted(map(str, flat)) != sorted(map(str, range(len(names)))):
        raise ValueError(
            f"groups={groups!r}; expected three parts that hold each of the views {', '.join(names)} once"
        )
    return [[int(v) for v in group] for group in out]
