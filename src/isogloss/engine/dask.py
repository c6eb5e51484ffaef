"""Sums over batches on the workers of a ``dask.distributed`` cluster.

Batches are loaded on the workers once and stay there. Every iteration broadcasts the parameters,
takes one statistic per batch where the batch lies, and adds the statistics in a tree on the workers,
so one statistic in all travels back. Because a batch is the result of a task (its loader), a worker
that dies takes nothing with it that dask cannot compute again.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Any, Self, TypeVar

from isogloss.engine.base import Source
from isogloss.exceptions import EngineError

__all__ = ["DaskEngine"]

S = TypeVar("S")
logger = logging.getLogger(__name__)


class DaskEngine:
    """Run sums on a dask cluster (install ``isogloss[dask]``).

    Parameters
    ----------
    client : distributed.Client
        A connected client, for example ``Client(LocalCluster())``.
    retries : int
        How often a whole sum is started again when workers were lost in a way that the scheduler could
        not repair by itself (the broadcast parameters died with them, say).
    """

    def __init__(self, client: Any, *, retries: int = 3) -> None:
        self.client = client
        self.retries = retries

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self

    def map_reduce(
        self,
        leaf: Callable[..., S],
        combine: Callable[[S, S], S],
        source: Source[Any],
        *broadcast: Any,
    ) -> S:
        """Combine ``leaf(batch, *broadcast)`` over all batches, in a tree on the workers."""
        placed = self.persist(source)

        def attempt() -> S:
            level = self._submit_leaves(leaf, placed, broadcast)
            while len(level) > 1:
                level = [
                    self.client.submit(combine, *pair, pure=False) if len(pair) == 2 else pair[0]
                    for pair in (level[k : k + 2] for k in range(0, len(level), 2))
                ]
            result: S = level[0].result()
            return result

        return self._with_retries(attempt)

    def map(self, leaf: Callable[..., Any], source: Source[Any], *broadcast: Any) -> _Placed:
        """The values ``leaf(batch, *broadcast)``, left on the workers."""
        placed = self.persist(source)

        def attempt() -> _Placed:
            futures = self._submit_leaves(leaf, placed, broadcast)
            for future in futures:
                self._wait(future)
            return _Placed(futures)

        return self._with_retries(attempt)

    def persist(self, source: Source[Any]) -> _Placed:
        """Load every batch on some worker; a source that is there already is left alone."""
        if isinstance(source, _Placed):
            return source
        loaders = source.loaders()
        if not loaders:
            raise ValueError("the source has no batches; expected at least one")
        return _Placed([self.client.submit(_load, loader, pure=False) for loader in loaders])

    def _submit_leaves(
        self, leaf: Callable[..., Any], placed: _Placed, broadcast: tuple[Any, ...]
    ) -> list[Any]:
        values = [self.client.scatter(value, broadcast=True, hash=False) for value in broadcast]
        return [self.client.submit(leaf, future, *values, pure=False) for future in placed.futures]

    def _wait(self, future: Any) -> None:
        error = future.exception()
        if error is not None:
            raise error

    def _with_retries(self, attempt: Callable[[], S]) -> S:
        from concurrent.futures import CancelledError

        from distributed.comm.core import CommClosedError
        from distributed.scheduler import KilledWorker

        lost = (CancelledError, CommClosedError, KilledWorker, TimeoutError)
        for left in range(self.retries, -1, -1):
            try:
                return attempt()
            except lost as error:
                if not left:
                    raise EngineError(
                        f"the cluster lost its workers {self.retries + 1} times in one sum ({error!r}); "
                        "check their memory limits and logs"
                    ) from error
                logger.warning("workers were lost during a sum (%r); starting it again", error)
        raise AssertionError("unreachable")


class _Placed:
    """Batches that lie on workers, as futures."""

    def __init__(self, futures: Sequence[Any]) -> None:
        self.futures = list(futures)

    def loaders(self) -> Sequence[Callable[[], Any]]:
        """Callables that bring one batch each to this process."""
        return [future.result for future in self.futures]


def _load(loader: Callable[[], Any]) -> Any:
    return loader()
