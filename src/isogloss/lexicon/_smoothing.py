r"""Rows of noise: every direction of a language varies a little by itself.

Directions in which vectors hardly vary are mostly noise, and among a few thousand pairs some of it agrees by
chance. For each set of languages that some rows have, rows are added: the mean of those rows, moved along one
coordinate of one language, there and back. Their sum of products is

.. math:: n \, s \, \mathrm{diag}(\sigma_1^2 I, \ldots, \sigma_m^2 I) ,

with :math:`\sigma_v^2` the mean variance of language :math:`v` and :math:`s` the strength, so means and
covariances between languages stay, and those within a language are pulled towards a multiple of the
identity: a ridge, for any model that learns from moments, complete or not.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from isogloss.linalg import check_number
from isogloss.threads import thread_bound
from isogloss.views import Views


@thread_bound
def smoothed(views: Views, strength: float) -> Views:
    """The views with rows of noise after them.

    Parameters
    ----------
    views : Views
        Dense.
    strength : float
        Variance that is added, as a share of the mean variance of a view; 0 adds no rows.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.array([[1.0, 0.0], [-1.0, 0.0], [2.0, 0.0], [-2.0, 0.0]])
    >>> rows = smoothed(Views({"en": x, "de": x}), 0.4)
    >>> rows["en"].T @ rows["en"]
    array([[12.,  0.],
           [ 0.,  2.]])
    >>> rows["en"].T @ rows["de"]
    array([[10.,  0.],
           [ 0.,  0.]])
    """
    if check_number(strength, "strength", np.inf, "a share of the variance") == 0:
        return views
    variances = [float(x.var(axis=0).mean()) if len(x) else 0.0 for x in views.arrays]
    data, present = [[x] for x in views.arrays], [views.present]
    for pattern, rows in views.patterns():
        here, part = np.flatnonzero(pattern), views[rows]
        lengths = [np.sqrt(strength * variances[v] * len(rows) / 2) for v in here]
        moves = _moves([views.dims[v] for v in here], lengths)
        for v, move in zip(here, moves, strict=True):
            data[v].append((part.arrays[v].mean(axis=0) + move).astype(views.arrays[v].dtype))
        present.append(np.tile(pattern, (len(moves[0]), 1)))
    stacked = {name: np.vstack(blocks) for name, blocks in zip(views.names, data, strict=True)}
    return Views(stacked, present=np.vstack(present))


def _moves(dims: list[int], lengths: list[float]) -> list[NDArray[np.float64]]:
    """Steps of each view along all coordinates of all views, in both directions."""
    diagonal = np.diag(np.repeat(lengths, dims))
    return np.split(np.vstack([diagonal, -diagonal]), np.cumsum(dims)[:-1], axis=1)
