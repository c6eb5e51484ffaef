"""Slow twins of the kernels of hashed terms and bounded postings."""

from __future__ import annotations

from collections import Counter, defaultdict

import numpy as np

Sparse = tuple[np.ndarray, np.ndarray]

_MASK = (1 << 64) - 1
_PRIME = 0x100000001B3


def hash_term(term: str, seed: int, size: int) -> int:
    """FNV-1a with 64 bits, folded."""
    h = 0xCBF29CE484222325 ^ (seed * _PRIME & _MASK)
    for byte in term.encode():
        h = (h ^ byte) * _PRIME & _MASK
    return (h ^ (h >> 32)) & (size - 1)


def count_terms(words: list[str], seed: int, stem: int, gram: int, size: int) -> dict[int, float]:
    """The number of each term, and how often it occurs."""
    found: Counter[int] = Counter()
    for word in words:
        found[hash_term(word[:stem], seed, size)] += 1
        padded = f" {word} "
        for i in range(max(1, len(padded) - gram + 1) if gram else 0):
            found[hash_term(padded[i : i + gram], seed + 1, size)] += 1
    return {term: float(found[term]) for term in sorted(found)}


def dense(vector: Sparse, size: int) -> np.ndarray:
    """A sparse vector with all its zeros."""
    out = np.zeros(size)
    out[vector[0]] = vector[1]
    return out


def strongest(vector: np.ndarray, most: int) -> np.ndarray:
    """All but the largest entries set to zero; of equal ones the first are kept."""
    out = np.zeros_like(vector)
    kept = np.argsort(-vector, kind="stable")[:most]
    out[kept] = vector[kept]
    return out


def weigh_article(
    title: Sparse, body: Sparse, frequencies: np.ndarray, total: float, weight: float, power: float, most: int
) -> np.ndarray:
    """The dense vector of a title and a body, whose terms are counted first."""
    frequencies[np.union1d(title[0], body[0]).astype(np.int32)] += 1
    idf = np.maximum(np.log(total / np.maximum(1, frequencies)), 1e-3)
    size = len(frequencies)
    upper = dense(title, size) * idf
    lower = dense((body[0], 1 + np.log(body[1])), size) * idf**power
    unit = [part / (np.linalg.norm(part) or 1.0) for part in (upper, lower)]
    both = strongest(unit[0] + weight * unit[1], most)
    return both / (np.linalg.norm(both) or 1.0)


def dot_each(one: Sparse, others: list[Sparse], size: int) -> np.ndarray:
    """The inner products of a vector and each of several."""
    return np.array([dense(one, size) @ dense(other, size) for other in others])


class Lists:
    """The latest clusters of each term, as lists of numbers."""

    def __init__(self, room: int) -> None:
        self.room = room
        self.lists: defaultdict[int, list[int]] = defaultdict(list)

    def add(self, cluster: int, terms: list[int]) -> None:
        """List a cluster."""
        for term in terms:
            if cluster not in self.lists[term]:
                self.lists[term] = [*self.lists[term], cluster][-self.room :]

    def find(self, terms: dict[int, float]) -> dict[int, float]:
        """The squared weight that each cluster is listed under."""
        scores: defaultdict[int, float] = defaultdict(float)
        for term, weight in terms.items():
            for cluster in self.lists[term]:
                scores[cluster] += weight**2
        return dict(scores)
