r"""Comparable corpora: documents about the same subjects in several languages, as word counts.

A row is one thing, such as the subject of an encyclopedia article; a language has documents for some of the
rows. Each language has one sparse matrix of word counts, with a line for each row that the language *has*, in
the order of the rows:

.. math:: X_\ell \in \mathbb{N}^{n_\ell \times p_\ell}, \qquad n_\ell = \#\{i : \ell \text{ has row } i\}.
"""

from __future__ import annotations

import abc
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state

from isogloss.corpora._summary import CorpusSummary, summarise
from isogloss.views import Matrix, Views

Settings: TypeAlias = dict[str, Any] | None
"""The settings of a tokeniser as JSON; None if it does not expose them."""

Weighting: TypeAlias = Callable[[Any, str], Matrix]
"""Maps the counts and the code of a language to the matrix that a model learns from."""


class Corpus(abc.ABC):
    """Documents in several languages, any of which a row may lack.

    Attributes
    ----------
    languages : tuple of str
        Codes of the languages.
    ids : sequence of str
        Name of each row.
    presence : array of bool, shape (n_rows, n_languages)
        Whether a row has a document in a language.
    """

    languages: tuple[str, ...]
    ids: Sequence[str]
    presence: NDArray[np.bool_]

    @abc.abstractmethod
    def matrix(self, language: str) -> Any:
        """Word counts, CSR of float32: a line for each row that has the language, a column for each word."""

    @abc.abstractmethod
    def vocabulary(self, language: str) -> Sequence[str]:
        """The words of the columns."""

    @abc.abstractmethod
    def titles(self, language: str) -> Sequence[str]:
        """Titles of the documents, one for each line of the matrix; empty where there is none."""

    @abc.abstractmethod
    def tokeniser(self, language: str) -> Settings:
        """Settings of the tokeniser that made the counts."""

    def __len__(self) -> int:
        return len(self.presence)

    def __repr__(self) -> str:
        sizes = zip(self.languages, self.presence.sum(axis=0).tolist(), strict=True)
        counts = ", ".join(f"{language} {size:,}" for language, size in sizes)
        return f"{type(self).__name__}({len(self):,} rows; {counts})"

    def index(self, language: str) -> int:
        """Return the position of a language."""
        if language not in self.languages:
            raise ValueError(f"no language {language!r}; the corpus has {', '.join(self.languages)}")
        return self.languages.index(language)

    def rows(self, languages: str | Iterable[str]) -> NDArray[np.int64]:
        """Return the rows that have all of some languages.

        For one language, these are the rows of the lines of its matrix.
        """
        asked = [languages] if isinstance(languages, str) else list(languages)
        columns = [self.index(language) for language in asked]
        return np.flatnonzero(self.presence[:, columns].all(axis=1))

    def pair_sizes(self) -> NDArray[np.int64]:
        """Return the number of rows that each pair of languages shares; the diagonal counts documents."""
        here = self.presence.astype(np.float64)
        return np.rint(here.T @ here).astype(np.int64)

    def info(
        self, *, hub: str | None = None, max_rows: int = 1000, random_state: int | None = 0
    ) -> CorpusSummary:
        """Return the sizes of all pairs of languages, and rank ratios with a hub; see :func:`summarise`."""
        return summarise(self, hub=hub, max_rows=max_rows, random_state=random_state)

    def select(self, rows: ArrayLike | None = None, languages: Sequence[str] | None = None) -> Selection:
        """Select rows and languages, in the given order, without copying."""
        return Selection(self, rows, languages)

    def split(
        self, test: float | int = 0.1, *, pairs: Iterable[tuple[str, str]] = (), random_state: int | None = 0
    ) -> tuple[Selection, Selection]:
        """Split the rows into training and test rows.

        Parameters
        ----------
        test : float or int
            Share or number of test rows, drawn at random. Not used with ``pairs``.
        pairs : iterable of (str, str)
            Pairs of languages without a common training row: the test rows are those with both languages
            of one of the pairs.
        random_state : int or None
            Seed of the random numbers.

        Returns
        -------
        train, test : Selection
            In the order of the rows.
        """
        withheld = list(pairs)
        chosen = self._with_a_pair(withheld) if withheld else self._drawn(test, random_state)
        if not 0 < chosen.sum() < len(self):
            raise ValueError(
                f"{chosen.sum()} of {len(self)} rows would be for testing; expected some, and some left to "
                "learn from: ask for another share, or for other pairs"
            )
        return self.select(np.flatnonzero(~chosen)), self.select(np.flatnonzero(chosen))

    def _with_a_pair(self, pairs: list[tuple[str, str]]) -> NDArray[np.bool_]:
        chosen = np.zeros(len(self), dtype=bool)
        for pair in pairs:
            chosen[self.rows(pair)] = True
        return chosen

    def _drawn(self, test: float | int, random_state: int | None) -> NDArray[np.bool_]:
        share = isinstance(test, float)
        if test <= 0 or (share and test >= 1):
            raise ValueError(f"test={test}; expected a share between 0 and 1, or a number of rows")
        number = round(test * len(self)) if share else int(test)
        chosen = np.zeros(len(self), dtype=bool)
        chosen[check_random_state(random_state).permutation(len(self))[:number]] = True
        return chosen

    def views(self, weighting: Weighting | None = None, languages: Sequence[str] | None = None) -> Views:
        """Return the corpus as :class:`~isogloss.views.Views`, one view for each language.

        Parameters
        ----------
        weighting : callable, optional
            ``weighting(counts, language)`` returns the matrix to use, with the same lines; by default the
            counts themselves.
        languages : sequence of str, optional
            All by default.
        """
        names = list(self.languages if languages is None else languages)
        present = self.presence[:, [self.index(name) for name in names]]
        weigh = weighting or (lambda counts, language: counts)
        return Views({name: weigh(self.matrix(name), name) for name in names}, present=present, ids=self.ids)

    def without_shared_words(self) -> WordSelection:
        """Return the same rows without the words that two languages have in common.

        Names, numbers and loan words match translations without any learning; without them, matches show
        what a model has learned.
        """
        seen: set[str] = set()
        shared: set[str] = set()
        for language in self.languages:
            words = set(self.vocabulary(language))
            shared |= seen & words
            seen |= words
        return WordSelection(
            self,
            {
                language: np.array([word not in shared for word in self.vocabulary(language)], dtype=bool)
                for language in self.languages
            },
        )


class Selection(Corpus):
    """A selection of rows and languages of a corpus; see :meth:`Corpus.select`."""

    def __init__(self, corpus: Corpus, rows: ArrayLike | None, languages: Sequence[str] | None) -> None:
        self._corpus = corpus
        self._chosen = _row_numbers(rows, len(corpus))
        self.languages = corpus.languages if languages is None else tuple(languages)
        columns = [corpus.index(language) for language in self.languages]
        if len(set(columns)) != len(columns):
            raise ValueError(f"languages={self.languages}; expected each of them once")
        self.presence = corpus.presence[self._chosen][:, columns]
        self.ids = [corpus.ids[row] for row in self._chosen.tolist()]

    def _lines(self, language: str) -> NDArray[np.int64]:
        """Return the positions of the selected rows in the matrix of a language."""
        self.index(language)
        has = self._corpus.presence[:, self._corpus.index(language)]
        return (np.cumsum(has) - 1)[self._chosen[has[self._chosen]]]

    def matrix(self, language: str) -> Any:
        """Return a copy of the word counts of the selected rows."""
        return self._corpus.matrix(language)[self._lines(language)]

    def vocabulary(self, language: str) -> Sequence[str]:
        """Return the words of the columns, including those that the selected rows lack."""
        self.index(language)
        return self._corpus.vocabulary(language)

    def titles(self, language: str) -> Sequence[str]:
        """Return the titles of the selected documents."""
        titles = self._corpus.titles(language)
        return [titles[line] for line in self._lines(language).tolist()]

    def tokeniser(self, language: str) -> Settings:
        """Settings of the tokeniser that made the counts."""
        return self._corpus.tokeniser(language)


class WordSelection(Corpus):
    """All rows of a corpus with some of its words; see :meth:`Corpus.without_shared_words`."""

    def __init__(self, corpus: Corpus, kept: dict[str, NDArray[np.bool_]]) -> None:
        self._corpus, self._kept = corpus, kept
        self.languages, self.ids, self.presence = corpus.languages, corpus.ids, corpus.presence

    def matrix(self, language: str) -> Any:
        """Return a copy of the counts of the kept words."""
        return self._corpus.matrix(language)[:, np.flatnonzero(self._kept[language])]

    def vocabulary(self, language: str) -> Sequence[str]:
        """Return the kept words."""
        words = zip(self._corpus.vocabulary(language), self._kept[language], strict=True)
        return [word for word, kept in words if kept]

    def titles(self, language: str) -> Sequence[str]:
        """Titles of the documents."""
        return self._corpus.titles(language)

    def tokeniser(self, language: str) -> Settings:
        """Settings of the tokeniser that made the counts."""
        return self._corpus.tokeniser(language)


def _row_numbers(rows: ArrayLike | None, n: int) -> NDArray[np.int64]:
    """Return row numbers for rows given as numbers, as a mask, or not at all."""
    if rows is None:
        return np.arange(n)
    chosen = np.atleast_1d(np.asarray(rows))
    if chosen.size == 0 and chosen.dtype.kind != "b":
        return np.zeros(0, dtype=np.int64)
    if chosen.ndim != 1 or chosen.dtype.kind not in "biu":
        raise TypeError(f"rows has shape {chosen.shape} and dtype {chosen.dtype}; expected numbers or a mask")
    numbers: NDArray[np.int64] = np.arange(n)[chosen]
    if len(np.unique(numbers)) != len(numbers):
        raise ValueError(
            f"{len(numbers) - len(np.unique(numbers))} rows are chosen again; expected each once"
        )
    return numbers
