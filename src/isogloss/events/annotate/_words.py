"""Tokenisation for annotation: words with their capitals and punctuation.

Text is split at blanks and punctuation is stripped from either end of each token, which takes a twentieth of
a millisecond for an article. Unspaced scripts go through :class:`~isogloss.text.Tokeniser` first.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np
from numpy.typing import NDArray

from isogloss.kernels import cut_parts
from isogloss.text import Tokeniser, language, stopwords

_DASHES = "-\N{EN DASH}\N{EM DASH}"
_QUOTES = "\"'\u00ab\u00bb\u2018\u2019\u201a\u201c\u201d\u201e\u2039\u203a"
_PUNCTUATION = f".,;:!?…()[]{{}}<>¿¡*/\\|·•%+~$€£¥،؛؟।。、「」『』\uff08\uff09{_DASHES}{_QUOTES}"
_SENTENCE_ENDS = frozenset(f'.!?:…;"\u201d\u00bb|•·({_DASHES}')
"""Characters that may end the token before the first word of a sentence."""

_STARTS_CAPITAL, _STARTS_DIGIT, _AT_START, _AT_END, _ENDS_SENTENCE = 1, 2, 4, 8, 16
"""Bits of a token: its first character, whether its word touches its start and end, and sentence ends."""


@dataclass(frozen=True)
class TokenisedText:
    """A text as a sequence of words.

    Examples
    --------
    >>> words = TokenisedText.of('"Storm Ada," he said. Roofs flew.', "en")
    >>> words.words
    ['Storm', 'Ada', 'he', 'said', 'Roofs', 'flew']
    >>> words.capitals, [words.starts_sentence(i) for i in words.capitals]
    ([0, 1, 4], [True, False, True])
    """

    tokens: list[str]
    """Strings between spaces, including punctuation."""
    words: list[str]
    lower: list[str]
    """The tokens without the punctuation around them, and the same in lower case; may be empty strings."""
    lowercase: set[str]
    """The words that are written in lower case."""
    _flags: bytes

    @classmethod
    def of(cls, text: str, lang: str) -> TokenisedText:
        """Tokenise a text."""
        return cls(*cut_parts(_separate_words(text, lang), _marks()))

    def __add__(self, other: TokenisedText) -> TokenisedText:
        """Concatenate two texts."""
        return TokenisedText(
            self.tokens + other.tokens,
            self.words + other.words,
            self.lower + other.lower,
            self.lowercase | other.lowercase,
            self._flags + other._flags,
        )

    @cached_property
    def capitals(self) -> list[int]:
        """Positions of the words that begin with a capital letter."""
        return self._positions(_STARTS_CAPITAL)

    @cached_property
    def digits(self) -> list[int]:
        """Positions of the words that begin with a digit."""
        return self._positions(_STARTS_DIGIT)

    @cached_property
    def vocabulary(self) -> frozenset[str]:
        """The distinct words, in lower case."""
        return frozenset(self.lower)

    def starts_sentence(self, place: int) -> bool:
        """Return whether the word at a position may begin a sentence."""
        return place == 0 or bool(self._flags[place - 1] & _ENDS_SENTENCE)

    def adjoins_previous(self, place: int) -> bool:
        """Return whether only a blank separates a word from the one before it."""
        return place > 0 and bool(self._flags[place - 1] & _AT_END and self._flags[place] & _AT_START)

    def _positions(self, trait: int) -> list[int]:
        places: list[int] = np.flatnonzero(np.frombuffer(self._flags, np.uint8) & trait).tolist()
        return places


@cache
def stop_words(lang: str) -> frozenset[str]:
    """Return the stop words of a language; none if there is no list."""
    try:
        return stopwords(lang)
    except (ValueError, ModuleNotFoundError):
        return frozenset()


@cache
def is_unspaced(lang: str) -> bool:
    """Return whether a language puts no blanks between words.

    Examples
    --------
    >>> is_unspaced("ja"), is_unspaced("en")
    (True, False)
    """
    return language(lang).segmenter == "unspaced"


def _separate_words(text: str, lang: str) -> str:
    return " ".join(_tokeniser(lang)(text)) if is_unspaced(lang) else text


@cache
def _marks() -> NDArray[np.uint8]:
    """Return a table of characters: bit 1 for punctuation, bit 2 for what may end a sentence."""
    table = np.zeros(1 << 16, np.uint8)
    table[[ord(mark) for mark in _PUNCTUATION]] |= 1
    table[[ord(mark) for mark in _SENTENCE_ENDS]] |= 2
    return table


@cache
def _tokeniser(lang: str) -> Tokeniser:
    return Tokeniser(lang, lower=False)
