"""Points on the spheres from a factor of the relaxation (section 5.2), and the best of many of them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from isogloss.multiview.certificates._quadratic import Blocks, QuadraticForm
from isogloss.multiview.certificates._trust_region import climb_factor

Array = NDArray[np.float64]

_CANDIDATES = 32
_SWEEPS = 30


def leading_point(blocks: Blocks, V: Array) -> Array:
    """The leading eigenvector of VV' on the spheres, as a column; ``V`` has orthogonal columns."""
    return blocks.normalise(V[:, :1])


def best_rounding(form: QuadraticForm, V: Array, rng: Any) -> Array:
    """The best point that the leading eigenvector and random combinations of the columns of V lead to.

    Gaussian combinations are the roundings that the 2/pi bound is about; each is improved block by
    block, all in one batch, and the best one by a trust region.
    """
    if V.shape[1] == 1:
        return V
    mixtures = np.hstack([np.eye(V.shape[1], 1), rng.standard_normal((V.shape[1], _CANDIDATES - 1))])
    points = climb_by_blocks(form, form.blocks.normalise_columns(V @ mixtures))
    best = int(np.argmax(np.einsum("ij,ij->j", points, form(points))))
    return climb_factor(form, points[:, best : best + 1]).V


def climb_by_blocks(form: QuadraticForm, points: Array, sweeps: int = _SWEEPS) -> Array:
    """A few sweeps of Horst's iteration for many points (columns) at once.

    With the entries at hand one view after the other moves to its best place given the rest, which also
    turns the sign of a view of one feature; otherwise all views move together. Neither lowers a positive
    semi-definite form.
    """
    points = points.copy()
    for _ in range(sweeps):
        before = points.copy()
        if form.matrix is None:
            points = form.blocks.normalise_columns(form(points))
        else:
            _sweep(form.matrix, form.blocks, points)
        if np.abs(points - before).max() < 1e-6:
            break
    return points


def _sweep(A: Array, blocks: Blocks, points: Array) -> None:
    for part in blocks.slices:
        pull = A[part] @ points - A[part, part] @ points[part]
        length = np.linalg.norm(pull, axis=0)
        moves = length > 0
        points[part, moves] = (pull[:, moves]) / length[moves]
