"""The base of estimators whose sums are computed by an engine."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from isogloss._estimator import N_JOBS, POSITIVE_INT, Constraints
from isogloss.engine._base import Engine, Source
from isogloss.engine._local import LocalEngine
from isogloss.engine._sources import Rows

ENGINE_CONSTRAINTS: Constraints = {
    "n_jobs": N_JOBS,
    "batch_rows": [POSITIVE_INT],
    "engine": [Engine, None],
}


class EngineMixin:
    """An estimator that runs where its ``engine`` is: on ``n_jobs`` threads of this process by default."""

    engine: Engine | None
    n_jobs: int | None = None

    _jobs_over_batches: ClassVar[bool] = True
    """Whether ``n_jobs`` threads share out batches; else they share the work inside of each."""

    def _engine(self) -> Engine:
        if self.engine is not None:
            return self.engine
        return LocalEngine(self.n_jobs if self._jobs_over_batches else None)


class BatchesMixin(EngineMixin):
    """An estimator that cuts data in memory into batches of ``batch_rows`` rows."""

    batch_rows: int

    def _engine_and_source(self, data: Any, check: Callable[[Any], Any]) -> tuple[Engine, Source[Any]]:
        """The engine, and a source that it holds: the one that was given, or checked data in batches."""
        engine = self._engine()
        return engine, engine.persist(data if isinstance(data, Source) else self._batches(check(data)))

    def _batches(self, *data: Any) -> Source[Any]:
        """Aligned data in batches of ``batch_rows`` rows."""
        return Rows(*data, batch_rows=self.batch_rows)
