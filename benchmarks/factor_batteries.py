"""Factor analysis of 200,000 rows x (3 x 300), 200 factors: a whole fit, and second moments alone by BLAS.

The peer centres the rows and multiplies them with themselves in blocks, which every fit from moments must
do. Accuracy is the total variance both find. Details: log-likelihood per row, steps of the fit, and how many
of them reach what plain EM reaches in 300 steps.
"""

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

from benchmarks.harness import Result, compare
from isogloss.factor import MultiBatteryFA

ROWS, FEATURES, VIEWS, FACTORS = 200_000, 300, 3, 200
BLOCK, PLAIN_STEPS = 10_000, 300

Array = NDArray[np.float64]


def main() -> Result:
    """Compare them."""
    views = make_views()
    with threadpool_limits(limits=1):
        details = steps_beside_plain_em(MultiBatteryFA(FACTORS).fit(views))
    return compare(
        "factor_batteries",
        ours=lambda: MultiBatteryFA(FACTORS).fit(views),
        peer=lambda: moments(views),
        peer_name=f"numpy {np.__version__} moments",
        accuracy=total_variance,
        accuracy_of_peer=lambda S: float(np.trace(S)),
        repeats=2,
        details={"rows": ROWS, "features": [FEATURES] * VIEWS, "factors": FACTORS, **details},
    )


def moments(views: list[Array]) -> Any:
    """Covariance of all features, block by block."""
    mean = np.concatenate([x.mean(axis=0) for x in views])
    S = np.zeros((len(mean), len(mean)))
    for start in range(0, ROWS, BLOCK):
        block = np.hstack([x[start : start + BLOCK] for x in views]) - mean
        S += block.T @ block
    return S / ROWS


def total_variance(model: MultiBatteryFA) -> float:
    """Variance of all features in the rows a model has seen."""
    (pattern,) = model.moments_.patterns()
    assert pattern.product is not None
    return float(np.trace(pattern.product)) / pattern.n


def steps_beside_plain_em(model: MultiBatteryFA) -> dict[str, Any]:
    """Plain EM from the same start, and the step at which the fit was as likely."""
    plain = MultiBatteryFA(FACTORS, accelerate=False, tol=0.0, max_iter=PLAIN_STEPS)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        plain.fit_moments(model.moments_)
    reached = plain.trace_[-1].bound
    as_likely = next((line.index for line in model.trace_ if line.bound >= reached), None)
    return {
        "steps": model.n_iter_,
        "log_likelihood_per_row": model.log_likelihood_ / ROWS,
        "plain_steps": PLAIN_STEPS,
        "plain_log_likelihood_per_row": reached / ROWS,
        "steps_to_the_same_likelihood": as_likely,
    }


def make_views() -> list[Array]:
    """Views of factors of falling strength, with correlated noise."""
    rng = np.random.default_rng(0)
    strengths = np.linspace(2.0, 0.05, FACTORS)[:, np.newaxis] / np.sqrt(FACTORS)
    z = rng.standard_normal((ROWS, FACTORS), dtype=np.float32)
    return [_view(rng, z, strengths) for _ in range(VIEWS)]


def _view(rng: Any, z: NDArray[np.float32], strengths: Array) -> Array:
    W = (rng.standard_normal((FACTORS, FEATURES)) * strengths).astype(np.float32)
    mixing = rng.standard_normal((FEATURES, FEATURES), dtype=np.float32) / np.float32(np.sqrt(FEATURES))
    x = z @ W
    x += rng.standard_normal(x.shape, dtype=np.float32) @ mixing
    x += np.float32(0.1) * rng.standard_normal(x.shape, dtype=np.float32)
    return x.astype(np.float64)
