"""Training of an ensemble: which models it has, and where each of them stands."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from isogloss.alignment._bitext import Bitext
from isogloss.alignment.models import OnIteration, Progress
from isogloss.em import Iteration

Fit: TypeAlias = Callable[[Bitext, OnIteration | None, Progress | None], bool]
"""Trains one aligner and returns whether it was stopped."""


def member_settings(ensemble: Sequence[int | str], prefix: int | None, stems: bool) -> list[dict[str, Any]]:
    """Settings of the further aligners, each once, without those that ``prefix`` or ``stems`` makes useless.

    Examples
    --------
    >>> member_settings((4, "stems", 4), None, False)
    [{'prefix': 4, 'stems': False}, {'prefix': None, 'stems': True}]
    >>> member_settings((4, 3, "stems"), 4, False), member_settings(("stems",), None, True)
    ([{'prefix': 3, 'stems': False}], [])
    """
    settings: list[dict[str, Any]] = []
    for member in dict.fromkeys(ensemble):
        if isinstance(member, str):
            if prefix is None and not stems:
                settings.append({"prefix": None, "stems": True})
        elif prefix is None or member < prefix:
            settings.append({"prefix": int(member), "stems": False})
    return settings


class EnsembleTraining:
    """Trains the aligners of an ensemble one after the other, and resumes where it was interrupted.

    An aligner that had been finished before the interruption repeats its last iteration, which restores its
    counts.

    Parameters
    ----------
    on_iteration : callable (Progress, Iteration) -> bool or None
        Called after every iteration of every aligner; a true answer stops.
    resume : Progress, optional
        Where to go on.
    """

    def __init__(self, on_iteration: OnIteration | None, resume: Progress | None) -> None:
        self.on_iteration, self.resume = on_iteration, resume
        self.member, self.stopped = 0, False
        self._earlier: tuple[Progress, ...] = ()
        self._last: Progress | None = None

    def fit(self, fit: Fit, bitext: Bitext) -> None:
        """Train the next aligner."""
        resume, listener = self.resume, self._advance if self.on_iteration else None
        if resume is None or self.member > resume.member:
            start = None
        elif self.member == resume.member:
            start = dataclasses.replace(resume, member=0, earlier=())
        else:
            start, listener = resume.earlier[self.member], None
        self._last = start
        self.stopped = fit(bitext, listener, start)
        if self._last is not None:
            self._earlier += (self._last,)
        self.member += 1

    def _advance(self, progress: Progress, line: Iteration) -> bool | None:
        self._last = progress
        place = dataclasses.replace(progress, member=self.member, earlier=self._earlier)
        return self.on_iteration(place, line) if self.on_iteration else None
