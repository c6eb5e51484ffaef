"""Networks and rows in the forms that pyAgrum and pgmpy want, and seconds of both sides."""

import gzip
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from benchmarks.harness import measure_seconds
from isogloss.graphical import CPD, BayesianNetwork, decode, read_bif

Codes = NDArray[Any]
T = TypeVar("T")


def load(pgmpy: Any, name: str) -> BayesianNetwork:
    """A network of pgmpy's wheel, by our reader."""
    packed = Path(pgmpy.__file__).parent / "utils" / "example_models" / f"{name}.bif.gz"
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"{name}.bif"
        path.write_bytes(gzip.decompress(packed.read_bytes()))
        return read_bif(path)


def as_agrum(gum: Any, network: BayesianNetwork) -> Any:
    """The same network for pyAgrum; its BIF reader keeps single precision only."""
    other = gum.BayesNet()
    for variable in network.variables:
        other.add(gum.LabelizedVariable(variable.name, variable.name, list(variable.states)))
    for parent, child in network.edges:
        other.addArc(parent, child)
    for cpd in network.cpds:
        table, axes = other.cpt(cpd.name), (*cpd.parent_names, cpd.name)
        values = cpd.values.transpose([axes.index(name) for name in table.names])
        table.fillWith(values.ravel(order="F").tolist())
    return other


def from_agrum(other: Any, network: BayesianNetwork) -> BayesianNetwork:
    """A network of pyAgrum on the same graph."""
    cpds = []
    for cpd in network.cpds:
        table, axes = other.cpt(cpd.name), (*cpd.parent_names, cpd.name)
        variables = [other.variable(name) for name in table.names]
        values = np.moveaxis(table.toarray(), range(len(axes)), range(len(axes) - 1, -1, -1))
        own = {v.name: v for v in (*cpd.parents, cpd.variable)}
        for axis, v in enumerate(variables):
            labels = [v.label(k) for k in range(v.domainSize())]
            values = values.take([labels.index(state) for state in own[v.name()].states], axis=axis)
        values = values.transpose([list(table.names).index(name) for name in axes])
        cpds.append(CPD(cpd.variable, cpd.parents, values / values.sum(axis=-1, keepdims=True)))
    return BayesianNetwork(cpds)


def as_pgmpy(network: BayesianNetwork) -> Any:
    """The same network for pgmpy."""
    from pgmpy.factors.discrete import TabularCPD
    from pgmpy.models import DiscreteBayesianNetwork

    other = DiscreteBayesianNetwork(list(network.edges))
    other.add_nodes_from(network.names)
    for cpd in network.cpds:
        states = {v.name: list(v.states) for v in (cpd.variable, *cpd.parents)}
        given = {"evidence": list(cpd.parent_names), "evidence_card": [p.card for p in cpd.parents]}
        values = cpd.values.reshape(-1, cpd.variable.card).T
        more = given if cpd.parents else {}
        other.add_cpds(TabularCPD(cpd.name, cpd.variable.card, values, state_names=states, **more))
    return other


class AgrumPosteriors:
    """pyAgrum's lazy propagation, one row after the other."""

    def __init__(self, gum: Any, network: BayesianNetwork, target: str) -> None:
        self.network, self.target = network, target
        self.engine = gum.LazyPropagation(as_agrum(gum, network))
        self.engine.setNumberOfThreads(1)
        self.engine.addTarget(target)

    def records(self, rows: Codes) -> list[dict[str, str]]:
        """Evidence as it wants it."""
        return [{k: s for k, s in row.items() if s is not None} for row in decode(self.network, rows)]

    def __call__(self, records: list[dict[str, str]]) -> Any:
        """The posterior of every row."""
        return np.array([self._posterior(record) for record in records])

    def _posterior(self, evidence: dict[str, str]) -> Any:
        self.engine.setEvidence(evidence)
        self.engine.makeInference()
        return self.engine.posterior(self.target).toarray()


class AgrumEM:
    """pyAgrum's EM on a frame of states with ``?`` for missing cells."""

    def __init__(
        self, gum: Any, network: BayesianNetwork, rows: Codes, *, most: int, smoothing: float
    ) -> None:
        import pandas

        self.gum, self.most, self.smoothing, self.steps = gum, most, smoothing, 0
        self.template = as_agrum(gum, network)
        self.frame = pandas.DataFrame(
            [{k: s or "?" for k, s in row.items()} for row in decode(network, rows)]
        )

    def __call__(self) -> Any:
        """The learned network."""
        learner = self.gum.BNLearner(self.frame, self.template, ["?"])
        learner.setNumberOfThreads(1)
        learner.useSmoothingPrior(self.smoothing)
        learner.useEM(1e-6)
        learner.EMsetMaxIter(self.most)
        learner.EMenableMaxIter()
        found = learner.learnParameters(self.template.dag())
        self.steps = learner.EMnbrIterations()
        return found


def timed(run: Callable[[], T], repeats: int) -> tuple[float, T]:
    """The least CPU seconds of some runs, and what the first gave."""
    found: list[T] = []
    seconds = [measure_seconds(lambda: found.append(run()))[0] for _ in range(repeats)]
    return min(seconds), found[0]


def ratio(ours: float, theirs: float) -> dict[str, float]:
    """Both, and how many times faster ours is."""
    return {"ours": round(ours, 6), "theirs": round(theirs, 6), "times_faster": round(theirs / ours, 2)}
