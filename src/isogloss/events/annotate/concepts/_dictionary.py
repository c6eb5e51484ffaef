"""Concept dictionary: phrases of many languages and their meanings, memory-mapped from a folder.

::

    FOLDER/concepts.json                     format, version, sizes, word forms of each language
    FOLDER/names.text.npy, names.offsets.npy names of concepts
    FOLDER/entities.npy                      whether each is an entity, such as a person or a town
    FOLDER/LANG/keys.npy                     hashes of the phrases, sorted; one row for each meaning
    FOLDER/LANG/meanings.npy, shares.npy     the concept of each row, and its weight
    FOLDER/LANG/filter.npy                   a Bloom filter of the phrases

Only 64-bit hashes of phrases are stored: two million phrases take 36 MB. Version 1 has one meaning for each
phrase and no word forms.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import log
from pathlib import Path
from typing import Any, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from isogloss.corpora import check_language, new_folder, read_array, read_strings, write_array, write_strings
from isogloss.events.annotate._word_forms import (
    WordForms,
    compound_heads,
    compound_modifiers,
    word_form,
    writes_compounds,
)
from isogloss.events.annotate._words import TokenisedText
from isogloss.exceptions import CorpusError
from isogloss.io import PathLike, atomic_write
from isogloss.text import has_stemmer, language

HEADER = "concepts.json"
FORMAT, VERSION = "isogloss concepts", 2
_READABLE_VERSIONS = (1, VERSION)

MAX_WORDS = 6
"""Maximum length of a phrase in words."""

MAX_MEANINGS = 3
"""Meanings of a phrase that are kept."""

_HASH_FACTOR = 0x9E3779B97F4A7C15
_HASH_SHIFT = 29
_PART_WEIGHT = 0.5**0.5
"""Weight of each of the two parts of a compound."""

_CACHED_PHRASES = 1 << 14
"""Words, and phrases, of a language that are cached."""

_FILTER_BITS = 16
"""Bits of the Bloom filter per phrase; its false positive rate is one in sixteen."""


@dataclass(frozen=True, slots=True)
class ConceptPhrase:
    """A phrase, one of its concepts, and the weight that a mention gives to the concept, at most 1."""

    words: tuple[str, ...]
    concept: str
    weight: float


@dataclass(frozen=True, slots=True)
class PhraseMeanings:
    """Phrases of one language, by their hashes, with a row for each meaning."""

    keys: NDArray[np.uint64]
    """Hashes of the phrases (:func:`phrase_key`), in any order."""
    meanings: NDArray[np.int64]
    """Numbers of concepts."""
    weights: NDArray[np.float64]
    """Weight that a mention gives to the concept."""
    forms: WordForms = "exact"


class Meaning(NamedTuple):
    """A concept that a phrase may mean, whether it is an entity, and the weight that a mention gives it."""

    concept: str
    is_entity: bool
    weight: float


class PhraseMatch(NamedTuple):
    """A phrase in a text: the range of its words, and its meanings."""

    start: int
    end: int
    meanings: tuple[Meaning, ...]


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
    ...     "en": [
    ...         ConceptPhrase(("river", "danube"), "en:Danube", 0.5),
    ...         ConceptPhrase(("flood",), "en:Flood", 0.75),
    ...     ],
    ...     "de": [ConceptPhrase(("donau",), "en:Danube", 1.0)],
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
        self._tables = {
            code: _Table(self.folder / code, header, self._concept)
            for code, header in self._languages.items()
        }

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the path: another process maps the same folder."""
        return type(self), (self.folder.absolute(),)

    @property
    def _languages(self) -> dict[str, dict[str, Any]]:
        return dict(self.header["languages"])

    @property
    def languages(self) -> list[str]:
        """The languages that have phrases."""
        return list(self._languages)

    @property
    def digest(self) -> str:
        """SHA-256 of the header, which has a digest of the phrases and concepts; tells dictionaries apart."""
        return hashlib.sha256(json.dumps(self.header, sort_keys=True).encode()).hexdigest()

    def __len__(self) -> int:
        """Number of concepts."""
        return len(self._names)

    def match(self, words: Sequence[str], lang: str) -> Iterator[PhraseMatch]:
        """Yield the phrases of a text in order: the longest at each position, without overlaps.

        A compound that is no phrase, such as *Erdbebenopfer*, has the meanings of its two parts. The words
        are in lower case, without punctuation; a language without phrases has no matches.
        """
        table = self._tables.get(lang)
        return table.match(words) if table is not None and words else iter(())

    def find(self, words: Sequence[str], lang: str) -> Iterator[tuple[str, bool, float]]:
        """Yield the concepts of a text in order of mention, whether each is an entity, and its weight.

        The words are in lower case, without punctuation; a language without phrases has no concepts.

        Notes
        -----
        A weight is one more than the logarithm of the number of mentions, times the weight of the strongest.
        """
        counts: Counter[tuple[str, bool]] = Counter()
        weights: dict[str, float] = {}
        for found in self.match(words, lang):
            for concept, is_entity, weight in found.meanings:
                counts[concept, is_entity] += 1
                weights[concept] = max(weights.get(concept, 0.0), weight)
        for (concept, is_entity), count in counts.items():
            yield concept, is_entity, (1 + log(count)) * weights[concept]

    def _concept(self, number: int) -> tuple[str, bool]:
        """Return the name of a concept, and whether it is an entity."""
        return self._names[number], bool(self._entities[number])


class _Table:
    """The phrases of one language.

    ``header`` is the part of the header about the language. ``concept`` returns the name of a concept by its
    number, and whether it is an entity.
    """

    def __init__(
        self, folder: Path, header: Mapping[str, Any], concept: Callable[[int], tuple[str, bool]]
    ) -> None:
        count = (int(header.get("rows", header["phrases"])),)
        self.lang = folder.name
        self.forms = _read_forms(folder, header)
        self.keys = read_array(folder / "keys.npy", count, np.uint64).view(np.ndarray)
        self.numbers = read_array(folder / "meanings.npy", count, np.int32).view(np.ndarray)
        self.weights = read_array(folder / "shares.npy", count, np.float32).view(np.ndarray)
        self.bits = read_array(folder / "filter.npy", (int(header["filter"]),), np.uint8).view(np.ndarray)
        self._concept = concept
        self._hash = lru_cache(_CACHED_PHRASES)(self._compute_hash)
        self._meanings = lru_cache(_CACHED_PHRASES)(self._read_meanings)
        self._part_meanings = lru_cache(_CACHED_PHRASES)(self._find_part_meanings)

    def match(self, words: Sequence[str]) -> Iterator[PhraseMatch]:
        """Yield the phrases of a text; see :meth:`ConceptDictionary.match`."""
        found = self._longest_matches(words)
        has_compounds = self.forms != "exact" and writes_compounds(self.lang)
        free = 0
        for start, word in enumerate(words):
            if start < free:
                continue
            if start in found:
                length, row = found[start]
                free = start + length
                yield PhraseMatch(start, free, self._meanings(row))
            elif has_compounds and (parts := self._part_meanings(word)):
                yield PhraseMatch(start, start + 1, parts)

    def _compute_hash(self, word: str) -> int:
        return _form_hash(word, self.lang, self.forms)

    def _read_meanings(self, first: int) -> tuple[Meaning, ...]:
        """Return the meanings of the phrase that begins at a row."""
        end = int(np.searchsorted(self.keys, self.keys[first], side="right"))
        return tuple(
            Meaning(*self._concept(int(self.numbers[row])), float(self.weights[row]))
            for row in range(first, end)
        )

    def _find_part_meanings(self, word: str) -> tuple[Meaning, ...]:
        """Return the meanings of the two parts of a compound; none if a part is no phrase."""
        for first, last in compound_heads(word, self.lang, self.forms):
            if head := self._form_meanings(last):
                for form in compound_modifiers(first, self.lang, self.forms):
                    if modifier := self._form_meanings(form):
                        parts = modifier + head
                        return tuple(one._replace(weight=_PART_WEIGHT * one.weight) for one in parts)
        return ()

    def _form_meanings(self, form: str) -> tuple[Meaning, ...]:
        key = np.uint64(phrase_key([form]))
        row = int(np.searchsorted(self.keys, key))
        return self._meanings(row) if row < len(self.keys) and self.keys[row] == key else ()

    def _longest_matches(self, words: Sequence[str]) -> dict[int, tuple[int, int]]:
        """Return the length and the first row of the longest phrase that begins at each position."""
        codes = np.fromiter(map(self._hash, words), np.uint64, len(words))
        found: dict[int, tuple[int, int]] = {}
        keys = np.zeros(len(codes), np.uint64)
        for length in range(1, min(MAX_WORDS, len(codes)) + 1):
            keys = _extend_keys(keys[: len(codes) - length + 1], codes[length - 1 :])
            likely = self._bloom_matches(keys)
            rows = np.searchsorted(self.keys, keys[likely])
            present = self.keys[np.minimum(rows, len(self.keys) - 1)] == keys[likely]
            pairs = zip(likely[present].tolist(), rows[present].tolist(), strict=True)
            found.update((start, (length, row)) for start, row in pairs)
        return found

    def _bloom_matches(self, keys: NDArray[np.uint64]) -> NDArray[np.intp]:
        bits = keys & np.uint64(8 * len(self.bits) - 1)
        return np.flatnonzero(self.bits[bits >> np.uint64(3)] >> (bits & np.uint64(7)).astype(np.uint8) & 1)


def _read_forms(folder: Path, header: Mapping[str, Any]) -> WordForms:
    """Return the word forms of a language; they must be known, and Snowball must have them."""
    forms: WordForms = header.get("forms", "exact")
    if forms not in get_args(WordForms):
        raise CorpusError(
            f"{folder.parent / HEADER}: forms of {folder.name} are {forms!r}; expected "
            f"{', '.join(get_args(WordForms))}: build the dictionary again"
        )
    if forms == "snowball" and not has_stemmer(folder.name):
        raise CorpusError(
            f"{folder}: has stems, and the installed snowballstemmer has no stemmer for {folder.name!r}; "
            "update snowballstemmer, or build the dictionary again"
        )
    return forms


def write_concepts(
    folder: PathLike, phrases: Mapping[str, Iterable[ConceptPhrase]], entities: Iterable[str]
) -> None:
    """Write a concept dictionary.

    Of more than three phrases with the same words those with the largest weights are kept.
    """
    number: dict[str, int] = {}
    tables = {}
    for code, some in phrases.items():
        rows: dict[tuple[int, int], float] = {}
        for one in some:
            if 0 < len(one.words) <= MAX_WORDS:
                row = phrase_key(one.words), number.setdefault(one.concept, len(number))
                rows[row] = max(rows.get(row, 0.0), one.weight)
        tables[code] = PhraseMeanings(
            np.array([key for key, _ in rows], np.uint64),
            np.array([meaning for _, meaning in rows], np.int64),
            np.array(list(rows.values()), np.float64),
        )
    write_meanings(folder, list(number), entities, tables)


def write_meanings(
    folder: PathLike, names: Sequence[str], entities: Iterable[str], tables: Mapping[str, PhraseMeanings]
) -> None:
    """Write a concept dictionary from arrays.

    Names are those of the concepts, by number; those without a phrase are left out.
    """
    strongest = {code: _strongest_meanings(table) for code, table in tables.items()}
    numbers = {int(one) for table in strongest.values() for one in np.unique(table.meanings)}
    used = sorted(numbers, key=names.__getitem__)
    renumbered = np.zeros(len(names), np.int32)
    renumbered[used] = np.arange(len(used))
    of_its_own = set(entities)
    languages: dict[str, Any] = {}
    with new_folder(folder) as place:
        write_strings(place, "names", [names[number] for number in used])
        is_entity = [names[number] in of_its_own for number in used]
        write_array(place / "entities.npy", np.array(is_entity, np.bool_))
        for code, table in strongest.items():
            (place / check_language(code)).mkdir()
            languages[code] = _write_table(place / code, table, renumbered)
        header = {"format": FORMAT, "version": VERSION, "concepts": len(used), "languages": languages}
        header["digest"] = _digest(place)
        with atomic_write(place / HEADER) as file:
            file.write(json.dumps(header, indent=1).encode())


def _strongest_meanings(table: PhraseMeanings) -> PhraseMeanings:
    """Return the rows with the largest weights of each phrase, sorted by phrase and weight."""
    order = np.lexsort((table.meanings, -table.weights, table.keys))
    keys, meanings = table.keys[order], table.meanings[order]
    first = np.searchsorted(keys, keys)
    kept = np.arange(len(keys)) - first < MAX_MEANINGS
    return PhraseMeanings(keys[kept], meanings[kept], table.weights[order][kept], table.forms)


def _write_table(folder: Path, table: PhraseMeanings, renumbered: NDArray[np.int32]) -> dict[str, Any]:
    """Write the arrays of a language; return what the header says of them."""
    keys = table.keys
    size = 1 << max(3, (max(1, len(keys)) * _FILTER_BITS // 8 - 1).bit_length())
    bits = np.zeros(size, np.uint8)
    places = keys & np.uint64(8 * size - 1)
    np.bitwise_or.at(bits, places >> np.uint64(3), np.uint8(1) << (places & np.uint64(7)).astype(np.uint8))
    write_array(folder / "keys.npy", keys)
    write_array(folder / "meanings.npy", renumbered[table.meanings])
    write_array(folder / "shares.npy", table.weights.astype(np.float32))
    write_array(folder / "filter.npy", bits)
    return {"phrases": len(np.unique(keys)), "rows": len(keys), "filter": size, "forms": table.forms}


def _digest(folder: Path) -> str:
    """Return the SHA-256 of the names and contents of the arrays in a folder."""
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*.npy")):
        digest.update(path.relative_to(folder).as_posix().encode())
        with path.open("rb") as file:
            digest.update(hashlib.file_digest(file, "sha256").digest())
    return digest.hexdigest()


def phrase_key(words: Iterable[str], lang: str = "", forms: WordForms = "exact") -> int:
    """Return the hash of a phrase."""
    key = 0
    for word in words:
        key = (key ^ _form_hash(word, lang, forms)) * _HASH_FACTOR & 0xFFFF_FFFF_FFFF_FFFF
        key ^= key >> _HASH_SHIFT
    return key


def _extend_keys(keys: NDArray[np.uint64], codes: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return the hashes of phrases that are one word longer."""
    mixed = (keys ^ codes) * np.uint64(_HASH_FACTOR)
    return mixed ^ (mixed >> np.uint64(_HASH_SHIFT))


def _form_hash(word: str, lang: str, forms: WordForms) -> int:
    """Return a hash of the form of a word that is the same in every process."""
    form = word_form(word, lang, forms) if forms != "exact" else word
    return int.from_bytes(hashlib.blake2b(form.encode("utf-8", "replace"), digest_size=8).digest(), "little")


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
    if not known or header.get("version") not in _READABLE_VERSIONS:
        raise CorpusError(f"{path}: is of another format or version; build the dictionary again")
    return dict(header)
