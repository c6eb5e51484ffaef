"""Expected counts: what an E-step leaves behind for the M-step.

The sums are expectations under one set of parameters and mean nothing beside sums taken under
another, so each carries the identity of the parameters it was computed under, and ``merge`` refuses
to mix them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


class ExpectedCounts:
    r"""Named expectation sums, with the two numbers that make the bound.

    Parameters
    ----------
    tables : mapping of str to array
        Sums over rows of expected sufficient statistics. Float64 arrays are taken over, not copied:
        ``merge`` adds into them.
    rows : float
        Number of rows, or their total weight.
    entropy : float
        :math:`H(q)`, summed over rows.
    log_likelihood : float or None
        :math:`\log p(x \mid \theta)` summed over rows, when the E-step was exact and so knows it.
    parameters_id : str
        Identity of the parameters, see :func:`isogloss.stats.fingerprint`.
    """

    def __init__(
        self,
        tables: Mapping[str, NDArray[Any]],
        *,
        rows: float,
        entropy: float,
        log_likelihood: float | None = None,
        parameters_id: str = "",
    ) -> None:
        self.tables: dict[str, Array] = {
            name: np.asarray(table, dtype=np.float64) for name, table in tables.items()
        }
        self.rows = float(rows)
        self.entropy = float(entropy)
        self.log_likelihood = None if log_likelihood is None else float(log_likelihood)
        self.parameters_id = parameters_id

    def __getitem__(self, name: str) -> Array:
        return self.tables[name]

    def update(self, batch: ExpectedCounts) -> Self:
        """Add the expectations of one more batch; the same as :meth:`merge`."""
        return self.merge(batch)

    def merge(self, other: ExpectedCounts) -> Self:
        """Add expectations taken under the same parameters."""
        self._check_same_kind(other)
        for name, table in self.tables.items():
            table += other.tables[name]
        self.rows += other.rows
        self.entropy += other.entropy
        if self.log_likelihood is not None:
            self.log_likelihood = (
                None if other.log_likelihood is None else self.log_likelihood + other.log_likelihood
            )
        return self

    def _check_same_kind(self, other: ExpectedCounts) -> None:
        if self.parameters_id != other.parameters_id:
            raise ValueError(
                f"expected counts were taken under different parameters ({self.parameters_id or 'none'} and "
                f"{other.parameters_id or 'none'}); run the E-step again under the same ones"
            )
        if _shapes(self.tables) != _shapes(other.tables):
            raise ValueError(
                f"expected counts of another model: tables {_shapes(other.tables)} do not add to "
                f"{_shapes(self.tables)}"
            )

    def under(self, parameters_id: str) -> ExpectedCounts:
        """The same sums, declared to belong to ``parameters_id``; the tables are copied.

        Incremental EM uses this to add, on purpose, sums that shards took at different times.
        """
        return ExpectedCounts(
            {name: table.copy() for name, table in self.tables.items()},
            rows=self.rows,
            entropy=self.entropy,
            log_likelihood=self.log_likelihood,
            parameters_id=parameters_id,
        )

    def blend(
        self, other: ExpectedCounts, mine: float, others: float, parameters_id: str = ""
    ) -> ExpectedCounts:
        """Weighted sum ``mine * self + others * other``, as stepwise (online) EM takes it.

        ``other`` may hold tables that are not needed here; they are left out.
        """
        if not _shapes(self.tables).items() <= _shapes(other.tables).items():
            raise ValueError(
                f"expected counts of another model: tables {_shapes(other.tables)} do not blend into "
                f"{_shapes(self.tables)}"
            )
        likelihoods = self.log_likelihood, other.log_likelihood
        return ExpectedCounts(
            {name: mine * table + others * other.tables[name] for name, table in self.tables.items()},
            rows=mine * self.rows + others * other.rows,
            entropy=mine * self.entropy + others * other.entropy,
            log_likelihood=None
            if likelihoods[0] is None or likelihoods[1] is None
            else mine * likelihoods[0] + others * likelihoods[1],
            parameters_id=parameters_id,
        )

    def arrays(self) -> dict[str, NDArray[Any]]:
        """The whole state as named arrays."""
        log_likelihood = math.nan if self.log_likelihood is None else self.log_likelihood
        return {f"table.{name}": table for name, table in self.tables.items()} | {
            "scalars": np.array([self.rows, self.entropy, log_likelihood]),
            "parameters_id": np.frombuffer(self.parameters_id.encode(), dtype=np.uint8),
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Self:
        """The expected counts that gave these arrays."""
        rows, entropy, log_likelihood = arrays["scalars"].tolist()
        return cls(
            {key.removeprefix("table."): a.copy() for key, a in arrays.items() if key.startswith("table.")},
            rows=rows,
            entropy=entropy,
            log_likelihood=None if math.isnan(log_likelihood) else log_likelihood,
            parameters_id=arrays["parameters_id"].tobytes().decode(),
        )


def _shapes(tables: Mapping[str, Array]) -> dict[str, tuple[int, ...]]:
    return {name: table.shape for name, table in tables.items()}
