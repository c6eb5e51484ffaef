r"""Named entities found by their capital letters, with keys that are comparable across scripts.

A name is transliterated to Latin letters (``anyascii``) and reduced to what its spellings have in common:
letters that stand for one sound become one, every run of vowels becomes an *a*, and six letters of it are
kept, without vowels at the end. So *Müller*, *Muller* and *Мюллер* are ``malar``, and *Путиным* is *Putin*.

German writes all nouns with a capital letter. There a word that follows an article, an adjective or the like
anywhere in the text is no name, nor is one with an ending such as *-ung*. That halves the false names and
loses true ones. Of the names that :func:`count_names` finds in the even English sentences of NTREX, it finds
57 % in the German translation (69 % with all nouns), 67 % in the Spanish, 43 % in the Russian, 37 % in the
Greek, and .3 % in an unrelated sentence.

Scripts without capital letters do not tell names from other words, and some do not write vowels. For them
there is a second key, the consonants of a word in classes that are pronounced alike
(:func:`consonant_key`): *Putin*, *Путин*, *بوتين* and *पुतिन* are ``btn``. Where there are capitals, it is
taken of names; in other scripts, of all words that are known neither as stop words nor as places, and with
half the weight. Of Japanese the words in katakana are taken. Chinese writes foreign names by sound in ways
of its own, and has none.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Sequence, Set
from functools import lru_cache
from math import log
from typing import NamedTuple

from anyascii import anyascii

from isogloss.events.annotate._word_tables import DEMONYMS, NEWS_WORDS
from isogloss.events.annotate._words import TokenisedText, stop_words
from isogloss.kernels import sound_key
from isogloss.text import language

_NAME_KEY_CHARS, _KEYWORD_KEY_CHARS = 6, 8
_MIN_KEY_CHARS = 3

_MAX_CONSONANTS, _MIN_CONSONANTS = 5, 3
_MIN_PAIR_CONSONANTS = 5
"""Consonants of two adjacent words that are counted as a pair."""

_SOUND_WEIGHT = 0.5
"""Weight of a consonant key of a word with a capital letter; of other words half of it."""

_SIBILANTS = re.compile("shch|sch|sh|zh|ch|tz|ts|dz|c(?=[eiy])")
_ASPIRATES = re.compile("(?<=[ptkgdb])h|(?<=n)g|(?<=c)k")
_CONSONANTS = str.maketrans("pvdgqczj", "bftkkkss", "aeiouwyh")
_REPEATED = re.compile(r"(.)\1+")
_NOT_CONSONANTS = re.compile("[^bftksmnrl]+")
_ARTICLES = re.compile(r"(?:[وبفك]?ال|لل)(?=\w{3})")
_PARTICLES = re.compile(r"(?<=\w{2})(?:에서|으로|에게|까지|부터|[이가을를은는의에로와과도])$")

_GENITIVES = ("'s", "\u2019s")
_KATAKANA = re.compile("[\u30a1-\u30fa\u30fc]{3,}")
_UNICASE_SCRIPTS = frozenset(
    {"Arab", "Hebr", "Deva", "Hans", "Kore", "Thai", "Khmr", "Laoo", "Mymr", "Beng", "Taml", "Telu"}
    | {"Gujr", "Guru", "Knda", "Mlym", "Orya", "Sinh", "Ethi", "Geor", "Tibt", "Thaa", "Cans", "Yiii"}
)
_CAPITALISED_NOUNS = frozenset({"de", "lb", "nds", "bar"})
_NOUN_ENDINGS = (
    "ung",
    "ungen",
    "heit",
    "heiten",
    "keit",
    "schaft",
    "schaften",
    "tion",
    "tionen",
    "tät",
    "nis",
)
_ENDINGS_BEFORE_NOUNS = ("en", "er", "es", "em", "das", "die", "ein", "eine", "im", "am", "zum", "zur", "vom")
_PREPOSITIONS = frozenset(
    {
        "über",
        "unter",
        "hinter",
        "gegen",
        "neben",
        "zwischen",
        "wegen",
        "außer",
        "aber",
        "oder",
        "wieder",
        "immer",
    }
)
"""Words that may precede a name, in spite of their endings."""


@lru_cache(maxsize=1 << 15)
def name_key(word: str) -> str:
    """Return a phonetic key that the spellings of a name share; empty when too little is left of it.

    Examples
    --------
    >>> {name_key(word) for word in ("Müller", "Muller", "Мюллер", "Мюллера")}
    {'malar'}
    >>> name_key("Washington"), name_key("Вашингтон"), name_key("Li")
    ('vasang', 'vasang', '')
    """
    return _sound_key(word, _NAME_KEY_CHARS)


def keyword_key(word: str) -> str:
    """Return the key that a keyword shares with its cognates, longer than that of a name.

    Examples
    --------
    >>> {keyword_key(word) for word in ("Referendum", "референдума")}
    {'rafarand'}
    """
    return _sound_key(word, _KEYWORD_KEY_CHARS)


def _sound_key(word: str, max_chars: int) -> str:
    bare = word[:-2] if word.endswith(_GENITIVES) else word
    key = sound_key((bare if bare.isascii() else anyascii(bare)).lower(), max_chars)
    return sys.intern(key) if len(key) >= _MIN_KEY_CHARS else ""


@lru_cache(maxsize=1 << 15)
def consonant_key(word: str) -> str:
    """Return the first consonants of a word, those pronounced alike as one; empty for fewer than two.

    Examples
    --------
    >>> {consonant_key(word) for word in ("Putin", "Путин", "بوتين", "पुतिन", "푸틴")}
    {'btn'}
    >>> consonant_key("Washington"), consonant_key("واشنطن"), consonant_key("Li")
    ('sntn', 'sntn', '')
    """
    latin = _SIBILANTS.sub("s", anyascii(word).lower())
    latin = _ASPIRATES.sub("", latin.replace("ph", "f")).replace("x", "ks")
    key = _REPEATED.sub(r"\1", _NOT_CONSONANTS.sub("", latin.translate(_CONSONANTS)))[:_MAX_CONSONANTS]
    return sys.intern(key) if len(key) > 1 else ""


class NameCounts(NamedTuple):
    """The names of a text."""

    names: Counter[str]
    """Names by :func:`name_key`; adjacent names are also counted as a pair."""
    sounds: dict[str, float]
    """Weights of possible names by :func:`consonant_key`, and of adjacent ones as pairs."""


def count_names(
    title: TokenisedText, body: TokenisedText, lang: str, unwanted: Set[str] = frozenset()
) -> NameCounts:
    """Count the names of a text.

    ``unwanted`` has lower-case words that are not names, such as months.

    Notes
    -----
    A word is no name if the text also has it in lower case, or if it is a stop word. A word at the beginning
    of a sentence is a name if it is one elsewhere in the text. In a title with capital letters throughout,
    words are names that are names in the body, or all when there is no body.

    Examples
    --------
    >>> text = TokenisedText.of("Yesterday Angela Merkel went to Bled. Merkel was said to be happy.", "en")
    >>> found = count_names(TokenisedText.of("", "en"), text, "en")
    >>> sorted(found.names.items())
    [('angal', 1), ('angal markal', 1), ('blad', 1), ('markal', 2)]
    >>> sorted(found.sounds)
    ['blt', 'mrkl', 'nl mrkl']
    """
    script = language(lang).script
    texts = (body, title)
    if script == "Jpan":
        katakana = [{i for i, word in enumerate(text.words) if _KATAKANA.fullmatch(word)} for text in texts]
        keys = (name_key(text.words[i]) for text, some in zip(texts, katakana, strict=True) for i in some)
        return NameCounts(Counter(filter(None, keys)), _weigh_sounds(texts, katakana, lang, _SOUND_WEIGHT))
    if script in _UNICASE_SCRIPTS:
        if script == "Hans":
            return NameCounts(Counter(), {})
        words = [_possible_names(text, lang, unwanted) for text in texts]
        return NameCounts(Counter(), _weigh_sounds(texts, words, lang, _SOUND_WEIGHT / 2))
    counts: dict[str, int] = {}
    common = body.lowercase | title.lowercase | unwanted
    known: set[str] = set()
    in_body = _names(body, common, lang, known)
    if body.words and _is_all_capitals(title):
        in_title = {place for place in title.capitals if title.words[place] in known}
    else:
        in_title = _names(title, common, lang, known)
    _count(body, in_body, counts)
    _count(title, in_title, counts)
    return NameCounts(Counter(counts), _weigh_sounds(texts, (in_body, in_title), lang, _SOUND_WEIGHT))


def _possible_names(words: TokenisedText, lang: str, unwanted: Set[str]) -> set[int]:
    """Return the positions of words that may be names, in a script without capital letters."""
    known = stop_words(lang) | unwanted | NEWS_WORDS.find_all(words.vocabulary, lang).keys()
    known |= DEMONYMS.find_all(words.vocabulary, lang).keys()
    return {
        i for i, word in enumerate(words.lower) if len(word) > 2 and word[0].isalpha() and word not in known
    }


def _weigh_sounds(
    texts: Sequence[TokenisedText], places: Sequence[Set[int]], lang: str, weight: float
) -> dict[str, float]:
    """Return the weights of the consonant keys of words, and of the pairs that adjacent ones form."""
    counts: dict[str, int] = {}
    for text, some in zip(texts, places, strict=True):
        before, last = "", -2
        for place in sorted(some):
            key = consonant_key(_without_particles(text.words[place], lang))
            if len(key) >= _MIN_CONSONANTS:
                counts[key] = counts.get(key, 0) + 1
            adjacent = place == last + 1 and text.adjoins_previous(place)
            if adjacent and before and key and len(before) + len(key) >= _MIN_PAIR_CONSONANTS:
                pair = f"{before} {key}"
                counts[pair] = counts.get(pair, 0) + 1
            before, last = key, place
    return {key: weight * (1 + log(count)) for key, count in counts.items()}


def _without_particles(word: str, lang: str) -> str:
    """Return an Arabic word without its article, a Korean one without its particle."""
    if lang in ("ar", "arz", "ary"):
        return _ARTICLES.sub("", word, count=1) if _ARTICLES.match(word) else word
    return _PARTICLES.sub("", word) if lang == "ko" else word


def capitalises_nouns(lang: str) -> bool:
    """Return whether a language capitalises all nouns, as German does.

    Examples
    --------
    >>> capitalises_nouns("de"), capitalises_nouns("en")
    (True, False)
    """
    return lang in _CAPITALISED_NOUNS


def _names(words: TokenisedText, common: Set[str], lang: str, known: set[str]) -> set[int]:
    """Return the positions of names; adds those that are not at the start of a sentence to ``known``."""
    bare, lower, little = words.words, words.lower, stop_words(lang)
    if capitalises_nouns(lang):
        common = common | _nouns(words)
    places = [i for i in words.capitals if lower[i] not in common and lower[i] not in little]
    known.update(bare[i] for i in places if not words.starts_sentence(i))
    return {i for i in places if bare[i] in known}


def _nouns(words: TokenisedText) -> set[str]:
    """Return capitalised German words that are common nouns, in lower case."""
    bare, lower = words.words, words.lower
    found = {lower[i] for i in words.capitals if bare[i].endswith(_NOUN_ENDINGS)}
    found.update(
        lower[i] for i in words.capitals if words.adjoins_previous(i) and _precedes_noun(bare[i - 1])
    )
    return found


def _precedes_noun(word: str) -> bool:
    """Return whether a word is an article, an adjective or the like, by its ending."""
    return word.islower() and word not in _PREPOSITIONS and word.endswith(_ENDINGS_BEFORE_NOUNS)


def _count(words: TokenisedText, places: set[int], counts: dict[str, int]) -> None:
    before, last = "", -2
    for place in sorted(places):
        word = words.words[place]
        key = word.lower() if word.isupper() and word.isascii() and len(word) > 1 else name_key(word)
        if key:
            counts[key] = counts.get(key, 0) + 1
            if before and place == last + 1 and words.adjoins_previous(place):
                pair = f"{before} {key}"
                counts[pair] = counts.get(pair, 0) + 1
        before, last = key, place


def _is_all_capitals(title: TokenisedText) -> bool:
    long = [word for word in title.words if len(word) > 3]
    return len(long) > 3 and sum(word[0].isupper() for word in long) > 0.6 * len(long)
