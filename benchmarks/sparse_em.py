"""Sparse EM and dense EM, both ours, from one start: components apart, touching, and on top of each other.

The headline is the case of separated components; the details hold the others, where sparse EM must
notice that it does not pay and stay out of the way. Accuracy is the bound per row at the end.
"""

import warnings
from functools import cache
from typing import Any

from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

from benchmarks._mixture import COMPONENTS, Array, make_rows
from benchmarks.harness import Result, compare, measure_seconds
from isogloss.mixture import GaussianMixture

STEPS = 40
SPREADS = {"apart": 4.0, "touching": 1.2, "mixed": 0.3}


def main() -> Result:
    """Compare them."""
    warnings.simplefilter("ignore", ConvergenceWarning)
    details: dict[str, Any] = {"steps": STEPS}
    for name, spread in SPREADS.items():
        for covariance_type in ("full", "diag"):
            details[f"{name} {covariance_type}"] = _both(spread, covariance_type)
    return compare(
        "sparse_em",
        ours=lambda: _fit("sparse", SPREADS["apart"], "full"),
        peer=lambda: _fit("em", SPREADS["apart"], "full"),
        peer_name="dense EM",
        accuracy=lambda mixture: mixture.lower_bound_,
        repeats=2,
        details=details,
    )


def _fit(algorithm: str, spread: float, covariance_type: str) -> GaussianMixture:
    """A fixed number of steps, so that both do the same amount of EM."""
    mixture = GaussianMixture(
        COMPONENTS,
        covariance_type=covariance_type,
        algorithm=algorithm,
        tol=-1.0,
        max_iter=STEPS,
        init_params="k-means++",
        random_state=0,
    )
    return mixture.fit(_rows(spread))


@cache
def _rows(spread: float) -> Array:
    return make_rows(spread, rows=100_000)[0]


def _both(spread: float, covariance_type: str) -> dict[str, Any]:
    fits: dict[str, GaussianMixture] = {}
    seconds: dict[str, float] = {}
    with threadpool_limits(limits=1):
        for algorithm in ("sparse", "em"):

            def run(algorithm: str = algorithm) -> None:
                fits[algorithm] = _fit(algorithm, spread, covariance_type)

            seconds[algorithm] = min(measure_seconds(run)[0] for _ in range(2))
    kinds = [line.kind for line in fits["sparse"].trace_]
    return {
        "time_ratio": round(seconds["sparse"] / seconds["em"], 3),
        "bound_sparse": fits["sparse"].lower_bound_,
        "bound_dense": fits["em"].lower_bound_,
        "sparse_steps": kinds.count("sparse"),
    }
