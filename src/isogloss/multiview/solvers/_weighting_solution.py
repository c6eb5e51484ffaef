r"""The algebra of optimal weighting: reduce each part by CCA, then find what three parts say together.

See :mod:`isogloss.multiview._weighting` for the model and the reference.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import block_diag, eigh, svd

from isogloss.linalg import whitening_matrix

Array = NDArray[np.float64]

# Singular values below this part of the largest one are rounding.
_MIN_SINGULAR_RATIO = 1e-10


def reduce_parts(
    Sigma: Array, sizes: Sequence[int], k: int, *, ridge: float, names: Sequence[str]
) -> list[Array]:
    r"""Directions (features of the part x k) that each part has in common with the others.

    With :math:`G_{gh}` the whitened covariance of parts g and h, CCA of the pair takes the leading left
    singular vectors of :math:`G_{gh}`; over all pairs of g they are those of
    :math:`(G_{gh})_{h \ne g}` side by side, which maximise the sum of squared canonical correlations.
    """
    ends = np.cumsum(sizes)
    slices = [slice(end - size, end) for size, end in zip(sizes, ends, strict=True)]
    K = [whitening_matrix(Sigma[s, s], ridge=ridge).matrix for s in slices]
    out = []
    for g, s in enumerate(slices):
        G = np.hstack([K[g].T @ Sigma[s, t] @ K[h] for h, t in enumerate(slices) if h != g])
        U, strengths, _ = svd(G, full_matrices=False)
        rank = int(np.sum(strengths > _MIN_SINGULAR_RATIO * max(strengths[0], _MIN_SINGULAR_RATIO)))
        if rank < k:
            raise ValueError(
                f"{names[g]} has {rank} directions in common with the other views; n_components={k} asks for "
                "more: lower it, or give the views more features or rows"
            )
        out.append(K[g] @ U[:, :k])
    return out


def three_view_subspace(Sigma: Array, k: int, *, symmetric: bool = False) -> Array:
    r"""``U_1`` (3k x k): the combinations of three reduced views that hold all they say of the hidden state.

    Scaled to :math:`U_1^\top \Sigma U_1 = I`, and turned within their span so that the variances they
    would have if the views were uncorrelated are uncorrelated too and rise.
    """
    white = whitening_matrix(Sigma)
    if white.rank < 3 * k:
        raise ValueError(
            f"the three reduced views span {white.rank} of {3 * k} dimensions: there are too few rows, or "
            "some combination of the views is free of noise and needs no weighting"
        )
    K, R = white.matrix, uninformative_directions(Sigma, k, symmetric=symmetric)
    U = K @ _null_space(R.T @ Sigma @ K, k)
    apart = block_diag(*(Sigma[g : g + k, g : g + k] for g in range(0, 3 * k, k)))
    turned: Array = U @ eigh(U.T @ apart @ U)[1]
    return turned


def uninformative_directions(Sigma: Array, k: int, *, symmetric: bool) -> Array:
    """``R`` (3k x 2k, or 3k): combinations of two views, of variance 1, that do not correlate with the third.

    The first k columns leave out view 1, the next view 3, and the last, if all are wanted, view 2.
    """
    left_out = [0, 2, 1] if symmetric else [0, 2]
    return np.hstack([_deaf_to(Sigma, g, k) for g in left_out])


def _deaf_to(Sigma: Array, view: int, k: int) -> Array:
    """Combinations of the other two views that do not correlate with ``view``: its last CCA directions."""
    own = np.arange(view * k, (view + 1) * k)
    rest = np.setdiff1d(np.arange(3 * k), own)
    directions = _null_space(Sigma[np.ix_(own, rest)], k)
    out = np.zeros((3 * k, k))
    out[rest] = directions @ whitening_matrix(directions.T @ Sigma[np.ix_(rest, rest)] @ directions).matrix
    return out


def _null_space(A: Array, dimension: int) -> Array:
    """Orthonormal basis of the null space of ``A``, known to have that dimension (or nearly so)."""
    _, s, Vt = svd(A)
    if s[A.shape[1] - dimension - 1] <= _MIN_SINGULAR_RATIO * s[0]:
        raise ValueError(
            "the views do not all share n_components directions of the hidden state; lower n_components, or "
            "group the views differently"
        )
    basis: Array = Vt[-dimension:].T
    return basis
