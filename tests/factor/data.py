"""Rows drawn from the model, and parameters to draw them with."""

import numpy as np
from scipy.linalg import block_diag

from isogloss.factor import FactorParameters
from isogloss.factor._noise import noise_of
from isogloss.views import Views


def draw_parameters(rng, dims=(4, 3, 5), k=2, kind="full", strength=0.7):
    """Loadings of falling strength, noise of the given kind, means away from zero."""
    D = sum(dims)
    W = rng.standard_normal((D, k)) * np.linspace(strength, 0.7 * strength, k)
    noises = []
    for d in dims:
        root = rng.standard_normal((d, 2 * d)) / np.sqrt(2 * d)
        full = root @ root.T + 0.2 * np.eye(d)
        each = np.diag(full) if kind == "diag" else np.full(d, np.diag(full).mean())
        noises.append(full if kind == "full" else np.diag(each))
    return FactorParameters(10 * rng.standard_normal(D), W, flat(noises, kind, dims), kind, tuple(dims))


def flat(noises, kind, dims):
    kind = noise_of(kind, dims).kind
    if kind == "full":
        return np.concatenate([P.ravel() for P in noises])
    if kind == "diag":
        return np.concatenate([np.diag(P) for P in noises])
    return np.array([P[0, 0] for P in noises])


def draw_rows(rng, p, n, missing=0.0):
    """Rows of a model; each view is missing in that share of them, and no row is without views."""
    z = rng.standard_normal((n, p.n_components))
    root = np.linalg.cholesky(block_diag(*p.noises))
    x = p.mean + z @ p.W.T + rng.standard_normal((n, len(p.mean))) @ root.T
    present = rng.random((n, len(p.dims))) >= missing
    present[~present.any(axis=1), 0] = True
    return Views(np.split(x, np.cumsum(p.dims)[:-1], axis=1), present=present)


def worst(model, other):
    """Largest difference between two fitted models, in what does not depend on a rotation."""
    p, q = model.parameters_, other.parameters_
    pairs = [(p.mean, q.mean), (p.W @ p.W.T, q.W @ q.W.T), (p.noise, q.noise)]
    return max(np.abs(a - b).max() for a, b in pairs)
