r"""SQUAREM: squared extrapolation of a slowly converging fixed-point iteration.

From three successive EM iterates with differences :math:`r = \theta_1 - \theta_0` and
:math:`v = (\theta_2 - \theta_1) - r`, jump to
:math:`\theta_0 - 2\alpha r + \alpha^2 v` with :math:`\alpha = -\lVert r\rVert / \lVert v\rVert`
(Varadhan and Roland, 2008, scheme S3). :math:`\alpha = -1` is :math:`\theta_2` itself; the loop keeps
the jump only when the bound agrees.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def extrapolate(theta0: Array, theta1: Array, theta2: Array, *, limit: float) -> tuple[Array, float] | None:
    """The jump and its length ``-alpha``; None where it would not go beyond ``theta2``."""
    r = theta1 - theta0
    v = (theta2 - theta1) - r
    curvature = float(np.linalg.norm(v))
    if curvature == 0.0:
        return None
    length = min(float(np.linalg.norm(r)) / curvature, limit)
    if not length > 1.0:
        return None
    jump = theta0 + 2.0 * length * r + length**2 * v
    return (jump, length) if np.isfinite(jump).all() else None
