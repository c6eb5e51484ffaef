import numpy as np
from numpy.typing import NDArray

_Float = NDArray[np.float64]

def quadratic_features(x: _Float, kind: int, out: _Float) -> None: ...
def normalise_log_joint(
    log_joint: _Float, weights: _Float, threshold: float, log_norm: _Float
) -> tuple[float, int]: ...
def list_active(
    posterior: _Float,
    threshold: float,
    lengths: NDArray[np.int64],
    indices: NDArray[np.int32],
    free: _Float,
) -> None: ...
def expect_active(
    x: _Float,
    weights: _Float,
    theta: _Float,
    offsets: NDArray[np.int64],
    indices: NDArray[np.int32],
    free: _Float,
    kind: int,
    sums: _Float,
) -> float: ...
