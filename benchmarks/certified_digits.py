"""Certified optimum of SUMCOR beside the methods of cca-zoo: first component of quarters of digit images.

The views are quarters of scikit-learn's 1,797 images of digits, with a little noise on constant pixels; in
the details also eight strips of 4 x 2 pixels and sixteen squares of 2 x 2. Accuracy is the sum of the
correlations of the first projections over pairs of views, on the rows of the fit. The certificate says that
no directions have a higher sum than its bound. Details have the bound, and sums of cca-zoo's MCCA, GCCA and
CCAEY, whose objectives are relaxations of this one.
"""

from importlib.metadata import version
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_digits

from benchmarks.harness import Result, compare, need
from isogloss.multiview import SumCor

Array = NDArray[np.float64]


def main() -> Result:
    """Compare them."""
    zoo = need("cca_zoo.linear", package="cca-zoo")
    problems = {"quarters": digit_parts(4, 4), "strips": digit_parts(4, 2), "squares": digit_parts(2, 2)}
    details: dict[str, Any] = {name: sums(zoo, views) for name, views in problems.items()}
    views = problems["quarters"]
    return compare(
        "certified_digits",
        ours=lambda: ours(views),
        peer=lambda: zoo.MCCA(1).fit(views),
        peer_name=f"cca-zoo {version('cca-zoo')} MCCA",
        accuracy=lambda model: correlation_sum(model.transform(views)),
        details=details,
    )


def digit_parts(height: int, width: int) -> list[Array]:
    """Parts of the images, of so many pixels each."""
    images = load_digits().images
    images = images + np.random.default_rng(0).normal(scale=0.1, size=images.shape)
    tops, lefts = range(0, 8, height), range(0, 8, width)
    parts = [images[:, top : top + height, left : left + width] for top in tops for left in lefts]
    return [np.asarray(part.reshape(len(images), -1), dtype=np.float64) for part in parts]


def ours(views: list[Array]) -> SumCor:
    """The first component, from several starts, with its certificate."""
    return SumCor(1, n_init=10, random_state=0).fit(views)


def correlation_sum(projections: Any) -> float:
    """The sum of correlations over pairs of views."""
    first = [np.asarray(one)[:, 0] for one in projections]
    return float(sum(np.corrcoef(a, b)[0, 1] for a, b in combinations(first, 2)))


def sums(zoo: Any, views: list[Array]) -> dict[str, Any]:
    """Sums of all methods, and the bound."""
    model = ours(views)
    certificate = model.certificate_
    found = {
        "views": len(views),
        "ours": correlation_sum(model.transform(views)),
        "bound": float(certificate.correlations(certificate.bound)),
        "optimal": bool(certificate.globally_optimal),
    }
    for name in ("MCCA", "GCCA", "CCAEY"):
        peer = getattr(zoo, name)(1).fit(views)
        found[f"cca-zoo {name}"] = abs(correlation_sum(peer.transform(views)))
    return found
