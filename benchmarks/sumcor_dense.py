"""Multi-set CCA of 3 dense views, 20,000 x (3 x 1,000), 10 components: SumCor and cca-zoo's MCCA.

Accuracy is the sum, over pairs of views and components, of the correlations of projections of new rows.
Views see unequal parts of the factors they share; on symmetric views all methods tie. Details: the sums
on the rows of the fit, and after the components of each view have been made uncorrelated, as ours are;
mvlearn's MCCA in an environment of its own, timed by turns with ours (see benchmarks/_multiview.py); and
ten draws of smaller data of two kinds, because which method does better on new rows depends on the data.
"""

import tempfile
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks._multiview import Mvlearn, correlation_sum, split, uncorrelated, unequal_views
from benchmarks.harness import Result, compare, need
from isogloss.multiview import SumCor

ROWS, NEW_ROWS, FEATURES, COMPONENTS, REPEATS = 20_000, 5_000, (1_000, 1_000, 1_000), 10, 2
DRAWS = 10

Array = NDArray[np.float64]


def main() -> Result:
    """Compare them."""
    zoo = need("cca_zoo.linear", package="cca-zoo")
    train, test = split(unequal_views(ROWS + NEW_ROWS, FEATURES), ROWS)
    details: dict[str, Any] = {
        "rows": ROWS,
        "features": FEATURES,
        "components": COMPONENTS,
        "smaller": {seen: smaller(zoo, seen) for seen in ("in part", "in another order")},
    }

    def ours() -> SumCor:
        return SumCor(COMPONENTS, random_state=0).fit(train)

    def judge(side: str) -> Any:
        def held_out(fitted: Any) -> float:
            details[side] = sums(fitted, train, test)
            return float(details[side]["test"])

        return held_out

    with tempfile.TemporaryDirectory() as folder, Mvlearn(Path(folder), train, test) as mvlearn:
        details["mvlearn"] = mvlearn.by_turns(ours, REPEATS, "MCCA", n_components=COMPONENTS)
    return compare(
        "sumcor_dense",
        ours=ours,
        peer=lambda: zoo.MCCA(COMPONENTS).fit(train),
        peer_name=f"cca-zoo {version('cca-zoo')} MCCA",
        accuracy=judge("sums_ours"),
        accuracy_of_peer=judge("sums_peer"),
        repeats=REPEATS,
        details=details,
    )


def sums(fitted: Any, train: list[Array], test: list[Array]) -> dict[str, float]:
    """Sums of correlations of a fitted model of either library."""
    old, new = (list(fitted.transform(views)) for views in (train, test))
    return {
        "train": correlation_sum(old),
        "test": correlation_sum(new),
        "train_uncorrelated": correlation_sum(uncorrelated(old, old)),
        "test_uncorrelated": correlation_sum(uncorrelated(old, new)),
    }


def smaller(zoo: Any, seen: str) -> dict[str, Any]:
    """Both on 5,000 x (3 x 200) rows, ten draws: mean sums, and how often ours is the higher."""
    measured: dict[str, list[dict[str, float]]] = {"ours": [], "peer": []}
    for seed in range(DRAWS):
        train, test = split(unequal_views(7_000, (200,) * 3, seen=seen, seed=seed), 5_000)
        measured["ours"].append(sums(SumCor(COMPONENTS, random_state=0).fit(train), train, test))
        measured["peer"].append(sums(zoo.MCCA(COMPONENTS).fit(train), train, test))
    values = {
        side: {key: np.array([t[key] for t in all_]) for key in all_[0]} for side, all_ in measured.items()
    }
    return {
        **{side: {key: float(v.mean()) for key, v in those.items()} for side, those in values.items()},
        "ours_higher": {key: int((v > values["peer"][key]).sum()) for key, v in values["ours"].items()},
    }
