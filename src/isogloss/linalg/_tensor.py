r"""Symmetric tensors of third order whose components are orthogonal, and projection to the simplex.

Moments of three views that are independent given a hidden state form, after whitening, a tensor

.. math:: T = \sum_{j=1}^k \lambda_j \, v_j \otimes v_j \otimes v_j, \qquad v_i^\top v_j = \delta_{ij},

and the :math:`v_j` are the attracting fixed points of :math:`v \mapsto T(I, v, v) / \|T(I, v, v)\|` ([1]_,
algorithm 1): several random starts each, deflation by the best. The vectors are then refined together, each
by one step of the map and all by the nearest orthogonal matrix, so errors of early ones do not add up in
late ones.

References
----------
.. [1] A. Anandkumar, R. Ge, D. Hsu, S. M. Kakade, M. Telgarsky, *Tensor decompositions for learning latent
   variable models*, Journal of Machine Learning Research 15, 2014.
"""

from __future__ import annotations

from itertools import permutations
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import linalg
from sklearn.utils import check_random_state

from isogloss.linalg._validation import check_count
from isogloss.threads import thread_bound

Array = NDArray[np.float64]

_REGULARISATION = 0.1
"""Added to frequencies, in units of their mean."""


@thread_bound
def decompose_tensor(
    tensor: ArrayLike, *, n_starts: int = 10, n_iter: int = 30, random_state: Any = None
) -> tuple[Array, Array]:
    """Decompose a symmetric tensor with orthogonal components by the tensor power method.

    Parameters
    ----------
    tensor : array of shape (k, k, k)
        Symmetrised first, so estimates need not be symmetric to rounding.
    n_starts : int
        Random starts of each component.
    n_iter : int
        Power iterations of each start, and of the joint refinement.
    random_state : int, RandomState or None
        Seed of the starts.

    Returns
    -------
    weights : array of shape (k,)
        Falling, none negative: the sign of an odd tensor goes into its vector.
    vectors : array of shape (k, k)
        Orthonormal, in columns.

    Examples
    --------
    >>> import numpy as np
    >>> from isogloss.linalg import decompose_tensor
    >>> T = np.zeros((2, 2, 2))
    >>> T[0, 0, 0], T[1, 1, 1] = 2.0, 3.0
    >>> weights, vectors = decompose_tensor(T, random_state=0)
    >>> weights.round(6), np.abs(vectors).round(6)
    (array([3., 2.]), array([[0., 1.],
           [1., 0.]]))
    """
    T = np.array(tensor, dtype=np.float64)
    if T.ndim != 3 or len(set(T.shape)) != 1 or not len(T):
        raise ValueError(f"tensor has shape {T.shape}; expected three equal sides")
    if not np.isfinite(T).all():
        raise ValueError("tensor has NaN or infinite values; expected finite moments")
    check_count(n_starts, "n_starts", 1, 10**6, "random starts of each component")
    check_count(n_iter, "n_iter", 1, 10**6, "power iterations of each start")
    T = np.asarray(sum(T.transpose(axes) for axes in permutations(range(3)))) / 6
    V = _deflated(T, n_starts, n_iter, check_random_state(random_state))
    for _ in range(n_iter):
        V = linalg.polar(_apply(T, V))[0]
    weights = np.einsum("ij,ij->j", V, _apply(T, V))
    V, weights = V * np.where(weights < 0, -1.0, 1.0), np.abs(weights)
    order = np.argsort(-weights, kind="stable")
    return weights[order], V[:, order]


def project_to_simplex(rows: ArrayLike) -> Array:
    """Project rows to the nearest distributions: no entry below zero, a sum of one.

    Examples
    --------
    >>> from isogloss.linalg import project_to_simplex
    >>> project_to_simplex([[0.75, 0.5, -0.1], [2.0, 0.0, 0.0]])
    array([[0.625, 0.375, 0.   ],
           [1.   , 0.   , 0.   ]])
    """
    X = np.atleast_2d(np.asarray(rows, dtype=np.float64))
    falling = -np.sort(-X, axis=1)
    excess = (np.cumsum(falling, axis=1) - 1.0) / np.arange(1, X.shape[1] + 1)
    last = (falling > excess).sum(axis=1) - 1
    out = np.maximum(X - np.take_along_axis(excess, last[:, None], axis=1), 0.0)
    return np.asarray(out / out.sum(axis=1, keepdims=True))


def frequency_scale(frequencies: ArrayLike) -> Array:
    r"""Inverse roots of frequencies, which turn moments of indicators into correlations.

    A tenth of the mean frequency is added to each: correlations of what is rare are mostly noise ([2]_).

    References
    ----------
    .. [2] T. Qin, K. Rohe, *Regularized spectral clustering under the degree-corrected stochastic
       blockmodel*, NIPS 2013.
    """
    values = np.asarray(frequencies, dtype=np.float64)
    return np.asarray(1.0 / np.sqrt(values + _REGULARISATION * values.mean()))


def _apply(T: Array, V: Array) -> Array:
    """``T(I, v, v)`` for every column v."""
    k, n = V.shape
    squares = np.einsum("in,jn->ijn", V, V).reshape(k * k, n)
    return np.asarray(T.reshape(k, k * k) @ squares)


def _deflated(T: Array, n_starts: int, n_iter: int, rng: np.random.RandomState) -> Array:
    """The components one after another, each from the best of several starts."""
    rest, k = T.copy(), len(T)
    found = np.zeros((k, 0))
    for _ in range(k):
        V = _unit(_outside(rng.normal(size=(k, n_starts)), found))
        for _ in range(n_iter):
            V = _unit(_outside(_apply(rest, V), found))
        values = np.einsum("in,in->n", V, _apply(rest, V))
        best = V[:, [int(np.argmax(values))]]
        found = np.hstack([found, best])
        v = best[:, 0]
        rest -= values.max() * np.einsum("i,j,l->ijl", v, v, v)
    return found


def _outside(V: Array, found: Array) -> Array:
    """What is orthogonal to the components that are there."""
    return np.asarray(V - found @ (found.T @ V))


def _unit(V: Array) -> Array:
    norms = np.linalg.norm(V, axis=0)
    return np.asarray(V / np.where(norms > 0, norms, 1.0))
