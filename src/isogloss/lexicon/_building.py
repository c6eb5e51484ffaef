"""From vectors and a seed to a space: choose a model, see that it is better than chance, fit."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from isogloss.exceptions import DictionaryError
from isogloss.lexicon._chance import ChanceTest, chance_test, refuse_chance
from isogloss.lexicon._dictionaries import BilingualDictionary
from isogloss.lexicon._refinement import Refinement, refine
from isogloss.lexicon._spaces import MODELS, WordSpace
from isogloss.lexicon.vectors import WordVectors
from isogloss.threads import thread_bound

logger = logging.getLogger(__name__)

ROUNDS = 5
TESTABLE = 10
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
        One for each dictionary of at least 10 words, on words that were held out; those that were not passed
        were left out.
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


@thread_bound
def build_space(
    vectors: Mapping[str, WordVectors],
    dictionaries: Sequence[BilingualDictionary],
    model: str = "auto",
    *,
    rounds: int = ROUNDS,
    rule: str = "csls",
    random_state: int = 0,
    n_jobs: int | None = None,
    progress: Callable[[str], None] | None = None,
    **learn: Any,
) -> CheckedSpace:
    """Fit a space for some languages, or refuse with a reason.

    A part of each dictionary is held out and translated with a space fitted to the rest. A dictionary whose
    answers are not better than chance is left out, with a warning in the log, if the others connect all
    languages; if they do not, no space is made. One of fewer than 10 words cannot be tested; it is used if
    the tested ones connect its languages. Then a space is fitted to all pairs.

    Parameters
    ----------
    vectors : mapping from language to WordVectors
        Two languages or more.
    dictionaries : sequence of BilingualDictionary
        Between any of them.
    model : {'auto', 'mbfa', 'ibfa', 'cca', 'procrustes'}
        ``'auto'`` tries ``'procrustes'`` and a factor model, ``'ibfa'`` for two languages and ``'mbfa'`` for
        more, and takes what does better on the words held out: rotations have fewer parameters and can win
        when there are few pairs.
    rounds : int
        Most rounds of self-learning, see :func:`~isogloss.lexicon.refine`; 0 learns from the seed alone.
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
    factors = "ibfa" if len(vectors) == 2 else "mbfa"
    candidates = (factors, "procrustes") if model == "auto" else (model,)
    if not set(candidates) <= set(MODELS):
        raise ValueError(f"model={model!r}; expected 'auto' or one of {', '.join(MODELS)}")
    seeds = [_covered(one, vectors) for one in dictionaries]
    small = _too_small(seeds)
    large = [one for one in seeds if one not in small]
    parts = [_hold_out(one, random_state) for one in large]
    learned = [*(part[0] for part in parts), *small]
    held = [part[1] for part in parts]
    unseen = [*learn.get("exclude", ()), *held]
    results = {}
    for name in candidates:
        say(f"trying {name} on held-out words")
        options = {**learn, "model": name, "rounds": rounds, "n_jobs": n_jobs, "exclude": unseen}
        results[name] = _try(vectors, learned, held, rule, options)
    chosen = max(results, key=lambda name: _precision(results[name]))
    kept = _without_chance(large, results[chosen], sum(map(len, seeds)))
    say(f"fitting {chosen} to all pairs")
    refined = refine(vectors, [*kept, *small], rounds=rounds, n_jobs=n_jobs, model=chosen, **learn)
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


def _too_small(seeds: Sequence[BilingualDictionary]) -> list[BilingualDictionary]:
    """Dictionaries too small for a test; the others must connect the languages of each."""
    small = [one for one in seeds if len(one.translations) < TESTABLE]
    groups = _connected([one for one in seeds if one not in small])
    for one in small:
        if not any({one.source, one.target} <= group for group in groups):
            raise DictionaryError(
                f"the dictionary {one.name} has {len(one.translations)} words with vectors; at least "
                f"{TESTABLE} are needed to tell a good map from chance"
            )
    return small


def _connected(dictionaries: Iterable[BilingualDictionary]) -> list[set[str]]:
    """Groups of languages that dictionaries connect, directly or by way of others."""
    groups: list[set[str]] = []
    for one in dictionaries:
        both = {one.source, one.target}
        met = [group for group in groups if group & both]
        groups = [group for group in groups if not group & both] + [both.union(*met)]
    return groups


def _hold_out(
    dictionary: BilingualDictionary, random_state: int
) -> tuple[BilingualDictionary, BilingualDictionary]:
    words = len(dictionary.translations)
    least, most = HELD_WORDS
    held = min(max(HELD_SHARE * words, min(least, words / 2)), most)
    return dictionary.split(held / words, random_state=random_state)


def _try(
    vectors: Mapping[str, WordVectors],
    learned: Sequence[BilingualDictionary],
    held: Sequence[BilingualDictionary],
    rule: str,
    options: Mapping[str, Any],
) -> list[ChanceTest]:
    space = refine(vectors, learned, **options).space
    placed, n_jobs = space.place(vectors), options["n_jobs"]
    tests = []
    for one in held:
        covariance = space.covariance(one.source, one.target) if rule == "density" else None
        tests.append(chance_test(placed, one, rule=rule, covariance=covariance, n_jobs=n_jobs))
    return tests


def _without_chance(
    dictionaries: Sequence[BilingualDictionary], tests: Sequence[ChanceTest], n_pairs: int
) -> list[BilingualDictionary]:
    """The dictionaries that passed their tests; they must connect the languages of those that did not."""
    tested = list(zip(dictionaries, tests, strict=True))
    kept, failed = ([pair for pair in tested if pair[1].passed is passed] for passed in (True, False))
    groups = _connected(one for one, _ in kept)
    lost = [test for one, test in failed if not any({one.source, one.target} <= group for group in groups)]
    refuse_chance(lost, n_pairs)
    for _, test in failed:
        logger.warning("left out, because it is no better than chance: %s", test)
    return [one for one, _ in kept]


def _precision(tests: Sequence[ChanceTest]) -> float:
    return sum(test.hits for test in tests) / sum(test.n_queries for test in tests)
