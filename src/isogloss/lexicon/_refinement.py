"""Self-learning: words that are each other's best translation join the seed, and the map is fitted again.

A map from a few hundred pairs, or from pairs of which some are wrong, is right about few words and would
repeat its mistakes. So small seeds start with rotations of the most frequent words, and at first most entries
of the table of similarities, drawn anew in every round, are left out: the words that are paired change, and
what is consistent remains (Artetxe, Labaka, Agirre, *A robust self-learning method for fully unsupervised
cross-lingual mappings of word embeddings*, ACL 2018).
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from isogloss.lexicon._dictionaries import BilingualDictionary
from isogloss.lexicon._induction import mutual_pairs
from isogloss.lexicon._spaces import WordSpace
from isogloss.lexicon.retrieval import csls_means, unit_rows
from isogloss.lexicon.vectors import WordVectors
from isogloss.threads import thread_bound

logger = logging.getLogger(__name__)
LEAST_GAIN = 1e-3

FEW_PAIRS = 1_000
"""Seeds of fewer pairs start with rotations of the most frequent words."""

FIRST_WORDS, KEPT_SHARES = 2_000, (0.1, 0.1, 0.2, 0.2, 0.4, 0.4, 0.8, 1.0)
"""Words of each language in these first rounds, and the share of similarities that each round keeps."""


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
    random_state: int = 0,
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
    random_state : int
        Which similarities are left out in the first rounds of a seed of fewer than 1,000 pairs.
    n_jobs : int or None
        Threads.
    callback : callable, optional
        Called with every :class:`Round`.

    Notes
    -----
    Time: per round one fit and one full CSLS table for every two languages. The eight rounds with which small
    seeds start are rotations of 2,000 words, and do not count as rounds.
    """
    seeds = list(dictionaries)
    if rounds < 1:
        return Refinement(WordSpace.learn(vectors, seeds, **learn), ())
    first = _first_pairs(vectors, seeds, random_state, n_jobs, learn) if _are_few(vectors, seeds) else []
    best = WordSpace.learn(vectors, [*seeds, *first], **learn)
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


def _are_few(vectors: Mapping[str, WordVectors], seeds: Iterable[BilingualDictionary]) -> bool:
    known = [one for one in seeds if one.source in vectors and one.target in vectors]
    return sum(len(one.rows(vectors[one.source], vectors[one.target])[0]) for one in known) < FEW_PAIRS


def _first_pairs(
    vectors: Mapping[str, WordVectors],
    seeds: list[BilingualDictionary],
    random_state: int,
    n_jobs: int | None,
    learn: Mapping[str, Any],
) -> list[BilingualDictionary]:
    """Pairs of frequent words from rotations, with fewer and fewer similarities left out."""
    rng = np.random.default_rng(random_state)
    frequent = {name: one.first(FIRST_WORDS) for name, one in vectors.items()}
    options = {name: value for name, value in learn.items() if name in ("normalise", "exclude")}
    found: list[BilingualDictionary] = []
    for share in KEPT_SHARES:
        placed = WordSpace.learn(vectors, [*seeds, *found], "procrustes", **options).place(frequent)
        pairs = [_sampled_pairs(placed[a], placed[b], share, rng, n_jobs) for a, b in combinations(placed, 2)]
        found = [one for one in pairs if len(one)]
    return found


def _sampled_pairs(
    source: WordVectors, target: WordVectors, share: float, rng: np.random.Generator, n_jobs: int | None
) -> BilingualDictionary:
    """Mutual best translations by CSLS among a share of all pairs of words."""
    x, y = unit_rows(source.matrix), unit_rows(target.matrix)
    of_x, of_y = csls_means(x, y, n_jobs=n_jobs)
    scores = 2 * (x @ y.T) - of_x[:, None].astype(np.float32) - of_y.astype(np.float32)
    scores[rng.random(scores.shape, dtype=np.float32) >= share] = -np.inf
    best, back = scores.argmax(axis=1), scores.argmax(axis=0)
    kept = np.flatnonzero(back[best] == np.arange(len(best)))
    return BilingualDictionary(
        source.language, target.language, [(source.words[i], target.words[best[i]]) for i in kept]
    )


def _mutual(
    space: WordSpace, vectors: Mapping[str, WordVectors], words: int, n_jobs: int | None
) -> tuple[list[BilingualDictionary], Round]:
    placed = space.place({name: one.first(words) for name, one in vectors.items()})
    parts = [mutual_pairs(placed[a], placed[b], n_jobs=n_jobs) for a, b in combinations(placed, 2)]
    found = [part for part, _ in parts if len(part)]
    pairs = sum(map(len, found))
    score = sum(len(part) * mean for part, mean in parts if len(part)) / max(pairs, 1)
    return found, Round(pairs, score)
