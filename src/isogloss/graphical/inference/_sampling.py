"""Rows drawn from a network, and posteriors estimated from weighted ones.

Exact inference is the better answer wherever it is possible; weighted rows are for networks whose tables on
the way would not fit into memory.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isogloss.graphical._rows import Codes, code_type
from isogloss.graphical._table import Table
from isogloss.graphical.inference._relevance import Relevance, bits, mask_of
from isogloss.graphical.network import BayesianNetwork

Array = NDArray[np.float64]


def sample(network: BayesianNetwork, n: int, *, random_state: Any = None) -> Codes:
    """Draw independent rows, each variable after its parents.

    Parameters
    ----------
    network : BayesianNetwork
        Where the rows come from.
    n : int
        How many.
    random_state : int, Generator or None
        What :func:`numpy.random.default_rng` takes.

    Returns
    -------
    array of codes, shape (n, number of variables)
        In the order of ``network.variables``; :func:`~isogloss.graphical.decode` names the states.

    Examples
    --------
    >>> from isogloss.graphical import student
    >>> rows = sample(student(), 10_000, random_state=0)
    >>> (rows[:, student().index("I")] == 1).mean().round(2)
    np.float64(0.3)
    """
    if n < 0:
        raise ValueError(f"n={n} rows; expected at least 0")
    rng = np.random.default_rng(random_state)
    rows = np.zeros((n, len(network)), dtype=code_type(network))
    for v, family in enumerate(Relevance(network).families):
        rows[:, v] = _draw(_cumulated(network, rows, v, family), rng)
    return rows


@dataclasses.dataclass(frozen=True)
class WeightedEstimate:
    """A posterior estimated from weighted rows.

    ``effective_rows`` is the number of equally weighted rows that would be as good; ``probability`` estimates
    that of the evidence.
    """

    table: Table
    effective_rows: float
    probability: float


def likelihood_weighting(
    network: BayesianNetwork,
    variables: str | Sequence[str],
    evidence: Mapping[str, str] | None = None,
    *,
    n: int = 10_000,
    random_state: Any = None,
) -> WeightedEstimate:
    """Estimate a posterior: observed variables are fixed, and rows weighted by how probable that is.

    Parameters
    ----------
    network : BayesianNetwork
        The network.
    variables : str or sequence of str
        The variables to query jointly.
    evidence : dict of str to str, optional
        Observed states.
    n : int
        Rows to draw.
    random_state : int, Generator or None
        What :func:`numpy.random.default_rng` takes.

    Examples
    --------
    >>> from isogloss.graphical import student
    >>> found = likelihood_weighting(student(), "I", {"G": "g3"}, n=100_000, random_state=0)
    >>> round(found.table["i1"], 2), round(found.probability, 2)
    (0.08, 0.35)
    """
    names = (variables,) if isinstance(variables, str) else tuple(variables)
    wanted = [network.index(name) for name in names]
    if not wanted or n < 1:
        raise ValueError(f"{len(wanted)} variables and n={n} rows; expected at least one of each")
    fixed = {network.index(name): network.variable(name).code(s) for name, s in (evidence or {}).items()}
    rows, log_weights = _weighted_rows(network, wanted, fixed, n, np.random.default_rng(random_state))
    highest = log_weights.max(initial=-np.inf)
    if highest == -np.inf:
        raise ValueError(
            f"none of {n} rows agrees with the evidence, which is impossible or very improbable; draw more "
            "rows, or use exact inference"
        )
    weights = np.exp(log_weights - highest)
    shape = tuple(int(network.cards[v]) for v in wanted)
    cells = np.ravel_multi_index(tuple(rows[:, v] for v in wanted), shape)
    sums = np.bincount(cells, weights, minlength=int(np.prod(shape))).reshape(shape)
    return WeightedEstimate(
        Table(sums / weights.sum(), [network.variables[v] for v in wanted]),
        float(weights.sum() ** 2 / (weights**2).sum()),
        float(weights.mean() * np.exp(highest)),
    )


def _weighted_rows(
    network: BayesianNetwork,
    wanted: Sequence[int],
    fixed: Mapping[int, int],
    n: int,
    rng: np.random.Generator,
) -> tuple[Codes, Array]:
    relevance = Relevance(network)
    rows = np.zeros((n, len(network)), dtype=code_type(network))
    log_weights = np.zeros(n)
    for v in bits(relevance.needed(mask_of(fixed), mask_of(wanted))):
        family = relevance.families[v]
        if v not in fixed:
            rows[:, v] = _draw(_cumulated(network, rows, v, family), rng)
            continue
        rows[:, v] = fixed[v]
        with np.errstate(divide="ignore"):
            log_weights += np.log(network.cpds[v].values[tuple(rows[:, member] for member in family)])
    return rows, log_weights


def _cumulated(network: BayesianNetwork, rows: Codes, v: int, family: Sequence[int]) -> Array:
    """Cumulated probabilities of a variable in every row, given the columns of its parents."""
    values = network.cpds[v].values.cumsum(axis=-1)
    if len(family) == 1:
        return np.broadcast_to(values, (len(rows), len(values)))
    return values[tuple(rows[:, parent] for parent in family[:-1])]


def _draw(ends: Array, rng: np.random.Generator) -> NDArray[np.intp]:
    """One state per row; a state of probability zero is never drawn."""
    u = rng.random(len(ends)) * ends[:, -1]
    drawn: NDArray[np.intp] = (ends <= u[:, np.newaxis]).sum(axis=1)
    return drawn
