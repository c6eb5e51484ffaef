r"""Binary quadratic optimisation as multi-set CCA: the reduction of section 5.1 of [1]_, and max-cut by it.

.. math:: \max_x \; x'Qx \quad \text{subject to} \quad x_i \in \{-1, 1\} \qquad (\text{BQO})

does not change when the diagonal of :math:`Q` does, except by a constant. With the rest :math:`R` of
:math:`Q` and :math:`g \ge \|R\|_1` the matrix :math:`I + R/g` is diagonally dominant, hence a correlation
matrix, and (BQO) asks for the signs that maximise the sum of correlations of variables: SUMCOR with
blocks of size 1. So multi-set CCA is NP-hard; and its certificate bounds any problem of this kind.

References
----------
.. [1] J. Rupnik, *Multi-view canonical correlation analysis*, doctoral dissertation, Jožef Stefan
   International Postgraduate School; section 5.1.
.. [2] M. X. Goemans and D. P. Williamson, *Improved approximation algorithms for maximum cut and
   satisfiability problems using semidefinite programming*, Journal of the ACM 42(6), 1995.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils import check_array

from isogloss.linalg import check_symmetric
from isogloss.multiview.certificates._certificate import Certificate, certify
from isogloss.threads import thread_bound

Array = NDArray[np.float64]


class BinaryProblem(NamedTuple):
    """A correlation matrix with x'Qx = scale * x'Ax + offset for all signs x."""

    A: Array
    scale: float
    offset: float

    def value(self, form_value: float) -> float:
        """Turn x'Ax into x'Qx; a bound on one is a bound on the other."""
        return self.scale * form_value + self.offset


class MaxCut(NamedTuple):
    """A cut, its weight, and the certificate of the SUMCOR problem that it solves."""

    labels: NDArray[np.int64]
    value: float
    certificate: Certificate
    bound: float
    """No cut is heavier. With integer weights the cut is the heaviest as soon as value > bound - 1."""


def binary_as_sumcor(Q: Any) -> BinaryProblem:
    """Equation (5.1): the correlation matrix whose best signs are those that maximise x'Qx.

    The text adds ||Q||_1 + 1 to the diagonal; here the diagonal is dropped first and nothing is added to the
    norm of the rest, which keeps the answer independent of the scale of Q.

    Parameters
    ----------
    Q : array-like of shape (m, m)
        At least two variables; of a matrix that is not symmetric the symmetric part counts.

    Returns
    -------
    BinaryProblem
        A, scale and offset.

    Examples
    --------
    >>> A, scale, offset = binary_as_sumcor([[5.0, 1.0], [1.0, 0.0]])
    >>> A, scale, offset
    (array([[1., 1.],
           [1., 1.]]), 1.0, 3.0)
    """
    Q = check_array(Q, dtype=np.float64, input_name="Q")
    if Q.shape[0] != Q.shape[1] or len(Q) < 2:
        raise ValueError(f"Q has shape {Q.shape}; expected a square matrix of at least two variables")
    R = 0.5 * (Q + Q.T)
    diagonal = float(np.trace(Q))
    np.fill_diagonal(R, 0.0)
    scale = float(np.abs(R).sum(axis=1).max()) or 1.0
    return BinaryProblem(np.eye(len(R)) + R / scale, scale, diagonal - scale * len(R))


@thread_bound
def max_cut(adjacency: Any, *, random_state: Any = None) -> MaxCut:
    """Divide the nodes of a weighted graph in two so that the edges between the parts weigh most.

    The relaxation is that of Goemans and Williamson [1]_, and so is its rounding, followed by moves of
    single nodes. Any signs of weights are allowed.

    Parameters
    ----------
    adjacency : array-like or sparse matrix of shape (n, n)
        Symmetric weights of the edges; the diagonal does not count.
    random_state : int, RandomState instance or None, default=None
        For the roundings.

    Returns
    -------
    MaxCut
        labels (0 and 1; node 0 is in part 0), value, certificate, bound. ``certificate.globally_optimal``
        is a proof that no cut is heavier (by more than the tolerance, relative to ``scale`` times the
        nodes).

    References
    ----------
    .. [1] Goemans and Williamson, Journal of the ACM 42(6), 1995.

    Examples
    --------
    A square with one diagonal: four of its five edges can be cut.

    >>> square = [[0, 1, 1, 1], [1, 0, 1, 0], [1, 1, 0, 1], [1, 0, 1, 0]]
    >>> labels, value, certificate, bound = max_cut(square, random_state=0)
    >>> labels, value, certificate.globally_optimal, round(bound, 6)
    (array([0, 1, 0, 1]), 4.0, True, 4.0)
    """
    W = check_symmetric(adjacency.toarray() if sparse.issparse(adjacency) else adjacency, "adjacency")
    np.fill_diagonal(W, 0.0)
    problem = binary_as_sumcor(-W)
    certificate = certify(problem.A, [1] * len(W), random_state=random_state)
    labels = (certificate.x != certificate.x[0]).astype(np.int64)
    value = float(W[np.ix_(labels == 0, labels == 1)].sum())
    # The weight of a cut is (1'W1 - x'Wx) / 4, and x'(-W)x is what is maximised.
    return MaxCut(labels, value, certificate, 0.25 * (float(W.sum()) + problem.value(certificate.bound)))
