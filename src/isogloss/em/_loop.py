"""The one EM loop: steps in, parameters and a trace out."""

from __future__ import annotations

import dataclasses
import logging
import math
import time
import warnings
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Generic, Literal, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from isogloss.em._expectation import Expectation
from isogloss.em._model import EMModel, FreeEnergy
from isogloss.em._squarem import extrapolate
from isogloss.exceptions import DecreaseError
from isogloss.stats import ExpectedCounts
from isogloss.threads import thread_bound

logger = logging.getLogger(__name__)
P = TypeVar("P")

OnDecrease: TypeAlias = Literal["raise", "warn", "revert"]

BOUND_TOLERANCE = 1e-9
"""Relative fall of the bound that rounding may cause and that is not called a decrease."""


@dataclasses.dataclass(frozen=True)
class Iteration:
    """One line of the trace: what the bound was after E-step number ``index``."""

    index: int
    kind: str
    free_energy: FreeEnergy
    rows: float
    seconds: float

    @property
    def bound(self) -> float:
        """The bound, summed over rows."""
        return self.free_energy.bound


Callback: TypeAlias = Callable[[Iteration, Any], bool | None]
"""Called with every trace line and the parameters it belongs to; a true answer stops the fit."""


@dataclasses.dataclass(frozen=True)
class EMResult(Generic[P]):
    """Parameters, the statistic of the E-step taken under them, and how they were reached."""

    parameters: P
    statistic: ExpectedCounts
    trace: Sequence[Iteration]
    converged: bool
    stopped: bool = False
    """Whether a callback asked for the end."""

    @property
    def bound(self) -> float:
        """The bound at ``parameters``, summed over rows."""
        return self.trace[-1].bound

    @property
    def bounds(self) -> NDArray[np.float64]:
        """The bound at every E-step."""
        return np.array([line.bound for line in self.trace])

    @property
    def n_iter(self) -> int:
        """Number of M-steps, extrapolations that were turned down included."""
        return self.trace[-1].index


@thread_bound
def run_em(
    model: EMModel[P],
    expectation: Expectation[P],
    start: P,
    *,
    tol: float = 1e-3,
    max_iter: int = 100,
    on_decrease: OnDecrease = "raise",
    accelerate: bool = False,
    callbacks: Iterable[Callback] = (),
) -> EMResult[P]:
    """Run EM from ``start`` until a sweep gains less than ``tol`` per row.

    Parameters
    ----------
    model : EMModel
        The steps.
    expectation : Expectation
        How the E-step is taken, over which data and on which engine.
    start : parameters
        Where to begin; the parameters of an earlier result go on from there (a warm start).
    tol : float
        Smallest gain of the bound per row and sweep worth another sweep.
    max_iter : int
        Most sweeps. With 0 the start is only evaluated.
    on_decrease : {'raise', 'warn', 'revert'}
        What to do when the bound falls by more than rounding explains: raise
        :class:`~isogloss.exceptions.DecreaseError`, warn and go on, or stop at the best point so far.
    accelerate : bool
        SQUAREM extrapolation, with full E-steps only. A jump that would lower the bound is dropped for
        the plain step, and convergence takes two gains below ``tol`` in a row.
    callbacks : iterable of callables
        Each is called as ``callback(iteration, parameters)`` after every E-step.
    """
    if on_decrease not in ("raise", "warn", "revert"):
        raise ValueError(f"on_decrease={on_decrease!r}; expected 'raise', 'warn' or 'revert'")
    climb = _Climb(model, expectation, tuple(callbacks), accelerate)
    stop = climb.evaluate(start, accept_fall=True) == "stop"
    per_sweep = expectation.steps_per_sweep
    while not stop and climb.steps < max_iter * per_sweep:
        verdict = climb.step()
        if verdict == "fell":
            if on_decrease == "revert":
                logger.warning("the bound fell; going back to the best parameters")
                break
            climb.handle_fall(on_decrease)
            continue
        if verdict == "stop":
            stop = True
        elif climb.slow(tol, per_sweep) and expectation.settled():
            return climb.result(converged=True)
    return climb.result(converged=False, stopped=stop)


@thread_bound
def best_of(results: Iterable[EMResult[P]]) -> EMResult[P]:
    """The result with the highest bound; the earliest of equals."""
    return max(results, key=lambda result: result.bound)


class _Climb(Generic[P]):
    """The moving parts of one run: where it stands, and how it got there."""

    def __init__(
        self,
        model: EMModel[P],
        expectation: Expectation[P],
        callbacks: Sequence[Callback],
        accelerate: bool,
    ) -> None:
        if accelerate and (model.pack is None or model.unpack is None):
            raise ValueError("this model cannot be accelerated: it has no pack and unpack")
        if accelerate and expectation.remembers:
            raise ValueError("acceleration tries steps and takes them back, which needs full E-steps")
        self.model, self.expectation, self.callbacks = model, expectation, callbacks
        self.accelerate = accelerate
        self.steps = 0
        self.trace: list[Iteration] = []
        self.path: list[P] = []
        self.jump_limit = 4.0
        self.parameters: P
        self.statistic: ExpectedCounts
        self.fallen: tuple[P, ExpectedCounts, Iteration] | None = None

    def step(self) -> str:
        """One M-step and the E-step after it: ``ok``, ``fell`` or ``stop``."""
        proposal = self.model.solve(self.statistic, self.parameters)
        if not self.model.climbs:
            del self.statistic  # There is no going back to it, and it may be large.
        self.steps += 1
        if self.accelerate:
            self.path.append(self.parameters)
        if len(self.path) == 2:
            jump = self._jump(proposal)
            self.path.clear()
            if jump is not None:
                verdict = self.evaluate(jump, kind="squarem")
                if verdict != "fell":
                    return verdict
                self.jump_limit = max(self.jump_limit / 2.0, 2.0)
                self.steps += 1
        return self.evaluate(proposal)

    def evaluate(self, parameters: P, *, kind: str | None = None, accept_fall: bool = False) -> str:
        """Take the E-step at ``parameters`` and move there unless the bound falls."""
        began = time.perf_counter()
        statistic = self.expectation(parameters)
        energy = self.model.free_energy(statistic, parameters)
        seconds = time.perf_counter() - began
        line = Iteration(self.steps, kind or self.expectation.kind, energy, statistic.rows, seconds)
        if not math.isfinite(line.bound) and kind != "squarem":
            raise ValueError(
                f"the bound is {line.bound} after {self.steps} steps: the parameters are degenerate; "
                "start elsewhere or regularise more"
            )
        if not accept_fall and not self._holds(line.bound):
            self.fallen = (parameters, statistic, line)
            return "fell"
        return self._move(parameters, statistic, line)

    def handle_fall(self, on_decrease: OnDecrease) -> None:
        """Raise, or warn and go on from the lower point."""
        if self.fallen is None:
            return
        parameters, statistic, line = self.fallen
        message = (
            f"the bound fell from {self.trace[-1].bound:.12g} to {line.bound:.12g} at step {self.steps}: "
            "a step of the model does not do what it says"
        )
        if on_decrease == "raise":
            raise DecreaseError(message)
        warnings.warn(message, ConvergenceWarning, stacklevel=3)
        self._move(parameters, statistic, line)

    def slow(self, tol: float, per_sweep: int) -> bool:
        """Return whether the last sweep gained less than ``tol`` per row.

        With acceleration the one before as well: a jump may gain next to nothing where a step gains more.
        """
        sweeps = 2 if self.accelerate else 1
        return all(self._gain_per_row(per_sweep, back) < tol for back in range(sweeps))

    def _gain_per_row(self, per_sweep: int, back: int) -> float:
        """Gain of the sweep that ended ``back`` E-steps ago; infinite where there was no whole one."""
        if len(self.trace) <= per_sweep + back:
            return math.inf
        last, before = self.trace[-1 - back], self.trace[-1 - back - per_sweep]
        return (last.bound - before.bound) / last.rows

    def result(self, *, converged: bool, stopped: bool = False) -> EMResult[P]:
        return EMResult(self.parameters, self.statistic, tuple(self.trace), converged, stopped)

    def _jump(self, proposal: P) -> P | None:
        pack, unpack = self.model.pack, self.model.unpack
        if pack is None or unpack is None:
            return None
        theta0, theta1, theta2 = (pack(p) for p in (*self.path, proposal))
        found = extrapolate(theta0, theta1, theta2, limit=self.jump_limit)
        if found is None:
            return None
        jump, length = found
        if length == self.jump_limit:
            self.jump_limit *= 4.0
        return unpack(jump, proposal)

    def _holds(self, bound: float) -> bool:
        before = self.trace[-1].bound
        if not self.model.climbs:
            return math.isfinite(bound)
        return math.isfinite(bound) and bound >= before - BOUND_TOLERANCE * max(1.0, abs(before))

    def _move(self, parameters: P, statistic: ExpectedCounts, line: Iteration) -> str:
        self.parameters, self.statistic = parameters, statistic
        self.trace.append(line)
        logger.debug("step %d (%s): bound %.10g", line.index, line.kind, line.bound)
        stops = [callback(line, parameters) for callback in self.callbacks]
        return "stop" if any(stops) else "ok"
