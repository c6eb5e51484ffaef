"""Three ways to take the E-step: in full, over active lists, over one shard at a time.

Each is an improvement of the bound in ``q`` (Neal and Hinton, 1998), so the loop treats them alike.
"""

from __future__ import annotations

from functools import partial
from typing import Any, Generic, Protocol, TypeVar

from isogloss.em._model import EMModel, parameters_id
from isogloss.engine import Engine, Source
from isogloss.stats import ExpectedCounts

P = TypeVar("P")
P_contra = TypeVar("P_contra", contravariant=True)


class Expectation(Protocol[P_contra]):
    """An E-step over a whole source."""

    steps_per_sweep: int
    """Calls that look at every row once; convergence is judged over that many."""

    remembers: bool
    """Whether a call changes the result of the next one, so that it cannot be tried and taken back."""

    kind: str
    """Kind of the last step, for the trace: ``full``, ``sparse``, ``refresh`` or ``shard``."""

    def __call__(self, parameters: P_contra) -> ExpectedCounts:
        """The expected counts to hand to the M-step."""

    def settled(self) -> bool:
        """Return whether a small gain means convergence; False asks for one more, fuller, call."""


class FullExpectation(Generic[P]):
    """Every row, every hidden value."""

    steps_per_sweep = 1
    remembers = False
    kind = "full"

    def __init__(self, model: EMModel[P], source: Source[Any], engine: Engine) -> None:
        self.model, self.source, self.engine = model, engine.persist(source), engine

    def __call__(self, parameters: P) -> ExpectedCounts:
        """One pass over the data."""
        leaf = partial(_expect, self.model.expect)
        return self.engine.map_reduce(leaf, _merge, self.source, parameters, parameters_id(parameters))

    def settled(self) -> bool:
        """Always: nothing was left out."""
        return True


class SparseExpectation(Generic[P]):
    """Active lists, refreshed every ``refresh`` calls; in full while the lists would be long.

    Full passes count the hidden values above ``threshold`` as they go. When their share is below what
    the model calls worthwhile, the next pass writes the lists down and the ones after it look at
    nothing else; a refresh that finds longer lists goes back to full passes. The decision rests on
    counts, never on a clock, so a fit can be repeated.
    """

    steps_per_sweep = 1
    remembers = True

    def __init__(
        self,
        model: EMModel[P],
        source: Source[Any],
        engine: Engine,
        *,
        refresh: int = 5,
        threshold: float = 1e-4,
    ) -> None:
        if model.sparse is None:
            raise ValueError("this model has no sparse steps; use the full E-step")
        if refresh < 1:
            raise ValueError(f"refresh={refresh}; expected at least 1")
        if not 0 < threshold < 1:
            raise ValueError(f"threshold={threshold}; expected a probability between 0 and 1")
        self.steps = model.sparse
        self.full = FullExpectation(model, source, engine)
        self.refresh, self.threshold = refresh, threshold
        self.kind = "full"
        self._lists: Any = None
        self._age = 0
        self._worthwhile = False

    def __call__(self, parameters: P) -> ExpectedCounts:
        """One pass, over the lists if there are fresh ones."""
        if self._lists is not None and self._age < self.refresh:
            self._age += 1
            self.kind = "sparse"
            leaf = partial(_expect, self.steps.expect_active)
            return self._sum(leaf, self._lists, parameters)
        if self._worthwhile:
            statistic = self._write_lists(parameters)
        else:
            self.kind = "full"
            statistic = self.full(parameters)
        active, possible = statistic["active"]
        self._worthwhile = active < self.steps.worthwhile * possible
        if not self._worthwhile:
            self._lists = None
        return statistic

    def settled(self) -> bool:
        """Only after a pass over everything; otherwise the next call makes one."""
        if self.kind == "sparse":
            self._age = self.refresh
            return False
        return True

    def _write_lists(self, parameters: P) -> ExpectedCounts:
        self.kind, self._age = "refresh", 1
        self._lists = self.full.engine.map(self.steps.activate, self.full.source, parameters, self.threshold)
        return self._sum(_listed_statistic, self._lists, parameters)

    def _sum(self, leaf: Any, source: Source[Any], parameters: P) -> ExpectedCounts:
        identity = parameters_id(parameters)
        total: ExpectedCounts = self.full.engine.map_reduce(leaf, _merge, source, parameters, identity)
        return total


class IncrementalExpectation(Generic[P]):
    """One shard per call, in turn; the other shards keep the sums of their last visit.

    The first call visits every shard, because the bound needs them all.
    """

    remembers = True

    def __init__(self, model: EMModel[P], source: Source[Any], engine: Engine) -> None:
        self.engine = engine
        self.leaf = partial(_expect, model.expect)
        self.shards = [engine.persist(_OneBatch(load)) for load in source.loaders()]
        self.steps_per_sweep = len(self.shards)
        self.kind = "full"
        self._sums: list[ExpectedCounts] = []
        self._turn = 0

    def __call__(self, parameters: P) -> ExpectedCounts:
        """Refresh the sums of one shard and give the sums of all."""
        if not self._sums:
            self._sums = [self._visit(shard, parameters) for shard in self.shards]
            return self._total(parameters_id(parameters))
        self.kind = "shard"
        self._sums[self._turn] = self._visit(self.shards[self._turn], parameters)
        self._turn = (self._turn + 1) % len(self.shards)
        return self._total("incremental")

    def settled(self) -> bool:
        """Always: convergence is judged over a whole sweep."""
        return True

    def _visit(self, shard: Source[Any], parameters: P) -> ExpectedCounts:
        return self.engine.map_reduce(self.leaf, _merge, shard, parameters, parameters_id(parameters))

    def _total(self, identity: str) -> ExpectedCounts:
        total = self._sums[0].under(identity)
        for sums in self._sums[1:]:
            total.merge(sums.under(identity))
        if identity == "incremental":
            total.log_likelihood = None
        return total


class _OneBatch:
    def __init__(self, load: Any) -> None:
        self.load = load

    def loaders(self) -> list[Any]:
        return [self.load]


def _expect(step: Any, batch: Any, parameters: Any, identity: str) -> ExpectedCounts:
    statistic: ExpectedCounts = step(batch, parameters)
    statistic.parameters_id = identity
    return statistic


def _listed_statistic(lists: Any, _parameters: Any, identity: str) -> ExpectedCounts:
    """A copy, because the tree of sums adds into its leaves and the lists are used again."""
    statistic: ExpectedCounts = lists.statistic
    return statistic.under(identity)


def _merge(left: ExpectedCounts, right: ExpectedCounts) -> ExpectedCounts:
    return left.merge(right)
