"""Pictures of multi-view models: correlations, variates, loadings, and how sure a maximum is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from isogloss.multiview import CCA, Certificate, Multiview, PermutationTest, SumCor
from isogloss.plotting._axes import figure, new_axes

Array = NDArray[np.float64]


def plot_canonical_correlations(
    model: CCA, null: PermutationTest | None = None, *, level: float = 0.95, ax: Any = None
) -> Any:
    """Canonical correlations, with the band that shuffled rows give when ``null`` is a permutation test."""
    ax = new_axes(ax)
    values = model.correlations_
    order = np.arange(1, len(values) + 1)
    if null is not None:
        low, high = null.band(level)
        shown = np.arange(1, min(len(high), len(values)) + 1)
        ax.fill_between(
            shown,
            low[: len(shown)],
            high[: len(shown)],
            color="0.85",
            label=f"{level:.0%} of shuffled rows",
        )
    ax.plot(order, values, "o-", color="C0", label="canonical correlation")
    ax.set_xlabel("component")
    ax.set_ylabel("correlation")
    ax.set_ylim(0, 1.05)
    ax.set_xticks(order)
    ax.legend(frameon=False)
    return ax


def plot_variates(model: Multiview, views: Any, *, component: int = 0, max_points: int = 3000) -> Any:
    """One component of every view against that of every other: a grid of scatter plots."""
    projected = model.transform(views)
    m = projected.n_views
    grid = figure(2.4 * m, 2.4 * m)
    axes = grid.subplots(m, m, squeeze=False)
    for i in range(m):
        for j in range(m):
            ax = axes[i][j]
            ax.set_xticks([])
            ax.set_yticks([])
            if i == j:
                ax.text(0.5, 0.5, projected.names[i], ha="center", va="center", transform=ax.transAxes)
                continue
            y, x = (np.asarray(z)[:, component] for z in projected.shared(i, j))
            every = max(1, -(-len(x) // max_points))
            ax.scatter(x[::every], y[::every], s=4, linewidths=0, alpha=0.5, rasterized=True)
            if len(x) > 2:
                ax.set_title(f"r = {np.corrcoef(x, y)[0, 1]:.2f}", fontsize=9)
    return grid


def plot_loadings(
    loadings: ArrayLike,
    names: Sequence[str] | None = None,
    *,
    component: int = 0,
    most: int = 20,
    ax: Any = None,
) -> Any:
    """The features of one view that a component is most correlated with, as bars."""
    ax = new_axes(ax)
    values = np.asarray(loadings, dtype=np.float64)[:, component]
    names = [f"feature {k}" for k in range(len(values))] if names is None else names
    strongest = np.argsort(-np.abs(values), kind="stable")[:most][::-1]
    ax.barh(np.arange(len(strongest)), values[strongest], color=np.where(values[strongest] > 0, "C0", "C3"))
    ax.set_yticks(np.arange(len(strongest)), [names[k] for k in strongest], fontsize=8)
    ax.axvline(0.0, color="0.5", linewidth=0.8)
    ax.set_xlabel(f"correlation with component {component + 1}")
    return ax


def plot_starts(model: SumCor, certificate: Certificate | None = None, *, ax: Any = None) -> Any:
    """Plot the sorted values of all starts of a SUMCOR fit, with the certificate as a line above.

    The certificate is for the first component, so the picture is for a model with one.
    """
    ax = new_axes(ax)
    ends = np.sort(np.asarray(model.start_objectives_)[0])[::-1]
    ax.plot(np.arange(1, len(ends) + 1), ends, "o", markersize=4, label="local maxima reached")
    if certificate is not None:
        bound = certificate.correlations(certificate.bound)
        verdict = "reached: globally optimal" if certificate.globally_optimal else "not reached"
        ax.axhline(bound, color="C3", linewidth=1.2, label=f"upper bound, {verdict}")
    ax.set_xlabel("start, best first")
    ax.set_ylabel("sum of correlations")
    ax.legend(frameon=False)
    return ax


def plot_view_correlations(
    correlations: ArrayLike, names: Sequence[str], *, component: int | None = None, ax: Any = None
) -> Any:
    """Correlations between the projections of all views, for one component or on average over them."""
    ax = new_axes(ax)
    every = np.asarray(correlations, dtype=np.float64)
    table = every.mean(axis=0) if component is None else every[component]
    ax.imshow(table, vmin=-1, vmax=1, cmap="RdBu_r")
    for (i, j), value in np.ndenumerate(table):
        colour = "white" if abs(value) > 0.6 else "black"
        ax.text(j, i, f"{value:.2f}", ha="center", va="center", color=colour)
    ax.set_xticks(range(len(names)), names)
    ax.set_yticks(range(len(names)), names)
    return ax
