"""The base of estimators that are fitted by EM: it calls the loop and keeps its result."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeVar

from sklearn.exceptions import ConvergenceWarning

from isogloss._estimator import NON_NEGATIVE, NON_NEGATIVE_INT, Constraints, StrOptions, warn_caller
from isogloss.em._expectation import Expectation
from isogloss.em._loop import Callback, EMResult, Iteration, OnDecrease, run_em
from isogloss.em._model import EMModel
from isogloss.engine import EngineMixin

P = TypeVar("P")

EM_CONSTRAINTS: Constraints = {
    "tol": [NON_NEGATIVE],
    "max_iter": [NON_NEGATIVE_INT],
    "accelerate": ["boolean"],
    "on_decrease": [StrOptions({"raise", "warn", "revert"})],
}


class EMMixin(EngineMixin):
    """An estimator whose parameters EM finds.

    Attributes
    ----------
    trace_ : tuple of Iteration
        What each E-step found.
    converged_ : bool
        Whether the tolerance was reached.
    n_iter_ : int
        Steps taken from the best start.
    """

    tol: float
    max_iter: int
    accelerate: bool = False
    on_decrease: OnDecrease = "raise"

    trace_: tuple[Iteration, ...]
    converged_: bool
    n_iter_: int

    def _run_em(
        self,
        model: EMModel[P],
        expectation: Expectation[P],
        start: P,
        callbacks: Iterable[Callback] = (),
    ) -> EMResult[P]:
        return run_em(
            model,
            expectation,
            start,
            tol=self.tol,
            max_iter=self.max_iter,
            on_decrease=self.on_decrease,
            accelerate=self.accelerate,
            callbacks=callbacks,
        )

    def _keep_trace(self, result: EMResult[Any]) -> None:
        """Keep how EM went; warn when it ended before the tolerance was reached."""
        self.trace_, self.converged_, self.n_iter_ = tuple(result.trace), result.converged, result.n_iter
        if not (result.converged or result.stopped) and self.max_iter:
            warn_caller(
                f"EM of {type(self).__name__} did not reach tol={self.tol:g} in {self.n_iter_} steps; "
                "raise max_iter or tol",
                ConvergenceWarning,
            )
