"""Tables of words by what they mean, a column for each language, that come with isogloss.

A cell lists words; an asterisk stands for any ending. The longest beginning that a word has counts. Of a word
with hyphens that is not known the parts are looked up, and in Arabic words without the article and letters
that are written together with them too.

Countries by what their people and things are called: *Argentine*, *argentinos*, *аргентинская*.

The table ``peoples.tsv``, written for isogloss, has a line for each country and a column for each language
(:mod:`isogloss.events.annotate._word_tables`). Languages without a column, such as Chinese, use the name of the country,
which the gazetteer knows.

What frequent words of news mean, in eleven languages, without anything having been learned.

The table ``newswords.tsv``, written for isogloss, has a line for each of some 420 meanings (*earthquake*,
*strike*, *gold*, *quarantine* ...) and a column for each language (:mod:`isogloss.events.annotate._word_tables`). So
*Erdbeben*, *séisme* and *землетрясения* are one concept, and titles in different languages have something in
common beside their names.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence, Set
from functools import cached_property, partial
from importlib.resources import files
from itertools import chain
from typing import NamedTuple

from isogloss.events.annotate._memo import Remembered

__all__ = ["NEWS_WORDS", "DEMONYMS", "WordTable", "count_demonyms", "news_concepts"]

_ARABIC_PREFIXES = ("\u0648\u0627\u0644", "\u0628\u0627\u0644", "\u0641\u0627\u0644", "\u0627\u0644")
_ARABIC_LETTERS = ("\u0644\u0644", "\u0648", "\u0628", "\u0644")
_MIN_STEM_CHARS = 3
_CACHE_SIZE = 1 << 14
"""Words of a language whose meanings are kept at hand."""

_MAX_UNKNOWN_WORDS = 1 << 15
"""Words of a language that are known to mean nothing, at most."""


class _Column(NamedTuple):
    """Meanings by whole words and by beginnings, and the length of the longest beginning."""

    words: dict[str, tuple[str, ...]]
    beginnings: dict[str, tuple[str, ...]]
    longest: int


class WordTable:
    """A table of words by what they mean.

    Parameters
    ----------
    name : str
        Of the file, beside this module.

    Examples
    --------
    >>> table = WordTable("newswords.tsv")
    >>> table.find("erdbebens", "de"), table.find("séismes", "fr"), table.find("jordskælv", "da")
    (('earthquake',), ('earthquake',), ())
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self._found: dict[str, Remembered[tuple[str, ...]]] = {}
        self._dull: dict[str, set[str]] = {}

    @cached_property
    def rows(self) -> list[list[str]]:
        """The lines: what is meant, and a cell for each language; the first has their codes."""
        text = files("isogloss.events.annotate").joinpath(self.name).read_text(encoding="utf-8")
        return [line.split("\t") for line in text.splitlines()]

    @cached_property
    def languages(self) -> frozenset[str]:
        """Languages of the table."""
        return frozenset(self.rows[0][1:])

    @cached_property
    def meanings(self) -> frozenset[str]:
        """What its words mean."""
        return frozenset(row[0] for row in self.rows[1:])

    def words(self, lang: str) -> dict[str, tuple[str, ...]]:
        """The meanings of the words of a language that are listed without an asterisk."""
        return self._columns[lang].words

    def count(self, words: Sequence[str], lang: str, vocabulary: Set[str] | None = None) -> Counter[str]:
        """How often words in lower case mean what; nothing for a language without column.

        Parameters
        ----------
        words : sequence of str
            The text.
        lang : str
            Its language.
        vocabulary : set of str, optional
            Its different words, if they are known.
        """
        if lang not in self.languages:
            return Counter()
        meanings = self._meanings(frozenset(words) if vocabulary is None else vocabulary, lang)
        if not meanings:
            return Counter()
        return Counter(chain.from_iterable(meanings[word] for word in words if word in meanings))

    def _meanings(self, vocabulary: Set[str], lang: str) -> dict[str, tuple[str, ...]]:
        """The words that mean something, and what; those that mean nothing are not looked up again."""
        dull = self._dull.setdefault(lang, set())
        if lang not in self._found:
            self._found[lang] = Remembered(partial(self.find, lang=lang), _CACHE_SIZE)
        found = {word: self._found[lang][word] for word in vocabulary - dull}
        if len(dull) > _MAX_UNKNOWN_WORDS:
            dull.clear()
        dull.update(word for word, meanings in found.items() if not meanings)
        return {word: meanings for word, meanings in found.items() if meanings}

    def find(self, word: str, lang: str) -> tuple[str, ...]:
        """What a word in lower case means; nothing for a language without column."""
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
            for length in range(min(column.longest, len(form)), 1, -1):
                if form[:length] in column.beginnings:
                    found.update(column.beginnings[form[:length]])
                    break
        return found

    @cached_property
    def _columns(self) -> dict[str, _Column]:
        return {lang: self._column(place) for place, lang in enumerate(self.rows[0]) if place}

    def _column(self, place: int) -> _Column:
        words: dict[str, tuple[str, ...]] = {}
        beginnings: dict[str, tuple[str, ...]] = {}
        for row in self.rows[1:]:
            for form in row[place].split():
                table = beginnings if form.endswith("*") else words
                key = form.rstrip("*").lower()
                table[key] = (*table.get(key, ()), row[0])
        return _Column(words, beginnings, max(map(len, beginnings), default=0))


def _forms(word: str, lang: str) -> list[str]:
    """A word, and in Arabic what is left without the article and letters written together with it."""
    if lang != "ar":
        return [word]
    prefixes = [one for one in _ARABIC_PREFIXES + _ARABIC_LETTERS if word.startswith(one)]
    return [word, *(word[len(one) :] for one in prefixes if len(word) - len(one) >= _MIN_STEM_CHARS)]


DEMONYMS = WordTable("peoples.tsv")
"""The table."""


def count_demonyms(words: Sequence[str], lang: str, vocabulary: Set[str] | None = None) -> Counter[str]:
    """How often words in lower case are those of each country, by its code; see :meth:`WordTable.count`.

    Examples
    --------
    >>> count_demonyms("the argentine team and two french judges".split(), "en")
    Counter({'AR': 1, 'FR': 1})
    >>> count_demonyms("аргентинские и французские судьи".split(), "ru")
    Counter({'AR': 1, 'FR': 1})
    """
    return DEMONYMS.count(words, lang, vocabulary)


NEWS_WORDS = WordTable("newswords.tsv")
"""The table."""

_WORD = re.compile(r"\w+(?:-\w+)*")
_UNSPACED = frozenset({"zh"})


def news_concepts(text: str, lang: str) -> Counter[str]:
    """How often each meaning of the table occurs in a text; empty for a language without column.

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
