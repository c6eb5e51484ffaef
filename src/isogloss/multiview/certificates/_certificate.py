r"""Certificates of optimality for multi-set CCA (SUMCOR): chapter 5 of [1]_.

.. math:: \max_x \; x'Ax \quad \text{subject to} \quad \|x^{(i)}\| = 1, \; i = 1 \dots m \qquad (\text{QCQP})

is NP-hard, and Horst's algorithm may end in a local optimum. The semidefinite relaxation gives an upper
bound on every solution. If the bound equals the value of :math:`x`, then :math:`x` is globally optimal,
and the bound is the proof; otherwise their distance tells what can be gained at most.

References
----------
.. [1] J. Rupnik, *Multi-view canonical correlation analysis*, doctoral dissertation, Jožef Stefan
   International Postgraduate School; chapter 5.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_array, check_random_state

from isogloss.linalg import check_count, check_number, is_psd
from isogloss.multiview.certificates import _bounds as bounds
from isogloss.multiview.certificates._dual import Kind, largest_eigenpair
from isogloss.multiview.certificates._lowrank_sdp import Relaxation, solve_relaxation
from isogloss.multiview.certificates._quadratic import (
    DENSE_LIMIT,
    Blocks,
    QuadraticForm,
    as_quadratic_form,
    deflate,
)
from isogloss.multiview.certificates._rounding import best_rounding, leading_point
from isogloss.threads import thread_bound

Array = NDArray[np.float64]

# Difference of diagonal blocks from the identity that is put down to the rounding of a whitening.
_WHITE = 1e-6
# The search for the bound goes on until it is this much better than what decides.
_SEARCH = 0.01


@dataclass(frozen=True, eq=False)
class Certificate:
    """Bounds of the global optimum, and the value of a solution.

    Values are those of x'Ax; :meth:`correlations` turns one into a sum of correlations over pairs of views.
    ``str`` gives a table.

    Attributes
    ----------
    blocks : tuple of int
        Numbers of features of the views.
    x : ndarray of shape (N,)
        The solution in question, blocks of unit length.
    value : float
        Its x'Ax.
    bound : float
        No solution has a higher value.
    kind : {'proven', 'numerical'}
        'proven': by a Cholesky factorisation with its rounding accounted for. 'numerical': from a
        Lanczos eigenvalue and its residual, which can miss a part of the spectrum.
    tol : float
        Relative gap below which a solution counts as optimal.
    relaxation_value : float
        Tr(AX) of the solution X = VV' of the relaxation; the bound is this and the error of the solver.
    factor : ndarray of shape (N, rank)
        V, with orthogonal columns in falling order of length.
    multipliers : ndarray of shape (m,)
        The dual solution: the bound is their sum plus m times ``shift``.
    shift : float
        What had to be added to the slack matrix to prove it positive semi-definite.
    rounded : ndarray of shape (N,)
        The leading eigenvector of X, its blocks scaled to unit length (section 5.2).
    rounded_value : float
        Its x'Ax.
    l2_bound : float
        Upper bound of Proposition 5.5; numerical above 100 features.
    trivial_bounds : tuple of float, or None
        Lower and upper bound of Lemma 5.6.
    two_over_pi_bound, omega_bound : float or None
        Lower bounds on the global optimum, Theorems 5.9 and 5.11: a solution below one of them is not
        optimal.
    rank_two_gap, low_rank_gap : float or None
        How far ``rounded_value`` can be below the relaxation, Propositions 5.3 and 5.4.
        None where they do not apply, as for all bounds: these need a positive semi-definite A with
        identities as diagonal blocks, and those on the gap lambda_1 > 1 > sum of the other eigenvalues of X.
    start_gain : float or None
        By how much an ascent from the rounded solution ended above those from other starts, as a sum of
        correlations; 0 if it did not, None if there was no such start (``sdp_start`` of
        :class:`~isogloss.multiview.SumCor`).
    """

    blocks: tuple[int, ...]
    x: Array
    value: float
    bound: float
    kind: Kind
    tol: float
    relaxation_value: float
    factor: Array
    multipliers: Array
    shift: float
    rounded: Array
    rounded_value: float
    l2_bound: float
    trivial_bounds: tuple[float, float] | None
    two_over_pi_bound: float | None
    omega_bound: float | None
    rank_two_gap: float | None
    low_rank_gap: float | None
    start_gain: float | None = None

    @property
    def rank(self) -> int:
        """Number of columns of the factor; 1 means that the relaxation solves the problem itself."""
        return int(self.factor.shape[1])

    @property
    def gap(self) -> float:
        """Relative distance of the value from the bound."""
        return max(self.bound - self.value, 0.0) / max(abs(self.bound), float(np.finfo(float).tiny))

    @property
    def globally_optimal(self) -> bool:
        """Return whether the solution is proven to be within ``tol`` of the global optimum."""
        return self.kind == "proven" and self.gap <= self.tol

    def correlations(self, value: float) -> float:
        """A value of x'Ax as a sum of correlations over pairs of views, (x'Ax - m) / 2."""
        return bounds.correlation_sum(value, len(self.blocks))

    def __str__(self) -> str:
        verdict = "globally optimal" if self.globally_optimal else "not shown to be optimal"
        if self.kind == "numerical" and self.gap <= self.tol:
            verdict = "optimal as far as Lanczos can see"
        head = (
            f"{verdict}: relative gap {self.gap:.2e} to a {self.kind} bound (tol {self.tol:g})\n"
            f"{len(self.blocks)} views, {sum(self.blocks)} features, relaxation of rank {self.rank}"
        )
        low, high = self.trivial_bounds or (None, None)
        levels = [
            ("trivial upper bound (5.6)", high),
            ("L2 upper bound (5.5)", self.l2_bound),
            ("SDP upper bound", self.bound),
            ("solution", self.value),
            ("rounded SDP solution (5.2)", self.rounded_value),
            ("optimum is at least: omega (5.11)", self.omega_bound),
            ("optimum is at least: 2/pi (5.9)", self.two_over_pi_bound),
            ("trivial lower bound (5.6)", low),
        ]
        gaps = [
            ("rounding gap, rank two (5.3)", self.rank_two_gap),
            ("rounding gap (5.4)", self.low_rank_gap),
        ]
        lines = [head, "", " " * 34 + "x'Ax".rjust(15) + "correlations".rjust(15)]
        lines += [_line(name, v, v if v is None else self.correlations(v)) for name, v in levels]
        lines += [_line(name, v, v if v is None else v / 2) for name, v in gaps]
        return "\n".join([*lines, _start_line(self.start_gain)])


@thread_bound
def certify(
    A: Any,
    blocks: Sequence[int],
    x: ArrayLike | None = None,
    *,
    previous: ArrayLike | None = None,
    whitened: bool | None = None,
    tol: float = 1e-6,
    dense_limit: int = DENSE_LIMIT,
    random_state: Any = None,
) -> Certificate:
    r"""Bound the optimum of :math:`x'Ax` over unit spheres, and judge a solution by the bound.

    Parameters
    ----------
    A : ndarray, sparse matrix, LinearOperator or callable
        Symmetric, (N x N): the covariance of whitened views, with identities as diagonal blocks. The
        bound holds for any symmetric matrix; those of (5.6)-(5.11) are given only where they apply. A
        callable multiplies arrays of shape (N, k).
    blocks : sequence of int
        Numbers of features of the views, at least two of them; they sum to N.
    x : array-like of shape (N,), default=None
        The solution to judge. Its blocks are scaled to unit length; none may be zero. By default the best
        one that the search for the bound comes across.
    previous : array-like of shape (N, k), default=None
        Directions of earlier components, to which the solution must be orthogonal in each view
        (problem 4.8-4.11): judges component k + 1, given those before it.
    whitened : bool, default=None
        Whether A is known to be positive semi-definite with identities as diagonal blocks, on which the
        bounds of (5.6)-(5.11) and (5.3)-(5.4) rest. By default this is checked, at the cost of a
        factorisation.
    tol : float, default=1e-6
        Relative gap up to which a solution counts as globally optimal. A proof for N features has a
        resolution of about :math:`N^2 \epsilon`, 1e-8 for 10,000.
    dense_limit : int, default=15000
        Most features for which the bound is proven; N^2 doubles are then held about four times. Above it a
        dense A is still used, but not factorised, an operator is only multiplied, and the bound
        is numerical.
    random_state : int, RandomState instance or None, default=None
        For starts of Lanczos runs and for rounding.

    Returns
    -------
    Certificate

    Examples
    --------
    Three views of one feature, the signs of which cannot agree:

    >>> import numpy as np
    >>> A = np.array([[1.0, 0.5, 0.5], [0.5, 1.0, -0.4], [0.5, -0.4, 1.0]])
    >>> certificate = certify(A, [1, 1, 1], x=[1, 1, 1], random_state=0)
    >>> certificate.globally_optimal, round(certificate.value, 3), round(certificate.bound, 3)
    (False, 4.2, 4.425)

    Two views, where the bound is exact (it is CCA):

    >>> A = np.block([[np.eye(2), np.diag([0.9, 0.3])], [np.diag([0.9, 0.3]), np.eye(2)]])
    >>> print(certify(A, [2, 2], random_state=0))
    globally optimal: ...
    """
    tol = check_number(tol, "tol", np.inf, "the relative gap that counts as none")
    dense_limit = check_count(dense_limit, "dense_limit", 0, np.iinfo(np.int64).max, "features of a proof")
    form = as_quadratic_form(A, blocks, dense_limit=dense_limit)
    whitened = _is_whitened(form) if whitened is None else bool(whitened)
    if previous is not None:
        form = deflate(form, _check_previous(previous, form.blocks))
    rng = check_random_state(random_state)
    point = None if x is None else _check_point(x, form.blocks, previous)
    leading = largest_eigenpair(form, rng)
    starts = [leading.vector] if point is None else [leading.vector, point]
    relaxation = solve_relaxation(form, starts, tol=_SEARCH * tol, rng=rng)
    if point is None:
        point = best_rounding(form, relaxation.V, rng)
    return _report(form, relaxation, point, leading.value + leading.residual, whitened=whitened, tol=tol)


def _report(
    form: QuadraticForm, relaxation: Relaxation, point: Array, norm: float, *, whitened: bool, tol: float
) -> Certificate:
    """Everything that chapter 5 says about a point, given the relaxation and the largest eigenvalue of A."""
    m, eigenvalues, psi = len(form.blocks), relaxation.eigenvalues, relaxation.value
    rounded = leading_point(form.blocks, relaxation.V)
    dual, l2 = relaxation.dual, bounds.l2_bound(norm, m)
    return Certificate(
        blocks=form.blocks.sizes,
        x=point[:, 0],
        value=form.value(point),
        bound=dual.bound if dual.kind == "proven" else min(dual.bound, l2),
        kind=dual.kind,
        tol=tol,
        relaxation_value=psi,
        factor=relaxation.V,
        multipliers=relaxation.multipliers,
        shift=dual.shift,
        rounded=rounded[:, 0],
        rounded_value=form.value(rounded),
        l2_bound=l2,
        trivial_bounds=bounds.trivial_bounds(m) if whitened else None,
        two_over_pi_bound=bounds.two_over_pi_bound(psi) if whitened else None,
        omega_bound=bounds.omega_bound(psi, m) if whitened else None,
        rank_two_gap=bounds.rank_two_gap(eigenvalues, norm) if whitened else None,
        low_rank_gap=bounds.low_rank_gap(eigenvalues, norm) if whitened else None,
    )


def _line(name: str, *values: float | None) -> str:
    return f"{name:34}" + "".join(
        f"{'not applicable' if v is None else format(v, '.6f'):>15}" for v in values
    )


def _start_line(gain: float | None) -> str:
    if gain is None:
        return "no start from the rounded SDP solution (sdp_start)"
    if gain == 0.0:
        return "the start from the rounded SDP solution ended no higher than the others"
    return (
        f"the start from the rounded SDP solution ended higher than the others by {gain:.6f} (correlations)"
    )


def _is_whitened(form: QuadraticForm) -> bool:
    """Return whether diagonal blocks are identities and A is positive semi-definite.

    Without entries the blocks are probed with a random vector each and the rest is taken on trust.
    """
    slices, sizes = form.blocks.slices, form.blocks.sizes
    if form.matrix is not None:
        pairs = zip(slices, sizes, strict=True)
        identities = all(np.abs(form.matrix[s, s] - np.eye(n)).max() <= _WHITE for s, n in pairs)
        return identities and is_psd(form.matrix, tol=_WHITE)
    probes = np.zeros((form.blocks.total, len(slices)))
    for i, part in enumerate(slices):
        probes[part, i] = np.random.default_rng(i).standard_normal(sizes[i])
    products = form(probes)
    return all(
        np.allclose(products[part, i], probes[part, i], atol=_WHITE * np.sqrt(sizes[i]))
        for i, part in enumerate(slices)
    )


def _check_point(x: Any, blocks: Blocks, previous: Any) -> Array:
    """Return x as a column whose blocks have unit length and are orthogonal to earlier ones."""
    point: Array = check_array(x, dtype=np.float64, ensure_2d=False, input_name="x")
    if point.shape != (blocks.total,):
        raise ValueError(f"x has shape {point.shape}; expected ({blocks.total},), the features of all views")
    column = point[:, None]
    empty = np.flatnonzero(blocks.inner(column, column) == 0)
    if len(empty):
        raise ValueError(f"x is zero in view(s) {empty.tolist()}; expected a direction in every view")
    unit = blocks.normalise(column)
    earlier = unit[:, :0] if previous is None else blocks.normalise_columns(np.asarray(previous, dtype=float))
    overlap = max((np.abs(earlier[s].T @ unit[s]).max(initial=0.0) for s in blocks.slices), default=0.0)
    if overlap > _WHITE:
        raise ValueError(
            f"x has a cosine of {overlap:.3g} with an earlier direction; expected orthogonal ones"
        )
    return unit


def _check_previous(previous: Any, blocks: Blocks) -> Array:
    directions: Array = check_array(previous, dtype=np.float64, input_name="previous")
    if len(directions) != blocks.total:
        raise ValueError(
            f"previous has {len(directions)} rows; expected {blocks.total}, the features of all views"
        )
    if directions.shape[1] >= min(blocks.sizes):
        raise ValueError(
            f"previous has {directions.shape[1]} directions, which leave none in a view of "
            f"{min(blocks.sizes)} features; expected fewer"
        )
    return directions
