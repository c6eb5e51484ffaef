"""Second moments of 3 dense views, 20,000 rows x (3 x 300) features: ViewMoments and numpy.cov.

Both give the covariance of all views together. Accuracy is the largest relative error of a corner of
it (30 features of each view) against the same sums in extended precision.
"""

import numpy as np
from numpy.typing import NDArray

from benchmarks.harness import Result, compare
from isogloss.stats import ViewMoments

ROWS, FEATURES, VIEWS, CHECKED = 20_000, 300, 3, 30

Array = NDArray[np.float64]


def main() -> Result:
    """Compare them."""
    views = make_views()
    stacked = np.hstack(views)
    checked = np.concatenate([v * FEATURES + np.arange(CHECKED) for v in range(VIEWS)])
    exact = extended_covariance(stacked[:, checked])

    def ours() -> Array:
        return ViewMoments([FEATURES] * VIEWS).update(views).joint_covariance()

    def peer() -> Array:
        return np.cov(stacked, rowvar=False)

    def error(covariance: Array) -> float:
        return relative_difference(covariance[np.ix_(checked, checked)], exact)

    return compare(
        "moments",
        ours=ours,
        peer=peer,
        peer_name=f"numpy.cov {np.__version__}",
        accuracy=error,
        details={
            "rows": ROWS,
            "features": [FEATURES] * VIEWS,
            "difference": relative_difference(ours(), peer()),
        },
    )


def make_views() -> list[Array]:
    """Views that share a signal, with means far from zero."""
    rng = np.random.default_rng(0)
    signal = rng.standard_normal((ROWS, 10))
    return [
        signal @ rng.standard_normal((10, FEATURES)) + rng.standard_normal((ROWS, FEATURES)) + 10 * (v + 1)
        for v in range(VIEWS)
    ]


def extended_covariance(x: Array) -> Array:
    """Covariance in extended precision, rounded at the end."""
    centred = x.astype(np.longdouble)
    centred -= centred.mean(axis=0)
    return (centred.T @ centred / (len(x) - 1)).astype(np.float64)


def relative_difference(a: Array, b: Array) -> float:
    """Largest difference, relative to the largest entry of ``b``."""
    return float(np.abs(a - b).max() / np.abs(b).max())
