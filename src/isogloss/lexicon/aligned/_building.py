"""From links to a dictionary: which translations, forms, names and phrases each headword has."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from isogloss.lexicon.aligned._association import RANKINGS
from isogloss.lexicon.aligned._entries import AlignedDictionary, Entry, Translation
from isogloss.lexicon.aligned._examples import CANDIDATES, ExampleFinder
from isogloss.lexicon.aligned._forms import group_both
from isogloss.lexicon.aligned._names import NameSigns, common_surfaces
from isogloss.lexicon.aligned._occurrences import Pairs, best_of_each, count_pairs, word_translations
from isogloss.lexicon.aligned._phrases import TranslationTable, find_phrases, function_units
from isogloss.lexicon.aligned._spans import SpanPairs, UnitSequences
from isogloss.lexicon.aligned._text import AlignedText, Ints, TextSide


class DictionaryRules(NamedTuple):
    """What goes into a dictionary."""

    min_count: int = 2
    """The least frequency of a headword."""
    max_translations: int = 10
    min_probability: float = 0.02
    """Translations of a smaller share of the occurrences are left out."""
    max_words: int = 3
    """The longest translation of a single word."""
    max_phrases: int = 12
    phrase_words: int = 4
    min_phrase_count: int = 3
    max_examples: int = 3
    """Of the first translation; the others have one less."""
    ranking: str = "likelihood"
    group_forms: bool = True


class DictionarySide(NamedTuple):
    """One language: its tokens as units, groups of forms that are numbered by their most frequent word."""

    text: TextSide
    unit_of_word: Ints
    terms: UnitSequences
    frequency: Ints
    names: NameSigns
    entries: Ints
    """Units with an entry, most frequent first."""
    written: dict[int, str]
    """How each word is written."""

    @classmethod
    def of(cls, side: TextSide, group: Ints, rules: DictionaryRules) -> DictionarySide:
        """A side, given the most frequent word of the group of each word."""
        n = len(side.words)
        units = group[side.tokens]
        frequency = np.bincount(units, minlength=n)
        order = np.argsort(-frequency, kind="stable")
        entries = order[frequency[order] >= rules.min_count]
        terms = UnitSequences(units, n, max(rules.max_words, rules.phrase_words))
        written = common_surfaces(side, np.arange(len(units)), np.ones(len(units), np.int64), side.tokens)
        return cls(side, group, terms, frequency, NameSigns.of(side, units), entries, written)

    @property
    def units(self) -> Ints:
        """The unit of each token."""
        return self.terms.numbers[0]

    def forms(self) -> dict[int, tuple[tuple[str, int], ...]]:
        """The written forms of units with entries and their frequencies, most frequent first."""
        found: defaultdict[int, list[tuple[str, int]]] = defaultdict(list)
        for word in np.argsort(-self.text.counts, kind="stable").tolist():
            found[int(self.unit_of_word[word])].append((self.written[word], int(self.text.counts[word])))
        return {unit: tuple(found[unit]) for unit in self.entries.tolist()}


def build_dictionary(
    text: AlignedText,
    rules: DictionaryRules | None = None,
    *,
    progress: Callable[[str], None] | None = None,
) -> AlignedDictionary:
    """Make a dictionary in both directions.

    Parameters
    ----------
    text : AlignedText
        Sentence pairs with links.
    rules : DictionaryRules, optional
        What goes into it.
    progress : callable, optional
        Called with the name of each step as it begins.
    """
    rules = rules or DictionaryRules()
    say = progress or (lambda _: None)
    say("grouping inflected forms")
    back = text.swapped()
    alone = np.arange(len(text.source.words)), np.arange(len(text.target.words))
    groups = group_both(text) if rules.group_forms else alone
    source, target = (
        DictionarySide.of(text.source, groups[0], rules),
        DictionarySide.of(text.target, groups[1], rules),
    )
    say("finding translations")
    forward = _entries(text, source, target, rules)
    say("finding translations back")
    return AlignedDictionary(text, forward, _entries(back, target, source, rules))


def _entries(
    text: AlignedText, source: DictionarySide, target: DictionarySide, rules: DictionaryRules
) -> tuple[Entry, ...]:
    """The entries of one direction."""
    finder = ExampleFinder(text)
    spans = word_translations(text, rules.max_words)
    pairs = count_pairs(source.units[spans.source], target.terms.of(spans.target, spans.target_length))
    translations = _translations(finder, spans, pairs, source, target, rules)
    phrases = find_phrases(
        text,
        (source.terms, target.terms),
        TranslationTable.of(pairs, source.frequency),
        function_units(pairs, source.frequency, source.names.capitals),
        finder,
        max_words=rules.phrase_words,
        min_count=rules.min_phrase_count,
        limit=rules.max_phrases,
    )
    forms = source.forms()
    tokens = np.argsort(source.units, kind="stable")
    starts = np.concatenate([[0], np.cumsum(source.frequency)])
    return tuple(
        Entry(
            headword=source.written[unit],
            frequency=int(source.frequency[unit]),
            forms=forms[unit],
            name=_is_name(unit, translations.get(unit, ()), source.names, target.names),
            translations=translations.get(unit, ()),
            phrases=phrases.get(unit, ()),
            tokens=tokens[starts[unit] : starts[unit + 1]],
        )
        for unit in source.entries.tolist()
    )


def _ranked(pairs: Pairs, source: DictionarySide, rules: DictionaryRules) -> tuple[Ints, NDArray[np.float64]]:
    """Rows of pairs to be listed as translations, best first within each unit, and their scores."""
    heads = np.zeros(len(source.frequency), dtype=bool)
    heads[source.entries] = True
    share = pairs.joint / np.maximum(source.frequency[pairs.unit], 1)
    rows = np.flatnonzero(heads[pairs.unit] & (share >= rules.min_probability))
    both, total = pairs.joint[rows].astype(float), float(pairs.joint.sum())
    own = np.bincount(pairs.unit, pairs.joint)[pairs.unit[rows]].astype(float)
    other = np.bincount(pairs.term, pairs.joint)[pairs.term[rows]].astype(float)
    scores = RANKINGS[rules.ranking](both, own, other, total)
    best = best_of_each(pairs.unit[rows], scores, rules.max_translations)
    return rows[best], scores[best]


def _translations(
    finder: ExampleFinder,
    spans: SpanPairs,
    pairs: Pairs,
    source: DictionarySide,
    target: DictionarySide,
    rules: DictionaryRules,
) -> dict[int, tuple[Translation, ...]]:
    """The translations of each unit with an entry, with examples."""
    rows, scores = _ranked(pairs, source, rules)
    wanted = np.zeros(len(pairs.unit), dtype=bool)
    wanted[rows] = True
    order = finder.order(pairs.of_occurrence, spans.source)
    order = order[wanted[pairs.of_occurrence[order]]]
    shown, of = SpanPairs(*(column[order] for column in spans)), pairs.of_occurrence[order]
    long = shown.target_length > 1
    written = target.written | common_surfaces(
        target.text, shown.target[long], shown.target_length[long], pairs.term[of[long]]
    )
    number = {unit: k for k, unit in enumerate(target.entries.tolist())}
    starts = np.searchsorted(of, rows)
    found: defaultdict[int, list[Translation]] = defaultdict(list)
    chosen: defaultdict[int, list[int]] = defaultdict(list)
    for row, score, start in zip(rows.tolist(), scores.tolist(), starts.tolist(), strict=True):
        unit, term, count = int(pairs.unit[row]), int(pairs.term[row]), int(pairs.joint[row])
        candidates = np.stack([column[start : start + min(count, CANDIDATES)] for column in shown], axis=1)
        examples = rules.max_examples - (len(found[unit]) > 0)
        found[unit].append(
            Translation(
                text=written[term],
                count=count,
                probability=count / int(source.frequency[unit]),
                score=score,
                entry=number.get(term),
                examples=finder.choose(candidates.tolist(), examples, chosen[unit]),
            )
        )
    return {unit: tuple(translations) for unit, translations in found.items()}


def _is_name(unit: int, translations: tuple[Translation, ...], own: NameSigns, other: NameSigns) -> bool:
    """Whether capitals on all sides where they mean something say that a unit is a name."""
    signs = [bool(own.capitals[unit])] if own.telling else []
    if other.telling and translations:
        signs.append(translations[0].text[:1].isupper())
    return bool(signs) and all(signs)
