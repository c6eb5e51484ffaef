"""Slow twins of the chain kernels: one sequence at a time in log space, and sums over every path."""

import itertools

import numpy as np

logsumexp = np.logaddexp.reduce


def evidence(code, label, emission):
    """Log probability of one observation by state; -1 is missing, a label rules out the other states."""
    k = emission.shape[1]
    out = np.zeros(k) if code < 0 else log(emission[code])
    return out if label < 0 else np.where(np.arange(k) == label, out, -np.inf)


def log(x):
    with np.errstate(divide="ignore"):
        return np.log(x)


def lattice(codes, labels, start, transition, emission):
    """Log forward and backward messages of one sequence."""
    rows = [evidence(c, z, emission) for c, z in zip(codes, labels, strict=True)]
    forward = [log(start) + rows[0]]
    for row in rows[1:]:
        forward.append(logsumexp(forward[-1][:, None] + log(transition), axis=0) + row)
    backward = [np.zeros(len(start))]
    for row in rows[:0:-1]:
        backward.append(logsumexp(log(transition) + row + backward[-1], axis=1))
    return rows, np.array(forward), np.array(backward[::-1])


def posteriors(codes, labels, start, transition, emission):
    """Posteriors of the states of one sequence, and its log-likelihood."""
    _, forward, backward = lattice(codes, labels, start, transition, emission)
    total = logsumexp(forward[-1])
    return np.exp(forward + backward - total), total


def expect(sequences, labels, weights, start, transition, emission):
    """Expected counts of starts, transitions and emissions, and the log-likelihood of each sequence."""
    counts = np.zeros_like(start), np.zeros_like(transition), np.zeros_like(emission)
    totals = []
    for codes, known, weight in zip(sequences, labels, weights, strict=True):
        rows, forward, backward = lattice(codes, known, start, transition, emission)
        total = logsumexp(forward[-1])
        gamma = np.exp(forward + backward - total)
        counts[0][:] += weight * gamma[0]
        for t in range(1, len(codes)):
            joint = forward[t - 1][:, None] + log(transition) + rows[t] + backward[t] - total
            counts[1][:] += weight * np.exp(joint)
        for t, code in enumerate(codes):
            if code >= 0:
                counts[2][code] += weight * gamma[t]
        totals.append(total)
    return *counts, np.array(totals)


def enumerate_paths(codes, labels, start, transition, emission):
    """Every path with its log joint probability."""
    k = len(start)
    for path in itertools.product(range(k), repeat=len(codes)):
        total = log(start)[path[0]]
        total += sum(log(transition)[i, j] for i, j in itertools.pairwise(path))
        total += sum(evidence(c, z, emission)[i] for c, z, i in zip(codes, labels, path, strict=True))
        yield path, total


def best_path(codes, labels, start, transition, emission):
    """The likeliest path and its log joint probability."""
    return max(enumerate_paths(codes, labels, start, transition, emission), key=lambda found: found[1])
