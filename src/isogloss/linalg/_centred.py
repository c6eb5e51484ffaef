r"""Centring without touching the data.

Subtracting the mean from a sparse matrix makes it dense. Its products do not need that: with
rows as samples and :math:`\mu` the mean row,

.. math::

    (X - 1\mu')V = XV - 1(\mu'V), \qquad (X - 1\mu')'U = X'U - \mu(1'U),

so that a product with the centred matrix costs a product with :math:`X` and a rank-one
correction ("centring on the fly", [1]_ section 4.4.3; the thesis writes samples as columns).

The thesis expands :math:`X_c'X_cV` into four terms of which :math:`X'1` and :math:`\mu'\mu`
are computed beforehand. Here the two products above are composed instead: the cost is the same
to first order, and the expanded form subtracts numbers of size :math:`n\mu^2` from each other,
which loses the square of the digits that the composed form loses when means are large.

When a kernel matrix :math:`K` is at hand, :func:`centre_kernel` centres it directly.

References
----------
.. [1] J. Rupnik, *Multi-view canonical correlation analysis*, doctoral dissertation, Jožef
   Stefan International Postgraduate School, section 4.4.3, "Implementation".
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.linalg import LinearOperator
from sklearn.utils import check_array

from isogloss.linalg._validation import check_symmetric, check_vector
from isogloss.threads import thread_bound


class CentredOperator(LinearOperator):
    r"""The matrix :math:`X - 1\mu'` as a linear operator; a sparse ``X`` stays sparse.

    With ``weights`` :math:`w` the operator is :math:`\mathrm{diag}(w)^{1/2}(X - 1\mu')`, whose
    Gram matrix is the weighted scatter :math:`\sum_i w_i (x_i - \mu)(x_i - \mu)'`.

    Memory beyond ``X`` itself is one row (the mean) and one column (the weights). ``X`` is
    kept by reference when it is float64 already, in CSR, CSC or dense form.

    Parameters
    ----------
    X : {ndarray, sparse matrix} of shape (n_samples, n_features)
        Samples in rows.
    mean : ndarray of shape (n_features,), default=None
        What to subtract from every row. By default the (weighted) mean of the rows of ``X``;
        pass the training mean to centre new rows as the old ones were.
    weights : ndarray of shape (n_samples,), default=None
        Non-negative weight of each row, not all zero. By default every row weighs 1.

    Attributes
    ----------
    mean : ndarray of shape (n_features,)
        The row that is subtracted.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.sparse import csr_array
    >>> from isogloss.linalg import CentredOperator
    >>> X = csr_array([[1.0, 0.0], [3.0, 0.0], [5.0, 3.0]])
    >>> A = CentredOperator(X)
    >>> A @ np.array([1.0, 1.0])
    array([-3., -1.,  4.])
    >>> A.gram_matmat(np.eye(2))
    array([[8., 6.],
           [6., 6.]])
    """

    def __init__(self, X: Any, mean: Any = None, weights: Any = None) -> None:
        self.X = check_array(X, accept_sparse=("csr", "csc"), dtype=np.float64, input_name="X")
        super().__init__(dtype=np.float64, shape=self.X.shape)
        n, p = self.shape
        w = np.ones(n) if weights is None else _check_weights(weights, n)
        self._root = None if weights is None else np.sqrt(w)
        self.mean: NDArray[np.float64] = (
            self.X.T @ w / w.sum() if mean is None else check_vector(mean, p, "mean")
        )

    def gram_matmat(self, V: NDArray[np.float64]) -> NDArray[np.float64]:
        r"""Product of the p x p Gram matrix :math:`X_c'X_c` with ``V``, which is never formed.

        Parameters
        ----------
        V : ndarray of shape (n_features,) or (n_features, k)
            One vector, or a block of vectors in columns.

        Returns
        -------
        ndarray of the shape of ``V``
        """
        product: NDArray[np.float64] = self.H @ (self @ V)
        return product

    def kernel_matmat(self, U: NDArray[np.float64]) -> NDArray[np.float64]:
        r"""Product of the n x n linear kernel :math:`X_cX_c'` with ``U``, which is never formed.

        Parameters
        ----------
        U : ndarray of shape (n_samples,) or (n_samples, k)
            One vector, or a block of vectors in columns.

        Returns
        -------
        ndarray of the shape of ``U``
        """
        product: NDArray[np.float64] = self @ (self.H @ U)
        return product

    def _matmat(self, V: NDArray[np.float64]) -> NDArray[np.float64]:
        return self._weigh(self.X @ V - self.mean @ V)

    def _rmatmat(self, U: NDArray[np.float64]) -> NDArray[np.float64]:
        U = self._weigh(U)
        product: NDArray[np.float64] = self.X.T @ U - np.outer(self.mean, U.sum(axis=0))
        return product

    def _matvec(self, v: NDArray[np.float64]) -> NDArray[np.float64]:
        return self._matmat(v.reshape(-1, 1)).ravel()

    def _rmatvec(self, u: NDArray[np.float64]) -> NDArray[np.float64]:
        return self._rmatmat(u.reshape(-1, 1)).ravel()

    def _weigh(self, U: NDArray[np.float64]) -> NDArray[np.float64]:
        return U if self._root is None else self._root[:, np.newaxis] * U


@thread_bound
def centre_kernel(K: Any, K_train: Any = None) -> NDArray[np.float64]:
    r"""Kernel matrix of the centred features, from the kernel matrix of the raw ones.

    With :math:`H = I - \frac1n 11'`, the training kernel becomes

    .. math::

        HKH = K - \tfrac1n 11'K - \tfrac1n K11' + \tfrac1{n^2}(1'K1)\,11',

    and the kernel between new and training points, centred by the *training* mean,

    .. math::

        (K_{new} - \tfrac1n 11'K)H = K_{new} - \tfrac1n 1_m1'K - \tfrac1n K_{new}11'
        + \tfrac1{n^2}(1'K1)\,1_m1'.

    Parameters
    ----------
    K : ndarray of shape (n_train, n_train) or (n_new, n_train)
        The symmetric training kernel; or, when ``K_train`` is given, the kernel between new
        points (rows) and training points (columns).
    K_train : ndarray of shape (n_train, n_train) or (n_train,), default=None
        The training kernel before centring, or only the means of its columns, which is all
        that is used and all that a model has to keep.

    Returns
    -------
    ndarray of the shape of ``K``
        Exactly symmetric for a training kernel. ``K`` is not changed.

    See Also
    --------
    sklearn.preprocessing.KernelCenterer : The same as a transformer, for pipelines.

    Examples
    --------
    >>> import numpy as np
    >>> from isogloss.linalg import centre_kernel
    >>> X = np.array([[1.0], [3.0]])
    >>> centre_kernel(X @ X.T)
    array([[ 1., -1.],
           [-1.,  1.]])
    >>> centre_kernel(np.array([[4.0]]) @ X.T, X @ X.T)
    array([[-2.,  2.]])
    """
    if K_train is None:
        K = check_symmetric(K, "K")
        row_means = train_means = K.mean(axis=0)
    else:
        K = check_array(K, dtype=np.float64, input_name="K")
        row_means, train_means = K.mean(axis=1), _train_means(K_train, K.shape[1])
    # The two means are added first because that sum is symmetric to the bit.
    centred: NDArray[np.float64] = K - (row_means[:, np.newaxis] + train_means) + train_means.mean()
    return centred


def _check_weights(weights: Any, n: int) -> NDArray[np.float64]:
    w = check_vector(weights, n, "weights")
    if w.min() < 0 or w.max() == 0:
        raise ValueError(
            f"weights run from {w.min():.3g} to {w.max():.3g}; "
            "expected non-negative numbers, at least one of them positive"
        )
    return w


def _train_means(K_train: Any, n: int) -> NDArray[np.float64]:
    if np.ndim(K_train) == 1:
        return check_vector(K_train, n, "K_train")
    K_train = check_symmetric(K_train, "K_train")
    return check_vector(K_train.mean(axis=0), n, "K_train column means")
