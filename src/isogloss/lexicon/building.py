"""From vectors and a seed to a space: choose a model, see that it is better than chance, fit."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from isogloss.exceptions import DictionaryError
from isogloss.lexicon.chance import ChanceTest, chance_test, refuse_chance
from isogloss.lexicon.dictionaries import BilingualDictionary
from isogloss.lexicon.refinement import Refinement, refine
from isogloss.lexicon.spaces import MODELS, WordSpace
from isogloss.lexicon.vectors import WordVectors

__all__ = ["CheckedSpace", "build_space"]

logger = logging.getLogger(__name__)

SMALL_SEED, ROUNDS = 1000, 5
HELD_SHARE = 0.2
HELD_WORDS = (50, 1000)
"""Least (if the seed has twice as many) and most source words of a dictionary that are held out."""


@dataclass(frozen=True)
class CheckedSpace:
    """A space, and what was seen on held-out words before it was fitted to all of them.

    Attributes
    ----------
    space : WordSpace
        Fitted to the whole seed.
    model : str
        The model that was taken.
    tests : tuple of ChanceTest
        One for each dictionary, on words that were held out.
    tried : dict
        Share of right answers on held-out words, for every model that was tried.
    refinement : Refinement
        Rounds of self-learning.
    """

    space: WordSpace
    model: str
    tests: tuple[ChanceTest, ...]
    tried: dict[str, float]
    refinement: Refinement


def build_space(
    vectors: Mapping[str, WordVectors],
    dictionaries: Sequence[BilingualDictionary],
    model: str = "auto",
    *,
    rounds: int | None = None,
    rule: str = "csls",
    random_state: int = 0,
    n_jobs: int | None = None,
    progress: Callable[[str], None] | None = None,
    **learn: Any,
) -> CheckedSpace:
    """Fit a space for some languages, or refuse with a reason.

    A part of each dictionary is held out and translated with a space fitted to the rest. If the answers are
    not better than chance, no dictionary is made. Then a space is fitted to all pairs.

    Parameters
    ----------
    vectors : mapping from language to WordVectors
        Two languages or more.
    dictionaries : sequence of BilingualDictionary
        Between any of them.
    model : {'auto', 'mbfa', 'ibfa', 'cca', 'procrustes'}
        ``'auto'`` tries ``'mbfa'`` and ``'procrustes'`` and takes what does better on the words held out:
        rotations have fewer parameters and win when there are few pairs.
    rounds : int
        Most rounds of self-learning, see :func:`~isogloss.lexicon.refine`; by default 5 for seeds of fewer
        than 1,000 pairs, for which it does most, and none for larger ones.
    rule : str
        How held-out words are translated.
    random_state : int
        Which words are held out.
    n_jobs : int or None
        Threads.
    progress : callable, optional
        Told in a few words what is being done.
    learn
        Further parameters of :meth:`~isogloss.lexicon.WordSpace.learn`.

    Raises
    ------
    DictionaryError
        A dictionary is empty, not covered by the vectors or of no use; with counts.
    """
    say = progress or (lambda what: logger.info("%s", what))
    candidates = ("mbfa", "procrustes") if model == "auto" else (model,)
    if not set(candidates) <= set(MODELS):
        raise ValueError(f"model={model!r}; expected 'auto' or one of {', '.join(MODELS)}")
    seeds = [_covered(one, vectors) for one in dictionaries]
    if rounds is None:
        rounds = ROUNDS if sum(map(len, seeds)) < SMALL_SEED else 0
    parts = [_hold_out(one, random_state) for one in seeds]
    held = [part[1] for part in parts]
    results = {}
    for name in candidates:
        say(f"trying {name} on held-out words")
        results[name] = _try(vectors, parts, name, rounds, rule, n_jobs, {**learn, "exclude": held})
    chosen = max(results, key=lambda name: _precision(results[name]))
    refuse_chance(results[chosen], sum(map(len, seeds)))
    say(f"fitting {chosen} to all pairs")
    refined = refine(vectors, seeds, rounds=rounds, n_jobs=n_jobs, model=chosen, **learn)
    tried = {name: _precision(tests) for name, tests in results.items()}
    return CheckedSpace(refined.space, chosen, tuple(results[chosen]), tried, refined)


def _covered(dictionary: BilingualDictionary, vectors: Mapping[str, WordVectors]) -> BilingualDictionary:
    """The pairs that have vectors."""
    for language in (dictionary.source, dictionary.target):
        if language not in vectors:
            raise DictionaryError(
                f"the dictionary {dictionary.name} is for a language without vectors ({language}); there are "
                f"vectors of {', '.join(vectors)}"
            )
    source, target = vectors[dictionary.source], vectors[dictionary.target]
    i, j = dictionary.rows(source, target)
    pairs = [(source.words[a], target.words[b]) for a, b in zip(i, j, strict=True)]
    return BilingualDictionary(dictionary.source, dictionary.target, pairs)


def _hold_out(
    dictionary: BilingualDictionary, random_state: int
) -> tuple[BilingualDictionary, BilingualDictionary]:
    words = len(dictionary.translations)
    if words < 10:
        raise DictionaryError(
            f"the dictionary {dictionary.name} has {words} words with vectors; at least 10 are needed to "
            "tell a good map from chance"
        )
    least, most = HELD_WORDS
    held = min(max(HELD_SHARE * words, min(least, words / 2)), most)
    return dictionary.split(held / words, random_state=random_state)


def _try(
    vectors: Mapping[str, WordVectors],
    parts: Sequence[tuple[BilingualDictionary, BilingualDictionary]],
    model: str,
    rounds: int,
    rule: str,
    n_jobs: int | None,
    learn: Mapping[str, Any],
) -> list[ChanceTest]:
    space = refine(
        vectors, [part[0] for part in parts], rounds=rounds, n_jobs=n_jobs, model=model, **learn
    ).space
    placed = space.place(vectors)
    tests = []
    for _, held in parts:
        covariance = space.covariance(held.source, held.target) if rule == "density" else None
        tests.append(chance_test(placed, held, rule=rule, covariance=covariance, n_jobs=n_jobs))
    return tests


def _precision(tests: Sequence[ChanceTest]) -> float:
    return sum(test.hits for test in tests) / sum(test.n_queries for test in tests)
