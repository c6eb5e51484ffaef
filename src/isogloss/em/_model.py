r"""The interface between a model and the EM loop.

EM climbs, by turns in :math:`q` and in :math:`\theta`, the lower bound

.. math:: -F(q, \theta) = E_q[\log p(x, z \mid \theta)] + H(q)
          = \log p(x \mid \theta) - KL\bigl(q \,\|\, p(z \mid x, \theta)\bigr),

so the expected complete log-likelihood, the entropy of :math:`q`, the bound, the log-likelihood and
the gap are tied by two identities, which :class:`FreeEnergy` shows.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from isogloss.stats import ExpectedCounts, fingerprint

P = TypeVar("P")
Array = NDArray[np.float64]


@dataclasses.dataclass(frozen=True)
class FreeEnergy:
    """One evaluation of the bound, summed over rows.

    ``log_likelihood`` and ``kl`` are None where the E-step did not look at every hidden value and so
    does not know them (sparse and incremental EM between two full passes).
    """

    expected_log_joint: float
    entropy: float
    log_prior: float = 0.0
    log_likelihood: float | None = None

    @property
    def bound(self) -> float:
        """The bound, which EM never decreases: expected complete log-likelihood + entropy (+ log prior)."""
        return self.expected_log_joint + self.entropy + self.log_prior

    @property
    def kl(self) -> float | None:
        """Distance of q from the posterior: log-likelihood minus bound; zero after an exact E-step."""
        if self.log_likelihood is None:
            return None
        return self.log_likelihood - self.expected_log_joint - self.entropy


@dataclasses.dataclass(frozen=True)
class SparseSteps(Generic[P]):
    """The two extra steps that sparse EM needs.

    Parameters
    ----------
    activate : callable (batch, parameters, threshold) -> Activated
        A full E-step that also lists, per row, the hidden values whose posterior exceeds the threshold.
    expect_active : callable (Activated, parameters) -> ExpectedCounts
        An E-step over the listed values alone; the posterior of the others stays as it was.
    worthwhile : float
        The share of listed values below which the sparse step surely beats the full one.
    """

    activate: Callable[[Any, P, float], Any]
    expect_active: Callable[[Any, P], ExpectedCounts]
    worthwhile: float = 0.1


@dataclasses.dataclass(frozen=True)
class EMModel(Generic[P]):
    """The steps of one model; pure functions, so that they can run on any worker.

    Parameters
    ----------
    expect : callable (batch, parameters) -> ExpectedCounts
        The E-step of one batch. For sparse EM a table named ``active`` holds two numbers: the hidden
        values that lists would hold, and hidden values in all.
    solve : callable (ExpectedCounts, parameters) -> parameters
        The M-step. It may use the current parameters, so that it can be a partial step that only
        improves (generalised EM) instead of a full maximisation.
    expected_log_joint : callable (ExpectedCounts, parameters) -> float
        ``E_q[log p(x, z | parameters)]``, a function of the sums alone.
    log_prior : callable parameters -> float, optional
        Makes EM climb the posterior instead of the likelihood.
    pack, unpack : callables, optional
        Parameters to an unconstrained vector and back, which acceleration needs.
    sparse : SparseSteps, optional
        What sparse EM needs.
    climbs : bool
        Whether the steps promise that the bound never falls. Steps that do not (two models trained to
        agree, say) are not held to it: a fall is in the trace and nothing more.

    Parameters of a model are a dataclass whose array fields hold all there is to know.
    """

    expect: Callable[[Any, P], ExpectedCounts]
    solve: Callable[[ExpectedCounts, P], P]
    expected_log_joint: Callable[[ExpectedCounts, P], float]
    log_prior: Callable[[P], float] | None = None
    pack: Callable[[P], Array] | None = None
    unpack: Callable[[Array, P], P] | None = None
    sparse: SparseSteps[P] | None = None
    climbs: bool = True

    def free_energy(self, statistic: ExpectedCounts, parameters: P) -> FreeEnergy:
        """The bound of the posterior behind ``statistic`` under ``parameters``.

        The log-likelihood is known only when the statistic was taken under the same parameters.
        """
        same = statistic.parameters_id == parameters_id(parameters)
        return FreeEnergy(
            expected_log_joint=self.expected_log_joint(statistic, parameters),
            entropy=statistic.entropy,
            log_prior=0.0 if self.log_prior is None else self.log_prior(parameters),
            log_likelihood=statistic.log_likelihood if same else None,
        )


def parameters_id(parameters: Any) -> str:
    """Identity of parameters: a digest of the arrays in their fields."""
    values = (getattr(parameters, field.name) for field in dataclasses.fields(parameters))
    return fingerprint(*(value for value in values if isinstance(value, np.ndarray)))
