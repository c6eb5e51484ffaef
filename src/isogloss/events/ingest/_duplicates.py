r"""Near-duplicates: one text that several sources print, with small changes or none.

A text is the set of its sequences of three words. The similarity of two texts is the Jaccard index of their
sets, which MinHash [1]_ estimates: of ``n`` random orders of all sequences, the share in which both sets have
the same first one. Signatures are cut into bands of a few orders; texts that agree in a band are compared, so
that no more than a handful of comparisons are made however large the window is.

References
----------
.. [1] A. Broder, *On the resemblance and containment of documents*, Compression and Complexity of Sequences,
   1997.
"""

from __future__ import annotations

import unicodedata
from datetime import timedelta
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isogloss.events.article import Article
from isogloss.kernels import find_copy, min_hashes
from isogloss.linalg import check_count

__all__ = ["DuplicateIndex", "fingerprint"]

_MAX_CHARS = 20_000
"""Characters that are looked at."""

_N_BANDS, _ROWS_PER_BAND = 20, 3
_N_HASHES = _N_BANDS * _ROWS_PER_BAND
_UNSPACED = (
    (0x3041, 0x30FF),
    (0x3400, 0x4DBF),
    (0x4E00, 0x9FFF),
    (0xE01, 0xE4E),
    (0x1000, 0x103F),
    (0x1780, 0x17D3),
)
"""First and last letters of Japanese, Chinese, Thai, Burmese and Khmer."""

_IN_WORD, _WORD_ALONE = 1, 2


class DuplicateIndex:
    """Texts that were seen in a sliding window; tells of a new one whether it is one of them again.

    Parameters
    ----------
    threshold : float
        The least similarity of a duplicate. A reprint in which every tenth word is another has .57;
        different articles on one event have less than .2.
    within : timedelta
        The longest time between a text and its duplicates.
    capacity : int
        Texts that are remembered; the oldest make room.

    Notes
    -----
    Memory is about 700 bytes for each text of the window, taken as it fills. The cost of a text does not
    depend on the window. A text is compared with those that were first, not with their duplicates, so a
    chain of small changes does not join what is different. Results depend on the texts, their times and
    their order only.

    Examples
    --------
    >>> from datetime import UTC, datetime
    >>> text = "Two people were hurt when a storm tore roofs off houses near the harbour on Monday night"
    >>> def article(key, body):
    ...     return Article(key, "en", "Storm", body, datetime(2031, 3, 5, tzinfo=UTC))
    >>> seen = DuplicateIndex()
    >>> seen.find(article("a", text)), seen.find(article("b", f"{text}, police said."))
    (None, 'a')
    >>> seen.find(article("c", "The parliament has voted on the budget for the next year after long talks"))
    """

    def __init__(
        self, threshold: float = 0.5, *, within: timedelta = timedelta(days=4), capacity: int = 200_000
    ) -> None:
        if not 0 < threshold <= 1:
            raise ValueError(f"threshold={threshold}; expected a similarity above 0 and at most 1")
        check_count(capacity, "capacity", 1, 1 << 26, "texts that are remembered")
        self.threshold, self.within, self.capacity = threshold, within, capacity
        self._ids: list[str] = []
        self._seen = 0
        self._fingerprints = np.zeros((capacity, _N_HASHES), np.uint32)
        self._times = np.zeros(capacity, np.int64)
        self._slots = 1 << max(8, (4 * capacity - 1).bit_length())
        self._table = np.zeros((_N_BANDS, self._slots), np.int32)

    def __len__(self) -> int:
        """Texts that are remembered."""
        return len(self._ids)

    def find(
        self, article: Article, fingerprint_: NDArray[np.uint32] | None = None, *, remember: bool = True
    ) -> str | None:
        """The id of the text that this one repeats; None for a new one, which is remembered.

        Parameters
        ----------
        article : Article
            The article.
        signature : array, optional
            The :func:`fingerprint` of its text, if it is known.
        remember : bool
            False to leave everything as it is.
        """
        if fingerprint_ is None:
            fingerprint_ = fingerprint(article.text)
        if not len(fingerprint_):
            return None
        place = self._match(fingerprint_, int(article.time.timestamp()), remember)
        if place >= 0:
            return self._ids[place]
        if remember:
            self._append_id(article.id)
        return None

    def state_dict(self) -> dict[str, Any]:
        """What is remembered: arrays, and a list of ids; :meth:`from_state` goes on from it."""
        order = self._oldest_first()
        return {
            "threshold": self.threshold,
            "within": self.within.total_seconds(),
            "capacity": self.capacity,
            "ids": [self._ids[place] for place in order],
            "signatures": self._fingerprints[order],
            "times": self._times[order],
        }

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> DuplicateIndex:
        """Go on from where :meth:`state_dict` was called."""
        within = timedelta(seconds=float(state["within"]))
        new = cls(float(state["threshold"]), within=within, capacity=int(state["capacity"]))
        fingerprints, times = np.asarray(state["signatures"], np.uint32), np.asarray(state["times"], np.int64)
        new._ids, new._seen = list(map(str, state["ids"])), len(times)
        new._fingerprints[: new._seen], new._times[: new._seen] = fingerprints, times
        places = _band_keys(fingerprints) & np.uint64(new._slots - 1)
        for band, column in zip(new._table, places.T, strict=True):
            np.maximum.at(band, column, np.arange(1, new._seen + 1, dtype=np.int32))
        return new

    def _oldest_first(self) -> list[int]:
        start = self._seen % self.capacity if len(self._ids) == self.capacity else 0
        return [*range(start, len(self._ids)), *range(start)]

    def _match(self, fingerprint_: NDArray[np.uint32], time: int, remember: bool) -> int:
        """The place of the text that one repeats; -1 for a new one, whose signature may be kept.

        It is the most similar of the candidates, if it is similar enough; of several the one that came first.
        A candidate whose place another text has taken is harmless: it is not similar.
        """
        return find_copy(
            fingerprint_,
            time,
            _BAND_FACTORS,
            self._seen,
            self.threshold,
            self.within.total_seconds(),
            self._table,
            self._fingerprints,
            self._times,
            remember,
        )

    def _append_id(self, key: str) -> None:
        """Remember the id of the text whose signature was kept last."""
        place = self._seen % self.capacity
        if place == len(self._ids):
            self._ids.append(key)
        else:
            self._ids[place] = key
        self._seen += 1


def fingerprint(text: str) -> NDArray[np.uint32]:
    """The signature of a text: numbers of which similar texts share many; none for a text without words.

    Words are not made: a number for each is a sum over the pairs of neighbouring letters in it. Characters of
    scripts without blanks are words.

    Examples
    --------
    >>> one, other = fingerprint("a storm on Monday night"), fingerprint("A storm, on Monday night!")
    >>> len(one), bool((one == other).all()), len(fingerprint("..."))
    (60, True, 0)
    """
    letters = np.frombuffer(text[:_MAX_CHARS].lower().encode("utf-16-le", "surrogatepass"), np.uint16)
    return min_hashes(letters, *_character_tables(), _SHINGLE_FACTORS, _HASH_FACTORS)


def _band_keys(fingerprint_: NDArray[np.uint32]) -> NDArray[np.uint64]:
    """A number for each band of a signature, or of each of several."""
    bands = fingerprint_.reshape(*fingerprint_.shape[:-1], _N_BANDS, _ROWS_PER_BAND)
    numbers = bands.astype(np.uint64) @ _BAND_FACTORS
    return np.asarray(numbers >> np.uint64(24), np.uint64)


@cache
def _character_tables() -> tuple[NDArray[np.uint8], NDArray[np.uint64]]:
    """Of each character: whether it is part of words, and a random number, 0 for those that are not."""
    kinds = np.array([unicodedata.category(chr(code))[0] in "LNM" for code in range(1 << 16)], np.uint8)
    for first, last in _UNSPACED:
        kinds[first : last + 1] *= _WORD_ALONE
    kinds[0xD800:0xE000] = _WORD_ALONE
    numbers = np.random.default_rng(20310306).integers(1, 1 << 63, 1 << 16, dtype=np.uint64)
    return kinds, numbers * (kinds > 0)


_RANDOM = np.random.default_rng(20310305)
_SHINGLE_FACTORS = _RANDOM.integers(1 << 62, 1 << 63, 3, dtype=np.uint64) | np.uint64(1)
_HASH_FACTORS = _RANDOM.integers(1 << 62, 1 << 63, _N_HASHES, dtype=np.uint64) | np.uint64(1)
_BAND_FACTORS = _RANDOM.integers(1 << 62, 1 << 63, _ROWS_PER_BAND, dtype=np.uint64) | np.uint64(1)
