"""Search terms: what an article is found by, and the same of the words of a query.

The words of an article are indexed in the form that suits its language: the Snowball stem, or the first
letters in languages without a stemmer, or pairs of characters in scripts without blanks; words in Latin
letters in texts of other scripts stay as they are. Nobody knows the
language of a query of a few words, so a word of it stands for its forms in all languages of a store. Accents
do not count. Keys are what languages share: meanings of news words, and names by their sound.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache, lru_cache

from isogloss.events.annotate._names import count_names, name_key
from isogloss.events.annotate._word_forms import choose_forms, word_form
from isogloss.events.annotate._word_tables import NEWS_WORDS, news_concepts
from isogloss.events.annotate._words import TokenisedText, is_unspaced, stop_words
from isogloss.extras import has_module
from isogloss.text import Tokeniser, language

SEARCH_TERMS_VERSION = 2
"""Articles whose terms are of another version get new ones."""

MAX_INDEXED_CHARS = 20_000
"""Characters of a body that an article is found by."""

_LEAD_CHARS = 400
"""Characters of a body whose meanings are those of the article; later ones are often asides."""

_MAX_TERM_CHARS = 60
_MIN_NAME_CHARS = 4
_ACCENTS = re.compile("[\u0300-\u036f\u0591-\u05c7\u064b-\u065f]+")
_NOT_TERM = re.compile(r"[^0-9a-z]+")


@dataclass(frozen=True, slots=True)
class SearchTerms:
    """The terms that an article is found by, separated by blanks."""

    title: str = ""
    body: str = ""
    """Forms of its words, in order."""
    keys: str = ""
    """Meanings and names."""


def article_search_terms(title: str, body: str, lang: str) -> SearchTerms:
    """Return the search terms of an article.

    Examples
    --------
    >>> terms = article_search_terms("Séismes au Chili", "Selon Anna Keller, une ville est détruite.", "fr")
    >>> terms.title
    'seism au chil'
    >>> terms.keys.split()
    ['meaningcity', 'meaningearthquake', 'namekalar']
    """
    indexed, lang = body[:MAX_INDEXED_CHARS], _known_language(lang)
    meanings = news_concepts(f"{title}\n{indexed[:_LEAD_CHARS]}", lang)
    named = count_names(TokenisedText.of(title, lang), TokenisedText.of(indexed, lang), lang).names
    keys = {_meaning_key(each) for each in meanings} | {_name_key(each) for each in named if " " not in each}
    return SearchTerms(
        " ".join(search_forms(title, lang)),
        " ".join(search_forms(indexed, lang)),
        " ".join(sorted(filter(None, keys))),
    )


def search_forms(text: str, lang: str) -> list[str]:
    """Return the words of a text in the forms that they are found by, in order.

    Examples
    --------
    >>> search_forms("Earthquakes in Malmö", "en"), search_forms("東京都", "ja")
    (['earthquak', 'in', 'malmo'], ['東京', '京都'])
    """
    lang = _known_language(lang)
    return [_form(word, lang) for word in _tokeniser(lang)(text)]


def query_words(text: str) -> list[str]:
    """Split a query into words, as written; scripts without blanks into pairs of characters.

    Examples
    --------
    >>> query_words("Bahnstreik, U-Bahn! 東京都")
    ['Bahnstreik', 'U', 'Bahn', '東京', '京都']
    """
    return _cased_tokeniser()(text)


def query_forms(word: str, langs: Iterable[str]) -> frozenset[str]:
    """Return all forms under which articles of some languages may have a word.

    Examples
    --------
    >>> sorted(query_forms("Elections", ["en", "uk"]))
    ['elect', 'elections']
    """
    lower = word.lower()
    return frozenset({_fold(lower), *(_form(lower, _known_language(lang)) for lang in langs)})


def query_keys(word: str, langs: Iterable[str]) -> frozenset[str]:
    """Return the keys that a word of a query stands for: its meanings, or its sound if it may be a name.

    Besides the given languages, English and those of other scripts than Latin may be the language of a query:
    words in Latin letters mean nothing in the latter.

    Examples
    --------
    >>> query_keys("Erdbeben", ["en", "de"]), query_keys("Оттилие", ["en", "ru"])
    (frozenset({'meaningearthquake'}), frozenset({'nameatal'}))
    """
    lower, known = word.lower(), sorted({*map(_known_language, langs), *_query_languages()})
    known = [lang for lang in known if not is_unspaced(lang)]
    meanings = Counter(each for lang in known for each in NEWS_WORDS.find(lower, lang))
    if meanings:
        least = max(meanings.values()) / 2  # in some languages the beginning of a word means something else
        return frozenset(_meaning_key(each) for each, count in meanings.items() if count >= least)
    if is_stop_word(word, known):
        return frozenset()
    return frozenset(filter(None, [_name_key(name_key(word))]))


@cache
def _query_languages() -> frozenset[str]:
    """Return the languages that a query may be in, although no article is."""
    return frozenset({"en", *(lang for lang in NEWS_WORDS.languages if language(lang).script != "Latn")})


def is_stop_word(word: str, langs: Iterable[str]) -> bool:
    """Return whether a word of a query is a stop word of one of some languages."""
    lower = word.lower()
    return any(lower in _query_stop_words(_known_language(lang)) for lang in langs)


@cache
def _query_stop_words(lang: str) -> frozenset[str]:
    """Return words that say nothing in a query.

    The English list of stop words is long and has names and content words such as Microsoft and state, which
    scikit-learn's list does not have.
    """
    if lang != "en":
        return stop_words(lang)
    from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

    short_list: frozenset[str] = ENGLISH_STOP_WORDS
    return stop_words(lang) & short_list


def _meaning_key(meaning: str) -> str:
    return f"meaning{_NOT_TERM.sub('', meaning.lower())}"


def _name_key(key: str) -> str:
    """Return the key of a name; empty if too little is left of it to tell names apart."""
    return f"name{key}" if len(key) >= _MIN_NAME_CHARS and not _NOT_TERM.search(key) else ""


@lru_cache(maxsize=1 << 16)
def _form(word: str, lang: str) -> str:
    """Return the form of a lower-case word in the index of a language."""
    if not has_module("snowballstemmer") or (word.isascii() and language(lang).script != "Latn"):
        return _fold(word)
    return _fold(word_form(word, lang, choose_forms(lang)))


def _fold(word: str) -> str:
    """Remove accents, and cut what is no word."""
    if word.isascii():
        return word[:_MAX_TERM_CHARS]
    plain = _ACCENTS.sub("", unicodedata.normalize("NFD", word.casefold()))
    return unicodedata.normalize("NFC", plain)[:_MAX_TERM_CHARS]


@lru_cache(maxsize=1 << 10)
def _known_language(lang: str) -> str:
    """Return a language code, or English instead of one that is unknown."""
    try:
        return language(lang).code
    except ValueError:
        return "en"


@cache
def _tokeniser(lang: str) -> Tokeniser:
    return Tokeniser(lang, segmenter="bigrams")


@cache
def _cased_tokeniser() -> Tokeniser:
    return Tokeniser("en", lower=False, segmenter="bigrams")
