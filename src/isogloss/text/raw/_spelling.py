"""Spellings that a user wants to see as one."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass

APOSTROPHES = "'\u2018\u2019\u02b9\u02bb\u02bc\u02bd\u2032`\u00b4"
"""Characters that are typed for an apostrophe, an okina or a glottal stop."""

LETTER_APOSTROPHE = "\N{MODIFIER LETTER APOSTROPHE}"

_IN_WORDS = re.compile(rf"(?<=\w)[{APOSTROPHES}](?=\w)")
_AT_WORDS = re.compile(rf"[{APOSTROPHES}](?=\w)|(?<=\w)[{APOSTROPHES}]")


@dataclass(frozen=True)
class Spelling:
    """Normalisation of the spelling of a language. Composed characters (NFC) are always used.

    Parameters
    ----------
    lower : bool
        Lower case.
    diacritics : bool
        Keep accents and other marks; without them *é* is *e*, and vowel signs of Hebrew and Arabic are gone.
        Scripts whose vowels are marks (Devanagari, Thai and their kin) keep them.
    apostrophes : {'marks', 'inside', 'letters'}
        Whether an apostrophe separates words (French *l'eau*), is a letter between two letters (Ukrainian
        *м'ята*), or is a letter at the edges of words too (Hawaiian *ʻokina*, Hausa, Quechua). As a letter it
        is written U+02BC, whatever was typed, so that it stays in its word.

    Examples
    --------
    >>> Spelling()("Cafe\u0301") == "Caf\u00e9", Spelling(lower=True, diacritics=False)("Café")
    (True, 'cafe')
    >>> Spelling(apostrophes="inside")("м'ята — 'so'")
    "мʼята — 'so'"
    """

    lower: bool = False
    diacritics: bool = True
    apostrophes: str = "marks"

    def __post_init__(self) -> None:
        if self.apostrophes not in ("marks", "inside", "letters"):
            raise ValueError(f"apostrophes={self.apostrophes!r:.40}; expected 'marks', 'inside' or 'letters'")

    def __call__(self, text: str) -> str:
        """The text in this spelling; line feeds stay where they are."""
        if not self.diacritics:
            text = "".join(map(_without_marks, unicodedata.normalize("NFD", text)))
        text = unicodedata.normalize("NFC", text)
        if self.apostrophes != "marks":
            pattern = _IN_WORDS if self.apostrophes == "inside" else _AT_WORDS
            text = pattern.sub(LETTER_APOSTROPHE, text)
        return text.lower() if self.lower else text


def _without_marks(character: str) -> str:
    """Return a character, or nothing for accents, points, and vowel signs of Hebrew and Arabic."""
    return "" if unicodedata.combining(character) and unicodedata.category(character) == "Mn" and (
        character < "\u0900" or "\u1ab0" <= character <= "\u1dff" or "\u20d0" <= character <= "\ufe2f"
    ) else character  # fmt: skip
