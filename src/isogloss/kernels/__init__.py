"""Compiled loops: contiguous arrays in, arrays out, the GIL released while they run.

They know nothing of estimators and check shapes only; each has a slow NumPy twin in ``tests/oracles``.
"""

from isogloss.kernels._kernels import (
    expect_active,
    list_active,
    normalise_log_joint,
    quadratic_features,
)

__all__ = ["expect_active", "list_active", "normalise_log_joint", "quadratic_features"]
