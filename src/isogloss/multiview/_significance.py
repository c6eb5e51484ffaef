r"""Significance tests of canonical correlations.

Wilks' lambda of component k, :math:`\Lambda_k = \prod_{l \ge k}(1 - \rho_l^2)`, tests that it and all
further ones are zero; Rao's F and Bartlett's chi-squared approximate its distribution for Gaussian rows
([1]_ section 11.3, [2]_). The permutation test needs no such assumption: rows of one view are permuted
against the other, and for component k only what the components before it leave over ([3]_).

References
----------
.. [1] A. Rencher, *Methods of Multivariate Analysis*, 2nd ed., Wiley 2002.
.. [2] C. R. Rao, *Linear Statistical Inference and Its Applications*, Wiley 1973, section 8b.2.
.. [3] A. Winkler, O. Renaud, S. Smith, T. Nichols, "Permutation inference for canonical correlation
   analysis", NeuroImage 220, 2020.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats
from scipy.linalg import svd, svdvals
from sklearn.utils import check_random_state

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class WilksTest:
    """Wilks' lambda of each component, with two approximations of its distribution.

    Attributes
    ----------
    wilks : array
        Lambda; small when this or a further correlation is large.
    f, df1, df2, p_values : array
        Rao's F, its degrees of freedom, and the probability of a larger one by chance.
    chi2, chi2_df, chi2_p_values : array
        The same by Bartlett's chi-squared, which needs more rows.
    """

    wilks: Array
    f: Array
    df1: Array
    df2: Array
    p_values: Array
    chi2: Array
    chi2_df: Array
    chi2_p_values: Array

    def first(self, n_components: int) -> Self:
        """The test of the first components alone."""
        return type(self)(*(getattr(self, part.name)[:n_components] for part in fields(self)))


@dataclass(frozen=True, eq=False)
class PermutationTest:
    """Correlations beside those of permuted rows.

    Attributes
    ----------
    correlations : array (components,)
        What was found.
    null : array (n_permutations, components)
        Largest correlation that permuted rows give to each component, after those before it.
    p_values : array (components,)
        Share of permutations (the identity among them) that reach what was found; rising, since a
        component counts only if all before it do.
    """

    correlations: Array
    null: Array
    p_values: Array

    def band(self, level: float = 0.95) -> tuple[Array, Array]:
        """Lower and upper quantile of the null correlations, ``level`` of which lie between them."""
        if not 0 < level < 1:
            raise ValueError(f"level={level}; expected a share between 0 and 1")
        low, high = np.quantile(self.null, [(1 - level) / 2, (1 + level) / 2], axis=0)
        return low, high

    def n_significant(self, level: float = 0.05) -> int:
        """Number of components whose p-value is at most ``level``."""
        return int((self.p_values <= level).sum())


def wilks_test(correlations: ArrayLike, n_rows: int, rank_1: int, rank_2: int) -> WilksTest:
    """Wilks' test of all canonical correlations of two views.

    Parameters
    ----------
    correlations : array (min(rank_1, rank_2),)
        All of them, falling, without a ridge.
    n_rows : int
        Rows they were estimated from.
    rank_1, rank_2 : int
        Ranks of the views.

    Examples
    --------
    >>> wilks_test([0.46409, 0.16751, 0.10399], 600, 3, 5).p_values.round(4)
    array([0.    , 0.0029, 0.0911])
    """
    rho = np.minimum(np.asarray(correlations, dtype=np.float64), 1.0)
    if rho.shape != (min(rank_1, rank_2),):
        raise ValueError(
            f"{rho.size} correlations; expected all {min(rank_1, rank_2)} of ranks {rank_1}, {rank_2}"
        )
    freedom = n_rows - 1.5 - (rank_1 + rank_2) / 2
    if n_rows < rank_1 + rank_2 + 2:
        raise ValueError(f"{n_rows} rows are too few for views of ranks {rank_1} and {rank_2}")
    with np.errstate(divide="ignore"):
        log_wilks = np.cumsum(np.log1p(-(rho[::-1] ** 2)))[::-1]
    p, q = (rank - np.arange(len(rho)) for rank in (rank_1, rank_2))
    df1 = (p * q).astype(np.float64)
    shape = p**2 + q**2 - 5.0
    t = np.sqrt(np.where(shape > 0, (df1**2 - 4) / np.where(shape > 0, shape, 1.0), 1.0))
    df2 = freedom * t - df1 / 2 + 1
    with np.errstate(divide="ignore", over="ignore"):
        f = np.expm1(-log_wilks / t) * df2 / df1
    chi2 = -freedom * log_wilks
    return WilksTest(
        np.exp(log_wilks), f, df1, df2, stats.f.sf(f, df1, df2), chi2, df1.copy(), stats.chi2.sf(chi2, df1)
    )


def permutation_test(
    white_1: Array, white_2: Array, n_components: int, n_permutations: int = 199, *, random_state: Any = None
) -> PermutationTest:
    """Test canonical correlations by permuting rows.

    Parameters
    ----------
    white_1, white_2 : array (rows, rank)
        Centred rows in whitened coordinates, so that their cross-covariance has the correlations for
        singular values.
    n_components : int
        Components to test.
    n_permutations : int
        Number of permutations.
    random_state : int, RandomState or None
        Source of the permutations.

    Notes
    -----
    A permutation costs one product of rank_1 x rows x rank_2 and ``n_components`` sets of singular values.
    """
    if n_permutations < 1:
        raise ValueError(f"n_permutations={n_permutations}; expected at least 1")
    rng, n = check_random_state(random_state), len(white_1)
    U, rho, Vt = svd(white_1.T @ white_2 / (n - 1))
    # In canonical coordinates, leaving components out is leaving columns out.
    X, Y = white_1 @ U / (n - 1), white_2 @ Vt.T
    null = np.empty((n_permutations, n_components))
    for row in null:
        cross = X[rng.permutation(n)].T @ Y
        row[:] = [svdvals(cross[k:, k:])[0] for k in range(n_components)]
    found = rho[:n_components]
    reached = (null >= found * (1 - 1e-12)).sum(axis=0)
    p_values = np.maximum.accumulate((1.0 + reached) / (1.0 + n_permutations))
    return PermutationTest(found, null, p_values)
