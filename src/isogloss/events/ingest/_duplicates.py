r"""Near-duplicate detection with MinHash and locality-sensitive hashing.

A text is the set of its shingles of three words. The similarity of two texts is the Jaccard index of their
sets, which MinHash [1]_ estimates. Fingerprints are split into bands; only texts that agree in a band are
compared, so the number of comparisons does not grow with the window.

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

_MAX_CHARS = 20_000
"""Characters of a text that are used."""

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
"""Character ranges of Japanese, Chinese, Thai, Burmese and Khmer."""

_IN_WORD, _WORD_ALONE = 1, 2


class DuplicateIndex:
    """Index of the texts of a sliding window that finds reprints among new ones.

    ``threshold`` is the minimum similarity of a duplicate: a reprint with every tenth word changed has .57;
    different articles on one event have less than .2. ``within`` is the maximum time between a text and its
    duplicates; of more than ``capacity`` texts the oldest are dropped.

    Notes
    -----
    Memory is about 700 bytes per text, allocated as the window fills. The cost of a text does not depend on
    the window. A text is compared with originals, not with their duplicates, so a chain of small changes
    does not connect different texts. Results depend on the texts, their times and their order only.

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
        """Number of texts in the index."""
        return len(self._ids)

    def find(
        self, article: Article, hashes: NDArray[np.uint32] | None = None, *, remember: bool = True
    ) -> str | None:
        """Return the id of the original of an article; None for a new text, which is added.

        ``hashes`` is the :func:`fingerprint` of its text, if it is known. ``remember=False`` leaves the index
        unchanged.
        """
        if hashes is None:
            hashes = fingerprint(article.text)
        if not len(hashes):
            return None
        place = self._match(hashes, int(article.time.timestamp()), remember)
        if place >= 0:
            return self._ids[place]
        if remember:
            self._append_id(article.id)
        return None

    def state_dict(self) -> dict[str, Any]:
        """Return the state, for :meth:`from_state`: arrays and a list of ids."""
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
        """Restore an index from :meth:`state_dict`."""
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

    def _match(self, hashes: NDArray[np.uint32], time: int, remember: bool) -> int:
        """Return the position of the original of a text; -1 for a new one, whose fingerprint may be added.

        It is the most similar of the candidates above the threshold; ties go to the first. A candidate that
        was overwritten by another text is harmless, because it is not similar.
        """
        return find_copy(
            hashes,
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
        """Add the id of the text whose fingerprint was added last."""
        place = self._seen % self.capacity
        if place == len(self._ids):
            self._ids.append(key)
        else:
            self._ids[place] = key
        self._seen += 1


def fingerprint(text: str) -> NDArray[np.uint32]:
    """Return the MinHash fingerprint of a text; empty for a text without words.

    Words are hashed by the pairs of adjacent characters in them. Characters of unspaced scripts are words.

    Examples
    --------
    >>> one, other = fingerprint("a storm on Monday night"), fingerprint("A storm, on Monday night!")
    >>> len(one), bool((one == other).all()), len(fingerprint("..."))
    (60, True, 0)
    """
    letters = np.frombuffer(text[:_MAX_CHARS].lower().encode("utf-16-le", "surrogatepass"), np.uint16)
    return min_hashes(letters, *_character_tables(), _SHINGLE_FACTORS, _HASH_FACTORS)


def _band_keys(hashes: NDArray[np.uint32]) -> NDArray[np.uint64]:
    """Return the hash of each band of a fingerprint, or of several."""
    bands = hashes.reshape(*hashes.shape[:-1], _N_BANDS, _ROWS_PER_BAND)
    numbers = bands.astype(np.uint64) @ _BAND_FACTORS
    return np.asarray(numbers >> np.uint64(24), np.uint64)


@cache
def _character_tables() -> tuple[NDArray[np.uint8], NDArray[np.uint64]]:
    """Return for each character its kind and a random number, 0 for characters that are not in words."""
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
