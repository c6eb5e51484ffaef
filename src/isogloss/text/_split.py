r"""Words of raw sentences as they are written, for aligners: case and order kept, every character used once.

:class:`~isogloss.text.Tokeniser` makes terms for retrieval: it normalises, and without ICU it gives
overlapping bigrams for scripts without spaces. Here a word can be found in the sentence again.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from functools import cache

from isogloss.extras import has_module
from isogloss.text._segment import ICU, UNSPACED, put_blanks
from isogloss.text._tokens import word_pattern

MAX_SHARE_ATTACHED = 0.5
"""Text is tokenised if at most this share of its punctuation marks is attached to words."""

MAX_UNSPACED_LENGTH = 7.0
"""Text is tokenised if stretches of scripts without spaces have at most this mean length (by character)."""

_MARK = "[.,;:!?\u2026\u3002\u3001\uff0c\uff0e\uff01\uff1f\uff1b\uff1a\u300d\u300f\uff09\u300b)]"
"""Punctuation that follows a word: of Latin, and the full-width marks of Chinese and Japanese."""

_ATTACHED = re.compile(rf"(?<=\w){_MARK}(?=[\s\"'\u201d\u00bb]|$)")
_ALONE = re.compile(rf"(?:(?<=\s)|^){_MARK}(?=\s|$)")


def split_words(text: str) -> str:
    r"""Put one blank between the words of a text and leave out what is not part of words; keep line feeds.

    A word is a stretch of letters, digits and marks. Scripts without spaces are segmented with the
    dictionaries of ICU where ``icu4py`` is installed, and into single characters otherwise.

    Examples
    --------
    >>> split_words("The Bank's house, 1694.\nL'eau (froide)!")
    'The Bank s house 1694\nL eau froide'
    """
    if UNSPACED.search(text):
        text = put_blanks(text, "zh", "icu") if has_module(ICU) else UNSPACED.sub(_characters, text)
    spaced = _between_words().sub(" ", text)
    return "\n".join(map(str.strip, spaced.split("\n")))


def word_offsets(text: str, words: Iterable[str]) -> list[tuple[int, int]]:
    """Start and end of words in the text that they come from, in characters.

    Examples
    --------
    >>> word_offsets("L'eau, l'eau!", ["L", "eau", "l", "eau"])
    [(0, 1), (2, 5), (7, 8), (9, 12)]
    """
    offsets, at = [], 0
    for word in words:
        start = text.find(word, at)
        if start < 0:
            raise ValueError(
                f"the word {word!r:.60} is not in {text[at:]!r:.60}; expected words in their order"
            )
        at = start + len(word)
        offsets.append((start, at))
    return offsets


def is_tokenised(sentences: Sequence[str]) -> bool:
    """Return whether the words and punctuation marks of sentences look separated by spaces already.

    They do if most punctuation marks stand alone, or there are none, and if scripts without spaces have some.

    Examples
    --------
    >>> is_tokenised(["the house , they said ."]), is_tokenised(["The house, they said."])
    (True, False)
    >>> is_tokenised(["東京 タワー の 高 さ"]), is_tokenised(["東京タワーの高さは何メートルですか"])
    (True, False)
    """
    attached = sum(len(_ATTACHED.findall(sentence)) for sentence in sentences)
    alone = sum(len(_ALONE.findall(sentence)) for sentence in sentences)
    lengths = [len(run) for sentence in sentences for run in UNSPACED.findall(sentence)]
    unspaced = sum(length * length for length in lengths) / max(sum(lengths), 1)
    return attached <= MAX_SHARE_ATTACHED * (attached + alone) and unspaced <= MAX_UNSPACED_LENGTH


@cache
def _between_words() -> re.Pattern[str]:
    return re.compile(rf"[^{word_pattern().pattern[1:-2]}\n]+")


def _characters(run: re.Match[str]) -> str:
    """Single characters, each with the marks that follow it, between blanks."""
    out = ""
    for character in run[0]:
        out += character if unicodedata.category(character)[0] == "M" else f" {character}"
    return f"{out} "
