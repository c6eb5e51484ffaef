"""Two networks of the literature, for teaching and for tests."""

from __future__ import annotations

import numpy as np

from isogloss.graphical._cpd import CPD
from isogloss.graphical._variables import Variable
from isogloss.graphical.network import BayesianNetwork


def student() -> BayesianNetwork:
    """A student's grade, test score and letter of recommendation.

    The course is easy or difficult (``d0``, ``d1``), the student is less or more intelligent (``i0``,
    ``i1``); the grade (``g1`` is the best) depends on both, the score (``s1`` is high) on intelligence
    alone, and the letter (``l1`` is a strong one) on the grade. D. Koller and N. Friedman,
    Probabilistic Graphical Models, 2009, figure 3.4.

    Examples
    --------
    >>> print(student().cpd("G"))
    I   D   g1      g2      g3
    i0  d0  0.3000  0.4000  0.3000
    i0  d1  0.0500  0.2500  0.7000
    i1  d0  0.9000  0.0800  0.0200
    i1  d1  0.5000  0.3000  0.2000
    """
    D, S, L = (Variable(n, [f"{n.lower()}0", f"{n.lower()}1"]) for n in "DSL")
    intelligence, G = Variable("I", ["i0", "i1"]), Variable("G", ["g1", "g2", "g3"])
    grades = [[[0.3, 0.4, 0.3], [0.05, 0.25, 0.7]], [[0.9, 0.08, 0.02], [0.5, 0.3, 0.2]]]
    return BayesianNetwork(
        [
            CPD(D, [], [0.6, 0.4]),
            CPD(intelligence, [], [0.7, 0.3]),
            CPD(G, [intelligence, D], grades),
            CPD(S, [intelligence], [[0.95, 0.05], [0.2, 0.8]]),
            CPD(L, [G], [[0.1, 0.9], [0.4, 0.6], [0.99, 0.01]]),
        ],
        name="student",
    )


def asia() -> BayesianNetwork:
    """Shortness of breath after a visit to Asia: tuberculosis, lung cancer or bronchitis.

    S. L. Lauritzen and D. J. Spiegelhalter, Journal of the Royal Statistical Society B 50, 1988, table 1.

    Examples
    --------
    >>> asia()
    BayesianNetwork('asia', 8 variables, 8 edges, 18 parameters)
    """
    names = ("asia", "tub", "smoke", "lung", "bronc", "either", "xray", "dysp")
    variables = {name: Variable(name, ["yes", "no"]) for name in names}

    def cpd(name: str, parents: list[str], *yes: float) -> CPD:
        shape = (2,) * len(parents)
        table = np.stack([np.reshape(yes, shape), 1 - np.reshape(yes, shape)], axis=-1)
        return CPD(variables[name], [variables[p] for p in parents], table)

    return BayesianNetwork(
        [
            cpd("asia", [], 0.01),
            cpd("tub", ["asia"], 0.05, 0.01),
            cpd("smoke", [], 0.5),
            cpd("lung", ["smoke"], 0.1, 0.01),
            cpd("bronc", ["smoke"], 0.6, 0.3),
            cpd("either", ["lung", "tub"], 1, 1, 1, 0),
            cpd("xray", ["either"], 0.98, 0.05),
            cpd("dysp", ["bronc", "either"], 0.9, 0.8, 0.7, 0.1),
        ],
        name="asia",
    )
