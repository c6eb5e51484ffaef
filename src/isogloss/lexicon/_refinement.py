"""Self-learning: words that are each other's best translation join the seed, and the map is fitted again."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from isogloss.lexicon._dictionaries import BilingualDictionary
from isogloss.lexicon._induction import mutual_pairs
from isogloss.lexicon._spaces import WordSpace
from isogloss.lexicon.vectors import WordVectors
from isogloss.threads import thread_bound

logger = logging.getLogger(__name__)
LEAST_GAIN = 1e-3


@dataclass(frozen=True)
class Round:
    """One round: pairs found, and their mean CSLS score, which needs no dictionary and says when to stop."""

    pairs: int
    score: float


@dataclass(frozen=True)
class Refinement:
    """The space of the best round, and all rounds; round 0 is the seed's own space."""

    space: WordSpace
    rounds: tuple[Round, ...]


@thread_bound
def refine(
    vectors: Mapping[str, WordVectors],
    dictionaries: Iterable[BilingualDictionary],
    *,
    rounds: int = 5,
    words: int = 10_000,
    n_jobs: int | None = None,
    callback: Callable[[Round], None] | None = None,
    **learn: Any,
) -> Refinement:
    """Fit a space, find mutual nearest neighbours, add them to the seed, and fit again.

    Parameters
    ----------
    vectors, dictionaries, learn
        As in :meth:`~isogloss.lexicon.WordSpace.learn`.
    rounds : int
        Most rounds after the first fit; 0 fits once. It ends early when the mean score of the pairs found
        grows by less than a thousandth, and the space with the best mean is kept.
    words : int
        Only the most frequent words of each language are paired; rare ones have noisy vectors.
    n_jobs : int or None
        Threads.
    callback : callable, optional
        Called with every :class:`Round`.

    Notes
    -----
    Time: per round one fit and one full CSLS table for every two languages.
    """
    seeds = list(dictionaries)
    best = WordSpace.learn(vectors, seeds, **learn)
    if rounds < 1:
        return Refinement(best, ())
    found, line = _mutual(best, vectors, words, n_jobs)
    history = [line]
    for turn in range(1, rounds + 1):
        space = WordSpace.learn(vectors, [*seeds, *found], **learn)
        found, line = _mutual(space, vectors, words, n_jobs)
        logger.info("round %d: %d mutual pairs, mean score %.4f", turn, line.pairs, line.score)
        gain = line.score - history[-1].score
        history.append(line)
        if callback is not None:
            callback(line)
        best = space if gain > 0 else best
        if gain < LEAST_GAIN:
            break
    return Refinement(best, tuple(history))


def _mutual(
    space: WordSpace, vectors: Mapping[str, WordVectors], words: int, n_jobs: int | None
) -> tuple[list[BilingualDictionary], Round]:
    placed = space.place({name: one.first(words) for name, one in vectors.items()})
    parts = [mutual_pairs(placed[a], placed[b], n_jobs=n_jobs) for a, b in combinations(placed, 2)]
    found = [part for part, _ in parts if len(part)]
    pairs = sum(map(len, found))
    score = sum(len(part) * mean for part, mean in parts if len(part)) / max(pairs, 1)
    return found, Round(pairs, score)
