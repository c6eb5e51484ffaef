"""The one EM loop. Models hand it their steps; it owns stopping, checks, acceleration and the trace."""

from isogloss.em.expectation import (
    Expectation,
    FullExpectation,
    IncrementalExpectation,
    SparseExpectation,
)
from isogloss.em.loop import Callback, EMResult, Iteration, OnDecrease, best_of, run_em
from isogloss.em.model import EMModel, FreeEnergy, SparseSteps, parameters_id
from isogloss.em.recorder import Recorder

__all__ = [
    "Callback",
    "EMModel",
    "EMResult",
    "Expectation",
    "FreeEnergy",
    "FullExpectation",
    "IncrementalExpectation",
    "Iteration",
    "OnDecrease",
    "Recorder",
    "SparseExpectation",
    "SparseSteps",
    "best_of",
    "parameters_id",
    "run_em",
]
