"""Networks by brute force: the whole joint table, and everything read off it."""

import itertools

import numpy as np

from isogloss.graphical import CPD, BayesianNetwork, Variable


def joint_table(network):
    """The probability of every configuration, one axis per variable in the network's order."""
    joint = np.ones(tuple(network.cards))
    n = len(network)
    for cpd in network.cpds:
        axes = [network.index(name) for name in (*cpd.parent_names, cpd.name)]
        order = np.argsort(axes)
        shape = [1] * n
        for axis in axes:
            shape[axis] = network.cards[axis]
        joint = joint * cpd.values.transpose(order).reshape(shape)
    return joint


def posterior(network, targets, evidence=None):
    """P(targets | evidence) with axes in the order of ``targets``; evidence is codes by name."""
    joint = joint_table(network)
    for name, code in (evidence or {}).items():
        keep = np.zeros(network.cards[network.index(name)])
        keep[code] = 1.0
        joint = joint * keep.reshape([-1 if a == network.index(name) else 1 for a in range(len(network))])
    axes = [network.index(name) for name in targets]
    sums = joint.sum(axis=tuple(a for a in range(len(network)) if a not in axes))
    sums = sums.transpose([sorted(axes).index(a) for a in axes])
    return sums / joint.sum()


def row_probability(network, row):
    """The probability of a row of codes, -1 where nothing was seen."""
    index = tuple(slice(None) if code < 0 else int(code) for code in row)
    return joint_table(network)[index].sum()


def best_configuration(network, evidence=None, variables=None):
    """The largest probability of the variables (all, if None) together with the evidence."""
    joint = joint_table(network)
    index = [slice(None)] * len(network)
    for name, code in (evidence or {}).items():
        index[network.index(name)] = slice(code, code + 1)
    joint = joint[tuple(index)]
    if variables is not None:
        kept = {network.index(name) for name in variables}
        joint = joint.sum(axis=tuple(a for a in range(len(network)) if a not in kept))
    return joint.max()


def expected_counts(network, rows):
    """Expected family counts of rows of codes, and the log-likelihood, cell by cell."""
    joint = joint_table(network)
    counts = {name: np.zeros(network.cpd(name).values.shape) for name in network.names}
    log_likelihood = 0.0
    for row in rows:
        index = tuple(slice(None) if c < 0 else slice(int(c), int(c) + 1) for c in row)
        part = np.zeros_like(joint)
        part[index] = joint[index]
        log_likelihood += np.log(part.sum())
        part /= part.sum()
        for cell in itertools.product(*map(range, joint.shape)):
            if part[cell]:
                for cpd in network.cpds:
                    where = tuple(cell[network.index(n)] for n in (*cpd.parent_names, cpd.name))
                    counts[cpd.name][where] += part[cell]
    return counts, log_likelihood


def random_network(rng, n, *, max_card=3, max_parents=3, zeros=0.0):
    """A network of ``n`` variables with random edges and probabilities, some of which are zero."""
    variables = [Variable(f"x{v}", [f"s{k}" for k in range(rng.integers(1, max_card + 1))]) for v in range(n)]
    cpds = []
    for v, variable in enumerate(variables):
        k = int(rng.integers(0, min(v, max_parents) + 1))
        parents = [variables[p] for p in rng.permutation(v)[:k]]
        values = rng.random((*(p.card for p in parents), variable.card)) + 0.01
        values = np.where(rng.random(values.shape) < zeros, 0.0, values)
        values[values.sum(axis=-1) == 0] = 1.0
        cpds.append(CPD(variable, parents, values / values.sum(axis=-1, keepdims=True)))
    order = rng.permutation(n)
    return BayesianNetwork([cpds[v] for v in order])
