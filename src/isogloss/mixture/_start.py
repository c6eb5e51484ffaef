"""Starting values of a mixture: the scale of the data, a sample of it, and a partition of the sample."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.cluster import KMeans, kmeans_plusplus
from sklearn.metrics import pairwise_distances_argmin

from isogloss.engine import Engine, Source
from isogloss.mixture._covariance import Covariance
from isogloss.mixture._steps import MixtureParameters, split_batch
from isogloss.stats import fingerprint

Array = NDArray[np.float64]

STARTS = ("kmeans", "k-means++", "random_from_data")
_SAMPLE_ROWS = 20_000


class Summary(NamedTuple):
    """Per feature: how many values, their mean and sum of squares about it; and a uniform sample of rows.

    The sample holds the rows (and their weights) with the smallest random priorities, a rule under which
    samples merge.
    """

    rows: int
    counts: Array
    means: Array
    squares: Array
    priorities: Array
    sample: Array
    weights: Array

    @property
    def variances(self) -> Array:
        """Variance of each feature."""
        return self.squares / np.maximum(self.counts, 1.0)

    def floor(self, multiple: float) -> float:
        """Return this multiple of the smallest non-zero variance of a feature, or of one if all are zero."""
        varying = self.variances[self.variances > 0]
        return float(multiple * (varying.min() if len(varying) else 1.0))


def summarise(source: Source[Any], engine: Engine, *, seed: int) -> Summary:
    """One pass over the data for its scale and a sample."""
    return engine.map_reduce(partial(_summarise_batch, seed), _merge, source)


def check_summary(summary: Summary, n_components: int, *, allow_gaps: bool) -> None:
    """Refuse data that a mixture cannot be fitted to."""
    if min(summary.rows, len(summary.sample)) < n_components:
        raise ValueError(
            f"n_components={n_components} needs at least as many rows (of positive weight); "
            f"n_samples = {summary.rows}"
        )
    if not allow_gaps and (summary.counts < summary.rows).any():
        raise ValueError("the data contain NaN; leave those rows out, or use missing='marginalise'")
    empty = np.flatnonzero(summary.counts == 0)
    if len(empty):
        raise ValueError(f"feature {empty[0]} has no observed value in any row; leave it out")


def start_parameters(
    covariance: Covariance, summary: Summary, n_components: int, how: str, floor: float, rng: Any
) -> MixtureParameters:
    """Parameters of a partition of the sample.

    Each component borrows a few rows' worth of the pooled covariance, so that one that begins with a
    handful of rows does not begin as a spike.
    """
    x = np.where(np.isnan(summary.sample), summary.means, summary.sample)
    labels = _partition(x, summary.weights, n_components, how, rng)
    d = x.shape[1]
    hard = np.eye(n_components)[labels] * summary.weights[:, None]
    weight = hard.sum(axis=0)
    means = (hard.T @ x) / weight[:, None]
    second = covariance.scatter(x, hard, means)
    if covariance.name != "tied":
        second = second + (d + 1) * second.sum(axis=0) / weight.sum()
    lent = weight if covariance.name == "tied" else weight + d + 1
    old = np.zeros(covariance.shape(n_components, d))
    return MixtureParameters(
        weights=weight / weight.sum(),
        means=means,
        covariances=covariance.solve(second, lent, d, floor, old),
        origin=summary.means,
        references=means,
    )


def with_known_parts(start: MixtureParameters, known: Mapping[str, ArrayLike | None]) -> MixtureParameters:
    """The start with the weights, means or covariances that are known put in, after a check."""
    parts: dict[str, Array] = {}
    for name, given in known.items():
        if given is not None:
            part, expected = np.array(given, dtype=np.float64), getattr(start, name).shape
            if part.shape != expected or not np.isfinite(part).all():
                raise ValueError(
                    f"{name}_init has shape {part.shape}; expected finite values of shape {expected}"
                )
            parts[name] = part
    if "weights" in parts and not (parts["weights"].min() > 0 and np.isclose(parts["weights"].sum(), 1)):
        raise ValueError("weights_init must be positive and sum to one")
    if "means" in parts:
        parts["references"] = parts["means"]
    return dataclasses.replace(start, **parts)


def _summarise_batch(seed: int, batch: Any) -> Summary:
    x, weights = split_batch(batch)
    x = np.asarray(x, dtype=np.float64)
    if x.ndim != 2:
        raise ValueError(f"a batch has shape {x.shape}; expected two dimensions, rows and features")
    if np.isinf(x).any():
        raise ValueError("a batch contains infinity; expected finite values")
    seen = ~np.isnan(x)
    counts = seen.sum(axis=0).astype(np.float64)
    means = np.where(seen, x, 0.0).sum(axis=0) / np.maximum(counts, 1.0)
    squares = (np.where(seen, x - means, 0.0) ** 2).sum(axis=0)
    rng = np.random.default_rng([seed, int(fingerprint(x[:1]), 16)])
    counted = weights > 0
    priorities = rng.random(len(x))[counted]
    return _keep_sample(Summary(len(x), counts, means, squares, priorities, x[counted], weights[counted]))


def _merge(a: Summary, b: Summary) -> Summary:
    if a.means.shape != b.means.shape:
        raise ValueError(f"batches have {len(a.means)} and {len(b.means)} features; expected as many")
    counts = a.counts + b.counts
    share = b.counts / np.maximum(counts, 1.0)
    shift = b.means - a.means
    return _keep_sample(
        Summary(
            a.rows + b.rows,
            counts,
            a.means + share * shift,
            a.squares + b.squares + a.counts * share * shift**2,
            np.concatenate([a.priorities, b.priorities]),
            np.concatenate([a.sample, b.sample]),
            np.concatenate([a.weights, b.weights]),
        )
    )


def _keep_sample(summary: Summary) -> Summary:
    if len(summary.priorities) <= _SAMPLE_ROWS:
        return summary
    kept = np.sort(np.argpartition(summary.priorities, _SAMPLE_ROWS)[:_SAMPLE_ROWS])
    fields = ("priorities", "sample", "weights")
    return summary._replace(**{name: getattr(summary, name)[kept] for name in fields})


def _partition(x: Array, weights: Array, k: int, how: str, rng: Any) -> NDArray[np.int64]:
    """Labels 0..k-1 of the rows of a sample, each used at least once."""
    if how == "kmeans":
        found = KMeans(k, n_init=1, random_state=rng).fit(x, sample_weight=weights)
        labels = found.labels_.astype(np.int64)
    else:
        if how == "k-means++":
            _, chosen = kmeans_plusplus(x, k, sample_weight=weights, random_state=rng)
        else:
            chosen = rng.choice(len(x), size=k, replace=False)
        labels = pairwise_distances_argmin(x, x[chosen])
        labels[chosen] = np.arange(k)
    for empty in np.setdiff1d(np.arange(k), labels):
        crowded = np.argmax(np.bincount(labels, minlength=k))
        labels[np.flatnonzero(labels == crowded)[0]] = empty
    return np.asarray(labels)
