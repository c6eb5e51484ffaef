"""Names of places looked up in text: where they stand, and which places they may be."""

# ruff: noqa: RUF001 -- letters of many scripts

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from typing import NamedTuple

import numpy as np
from anyascii import anyascii
from numpy.typing import NDArray

from isogloss.kernels import spot_words
from isogloss.text._languages import Language
from isogloss.text._letters import matching_letters
from isogloss.text._tokens import word_pattern
from isogloss.text.gazetteer._places import Name
from isogloss.text.gazetteer._words import WHOLE_NAMES, common_words, stemmer, stop_words

CASED = ("Latn", "Cyrl", "Grek", "Armn")
"""Scripts with capital letters."""

_CAPITALISED_NOUNS = ("de", "lb", "nds")
_GAP = re.compile(r"[\s\-\u2010\u2011'’.]{1,2}")
_CACHED_WORDS = 1 << 15
"""Words of a language that are cached as beginning no name, and as many that begin one."""
_BEGINS, _BLOCKS, _CONTINUES = 1, 2, 4
"""Bits of a letter: it begins a word, no word begins right after it, it continues a word."""

MIN_LARGE_POPULATION = 1_000_000
"""Population from which a city counts even where its capital letter is no evidence."""


class Spot(NamedTuple):
    """A stretch of text that is a name."""

    start: int
    end: int
    """Its position in the text."""
    key: str
    """The name in the form in which it was looked up."""
    names: tuple[Name, ...]
    """Places that the name may mean."""
    weak: bool
    """Whether the capital letter may come from the beginning of a sentence."""
    beside: bool
    """Whether it stands next to another word with a capital letter, as in a longer name."""
    in_name: bool
    """Whether such a word follows, as the surname follows the first name."""


class NameTable:
    """Names with the places that they may mean, on top of a table that several languages share.

    ``cased`` says whether the script has capital letters; the table ``below`` is not changed.
    """

    def __init__(self, names: Iterable[Name], cased: bool, below: NameTable | None = None) -> None:
        self._below = below
        found = _collect((_key(name.text), name) for name in names if _is_long_enough(name, cased))
        self._own = {key: self._merged(key, some) for key, some in found.items()}
        self._depths = _depths(self._own)
        self._openings = _openings(self._own)

    def get(self, key: str) -> tuple[Name, ...]:
        """Return the places that a name may mean; empty if it is not a name."""
        found = self._own.get(key)
        if found is None:
            return self._below.get(key) if self._below else ()
        return found

    def depth(self, word: str) -> int:
        """Return an upper bound of the number of words of the names that begin with a word."""
        own = self._depths.get(word, 0)
        return max(own, self._below.depth(word)) if self._below else own

    def goes_on(self, words: str) -> bool:
        """Return whether a name of three words or more begins with these two."""
        return words in self._openings or (self._below is not None and self._below.goes_on(words))

    def drop(self, key: str) -> None:
        """Remove a name from this table, but not from the shared one below."""
        self._own[key] = ()

    def all(self) -> dict[str, tuple[Name, ...]]:
        """All names."""
        every = (self._below.all() if self._below else {}) | self._own
        return {key: names for key, names in every.items() if names}

    def _merged(self, key: str, names: tuple[Name, ...]) -> tuple[Name, ...]:
        below = self._below.get(key) if self._below else ()
        return _each_place_once((*names, *below)) if below else names


class WordSpotter:
    """Finds names in scripts with blanks between words.

    ``names`` are of places in the language of the text, ``shared`` those of its script.
    """

    def __init__(self, lang: Language, names: Iterable[Name], shared: NameTable) -> None:
        self.lang = lang
        self.cased = lang.script in CASED
        self._names = NameTable(names, self.cased, shared)
        self._common = common_words(lang.code)
        for key in _common_names(self._names, self._common, lang.code):
            self._names.drop(key)
        self._stem = stemmer(lang.code)
        self._stems: dict[str, tuple[Name, ...]] | NameTable = self._names
        self._stem_depths: dict[str, int] | None = None
        self._stem_openings: set[str] = set()
        if self._stem is not None and lang.code not in WHOLE_NAMES:
            self._stems = _by_stem(self._names.all(), self._stem)
            self._stem_depths = _depths(self._stems)
            self._stem_openings = _openings(self._stems)
        self._not_names: set[str] = set()
        self._name_starts: dict[str, tuple[str, int]] = {}

    def spot(self, text: str) -> Iterator[Spot]:
        """Yield the names in a text from left to right; of overlapping names, the longest."""
        capitals = self.cased and _capital().search(text) is not None
        end = 0
        for start, stop, word in spot_words(text, _capitalised() if capitals else _any(), self._not_names):
            found = self._longest(text, stop, word) if start >= end else None
            if found is None:
                continue
            end, key, names = found
            if self._plausible(text[start:end], key, names, capitals):
                yield self._spot(text, start, end, key, names)

    def _longest(self, text: str, end: int, word: str) -> tuple[int, str, tuple[Name, ...]] | None:
        """Return the longest name that begins with a word, as it is or without a case ending."""
        first, depth = self._name_starts.get(word) or self._look_up_start(word)
        if not depth:
            return None
        words, ends = _following(text, first, end, min(depth, 2))
        if len(words) == 2 < depth and self._goes_on(words):
            words, ends = _following(text, first, end, depth)
        for n in range(len(words), 0, -1):
            key = " ".join(words[:n])
            names = self._names.get(key) or self._in_another_case(key)
            if names:
                return ends[n - 1], key, names
        return None

    def _goes_on(self, words: list[str]) -> bool:
        """Return whether there may be a name of three words or more that begins with two."""
        if self._names.goes_on(" ".join(words)):
            return True
        if self._stem is None:
            return False
        stems = " ".join(map(self._stem, words))
        return self._names.goes_on(stems) if self._stem_depths is None else stems in self._stem_openings

    def _in_another_case(self, key: str) -> tuple[Name, ...] | None:
        if key in self._common:
            return None
        stem = _stem_of(key, self._stem) if self._stem else None
        return None if stem is None else self._stems.get(stem)

    def _look_up_start(self, word: str) -> tuple[str, int]:
        """Return the key of a word and the length in words of the longest name that it begins; cached."""
        first = _key(word)
        stem = self._stem(first) if self._stem else first
        depths = self._stem_depths
        depth = max(
            self._names.depth(first), self._names.depth(stem) if depths is None else depths.get(stem, 0)
        )
        for known in (self._not_names, self._name_starts):
            if len(known) >= _CACHED_WORDS:
                known.clear()
        if depth:
            self._name_starts[word] = first, depth
        else:
            self._not_names.add(word)
        return first, depth

    def _plausible(self, text: str, key: str, names: tuple[Name, ...], capitals: bool) -> bool:
        """Return whether a name is no abbreviation and, in a text without capitals, a well-known one."""
        if not self.cased:
            return True
        if not capitals:
            return _is_well_known(names) and key not in self._common
        return len(text) > 4 or not text.isupper() or any(one.place.kind == "country" for one in names)

    def _spot(self, text: str, start: int, end: int, key: str, names: tuple[Name, ...]) -> Spot:
        weak = self.cased and " " not in key and _begins_sentence(text, start)
        beside = self.cased and self.lang.code not in _CAPITALISED_NOUNS and _has_neighbour(text, start, end)
        in_name = beside and " " not in key and _precedes_capital(text, end)
        return Spot(start, end, key, names, weak, beside, in_name)


class UnspacedSpotter:
    """Finds names in scripts without blanks between words, and in Korean, whose particles follow directly."""

    def __init__(self, lang: Language, names: Iterable[Name]) -> None:
        self.lang = lang
        self._whole_words = lang.script == "Kore"
        least = 2 if lang.script in ("Hans", "Jpan", "Kore") else 3
        every = _collect(_unspaced_keys(names))
        self._names = {key: found for key, found in every.items() if len(key) >= least}
        for key in _common_names(self._names, common_words(lang.code), lang.code):
            del self._names[key]
        self._starts: dict[str, list[int]] = {}
        for key in self._names:
            lengths = self._starts.setdefault(key[:2], [])
            if len(key) not in lengths:
                lengths.append(len(key))
        for lengths in self._starts.values():
            lengths.sort(reverse=True)

    def spot(self, text: str) -> Iterator[Spot]:
        """Yield the names in a text from left to right; of overlapping names, the longest."""
        starts, names, at = self._starts, self._names, 0
        while at < len(text) - 1:
            for length in starts.get(text[at : at + 2], ()):
                key = text[at : at + length]
                if key in names and self._stands_alone(text, at, at + len(key)):
                    yield Spot(at, at + len(key), key, names[key], False, False, False)
                    at += len(key) - 1
                    break
            at += 1

    def _stands_alone(self, text: str, start: int, end: int) -> bool:
        """Return whether a name is neither part of a katakana word nor inside a Korean one."""
        before, after = text[start - 1 : start], text[end : end + 1]
        if self._whole_words:
            return not before.isalnum()
        return not (
            (_katakana(text[start]) and _katakana(before)) or (_katakana(text[end - 1]) and _katakana(after))
        )


Spotter = WordSpotter | UnspacedSpotter


def _following(text: str, first: str, end: int, depth: int) -> tuple[list[str], list[int]]:
    """Return the keys of a word and of the words after it, and their ends."""
    words, ends = [first], [end]
    while len(words) < depth:
        gap = _GAP.match(text, ends[-1])
        word = word_pattern().match(text, gap.end()) if gap else None
        if word is None:
            break
        words.append(_key(word[0]))
        ends.append(word.end())
    return words, ends


def _collect(pairs: Iterable[tuple[str, Name]]) -> dict[str, tuple[Name, ...]]:
    """Group names by key, each place once, in the order of place ids."""
    found: dict[str, list[Name]] = defaultdict(list)
    for key, name in pairs:
        found[key].append(name)
    found.pop("", None)
    return {key: tuple(names) if len(names) == 1 else _each_place_once(names) for key, names in found.items()}


def _common_names(
    names: dict[str, tuple[Name, ...]] | NameTable, common: frozenset[str], lang: str
) -> list[str]:
    """Return names that are common words (except countries) or stop words (except well-known places)."""
    countries = [word for word in common if any(one.place.kind == "country" for one in names.get(word) or ())]
    found = [word for word in common.difference(countries) if names.get(word)]
    stops = stop_words(lang).difference(found)
    return found + [word for word in stops if (some := names.get(word)) and not _is_well_known(some)]


def _each_place_once(names: Iterable[Name]) -> tuple[Name, ...]:
    ordered = sorted(names, key=lambda one: (one.place.id, not one.main))
    return tuple({one.place.id: one for one in reversed(ordered)}.values())[::-1]


def _key(name: str) -> str:
    """Return the key of a name: lower case, words separated by one blank."""
    if not name.isascii():
        name = unicodedata.normalize("NFKC", name).replace("ё", "е").replace("Ё", "Е")
    return name.lower() if name.isalnum() else " ".join(word_pattern().findall(name.lower()))


def _unspaced_keys(names: Iterable[Name]) -> Iterator[tuple[str, Name]]:
    """Yield names, and those that end in the word for city also without it."""
    for name in names:
        text = unicodedata.normalize("NFKC", name.text)
        yield text, name
        if len(text) > 2 and text[-1] in "市시":
            yield text[:-1], name


def _is_long_enough(name: Name, cased: bool) -> bool:
    """Return whether a name is long enough, or its place large enough, to be unambiguous."""
    letters = len(name.text)
    if letters > 3 or name.place.kind == "country":
        return True
    known = name.place.kind == "capital" or name.place.population >= MIN_LARGE_POPULATION
    same_initial = name.main or anyascii(name.text[0])[:1] == anyascii(name.place.name[0])
    return letters == 3 and same_initial and (known or (cased and name.main))


def _depths(names: Iterable[str]) -> dict[str, int]:
    """Return the number of words of the longest name that begins with a word."""
    out: dict[str, int] = {}
    for name in names:
        first, _, rest = name.partition(" ")
        words = 1 + (1 + rest.count(" ") if rest else 0)
        if words > out.get(first, 0):
            out[first] = words
    return out


def _openings(names: Iterable[str]) -> set[str]:
    """Return the first two words of longer names."""
    return {" ".join(name.split(" ", 2)[:2]) for name in names if name.count(" ") > 1}


def _by_stem(every: dict[str, tuple[Name, ...]], stem: Callable[[str], str]) -> dict[str, tuple[Name, ...]]:
    """Group names by their stems, each place once."""
    out: dict[str, tuple[Name, ...]] = {}
    for key, names in every.items():
        short = _stem_of(key, stem)
        if short is not None:
            out[short] = _each_place_once((*out[short], *names)) if short in out else names
    return out


def _stem_of(key: str, stem: Callable[[str], str]) -> str | None:
    """Return a name without case endings; None if too little is left of a single word."""
    if " " in key:
        return " ".join(map(stem, key.split(" ")))
    short = stem(key)
    return None if len(short) < 4 and len(key) - len(short) > 1 else short


def _is_well_known(names: tuple[Name, ...]) -> bool:
    """Return whether one of the places is a country, a capital or a city of a million people."""
    return any(
        one.place.kind != "city" or one.place.population >= MIN_LARGE_POPULATION for one in names if one.main
    )


def _begins_sentence(text: str, start: int) -> bool:
    """Return whether a word begins the text or a sentence."""
    at = start - 1
    while at >= 0 and text[at] in " \t\u00a0":
        at -= 1
    return at < 0 or text[at] in ".!?…:;\n\r\"'«»“”„‘’([-–—•*|"


def _has_neighbour(text: str, start: int, end: int) -> bool:
    """Return whether the word before or after a name, across one blank, has a capital letter."""
    if _precedes_capital(text, end):
        return True
    if start < 2 or text[start - 1] != " ":
        return False
    before = text.rfind(" ", 0, start - 1) + 1
    return text[before].isupper() and text[start - 2].isalpha() and not _begins_sentence(text, before)


def _precedes_capital(text: str, end: int) -> bool:
    """Return whether a blank and a capital letter follow."""
    return text[end : end + 1] == " " and text[end + 1 : end + 2].isupper()


def _katakana(character: str) -> bool:
    return "\u30a1" <= character <= "\u30fc"


@cache
def _capital_class() -> str:
    capitals = [c for c in range(1 << 16) if unicodedata.category(chr(c)) in ("Lu", "Lt")]
    return "".join(map(chr, capitals))


@cache
def _capital() -> re.Pattern[str]:
    return re.compile(f"[{_capital_class()}]")


@cache
def _capitalised() -> NDArray[np.uint8]:
    """Letters of words that begin with a capital letter."""
    table = matching_letters(re.compile(r"\w+")) * np.uint8(_BLOCKS | _CONTINUES)
    table |= matching_letters(re.compile("[\u0300-\u036f]+")) * np.uint8(_CONTINUES)
    table |= matching_letters(re.compile(f"[{_capital_class()}]+")) * np.uint8(_BEGINS)
    return table


@cache
def _any() -> NDArray[np.uint8]:
    """Letters of all words."""
    return matching_letters(word_pattern()) * np.uint8(_BEGINS | _CONTINUES)
