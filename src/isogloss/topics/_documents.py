"""Per-document state between two E-steps, wherever the batch of the document is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar

from isogloss.em import parameters_id
from isogloss.engine import Batches, Engine, Source
from isogloss.stats import ExpectedCounts

P = TypeVar("P")

# Steps after which a cluster may forget how the state of documents was reached.
_LINEAGE = 10


class DocumentExpectation(Generic[P]):
    """An E-step that starts each document where the last one left it.

    ``begin(batch)`` makes the state of a batch, ``advance(state, parameters)`` the next one, and
    ``collect(state, parameters)`` its expected counts. The bound rises because no document starts anew.

    A cluster keeps the states of up to ten steps, so that what is lost can be computed again; then this
    process fetches one and sends it back.
    """

    steps_per_sweep = 1
    remembers = True
    kind = "full"

    def __init__(
        self,
        begin: Callable[[Any], Any],
        advance: Callable[[Any, P], Any],
        collect: Callable[[Any, P], ExpectedCounts],
        source: Source[Any],
        engine: Engine,
        *,
        settles: bool = True,
    ) -> None:
        self.advance, self.collect, self.engine, self.settles = advance, collect, engine, settles
        self.states = engine.map(begin, engine.persist(source))
        self._steps = 0

    def __call__(self, parameters: P) -> ExpectedCounts:
        """One step of every document, and the sums over them."""
        self._steps += 1
        self.states = self.engine.map(self.advance, self.states, parameters)
        if self._steps % _LINEAGE == 0 and not isinstance(self.states, Batches):
            self.states = self.engine.persist(Batches([load() for load in self.states.loaders()]))
        return self.sums(parameters)

    def sums(self, parameters: P) -> ExpectedCounts:
        """The sums of the states that there are."""
        total: ExpectedCounts = self.engine.map_reduce(self.collect, _merge, self.states, parameters)
        total.parameters_id = parameters_id(parameters)
        return total

    def settled(self) -> bool:
        """Return whether a small gain means convergence, which it does not where topics are drawn."""
        return self.settles


def _merge(left: ExpectedCounts, right: ExpectedCounts) -> ExpectedCounts:
    return left.merge(right)
