"""What a dictionary from aligned text consists of."""

from __future__ import annotations

import dataclasses

from isogloss.lexicon.aligned._text import AlignedText, Ints

Span = tuple[int, int]
"""Start and end in the characters of a sentence."""


@dataclasses.dataclass(frozen=True)
class Example:
    """A sentence pair, by its number, with what to highlight on both sides."""

    sentence: int
    source: tuple[Span, ...]
    target: tuple[Span, ...]


@dataclasses.dataclass(frozen=True)
class Translation:
    """A translation of a headword or phrase."""

    text: str
    count: int
    """Occurrences of the headword that are translated like this."""
    probability: float
    """The share of all occurrences of the headword."""
    score: float
    """What translations are ordered by."""
    entry: int | None
    """The number of its own entry in the other direction; None for phrases and rare words."""
    examples: tuple[Example, ...]


@dataclasses.dataclass(frozen=True)
class Phrase:
    """Neighbouring words and their translation."""

    text: str
    translation: str
    count: int
    probability: float
    example: Example


@dataclasses.dataclass(frozen=True)
class Entry:
    """A headword with its translations, most important first."""

    headword: str
    frequency: int
    """Occurrences of all its forms."""
    forms: tuple[tuple[str, int], ...]
    """Its forms and their frequencies, the headword first."""
    name: bool
    """Whether it is written like a proper name."""
    translations: tuple[Translation, ...]
    phrases: tuple[Phrase, ...]
    tokens: Ints
    """Its occurrences, as tokens of its side of the text."""


@dataclasses.dataclass(frozen=True)
class AlignedDictionary:
    """A dictionary in both directions, with the text that it was made from."""

    text: AlignedText
    source: tuple[Entry, ...]
    """Entries of the source language, most frequent first."""
    target: tuple[Entry, ...]

    def swapped(self) -> AlignedDictionary:
        """Source and target exchanged."""
        return AlignedDictionary(self.text.swapped(), self.target, self.source)
