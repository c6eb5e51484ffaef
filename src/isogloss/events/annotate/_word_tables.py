"""Multilingual word tables: one file per language, one line per meaning.

A line has a meaning, a tab and words. An asterisk stands for any ending, and the longest matching prefix
wins. A hyphenated word that is not in the table is looked up by its parts. Arabic and Hebrew words are also
looked up without the article and the particles that are written together with a word. In scripts without
blanks, words are found wherever they occur in the text.

Three tables come with isogloss, all written for it. ``peoples`` has the names and demonyms of each country
(*Argentine*, *argentinos*, *аргентинская*). ``newswords`` has some 420 meanings that are frequent in news
(*earthquake*, *strike*, *gold*), so *Erdbeben*, *séisme* and *землетрясения* are one concept and titles in
different languages share more than names. ``commonwords`` has some 250 English words for words of every text
(*of the*, *says*, *Monday*) in nine languages; it serves glosses alone, and of the meanings of a word it has
the most frequent one. A language without a file may use that of a close relative.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence, Set
from functools import cached_property
from importlib.resources import files
from itertools import chain
from typing import NamedTuple

from isogloss.events.annotate._words import is_unspaced

_PREFIXES = {
    "ar": ("وال", "بال", "فال", "ال", "لل", "و", "ب", "ل"),
    "he": ("וה", "שה", "וב", "ה", "ב", "ל", "מ", "ו", "ש", "כ"),  # noqa: RUF001
}
"""Articles and particles that are written together with the word after them."""

_RELATIVES = {
    "nb": "no", "nn": "no", "bs": "sh", "hr": "sh", "sr": "sh", "sco": "en", "wuu": "zh", "yue": "zh",
    "arz": "ar", "pnb": "ur", "uzs": "uz",
}  # fmt: skip
"""Languages that use the file of another, unless they have their own."""

_MIN_STEM_CHARS = 3
_CACHED_WORDS = 1 << 15
"""Words of a language that are cached with their meanings, and as many that have none."""


class _Column(NamedTuple):
    """The words of one language: meanings by whole word and by prefix."""

    words: dict[str, tuple[str, ...]]
    prefixes: dict[str, tuple[str, ...]]
    prefix_chars: dict[str, list[int]]
    """Lengths of the prefixes that begin with these two letters, the longest first."""


class WordTable:
    """Word table of many languages; the file of a language is read when it is first needed.

    The folder has a file for each language, beside this module.

    Examples
    --------
    >>> table = WordTable("newswords")
    >>> table.find("erdbebens", "de"), table.find("séismes", "fr"), table.find("terremotus", "la")
    (('earthquake',), ('earthquake',), ())
    """

    def __init__(self, folder: str) -> None:
        self._folder = files("isogloss.events.annotate").joinpath(folder)
        self._read: dict[str, _Column] = {}
        self._known: dict[str, dict[str, tuple[str, ...]]] = defaultdict(dict)
        self._unknown: dict[str, set[str]] = defaultdict(set)

    @cached_property
    def languages(self) -> frozenset[str]:
        """Languages that have words, of their own or those of a relative."""
        names = (each.name for each in self._folder.iterdir())
        own = {name.removesuffix(".tsv") for name in names if name.endswith(".tsv")}
        return frozenset(own | {lang for lang, relative in _RELATIVES.items() if relative in own})

    @cached_property
    def meanings(self) -> frozenset[str]:
        """Meanings that have English words."""
        return frozenset(meaning for meaning, _ in self.rows("en"))

    def rows(self, lang: str) -> list[tuple[str, list[str]]]:
        """Return the lines of the file of a language: meanings and their words."""
        text = self._folder.joinpath(f"{lang}.tsv").read_text(encoding="utf-8")
        lines = (line.partition("\t") for line in text.splitlines())
        return [(meaning, words.split()) for meaning, _, words in lines]

    def words(self, lang: str) -> dict[str, tuple[str, ...]]:
        """Return the meanings of the whole words of a language, those without an asterisk."""
        return self._column(lang).words

    def count(self, words: Sequence[str], lang: str, vocabulary: Set[str] | None = None) -> Counter[str]:
        """Count the meanings of lower-case words; none for a language without a column.

        ``vocabulary`` has the distinct words, if the caller knows them.
        """
        meanings = self.find_all(frozenset(words) if vocabulary is None else vocabulary, lang)
        if not meanings:
            return Counter()
        return Counter(chain.from_iterable(meanings[word] for word in words if word in meanings))

    def find_all(self, vocabulary: Set[str], lang: str) -> dict[str, tuple[str, ...]]:
        """Return the words that have a meaning, with their meanings; caches both kinds of words."""
        if lang not in self.languages:
            return {}
        known, unknown = self._known[lang], self._unknown[lang]
        found: dict[str, tuple[str, ...]] = {}
        for word in vocabulary - unknown:
            meanings = known.get(word) or self.find(word, lang)
            if meanings:
                found[word] = known[word] = meanings
            else:
                unknown.add(word)
        for cache in (known, unknown):
            if len(cache) > _CACHED_WORDS:
                cache.clear()
        return found

    def find(self, word: str, lang: str) -> tuple[str, ...]:
        """Return the meanings of a lower-case word; none for a language without a column."""
        if lang not in self.languages:
            return ()
        found = self._lookup(word, lang)
        if not found and "-" in word:
            found = {meaning for part in word.split("-") for meaning in self._lookup(part, lang)}
        return tuple(sorted(found))

    def _lookup(self, word: str, lang: str) -> set[str]:
        column = self._column(lang)
        found: set[str] = set()
        for form in _forms(word, lang):
            found.update(column.words.get(form, ()))
            for length in column.prefix_chars.get(form[:2], ()):
                if form[:length] in column.prefixes:
                    found.update(column.prefixes[form[:length]])
                    break
        return found

    def _column(self, lang: str) -> _Column:
        if lang not in self._read:
            own = self._folder.joinpath(f"{lang}.tsv").is_file()
            self._read[lang] = _index(self.rows(lang)) if own else self._column(_RELATIVES[lang])
        return self._read[lang]


def _index(rows: list[tuple[str, list[str]]]) -> _Column:
    """Return the meanings by word and by prefix."""
    words: dict[str, tuple[str, ...]] = {}
    prefixes: dict[str, tuple[str, ...]] = {}
    for meaning, forms in rows:
        for form in forms:
            table = prefixes if form.endswith("*") else words
            key = form.rstrip("*").lower()
            table[key] = (*table.get(key, ()), meaning)
    prefix_chars: dict[str, list[int]] = {}
    for length in sorted({len(prefix) for prefix in prefixes}, reverse=True):
        for start in {prefix[:2] for prefix in prefixes if len(prefix) == length}:
            prefix_chars.setdefault(start, []).append(length)
    return _Column(words, prefixes, prefix_chars)


def _forms(word: str, lang: str) -> list[str]:
    """Return a word, and the word without an article or particle in languages that attach them."""
    prefixes = [one for one in _PREFIXES.get(lang, ()) if word.startswith(one)]
    return [word, *(word[len(one) :] for one in prefixes if len(word) - len(one) >= _MIN_STEM_CHARS)]


DEMONYMS = WordTable("peoples")
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


def country_of(word: str, lang: str) -> str | None:
    """Return the code of the country that a demonym means, if it means one.

    Examples
    --------
    >>> country_of("Brésilienne", "fr"), country_of("бразильская", "ru"), country_of("Haus", "de")
    ('BR', 'BR', None)
    """
    found = DEMONYMS.find(word.lower(), lang)
    return found[0] if len(found) == 1 else None


NEWS_WORDS = WordTable("newswords")
"""Meanings of frequent words of news."""

_MARKS = (
    r"\u0300-\u036f\u0591-\u05bd\u0610-\u061a\u064b-\u065f\u0900-\u0963\u0966-\u0dff"
    r"\u1000-\u109f\u1780-\u17d3\u200c\u200d"
)
"""Vowel signs and joiners, which are parts of words but no letters."""
_HYPHENATED_WORD = re.compile(rf"[\w{_MARKS}]+(?:-[\w{_MARKS}]+)*")


def news_concepts(text: str, lang: str) -> Counter[str]:
    """Count the news meanings in a text; none for a language without a column.

    Examples
    --------
    >>> sorted(news_concepts("Starkes Erdbeben: zwei Tote, Hunderte evakuiert", "de"))
    ['dead', 'earthquake', 'evacuate']
    >>> sorted(news_concepts("Séisme : deux morts, des centaines d'évacués", "fr"))
    ['dead', 'earthquake', 'evacuate']
    >>> sorted(news_concepts("Jordskælv", "da")), sorted(news_concepts("Jordskælv", "xx"))
    (['earthquake'], [])
    """
    if lang in NEWS_WORDS.languages and is_unspaced(lang):
        found = ((text.count(word), meanings) for word, meanings in NEWS_WORDS.words(lang).items())
        return Counter({meaning: n for n, meanings in found if n for meaning in meanings})
    return NEWS_WORDS.count(_HYPHENATED_WORD.findall(text.lower()), lang)


def news_mentions(text: str, lang: str) -> Iterator[tuple[int, int, tuple[str, ...]]]:
    """Yield start, end and news meanings of each word of a text that has some.

    Examples
    --------
    >>> list(news_mentions("Erdbeben: zwei Tote", "de")), list(news_mentions("12人死亡", "zh"))
    ([(0, 8, ('earthquake',)), (15, 19, ('dead',))], [(3, 5, ('dead',))])
    """
    if lang not in NEWS_WORDS.languages:
        return
    if is_unspaced(lang):
        for word, meanings in NEWS_WORDS.words(lang).items():
            yield from (
                (match.start(), match.end(), meanings) for match in re.finditer(re.escape(word), text)
            )
        return
    for match in _HYPHENATED_WORD.finditer(text):
        if meanings := NEWS_WORDS.find(match[0].lower(), lang):
            yield match.start(), match.end(), meanings


COMMON_WORDS = WordTable("commonwords")
"""English words for frequent words that say little of what an article is about."""


def english_word(word: str, lang: str) -> str | None:
    """Return the English word for a common word, or for a news word with one meaning; None for any other.

    A word of which no more than half is a news word is another word: French *mari* is not in *maritime*.

    Examples
    --------
    >>> [english_word(word, "de") for word in ("Erdbebens", "Ministerpräsident", "schützt", "dem", "blau")]
    ['earthquake', 'prime minister', 'protect', 'the', None]
    """
    return _common_word(word.lower(), lang) or _news_word(word.lower(), lang)


def _common_word(word: str, lang: str) -> str | None:
    if lang not in COMMON_WORDS.languages:
        return None
    meanings = COMMON_WORDS.words(lang).get(word) or COMMON_WORDS.find(word, lang)
    return meanings[0].replace("-", " ") if meanings else None


def _news_word(word: str, lang: str) -> str | None:
    if lang not in NEWS_WORDS.languages:
        return None
    if is_unspaced(lang):
        meanings = NEWS_WORDS.words(lang).get(word, ())
    else:
        meanings = NEWS_WORDS.find(word, lang)
        if set(meanings).issubset(NEWS_WORDS.find(word[: len(word) // 2], lang)):
            return None
    if len(meanings) != 1 or ("-" in meanings[0] and meanings[0] not in _TWO_WORDS) or meanings[0] == "cost":
        return None
    return meanings[0].capitalize() if meanings[0] in _CONTINENTS else meanings[0].replace("-", " ")


_CONTINENTS = frozenset(["africa", "europe"])
_TWO_WORDS = frozenset(
    [
        "first-lady",
        "free-software",
        "human-rights",
        "interest-rate",
        "number-one",
        "prime-minister",
        "road-race",
        "second-place",
        "social-media",
        "stock-market",
        "table-tennis",
        "time-trial",
        "video-game",
        "water-polo",
        "wind-power",
    ]
)
"""Meanings of two words; others with a hyphen are groups, such as *dog-horse*, and so is *cost*."""
