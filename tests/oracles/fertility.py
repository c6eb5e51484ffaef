"""IBM Models 3, 4 and 5 and exchange clustering written out slowly, from their definitions."""

import itertools
import math
from collections import Counter

import numpy as np

from isogloss.alignment.models import DIRECTIONS, REACH


class SlowModel:
    """One direction of fitted parameters; probabilities of alignments given as origins, -1 for NULL.

    ``places`` maps (i, j) to Model 3's probability, both counted from zero.
    """

    def __init__(self, kind, p, direction, table, classes, layout):
        name = DIRECTIONS[direction]
        self.kind, self.direction, self.table, self.layout = kind, direction, table, layout
        self.lexicon, self.null = p.lexicon[:, direction], getattr(p, f"null_{name}")
        self.fertility, self.places = getattr(p, f"fertility_{name}"), getattr(p, f"places_{name}")
        self.heads, self.others = getattr(p, f"heads_{name}"), getattr(p, f"others_{name}")
        self.p1 = p.null_share[direction]
        self.from_class, self.to_class = classes.of[direction], classes.of[1 - direction]
        self.n_from, self.n_to = classes.n[direction], classes.n[1 - direction]

    def t(self, e, f):
        e, f = (e, f) if self.direction == 0 else (f, e)
        row = slice(self.table.rows[e], self.table.rows[e + 1])
        return float(self.lexicon[row][self.table.columns[row] == f][0])

    def probability(self, e, f, a):
        """p(f, a | e)."""
        J, phi = len(f), Counter(a)
        phi0, most = phi[-1], self.fertility.shape[1] - 1
        if 2 * phi0 > J or any(phi[i] > most for i in range(len(e))):
            return 0.0
        out = math.comb(J - phi0, phi0) * self.p1**phi0 * (1 - self.p1) ** (J - 2 * phi0)
        for i, word in enumerate(e):
            out *= self.fertility[word, phi[i]]
        for word, i in zip(f, a, strict=True):
            out *= float(self.null[word]) if i < 0 else self.t(e[i], word)
        return out * (self.placed_by_table(e, f, a) if self.kind == 3 else self.placed_by_distance(e, f, a))

    def placed_by_table(self, e, f, a):
        shape = (len(e), len(f)) if self.direction == 0 else (len(f), len(e))
        (row,) = np.flatnonzero((self.layout.shapes == shape).all(axis=1))
        start = self.layout.starts[row]
        out = math.prod(math.factorial(n) for i, n in Counter(a).items() if i >= 0)
        for j, i in enumerate(a):
            if i >= 0:
                s, t = (i, j) if self.direction == 0 else (j, i)
                out *= self.places[start + s * shape[1] + t]
        return out

    def placed_by_distance(self, e, f, a):
        vacant = set(range(1, len(f) + 1))
        out, centre, before = 1.0, 0, self.n_from
        for i, word in enumerate(e):
            cept = [j + 1 for j, origin in enumerate(a) if origin == i]
            for k, j in enumerate(cept):
                b = self.to_class[f[j - 1]]
                weights = self.heads[before * self.n_to + b] if k == 0 else self.others[b]
                since = centre if k == 0 else cept[k - 1]
                out *= self.step(weights, vacant, j, since, k, len(cept))
                vacant.discard(j)
            if cept:
                centre, before = math.ceil(sum(cept) / len(cept)), self.from_class[word]
        return out

    def step(self, weights, vacant, j, since, k, size):
        """Probability of place j for word k of a cept, measured from place ``since``."""
        if self.kind == 4:
            return weights[REACH + j - since]
        allowed = [v for v in vacant if (k == 0 or v > since) and sum(u > v for u in vacant) >= size - k - 1]
        mass = {
            v: weights[REACH + sum(u <= v for u in vacant) - sum(u <= since for u in vacant)] for v in allowed
        }
        return mass[j] / sum(mass.values())

    def enumerate(self, e, f):
        """Every alignment with its probability."""
        for a in itertools.product(range(-1, len(e)), repeat=len(f)):
            yield a, self.probability(e, f, a)


def class_bigram_objective(sentences, classes):
    """The part of the class-bigram log-likelihood that depends on the classes."""
    joint, left, right = Counter(), Counter(), Counter()
    for start, stop in itertools.pairwise(sentences.offsets):
        for w, v in itertools.pairwise(sentences.words[start:stop]):
            joint[classes[w], classes[v]] += 1
            left[classes[w]] += 1
            right[classes[v]] += 1
    entropy = [sum(n * math.log(n) for n in counts.values()) for counts in (joint, left, right)]
    return entropy[0] - entropy[1] - entropy[2]


def exchange(sentences, classes, n_classes, order, sweeps):
    """Exchange clustering by evaluating the objective anew for every class of every word."""
    classes = list(classes)
    trace = [class_bigram_objective(sentences, classes)]
    for _ in range(sweeps):
        for word in order:
            best, most = classes[word], class_bigram_objective(sentences, classes)
            for c in range(n_classes):
                here = class_bigram_objective(sentences, _with(classes, word, c))
                if here > most + 1e-9:
                    best, most = c, here
            classes[word] = best
        trace.append(class_bigram_objective(sentences, classes))
    return classes, trace


def _with(classes, word, c):
    out = list(classes)
    out[word] = c
    return out
