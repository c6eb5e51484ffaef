r"""From a text to its words.

The steps, in this order: NFKC, lower case (Turkish and Azerbaijani with their own i), digits of all scripts
as 0-9, blanks for scripts without them (:mod:`~isogloss.text._segment`), words, stop words, numbers, stems,
n-grams. A word is a stretch of letters, digits, marks, joiners and underscores; unlike ``\w+`` it keeps the
vowel signs of Hindi, and it is ``\w+`` for English. HTML entities are not decoded: ``&amp;`` gives ``amp``.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from itertools import chain
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from isogloss.kernels import find_words
from isogloss.text._languages import language, stopwords
from isogloss.text._letters import has_letters, matching_letters
from isogloss.text._segment import Method, choose_method, put_blanks
from isogloss.text._stems import check_stemmer, stem_words

_WORD_RANGES = ((0x10000, 0x1CFFF), (0x1D400, 0x1D7FF), (0x1E000, 0x1EEFF), (0x20000, 0x3FFFF))
"""Characters beyond U+FFFF that are parts of words, first and last."""

_BLOCK_CHARS = 1 << 20
"""Characters of a long text that are in memory as words at one time."""


@dataclass(frozen=True)
class Tokeniser:
    """Settings that turn text into words, and the doing of it.

    Model files hold these settings, so a model treats new text as it treated the text it learned from.

    Parameters
    ----------
    lang : str
        The language's ISO 639 code, see :func:`~isogloss.text.language`.
    lower : bool
        Lower case.
    ngrams : int
        Longest sequences of neighbouring words that count as terms besides the words.
    stem : {None, 'snowball'}
        Whether words are cut to their stems, by the Snowball algorithm of the language.
    stop_words : bool
        Whether the words of :func:`~isogloss.text.stopwords` are left out.
    numbers : {'keep', 'drop', 'shape'}
        What becomes of words made of digits; ``shape`` makes ``0000`` of 1984.
    min_length : int
        Letters of the shortest word that is kept.
    segmenter : {'auto', 'icu', 'bigrams'}
        How words of scripts without blanks are found, in text of any language. ``auto`` is settled when
        the tokeniser is made, and kept so: ``icu`` for languages written without blanks if ``icu4py`` is
        installed, otherwise ``bigrams``.

    Notes
    -----
    A text of any length is worked through in blocks of a million characters, cut at blanks: use
    :meth:`blocks` for a text of 100 MB, whose list of words would take ten times its size. Characters
    that are no letters, lone surrogates among them, separate words. Objects are safe to use in threads.

    Examples
    --------
    >>> Tokeniser("en")("The Bank of England, 1694.")
    ['the', 'bank', 'of', 'england', '1694']
    >>> Tokeniser("en", ngrams=2, numbers="drop")("Bank of England, 1694")
    ['bank', 'of', 'england', 'bank of', 'of england']
    >>> Tokeniser("hi")("हिन्दी १९८४"), Tokeniser("tr")("ISPARTA")
    (['हिन्दी', '1984'], ['ısparta'])
    >>> Tokeniser("ja")("東京タワーの高さ"), Tokeniser("ja", segmenter="bigrams")("東京タワー")
    (['東京タワー', 'の', '高', 'さ'], ['東京', '京タ', 'タワ', 'ワー'])
    """

    lang: str
    lower: bool = True
    ngrams: int = 1
    stem: Literal["snowball"] | None = None
    stop_words: bool = False
    numbers: Literal["keep", "drop", "shape"] = "keep"
    min_length: int = 1
    segmenter: Method = "auto"

    def __post_init__(self) -> None:
        """Check the settings."""
        for name in ("ngrams", "min_length"):
            if not isinstance(getattr(self, name), int) or getattr(self, name) < 1:
                raise ValueError(f"got {name}={getattr(self, name)!r:.40}; expected an integer from 1 on")
        if self.numbers not in ("keep", "drop", "shape"):
            raise ValueError(f"got numbers={self.numbers!r:.40}; expected 'keep', 'drop' or 'shape'")
        check_stemmer(self.stem, self.lang)
        if self.stop_words:
            stopwords(self.lang)
        object.__setattr__(self, "segmenter", choose_method(self.segmenter, self.lang))

    def __call__(self, text: str) -> list[str]:
        """The terms of a text: its words in order, then its n-grams."""
        return list(chain.from_iterable(self.blocks(text)))

    def blocks(self, text: str) -> Iterator[list[str]]:
        """The terms of a text, a block of it at a time."""
        check_text(text)
        before: list[str] = []
        for piece in _pieces(text):
            words = self._words(piece)
            yield words if self.ngrams == 1 else _with_ngrams(before, words, self.ngrams)
            before = (before + words)[-self.ngrams + 1 :] if self.ngrams > 1 else []

    def _words(self, text: str) -> list[str]:
        words = find_words(put_blanks(self._normal(text), self.lang, self.segmenter), _word_table())
        if self.stop_words:
            unwanted = _unwanted(self)
            words = [word for word in words if word.lower() not in unwanted]
        if self.min_length > 1:
            words = [word for word in words if len(word) >= self.min_length]
        if self.numbers != "keep":
            words = list(_without_numbers(words, drop=self.numbers == "drop"))
        return words if self.stem is None else stem_words(words, self.lang)

    def _normal(self, text: str) -> str:
        if text.isascii() and not _has_dotless_i(self.lang):
            return text.lower() if self.lower else text
        text = unicodedata.normalize("NFKC", text)
        if self.lower and _has_dotless_i(self.lang):
            text = text.replace("I", "\N{LATIN SMALL LETTER DOTLESS I}").replace("İ", "i")
        text = text.lower() if self.lower else text
        digits, letters = _foreign_digits()
        return digits.sub(_digit, text) if has_letters(text, letters) else text


def check_text(text: object) -> None:
    """Refuse what is not a string, and say what to do about it."""
    if isinstance(text, str):
        return
    if isinstance(text, (bytes, bytearray)):
        raise TypeError(f"got bytes ({bytes(text[:20])!r}...); expected str: text.decode('utf-8') makes one")
    raise TypeError(f"got {type(text).__name__} ({text!r:.40}) as a text; expected str, '' for an empty one")


def _pieces(text: str) -> Iterator[str]:
    """A text in pieces cut at blanks, or anywhere if it has none for a million characters."""
    start = 0
    while len(text) - start > _BLOCK_CHARS:
        blank = max(text.rfind(blank, start + 1, start + _BLOCK_CHARS) for blank in (" ", "\n"))
        end = blank if blank > 0 else start + _BLOCK_CHARS
        yield text[start:end]
        start = end
    yield text[start:]


def _with_ngrams(before: list[str], words: list[str], longest: int) -> list[str]:
    """The words, and all n-grams that end in one of them; ``before`` are the words ahead of them."""
    terms, line = list(words), before + words
    for n in range(2, longest + 1):
        starts = range(max(0, len(before) - n + 1), len(line) - n + 1)
        terms += [" ".join(line[i : i + n]) for i in starts]
    return terms


def _without_numbers(words: list[str], *, drop: bool) -> Iterable[str]:
    for word in words:
        if not word.isdecimal():
            yield word
        elif not drop:
            yield "0" * len(word)


@cache
def _unwanted(tokeniser: Tokeniser) -> frozenset[str]:
    """The stop words as this tokeniser would find them: 'isn't' is 'isn' and 't'."""
    plain = Tokeniser(tokeniser.lang, segmenter=tokeniser.segmenter)
    lists = [plain(word) for word in stopwords(tokeniser.lang)]
    whole = language(tokeniser.lang).segmenter == "unspaced"
    return frozenset(word for words in lists if len(words) == 1 or not whole for word in words)


def _has_dotless_i(lang: str) -> bool:
    return lang[:2] in ("tr", "az") and language(lang).code in ("tr", "az")


def _digit(match: re.Match[str]) -> str:
    return str(unicodedata.digit(match[0]))


@cache
def _foreign_digits() -> tuple[re.Pattern[str], NDArray[np.uint8]]:
    """Digits of other scripts, as a pattern and as a table."""
    found = (chr(c) for c in range(128, 1 << 16) if unicodedata.category(chr(c)) == "Nd")
    pattern = re.compile(f"[{''.join(found)}]")
    return pattern, matching_letters(pattern)


@cache
def _word_table() -> NDArray[np.uint8]:
    """For each character, whether it is part of words: letters, digits, marks and joiners.

    Beyond U+FFFF there are few ranges: letters of old and rare scripts.
    """
    table = np.zeros(_WORD_RANGES[-1][1] + 1, np.uint8)
    table[: 1 << 16] = [_in_words(chr(c)) for c in range(1 << 16)]
    for first, last in _WORD_RANGES:
        table[first : last + 1] = 1
    return table


@cache
def word_pattern() -> re.Pattern[str]:
    r"""Stretches of what is part of words.

    Python's ``re`` looks characters up to U+FFFF up in a table, which is quicker than ``\w``.
    """
    edges = np.flatnonzero(np.diff(_word_table(), prepend=0, append=0).astype(bool)).tolist()
    ranges = (f"{chr(first)}-{chr(end - 1)}" for first, end in zip(edges[::2], edges[1::2], strict=True))
    return re.compile(f"[{''.join(ranges)}]+")


def _in_words(character: str) -> bool:
    return unicodedata.category(character)[0] in "LNM" or character in "_\u200c\u200d"
