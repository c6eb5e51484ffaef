r"""The same ascents for wide sparse views: nothing is whitened, nothing is inverted.

In the coordinates of the features the constraint is :math:`W_i'R_iW_i = I` with
:math:`R_i = (1 - \kappa)C_{ii} + \kappa I`, and the objective depends on view i through
:math:`B = [C_{ij}W_j]`. A step for view i takes the best weights in the span of

* the weights it has,
* their gradient :math:`\Gamma - R_iW_iW_i'\Gamma`, preconditioned by the diagonal of :math:`R_i`,
* the direction of its last step,

as LOBPCG does for eigenvalues [1]_. In that span the problem is as small as the number of components.
Because the span holds the weights themselves the objective never falls, and feasibility is exact. A step
costs four products with the rows of the view; solving with :math:`R_i` to the end, by conjugate
gradients, costs ten and more, most of them spent on directions that the other views change anyway.

References
----------
.. [1] A. Knyazev, "Toward the optimal preconditioned eigensolver: locally optimal block preconditioned
   conjugate gradient method", SIAM Journal on Scientific Computing 23(2), 2001.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.linalg import LinearOperator

from isogloss.linalg import randomized_svd, whitening_matrix
from isogloss.multiview.solvers._problem import block_slices
from isogloss.multiview.solvers._products import RowProducts
from isogloss.multiview.solvers._start import polar

Array = NDArray[np.float64]

# Smallest remainder of a direction, relative to its length, that is more than rounding error.
_MIN_NORM_RATIO = 1e-9
# A loss that is rounding: the objective is level there, and the step may still be worth taking.
_LEVEL = 1e-14


@dataclass(frozen=True, eq=False)
class Criterion:
    """The objective as a function of one view with the others fixed."""

    sides: Callable[[RowProducts, int, list[Array]], Array]
    """The columns ``B`` on which the objective depends, given all projections."""
    value: Callable[[Array], float]
    """Twice what the view contributes, from ``H = W'B``."""
    slope: Callable[[Array, Array], Array]
    """Direction in which ``value`` rises, from ``B`` and ``H``; as wide as ``W``."""
    choose: Callable[[Array], Array]
    """Orthonormal columns that are best for ``B``, both in orthonormal coordinates of a span."""


@dataclass(eq=False)
class Variates:
    """Weights of every view, and the rows projected by them."""

    W: list[Array] = field(default_factory=list)
    """Weights. Shape (features, components)."""
    Z: list[Array] = field(default_factory=list)
    """Projections. Shape (rows of the view, components)."""

    def join(self, other: Variates) -> Variates:
        """The components of both, side by side."""
        if not self.W:
            return other
        return Variates(
            [np.hstack(pair) for pair in zip(self.W, other.W, strict=True)],
            [np.hstack(pair) for pair in zip(self.Z, other.Z, strict=True)],
        )

    def times(self, *Q: Array) -> Variates:
        """Every view times its own small matrix, or all times the same."""
        each = Q * len(self.W) if len(Q) == 1 else Q
        return Variates(
            [W @ q for W, q in zip(self.W, each, strict=True)],
            [Z @ q for Z, q in zip(self.Z, each, strict=True)],
        )


def shared_start(products: RowProducts, n_components: int, rng: np.random.RandomState) -> list[Array]:
    """Return the left singular vectors of the centred views side by side.

    One block per view (rows of the view x components); missing rows count as the mean.
    """
    rows = block_slices(products.dims)
    n, m = products.present.shape
    here = [products.present[:, i] for i in range(m)]

    def forward(V: Array) -> Array:
        out = np.zeros((n, V.shape[1]))
        for i in range(m):
            out[here[i]] += products.rows[i] @ V[rows[i]]
        return out

    def backward(U: Array) -> Array:
        return np.vstack([products.rows[i].H @ U[here[i]] for i in range(m)])

    joint = LinearOperator(
        (n, sum(products.dims)),
        matvec=lambda v: forward(v.reshape(-1, 1)).ravel(),
        rmatvec=lambda u: backward(u.reshape(-1, 1)).ravel(),
        matmat=forward,
        rmatmat=backward,
        dtype=np.float64,
    )
    U = randomized_svd(joint, n_components, n_iter=2, random_state=rng)[0]
    return [U[mask] for mask in here]


def variates_of(products: RowProducts, scores: list[Array], found: Variates) -> Variates:
    """Feasible weights whose variates follow given scores (rows x components): a rough ridge regression."""
    out = Variates()
    for i, U in enumerate(scores):
        B = np.asarray(products.rows[i].H @ U)
        G = products.solve(i, B, tol=0.1)
        G, ZG = _without(products, i, G, products.project(i, G), found)
        white = _orthonormalise(products, i, G, ZG)
        if white.shape[1] < U.shape[1]:
            raise ValueError(
                f"n_components={U.shape[1]} is more than view {i} has directions in common with the others; "
                "lower it, or give ridge > 0"
            )
        M = white @ polar((white.T @ (G.T @ B))[:, np.newaxis])[:, 0]
        out.W.append(G @ M)
        out.Z.append(ZG @ M)
    return out


def feasible(products: RowProducts, weights: Sequence[Array], found: Variates) -> Variates:
    """Given weights, made orthonormal in every view and orthogonal to the components found."""
    out = Variates()
    for i, W in enumerate(weights):
        G, ZG = _without(products, i, W, products.project(i, W), found)
        M = _inverse_root(products.inner(i, G, ZG, G, ZG))
        out.W.append(G @ M)
        out.Z.append(ZG @ M)
    return out


def ascend(
    products: RowProducts,
    start: Variates,
    criterion: Criterion,
    *,
    found: Variates | None = None,
    tol: float,
    max_iter: int,
) -> tuple[Variates, Array, bool]:
    """Improve one view after the other until a sweep moves at most the square root of ``tol``.

    Parameters
    ----------
    products : RowProducts
        The data.
    start : Variates
        Feasible, and orthogonal to ``found``.
    criterion : Criterion
        The objective.
    found : Variates, optional
        Components that the new ones must be orthogonal to, in every view.
    tol, max_iter
        When to stop.

    Returns
    -------
    the variates, the trace of the objective, and whether the tolerance was reached
    """
    found = Variates() if found is None else found
    views = range(len(products.dims))
    walks = [_Walk(products, i, start, found) for i in views]
    Z = [walk.Z for walk in walks]
    sides = (criterion.sides(products, i, Z) for i in views)
    trace = [0.5 * sum(criterion.value(walk.W.T @ B) for walk, B in zip(walks, sides, strict=True))]
    converged = False
    for _ in range(max_iter):
        gain = step = 0.0
        for i, walk in enumerate(walks):
            gained, moved = walk.step(criterion, criterion.sides(products, i, Z))
            gain, step = gain + gained, step + moved / len(walks)
            Z[i] = walk.Z
        trace.append(trace[-1] + gain)
        converged = step <= tol
        if converged:
            break
    return Variates([walk.W for walk in walks], Z), np.array(trace), converged


class _Walk:
    """Weights of one view on their way."""

    def __init__(self, products: RowProducts, i: int, start: Variates, found: Variates) -> None:
        self.products, self.i, self.found = products, i, found
        self.W, self.Z = start.W[i], start.Z[i]
        self.last: tuple[Array, Array] | None = None
        self.scaled_found = products.regularised(i, found.W[i]) if found.W else None
        self.diagonal = products.diagonal(i)[:, np.newaxis]

    def step(self, criterion: Criterion, B: Array) -> tuple[float, float]:
        """Move to the best weights in the span; return the gain, and the squared relative step."""
        H = self.W.T @ B
        D, ZD = self._directions(criterion.slope(B, H))
        white = _orthonormalise(self.products, self.i, D, ZD)
        M = criterion.choose(np.vstack([H, white.T @ (D.T @ B)]))
        top, bottom = M[: len(H)], M[len(H) :]
        move = D @ (white @ bottom)
        W = self.W @ top + move
        Z = self.products.project(self.i, W)
        # The projection is taken anew and the weights brought back to unit variance: errors of the sums
        # above would be passed on by the next direction, magnified.
        last = (move, Z - self.Z @ top) if (bottom**2).sum() > _MIN_NORM_RATIO * len(H) else None
        unit = _inverse_root(self.products.inner(self.i, W, Z, W, Z))
        W, Z = W @ unit, Z @ unit
        gain = criterion.value(W.T @ B) - criterion.value(H)
        if gain < -_LEVEL * abs(criterion.value(H)):
            return 0.0, 0.0
        self.W, self.Z, self.last = W, Z, last
        return gain, float(((M - np.eye(*M.shape)) ** 2).sum() / len(H))

    def _directions(self, slope: Array) -> tuple[Array, Array]:
        """Return additional search directions, orthogonal to the weights and to the components found."""
        products, i = self.products, self.i
        rest = slope - products.regularised_from(i, self.W, self.Z) @ (self.W.T @ slope)
        if self.scaled_found is not None:
            rest = rest - self.scaled_found @ (self.found.W[i].T @ slope)
        # At the top the gradient is rounding; a direction made of that leads nowhere.
        clear = np.linalg.norm(rest, axis=0) > _MIN_NORM_RATIO * np.linalg.norm(slope, axis=0)
        D = rest[:, clear] / self.diagonal
        ZD = products.project(i, D)
        if self.last is not None:
            D, ZD = np.hstack([D, self.last[0]]), np.hstack([ZD, self.last[1]])
        D, ZD = _without(products, i, D, ZD, self.found)
        return _without(products, i, D, ZD, Variates([self.W] * (i + 1), [self.Z] * (i + 1)))


def _inverse_root(T: Array) -> Array:
    values, vectors = np.linalg.eigh(T)
    return np.asarray((vectors / np.sqrt(values)) @ vectors.T)


def _without(products: RowProducts, i: int, D: Array, ZD: Array, found: Variates) -> tuple[Array, Array]:
    """Directions made orthogonal to the components found, in view ``i``."""
    if not found.W:
        return D, ZD
    before = products.squares(i, D, ZD)
    # Twice is enough: the second pass removes what rounding left of the first.
    for _ in range(2):
        overlap = products.inner(i, found.W[i], found.Z[i], D, ZD)
        D, ZD = D - found.W[i] @ overlap, ZD - found.Z[i] @ overlap
    clear = products.squares(i, D, ZD) > _MIN_NORM_RATIO**2 * before
    return D[:, clear], ZD[:, clear]


def _orthonormalise(products: RowProducts, i: int, D: Array, ZD: Array) -> Array:
    """A small matrix that makes the columns of D orthonormal, and drops those that depend on others."""
    if not D.shape[1]:
        return np.zeros((0, 0))
    T = products.inner(i, D, ZD, D, ZD)
    # Columns differ in size as the gains do; what is dependent is judged on unit columns.
    sizes = np.sqrt(np.maximum(T.diagonal(), np.finfo(float).tiny))
    unit = T / np.outer(sizes, sizes)
    white = whitening_matrix(0.5 * (unit + unit.T), rank_tol=1e-10).matrix
    return np.asarray(white / sizes[:, np.newaxis])
