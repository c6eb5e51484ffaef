"""Factor analysis of one table, 200,000 x 300, 100 factors: views of one column each, and scikit-learn's.

Ours runs to its tolerance; scikit-learn gets 5 iterations, after which it is not as likely yet. Accuracy is
the log-likelihood per row. Details: how many iterations scikit-learn needs to be as likely (300 stands for
that many or more; found on 600 rows that have the same covariance), what they would cost, and our time on the
table as one view with ``noise='diag'``.
"""

import warnings
from typing import Any

import numpy as np
import sklearn
from numpy.typing import NDArray
from sklearn.decomposition import FactorAnalysis
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

from benchmarks.harness import Result, compare, measure_seconds
from isogloss.factor import MultiBatteryFA

ROWS, FEATURES, FACTORS, THEIR_STEPS = 200_000, 300, 100, 5

Array = NDArray[np.float64]


def main() -> Result:
    """Compare them."""
    x = make_rows()
    columns = [x[:, [j]] for j in range(FEATURES)]
    details: dict[str, Any] = {"rows": ROWS, "features": FEATURES, "factors": FACTORS}
    with threadpool_limits(limits=1):
        details["one_view_cpu"], _ = measure_seconds(lambda: MultiBatteryFA(FACTORS, noise="diag").fit([x]))
        mine = MultiBatteryFA(FACTORS).fit(columns)
        details["steps"], details["their_steps_at_least"] = (
            mine.n_iter_,
            steps_to(x, mine.log_likelihood_ / ROWS),
        )
    result = compare(
        "factor_analysis",
        ours=lambda: MultiBatteryFA(FACTORS).fit(columns),
        peer=lambda: theirs(x, THEIR_STEPS),
        peer_name=f"scikit-learn {sklearn.__version__}, {THEIR_STEPS} iterations",
        accuracy=lambda model: model.log_likelihood_ / ROWS,
        accuracy_of_peer=lambda model: model.loglike_[-1] / ROWS,
        repeats=1,
        details=details,
    )
    per_step = result.peer.cpu_seconds / THEIR_STEPS
    details["their_cpu_per_step"] = per_step
    details["times_faster_at_least"] = details["their_steps_at_least"] * per_step / result.ours.cpu_seconds
    return result


def steps_to(x: Array, log_likelihood: float) -> int:
    """Iterations that scikit-learn needs to be as likely, on few rows with the covariance of all."""
    root = np.linalg.cholesky(np.cov(x.T, ddof=0)).T * np.sqrt(FEATURES)
    trace = np.array(theirs(np.vstack([root, -root]), 300).loglike_) / (2 * FEATURES)
    reached = np.flatnonzero(trace >= log_likelihood)
    return int(reached[0]) + 1 if len(reached) else len(trace)


def theirs(x: Array, steps: int) -> Any:
    """scikit-learn's, for a fixed number of iterations."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return FactorAnalysis(FACTORS, tol=0.0, max_iter=steps, svd_method="lapack").fit(x)


def make_rows() -> Array:
    """Rows of factors of falling strength, with noise of different sizes."""
    rng = np.random.default_rng(0)
    W = rng.standard_normal((FACTORS, FEATURES)) * np.linspace(2.0, 0.3, FACTORS)[:, np.newaxis]
    x = rng.standard_normal((ROWS, FACTORS)) @ (W / np.sqrt(FACTORS))
    x += rng.standard_normal((ROWS, FEATURES)) * rng.uniform(0.5, 1.5, FEATURES)
    return x
