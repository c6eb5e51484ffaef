"""In how many documents each word occurs: counts that stream, merge and forget."""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from isogloss.stats import Counts


class DocumentFrequencies:
    """The documents that contain each word, and the occurrences of each word.

    Integer sums: any order and any tree of merges give the same to the bit, and what was added can be
    taken away again.

    Attributes
    ----------
    documents : Counts
        Number of documents that contain a word; ``documents.batches`` is the number of documents.
    occurrences : Counts
        Number of occurrences of a word.

    Examples
    --------
    >>> seen = DocumentFrequencies().update(["a", "rose", "is", "a", "rose"]).update(["a", "name"])
    >>> seen.n_documents, seen["a"], seen["rose"], seen.occurrences["rose"]
    (2, 2, 1, 2)
    >>> seen.subtract(DocumentFrequencies().update(["a", "name"])).n_documents
    1
    """

    def __init__(self) -> None:
        self.documents = Counts()
        self.occurrences = Counts()

    def update(self, words: Iterable[str]) -> Self:
        """Count the words of one document."""
        return self.update_many([words])

    def update_many(self, documents: Iterable[Iterable[str]]) -> Self:
        """Count the words of several documents, much faster than one by one."""
        bags = [words if isinstance(words, str) else list(words) for words in documents]
        if any(isinstance(words, str) for words in bags):
            raise TypeError("got a text as the words of a document; a Tokeniser makes words of it")
        self.occurrences.update(chain.from_iterable(bags))
        self.documents.update(chain.from_iterable(map(set, bags)))
        self.documents.batches += len(bags) - 1
        self.occurrences.batches = self.documents.batches
        return self

    def merge(self, other: DocumentFrequencies) -> Self:
        """Add what ``other`` has counted."""
        self.documents.merge(other.documents)
        self.occurrences.merge(other.occurrences)
        return self

    def subtract(self, other: DocumentFrequencies) -> Self:
        """Take back what ``other`` has counted; all of it must have been counted here."""
        self.occurrences.subtract(other.occurrences)
        self.documents.subtract(other.documents)
        return self

    @property
    def n_documents(self) -> int:
        """Number of documents, empty ones included."""
        return self.documents.batches

    def of(self, words: Sequence[str]) -> NDArray[np.int64]:
        """The document frequencies of words, 0 for words that were never seen."""
        return np.array([self.documents[word] for word in words], dtype=np.int64)

    def __getitem__(self, word: str) -> int:
        return self.documents[word]

    def __len__(self) -> int:
        return len(self.documents)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DocumentFrequencies) and (self.documents, self.occurrences) == (
            other.documents,
            other.occurrences,
        )

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"DocumentFrequencies({len(self)} words, {self.n_documents} documents)"

    def arrays(self) -> dict[str, NDArray[Any]]:
        """The whole state as named arrays."""
        parts = {"documents": self.documents, "occurrences": self.occurrences}
        return {f"{part}.{key}": array for part in parts for key, array in parts[part].arrays().items()}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Self:
        """The frequencies that gave these arrays."""
        out = cls()
        out.documents, out.occurrences = (
            Counts.from_arrays({key: arrays[f"{part}.{key}"] for key in ("keys", "values", "batches")})
            for part in ("documents", "occurrences")
        )
        return out


class FrequencyWindow:
    """Document frequencies of the last days of a stream; what is older is subtracted.

    Memory: the words of every day in the window, and of all of them together.

    Parameters
    ----------
    days : int
        Length of the window, the latest day included.

    Attributes
    ----------
    total : DocumentFrequencies
        The frequencies in the window.
    latest : datetime.date or None
        The latest day seen.

    Examples
    --------
    >>> from datetime import date
    >>> window = FrequencyWindow(days=2)
    >>> for day, word in enumerate(["storm", "flood", "relief"], start=1):
    ...     _ = window.update(["news", word], date(2024, 5, day))
    >>> window.total["news"], window.total["storm"], window.latest
    (2, 0, datetime.date(2024, 5, 3))
    """

    def __init__(self, days: int = 10) -> None:
        if not isinstance(days, int) or days < 1:
            raise ValueError(f"got days={days!r:.40}; expected a whole number of days from 1 on")
        self.days = days
        self.total = DocumentFrequencies()
        self._by_day: dict[int, DocumentFrequencies] = {}
        self._latest = 0

    @property
    def latest(self) -> datetime.date | None:
        """The day on which the window ends, None before the first."""
        return datetime.date.fromordinal(self._latest) if self._latest else None

    def update(self, words: Iterable[str], day: datetime.date) -> Self:
        """Count one document; a later day than all before moves the window, one before it is not counted.

        The window moves to any day it is given: check dates from outside first, because one document
        from the far future empties it.
        """
        self.advance(day)
        if _ordinal(day) > self._latest - self.days:
            one = DocumentFrequencies().update(words)
            self._by_day.setdefault(_ordinal(day), DocumentFrequencies()).merge(one)
            self.total.merge(one)
        return self

    def advance(self, day: datetime.date) -> Self:
        """Move the window to end on ``day`` and forget the days that leave it; it never moves back."""
        self._latest = max(self._latest, _ordinal(day))
        for old in [one for one in self._by_day if one <= self._latest - self.days]:
            self.total.subtract(self._by_day.pop(old))
        return self

    def arrays(self) -> dict[str, NDArray[Any]]:
        """The whole state as named arrays."""
        days = sorted(self._by_day)
        parts = {f"{day}.{key}": array for day in days for key, array in self._by_day[day].arrays().items()}
        return {"days": np.array([self.days, self._latest, *days], dtype=np.int64), **parts}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Self:
        """The window that gave these arrays."""
        length, latest, *days = arrays["days"].tolist()
        out = cls(length)
        out._latest = latest
        for day in days:
            own = {key.partition(".")[2]: arrays[key] for key in arrays if key.startswith(f"{day}.")}
            out._by_day[day] = DocumentFrequencies.from_arrays(own)
            out.total.merge(out._by_day[day])
        return out


def _ordinal(day: object) -> int:
    if not isinstance(day, datetime.date):
        raise TypeError(f"got {day!r:.40} as a day; expected a datetime.date")
    return day.toordinal()
