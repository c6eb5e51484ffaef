r"""Builds a concept dictionary from translations of words.

The translations come from parallel text, whose words are aligned here (:class:`~isogloss.alignment.Aligner`),
or from lexicons that ``isogloss align lexicon`` or somebody else wrote. All of them have one language in
common, the hub, and each word of the hub is a concept. If word :math:`w` of another language was aligned
:math:`n_{wc}` times with word :math:`c` of the hub, a mention of :math:`w` weighs

.. math:: \sqrt{p(c \mid w)}, \quad p(c \mid w) = n_{wc} \Big/ \sum_{c'} n_{wc'}

for each of its three likeliest concepts. The product of the weights of two words, summed over concepts, is
then the Bhattacharyya coefficient of their translations.

Words are their stems (:mod:`isogloss.events.annotate._word_forms`), in the alignment too: with some thousand
sentences, most inflected forms are too rare to be aligned. Pairs that were aligned less often than
``min_count``, or with a share below ``min_agreement`` in either direction, are left out; so are stop words,
numbers and words of one or two letters. A concept is an entity when the parallel text writes it with a
capital letter inside of sentences.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from isogloss.alignment import Aligner, read_priors
from isogloss.corpora import ParallelText
from isogloss.events.annotate._names import capitalises_nouns
from isogloss.events.annotate._word_forms import choose_forms, word_form
from isogloss.events.annotate._words import TokenisedText
from isogloss.events.annotate.concepts._dictionary import (
    PhraseMeanings,
    phrase_key,
    phrase_words,
    write_meanings,
)
from isogloss.events.annotate.concepts._wordnets import is_phrase
from isogloss.exceptions import CorpusError
from isogloss.io import PathLike
from isogloss.text import language

_Shares = dict[tuple[str, str], float]


@dataclass
class TranslationCounts:
    r"""Counts of the translations between the words of two languages.

    Attributes
    ----------
    counts : dict of (str, str) to float
        How often a form of the source and one of the target were aligned.
    spellings : dict of str to dict
        By language, how often each pair of a form and a lower-case word occurs.
    capitals : dict of str to Counter
        By language, how often a form is written with a capital letter inside of sentences, less how often
        without.

    Examples
    --------
    >>> from pathlib import Path
    >>> _ = Path("en-de.tsv").write_text("strikes\tStreiks\t7\nthe\tdie\t90\n")
    >>> found = TranslationCounts("en", "de")
    >>> found.add_lexicon("en-de.tsv")
    >>> dict(found.counts)
    {('strike', 'streik'): 7.0}
    """

    source: str
    target: str
    """Codes of the languages."""
    counts: dict[tuple[str, str], float] = field(default_factory=lambda: defaultdict(float))
    spellings: dict[str, dict[tuple[str, str], float]] = field(
        default_factory=lambda: defaultdict(lambda: defaultdict(float))
    )
    capitals: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    _content: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))

    def __post_init__(self) -> None:
        self.source, self.target = language(self.source).code, language(self.target).code
        if self.source == self.target:
            raise ValueError(f"translations from {self.source!r} to itself; expected two languages")

    @property
    def languages(self) -> tuple[str, str]:
        """The two languages."""
        return self.source, self.target

    def add_lexicon(self, path: PathLike) -> None:
        """Add the pairs of a lexicon: source word, target word and, perhaps, a count.

        Raises CorpusError if the file cannot be read, or a line has no pair of words.
        """
        for one, other, count in read_priors(lexicon=path).translations:
            words = phrase_words(one, self.source), phrase_words(other, self.target)
            if len(words[0]) == len(words[1]) == 1:
                self._add(words[0][0], words[1][0], count)

    def add_text(self, pairs: ParallelText) -> None:
        """Align the words of parallel text and add the pairs.

        Raises CorpusError if the file cannot be read, most of its lines are bad, or it has no pair of
        sentences.
        """
        sentences = [(" ".join(one), " ".join(other)) for one, other in pairs]
        forms = [
            tuple(self._read(text, lang) for text, lang in zip(pair, self.languages, strict=True))
            for pair in sentences
        ]
        if not any(one and other for one, other in forms):
            raise CorpusError(
                f"the parallel text in {self.source!r} and {self.target!r} has no pair of sentences; "
                "expected two sentences on every line"
            )
        sources, targets = (self._content[lang] for lang in self.languages)
        for one, other, _, _, count in Aligner(ensemble=()).fit(forms).translation_table_:
            if one in sources and other in targets:
                self.counts[one, other] += count

    def shares(self, lang: str, min_count: float, min_agreement: float) -> _Shares:
        """Return the share of each form of a language that was aligned with each form of the other.

        Keys are pairs of the form and that of the other language.
        """
        swapped = lang == self.target
        totals: tuple[dict[str, float], dict[str, float]] = defaultdict(float), defaultdict(float)
        for pair, count in self.counts.items():
            for total, form in zip(totals, pair, strict=True):
                total[form] += count
        found = {}
        for (one, other), count in self.counts.items():
            there, back = count / totals[0][one], count / totals[1][other]
            if count >= min_count and min(there, back) >= min_agreement:
                found[(other, one) if swapped else (one, other)] = back if swapped else there
        return found

    def _add(self, one: str, other: str, count: float) -> None:
        forms = []
        for word, lang in ((one, self.source), (other, self.target)):
            if not _is_content(word, lang):
                return
            forms.append(word_form(word, lang, choose_forms(lang)))
            self.spellings[lang][forms[-1], word] += count
        self.counts[forms[0], forms[1]] += count

    def _read(self, text: str, lang: str) -> list[str]:
        """Return the forms of a sentence; count their spellings and capitals."""
        words, kind = TokenisedText.of(text, lang), choose_forms(lang)
        forms = [word_form(word, lang, kind) if word else "" for word in words.lower]
        for form, word in zip(forms, words.lower, strict=True):
            if form:
                self.spellings[lang][form, word] += 1
        self._content[lang].update(
            form for form, word in zip(forms, words.lower, strict=True) if word and _is_content(word, lang)
        )
        if not capitalises_nouns(lang):
            for place, form in enumerate(forms):
                if form and not words.starts_sentence(place):
                    self.capitals[lang][form] += 1 if words.words[place][0].isupper() else -1
        return [form for form in forms if form]


class LexiconReport(NamedTuple):
    """Report on the input of a concept dictionary."""

    hub: str
    """The language whose words are the concepts."""
    pairs: dict[str, int]
    """Pairs of words that were kept, by their languages: ``en-de``."""


def build_lexicon_concepts(
    tables: Sequence[TranslationCounts],
    folder: PathLike,
    *,
    min_count: float = 1.5,
    min_agreement: float = 0.1,
    progress: Callable[[str, int], None] = lambda what, count: None,
) -> LexiconReport:
    r"""Build a concept dictionary from translations.

    Parameters
    ----------
    tables : sequence of TranslationCounts
        Translations, of at least one pair of languages; all pairs have a language in common, the hub.
    folder : path
        The folder to make.
    min_count : float
        How often a pair must have been aligned. Counts are expected ones, so 1.5 is about twice.
    min_agreement : float
        Minimum share of either word that was aligned with the other.
    progress : callable
        Called with the pair of languages and the number of pairs of words so far.

    Raises
    ------
    CorpusError
        No language is common to all tables, or no pair of words is left; nothing is written.

    Examples
    --------
    >>> from pathlib import Path
    >>> from isogloss.corpora import ColumnPairs
    >>> text = "the strike\tla huelga\nthe long strike\tla larga huelga\nthe storm\tla tormenta\n"
    >>> _ = Path("en-es.tsv").write_text(text * 2)
    >>> table = TranslationCounts("en", "es")
    >>> table.add_text(ColumnPairs("en-es.tsv"))
    >>> build_lexicon_concepts([table], "from-text").hub
    'en'
    >>> from isogloss.events.annotate import ConceptDictionary
    >>> list(ConceptDictionary("from-text").find("las huelgas".split(), "es"))
    [('en:strike', False, 1.0)]
    """
    hub = _common_language(tables)
    phrases: dict[str, _Shares] = {hub: {}}
    spellings: dict[tuple[str, str], float] = {}
    capitals: Counter[str] = Counter()
    pairs: Counter[str] = Counter()
    for table in tables:
        lang = table.target if table.source == hub else table.source
        found = table.shares(lang, min_count, min_agreement)
        pairs[f"{hub}-{lang}"] += len(found)
        own = phrases.setdefault(lang, {})
        for pair, share in found.items():
            own[pair] = max(own.get(pair, 0.0), share)
        phrases[hub].update(((concept, concept), 1.0) for _, concept in found)
        for spelling, count in table.spellings[hub].items():
            spellings[spelling] = spellings.get(spelling, 0.0) + count
        capitals.update(table.capitals[hub])
        progress(f"{hub}-{lang}", pairs.total())
    if not phrases[hub]:
        raise CorpusError(
            f"no pair of words was aligned {min_count:g} times or more with a share of {min_agreement:g} or "
            "more; give "
            "more text, or lower the limits"
        )
    number = {concept: n for n, (concept, _) in enumerate(phrases[hub])}
    labels = _labels(spellings)
    names = [f"{hub}:{labels.get(concept, concept)}" for concept in number]
    entities = [name for name, concept in zip(names, number, strict=True) if capitals[concept] > 0]
    tables_ = {lang: _meanings(own, number, lang) for lang, own in sorted(phrases.items()) if own}
    write_meanings(folder, names, entities, tables_)
    return LexiconReport(hub, dict(pairs))


def _is_content(word: str, lang: str) -> bool:
    """Return whether a word is more than a stop word, a number or one or two letters."""
    return not any(map(str.isdigit, word)) and is_phrase((word,), lang, choose_forms(lang))


def _common_language(tables: Sequence[TranslationCounts]) -> str:
    """Return the language that all tables have; of two, the one that the first file names first."""
    if not tables:
        raise CorpusError("no translations were given; expected lexicons or parallel text")
    common = [lang for lang in tables[0].languages if all(lang in table.languages for table in tables)]
    if not common:
        given = ", ".join("-".join(table.languages) for table in tables)
        raise CorpusError(
            f"got {given}, which have no language in common; expected pairs with one language in all of "
            "them, such "
            "as en-de, en-fr and es-en"
        )
    return common[0]


def _labels(spellings: Mapping[tuple[str, str], float]) -> dict[str, str]:
    """Return the most frequent spelling of each form."""
    best: dict[str, tuple[float, str]] = {}
    for (form, word), count in spellings.items():
        best[form] = max(best.get(form, (0.0, "")), (count, word))
    return {form: word for form, (_, word) in best.items()}


def _meanings(shares: _Shares, number: Mapping[str, int], lang: str) -> PhraseMeanings:
    """Return the phrases of a language as arrays."""
    # Forms are hashed as they are: a stem of a stem may be another one.
    keys = np.array([phrase_key((form,)) for form, _ in shares], np.uint64)
    concepts = np.array([number[concept] for _, concept in shares], np.int64)
    weights = np.sqrt(np.fromiter(shares.values(), np.float64, len(shares)))
    return PhraseMeanings(keys, concepts, weights, choose_forms(lang))
