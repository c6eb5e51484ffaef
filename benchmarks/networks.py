"""Posteriors in a network: 10,000 rows by us and a hundred of them by pyAgrum; pgmpy is in the details.

The rows observe 11 of the 37 variables of alarm; a ratio below 1 means that we are more than a hundred times
faster per row. Accuracy is the largest difference from pyAgrum's posteriors. Details, each as ours, theirs
and how many times faster ours is: the same on asia and a larger network, rows that each observe others,
single queries, maximum likelihood from a million rows, and EM with one hidden variable, with two linked ones
and with cells missing at random. The networks are the BIF files in pgmpy's wheel, read by our reader.

``ISOGLOSS_NETWORKS_PARTS`` names the details wanted (posteriors queries mle em); EM takes pyAgrum minutes.
"""

import os
from typing import Any

import numpy as np

from benchmarks._networks import (
    AgrumEM,
    AgrumPosteriors,
    Codes,
    as_agrum,
    as_pgmpy,
    from_agrum,
    load,
    ratio,
    timed,
)
from benchmarks.harness import Result, compare, need
from isogloss.graphical import BayesianNetwork, Inference, NetworkLearner, decode, sample

ROWS, PEER_ROWS, QUERIES, MLE_ROWS, EM_ROWS = 10_000, 100, 100, 1_000_000, 10_000
PEER_EM_STEPS, SMOOTHING = 5, 1e-3
NETWORKS = ("asia", "alarm", "hailfinder")


def main() -> Result:
    """Compare them."""
    gum, pgmpy = need("pyagrum"), need("pgmpy")
    parts = os.environ.get("ISOGLOSS_NETWORKS_PARTS", "posteriors queries mle em").split()
    networks = {name: load(pgmpy, name) for name in NETWORKS}
    details: dict[str, Any] = {"network": "alarm", "rows": ROWS}
    for name, network in networks.items():
        if "posteriors" in parts:
            details[f"microseconds_per_row_{name}"] = posteriors(gum, network, same=True)
            details[f"microseconds_per_mixed_row_{name}"] = posteriors(gum, network, same=False)
        if "queries" in parts:
            details[f"milliseconds_per_query_{name}"] = queries(gum, network)
    if "mle" in parts:
        details["seconds_of_mle"] = mle(networks["alarm"])
    if "em" in parts:
        details["seconds_of_em"] = em(gum, networks["alarm"])
    return headline(gum, networks["alarm"], details)


def headline(gum: Any, network: BayesianNetwork, details: dict[str, Any]) -> Result:
    """Rows of alarm."""
    target, rows = evidence_rows(network, same=True)
    ask, theirs = Inference(network), AgrumPosteriors(gum, network, target)
    records = theirs.records(rows[:PEER_ROWS])
    exact = theirs(records)
    return compare(
        "networks",
        ours=lambda: ask.batch(target, rows)[target],
        peer=lambda: theirs(records),
        peer_name=f"pyAgrum {gum.__version__} (a hundredth of the rows)",
        accuracy=lambda found: float(np.abs(found[:PEER_ROWS] - exact).max()),
        repeats=3,
        details=details,
    )


def posteriors(gum: Any, network: BayesianNetwork, *, same: bool) -> dict[str, float]:
    """Microseconds per row, and the largest difference."""
    target, rows = evidence_rows(network, same=same)
    ask, theirs = Inference(network), AgrumPosteriors(gum, network, target)
    records = theirs.records(rows[:PEER_ROWS])
    ours, found = timed(lambda: ask.batch(target, rows)[target], 3)
    peers, exact = timed(lambda: theirs(records), 2)
    difference = float(np.abs(found[:PEER_ROWS] - exact).max())
    return {**ratio(ours * 1e6 / ROWS, peers * 1e6 / PEER_ROWS), "largest_difference": difference}


def evidence_rows(network: BayesianNetwork, *, same: bool) -> tuple[str, Codes]:
    """A target, and rows that observe three tenths of the variables: the same ones, or others each time."""
    rng = np.random.default_rng(4)
    order = rng.permutation(len(network))
    rows = sample(network, ROWS, random_state=0)
    hidden = np.ones(rows.shape, dtype=bool)
    hidden[:, order[1 : 1 + max(2, int(0.3 * len(network)))]] = False
    if not same:
        hidden = rng.random(rows.shape) > 0.3
        hidden[:, order[0]] = True
    rows[hidden] = -1
    return network.names[order[0]], rows


def queries(gum: Any, network: BayesianNetwork) -> dict[str, Any]:
    """Milliseconds per query given five observations, when it is asked first and when asked again."""
    from pgmpy.inference import VariableElimination

    questions = make_questions(network)
    few = questions[:20]
    agrum, other, ask = as_agrum(gum, network), VariableElimination(as_pgmpy(network)), Inference(network)
    ask.query(network.names[0])
    first, answers = timed(lambda: [ask.query(*q).values for q in questions], 1)
    again, _ = timed(lambda: [ask.query(*q).values for q in questions], 3)
    peers, exact = timed(
        lambda: [gum.getPosterior(agrum, target=t, evs=e).toarray() for t, e in questions], 3
    )
    slow, _ = timed(lambda: [other.query([t], e, show_progress=False) for t, e in few], 2)
    first, again, peers = (1e3 * seconds / len(questions) for seconds in (first, again, peers))
    return {
        "first_against_pyagrum": ratio(first, peers),
        "again_against_pyagrum": ratio(again, peers),
        "first_against_pgmpy": ratio(first, 1e3 * slow / len(few)),
        "largest_difference": max(float(np.abs(a - b).max()) for a, b in zip(answers, exact, strict=True)),
    }


def make_questions(network: BayesianNetwork) -> list[tuple[str, dict[str, str]]]:
    """A variable and the states of five others, drawn from the network."""
    rng = np.random.default_rng(0)
    questions = []
    for row in decode(network, sample(network, QUERIES, random_state=1)):
        names = [network.names[v] for v in rng.permutation(len(network))]
        questions.append((names[0], {name: str(row[name]) for name in names[1:6]}))
    return questions


def mle(network: BayesianNetwork) -> dict[str, Any]:
    """Seconds from a million rows, to us as a frame and as codes, and the likelihood both reach."""
    import pandas
    from pgmpy.estimators import MaximumLikelihoodEstimator

    rows = sample(network, MLE_ROWS, random_state=0)
    columns = zip(network.variables, rows.T, strict=True)
    frame = pandas.DataFrame({v.name: pandas.Categorical.from_codes(c, v.states) for v, c in columns})
    codes, learner = timed(lambda: NetworkLearner(network).fit(rows), 3)
    framed, _ = timed(lambda: NetworkLearner(network).fit(frame), 2)
    graph = as_pgmpy(network)
    peers, cpds = timed(lambda: MaximumLikelihoodEstimator(graph, frame).get_parameters(n_jobs=1), 1)
    return {
        "codes_against_pgmpy": ratio(codes, peers),
        "frame_against_pgmpy": ratio(framed, peers),
        "largest_difference": max(_difference(cpd, learner) for cpd in cpds),
    }


def _difference(theirs: Any, learner: NetworkLearner) -> float:
    """Of a table of pgmpy from ours, where the parents' configuration was seen."""
    network = learner.network_
    own = network.cpd(theirs.variable)
    states = [[theirs.state_names[v.name].index(s) for s in v.states] for v in (own.variable, *own.parents)]
    order = [0, *(theirs.variables.index(name) for name in own.parent_names)]
    values = np.moveaxis(theirs.values.transpose(order)[np.ix_(*states)], 0, -1)
    seen = learner.counts_.tables[network.index(own.name)].table.sum(axis=-1) > 0
    return float(np.abs(values - own.values)[seen].max())


def em(gum: Any, network: BayesianNetwork) -> dict[str, Any]:
    """Seconds and log-likelihoods: ours until the bound stands still, pyAgrum's for at most five steps."""
    rows = sample(network, EM_ROWS, random_state=0)
    one, two, scattered = rows.copy(), rows.copy(), rows.copy()
    one[:, network.index("CATECHOL")] = -1
    two[:, [network.index("CATECHOL"), network.index("HR")]] = -1
    scattered[np.random.default_rng(0).random(rows.shape) < 0.05] = -1
    cases = {"one_hidden": one, "two_linked_hidden": two, "five_percent_missing": scattered}
    return {name: _em_case(gum, network, data) for name, data in cases.items()}


def _em_case(gum: Any, network: BayesianNetwork, rows: Codes) -> dict[str, float]:
    ours, learner = timed(lambda: NetworkLearner(network, smoothing=SMOOTHING, random_state=0).fit(rows), 3)
    peer = AgrumEM(gum, network, rows, most=PEER_EM_STEPS, smoothing=SMOOTHING)
    theirs, fitted = timed(peer, 1)
    likelihood = Inference(from_agrum(fitted, network)).log_likelihood(rows).sum()
    return {
        **ratio(ours, theirs),
        "our_steps": learner.n_iter_,
        "their_steps": peer.steps,
        "our_log_likelihood": learner.log_likelihood_,
        "their_log_likelihood": float(likelihood),
    }
