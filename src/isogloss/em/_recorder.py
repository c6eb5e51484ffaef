"""A callback that keeps every step of a fit, for pictures and for study."""

from __future__ import annotations

from typing import Any, Generic, TypeVar

from isogloss.em._loop import Iteration

P = TypeVar("P")


class Recorder(Generic[P]):
    """Keeps the trace line and the parameters of every E-step.

    Examples
    --------
    >>> import numpy as np
    >>> from isogloss.mixture import GaussianMixture
    >>> X = np.concatenate([np.full((9, 1), -1.0), np.full((9, 1), 1.0)])
    >>> recorder = Recorder()
    >>> mixture = GaussianMixture(1).fit(X, callbacks=[recorder])
    >>> len(recorder.parameters) == len(mixture.trace_)
    True
    """

    def __init__(self) -> None:
        self.lines: list[Iteration] = []
        self.parameters: list[P] = []

    def __call__(self, line: Iteration, parameters: Any) -> None:
        """Keep one step."""
        self.lines.append(line)
        self.parameters.append(parameters)
