r"""Directions of a language with fewer documents than the common space has dimensions.

Equation 6.8 of the thesis makes the directions of a language those that best predict the hub's, at unit
variance. With n documents, :math:`X` (centred) and the projections :math:`Z` of their mates in the hub,
they are

.. math:: W = X^\top (X X^\top + \kappa I)^{-1} Z N ,

a ridge regression solved on the side of documents, where it has size n, with :math:`N` giving columns unit
variance.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve

from isogloss.linalg import centre_kernel
from isogloss.views import Matrix

Array = NDArray[np.float64]


def scarce_directions(X: Matrix, Z: Array, *, ridge: float) -> tuple[Array, Array]:
    r"""Directions (words x components) and mean of a language.

    Parameters
    ----------
    X : sparse matrix (documents x words)
        Its documents.
    Z : array (documents x components)
        Projections of their mates in the hub.
    ridge : float
        Above 0, in documents: a document of length one has a variance of one in :math:`X X^\top`.

    Notes
    -----
    Memory: the n x n matrix of inner products and the directions.
    """
    mean = np.asarray(X.mean(axis=0, dtype=np.float64)).ravel()
    K = centre_kernel(np.asarray((X @ X.T).toarray(), dtype=np.float64))
    A = cho_solve(cho_factor(K + ridge * np.eye(len(K))), Z - Z.mean(axis=0))
    A -= A.mean(axis=0)
    deviations = np.sqrt(np.mean((K @ A) ** 2, axis=0))
    A /= np.where(deviations > 0, deviations, 1.0)
    return np.asarray(X.T @ A), mean
