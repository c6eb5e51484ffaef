"""The two seams between a model and the place where its sums are taken."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Protocol, TypeVar, runtime_checkable

B = TypeVar("B")
B_co = TypeVar("B_co", covariant=True)
S = TypeVar("S")

Loader = Callable[[], B]
"""Something small that can be sent to a worker and gives one batch when called there."""


@runtime_checkable
class Source(Protocol[B_co]):
    """Batches that can be read again and again, each by itself.

    ``loaders()`` gives one callable per batch. It is the callables that travel to the workers of a
    cluster, and a lost worker's batches are loaded again from them.
    """

    def loaders(self) -> Sequence[Callable[[], B_co]]:
        """One callable per batch, always in the same order."""


@runtime_checkable
class Engine(Protocol):
    """Computes sums over batches."""

    def map_reduce(
        self, leaf: Callable[..., S], combine: Callable[[S, S], S], source: Any, *broadcast: Any
    ) -> S:
        """Combine ``leaf(batch, *broadcast)`` over all batches of the source.

        ``leaf`` leaves its batch as it was and gives a new object every time, because ``combine`` may
        change and return its first argument. The shape of the reduction tree depends on the number of
        batches alone, so the result does not depend on the number of workers.
        """

    def map(self, leaf: Callable[..., Any], source: Any, *broadcast: Any) -> Any:
        """A source of the values ``leaf(batch, *broadcast)``, kept where they were computed."""

    def persist(self, source: Any) -> Any:
        """The same source, loaded once where that pays: a cluster's workers keep their batches."""


def tree_reduce(values: Iterable[S], combine: Callable[[S, S], S]) -> S:
    """Combine in a balanced tree while holding only ``log2(n)`` partial results.

    Partial results stand like the digits of a binary counter: two of equal height combine into one of
    the next, in order, so the tree depends on the number of values alone.
    """
    pending: list[tuple[int, S]] = []
    for value in values:
        height = 0
        while pending and pending[-1][0] == height:
            value = combine(pending.pop()[1], value)
            height += 1
        pending.append((height, value))
    if not pending:
        raise ValueError("the source has no batches; expected at least one")
    total = pending.pop()[1]
    while pending:
        total = combine(pending.pop()[1], total)
    return total
