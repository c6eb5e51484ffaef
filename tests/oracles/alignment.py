"""Slow twins of the alignment loops: every alignment of short sentences, one after the other."""

from __future__ import annotations

import itertools

import numpy as np


def pairs_of(bitext):
    """The set of (source word, target word) that occur together."""
    found = set()
    for s in range(len(bitext)):
        e = bitext.source.words[bitext.source.offsets[s] : bitext.source.offsets[s + 1]].tolist()
        f = bitext.target.words[bitext.target.offsets[s] : bitext.target.offsets[s + 1]].tolist()
        found |= set(itertools.product(e, f))
    return found


def common_subsequence(a, b):
    """Length of the longest common subsequence, by the textbook table."""
    table = np.zeros((len(a) + 1, len(b) + 1), dtype=int)
    for i, j in itertools.product(range(len(a)), range(len(b))):
        same = table[i, j] + 1 if a[i] == b[j] else 0
        table[i + 1, j + 1] = max(same, table[i, j + 1], table[i + 1, j])
    return int(table[-1, -1])


def transitions(weights, classes, n, uniform):
    """Rows for the start (last class, from -1) and for every position."""
    reach = weights.shape[1] // 2

    def row(i, c):
        w = np.array([weights[c, reach + k - i] for k in range(n)], dtype=float)
        return (1 - uniform) * w / w.sum() + uniform / n

    return row(-1, len(weights) - 1), np.array([row(i, c) for i, c in enumerate(classes)])


def enumerate_alignments(emission, null_emission, null, start, rows, places=None):
    """All (path, probability); a path holds a position per word, or None for NULL.

    With ``rows`` the HMM, in which NULL remembers the position; with ``places`` (states x words) each word
    chooses by itself.
    """
    n, steps = emission.shape
    states = [(i, real) for i in range(n) for real in (True, False)] if places is None else None
    if states is None:
        for path in itertools.product([*range(n), None], repeat=steps):
            p = 1.0
            for j, i in enumerate(path):
                p *= null * null_emission[j] if i is None else (1 - null) * places[i, j] * emission[i, j]
            yield path, p
        return
    for sequence in itertools.product(states, repeat=steps):
        p, at = 1.0, None
        for j, (i, real) in enumerate(sequence):
            if at is None:
                move = start[i]
            elif real:
                move = rows[at, i]
            else:
                move = 1.0 if i == at else 0.0
            p *= move * ((1 - null) * emission[i, j] if real else null * null_emission[j])
            at = i
        yield tuple(i if real else None for i, real in sequence), p


def by_enumeration(*args, **kwargs):
    """Likelihood, posterior of every link (states x words), posterior of NULL, and the best path."""
    emission = args[0]
    total, links, nulls = 0.0, np.zeros(emission.shape), np.zeros(emission.shape[1])
    best, top = None, -1.0
    for path, p in enumerate_alignments(*args, **kwargs):
        total += p
        for j, i in enumerate(path):
            if i is None:
                nulls[j] += p
            else:
                links[i, j] += p
        if p > top:
            best, top = path, p
    return total, links / total, nulls / total, best


def normalised_lexicon(table, counts, each=0.0, pairs=0.0):
    """t(f|e) and t(e|f) of every pair: counts and pseudo-counts over their sums per word."""
    full = counts + each + np.asarray(pairs)
    out = np.empty_like(full)
    for direction, words in enumerate((table.sources, table.columns)):
        sums = np.zeros(max(table.shape))
        np.add.at(sums, words, full[:, direction])
        out[:, direction] = full[:, direction] / np.maximum(sums[words], np.finfo(float).tiny)
    return out
