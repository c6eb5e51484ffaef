"""Multilingual word tables: one row per meaning, one column per language.

A cell lists words; an asterisk stands for any ending, and the longest matching prefix wins. A hyphenated word
that is not in the table is looked up by its parts. Arabic words are also looked up without the article and
the particles that are written together with a word.

Two tables come with isogloss, both written for it. ``peoples.tsv`` has the demonyms of each country
(*Argentine*, *argentinos*, *аргентинская*). ``newswords.tsv`` has some 420 meanings that are frequent in
news (*earthquake*, *strike*, *gold*) in eleven languages, so *Erdbeben*, *séisme* and *землетрясения* are
one concept and titles in different languages share more than names.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence, Set
from functools import cached_property, lru_cache
from importlib.resources import files
from itertools import chain
from typing import NamedTuple

__all__ = ["DEMONYMS", "NEWS_WORDS", "WordTable", "count_demonyms", "news_concepts"]

_ARABIC_PREFIXES = ("\u0648\u0627\u0644", "\u0628\u0627\u0644", "\u0641\u0627\u0644", "\u0627\u0644")
_ARABIC_LETTERS = ("\u0644\u0644", "\u0648", "\u0628", "\u0644")
_MIN_STEM_CHARS = 3
_CACHE_SIZE = 1 << 14
"""Words of a language whose meanings are cached."""

_MAX_UNKNOWN_WORDS = 1 << 15
"""Words of a language that are cached as having no meaning."""


class _Column(NamedTuple):
    """The words of one language: meanings by whole word and by prefix."""

    words: dict[str, tuple[str, ...]]
    prefixes: dict[str, tuple[str, ...]]
    max_prefix_chars: int


class WordTable:
    """Word table of many languages.

    Parameters
    ----------
    name : str
        Name of the file, beside this module.

    Examples
    --------
    >>> table = WordTable("newswords.tsv")
    >>> table.find("erdbebens", "de"), table.find("séismes", "fr"), table.find("jordskælv", "da")
    (('earthquake',), ('earthquake',), ())
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self._cached_find: dict[str, Callable[[str], tuple[str, ...]]] = {}
        self._unknown: dict[str, set[str]] = {}

    @cached_property
    def rows(self) -> list[list[str]]:
        """The cells of the table: a header with language codes, then a row for each meaning."""
        text = files("isogloss.events.annotate").joinpath(self.name).read_text(encoding="utf-8")
        return [line.split("\t") for line in text.splitlines()]

    @cached_property
    def languages(self) -> frozenset[str]:
        """Languages that have a column."""
        return frozenset(self.rows[0][1:])

    @cached_property
    def meanings(self) -> frozenset[str]:
        """Meanings that have a row."""
        return frozenset(row[0] for row in self.rows[1:])

    def words(self, lang: str) -> dict[str, tuple[str, ...]]:
        """Return the meanings of the whole words of a language, those without an asterisk."""
        return self._columns[lang].words

    def count(self, words: Sequence[str], lang: str, vocabulary: Set[str] | None = None) -> Counter[str]:
        """Count the meanings of lower-case words; none for a language without a column.

        Parameters
        ----------
        words : sequence of str
            The words of the text, in lower case.
        lang : str
            Language of the text.
        vocabulary : set of str, optional
            The distinct words, if the caller has them.
        """
        meanings = self.find_all(frozenset(words) if vocabulary is None else vocabulary, lang)
        if not meanings:
            return Counter()
        return Counter(chain.from_iterable(meanings[word] for word in words if word in meanings))

    def find_all(self, vocabulary: Set[str], lang: str) -> dict[str, tuple[str, ...]]:
        """Return the words that have a meaning, with their meanings; caches the words that have none."""
        if lang not in self.languages:
            return {}
        unknown = self._unknown.setdefault(lang, set())
        if lang not in self._cached_find:
            self._cached_find[lang] = lru_cache(_CACHE_SIZE)(lambda word: self.find(word, lang))
        find = self._cached_find[lang]
        found = {word: find(word) for word in vocabulary - unknown}
        if len(unknown) > _MAX_UNKNOWN_WORDS:
            unknown.clear()
        unknown.update(word for word, meanings in found.items() if not meanings)
        return {word: meanings for word, meanings in found.items() if meanings}

    def find(self, word: str, lang: str) -> tuple[str, ...]:
        """Return the meanings of a lower-case word; none for a language without a column."""
        if lang not in self.languages:
            return ()
        found = self._lookup(word, lang)
        if not found and "-" in word:
            found = {meaning for part in word.split("-") for meaning in self._lookup(part, lang)}
        return tuple(sorted(found))

    def _lookup(self, word: str, lang: str) -> set[str]:
        column = self._columns[lang]
        found: set[str] = set()
        for form in _forms(word, lang):
            found.update(column.words.get(form, ()))
            for length in range(min(column.max_prefix_chars, len(form)), 1, -1):
                if form[:length] in column.prefixes:
                    found.update(column.prefixes[form[:length]])
                    break
        return found

    @cached_property
    def _columns(self) -> dict[str, _Column]:
        return {lang: self._column(place) for place, lang in enumerate(self.rows[0]) if place}

    def _column(self, place: int) -> _Column:
        words: dict[str, tuple[str, ...]] = {}
        prefixes: dict[str, tuple[str, ...]] = {}
        for row in self.rows[1:]:
            for form in row[place].split():
                table = prefixes if form.endswith("*") else words
                key = form.rstrip("*").lower()
                table[key] = (*table.get(key, ()), row[0])
        return _Column(words, prefixes, max(map(len, prefixes), default=0))


def _forms(word: str, lang: str) -> list[str]:
    """Return a word, and in Arabic also the word without its article and particles."""
    if lang != "ar":
        return [word]
    prefixes = [one for one in _ARABIC_PREFIXES + _ARABIC_LETTERS if word.startswith(one)]
    return [word, *(word[len(one) :] for one in prefixes if len(word) - len(one) >= _MIN_STEM_CHARS)]


DEMONYMS = WordTable("peoples.tsv")
"""Country codes by what a country's people and things are called."""


def count_demonyms(words: Sequence[str], lang: str, vocabulary: Set[str] | None = None) -> Counter[str]:
    """Count lower-case demonyms by country code; see :meth:`WordTable.count`.

    Examples
    --------
    >>> count_demonyms("the argentine team and two french judges".split(), "en")
    Counter({'AR': 1, 'FR': 1})
    >>> count_demonyms("аргентинские и французские судьи".split(), "ru")
    Counter({'AR': 1, 'FR': 1})
    """
    return DEMONYMS.count(words, lang, vocabulary)


NEWS_WORDS = WordTable("newswords.tsv")
"""Meanings of frequent words of news."""

_WORD = re.compile(r"\w+(?:-\w+)*")
_UNSPACED = frozenset({"zh"})


def news_concepts(text: str, lang: str) -> Counter[str]:
    """Count the news meanings in a text; none for a language without a column.

    Examples
    --------
    >>> sorted(news_concepts("Starkes Erdbeben: zwei Tote, Hunderte evakuiert", "de"))
    ['dead', 'earthquake', 'evacuate']
    >>> sorted(news_concepts("Séisme : deux morts, des centaines d'évacués", "fr"))
    ['dead', 'earthquake', 'evacuate']
    >>> news_concepts("Jordskælv", "da")
    Counter()
    """
    if lang in _UNSPACED:
        found = ((text.count(word), meanings) for word, meanings in NEWS_WORDS.words(lang).items())
        return Counter({meaning: n for n, meanings in found if n for meaning in meanings})
    return NEWS_WORDS.count(_WORD.findall(text.lower()), lang)
