r"""Step 1 of hub CCA: directions in which the other views covary with the hub.

.. math:: C = [C^{(1,2)} \dots C^{(1,m)}] \approx U S V^\top

(thesis, section 6.8). Each block is taken over the rows that have both of its views. Nothing of size
p x p is formed: a product with :math:`C` or :math:`C^\top` is one pass over the data with a
:class:`~isogloss.stats.Sketch`, so sparse rows stay sparse.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import svd
from scipy.sparse.linalg import LinearOperator

from isogloss.engine import Engine, Source
from isogloss.linalg import randomized_svd
from isogloss.multiview.solvers._survey import Survey
from isogloss.stats import Sketch, ViewMoments
from isogloss.views import Views, check_views

Array = NDArray[np.float64]

# Singular values below this part of the largest one are rounding, and so are their directions.
_MIN_SINGULAR_RATIO = 1e-10


class HubOperator(LinearOperator):
    """``[C_hj for every other view j]``, side by side, known by its products only.

    Each product is one pass over the source.
    """

    def __init__(self, engine: Engine, source: Source[Any], dims: Sequence[int], hub: int) -> None:
        self.engine, self.source, self.dims, self.hub = engine, source, tuple(dims), hub
        self.others = [j for j in range(len(dims)) if j != hub]
        self.cuts = np.cumsum([dims[j] for j in self.others])[:-1]
        super().__init__(np.dtype(np.float64), (dims[hub], sum(dims) - dims[hub]))

    def split(self, V: Array) -> dict[int, Array]:
        """The rows of ``V`` that belong to each of the other views."""
        return dict(zip(self.others, np.split(V, self.cuts), strict=True))

    def _matmat(self, V: Array) -> Array:
        seen = self._pass(self.split(V), [(self.hub, j) for j in self.others])
        return sum((seen.covariance(self.hub, j) for j in self.others), start=np.zeros(()))

    def _rmatmat(self, U: Array) -> Array:
        seen = self._pass({self.hub: U}, [(j, self.hub) for j in self.others])
        return np.concatenate([seen.covariance(j, self.hub) for j in self.others])

    def _pass(self, blocks: Mapping[int, Array], pairs: Sequence[tuple[int, int]]) -> Sketch:
        return self.engine.map_reduce(sketch, Sketch.merge, self.source, self.dims, blocks, pairs)


def sketch(
    batch: Any, dims: Sequence[int], blocks: Mapping[int, Array], pairs: Sequence[tuple[int, int]]
) -> Sketch:
    """The sketch of one batch."""
    return Sketch(dims, blocks, pairs).update(batch)


def hub_bases(operator: HubOperator, n_directions: int, **effort: Any) -> tuple[list[Array], Array]:
    """One orthonormal basis per view, spanning its rows of ``[U; V]``, and the singular values.

    A view of no more than ``n_directions`` features has nothing to be reduced and keeps its own.
    """
    dims, hub = operator.dims, operator.hub
    if max(dims) <= n_directions:
        return [np.eye(d) for d in dims], np.zeros(0)
    U, s, Vt = randomized_svd(operator, min(n_directions, *operator.shape), **effort)
    T = {hub: U, **operator.split(Vt.T)}
    bases = [np.eye(d) if d <= n_directions else orthonormal_basis(T[v]) for v, d in enumerate(dims)]
    return bases, s


def orthonormal_basis(T: Array) -> Array:
    """Orthonormal columns that span those of ``T``; none when ``T`` is zero."""
    Q, s, _ = svd(T, full_matrices=False)
    kept: Array = Q[:, s > _MIN_SINGULAR_RATIO * s[0]]
    return kept


def projected_moments(batch: Any, bases: Sequence[Array]) -> ViewMoments:
    """Second moments of the rows of one batch, projected on the bases."""
    views = check_views(batch, min_rows=0)
    reduced = [np.asarray(x @ basis) for x, basis in zip(views.arrays, bases, strict=True)]
    moments = ViewMoments([basis.shape[1] for basis in bases])
    return moments.update(Views(reduced, names=views.names, present=views.present))


def check_rows(seen: Survey, hub: int, view: int, n_components: int) -> None:
    """Refuse a view that does not share enough rows with the hub."""
    name, rows, together = seen.names[view], seen.counts[view, view], seen.counts[hub, view]
    if view == hub:
        if not rows:
            raise ValueError(f"no row has the hub {name!r}; choose another hub, which most rows have")
    elif not together:
        raise ValueError(
            f"view {name!r} ({rows} rows) shares no row with the hub {seen.names[hub]!r}; expected some "
            "rows that have both: choose another hub, or leave the view out"
        )
    elif together <= n_components:
        raise ValueError(
            f"view {name!r} shares {together} rows with the hub {seen.names[hub]!r}; n_components="
            f"{n_components} needs at least {n_components + 1}, and many times as many to mean anything"
        )


def check_bases(bases: Sequence[Array], seen: Survey, hub: int) -> None:
    """Refuse a view of which step 1 left nothing."""
    for name, basis in zip(seen.names, bases, strict=True):
        if not basis.shape[1]:
            raise ValueError(f"view {name!r} does not covary with the hub {seen.names[hub]!r}; leave it out")
