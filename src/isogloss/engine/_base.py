"""The two seams between a model and the place where its sums are taken."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Protocol, TypeVar, runtime_checkable

B = TypeVar("B")
B_co = TypeVar("B_co", covariant=True)
S = TypeVar("S")

Loader = Callable[[], B]
"""A small picklable callable that returns one batch when a worker calls it."""


@runtime_checkable
class Source(Protocol[B_co]):
    """Batches that can be read repeatedly and independently.

    ``loaders()`` returns one callable per batch. The callables are sent to the workers of a cluster, and
    reload the batches of a lost worker.
    """

    def loaders(self) -> Sequence[Callable[[], B_co]]:
        """Return one callable per batch, always in the same order."""


@runtime_checkable
class Engine(Protocol):
    """Computes sums over batches."""

    def map_reduce(
        self, leaf: Callable[..., S], combine: Callable[[S, S], S], source: Any, *broadcast: Any
    ) -> S:
        """Combine ``leaf(batch, *broadcast)`` over all batches of the source.

        ``leaf`` must not change its batch and must return a new object, because ``combine`` may change and
        return its first argument. The shape of the reduction tree depends on the number of
        batches alone, so the result does not depend on the number of workers.
        """

    def map(self, leaf: Callable[..., Any], source: Any, *broadcast: Any) -> Any:
        """Return a source of the values ``leaf(batch, *broadcast)``, which stay where they were computed."""

    def persist(self, source: Any) -> Any:
        """Return the source, loaded once if that pays: the workers of a cluster keep their batches."""


def tree_reduce(values: Iterable[S], combine: Callable[[S, S], S]) -> S:
    """Combine in a balanced tree while holding only ``log2(n)`` partial results.

    Partial results are kept like the digits of a binary counter: two of equal height are combined into one
    of the next height, in order, so the tree depends only on the number of values.
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
