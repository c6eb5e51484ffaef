r"""Riemannian trust region on a product of spheres: maximise :math:`\tfrac12 \mathrm{Tr}(V'AV)`.

With the multipliers :math:`\lambda_i = \langle V^{(i)}, (AV)^{(i)} \rangle`, :math:`\Lambda =
\mathrm{blkdiag}(\lambda_i I)` and :math:`\Pi` the projection on the tangent space at :math:`V`,

.. math:: \mathrm{grad} = AV - \Lambda V, \qquad \mathrm{Hess}[U] = \Pi(AU - \Lambda U).

The quadratic model is maximised by conjugate gradients, truncated at the trust radius or where the
curvature turns ([1]_ algorithms 10 and 11). Every step costs products with :math:`A` alone.

References
----------
.. [1] P.-A. Absil, R. Mahony, R. Sepulchre, *Optimization algorithms on matrix manifolds*,
   Princeton University Press, 2008; chapter 7.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from isogloss.multiview.certificates._quadratic import QuadraticForm

Array = NDArray[np.float64]

# Changes of the objective below this fraction of it are rounding.
_NOISE = 1e3 * np.finfo(float).eps
_GRADIENT_ROUNDING = 10 * np.finfo(float).eps
# Truncated CG stops when the residual has fallen by this factor, or to its own square.
_FORCING = 0.1


class SpherePoint(NamedTuple):
    """A factor with blocks on their spheres, and what is known of the form there."""

    V: Array
    AV: Array
    multipliers: Array
    gradient: Array
    value: float

    @property
    def slope(self) -> float:
        """Norm of the gradient, relative to that of AV."""
        return float(np.linalg.norm(self.gradient) / max(np.linalg.norm(self.AV), np.finfo(float).tiny))


def climb_factor(form: QuadraticForm, V: Array, *, tol: float = 1e-11, max_iter: int = 200) -> SpherePoint:
    """Climb from ``V`` (N x r, normalised on entry) to a critical point whose relative slope is ``tol``.

    The value never falls by more than rounding. Ends earlier when rounding allows no further step, or
    after ``max_iter`` steps.
    """
    state = evaluate(form, V)
    longest = np.sqrt(len(form.blocks))
    radius = longest / 8
    for _ in range(max_iter):
        if state.slope <= tol or radius < np.finfo(float).eps:
            break
        step, predicted = _truncated_cg(form, state, radius)
        candidate = evaluate(form, state.V + step)
        gained, noise = 0.5 * (candidate.value - state.value), _NOISE * max(abs(state.value), 1.0)
        if predicted <= noise and candidate.slope >= state.slope:
            break
        quality = (gained + noise) / (predicted + noise)
        if quality < 0.25:
            radius /= 4
        elif quality > 0.75 and np.linalg.norm(step) > 0.99 * radius:
            radius = min(2 * radius, longest)
        if quality > 0.1:
            state = candidate
    return state


def evaluate(form: QuadraticForm, V: Array) -> SpherePoint:
    """Multipliers, gradient and value at ``V`` after its blocks are put on their spheres."""
    blocks = form.blocks
    V = blocks.normalise(V)
    AV = form(V)
    multipliers = blocks.inner(V, AV)
    return SpherePoint(V, AV, multipliers, AV - blocks.spread(multipliers) * V, float(multipliers.sum()))


def _truncated_cg(form: QuadraticForm, state: SpherePoint, radius: float) -> tuple[Array, float]:
    """Step within the radius and the gain that the quadratic model predicts for it."""
    blocks, scale = form.blocks, form.blocks.spread(state.multipliers)

    def curve(U: Array) -> Array:
        """Minus the Hessian, positive definite near a strict maximum."""
        W = scale * U - form(U)
        return W - blocks.spread(blocks.inner(state.V, W)) * state.V

    step, residual = np.zeros_like(state.V), state.gradient
    curved = np.zeros_like(step)
    direction, squared = residual, float(np.vdot(residual, residual))
    start = np.sqrt(squared)
    # Below the rounding of AV what is left lies along rotations of the columns of V, which change nothing.
    enough = max(
        start * min(start / max(abs(state.value), 1.0), _FORCING),
        _GRADIENT_ROUNDING * np.linalg.norm(state.AV),
    )
    for _ in range(max(step.size - len(blocks), 1)):
        bent = curve(direction)
        curvature = float(np.vdot(direction, bent))
        length = squared / curvature if curvature > 0 else np.inf
        if curvature <= 0 or np.linalg.norm(step + length * direction) >= radius:
            length = _to_the_boundary(step, direction, radius)
            step, curved = step + length * direction, curved + length * bent
            break
        step, curved = step + length * direction, curved + length * bent
        residual = residual - length * bent
        before, squared = squared, float(np.vdot(residual, residual))
        if np.sqrt(squared) <= enough:
            break
        direction = residual + (squared / before) * direction
    return step, float(np.vdot(state.gradient, step) - 0.5 * np.vdot(step, curved))


def _to_the_boundary(step: Array, direction: Array, radius: float) -> float:
    """The positive t with ``|step + t direction| = radius``."""
    a, b = float(np.vdot(direction, direction)), float(np.vdot(step, direction))
    c = float(np.vdot(step, step)) - radius**2
    return float((-b + np.sqrt(max(b * b - a * c, 0.0))) / a)
