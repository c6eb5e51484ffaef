"""Scores of links: precision, recall, F1 and the alignment error rate, with their standard errors.

With A the links found, S the sure ones and P the possible ones (S among them),

    precision = |A in P| / |A|,    recall = |A in S| / |S|,
    F1 = 2 precision recall / (precision + recall),
    AER = 1 - (|A in S| + |A in P|) / (|A| + |S|)

(Och and Ney 2003), summed over sentence pairs. AER rewards leaving doubtful links out, so it is shown with
the others.
"""

from __future__ import annotations

import dataclasses
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from isogloss.alignment.decoding import Links, link_keys, widths
from isogloss.alignment.formats import Gold

Array: TypeAlias = NDArray[np.float64]
RATES = ("precision", "recall", "f1", "aer")


@dataclasses.dataclass(frozen=True)
class AlignmentScore:
    """Counts per sentence pair, and the rates of all of them.

    Attributes
    ----------
    counts : array of int, shape (n_sentences, 4)
        Links found, sure links, and of those found the sure and the possible ones.
    """

    counts: NDArray[np.int64]

    @property
    def precision(self) -> float:
        """Share of the links found that are possible."""
        return self._rate("precision")

    @property
    def recall(self) -> float:
        """Share of the sure links that were found."""
        return self._rate("recall")

    @property
    def f1(self) -> float:
        """Harmonic mean of precision and recall."""
        return self._rate("f1")

    @property
    def aer(self) -> float:
        """Alignment error rate."""
        return self._rate("aer")

    def per_sentence(self) -> dict[str, Array]:
        """The rates of every sentence pair alone."""
        return _rates(self.counts)

    def standard_errors(self, *, resamples: int = 1000, random_state: int = 0) -> dict[str, float]:
        """Standard deviation of each rate over corpora of sentence pairs drawn with replacement."""
        rng = np.random.default_rng(random_state)
        n = len(self.counts)
        drawn = rng.multinomial(n, np.full(n, 1 / n), size=resamples) if n else np.zeros((1, 0), dtype=int)
        return {name: float(values.std()) for name, values in _rates(drawn @ self.counts).items()}

    def summary(self) -> dict[str, float]:
        """Rates, their standard errors (``..._se``) and counts, by name."""
        rates = {name: self._rate(name) for name in RATES}
        errors = {f"{name}_se": error for name, error in self.standard_errors().items()}
        names = ("links", "sure", "links_sure", "links_possible")
        totals = dict(zip(names, self.counts.sum(axis=0).tolist(), strict=True))
        return {**rates, **errors, "sentences": len(self.counts), **totals}

    def _rate(self, name: str) -> float:
        return float(_rates(self.counts.sum(axis=0, keepdims=True))[name][0])


def score_links(links: Links, gold: Gold) -> AlignmentScore:
    """Compare links with those of people.

    Examples
    --------
    >>> gold = Gold.join(Links.from_sets([{(0, 0), (1, 1)}]), Links.from_sets([{(1, 2)}]))
    >>> score = score_links(Links.from_sets([{(0, 0), (1, 2), (3, 3)}]), gold)
    >>> round(score.precision, 3), score.recall, round(score.aer, 3)
    (0.667, 0.5, 0.4)
    """
    if len(links) != len(gold):
        raise ValueError(
            f"links of {len(links)} sentence pairs and gold of {len(gold)}; expected as many, of the same "
            "text"
        )
    width = widths(links, gold.possible)
    found = link_keys(links, width)
    columns = [links.counts, gold.sure.counts]
    for right in (gold.sure, gold.possible):
        hits = np.isin(found, link_keys(right, width))
        columns.append(np.bincount(links.sentence[hits], minlength=len(links)))
    return AlignmentScore(np.column_stack(columns))


def _rates(counts: NDArray[np.int64]) -> dict[str, Array]:
    """The rates of each row of counts; what has no links, and misses none, is right."""
    found, sure, found_sure, found_possible = counts.T.astype(np.float64)
    precision = _ratio(found_possible, found)
    recall = _ratio(found_sure, sure)
    f1 = _ratio(2 * precision * recall, precision + recall, empty=0.0)
    return {
        "precision": precision,
        "recall": recall,
        "f1": f1,
        "aer": 1 - _ratio(found_sure + found_possible, found + sure),
    }


def _ratio(part: Array, whole: Array, *, empty: float = 1.0) -> Array:
    return np.divide(part, whole, out=np.full_like(part, empty), where=whole > 0)
