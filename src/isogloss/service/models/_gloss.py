"""Glosses: what a title says, in the language of the reader, by a translator or word by word."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from isogloss.alignment import Aligner
from isogloss.events.annotate import ConceptFinder, capitalises_nouns
from isogloss.service.models._gloss_words import concept_phrases, known_word, place_phrases, readable
from isogloss.service.models._translator import TitleTranslator
from isogloss.text import Tokeniser, stopwords

MIN_TRANSLATION_PROBABILITY = 0.4
"""A word of an aligner is a translation if it is so probable in both directions."""

MIN_KNOWN_SHARE = 1 / 2
"""Share of the words of a title that must be known for a gloss word by word; stop words, numbers and names do
not count.
"""

_MAX_WORDS = 60

WordLookup = Callable[[str, str, str], Sequence[tuple[str, float | None]]]
"""Translations of a word with their scores, the best first: language, word, target language."""


@dataclass(frozen=True)
class Gloss:
    """A title in another language."""

    lang: str
    """Language of the gloss."""
    kind: Literal["translation", "words"]
    """Whether a translator translated the whole title, or words were looked up one by one."""
    words: tuple[tuple[str, bool], ...]
    """The words of the gloss, and whether each is known; an unknown word stays as the title has it, in Latin
    letters if the reader's language has them.
    """

    @property
    def text(self) -> str:
        """The gloss as plain text."""
        return " ".join(word for word, _ in self.words)


class Glosser:
    """Makes glosses by a translator, dictionaries, aligners, a concept dictionary and word tables.

    Examples
    --------
    >>> words = {"sturm": [("storm", None)], "küste": [("coast", None)]}
    >>> glosser = Glosser(lambda lang, word, to: words.get(word.lower(), []), {})
    >>> glosser.gloss("Sturm vor der Küste", "de", ["en"]).words
    (('storm', True), ('before', True), ('the', True), ('coast', True))
    >>> glosser.gloss("Ein Lied", "de", ["it"]) is None
    True
    """

    def __init__(
        self,
        lookup: WordLookup,
        aligners: Mapping[tuple[str, str], Aligner],
        translator: TitleTranslator | None = None,
        concepts: ConceptFinder | None = None,
    ) -> None:
        self.lookup, self.aligners, self.translator, self.concepts = lookup, aligners, translator, concepts
        self._tables: dict[tuple[str, str], dict[str, str]] = {}

    def gloss(self, text: str, lang: str, readers: Sequence[str]) -> Gloss | None:
        """Return a gloss in the first language of the reader for which enough is known; None if none is.

        ``readers`` are the languages of the reader, the preferred one first.
        """
        if lang in readers[:1]:
            return None
        for to in readers:
            if to == lang:
                break
            found = self._translate(text, lang, to) or self._by_words(text, lang, to)
            if found is not None:
                return found
        return None

    def _translate(self, text: str, lang: str, to: str) -> Gloss | None:
        translated = self.translator.translate(text, lang, to) if self.translator else None
        return Gloss(lang=to, kind="translation", words=((translated, True),)) if translated else None

    def _by_words(self, text: str, lang: str, to: str) -> Gloss | None:
        try:
            words, stops = _join_numbers(_tokeniser(lang)(text)[:_MAX_WORDS], text), _stop_words(lang)
        except ValueError:  # a language that is not known
            return None
        phrases = self._phrases(words, lang, to, stops)
        pairs: list[tuple[str, bool]] = []
        known = content = at = 0
        while at < len(words):
            word = words[at]
            end, translation = phrases.get(at, (at + 1, None))
            translation = translation or self._word(lang, word, to, stops)
            if word.lower() not in stops and (translation or not _is_readable(word, at, lang)):
                content += 1
                known += translation is not None
            if translation is None:
                pairs.append((readable(word, lang, to), word[0].isdecimal()))
            elif pairs[-1:] != [(translation, True)]:  # magnitude is an earthquake, too
                pairs.append((translation, True))
            at = end
        if not known or known < MIN_KNOWN_SHARE * content:
            return None
        return Gloss(lang=to, kind="words", words=tuple(pairs))

    def _phrases(
        self, words: Sequence[str], lang: str, to: str, stops: Set[str]
    ) -> dict[int, tuple[int, str | None]]:
        """Return the ends and translations of places and phrases by where they begin, without overlaps.

        A single word of a concept dictionary counts only if it is no name and nothing else knows it.
        """
        found = list(place_phrases(words, lang, to))
        if self.concepts is not None:
            for start, end, name in concept_phrases(words, lang, to, self.concepts):
                if end > start + 1 or not (
                    _is_readable(words[start], start, lang) or self._word(lang, words[start], to, stops)
                ):
                    found.append((start, end, name))
        taken: set[int] = set()
        phrases: dict[int, tuple[int, str | None]] = {}
        for start, end, name in found:
            if taken.isdisjoint(range(start, end)):
                taken.update(range(start, end))
                phrases[start] = end, name
        return phrases

    def _word(self, lang: str, word: str, to: str, stops: Set[str]) -> str | None:
        """Return the translation of a word: by a dictionary, one that was learned, or the word tables.

        Learned translations have scores. Many are wrong, so only those count that hold in both directions,
        and between two stop words or two other words.
        """
        listed = self.lookup(lang, word, to)
        if listed and listed[0][1] is None:
            return listed[0][0]
        if listed:
            back = self.lookup(to, listed[0][0], lang)
            learned = listed[0][0] if back and back[0][0].casefold() == word.casefold() else None
        else:
            learned = self._table(lang, to).get(word.casefold())
        if learned is not None and (word.lower() in stops) == (learned.lower() in _stop_words(to)):
            return learned
        return known_word(word, lang, to, is_stop_word=word.lower() in stops)

    def _table(self, lang: str, to: str) -> dict[str, str]:
        """Return the best translation of each word of an aligner; computed when it is first needed."""
        if (lang, to) not in self._tables:
            self._tables[lang, to] = _aligned_words(self.aligners, lang, to)
        return self._tables[lang, to]


def _aligned_words(aligners: Mapping[tuple[str, str], Aligner], lang: str, to: str) -> dict[str, str]:
    best: dict[str, tuple[float, str]] = {}
    for pair, swapped in (((lang, to), False), ((to, lang), True)):
        rows = aligners[pair].translation_table_ if pair in aligners else []
        for source, target, forward, backward, _ in rows:
            word, translation = (target, source) if swapped else (source, target)
            probability = min(forward, backward)
            if probability >= max(MIN_TRANSLATION_PROBABILITY, best.get(word, (0.0, ""))[0]):
                best[word] = probability, translation
    return {word: translation for word, (_, translation) in best.items()}


@lru_cache(maxsize=64)
def _tokeniser(lang: str) -> Tokeniser:
    return Tokeniser(lang, lower=False)


def _join_numbers(words: Sequence[str], text: str) -> list[str]:
    """Join the parts of numbers that the text has with a separator.

    Examples
    --------
    >>> _join_numbers(["magnitude", "6", "8", "in", "2031", "5", "000"], "magnitude 6,8 in 2031: 5.000")
    ['magnitude', '6,8', 'in', '2031', '5.000']
    """
    joined: list[str] = []
    for word in words:
        if joined and word.isdecimal() and joined[-1][-1].isdecimal():
            whole = next(
                (f"{joined[-1]}{mark}{word}" for mark in ".," if f"{joined[-1]}{mark}{word}" in text), ""
            )
            if whole:
                joined[-1] = whole
                continue
        joined.append(word)
    return joined


def _is_readable(word: str, at: int, lang: str) -> bool:
    """Return whether a word needs no translation: a number, or a name, as its capital letter tells."""
    if any(letter.isdigit() for letter in word):
        return True
    return at > 0 and word[0].isupper() and not capitalises_nouns(lang)


@lru_cache(maxsize=256)
def _stop_words(lang: str) -> frozenset[str]:
    """Return the stop words of a language; none if they are not known."""
    try:
        return stopwords(lang)
    except ValueError:
        return frozenset()
