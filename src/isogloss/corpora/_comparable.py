"""Comparable corpora held in memory, and mapped from a folder."""

from __future__ import annotations

import dataclasses
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from isogloss.corpora import _storage as storage
from isogloss.corpora._base import Corpus, Settings
from isogloss.corpora._counting import in_order
from isogloss.exceptions import CorpusError
from isogloss.io import PathLike

ROWS_PER_COPY = 10_000
"""Lines of a matrix that are copied at a time."""

Tokenise: TypeAlias = Callable[[str], Sequence[str]]
"""Returns the words of a text."""


class InMemoryCorpus(Corpus):
    """A comparable corpus of texts in memory, counted at once.

    Parameters
    ----------
    texts : mapping of str to sequence of str or None
        One text per row for each language; None where a row lacks the language.
    tokenise : callable, or mapping of str to callable
        Returns the words of a text; one for all languages, or one for each.
    ids : sequence of str, optional
        Names of the rows; by default their numbers from 0.
    titles : mapping of str to sequence of str or None, optional
        Titles in the shape of ``texts``.

    Examples
    --------
    >>> corpus = InMemoryCorpus(
    ...     {"en": ["the old house", "a cat"], "de": ["das alte haus", None]}, tokenise=str.split
    ... )
    >>> corpus
    InMemoryCorpus(2 rows; en 2, de 1)
    >>> corpus.presence.tolist(), list(corpus.vocabulary("de"))
    ([[True, True], [True, False]], ['alte', 'das', 'haus'])
    >>> corpus.matrix("en").shape, corpus.rows(["en", "de"]).tolist()
    ((2, 5), [0])
    """

    def __init__(
        self,
        texts: Mapping[str, Sequence[str | None]],
        tokenise: Tokenise | Mapping[str, Tokenise],
        *,
        ids: Sequence[str] | None = None,
        titles: Mapping[str, Sequence[str | None]] | None = None,
    ) -> None:
        n = _common_length(texts)
        self.languages = tuple(texts)
        self.ids = _check_ids(ids, n)
        self.presence = np.array([[text is not None for text in texts[k]] for k in texts], dtype=bool).T
        given = titles or {}
        self._titles = {
            language: [
                title or ""
                for title, text in zip(given.get(language, [None] * n), texts[language], strict=True)
                if text is not None
            ]
            for language in texts
        }
        self._settings, self._counts = {}, {}
        for language in texts:
            tokeniser = tokeniser_for(tokenise, language)
            self._settings[language] = settings_of(tokeniser)
            self._counts[language] = in_order(tokeniser(text) for text in texts[language] if text is not None)

    def matrix(self, language: str) -> Any:
        """Word counts, CSR of float32: a line for each row that has the language, a column for each word."""
        self.index(language)
        return self._counts[language][0]

    def vocabulary(self, language: str) -> Sequence[str]:
        """The words of the columns, sorted."""
        self.index(language)
        return self._counts[language][1]

    def titles(self, language: str) -> Sequence[str]:
        """Titles of the documents."""
        self.index(language)
        return self._titles[language]

    def tokeniser(self, language: str) -> Settings:
        """Settings of the tokeniser that made the counts."""
        self.index(language)
        return self._settings[language]


class ComparableCorpus(Corpus):
    """A comparable corpus in a folder, memory-mapped: opening it takes no time, whatever its size.

    Created by :func:`isogloss.corpora.build_corpus` and :func:`save_corpus`. Counts, words, ids and titles
    are mapped from files: a matrix is read when a model uses it, and the system may free that memory.

    Parameters
    ----------
    folder : path
        The folder of the corpus.

    Attributes
    ----------
    header : dict
        Description of the corpus: for each language the numbers of documents, words and counts, the
        settings of the tokeniser and a report of what was read.

    Examples
    --------
    >>> small = InMemoryCorpus({"en": ["the old house"], "de": ["das alte haus"]}, tokenise=str.split)
    >>> save_corpus(small, "corpus")
    >>> ComparableCorpus("corpus").matrix("de").toarray().tolist()
    [[1.0, 1.0, 1.0]]
    """

    def __init__(self, folder: PathLike) -> None:
        self.folder = Path(folder)
        self.header = storage.read_header(self.folder)
        try:
            self.languages = tuple(self.header["languages"])
            n = int(self.header["rows"])
        except (KeyError, TypeError, ValueError) as reason:
            raise CorpusError(
                f"{self.folder / storage.HEADER}: is damaged; build the corpus again"
            ) from reason
        self.presence = storage.read_array(self.folder / "presence.npy", (n, len(self.languages)), np.bool_)
        self.ids = storage.read_strings(self.folder, "ids", n)

    def _of(self, language: str) -> tuple[Path, dict[str, Any]]:
        """Return the folder and the description of a language."""
        self.index(language)
        return self.folder / storage.check_language(language), self.header["languages"][language]

    def matrix(self, language: str) -> Any:
        """Word counts, CSR of float32, mapped: a line for each row that has the language."""
        folder, info = self._of(language)
        return storage.read_counts(folder, info["documents"], info["words"])

    def vocabulary(self, language: str) -> Sequence[str]:
        """The words of the columns, sorted."""
        folder, info = self._of(language)
        return storage.read_strings(folder, "words", info["words"])

    def titles(self, language: str) -> Sequence[str]:
        """Titles of the documents."""
        folder, info = self._of(language)
        return storage.read_strings(folder, "titles", info["documents"])

    def tokeniser(self, language: str) -> Settings:
        """Settings of the tokeniser that made the counts."""
        settings: Settings = self._of(language)[1]["tokeniser"]
        return settings

    def check(self) -> None:
        """Read and check every file; the error names a damaged one."""
        for language, has in zip(self.languages, self.presence.sum(axis=0).tolist(), strict=True):
            folder, info = self._of(language)
            if has != info["documents"]:
                raise CorpusError(
                    f"{self.folder}: {has} rows have {language!r}, which has {info['documents']} documents; "
                    "build the corpus again"
                )
            _check_counts(self.matrix(language), folder)
            for strings in (self.vocabulary(language), self.titles(language), self.ids):
                _check_strings(strings, folder)


def save_corpus(corpus: Corpus, folder: PathLike) -> None:
    """Write a corpus, or a selection of one, to a new folder."""
    with storage.new_folder(folder) as place:
        languages = {language: _save_language(corpus, language, place) for language in corpus.languages}
        storage.write_array(place / "presence.npy", np.ascontiguousarray(corpus.presence))
        storage.write_strings(place, "ids", corpus.ids)
        storage.write_header(place, {"rows": len(corpus), "languages": languages})


def _save_language(corpus: Corpus, language: str, place: Path) -> dict[str, Any]:
    folder = place / storage.check_language(language)
    folder.mkdir()
    counts = corpus.matrix(language)
    writer = storage.CountsWriter(folder, np.diff(counts.indptr))
    for first in range(0, counts.shape[0], ROWS_PER_COPY):
        part = counts[first : first + ROWS_PER_COPY]
        writer.put(np.arange(first, first + part.shape[0]), part)
    writer.close()
    storage.write_strings(folder, "words", corpus.vocabulary(language))
    storage.write_strings(folder, "titles", corpus.titles(language))
    return {
        "documents": counts.shape[0],
        "words": counts.shape[1],
        "entries": int(counts.nnz),
        "tokeniser": corpus.tokeniser(language),
    }


def settings_of(tokenise: Tokenise) -> Settings:
    """Return the settings of a tokeniser: the fields of a dataclass, None for anything else.

    Examples
    --------
    >>> settings_of(str.split) is None
    True
    """
    if dataclasses.is_dataclass(tokenise) and not isinstance(tokenise, type):
        return dataclasses.asdict(tokenise)
    return None


def tokeniser_for(tokenise: Tokenise | Mapping[str, Tokenise], language: str) -> Tokenise:
    """Return the tokeniser of a language, given one for all or one for each."""
    if not isinstance(tokenise, Mapping):
        return tokenise
    if language not in tokenise:
        raise ValueError(f"no tokeniser for {language!r}; there are tokenisers for {', '.join(tokenise)}")
    return tokenise[language]


def _common_length(texts: Mapping[str, Sequence[str | None]]) -> int:
    if not texts:
        raise ValueError("no texts given; expected at least one language with its texts")
    lengths = {language: len(column) for language, column in texts.items()}
    if len(set(lengths.values())) > 1:
        raise ValueError(f"unequal numbers of rows: {lengths}; put None where a row lacks the language")
    return next(iter(lengths.values()))


def _check_ids(ids: Sequence[str] | None, n: int) -> list[str]:
    names = [str(row) for row in range(n)] if ids is None else list(ids)
    if len(names) != n or len(set(names)) != n:
        raise ValueError(f"{len(names)} ids, {len(set(names))} of them different, for {n} rows")
    return names


def _check_counts(counts: Any, folder: Path) -> None:
    lengths = np.diff(counts.indptr)
    sound = counts.indptr[0] == 0 and (lengths >= 0).all()
    if sound and counts.nnz:
        sound = counts.indices.min() >= 0 and counts.indices.max() < counts.shape[1] and counts.data.min() > 0
        inside = np.ones(counts.nnz, dtype=bool)
        inside[counts.indptr[:-1][lengths > 0]] = False
        sound = sound and (np.diff(counts.indices, prepend=-1) > 0)[inside].all()
    if not sound:
        raise CorpusError(f"{folder}: the counts are damaged; build the corpus again")


def _check_strings(strings: Sequence[str], folder: Path) -> None:
    try:
        deque(strings, maxlen=0)
    except UnicodeDecodeError as reason:
        raise CorpusError(
            f"{folder}: the text of words, titles or ids is damaged; build the corpus again"
        ) from reason
