"""Sums over batches on the workers of a ``dask.distributed`` cluster.

Batches are loaded on the workers once and stay there. Every iteration broadcasts the parameters,
computes one statistic per batch where the batch is, and adds the statistics in a tree on the workers, so
only one statistic is sent back. Because a batch is the result of a task (its loader), Dask can compute
again whatever is lost with a worker.
"""

from __future__ import annotations

import copy
import logging
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, Self, TypeVar

from isogloss.engine._base import Source, tree_reduce
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
        How often a whole sum is restarted if workers were lost in a way that the scheduler did not
        repair by itself (for example, a task was running on several workers when they died).

    Notes
    -----
    Loaders travel to the workers inside the tasks, through the scheduler, which keeps them to load a
    lost batch again. That is what :class:`~isogloss.engine.Files` is for: a loader is a path.
    :class:`~isogloss.engine.Rows` and :class:`~isogloss.engine.Batches` carry their rows with them,
    which is fine for some hundred megabytes in all (dask warns about tasks above ten); write more than
    that to files that the workers can reach. Scattering the rows to the workers instead would spare the
    scheduler, but what is scattered cannot be computed again when its worker dies. Broadcast values go
    the same way, once for each sum; a worker gets them from the scheduler or from another worker.

    A task may run twice, and several workers may hold its result, so ``combine`` gets a copy of its first
    argument.

    If the cluster has no workers, calls wait for one; Dask's ``no-workers-timeout`` limits the wait.
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
        merge = partial(self.client.submit, _combine, combine, pure=False)

        def attempt() -> S:
            values = self._broadcast(broadcast)
            total: Any = tree_reduce(self._leaves(leaf, placed.intact(), values), merge)
            result: S = total.result()
            return result

        return self._with_retries(attempt)

    def map(self, leaf: Callable[..., Any], source: Source[Any], *broadcast: Any) -> _Placed:
        """Return the values ``leaf(batch, *broadcast)``, which stay on the workers."""
        placed = self.persist(source)

        def place(which: Sequence[int]) -> list[Any]:
            batches = placed.intact()
            chosen = [batches[k] for k in which]
            return list(self._leaves(leaf, chosen, self._broadcast(broadcast)))

        def attempt() -> _Placed:
            values.wait()
            return values

        values = _Placed(place, len(placed))
        return self._with_retries(attempt)

    def persist(self, source: Source[Any]) -> _Placed:
        """Load every batch on some worker, unless the source is on the workers already."""
        if isinstance(source, _Placed):
            return source
        loaders = source.loaders()
        if not loaders:
            raise ValueError("the source has no batches; expected at least one")

        def place(which: Sequence[int]) -> list[Any]:
            return [self._loaded(loaders[k]) for k in which]

        placed = _Placed(place, len(loaders))
        placed.intact()
        return placed

    def _loaded(self, loader: Callable[[], Any]) -> Any:
        """Return the future of a batch; one that is on a worker stays there."""
        return (
            loader.future() if isinstance(loader, _Fetch) else self.client.submit(_load, loader, pure=False)
        )

    def _broadcast(self, values: tuple[Any, ...]) -> Any:
        """Return all values as one future of a task, which can be repeated; a scatter cannot."""
        return self._loaded(partial(_given, values)) if values else ()

    def _leaves(self, leaf: Callable[..., Any], batches: Sequence[Any], values: Any) -> Iterator[Any]:
        """Yield the futures of the leaves, so that a result can be released once it has been combined."""
        return (self.client.submit(_leaf, leaf, batch, values, pure=False) for batch in batches)

    def _with_retries(self, attempt: Callable[[], S]) -> S:
        from concurrent.futures import CancelledError

        from distributed.comm.core import CommClosedError
        from distributed.scheduler import KilledWorker, NoValidWorkerError, NoWorkerError

        lost = (
            CancelledError,
            CommClosedError,
            KilledWorker,
            NoValidWorkerError,
            NoWorkerError,
            TimeoutError,
        )
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
    """Batches on workers, as futures, and a function that loads any of them again."""

    def __init__(self, place: Callable[[Sequence[int]], list[Any]], n: int) -> None:
        self._place = place
        self._futures: list[Any] = [None] * n

    def __len__(self) -> int:
        return len(self._futures)

    def intact(self) -> list[Any]:
        """Return the futures; lost ones are loaded again."""
        lost = [k for k, f in enumerate(self._futures) if f is None or f.status in ("error", "cancelled")]
        for k, future in zip(lost, self._place(lost) if lost else (), strict=True):
            self._futures[k] = future
        return list(self._futures)

    def wait(self) -> None:
        """Wait for all batches, and raise the error of one that failed."""
        for future in self.intact():
            error = future.exception()
            if error is not None:
                raise error

    def loaders(self) -> Sequence[Callable[[], Any]]:
        """Return callables that fetch one batch each to this process."""
        return [_Fetch(self, k) for k in range(len(self))]


class _Fetch:
    """Fetches a batch from a worker to this process."""

    def __init__(self, placed: _Placed, k: int) -> None:
        self.placed, self.k = placed, k

    def future(self) -> Any:
        return self.placed.intact()[self.k]

    def __call__(self) -> Any:
        return self.future().result()


def _given(values: tuple[Any, ...]) -> tuple[Any, ...]:
    return values


def _load(loader: Callable[[], Any]) -> Any:
    return loader()


def _leaf(leaf: Callable[..., S], batch: Any, values: tuple[Any, ...]) -> S:
    return leaf(batch, *values)


def _combine(combine: Callable[[S, S], S], left: S, right: S) -> S:
    return combine(copy.deepcopy(left), right)
