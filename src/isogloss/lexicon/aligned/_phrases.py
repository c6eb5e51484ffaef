"""Phrases of an entry: neighbouring words that are translated together.

A phrase has two content words at least, or its translation is not what its words are translated as one by
one. It is scored by how much likelier its translation is than the translations of its words would make it:
its count times the logarithm of that ratio, so that frequent and idiomatic ones come first.
"""

from __future__ import annotations

from collections import defaultdict
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from isogloss.lexicon.aligned._entries import Phrase
from isogloss.lexicon.aligned._examples import ExampleFinder
from isogloss.lexicon.aligned._names import common_surfaces
from isogloss.lexicon.aligned._occurrences import Pairs, best_of_each, count_pairs
from isogloss.lexicon.aligned._spans import SpanPairs, UnitSequences, consistent_spans, first_of
from isogloss.lexicon.aligned._text import AlignedText, Ints, TextSide

MIN_PROBABILITY = 0.25
"""The least share of the occurrences of a phrase that have the translation."""
MIN_GAIN = 2.0
"""The least logarithm of the ratio for phrases of one content word."""
UNSEEN = 1e-4
"""Probability of a translation of a word that was not seen."""
FREQUENT, VERY_FREQUENT, DISPERSED = 0.001, 0.012, 0.4
"""Function words are very frequent, or frequent (as shares of the text) without a translation this likely."""


class TranslationTable(NamedTuple):
    """Probabilities of translations of single units, by pairs in increasing order."""

    keys: Ints
    probability: NDArray[np.float64]
    width: int

    @classmethod
    def of(cls, pairs: Pairs, frequency: Ints) -> TranslationTable:
        """From counts of pairs."""
        width = int(pairs.term.max(initial=0)) + 1
        return cls(pairs.unit * width + pairs.term, pairs.joint / frequency[pairs.unit], width)

    def of_units(self, units: Ints, terms: Ints) -> NDArray[np.float64]:
        """Probabilities of pairs."""
        if not len(self.keys):
            return np.full(len(units), UNSEEN)
        keys = units * self.width + terms
        at = np.minimum(np.searchsorted(self.keys, keys), len(self.keys) - 1)
        known = (self.keys[at] == keys) & (terms < self.width)
        return np.where(known, np.maximum(self.probability[at], UNSEEN), UNSEEN)


def function_units(pairs: Pairs, frequency: Ints, names: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Units that say little by themselves."""
    share = frequency / max(frequency.sum(), 1)
    likely = np.zeros(len(frequency))
    np.maximum.at(likely, pairs.unit, pairs.joint / frequency[pairs.unit])
    frequent = (share > VERY_FREQUENT) | ((share > FREQUENT) & (likely < DISPERSED))
    return np.asarray(frequent & ~names)


def find_phrases(
    text: AlignedText,
    terms: tuple[UnitSequences, UnitSequences],
    table: TranslationTable,
    function: NDArray[np.bool_],
    finder: ExampleFinder,
    *,
    max_words: int,
    min_count: int,
    limit: int,
) -> dict[int, tuple[Phrase, ...]]:
    """Phrases of each source unit, the most telling first."""
    spans = _phrase_spans(text, max_words)
    first = terms[0].of(spans.source, spans.source_length)
    pairs = count_pairs(first, terms[1].of(spans.target, spans.target_length))
    share = pairs.joint / _occurrences(text.source, terms[0], max_words)[pairs.unit]
    kept = np.flatnonzero((pairs.joint >= min_count) & (share >= MIN_PROBABILITY))
    order = finder.order(pairs.of_occurrence, spans.source)
    example_of = order[first_of(pairs.of_occurrence[order], np.arange(len(order)))][kept]
    shown = SpanPairs(*(column[example_of] for column in spans))
    gain = np.log(share[kept]) - _composed(terms, table, shown)
    content = _content(terms[0], ~function, shown)
    fine = (gain > 0) & ((content.sum(axis=0) > 1) | (gain > MIN_GAIN))
    rows = _best_translation(pairs.unit[kept], gain * pairs.joint[kept], fine)
    scores = gain * pairs.joint[kept]
    chosen = _under_words(terms[0], content, shown, rows, scores, limit)
    written = _written(text, spans, pairs, kept[np.unique(chosen[1])])
    found: defaultdict[int, list[Phrase]] = defaultdict(list)
    for unit, row in zip(*(column.tolist() for column in chosen), strict=True):
        pair = int(kept[row])
        example = finder.example(*(int(column[row]) for column in shown))
        names = written[0][pair], written[1][pair]
        found[unit].append(Phrase(*names, int(pairs.joint[pair]), float(share[pair]), example))
    return {unit: tuple(phrases) for unit, phrases in found.items()}


def _phrase_spans(text: AlignedText, max_words: int) -> SpanPairs:
    spans = consistent_spans(text, max_words, max_words)
    long = spans.source_length > 1
    whole = text.source.unbroken(spans.source, spans.source_length)
    whole &= text.target.unbroken(spans.target, spans.target_length)
    return SpanPairs(*(column[long & whole] for column in spans))


def _occurrences(side: TextSide, terms: UnitSequences, max_words: int) -> Ints:
    """How often each term occurs, linked or not."""
    counts = np.zeros(terms.first[-1], dtype=np.int64)
    for length in range(2, max_words + 1):
        starts = np.arange(max(len(side.tokens) - length + 1, 0))
        starts = starts[side.sentence[starts] == side.sentence[starts + length - 1]]
        counts += np.bincount(terms.of(starts, np.full(len(starts), length)), minlength=len(counts))
    return counts


def _composed(
    terms: tuple[UnitSequences, UnitSequences], table: TranslationTable, spans: SpanPairs
) -> NDArray[np.float64]:
    """Logarithms of the probabilities that the words of phrases give to their translations."""
    source, target = terms[0].numbers[0], terms[1].numbers[0]
    found = np.zeros(len(spans.source))
    for j in range(int(spans.target_length.max(initial=0))):
        best = np.full(len(found), UNSEEN)
        for i in range(int(spans.source_length.max(initial=0))):
            here = np.minimum(spans.source + i, len(source) - 1)
            there = np.minimum(spans.target + j, len(target) - 1)
            p = table.of_units(source[here], target[there])
            best = np.where(i < spans.source_length, np.maximum(best, p), best)
        found += np.where(j < spans.target_length, np.log(best), 0)
    return found


def _content(terms: UnitSequences, content: NDArray[np.bool_], spans: SpanPairs) -> NDArray[np.bool_]:
    """For each position and phrase whether a content word stands there."""
    rows = []
    for i in range(int(spans.source_length.max(initial=0))):
        at = np.minimum(spans.source + i, len(terms.numbers[0]) - 1)
        rows.append(content[terms.numbers[0][at]] & (i < spans.source_length))
    return np.array(rows, dtype=bool).reshape(len(rows), len(spans.source))


def _best_translation(phrase: Ints, scores: NDArray[np.float64], fine: NDArray[np.bool_]) -> Ints:
    """Rows of the best translation of each phrase."""
    rows = np.flatnonzero(fine)
    return rows[best_of_each(phrase[rows], scores[rows], 1)]


def _under_words(
    terms: UnitSequences,
    content: NDArray[np.bool_],
    spans: SpanPairs,
    rows: Ints,
    scores: NDArray[np.float64],
    limit: int,
) -> tuple[Ints, Ints]:
    """Units and the phrases, by row, that are listed under them."""
    position, column = np.nonzero(content[:, rows])
    units, chosen = terms.numbers[0][spans.source[rows[column]] + position], rows[column]
    _, distinct = np.unique(np.stack([units, chosen]), axis=1, return_index=True)
    units, chosen = units[distinct], chosen[distinct]
    best = best_of_each(units, scores[chosen], limit)
    return units[best], chosen[best]


def _written(
    text: AlignedText, spans: SpanPairs, pairs: Pairs, wanted: Ints
) -> tuple[dict[int, str], dict[int, str]]:
    """How phrases and their translations are written, by pair."""
    rows = np.flatnonzero(np.isin(pairs.of_occurrence, wanted))
    of = pairs.of_occurrence[rows]
    source = common_surfaces(text.source, spans.source[rows], spans.source_length[rows], of)
    return source, common_surfaces(text.target, spans.target[rows], spans.target_length[rows], of)
