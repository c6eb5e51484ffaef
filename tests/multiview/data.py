"""Views that share some latent variables."""

import numpy as np
from scipy import sparse

from isogloss.views import Views


def latent_views(rng, n=400, dims=(8, 6, 7), k=4, noise=1.0):
    """Dense views of ``k`` shared variables of falling strength, each view with its own mixing and mean."""
    z = rng.standard_normal((n, k)) * np.linspace(1.5, 0.7, k)
    return [
        z @ rng.standard_normal((k, p)) + noise * rng.standard_normal((n, p)) + 10 * rng.standard_normal(p)
        for p in dims
    ]


def with_missing(rng, views, share=0.3):
    """The same rows, a share of them missing in each view; every row keeps the first view."""
    present = rng.random((len(views[0]), len(views))) > share
    present[:, 0] = True
    return Views(views, present=present)


def sparse_views(rng, n=2000, p=3000, n_views=3, topics=6, density=0.01):
    """Rows of counts whose words depend on a shared topic."""
    topic = rng.integers(topics, size=n)
    words = round(p * density)
    out = []
    for _ in range(n_views):
        own = rng.integers(p, size=(topics, 4 * words))
        chosen = own[topic[:, None], rng.integers(4 * words, size=(n, words))]
        stray = rng.random((n, words)) < 0.5
        chosen[stray] = rng.integers(p, size=stray.sum())
        x = sparse.csr_array(
            (np.ones(n * words), (np.repeat(np.arange(n), words), chosen.ravel())), shape=(n, p)
        )
        x.sum_duplicates()
        out.append(x)
    return out


def same_up_to_sign(weights, others):
    """Largest difference between two lists of weights, whatever the signs of their components."""
    first, other = (np.vstack(w) for w in (weights, others))
    signs = np.sign((first * other).sum(axis=0))
    return np.abs(first - other * signs).max()
