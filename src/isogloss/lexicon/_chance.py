"""Is a map between languages better than chance? Asked on words that it has not seen."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from numpy.typing import ArrayLike
from scipy.stats import binom

from isogloss.exceptions import DictionaryError
from isogloss.lexicon._dictionaries import BilingualDictionary
from isogloss.lexicon._induction import induce
from isogloss.lexicon.vectors import WordVectors
from isogloss.threads import thread_bound

LEVEL = 1e-3


@dataclass(frozen=True)
class ChanceTest:
    """Right answers among held-out words, and how many a method that does not look at the question gets."""

    name: str
    n_queries: int
    hits: int
    expected: float
    p_value: float

    @property
    def precision(self) -> float:
        """Share of right answers."""
        return self.hits / self.n_queries

    @property
    def passed(self) -> bool:
        """Return whether chance is an unlikely explanation (p below one in a thousand)."""
        return self.p_value < LEVEL

    def __str__(self) -> str:
        return (
            f"{self.name}: {self.hits} of {self.n_queries} held-out words are translated rightly, "
            f"{self.expected:.1f} would be by chance (p = {self.p_value:.2g})"
        )


@thread_bound
def chance_test(
    placed: Mapping[str, WordVectors],
    held: BilingualDictionary,
    *,
    rule: str = "csls",
    covariance: ArrayLike | None = None,
    n_jobs: int | None = None,
) -> ChanceTest:
    """Count right answers to held-out words, and compare with the same answers given to shuffled questions.

    Chance is what shuffled answers would score, or a blind guess if that is more; so a map that answers
    every question with the same few frequent words is not taken for a good one.

    Examples
    --------
    >>> import numpy as np
    >>> words = [f"w{i}" for i in range(40)]
    >>> x = np.random.default_rng(0).normal(size=(40, 8))
    >>> en, de = WordVectors(words, x, "en"), WordVectors(words, x, "de")
    >>> held = BilingualDictionary("en", "de", [(w, w) for w in words])
    >>> chance_test({"en": en, "de": de}, held).hits
    40
    >>> lost = WordVectors(words, np.roll(x, 1, axis=0), "de")
    >>> chance_test({"en": en, "de": lost}, held).passed
    False
    """
    source, target = placed[held.source], placed[held.target]
    right: dict[str, set[str]] = {}
    for s, t in held.pairs:
        if s in source and t in target:
            right.setdefault(s, set()).add(t)
    answers = dict(induce(source, target, right, rule=rule, covariance=covariance, n_jobs=n_jobs).pairs)
    n = len(answers)
    hits = sum(answers[word] in gold for word, gold in right.items())
    counts = Counter(answers.values())
    shuffled = sum(counts[t] for gold in right.values() for t in gold) / n
    blind = sum(map(len, right.values())) / len(target)
    expected = max(shuffled, blind)
    return ChanceTest(held.name, n, hits, expected, float(binom.sf(hits - 1, n, min(expected / n, 1.0))))


def refuse_chance(tests: list[ChanceTest], n_pairs: int) -> None:
    """Raise if one of the tests was not passed."""
    failed = [test for test in tests if not test.passed]
    if failed:
        raise DictionaryError(
            f"a dictionary made from these {n_pairs} seed pairs would be no better than chance: "
            f"{'; '.join(map(str, failed))}. Check that the seed belongs to these vectors, give more pairs, "
            "or use vectors trained on more text"
        )
