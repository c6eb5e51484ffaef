"""Which models train one after the other, and for how long."""

from __future__ import annotations

import dataclasses
from typing import Any

from isogloss.alignment.steps import MODELS, AlignmentParameters

__all__ = ["Progress", "Stage", "parse_schedule"]


@dataclasses.dataclass(frozen=True)
class Stage:
    """One model and its number of iterations."""

    model: str
    iterations: int


@dataclasses.dataclass(frozen=True)
class Progress:
    """Where training stands: stage by number, iterations done in it, and what was learned.

    Handed to ``on_iteration`` after every iteration; given back as ``resume`` it goes on from there.
    """

    stage: int
    iteration: int
    parameters: AlignmentParameters


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
        if model not in MODELS or not number.isdigit():
            raise ValueError(
                f"schedule={schedule!r}: {part.strip()!r} is not a stage; expected MODEL:ITERATIONS with a "
                f"model of {', '.join(MODELS)}, for example '1:3,hmm:5'"
            )
        stages.append(Stage(model, int(number)))
    return tuple(stages)
