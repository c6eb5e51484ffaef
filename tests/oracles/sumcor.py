"""The global optimum of small SUMCOR problems by brute force."""

import numpy as np


def brute_force(A, sizes, rng, n_starts=400, sweeps=400):
    """The best of many starts of Horst's iteration in one batch; all signs if views have one feature."""
    if max(sizes) == 1:
        m = len(sizes)
        X = 2.0 * ((np.arange(2 ** (m - 1)) >> np.arange(m)[:, None]) & 1) - 1
        return float(np.einsum("ij,ij->j", X, A @ X).max())
    X = starting_points(sizes, rng, n_starts)
    ends = np.cumsum(sizes)
    parts = [slice(e - s, e) for s, e in zip(sizes, ends, strict=True)]
    value = np.full(X.shape[1], -np.inf)
    for _ in range(sweeps):
        for part in parts:
            pull = A[part] @ X - X[part]
            norm = np.linalg.norm(pull, axis=0)
            X[part] = np.where(norm > 0, pull / np.where(norm > 0, norm, 1), X[part])
        before, value = value, np.einsum("ij,ij->j", X, A @ X)
        if (value - before).max() < 1e-14 * value.max():
            break
    return float(value.max())


def starting_points(sizes, rng, n_starts):
    """Random points, and for views of at most two features a grid of angles (or signs) as well."""
    X = rng.standard_normal((sum(sizes), n_starts))
    if max(sizes) == 2 and len(sizes) <= 4:
        angles = np.linspace(0, 2 * np.pi, 8, endpoint=False)
        choices = [
            np.array([np.cos(angles), np.sin(angles)]) if s == 2 else np.array([[1.0, -1.0]]) for s in sizes
        ]
        index = np.meshgrid(*[np.arange(c.shape[1]) for c in choices], indexing="ij")
        X = np.hstack([X, np.vstack([c[:, i.ravel()] for c, i in zip(choices, index, strict=True)])])
    ends = np.cumsum(sizes)
    for s, e in zip(sizes, ends, strict=True):
        X[e - s : e] /= np.linalg.norm(X[e - s : e], axis=0)
    return X
