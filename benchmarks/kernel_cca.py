"""Kernel CCA of two views, 1,000 rows, rbf kernels, 10 components: KernelCCA and cca-zoo's KCCA.

Both solve the same problem, kernel CCA with (1 - k) K^2 / (n - 1) + k K in the constraint
(``regularisation='exact'`` here). Accuracy is the sum of the correlations of projections of new rows.
Details: sums on the rows of the fit, and mvlearn's KMCCA, which leaves out small eigenvalues of the
kernels, in an environment of its own and timed by turns with ours (see benchmarks/_multiview.py).
"""

import tempfile
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks._multiview import Mvlearn, correlation_sum, split
from benchmarks.harness import Result, compare, need
from isogloss.multiview import KernelCCA

ROWS, NEW_ROWS, FEATURES, COMPONENTS = 1_000, 1_000, 20, 10
RIDGE, GAMMA = 0.1, 1 / FEATURES

Array = NDArray[np.float64]


def main() -> Result:
    """Compare them."""
    zoo = need("cca_zoo.nonparametric", package="cca-zoo")
    train, test = split(curved_views(ROWS + NEW_ROWS), ROWS)
    details: dict[str, Any] = {"rows": ROWS, "features": FEATURES, "components": COMPONENTS, "ridge": RIDGE}

    def ours() -> KernelCCA:
        return KernelCCA(COMPONENTS, kernel="rbf", gamma=GAMMA, ridge=RIDGE, regularisation="exact").fit(
            train
        )

    def peer() -> Any:
        return zoo.KCCA(COMPONENTS, kernel="rbf", gamma=GAMMA, shrinkage=RIDGE).fit(train)

    def judge(side: str) -> Any:
        def held_out(fitted: Any) -> float:
            details[f"train_{side}"] = correlation_sum(list(fitted.transform(train)))
            return correlation_sum(list(fitted.transform(test)))

        return held_out

    with tempfile.TemporaryDirectory() as folder, Mvlearn(Path(folder), train, test) as mvlearn:
        details["mvlearn"] = mvlearn.by_turns(
            ours,
            3,
            "KMCCA",
            n_components=COMPONENTS,
            kernel="rbf",
            kernel_params={"gamma": GAMMA},
            regs=RIDGE * (ROWS - 1) / (1 - RIDGE + RIDGE * (ROWS - 1)),
        )
    return compare(
        "kernel_cca",
        ours=ours,
        peer=peer,
        peer_name=f"cca-zoo {version('cca-zoo')} KCCA",
        accuracy=judge("ours"),
        accuracy_of_peer=judge("peer"),
        repeats=3,
        details=details,
    )


def curved_views(rows: int, seed: int = 0) -> list[Array]:
    """Two views that bend the same few factors in ways of their own, in noise."""
    rng = np.random.default_rng(seed)
    z = rng.standard_normal((rows, 3))
    bent = [np.hstack([z, z**2 - 1]), np.hstack([np.sin(2 * z), np.abs(z)])]
    return [
        x @ rng.standard_normal((6, FEATURES)) / np.sqrt(6) + 0.3 * rng.standard_normal((rows, FEATURES))
        for x in bent
    ]
