"""Exact queries of a network: posteriors, probabilities, likelihoods, most probable states."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isogloss.graphical._rows import encode
from isogloss.graphical._table import Table
from isogloss.graphical.inference._batched import WholeTree, log_likelihoods, posteriors
from isogloss.graphical.inference._junction import JunctionTree, elimination_order
from isogloss.graphical.inference._most_probable import Explanation, most_probable
from isogloss.graphical.inference._plans import PosteriorPlan, ProductPlan
from isogloss.graphical.inference._relevance import Relevance, mask_of
from isogloss.graphical.network import BayesianNetwork

Array = NDArray[np.float64]
Evidence = Mapping[str, str]

_MAX_PLANS = 4096


class Inference:
    r"""Exact inference in a discrete network.

    Parameters
    ----------
    network : BayesianNetwork
        The network. It is immutable, so plans and tables are reused between queries.

    Notes
    -----
    A query is answered by eliminating variables: irrelevant tables are left out, the others are sliced at the
    evidence and contracted along an optimised path. The path is cached for queries of the same variables with
    the same observed variables. Time and memory grow with the largest intermediate table, which is
    exponential in the treewidth of the relevant part of the graph.

    Evidence is a dict of states by variable. Impossible evidence (probability zero) is a ``ValueError``.

    Examples
    --------
    >>> from isogloss.graphical import student
    >>> ask = Inference(student())
    >>> print(ask.query("I", {"G": "g3"}))
    I   P(I)
    i0  0.9211
    i1  0.0789
    >>> round(ask.query("I", {"G": "g3", "S": "s1"})["i1"], 3)
    0.578
    >>> round(ask.probability({"L": "l1"}), 3)
    0.502
    >>> ask.map({"L": "l0"}).states
    {'D': 'd1', 'I': 'i0', 'G': 'g3', 'S': 's0'}
    >>> ask.batch("I", [{"G": "g1"}, {"G": "g3"}, {}])["I"].round(3)
    array([[0.387, 0.613],
           [0.921, 0.079],
           [0.7  , 0.3  ]])
    """

    def __init__(self, network: BayesianNetwork) -> None:
        self.network = network
        self._relevance = Relevance(network)
        self._tables = [cpd.values for cpd in network.cpds]
        self._zeros = mask_of(v for v, table in enumerate(self._tables) if not table.all())
        self._whole = WholeTree(self._relevance, self._tables)
        self._plans: dict[Any, Any] = {}

    def query(self, variables: str | Sequence[str], evidence: Evidence | None = None) -> Table:
        """Return the posterior of one variable, or of several jointly, given the evidence.

        Parameters
        ----------
        variables : str or sequence of str
            The variables to query; the axes of the answer are in this order.
        evidence : dict of str to str, optional
            Observed states.

        Returns
        -------
        Table
            Its cells sum to one.
        """
        evidence = evidence or {}
        names = (variables,) if isinstance(variables, str) else tuple(variables)
        plan, axes = self._plan("posterior", names, evidence)
        values = plan(self._codes(evidence))
        if values is None:
            raise self._impossible(evidence)
        return Table(values, axes)

    def joint(self, variables: str | Sequence[str], evidence: Evidence | None = None) -> Table:
        """Return the joint probability of variables and evidence; cells sum to that of the evidence."""
        evidence = evidence or {}
        names = (variables,) if isinstance(variables, str) else tuple(variables)
        plan, axes = self._plan("joint", names, evidence)
        values, log_scale = plan(self._codes(evidence))
        return Table(values * np.exp(log_scale), axes)

    def probability(self, evidence: Evidence) -> float:
        """Return the probability of the evidence."""
        return float(np.exp(self.log_probability(evidence)))

    def log_probability(self, evidence: Evidence) -> float:
        """Return the log probability of the evidence; minus infinity if it is impossible."""
        plan, _ = self._plan("joint", (), evidence)
        value, log_scale = plan(self._codes(evidence))
        return float(np.log(value) + log_scale) if value > 0 else -np.inf

    def marginals(self, evidence: Evidence | None = None) -> dict[str, Table]:
        """Return the posteriors of all unobserved variables, from one calibrated junction tree."""
        evidence = evidence or {}
        codes = dict(zip(map(self.network.index, evidence), self._codes(evidence), strict=True))
        tree, tables = self._tree(codes)
        found = tree.calibrate(tables)
        if not np.isfinite(found.log_z[0]):
            raise self._impossible(evidence)
        hidden = [v for v in range(len(self._tables)) if v not in codes]
        variables = self.network.variables
        return {variables[v].name: Table(found.marginal((v,))[:, 0], [variables[v]]) for v in hidden}

    def map(self, evidence: Evidence | None = None, variables: Sequence[str] | None = None) -> Explanation:
        """Return the most probable states given the evidence.

        Parameters
        ----------
        evidence : dict of str to str, optional
            Observed states.
        variables : sequence of str, optional
            The variables to find states of; the others are summed out (maximum a posteriori). By default all
            unobserved variables (most probable explanation).

        Returns
        -------
        Explanation
            The states by name, and the logarithm of their probability together with the evidence.
        """
        evidence = evidence or {}
        index = self.network.index
        codes = dict(zip(map(index, evidence), self._codes(evidence), strict=True))
        hidden = [v for v in range(len(self._tables)) if v not in codes]
        chosen = hidden if variables is None else [index(name) for name in self._asked(variables, evidence)]
        found = most_probable(self._relevance, self._tables, codes, chosen)
        if found is None:
            raise self._impossible(evidence)
        states, log_probability = found
        known = self.network.variables
        return Explanation({known[v].name: known[v].states[states[v]] for v in chosen}, log_probability)

    def batch(self, variables: str | Sequence[str], rows: Any) -> dict[str, Array]:
        """Return the posteriors of many rows, each with its own evidence.

        Parameters
        ----------
        variables : str or sequence of str
            The variables to query, one by one.
        rows : list of dicts, dict of columns, DataFrame or array of codes
            Input of :func:`~isogloss.graphical.encode`; cells that are not missing are the evidence.

        Returns
        -------
        dict of str to array, shape (n, number of states)
            The posterior of every row, by variable. If a row observes the variable itself, that state has
            probability one. If the evidence of a row is impossible, the posterior is NaN, unless the
            impossible part is irrelevant to the variable.

        Notes
        -----
        Rows are grouped by the variables that are hidden together with the queried one; within a group, each
        distinct combination of relevant values is computed once.
        """
        names = self._asked((variables,) if isinstance(variables, str) else tuple(variables), {})
        wanted = [self.network.index(name) for name in names]
        found = posteriors(self._whole, encode(self.network, rows), wanted)
        return {name: found[v] for name, v in zip(names, wanted, strict=True)}

    def log_likelihood(self, rows: Any) -> Array:
        """Return the log probability of every row; missing cells are summed out.

        It is minus infinity for impossible rows.
        """
        return log_likelihoods(self._whole, encode(self.network, rows))

    def _plan(self, kind: str, names: tuple[str, ...], evidence: Evidence) -> tuple[Any, Any]:
        key = (kind, names, tuple(evidence))
        plan = self._plans.get(key)
        if plan is None:
            if len(self._plans) >= _MAX_PLANS:
                self._plans.clear()
            plan = self._plans[key] = self._compile(kind, names, evidence)
        return plan

    def _compile(self, kind: str, names: tuple[str, ...], evidence: Evidence) -> tuple[Any, Any]:
        wanted = [self.network.index(name) for name in self._asked(names, evidence)]
        seen = [self.network.index(name) for name in evidence]
        axes = tuple(self.network.variables[v] for v in wanted)
        if kind == "posterior":
            if not names:
                raise ValueError("no variables are asked for; expected a name, or several")
            plan = PosteriorPlan(self._relevance, self._tables, wanted, seen, self._zeros, self._order)
            return plan, axes
        families = self._relevance.needed(mask_of(seen), mask_of(wanted))
        return ProductPlan(self._relevance, self._tables, families, wanted, seen, self._order), axes

    @cached_property
    def _order(self) -> list[int]:
        """Return an elimination order that adds few edges when nothing is observed."""
        sizes = {v: table.shape[-1] for v, table in enumerate(self._tables)}
        return [v for v, _ in elimination_order(self._relevance.families, sizes)]

    def _asked(self, names: Sequence[str], evidence: Evidence) -> Sequence[str]:
        if isinstance(names, str):
            raise TypeError(f"variables={names!r}; expected a list of names")
        for k, name in enumerate(names):
            self.network.index(name)
            if name in evidence:
                raise ValueError(f"{name} is both asked for and observed; take it out of one of them")
            if name in names[:k]:
                raise ValueError(f"{name} is asked for twice; name each variable once")
        return names

    def _codes(self, evidence: Evidence) -> list[int]:
        if not isinstance(evidence, Mapping):
            raise TypeError(f"evidence={evidence!r:.60}; expected a dict of states by variable")
        variable = self.network.variable
        return [variable(name).code(state) for name, state in evidence.items()]

    def _tree(self, codes: Mapping[int, int]) -> tuple[JunctionTree, list[Array]]:
        """Return the junction tree of the tables at the evidence; cached by the observed variables."""
        scopes, tables = [], []
        for family, table in zip(self._relevance.families, self._tables, strict=True):
            index = tuple(codes.get(v, slice(None)) for v in family)
            scopes.append(tuple(v for v in family if v not in codes))
            tables.append(table[index][..., np.newaxis])
        key = ("tree", tuple(sorted(codes)))
        if key not in self._plans:
            sizes = {v: table.shape[-1] for v, table in enumerate(self._tables)}
            self._plans[key] = JunctionTree(scopes, sizes)
        return self._plans[key], tables

    def _impossible(self, evidence: Evidence) -> ValueError:
        """Return the error for impossible evidence, which names the observation that makes it impossible."""
        so_far: dict[str, str] = {}
        for name, state in evidence.items():
            before = " and ".join(f"{n}={s}" for n, s in so_far.items())
            so_far[name] = state
            if self.log_probability(so_far) == -np.inf:
                given = f", given {before}," if before else ""
                return ValueError(
                    f"the evidence is impossible: {name}={state}{given} has probability 0 in this network; "
                    "check the observation, or give the state a probability"
                )
        return ValueError("the evidence is impossible in this network")
