"""Abbreviations of a text, and sentences that were cut after one."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence

from anyascii import anyascii

MIN_SCORE = 0.3
"""Kiss and Strunk's threshold for an abbreviation."""

MIN_OCCURRENCES = 4
"""Rarer words are abbreviations only if they have no vowel or a stop inside."""

MIN_CONTINUED = 0.2
"""Share of a word's stops that a small letter or a digit follows, for it to be an abbreviation or ordinal."""

_TOKEN = re.compile(r"[^\W_](?:[\w.\u2019'-]*[\w])?(\.?)")
_INSIDE = ".\u2019'-"
_WORD_CHARACTERS = f"{_INSIDE}_"
"""What may stand between the letters of a word."""
_FIRST = re.compile(r"^\W*(\w+)")
_ONE_OR_TWO_DIGITS = re.compile(r"\d{1,2}")
_LABEL = re.compile(r"^\W*(?:\d{1,3}|[^\W\d_])[.)]\s*$")
_VOWELS = frozenset("aeiouy")


class Abbreviations:
    """The abbreviations of a text.

    Examples
    --------
    >>> found = Abbreviations(["Sgt. Miller met Sgt. Baker and Sgt. Cook. There was rain all day long."])
    >>> found.join(["Sgt. ", "Miller met Sgt. ", "Baker and Sgt. ", "Cook. ", "There was rain all day long."])
    ['Sgt. Miller met Sgt. Baker and Sgt. Cook. ', 'There was rain all day long.']
    """

    def __init__(self, paragraphs: Iterable[str]) -> None:
        self._stopped: Counter[str] = Counter()
        self._plain: Counter[str] = Counter()
        self._lower: Counter[str] = Counter()
        self._upper: Counter[str] = Counter()
        self._continued: Counter[str] = Counter()
        self._titles: Counter[str] = Counter()
        for paragraph in paragraphs:
            self._count(paragraph)
        stops, tokens = self._stopped.total(), self._stopped.total() + self._plain.total()
        share = min(max(stops / max(tokens, 1), 1e-6), 0.98)
        self.words = {word for word in self._stopped if self._is_abbreviation(word, share)}

    def join(self, parts: Sequence[str]) -> list[str]:
        """The sentences of a paragraph out of parts that may have been cut too often."""
        out: list[str] = []
        for part in parts:
            if out and self._continues(out[-1], part):
                out[-1] += part
            elif part.strip():
                out.append(part)
        return out

    def _count(self, paragraph: str) -> None:
        stopped = ""
        for token in _TOKEN.finditer(paragraph):
            word = token[0].rstrip(".")
            if stopped and (word[0].islower() or word[0].isdecimal()):
                self._continued[stopped] += 1
            stopped = _type(word) if token[1] else ""
            counts = self._stopped if token[1] else self._plain
            counts[_type(word)] += 1
            self._titles[stopped] += word[0].isupper()
            cased = self._lower if word[0].islower() else self._upper
            cased[word.lower()] += 1

    def _is_abbreviation(self, word: str, share: float) -> bool:
        """Kiss and Strunk's score: the stop goes with the word, which is short and rare without."""
        stopped, plain, length = self._stopped[word], self._plain[word], len(word.replace(".", ""))
        has_vowel = bool(_VOWELS & set(anyascii(word)))
        if length == 2 and not plain and not has_vowel:
            return True
        if "." not in word and (stopped < 2 or has_vowel or word == "0"):
            continued = self._continued[word] >= MIN_CONTINUED * stopped
            title = self._titles[word] > stopped / 2 and word != "0"
            if stopped < MIN_OCCURRENCES or not (continued or title):
                return False
        null = stopped * math.log(share) + plain * math.log(1 - share)
        bound = stopped * math.log(0.99) + plain * math.log(0.01)
        score = 2 * (bound - null) * math.exp(-length) * (word.count(".") + 1)
        return score * length ** -min(plain, 100) >= MIN_SCORE if length > 1 else score >= MIN_SCORE

    def _continues(self, before: str, part: str) -> bool:
        """Return whether a sentence goes on after what looked like its end."""
        first = _FIRST.match(part)
        if first is None or first[1][0].islower() or _LABEL.match(before):
            return True
        last = _word_before_stop(before)
        if not last:
            return False
        initial = len(last) == 1 and last.isupper()
        if not initial and _type(last) not in self.words:
            return False
        word = first[1].lower()
        return self._lower[word] <= self._upper[word] / 2


def _type(word: str) -> str:
    """The word as it is counted; short numbers are one word, which ordinals end in a stop."""
    return "0" if _ONE_OR_TWO_DIGITS.fullmatch(word) else word.lower()


def _word_before_stop(text: str) -> str:
    """Return the word that a full stop at the end of a text follows, or "".

    Examples
    --------
    >>> _word_before_stop("He met (Dr. "), _word_before_stop("in the U.S."), _word_before_stop("Why?")
    ('Dr', 'U.S', '')
    """
    text = text.rstrip()
    if not text.endswith("."):
        return ""
    end = start = len(text) - 1
    while start and (text[start - 1].isalnum() or text[start - 1] in _WORD_CHARACTERS):
        start -= 1
    word = text[start:end].lstrip(_WORD_CHARACTERS)
    return "" if word.endswith(tuple(_INSIDE)) else word
