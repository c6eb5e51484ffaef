r"""The tree that fits best: edges of a maximal spanning tree under mutual information.

.. math:: I(X; Y) = \sum_{x,y} \hat p(x,y) \log\frac{\hat p(x,y)}{\hat p(x)\,\hat p(y)}

(C. K. Chow and C. N. Liu, 1968). No other tree gives the rows a higher likelihood.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import xlogy

from isogloss.graphical._rows import Codes, encode
from isogloss.graphical._structure import Graph, Structure

Array = NDArray[np.float64]

_BLOCK_ROWS = 16_384


def chow_liu(graph: Graph, rows: Any, *, root: str | None = None) -> Structure:
    """The tree over the variables that gives rows the highest likelihood.

    Its variables come in the order in which they join the tree, so further rows for it should name their
    columns.

    Parameters
    ----------
    graph : Structure or BayesianNetwork
        The variables; edges are not looked at.
    rows : rows of any form
        What :func:`~isogloss.graphical.encode` takes. Where cells are missing each pair of variables
        counts the rows that observe both.
    root : str, optional
        The variable from which edges point away; the first by default.

    Examples
    --------
    >>> from isogloss.graphical import student
    >>> from isogloss.graphical import sample
    >>> chow_liu(student(), sample(student(), 5000, random_state=0), root="G").edges
    (('G', 'L'), ('G', 'I'), ('I', 'S'), ('G', 'D'))
    """
    first = 0 if root is None else graph.index(root)
    weights = mutual_information(graph, rows)
    parents = _spanning_tree(weights, first)
    names = graph.names
    order = [first, *(v for v in parents)]
    return Structure(
        [graph.variables[v] for v in order], {names[v]: [names[parent]] for v, parent in parents.items()}
    )


def mutual_information(graph: Graph, rows: Any) -> Array:
    """Mutual information of every pair of variables in nats; the diagonal is the entropy.

    Examples
    --------
    >>> from isogloss.graphical import student
    >>> from isogloss.graphical import sample
    >>> weights = mutual_information(student(), sample(student(), 5000, random_state=0))
    >>> bool(weights[1, 3] > weights[0, 3])
    True
    """
    starts = np.concatenate([[0], np.cumsum(graph.cards)])
    pairs = _pair_counts(encode(graph, rows), starts)
    bounds = list(itertools.pairwise(starts.tolist()))
    weights = np.zeros((len(bounds), len(bounds)))
    for i, (a, b) in enumerate(bounds):
        for j, (c, d) in enumerate(bounds[: i + 1]):
            weights[i, j] = weights[j, i] = _information(pairs[a:b, c:d])
    return weights


def _pair_counts(codes: Codes, starts: NDArray[np.int64]) -> Array:
    """Count the co-occurrences of all pairs of states by products of indicator matrices."""
    total = np.zeros((int(starts[-1]), int(starts[-1])))
    for block in _blocks(codes):
        indicators = np.zeros((len(block), len(total)))
        row, column = np.nonzero(block >= 0)
        indicators[row, starts[column] + block[row, column]] = 1.0
        total += indicators.T @ indicators
    return total


def _blocks(codes: Codes) -> Iterable[Codes]:
    return (codes[start : start + _BLOCK_ROWS] for start in range(0, len(codes), _BLOCK_ROWS))


def _information(table: Array) -> float:
    n = table.sum()
    if n == 0:
        return 0.0
    sides = (
        xlogy(table.sum(axis=0), table.sum(axis=0)).sum() + xlogy(table.sum(axis=1), table.sum(axis=1)).sum()
    )
    return max(0.0, float((xlogy(table, table).sum() - sides) / n + np.log(n)))


def _spanning_tree(weights: Array, root: int) -> dict[int, int]:
    """The parent of every other variable, in the order in which they join (Prim's algorithm)."""
    best, nearest = weights[root].copy(), np.full(len(weights), root)
    joined = np.zeros(len(weights), dtype=bool)
    joined[root] = True
    parents: dict[int, int] = {}
    while len(parents) < len(weights) - 1:
        v = int(np.where(joined, -np.inf, best).argmax())
        parents[v], joined[v] = int(nearest[v]), True
        closer = ~joined & (weights[v] > best)
        best[closer], nearest[closer] = weights[v][closer], v
    return parents
