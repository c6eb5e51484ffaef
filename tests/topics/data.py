"""Documents drawn from a topic model with planted topics."""

import numpy as np
from scipy.optimize import linear_sum_assignment

PRIOR = np.array([1.0, 0.5, 0.3, 0.2])


def planted(rng, documents=400, length=80, words=120, prior=PRIOR, languages=1):
    """Counts in each language, and the topics (topics x words) that they were drawn from."""
    topics = [rng.dirichlet(np.full(words, 0.05), len(prior)) for _ in range(languages)]
    theta = rng.dirichlet(prior, documents)
    counts = [np.array([rng.multinomial(length, t @ beta) for t in theta]) for beta in topics]
    return counts, topics


def matched(found, true):
    """The found topics in the order of the true ones, and the total variation between each two."""
    distance = np.abs(true[:, None, :] - found[None, :, :]).sum(axis=2) / 2
    rows, columns = linear_sum_assignment(distance)
    return columns, distance[rows, columns]
