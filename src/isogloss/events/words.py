"""The words of an article as they stand in it: quick, with their capital letters and what is around them.

Text is cut at blanks and the marks at either end of a word are taken off, which takes a tenth of a
millisecond for an article. Scripts without blanks go through :class:`~isogloss.text.Tokeniser`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, cached_property

from isogloss.text import Tokeniser, language, stopwords

__all__ = ["Words", "is_unspaced", "little_words"]

_DASHES = "-\N{EN DASH}\N{EM DASH}"
_QUOTES = "\"'\u00ab\u00bb\u2018\u2019\u201a\u201c\u201d\u201e\u2039\u203a"
_MARKS = f".,;:!?…()[]{{}}<>¿¡*/\\|·•%+~$€£¥،؛؟।。、「」『』\uff08\uff09{_DASHES}{_QUOTES}"
_ENDS = frozenset(f'.!?:…;"\u201d\u00bb|•·({_DASHES}')
"""What may stand at the end of the word before the beginning of a sentence."""


@dataclass
class Words:
    """A text in words.

    Attributes
    ----------
    parts : list of str
        What stands between blanks.
    bare : list of str
        The same without the marks around it; may be empty.

    Examples
    --------
    >>> words = Words.of('"Storm Ada," he said. Roofs flew.', "en")
    >>> words.bare
    ['Storm', 'Ada', 'he', 'said', 'Roofs', 'flew']
    >>> words.capitals, [words.begins(i) for i in words.capitals]
    ([0, 1, 4], [True, False, True])
    """

    parts: list[str]
    bare: list[str]

    @classmethod
    def of(cls, text: str, lang: str) -> Words:
        """The words of a text in a language."""
        parts = _tokeniser(lang)(text) if is_unspaced(lang) else text.split()
        return cls(parts, [part.strip(_MARKS) for part in parts])

    def __add__(self, other: Words) -> Words:
        """These words and then the others; what is known of either is known of both."""
        both, shift = Words(self.parts + other.parts, self.bare + other.bare), len(self.bare)
        both.capitals = self.capitals + [place + shift for place in other.capitals]
        both.digits = self.digits + [place + shift for place in other.digits]
        both.lower = self.lower | other.lower
        return both

    @cached_property
    def capitals(self) -> list[int]:
        """Where words are that begin with a capital letter."""
        return [place for place, word in enumerate(self.bare) if word[:1].isupper()]

    @cached_property
    def digits(self) -> list[int]:
        """Where words are that begin with a digit."""
        return [place for place, word in enumerate(self.bare) if word[:1].isdecimal()]

    @cached_property
    def lower(self) -> set[str]:
        """Words that are in lower case throughout."""
        return set(filter(str.islower, self.bare))

    def begins(self, place: int) -> bool:
        """Whether a word may be the first of a sentence."""
        return place == 0 or self.parts[place - 1][-1] in _ENDS or not self.bare[place - 1]

    def follows(self, place: int) -> bool:
        """Whether a word and the one before it stand together, without any mark between them."""
        return (
            place > 0
            and self.parts[place - 1].endswith(self.bare[place - 1] or " ")
            and (self.parts[place].startswith(self.bare[place]))
        )


@cache
def little_words(lang: str) -> frozenset[str]:
    """The stop words of a language; none if there is no list."""
    try:
        return stopwords(lang)
    except (ValueError, ModuleNotFoundError):
        return frozenset()


@cache
def is_unspaced(lang: str) -> bool:
    """Whether a language puts no blanks between words.

    Examples
    --------
    >>> is_unspaced("ja"), is_unspaced("en")
    (True, False)
    """
    return language(lang).segmenter == "unspaced"


@cache
def _tokeniser(lang: str) -> Tokeniser:
    return Tokeniser(lang, lower=False)
