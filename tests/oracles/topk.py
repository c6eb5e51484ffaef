"""Slow NumPy twins of the top-k kernels, and of CSLS and the inverted softmax on the whole table."""

from fractions import Fraction

import numpy as np


def best_of_rows(table, k):
    """The k largest of every row, equal ones in the order of their indices."""
    table = np.asarray(table, dtype=np.float64)
    order = np.argsort(-table, axis=1, kind="stable")[:, :k]
    return np.take_along_axis(table, order, axis=1), order


def products(queries, targets):
    """Inner products of float32 rows in float64: sixteen partial sums, folded in halves."""
    x, y = (np.asarray(a, dtype=np.float32).astype(np.float64) for a in (queries, targets))
    terms = x[:, None, :] * y[None, :, :]
    lanes = np.zeros((*terms.shape[:2], 16))
    for i in range(terms.shape[2]):
        lanes[:, :, i % 16] += terms[:, :, i]
    while lanes.shape[2] > 1:
        half = lanes.shape[2] // 2
        lanes = lanes[:, :, :half] + lanes[:, :, half:]
    return lanes[:, :, 0]


def exact_product(x, y):
    """The inner product of two float32 vectors as a fraction."""
    return sum(Fraction(float(a)) * Fraction(float(b)) for a, b in zip(x, y, strict=True))


def top_k(queries, targets, k, bias=0.0):
    return best_of_rows(products(queries, targets) + bias, k)


def rounded_scores(codes, worth, targets, scales, bias):
    """Products of query bytes, less 64, with target bytes, times what they are worth, in float32."""
    sums = (codes.astype(np.int64) - 64) @ targets.astype(np.int64).T
    return sums.astype(np.float32) * (scales * worth[:, None]) + bias


def unit(x):
    return np.asarray(x) / np.linalg.norm(x, axis=1, keepdims=True)


def csls(queries, targets, sources, neighbours):
    """The whole table 2 cos(x, y) - r_T(x) - r_S(y)."""
    x, y, s = (unit(np.asarray(a, dtype=np.float64)) for a in (queries, targets, sources))

    def means(table):
        return np.sort(table, axis=1)[:, -neighbours:].mean(axis=1)

    return 2 * x @ y.T - means(x @ y.T)[:, None] - means(y @ s.T)[None]


def inverted_softmax(queries, targets, sources, temperature):
    """The whole table of log probabilities of queries given targets, over all sources."""
    x, y, s = (unit(np.asarray(a, dtype=np.float64)) for a in (queries, targets, sources))
    return x @ y.T / temperature - np.log(np.exp(s @ y.T / temperature).sum(axis=0))
