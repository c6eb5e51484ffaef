"""Multi-set CCA of 3 sparse views, 20,000 x (3 x 30,000), 50 components: SumCor and SVD + cca-zoo.

No peer takes sparse rows, so theirs are reduced first, by scikit-learn's TruncatedSVD. The rows are
documents about common topics, in three languages without a common word, as TF-IDF. Ridges are chosen for
both on a part of the training rows. Accuracy is the sum, over pairs of views and components, of the
correlations of projections of new documents. Details: the share of new documents whose nearest one in another
language is their own translation, and the most memory of a process that loads the rows and fits.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from importlib.metadata import version
from itertools import permutations
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.preprocessing import normalize

from benchmarks._multiview import correlation_sum, peak_rss_mb
from benchmarks.harness import Result, compare, need
from isogloss.multiview import SumCor

ROWS, NEW_ROWS, WORDS, VIEWS, COMPONENTS, REDUCED = 20_000, 2_000, 30_000, 3, 50, 200
TOPICS, LENGTH = 100, 110
RIDGES = (1e-5, 1e-4, 1e-3)
CHOSEN_ON = 6_000
TOL = 1e-2

Array = NDArray[np.float64]


def main() -> Result:
    """Compare them."""
    need("cca_zoo.linear", package="cca-zoo")
    train, test = documents()
    ridges = {"ours": choose(ours, train), "peer": choose(Reduced, train)}
    details: dict[str, Any] = {
        "rows": ROWS,
        "features": [x.shape[1] for x in train],
        "density": [x.nnz / np.prod(x.shape) for x in train],
        "ridge": ridges,
    }
    with tempfile.TemporaryDirectory() as folder:
        for i, x in enumerate(train):
            sparse.save_npz(Path(folder) / f"{i}.npz", x)
        for side, work in (("ours", fit_ours), ("peer", fit_peer)):
            details[f"peak_rss_mb_{side}"] = peak_rss_mb(work, folder, ridges[side])

    def judge(side: str) -> Callable[[Any], float]:
        def held_out(fitted: Any) -> float:
            projected = list(fitted.transform(test))
            details[f"top_1_{side}"] = retrieval(projected)
            details[f"train_{side}"] = correlation_sum(list(fitted.transform(train)))
            return correlation_sum(projected)

        return held_out

    return compare(
        "sumcor_sparse",
        ours=lambda: ours(ridges["ours"]).fit(train),
        peer=lambda: Reduced(ridges["peer"]).fit(train),
        peer_name=f"TruncatedSVD({REDUCED}) + cca-zoo {version('cca-zoo')} MCCA",
        accuracy=judge("ours"),
        accuracy_of_peer=judge("peer"),
        repeats=1,
        details=details,
    )


def ours(ridge: float) -> SumCor:
    """The model as it is measured."""
    return SumCor(COMPONENTS, ridge=ridge, tol=TOL, random_state=0)


class Reduced:
    """cca-zoo's MCCA of the leading singular vectors of each view."""

    def __init__(self, ridge: float) -> None:
        from cca_zoo.linear import MCCA

        self.svds = [TruncatedSVD(REDUCED, random_state=0) for _ in range(VIEWS)]
        self.model = MCCA(COMPONENTS, shrinkage=ridge)

    def fit(self, views: Sequence[Any]) -> Self:
        """Reduce, then solve."""
        self.model.fit([svd.fit_transform(x) for svd, x in zip(self.svds, views, strict=True)])
        return self

    def transform(self, views: Sequence[Any]) -> Any:
        """Project every view."""
        return self.model.transform([svd.transform(x) for svd, x in zip(self.svds, views, strict=True)])


def choose(make: Callable[[float], Any], train: Sequence[Any]) -> float:
    """The ridge with which other training rows correlate best, fitted on some of them."""
    fit, check = (
        [x[part] for x in train] for part in (slice(CHOSEN_ON), slice(CHOSEN_ON, CHOSEN_ON + NEW_ROWS))
    )
    return max(RIDGES, key=lambda ridge: correlation_sum(list(make(ridge).fit(fit).transform(check))))


def retrieval(projected: Sequence[Array]) -> float:
    """Share of rows whose nearest row of another view, by cosine, is their own; over ordered pairs."""
    unit = [normalize(z) for z in projected]
    own = np.arange(len(unit[0]))
    return float(np.mean([(a @ b.T).argmax(axis=1) == own for a, b in permutations(unit, 2)]))


def documents(seed: int = 0) -> tuple[list[sparse.csr_array], list[sparse.csr_array]]:
    """TF-IDF of documents to fit on and of new ones; weights of words come from the former alone."""
    rng = np.random.default_rng(seed)
    mixtures = rng.dirichlet(np.full(TOPICS, 0.05), ROWS + NEW_ROWS)
    train, test = [], []
    for _ in range(VIEWS):
        counts = word_counts(mixtures, rng)
        weigh = TfidfTransformer(sublinear_tf=True).fit(counts[:ROWS])
        train.append(weigh.transform(counts[:ROWS]))
        test.append(weigh.transform(counts[ROWS:]))
    return train, test


def word_counts(mixtures: Array, rng: np.random.Generator) -> sparse.csr_array:
    """Words of one language: a third from Zipf's law, the rest from the topics of the document.

    A topic prefers some words of the law at random; how often it speaks of them is its own in each
    language.
    """
    law = 1.0 / (np.arange(WORDS) + 10.0)
    topics = law * rng.gamma(0.01, size=(TOPICS, WORDS))
    tables = np.vstack([topics, law])
    tables /= tables.sum(axis=1, keepdims=True)
    lengths = rng.poisson(LENGTH, len(mixtures))
    rows = np.repeat(np.arange(len(mixtures)), lengths)
    topic = draw(mixtures, rows, rng)
    topic[rng.random(len(rows)) < 1 / 3] = TOPICS
    words = draw(tables, topic, rng)
    return sparse.csr_array((np.ones(len(rows)), (rows, words)), shape=(len(mixtures), WORDS))


def draw(tables: Array, which: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int64]:
    """One draw from the distribution ``tables[which]`` each."""
    width = tables.shape[1]
    # Distribution t is laid out on the interval [t, t + 1), one after the other.
    ends = (np.cumsum(tables, axis=1).clip(max=1.0) + np.arange(len(tables))[:, np.newaxis]).ravel()
    found = np.searchsorted(ends, which + rng.random(len(which)), side="right")
    return np.asarray(np.minimum(found - which * width, width - 1))


def fit_ours(folder: str, ridge: float) -> None:
    """What the memory of ours is measured on."""
    ours(ridge).fit(load(folder))


def fit_peer(folder: str, ridge: float) -> None:
    """What the memory of the peer is measured on."""
    Reduced(ridge).fit(load(folder))


def load(folder: str) -> list[Any]:
    """The training rows."""
    return [sparse.load_npz(Path(folder) / f"{i}.npz") for i in range(VIEWS)]
