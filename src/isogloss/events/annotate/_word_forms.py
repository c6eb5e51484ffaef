"""Word forms: what an inflected word is looked up as in a concept dictionary."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from typing import Literal

from isogloss.events.annotate._words import is_unspaced, stop_words
from isogloss.text import has_stemmer, language, stem_words

WordForms = Literal["exact", "snowball", "truncated"]
"""Words as they are, their Snowball stems, or their first letters."""

_TRUNCATED_CHARS = {"Kore": 2}
_DEFAULT_TRUNCATED_CHARS = 5
_SCRIPTS_WITH_OPTIONAL_MARKS = frozenset({"Arab", "Cyrl", "Hebr"})
"""Dictionaries write vowels and stress with marks that running text leaves out."""

_COMPOUNDING = frozenset(
    {"af", "da", "de", "et", "fi", "fo", "fy", "hu", "is", "lb", "nb", "nds", "nl", "nn", "no", "sv", "yi"}
)
"""Languages that write compounds as one word."""

_MIN_PART_CHARS = 4


def choose_forms(lang: str) -> WordForms:
    """Return the word forms that suit a language.

    Words of languages without a Snowball stemmer are truncated; words of unspaced scripts do not inflect
    at their ends in a way that truncation would undo.

    Examples
    --------
    >>> choose_forms("de"), choose_forms("uk"), choose_forms("zh")
    ('snowball', 'truncated', 'exact')
    """
    if is_unspaced(lang):
        return "exact"
    return "snowball" if has_stemmer(lang) else "truncated"


@lru_cache(maxsize=1 << 16)
def word_form(word: str, lang: str, forms: WordForms) -> str:
    """Return the form of a lower-case word; stop words are only stripped of optional marks.

    Examples
    --------
    >>> word_form("earthquakes", "en", "snowball"), word_form("землетрусу", "uk", "truncated")
    ('earthquak', 'земле')
    """
    if forms == "exact":
        return word
    script = language(lang).script
    if script in _SCRIPTS_WITH_OPTIONAL_MARKS and not word.isalpha():
        word = "".join(letter for letter in word if unicodedata.category(letter) != "Mn")
    if word in stop_words(lang):
        return word
    if forms == "snowball":
        return stem_words([word], lang)[0]
    return word[: _TRUNCATED_CHARS.get(script, _DEFAULT_TRUNCATED_CHARS)]


def writes_compounds(lang: str) -> bool:
    """Return whether a language writes compounds as one word, as German does."""
    return lang in _COMPOUNDING


def compound_heads(word: str, lang: str, forms: WordForms) -> Iterator[tuple[str, str]]:
    """Yield the ways to split a word in two: the first part, and the form of the last part.

    The stem of a compound ends in the stem of its last part, so the word is stemmed once. The longest last
    part is first.

    Examples
    --------
    >>> list(compound_heads("staatschefs", "de", "snowball"))
    [('staa', 'tschef'), ('staat', 'schef'), ('staats', 'chef'), ('staatsc', 'hef')]
    """
    stem = word_form(word, lang, forms) if forms == "snowball" else ""
    for cut in range(_MIN_PART_CHARS, len(word) - _MIN_PART_CHARS + 1):
        yield word[:cut], stem[cut:] if forms == "snowball" else word_form(word[cut:], lang, forms)


def compound_modifiers(first: str, lang: str, forms: WordForms) -> Iterator[str]:
    """Yield the forms of the first part of a compound, with and without a linking *s*.

    Examples
    --------
    >>> list(compound_modifiers("wirtschafts", "de", "snowball"))
    ['wirtschaft', 'wirtschaft']
    """
    yield word_form(first, lang, forms)
    if first.endswith("s") and len(first) > _MIN_PART_CHARS:
        yield word_form(first[:-1], lang, forms)
