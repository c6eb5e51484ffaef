"""Random SUMCOR problems: the three generators of section 8.1.1 of Rupnik's dissertation."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import block_diag, solve_triangular
from scipy.stats import random_correlation

Array = NDArray[np.float64]

GENERATORS = ("gram", "spectrum", "structure")
# A spectrum of uniform numbers scaled to their sum, which is not uniform on the simplex.
SCALED = "scaled"
# The epsilon of the source: the share of noise around a one-dimensional structure.
NOISE = 1e-3


def random_problem(kind: str, sizes: Sequence[int], rng: np.random.Generator) -> Array:
    """A correlation matrix by one of GENERATORS or SCALED, after the per-view change of basis."""
    if kind == "gram":
        C = gram(sum(sizes), rng)
    elif kind == "spectrum":
        C = random_spectrum(rng.dirichlet(np.ones(sum(sizes))), rng)
    elif kind == SCALED:
        C = random_spectrum(rng.uniform(size=sum(sizes)), rng)
    else:
        C = one_dimensional_structure(sizes, rng)
    return whiten(C, sizes)


def gram(n: int, rng: np.random.Generator) -> Array:
    """Cosines between n random vectors of n dimensions."""
    V = rng.standard_normal((n, n))
    V /= np.linalg.norm(V, axis=1, keepdims=True)
    return V @ V.T


def random_spectrum(spectrum: Array, rng: np.random.Generator) -> Array:
    """A random correlation matrix whose eigenvalues have these proportions."""
    eigenvalues = np.maximum(spectrum / spectrum.sum(), 1e-12)
    scale = len(spectrum) / eigenvalues.sum()
    return np.asarray(random_correlation.rvs(eigenvalues * scale, random_state=rng, tol=1e-6))


def one_dimensional_structure(sizes: Sequence[int], rng: np.random.Generator) -> Array:
    """The first features of the views correlate, the others are noise."""
    n = sum(sizes)
    C = np.eye(n)
    first = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    C[np.ix_(first, first)] = gram(len(sizes), rng)
    return (1 - NOISE) * C + NOISE * gram(n, rng)


def whiten(C: Array, sizes: Sequence[int]) -> Array:
    """Change the basis of every view by the Cholesky factor of its covariance."""
    ends = np.cumsum(sizes)
    roots = [np.linalg.cholesky(C[e - s : e, e - s : e]) for s, e in zip(sizes, ends, strict=True)]
    L = block_diag(*roots)
    A = solve_triangular(L, solve_triangular(L, C, lower=True).T, lower=True)
    for s, e in zip(sizes, ends, strict=True):
        A[e - s : e, e - s : e] = np.eye(s)
    return np.asarray((A + A.T) / 2)
