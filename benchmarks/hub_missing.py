"""Hub CCA with 60 % of the rows of each other view missing: all the rows there are, and complete rows alone.

HubCCA twice, so the comparison is of what it can use. Accuracy is the sum, over pairs of views and
components, of the correlations of projections of new, complete rows, averaged over the seeds. Details: the
same with no row missing, for every seed, and what either loses of it.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from benchmarks._multiview import correlation_sum, split, unequal_views
from benchmarks.harness import Result, compare
from isogloss.multiview import HubCCA
from isogloss.views import Views

ROWS, NEW_ROWS, FEATURES, COMPONENTS = 10_000, 5_000, (60,) * 5, 10
MISSING, SEEDS = 0.6, range(5)

Array = NDArray[np.float64]


def main() -> Result:
    """Compare them."""
    data = [split(unequal_views(ROWS + NEW_ROWS, FEATURES, seed=seed), ROWS) for seed in SEEDS]
    incomplete = [with_missing_rows(train, seed) for (train, _), seed in zip(data, SEEDS, strict=True)]

    def ours() -> list[HubCCA]:
        return [fit(views) for views in incomplete]

    def dropping() -> list[HubCCA]:
        return [fit(views[views.present.all(axis=1)]) for views in incomplete]

    def held_out(models: Sequence[HubCCA]) -> Array:
        pairs = zip(models, data, strict=True)
        return np.array([correlation_sum(list(model.transform(test))) for model, (_, test) in pairs])

    with threadpool_limits(limits=1):
        whole, all_rows, complete_rows = (
            held_out(models) for models in ([fit(train) for train, _ in data], ours(), dropping())
        )
    return compare(
        "hub_missing",
        ours=ours,
        peer=dropping,
        peer_name="complete rows alone",
        accuracy=lambda models: float(held_out(models).mean()),
        repeats=3,
        details={
            "rows": ROWS,
            "complete_rows": [int(views.present.all(axis=1).sum()) for views in incomplete],
            "features": FEATURES,
            "components": COMPONENTS,
            "nothing_missing": whole.tolist(),
            "all_rows": all_rows.tolist(),
            "complete_rows_alone": complete_rows.tolist(),
            "percent_lost": (100 * (1 - all_rows / whole)).round(2).tolist(),
            "percent_lost_by_dropping": (100 * (1 - complete_rows / whole)).round(2).tolist(),
        },
    )


def fit(views: Any) -> HubCCA:
    """The model; with as many directions as features nothing is reduced first."""
    return HubCCA(COMPONENTS, n_directions=max(FEATURES), random_state=0).fit(views)


def with_missing_rows(views: Sequence[Array], seed: int) -> Views:
    """Rows of every view but the hub, the first, missing at random and independently."""
    present = np.random.default_rng([seed, 1]).random((ROWS, len(views))) >= MISSING
    present[:, 0] = True
    return Views(list(views), present=present)
