r"""Inter-battery factor analysis: two views, whose most likely parameters are those of CCA.

With canonical directions and correlations :math:`\rho`, :math:`W_v = S_{vv} U_v \rho^{1/2}` and
:math:`\Psi_v = S_{vv} - W_v W_v^\top` (M. W. Browne, *The maximum-likelihood solution in inter-battery factor
analysis*, 1979).
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from isogloss._estimator import Constraints, StrOptions
from isogloss.em import Callback, OnDecrease
from isogloss.engine import Engine
from isogloss.factor._battery import MultiBatteryFA
from isogloss.factor._data import FactorData
from isogloss.factor._start import canonical_solution
from isogloss.stats import PatternMoments

Array = NDArray[np.float64]


class InterBatteryFA(MultiBatteryFA):
    r"""Factor analysis of two views: in closed form through CCA, or by EM where rows lack a view.

    Parameters
    ----------
    n_components : int
        k, the number of factors; at most the features of the narrower view (full noise).
    solver : {'auto', 'closed', 'em'}
        'closed' needs complete rows and full noise; 'auto' takes it where it can.
    noise, noise_floor, ridge, init, accelerate, tol, max_iter, on_decrease, keep_moments
        As in :class:`MultiBatteryFA`.
    random_state, n_jobs, batch_rows, engine
        As in :class:`MultiBatteryFA`.

    Attributes
    ----------
    correlations_ : array
        Canonical correlations of the two views, after the closed form only.
    parameters_, moments_, log_likelihood_, trace_, n_iter_, converged_, n_rows_, dims_, view_names_
        As in :class:`MultiBatteryFA`; the trace of the closed form is empty.

    Notes
    -----
    The posterior means given one view are its canonical variates times :math:`\sqrt\rho`.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> z = rng.normal(size=(500, 1))
    >>> x, y = (z + rng.normal(size=(500, d)) for d in (3, 4))
    >>> model = InterBatteryFA(n_components=1).fit([x, y])
    >>> model.correlations_.round(1)
    array([0.8, 0.1, 0.1])
    >>> predicted = model.predict([x, None], view=1)
    >>> predicted.mean.shape, predicted.covariances.shape
    ((500, 4), (1, 4, 4))
    """

    _parameter_constraints: ClassVar[Constraints] = {
        **MultiBatteryFA._parameter_constraints,
        "solver": [StrOptions({"auto", "closed", "em"})],
    }

    correlations_: Array

    def __init__(
        self,
        n_components: int = 2,
        *,
        solver: str = "auto",
        noise: str = "full",
        noise_floor: float = 1e-3,
        ridge: float = 0.0,
        init: str = "maxvar",
        accelerate: bool = True,
        tol: float = 1e-4,
        max_iter: int = 1000,
        on_decrease: OnDecrease = "revert",
        keep_moments: bool = True,
        random_state: Any = None,
        n_jobs: int | None = None,
        batch_rows: int = 65_536,
        engine: Engine | None = None,
    ) -> None:
        super().__init__(
            n_components,
            noise=noise,
            noise_floor=noise_floor,
            ridge=ridge,
            init=init,
            accelerate=accelerate,
            tol=tol,
            max_iter=max_iter,
            on_decrease=on_decrease,
            keep_moments=keep_moments,
            random_state=random_state,
            n_jobs=n_jobs,
            batch_rows=batch_rows,
            engine=engine,
        )
        self.solver = solver

    def _solve(self, data: FactorData, callbacks: tuple[Callback, ...]) -> None:
        self.__dict__.pop("correlations_", None)
        possible = data.complete and self.noise == "full"
        if self.solver == "closed" and not possible:
            raise ValueError(
                f"the closed form needs rows with both views and noise='full'; here noise={self.noise!r} and "
                f"{data.n_rows - int(data.rows.min())} rows lack a view: use solver='em'"
            )
        if self.solver == "em" or not possible:
            super()._solve(data, callbacks)
            return
        found, self.correlations_ = canonical_solution(data, self.n_components, self.noise_floor)
        self.parameters_ = found.moved(data.units)
        self.trace_, self.n_iter_, self.converged_ = (), 0, True

    def _check_moments(self, moments: PatternMoments, names: tuple[str, ...]) -> None:
        if len(names) != 2:
            raise ValueError(f"{len(names)} views given; InterBatteryFA is for two: use MultiBatteryFA")
        super()._check_moments(moments, names)
