"""Pictures of a mixture in two dimensions, once or step by step."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import logsumexp

from isogloss.em import Recorder
from isogloss.mixture import SHAPES, MixtureParameters, log_joint
from isogloss.plotting._axes import figure, new_axes

Array = NDArray[np.float64]


def plot_mixture(
    X: ArrayLike,
    parameters: MixtureParameters,
    covariance_type: str,
    *,
    features: tuple[int, int] = (0, 1),
    max_points: int = 3000,
    ax: Any = None,
) -> Any:
    """Rows coloured by the mixture of their posteriors, and an ellipse of two standard deviations each.

    Two features are shown; with more, the ellipses are those of the marginals.
    """
    from matplotlib.colors import to_rgb
    from matplotlib.patches import Ellipse

    ax, rows = new_axes(ax), _thin(np.asarray(X, dtype=np.float64), max_points)
    k, d = parameters.means.shape
    shape, chosen = SHAPES[covariance_type], list(features)
    joint = log_joint(shape, rows, parameters)
    posterior = np.exp(joint - logsumexp(joint, axis=1, keepdims=True))
    palette = np.array([to_rgb(f"C{c % 10}") for c in range(k)])
    colours = np.clip(posterior @ palette, 0, 1)
    ax.scatter(*rows[:, chosen].T, s=4, c=colours, linewidths=0, rasterized=True)
    matrices = shape.expand(parameters.covariances, k, d)
    for c in range(k):
        centre: Any = parameters.means[c, chosen]
        matrix = matrices[c][np.ix_(chosen, chosen)]
        axes, angle = _ellipse(matrix)
        alpha = float(np.clip(0.3 + parameters.weights[c] * k / 2, 0.3, 1.0))
        ax.add_patch(
            Ellipse(centre, *axes, angle=angle, fill=False, color=palette[c], linewidth=2, alpha=alpha)
        )
        ax.plot(*centre, "+", color="black", markersize=8)
    return ax


def plot_mixture_steps(
    X: ArrayLike,
    recorder: Recorder[MixtureParameters],
    covariance_type: str,
    *,
    steps: Sequence[int] | None = None,
    columns: int = 3,
) -> Any:
    """The fit step by step: small pictures of the mixture at chosen steps, each with its bound."""
    last = len(recorder.parameters) - 1
    if last < 0:
        raise ValueError("the recorder is empty; pass it to fit as a callback first")
    chosen = _spread(last) if steps is None else [min(step, last) for step in steps]
    rows = -(-len(chosen) // columns)
    grid = figure(3.4 * columns, 3.2 * rows)
    for place, step in enumerate(chosen):
        ax = grid.add_subplot(rows, columns, place + 1)
        plot_mixture(X, recorder.parameters[step], covariance_type, ax=ax)
        line = recorder.lines[step]
        ax.set_title(f"step {line.index}: bound {line.bound / line.rows:.3f} per row", fontsize=9)
        ax.set_xticks([])
        ax.set_yticks([])
    return grid


def _spread(last: int) -> list[int]:
    """Six steps, close together at first, where most happens."""
    return sorted({round(last * (share**2)) for share in np.linspace(0.0, 1.0, 6)})


def _thin(rows: Array, most: int) -> Array:
    return rows[:: max(1, -(-len(rows) // most))]


def _ellipse(matrix: Array) -> tuple[Array, float]:
    """Axes of two standard deviations to each side, and their angle in degrees."""
    values, vectors = np.linalg.eigh(matrix)
    return 4.0 * np.sqrt(np.maximum(values, 0.0)), float(np.degrees(np.arctan2(vectors[1, 0], vectors[0, 0])))
