"""CCA of two views, 5,000 x (2 x 500), 10 components: ours and cca-zoo's; scikit-learn's in details.

Accuracy is the sum of the correlations of projections of new rows. Details: sums on the rows of the fit,
and scikit-learn's CCA, which iterates for each component, timed once, with its warnings.
"""

import warnings
from importlib.metadata import version
from typing import Any

import sklearn
from sklearn import cross_decomposition
from threadpoolctl import threadpool_limits

from benchmarks._multiview import correlation_sum, split, unequal_views
from benchmarks.harness import Result, compare, measure_seconds, need
from isogloss.multiview import CCA

ROWS, NEW_ROWS, FEATURES, COMPONENTS = 5_000, 2_000, (500, 500), 10


def main() -> Result:
    """Compare them."""
    zoo = need("cca_zoo.linear", package="cca-zoo")
    train, test = split(unequal_views(ROWS + NEW_ROWS, FEATURES), ROWS)

    def held_out(fitted: Any) -> float:
        return correlation_sum(list(fitted.transform(test)))

    mine, theirs = CCA(COMPONENTS).fit(train), zoo.CCA(COMPONENTS).fit(train)
    return compare(
        "cca_two_views",
        ours=lambda: CCA(COMPONENTS).fit(train),
        peer=lambda: zoo.CCA(COMPONENTS).fit(train),
        peer_name=f"cca-zoo {version('cca-zoo')} CCA",
        accuracy=held_out,
        details={
            "rows": ROWS,
            "features": FEATURES,
            "components": COMPONENTS,
            "train_ours": correlation_sum(list(mine.transform(train))),
            "train_peer": correlation_sum(list(theirs.transform(train))),
            "scikit_learn": iterative(train, test),
        },
    )


def iterative(train: list[Any], test: list[Any]) -> dict[str, Any]:
    """scikit-learn's, once."""
    model = cross_decomposition.CCA(COMPONENTS)
    with threadpool_limits(limits=1), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        cpu, _ = measure_seconds(lambda: model.fit(*train))
    return {
        "version": sklearn.__version__,
        "cpu": cpu,
        "train": correlation_sum(model.transform(*train)),
        "test": correlation_sum(model.transform(*test)),
        "warnings": sorted({str(w.message) for w in caught}),
    }
