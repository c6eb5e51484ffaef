"""Validation of arguments beyond scikit-learn's ``check_array``."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_array

# Largest difference from the mirror image, relative to the largest entry, that is put down to
# rounding; products of float32 data reach 1e-7.
ASYMMETRY = 1e-6
# Rows compared with their mirror image at a time, so that a large matrix is not held once more.
_BLOCK_ROWS = 512


def check_vector(values: Any, length: int, name: str) -> NDArray[np.float64]:
    """Return ``values`` as a finite float64 vector of the given length."""
    vector: NDArray[np.float64] = check_array(values, dtype=np.float64, ensure_2d=False, input_name=name)
    if vector.shape != (length,):
        raise ValueError(f"{name} has shape {vector.shape}; expected one number for each of {length} entries")
    return vector


def check_symmetric(S: Any, name: str) -> NDArray[np.float64]:
    """Return a finite, exactly symmetric float64 copy of the square matrix ``S``."""
    S = check_array(S, dtype=np.float64, input_name=name)
    if S.shape[0] != S.shape[1]:
        raise ValueError(f"{name} has shape {S.shape}; expected a square symmetric matrix")
    asymmetry, largest = _asymmetry(S), max(S.max(), -S.min())
    if asymmetry > ASYMMETRY * largest:
        raise ValueError(
            f"{name} is not symmetric: entries differ from their mirror by up to {asymmetry:.3g} "
            f"where the largest is {largest:.3g}; pass ({name} + {name}.T) / 2 if that is what you mean"
        )
    symmetric: NDArray[np.float64] = S + S.T
    symmetric *= 0.5
    return symmetric


def check_number(value: Any, name: str, high: float, meaning: str) -> float:
    """Return ``value`` as a finite float in [0, high]; ``meaning`` tells what it is."""
    if not isinstance(value, Real) or isinstance(value, bool):
        raise TypeError(f"{name}={value!r} is a {type(value).__name__}; expected a number: {meaning}")
    number = float(value)
    # Written so that NaN, which compares false with everything, is refused.
    if not (0.0 <= number <= high and number < np.inf):
        raise ValueError(f"{name}={value!r}; expected a finite number in [0, {high:g}]: {meaning}")
    return number


def check_count(value: Any, name: str, low: int, high: int, meaning: str) -> int:
    """Return ``value`` as an int in [low, high]; ``meaning`` tells what it is.

    Examples
    --------
    >>> check_count(3, "n_init", 1, 100, "the number of starts")
    3
    >>> check_count(0, "n_init", 1, 100, "the number of starts")
    Traceback (most recent call last):
    ValueError: n_init=0; expected an integer from 1 to 100: the number of starts
    """
    if not isinstance(value, Integral) or isinstance(value, bool):
        raise TypeError(f"{name}={value!r} is a {type(value).__name__}; expected an integer: {meaning}")
    count = int(value)
    if not low <= count <= high:
        raise ValueError(f"{name}={count}; expected an integer from {low} to {high}: {meaning}")
    return count


def _asymmetry(S: NDArray[np.float64]) -> float:
    """Largest difference from the mirror image."""
    blocks = (slice(start, start + _BLOCK_ROWS) for start in range(0, len(S), _BLOCK_ROWS))
    return float(max(np.abs(S[rows] - S[:, rows].T).max() for rows in blocks))
