"""C++ kernels: contiguous arrays in, arrays out, with the GIL released.

They know nothing about estimators and check only shapes. Each has a slow NumPy twin in ``tests/oracles``.
"""

from isogloss.kernels._kernels import *  # noqa: F403  (the stub lists them)
