"""Sentence alignment by recursion over every way of cutting two texts into beads."""

import numpy as np

MOST = 3


def explain(words, other_words, rows, columns, ratios, floor):
    """Log-ratio of one sentence beside others, which are one list of words."""
    known = [w for w in words if w >= 0]
    if not known:
        return 0.0
    table = np.zeros((len(rows) - 1, max(columns.max(initial=0), max(other_words, default=0)) + 1))
    for row in range(len(rows) - 1):
        table[row, columns[rows[row] : rows[row + 1]]] = ratios[rows[row] : rows[row + 1]]
    beside = table[known].mean(axis=0)
    return float(sum(np.log(floor + (1 - floor) * beside[w]) for w in other_words if w >= 0))


def score(model, i, j, kind):
    """Score of one bead, from the same arrays as the kernel."""
    a, b = model["kinds"][kind]
    prior = model["log_kinds"][kind]
    if not a or not b:
        return prior
    precision = model["precisions"][i, a - 1]
    off = model["target_lengths"][j, b - 1] - model["source_lengths"][i, a - 1] - model["log_ratio"]
    density = np.exp(0.5 * np.log(precision) - 0.5 * off**2 * precision + model["backgrounds"][j, b - 1])
    lengths = np.log(model["floor"] + (1 - model["floor"]) * density)
    ends = np.asarray(model["paragraphs"]).reshape(2, 2)
    source, target = model["source_ends"], model["target_ends"]
    paragraphs = ends[source[i + a - 1], target[j + b - 1]]
    paragraphs += sum(ends[1, 0] for k in range(a - 1) if source[i + k])
    paragraphs += sum(ends[0, 1] for k in range(b - 1) if target[j + k])
    words = 0.0
    if len(model["forward"]):
        cell = model["cells"][:-1] - model["starts"]
        words += sum(model["forward"][cell[i] + j + k, a - 1] for k in range(b))
        words += sum(model["backward"][cell[i + k] + j, b - 1] for k in range(a))
    return prior + lengths + paragraphs + words


def all_paths(model, n, m):
    """Every way of cutting, as (score, kinds of the beads)."""

    def after(i, j):
        if (i, j) == (n, m):
            yield 0.0, ()
        for kind, (a, b) in enumerate(model["kinds"]):
            if i + a <= n and j + b <= m:
                first = score(model, i, j, kind)
                for rest, kinds in after(i + a, j + b):
                    yield first + rest, (kind, *kinds)

    return list(after(0, 0))
