"""Training of an ensemble: which models it has, and where each of them stands."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import TypeAlias

from isogloss.alignment._bitext import Bitext
from isogloss.alignment.models import OnIteration, Progress
from isogloss.em import Iteration

Fit: TypeAlias = Callable[[Bitext, OnIteration | None, Progress | None], bool]
"""Trains one aligner and returns whether it was stopped."""


def member_prefixes(ensemble: Sequence[int], prefix: int | None) -> list[int]:
    """Numbers of letters of the further aligners, each once, without those that ``prefix`` makes useless.

    Examples
    --------
    >>> member_prefixes((4, 3), None), member_prefixes((4, 3, 3), 4), member_prefixes((), None)
    ([4, 3], [3], [])
    """
    return [int(letters) for letters in dict.fromkeys(ensemble) if prefix is None or letters < prefix]


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
