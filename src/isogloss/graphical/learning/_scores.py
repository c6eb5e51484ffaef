r"""Scores of a graph on complete rows, with a penalty for its parameters.

.. math:: \mathrm{BIC} = \sum_v \Bigl(\sum_{c,s} n_{vcs} \log\frac{n_{vcs}}{n_{vc}}\Bigr) - \frac{d}{2}\log n,

with :math:`d` independent parameters, and BDeu, the logarithm of the probability of the rows when every
distribution has a Dirichlet prior that spreads ``sample_size`` imagined rows evenly (D. Heckerman, D. Geiger
and D. M. Chickering, 1995). Both are sums over families, the higher the better, and the same for graphs that
state the same independencies.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, xlogy

from isogloss.graphical._rows import encode
from isogloss.graphical._structure import Graph
from isogloss.graphical.learning._family_counts import FamilyCounts

Array = NDArray[np.float64]


def log_likelihood(graph: Graph, rows: Any) -> float:
    """The largest log-likelihood that the graph can give complete rows."""
    return float(sum(map(_family_likelihood, _tables(_counts(graph, rows)))))


def bic(graph: Graph, rows: Any) -> float:
    """The Bayesian information criterion on the scale of the log-likelihood; higher is better.

    Parameters
    ----------
    graph : Structure or BayesianNetwork
        The graph; probabilities are not used.
    rows : rows of any form, or FamilyCounts
        Complete observations, or their counts.

    Examples
    --------
    >>> from isogloss.graphical import Structure, student
    >>> from isogloss.graphical import sample
    >>> rows = sample(student(), 2000, random_state=0)
    >>> bic(student(), rows) > bic(Structure(student().variables), rows)
    True
    """
    counts = _counts(graph, rows)
    price = graph.n_parameters / 2 * np.log(counts.rows)
    return log_likelihood(graph, counts) - float(price)


def bdeu(graph: Graph, rows: Any, *, sample_size: float = 10.0) -> float:
    """The logarithm of the marginal likelihood under the BDeu prior; higher is better.

    Parameters
    ----------
    graph : Structure or BayesianNetwork
        The graph; probabilities are not used.
    rows : rows of any form, or FamilyCounts
        Complete observations, or their counts.
    sample_size : float
        Imagined rows of the prior.
    """
    if not sample_size > 0:
        raise ValueError(f"sample_size={sample_size}; expected a positive number")
    return float(sum(_family_bdeu(table, sample_size) for table in _tables(_counts(graph, rows))))


def compare_structures(
    graphs: Mapping[str, Graph], rows: Any, *, sample_size: float = 10.0
) -> list[dict[str, Any]]:
    """Scores of several graphs of the same variables, the best BIC first.

    Examples
    --------
    >>> from isogloss.graphical import Structure, student
    >>> from isogloss.graphical import sample
    >>> graphs = {"student": student(), "no edges": Structure(student().variables)}
    >>> [line["name"] for line in compare_structures(graphs, sample(student(), 2000, random_state=0))]
    ['student', 'no edges']
    """
    if isinstance(rows, np.ndarray) and len({graph.variables for graph in graphs.values()}) > 1:
        raise ValueError(
            "the graphs have other variables, or another order, so that codes do not mean the same "
            "in all; give rows with names, see decode"
        )
    lines = []
    for name, graph in graphs.items():
        counts = _counts(graph, rows)
        lines.append(
            {
                "name": name,
                "parameters": graph.n_parameters,
                "log_likelihood": log_likelihood(graph, counts),
                "bic": bic(graph, counts),
                "bdeu": bdeu(graph, counts, sample_size=sample_size),
            }
        )
    return sorted(lines, key=lambda line: -line["bic"])


def _counts(graph: Graph, rows: Any) -> FamilyCounts:
    counts = FamilyCounts(graph)
    counts = counts.merge(rows) if isinstance(rows, FamilyCounts) else counts.update(encode(graph, rows))
    if not counts.rows:
        raise ValueError("there are no rows; expected at least one")
    return counts


def _tables(counts: FamilyCounts) -> list[Array]:
    """Configurations of the parents by states."""
    return [t.table.reshape(-1, t.table.shape[-1]).astype(np.float64) for t in counts.tables]


def _family_likelihood(table: Array) -> float:
    totals = table.sum(axis=1)
    return float(xlogy(table, table).sum() - xlogy(totals, totals).sum())


def _family_bdeu(table: Array, sample_size: float) -> float:
    configurations, states = table.shape
    alpha = sample_size / configurations
    rows = gammaln(alpha) - gammaln(alpha + table.sum(axis=1))
    cells = gammaln(alpha / states + table) - gammaln(alpha / states)
    return float(rows.sum() + cells.sum())
