"""Data and starts shared by the mixture benchmarks."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.harness import Result, compare
from isogloss.em import FullExpectation
from isogloss.engine import LocalEngine, Rows
from isogloss.mixture import MixtureParameters, mixture_model, summarise

ROWS, FEATURES, COMPONENTS, STEPS = 200_000, 20, 32, 5

Array = NDArray[np.float64]


def make_rows(spread: float, *, rows: int = ROWS, seed: int = 0) -> tuple[Array, Array]:
    """Rows of a mixture with correlated noise, and a start: rows drawn from it."""
    rng = np.random.default_rng(seed)
    centres = spread * rng.standard_normal((COMPONENTS, FEATURES))
    mixing = np.eye(FEATURES) + 0.2 * rng.standard_normal((FEATURES, FEATURES))
    x = centres[rng.integers(COMPONENTS, size=rows)] + rng.standard_normal((rows, FEATURES)) @ mixing
    return x, x[rng.choice(rows, COMPONENTS, replace=False)]


def against_scikit_learn(name: str, covariance_type: str) -> Result:
    """Five EM steps from the same start: one fit's cost per iteration, without its start-up."""
    import sklearn
    from sklearn.mixture import GaussianMixture as Peer

    x, means = make_rows(2.0)
    covariances = {
        "full": np.tile(np.eye(FEATURES), (COMPONENTS, 1, 1)),
        "diag": np.ones((COMPONENTS, FEATURES)),
    }[covariance_type]
    weights = np.full(COMPONENTS, 1.0 / COMPONENTS)
    origin = summarise(Rows(x), LocalEngine(), seed=0).means

    def ours() -> Array:
        model = mixture_model(covariance_type, floor=1e-9)
        expectation = FullExpectation(model, Rows(x), LocalEngine())
        p = MixtureParameters(weights, means, covariances, origin, means)
        return np.array(list(_our_steps(model, expectation, p)))

    def peer() -> Array:
        fitted = Peer(COMPONENTS, covariance_type=covariance_type, reg_covar=1e-9)
        fitted.weights_, fitted.means_ = weights, means
        fitted.precisions_cholesky_ = covariances
        return np.array(list(_their_steps(fitted, x)))

    traces = ours(), peer()
    result = compare(
        name,
        ours=ours,
        peer=peer,
        peer_name=f"scikit-learn {sklearn.__version__}",
        accuracy=lambda trace: trace[-1],
        repeats=3,
        details={
            "rows": ROWS,
            "features": FEATURES,
            "components": COMPONENTS,
            "em_steps": STEPS,
            "largest_difference_of_likelihood": float(np.abs(traces[0] / traces[1] - 1).max()),
        },
    )
    memory = (result.ours.peak_mb or 0.0) / (result.peer.peak_mb or np.nan)
    result.details["memory_ratio"] = round(memory, 3)
    return result


def _our_steps(model: Any, expectation: Any, p: MixtureParameters) -> Any:
    for _ in range(STEPS):
        statistic = expectation(p)
        yield statistic.log_likelihood / statistic.rows
        p = model.solve(statistic, p)


def _their_steps(fitted: Any, x: Array) -> Any:
    for _ in range(STEPS):
        likelihood, log_posterior = fitted._e_step(x)
        yield likelihood
        fitted._m_step(x, log_posterior)
