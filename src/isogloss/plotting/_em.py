"""Pictures of EM: how the bound climbs, and what it is made of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from isogloss.em import Iteration
from isogloss.plotting._axes import new_axes


def plot_traces(traces: Mapping[str, Sequence[Iteration]], *, ax: Any = None, gap: bool = False) -> Any:
    """Bound per row against steps, one line per fit.

    With ``gap`` the vertical axis is the distance to the best bound seen, on a logarithmic scale, on
    which the speed of convergence is a slope. Sparse and refreshing steps are marked.
    """
    ax = new_axes(ax)
    best = max(line.bound / line.rows for trace in traces.values() for line in trace)
    for name, trace in traces.items():
        steps = np.array([line.index for line in trace])
        bounds = np.array([line.bound / line.rows for line in trace])
        heights = np.maximum(best - bounds, 1e-12) if gap else bounds
        (drawn,) = ax.plot(steps, heights, label=name, linewidth=1.5)
        fuller = [k for k, line in enumerate(trace) if line.kind == "refresh"]
        ax.plot(steps[fuller], heights[fuller], "o", color=drawn.get_color(), markersize=4)
    ax.set_xlabel("step")
    ax.set_ylabel("distance to the best bound, per row" if gap else "bound per row")
    if gap:
        ax.set_yscale("log")
    ax.legend(frameon=False)
    return ax


def plot_free_energy(trace: Sequence[Iteration], *, ax: Any = None) -> Any:
    """The two parts of the bound, per row: expected complete log-likelihood, and entropy on top of it."""
    ax = new_axes(ax)
    steps = [line.index for line in trace]
    joint = np.array([line.free_energy.expected_log_joint / line.rows for line in trace])
    bound = np.array([line.bound / line.rows for line in trace])
    ax.plot(steps, bound, color="C0", label="bound (= log-likelihood after an exact E-step)")
    ax.plot(steps, joint, color="C1", label="expected complete log-likelihood")
    ax.fill_between(steps, joint, bound, color="C1", alpha=0.2, label="entropy of q")
    ax.set_xlabel("step")
    ax.set_ylabel("per row")
    ax.legend(frameon=False)
    return ax
