"""Concept dictionary: phrases of many languages and their meanings, memory-mapped from a folder.

::

    FOLDER/concepts.json                     format, version, sizes
    FOLDER/names.text.npy, names.offsets.npy names of concepts
    FOLDER/entities.npy                      whether each is an entity, such as a person or a town
    FOLDER/LANG/keys.npy                     hashes of the phrases, sorted
    FOLDER/LANG/meanings.npy, shares.npy     the concept of each phrase, and how often it has this meaning
    FOLDER/LANG/filter.npy                   a Bloom filter of the phrases

Only 64-bit hashes of phrases are stored: two million phrases take 36 MB.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import log
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isogloss.corpora import check_language, new_folder, read_array, read_strings, write_array, write_strings
from isogloss.events.annotate._words import TokenisedText
from isogloss.exceptions import CorpusError
from isogloss.io import PathLike, atomic_write
from isogloss.text import language

__all__ = ["MAX_WORDS", "ConceptDictionary", "Phrase", "phrase_words", "write_concepts"]

HEADER = "concepts.json"
FORMAT, VERSION = "isogloss concepts", 1

MAX_WORDS = 6
"""Maximum length of a phrase in words."""

_HASH_FACTOR = np.uint64(0x9E3779B97F4A7C15)
_FILTER_BITS = 16
"""Bits of the Bloom filter per phrase; its false positive rate is one in sixteen."""


@dataclass(frozen=True, slots=True)
class Phrase:
    """A phrase, its concept, and the share of its uses with this meaning."""

    words: tuple[str, ...]
    concept: str
    share: float


def phrase_words(text: str, lang: str) -> tuple[str, ...]:
    """Return the words of a phrase as they are looked up.

    Examples
    --------
    >>> phrase_words("United Nations,", "en")
    ('united', 'nations')
    """
    return tuple(word.lower() for word in TokenisedText.of(text, lang).words if word)


class ConceptDictionary:
    """Finds concepts in texts, the longest phrases first.

    Parameters
    ----------
    folder : path
        Made by ``isogloss concepts build`` or :func:`write_concepts`.

    Examples
    --------
    >>> phrases = {
    ...     "en": [Phrase(("river", "danube"), "en:Danube", 0.5), Phrase(("flood",), "en:Flood", 0.75)],
    ...     "de": [Phrase(("donau",), "en:Danube", 1.0)],
    ... }
    >>> write_concepts("dictionary", phrases, {"en:Danube"})
    >>> concepts = ConceptDictionary("dictionary")
    >>> list(concepts.find("a flood of the river danube".split(), "en"))
    [('en:Flood', False, 0.75), ('en:Danube', True, 0.5)]
    >>> list(concepts.find(["donau"], "de"))
    [('en:Danube', True, 1.0)]
    """

    def __init__(self, folder: PathLike) -> None:
        self.folder = Path(folder)
        self.header = _read_header(self.folder)
        count = int(self.header["concepts"])
        self._names = read_strings(self.folder, "names", count)
        self._entities = read_array(self.folder / "entities.npy", (count,), np.bool_)
        self._tables = {code: _Table.read(self.folder / code, said) for code, said in self._languages.items()}

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the path: another process maps the same folder."""
        return type(self), (self.folder.absolute(),)

    @property
    def _languages(self) -> dict[str, dict[str, int]]:
        return dict(self.header["languages"])

    @property
    def languages(self) -> list[str]:
        """The languages that have phrases."""
        return list(self._languages)

    def __len__(self) -> int:
        """Number of concepts."""
        return len(self._names)

    def find(self, words: Sequence[str], lang: str) -> Iterator[tuple[str, bool, float]]:
        """Yield the concepts of a text in order of mention, whether each is an entity, and its weight.

        Parameters
        ----------
        words : sequence of str
            The lower-case words of the text, without punctuation.
        lang : str
            The language; a language without phrases has no concepts.

        Notes
        -----
        A weight is one more than the logarithm of the number of mentions, times the share of uses of the
        phrase with this meaning.
        """
        table = self._tables.get(lang)
        if table is None or not words:
            return
        counts: Counter[int] = Counter()
        shares: dict[int, float] = {}
        for row in table.rows(words):
            concept = int(table.meanings[row])
            counts[concept] += 1
            shares[concept] = max(shares.get(concept, 0.0), float(table.shares[row]))
        for concept, count in counts.items():
            weight = (1 + log(count)) * shares[concept]
            yield self._names[concept], bool(self._entities[concept]), weight


@dataclass(frozen=True)
class _Table:
    """The phrases of one language."""

    keys: NDArray[np.uint64]
    meanings: NDArray[np.int32]
    shares: NDArray[np.float32]
    bits: NDArray[np.uint8]

    @classmethod
    def read(cls, folder: Path, said: Mapping[str, int]) -> _Table:
        count = (int(said["phrases"]),)
        return cls(
            read_array(folder / "keys.npy", count, np.uint64),
            read_array(folder / "meanings.npy", count, np.int32),
            read_array(folder / "shares.npy", count, np.float32),
            read_array(folder / "filter.npy", (int(said["filter"]),), np.uint8),
        )

    def rows(self, words: Sequence[str]) -> Iterator[int]:
        """Yield the rows of the phrases in a text, longest match first, without overlaps."""
        found = self._longest_matches(words)
        free = 0
        for start in sorted(found):
            if start >= free:
                length, row = found[start]
                free = start + length
                yield row

    def _longest_matches(self, words: Sequence[str]) -> dict[int, tuple[int, int]]:
        """Return the length and row of the longest phrase that begins at each position."""
        codes = np.fromiter(map(_word_hash, words), np.uint64, len(words))
        found: dict[int, tuple[int, int]] = {}
        keys = np.zeros(len(codes), np.uint64)
        for length in range(1, min(MAX_WORDS, len(codes)) + 1):
            keys = _extend_keys(keys[: len(codes) - length + 1], codes[length - 1 :])
            for start in self._bloom_matches(keys).tolist():
                row = int(np.searchsorted(self.keys, keys[start]))
                if row < len(self.keys) and self.keys[row] == keys[start]:
                    found[start] = length, row
        return found

    def _bloom_matches(self, keys: NDArray[np.uint64]) -> NDArray[np.intp]:
        bits = keys & np.uint64(8 * len(self.bits) - 1)
        return np.flatnonzero(self.bits[bits >> np.uint64(3)] >> (bits & np.uint64(7)).astype(np.uint8) & 1)


def write_concepts(
    folder: PathLike, phrases: Mapping[str, Iterable[Phrase]], entities: Iterable[str]
) -> None:
    """Write a concept dictionary.

    Parameters
    ----------
    folder : path
        The folder to make.
    phrases : mapping of str to iterable of Phrase
        The phrases of each language; of several with the same words the one with the largest share is kept.
    entities : iterable of str
        Concepts that are entities.
    """
    best = {code: _best(some) for code, some in phrases.items()}
    names = sorted({one.concept for some in best.values() for one in some.values()})
    number = {name: place for place, name in enumerate(names)}
    of_its_own = set(entities)
    languages: dict[str, Any] = {}
    with new_folder(folder) as place:
        write_strings(place, "names", names)
        write_array(place / "entities.npy", np.array([name in of_its_own for name in names], np.bool_))
        for code, some in best.items():
            (place / check_language(code)).mkdir()
            languages[code] = _write_table(place / code, some, number)
        said = {"format": FORMAT, "version": VERSION, "concepts": len(names), "languages": languages}
        with atomic_write(place / HEADER) as file:
            file.write(json.dumps(said, indent=1).encode())


def _best(phrases: Iterable[Phrase]) -> dict[int, Phrase]:
    found: dict[int, Phrase] = {}
    for one in phrases:
        if 0 < len(one.words) <= MAX_WORDS:
            key = _phrase_key(one.words)
            rank = (one.share, one.concept)
            if key not in found or rank > (found[key].share, found[key].concept):
                found[key] = one
    return found


def _write_table(folder: Path, phrases: Mapping[int, Phrase], number: Mapping[str, int]) -> dict[str, int]:
    keys = np.array(sorted(phrases), np.uint64)
    ordered = [phrases[int(key)] for key in keys]
    size = 1 << max(3, (max(1, len(keys)) * _FILTER_BITS // 8 - 1).bit_length())
    bits = np.zeros(size, np.uint8)
    places = keys & np.uint64(8 * size - 1)
    np.bitwise_or.at(bits, places >> np.uint64(3), np.uint8(1) << (places & np.uint64(7)).astype(np.uint8))
    write_array(folder / "keys.npy", keys)
    write_array(folder / "meanings.npy", np.array([number[one.concept] for one in ordered], np.int32))
    write_array(folder / "shares.npy", np.array([one.share for one in ordered], np.float32))
    write_array(folder / "filter.npy", bits)
    return {"phrases": len(keys), "filter": size}


def _phrase_key(words: Sequence[str]) -> int:
    """Return the hash of a phrase."""
    key = np.zeros(1, np.uint64)
    for word in words:
        key = _extend_keys(key, np.array([_word_hash(word)], np.uint64))
    return int(key[0])


def _extend_keys(keys: NDArray[np.uint64], codes: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return the hashes of phrases that are one word longer."""
    mixed = (keys ^ codes) * _HASH_FACTOR
    return mixed ^ (mixed >> np.uint64(29))


@lru_cache(maxsize=1 << 15)
def _word_hash(word: str) -> int:
    """Return a hash of a word that is the same in every process."""
    return int.from_bytes(hashlib.blake2b(word.encode("utf-8", "replace"), digest_size=8).digest(), "little")


def _read_header(folder: Path) -> dict[str, Any]:
    path = folder / HEADER
    try:
        header = json.loads(path.read_text("utf-8"))
        known = header["format"] == FORMAT and all(language(code) for code in header["languages"])
    except OSError as reason:
        raise CorpusError(
            f"{folder}: is not a concept dictionary: {HEADER} cannot be read ({reason.strerror}); expected "
            "a folder that 'isogloss concepts build' made"
        ) from reason
    except (ValueError, KeyError, TypeError) as reason:
        raise CorpusError(f"{path}: is damaged ({reason}); build the dictionary again") from reason
    if not known or header.get("version") != VERSION:
        raise CorpusError(f"{path}: is of another format or version; build the dictionary again")
    return dict(header)
