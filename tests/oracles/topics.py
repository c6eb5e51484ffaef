"""Slow twins of the kernels of topic models: one document, one token at a time."""

import itertools

import numpy as np
from scipy.special import digamma, gammaln


def proportions(counts, weights, prior, expected, updates, tolerance, point):
    """Expected counts, those that follow, weights of topics, and counts over norms, of dense documents."""
    pairs = zip(counts, expected, strict=True)
    rows = [document(row, weights, prior, start, updates, tolerance, point) for row, start in pairs]
    return [np.array(part) for part in zip(*rows, strict=True)]


def document(counts, weights, prior, expected, updates, tolerance, point):
    for done in itertools.count(1):
        posterior = prior + expected
        total = posterior.sum()
        theta = posterior / total if point else np.exp(digamma(posterior) - digamma(total))
        responsibilities = theta * weights
        responsibilities /= responsibilities.sum(axis=1, keepdims=True)
        following = counts @ responsibilities
        if done >= updates or np.abs(following - expected).mean() < tolerance:
            return expected, following, theta, counts / (weights @ theta)
        expected = following
    return None


def bound(counts, weights_log, prior, expected):
    """The bound of one document under known topics, from the definition."""
    posterior = prior + expected
    log_theta = digamma(posterior) - digamma(posterior.sum())
    q = np.exp(log_theta + weights_log)
    q /= q.sum(axis=1, keepdims=True)
    tokens = (counts[:, None] * q * (log_theta + weights_log - np.log(q))).sum()
    norm = gammaln(prior.sum()) - gammaln(prior).sum()
    own = gammaln(posterior.sum()) - gammaln(posterior).sum()
    return tokens + norm - own + ((prior - posterior) * log_theta).sum()


def uniforms(seed):
    """Numbers from 0 to 1 of splitmix64."""
    mask = 2**64 - 1
    while True:
        seed = (seed + 0x9E3779B97F4A7C15) & mask
        z = ((seed ^ (seed >> 30)) * 0xBF58476D1CE4E5B9) & mask
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & mask
        yield ((z ^ (z >> 31)) >> 11) * 2.0**-53


def sweep(tokens, topics, views, alpha, eta, seed):
    """Topics of tokens ``(column, document)`` after a sweep in their order.

    Topics of a document come first, in the order in which it got them (the last one takes the place of one
    that it loses), then all topics with their prior.
    """
    draw, topics = uniforms(seed), list(topics)
    lists = {}
    for (_, d), z in zip(tokens, topics, strict=True):
        add(lists.setdefault(d, []), z)
    for t, (column, d) in enumerate(tokens):
        take(lists[d], topics[t])
        others = [(c, z) for s, ((c, _), z) in enumerate(zip(tokens, topics, strict=True)) if s != t]
        width = sum(views == views[column])
        q = np.zeros(len(alpha))
        for k in range(len(alpha)):
            same = [c for c, z in others if z == k and views[c] == views[column]]
            q[k] = (same.count(column) + eta[views[column]]) / (len(same) + width * eta[views[column]])
        parts = [(z, n * q[z]) for z, n in lists[d]] + list(enumerate(alpha * q))
        reached = np.cumsum([part for _, part in parts])
        topics[t] = parts[int(np.searchsorted(reached, next(draw) * reached[-1], side="right"))][0]
        add(lists[d], topics[t])
    return topics


def add(entries, topic):
    for entry in entries:
        if entry[0] == topic:
            entry[1] += 1
            return
    entries.append([topic, 1])


def take(entries, topic):
    place = next(j for j, (z, _) in enumerate(entries) if z == topic)
    entries[place][1] -= 1
    if not entries[place][1]:
        entries[place] = entries[-1]
        entries.pop()


def log_joint(tokens, topics, views, alpha, eta):
    """Log-probability of words and topics, with everything else integrated out."""
    out, k = 0.0, len(alpha)
    for d in {d for _, d in tokens}:
        n = np.bincount([z for (_, e), z in zip(tokens, topics, strict=True) if e == d], minlength=k)
        out += (
            gammaln(alpha.sum())
            - gammaln(alpha.sum() + n.sum())
            + (gammaln(alpha + n) - gammaln(alpha)).sum()
        )
    for view, prior in enumerate(eta):
        columns = np.flatnonzero(views == view)
        for topic in range(k):
            n = np.array(
                [
                    sum(c == w and z == topic for (c, _), z in zip(tokens, topics, strict=True))
                    for w in columns
                ]
            )
            total = len(columns) * prior
            out += gammaln(total) - gammaln(total + n.sum()) + (gammaln(prior + n) - gammaln(prior)).sum()
    return out
