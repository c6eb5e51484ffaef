"""Languages made on the spot: the same concepts through other features, with noise."""

import numpy as np

from isogloss.lexicon import BilingualDictionary, WordVectors


def languages(
    names=("en", "de", "it"), *, n=400, dims=(10, 8, 12), factors=6, noise=0.3, seed=0, rotated=False
):
    """Vectors of each language; word ``i`` of language ``xx`` is ``xx{i}`` in an order of its own.

    With ``rotated`` languages differ by a rotation of their factors, otherwise by any linear map.
    """
    rng = np.random.default_rng(seed)
    z = rng.normal(size=(n, factors))
    out = {}
    for name, dim in zip(names, dims, strict=False):
        W = rng.normal(size=(factors, dim))
        x = z @ (np.linalg.qr(W.T)[0].T if rotated else W) + noise * rng.normal(size=(n, dim))
        order = rng.permutation(n)
        out[name] = WordVectors([f"{name}{i}" for i in order], x[order], name)
    return out


def dictionary(source, target, concepts):
    return BilingualDictionary(source, target, [(f"{source}{i}", f"{target}{i}") for i in concepts])
