"""Bring word vectors to a common footing: unit length, mean zero, in the order asked for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isogloss.threads import thread_bound

STEPS = ("unit", "centre")
Array = NDArray[Any]


@dataclass(frozen=True)
class Normaliser:
    """Steps with the means that each ``'centre'`` among them subtracts; made by :func:`fit_normaliser`."""

    steps: tuple[str, ...]
    centres: tuple[Array, ...]

    def apply(self, X: Any) -> Array:
        """Rows after all the steps, as float32; rows of zeros stay zeros under ``'unit'``."""
        out, means = np.asarray(X, dtype=np.float32), iter(self.centres)
        for step in self.steps:
            out = _unit(out) if step == "unit" else out - next(means)
        return out


@thread_bound
def fit_normaliser(X: Any, steps: Sequence[str] = ("unit", "centre", "unit")) -> Normaliser:
    """Learn the means of a matrix after each step before a ``'centre'``.

    Parameters
    ----------
    X : array (words, dimensions)
        The vectors of a language.
    steps : sequence of {'unit', 'centre'}
        In the order in which they are applied. An empty sequence leaves vectors as they are.

    Examples
    --------
    >>> import numpy as np
    >>> normaliser = fit_normaliser(np.array([[3.0, 4.0], [3.0, 0.0]]), ["unit", "centre"])
    >>> normaliser.apply([[6.0, 8.0]]).round(3)
    array([[-0.2,  0.4]], dtype=float32)
    """
    if isinstance(steps, str) or not set(steps) <= set(STEPS):
        raise ValueError(f"steps={steps!r}; expected a sequence of {' and '.join(map(repr, STEPS))}")
    out, centres = np.asarray(X, dtype=np.float32), []
    for step in steps:
        if step == "unit":
            out = _unit(out)
        else:
            centres.append(out.mean(axis=0, dtype=np.float64).astype(np.float32))
            out = out - centres[-1]
    return Normaliser(tuple(steps), tuple(centres))


def _unit(X: Array) -> Array:
    lengths = np.linalg.norm(X, axis=1, keepdims=True)
    return np.asarray(X / np.where(lengths > 0, lengths, 1.0), dtype=np.float32)
