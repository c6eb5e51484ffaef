"""The schedule of training: a sequence of models and their numbers of iterations."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isogloss.alignment.models._fertility_steps import FERTILITY_MODELS, FertilityParameters
from isogloss.alignment.models._pairs import PairTable
from isogloss.alignment.models._steps import MODELS, AlignmentParameters


@dataclasses.dataclass(frozen=True)
class Stage:
    """One model and its number of iterations."""

    model: str
    iterations: int


@dataclasses.dataclass(frozen=True)
class FertilityProgress:
    """The progress of a fertility model: its parameters and the alignments that it searches from.

    ``jumps`` are the expected numbers of jumps by class in the simple model before it.
    """

    parameters: FertilityParameters
    starts: tuple[NDArray[np.int32], NDArray[np.int32]]
    jumps: tuple[NDArray[np.float64], NDArray[np.float64]]


@dataclasses.dataclass(frozen=True)
class Progress:
    """The progress of training: the stage, its iterations so far, and the parameters.

    Handed to ``on_iteration`` after every iteration; given back as ``resume`` it goes on from there. The
    ``table`` is there when pairs are dropped on the way, ``fertility`` when a model of that kind trains.
    ``member`` is the number of the aligner of an ensemble that is being trained, and ``earlier`` has the
    last progress of those before it.
    """

    stage: int
    iteration: int
    parameters: AlignmentParameters
    table: PairTable | None = None
    fertility: FertilityProgress | None = None
    member: int = 0
    earlier: tuple[Progress, ...] = ()


def parse_schedule(schedule: Any) -> tuple[Stage, ...]:
    """Stages from text such as ``'1:3,hmm:5'``.

    Examples
    --------
    >>> parse_schedule("1:3, hmm:5")
    (Stage(model='1', iterations=3), Stage(model='hmm', iterations=5))
    """
    stages = []
    for part in str(schedule).split(","):
        model, _, number = part.strip().lower().partition(":")
        if model not in MODELS | FERTILITY_MODELS or not number.isdigit():
            raise ValueError(
                f"schedule={schedule!r}: {part.strip()!r} is not a stage; expected MODEL:ITERATIONS with a "
                f"model of {', '.join(MODELS | FERTILITY_MODELS)}, for example '1:3,hmm:5'"
            )
        stages.append(Stage(model, int(number)))
    later = [stage.model for stage in split_schedule(stages)[1]]
    if later != sorted(set(later) & FERTILITY_MODELS.keys()) or len(later) == len(stages):
        raise ValueError(
            f"schedule={schedule!r}; expected simple models first, and then 3, 4 and 5 in this order or some "
            "of them, for example '1:5,hmm:5,3:3,4:3'"
        )
    return tuple(stages)


def split_schedule(stages: Sequence[Stage]) -> tuple[tuple[Stage, ...], tuple[Stage, ...]]:
    """The stages up to the first fertility model, and those from there on."""
    fertile = (k for k, stage in enumerate(stages) if stage.model in FERTILITY_MODELS)
    first = next(fertile, len(stages))
    return tuple(stages[:first]), tuple(stages[first:])
