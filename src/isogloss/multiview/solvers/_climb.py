"""SUMCOR in whitened coordinates from several starts, whatever the problem came from."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from isogloss.multiview.solvers._block import block_ascent, rotate_to_order
from isogloss.multiview.solvers._horst import horst_components
from isogloss.multiview.solvers._problem import WhitenedProblem
from isogloss.multiview.solvers._solution import Solution, in_order
from isogloss.multiview.solvers._start import start_blocks

Array = NDArray[np.float64]

# Whitened directions in all up to which ten starts cost next to nothing.
_SMALL = 1_000


def climb_whitened(
    problem: WhitenedProblem,
    n_components: int,
    *,
    algorithm: str,
    n_init: int | str,
    sdp_start: bool,
    tol: float,
    max_iter: int,
    rng: np.random.RandomState,
) -> Solution:
    """The best of several ascents; the parameters are those of :class:`~isogloss.multiview.SumCor`.

    The start that the relaxation leads to is the last one of ``ends``.
    """
    n_starts = (10 if len(problem.A) <= _SMALL else 1) if n_init == "auto" else int(n_init)
    if algorithm == "horst":
        found = horst_components(
            problem, n_components, n_starts, rng, sdp_start=sdp_start, tol=tol, max_iter=max_iter
        )
        X, objectives = np.hstack([ascent.X for ascent in found]), np.array([a.objective for a in found])
    else:
        starts = start_blocks(problem, n_components, n_starts, rng, sdp_start=sdp_start)
        found = [block_ascent(problem.A, problem.sizes, starts, tol=tol, max_iter=max_iter)]
        X, objectives = rotate_to_order(problem.A, found[0].X)
    solution = Solution(
        problem.weights(X),
        objectives,
        [ascent.trace for ascent in found],
        all(ascent.converged for ascent in found),
        problem.shrinkage,
        np.array([ascent.ends for ascent in found]),
        ranks=problem.sizes,
    )
    return in_order(solution) if algorithm == "horst" else solution
