"""The result of a solver, with the signs of its components fixed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Solution:
    """Weights, and how they were found."""

    weights: list[Array]
    """Per view; unit regularised variance. Shape (features, components)."""
    objectives: Array
    """Contribution of each component to the objective, in the order of the solver. Shape (components,)."""
    traces: list[Array]
    """Objective before the first sweep and after each, one array per ascent; empty for a direct solver."""
    converged: bool = True
    """Whether every ascent reached its tolerance."""
    shrinkage: float = 0.0
    """See :class:`~isogloss.multiview.solvers.WhitenedProblem`."""
    ends: Array | None = None
    """Objective at the end of every start. Shape (ascents, starts)."""
    spectrum: Array | None = None
    """All canonical correlations, where the solver computes them."""
    ranks: tuple[int, ...] | None = None
    """Ranks of the regularised views, where the solver knows them."""


def with_signs(weights: Sequence[Array]) -> list[Array]:
    """Turn components so that the largest weight of the first view is positive; all views turn alike."""
    first = weights[0]
    largest = first[np.abs(first).argmax(axis=0), np.arange(first.shape[1])]
    signs = np.where(largest < 0, -1.0, 1.0)
    return [W * signs for W in weights]


def in_order(solution: Solution) -> Solution:
    """The same components, those with the largest objective first; local maxima can upset the order."""
    order = np.argsort(-solution.objectives, kind="stable")
    return replace(
        solution,
        weights=[W[:, order] for W in solution.weights],
        objectives=solution.objectives[order],
        traces=[solution.traces[k] for k in order],
        ends=None if solution.ends is None else solution.ends[order],
    )


def check_components(n_components: int, sizes: Sequence[int]) -> None:
    """Refuse more components than the narrowest view has directions."""
    smallest = int(np.argmin(sizes))
    if n_components > sizes[smallest]:
        raise ValueError(
            f"n_components={n_components} is more than view {smallest} has: its rank is {sizes[smallest]}; "
            "lower n_components, or give ridge > 0"
        )
