"""Which articles of several Wikipedias are about the same subject, memory-mapped from a folder.

::

    FOLDER/links.json                       format, version, sizes
    FOLDER/names.text.npy, names.offsets.npy    names of the rows
    FOLDER/LANG/keys.npy, rows.npy          hashes of the titles, sorted, and the row of each

:class:`~isogloss.corpora.Concepts` says the same from a dictionary, which takes some 250 bytes for each
article; here it is 12, on disk, and processes share them.
"""

from __future__ import annotations

import hashlib
import json
from array import array
from collections.abc import Callable, Collection, Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isogloss.corpora import _storage as storage
from isogloss.corpora.readers import Concepts, read_sitelinks
from isogloss.exceptions import CorpusError
from isogloss.io import PathLike, atomic_write

HEADER = "links.json"
FORMAT, VERSION = "isogloss links", 1

Keys = NDArray[np.uint64]
Rows = NDArray[np.int64]


class LinkedArticles:
    """The row of each article, from a folder: call it with a language and a title, as ``align`` of readers.

    Parameters
    ----------
    folder : path
        Made by :meth:`from_sitelinks` or :meth:`from_concepts`.

    Examples
    --------
    >>> rows = {("en", "Bled"): "en:Bled", ("sl", "Bled"): "en:Bled"}
    >>> links = LinkedArticles.from_concepts("links", Concepts(rows), ["en", "sl"])
    >>> links("sl", "Bled"), links("sl", "Radovljica"), links("de", "Bled"), len(links)
    ('en:Bled', None, None, 1)
    """

    def __init__(self, folder: PathLike) -> None:
        self.folder = Path(folder)
        self.header = _read_header(self.folder)
        self._names = storage.read_strings(self.folder, "names", int(self.header["rows"]))
        self._tables = {
            code: _read_table(self.folder / storage.check_language(code), int(count))
            for code, count in self.header["articles"].items()
        }

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the path: another process maps the same folder."""
        return type(self), (self.folder.absolute(),)

    def __len__(self) -> int:
        """Number of rows."""
        return len(self._names)

    def __call__(self, language: str, title: str) -> str | None:
        """The row of an article, None when it has none."""
        if language not in self._tables:
            return None
        keys, rows = self._tables[language]
        key = np.uint64(_hash(title))
        place = int(np.searchsorted(keys, key))
        return self._names[int(rows[place])] if place < len(keys) and keys[place] == key else None

    @property
    def articles(self) -> dict[str, int]:
        """Number of articles with a row, by language."""
        return dict(self.header["articles"])

    def fingerprint(self) -> str:
        """Return a fingerprint of these rows."""
        return str(self.header["digest"])

    @classmethod
    def from_concepts(
        cls, folder: PathLike, concepts: Concepts, languages: Collection[str]
    ) -> LinkedArticles:
        """Write a folder from a dictionary, as :class:`~isogloss.corpora.LanguageLinks` makes it."""
        number: dict[str, int] = {}
        found = {code: _Articles() for code in languages}
        for (code, title), name in concepts.rows.items():
            if code in found:
                found[code].add(title, number.setdefault(name, len(number)))
        return cls._write(folder, found, list(number))

    @classmethod
    def from_sitelinks(
        cls,
        folder: PathLike,
        path: PathLike,
        languages: Collection[str],
        *,
        progress: Callable[[int], None] = lambda count: None,
    ) -> LinkedArticles:
        """Write a folder from Wikidata's JSON dump or its table ``wb_items_per_site``.

        Rows are named after items, ``Q1011``. Items with fewer than two of the languages are left out.
        ``progress`` is called now and then with the number of links found. Memory: 16 bytes for each link.
        """
        found = {code: _Articles() for code in languages}
        for count, (item, code, title) in enumerate(read_sitelinks(path, languages), 1):
            found[code].add(title, int(item.removeprefix("Q")))
            if count % 100_000 == 0:
                progress(count)
        if not any(articles.keys for articles in found.values()):
            raise CorpusError(f"{path}: has no article in {', '.join(languages)}; check the languages")
        items, languages_of = np.unique(
            np.concatenate([np.unique(each.rows) for each in found.values()]), return_counts=True
        )
        common = items[languages_of > 1]
        if not len(common):
            raise CorpusError(f"{path}: no item has articles in two of {', '.join(languages)}")
        for articles in found.values():
            articles.keep(common)
        return cls._write(folder, found, (f"Q{item}" for item in common.tolist()))

    @classmethod
    def _write(cls, folder: PathLike, found: Mapping[str, _Articles], names: Iterable[str]) -> LinkedArticles:
        with storage.new_folder(folder) as place:
            digest = hashlib.sha256()
            articles = {}
            names = list(names)
            storage.write_strings(place, "names", names)
            for name in names:
                digest.update(name.encode("utf-8", "surrogatepass") + b"\0")
            for code, table in found.items():
                (place / storage.check_language(code)).mkdir()
                keys, rows = table.sorted()
                storage.write_array(place / code / "keys.npy", keys)
                storage.write_array(place / code / "rows.npy", rows.astype(np.int32))
                digest.update(code.encode() + keys.tobytes() + rows.tobytes())
                articles[code] = len(keys)
            header = {"format": FORMAT, "version": VERSION, "rows": len(names), "articles": articles}
            with atomic_write(place / HEADER) as file:
                file.write(json.dumps(header | {"digest": digest.hexdigest()}, indent=1).encode())
        return cls(folder)


class _Articles:
    """Articles of a language as they are read: hashes of titles, and rows."""

    def __init__(self) -> None:
        self.keys, self._rows = array("Q"), array("q")
        self._map: Rows | None = None

    def add(self, title: str, row: int) -> None:
        self.keys.append(_hash(title))
        self._rows.append(row)

    @property
    def rows(self) -> Rows:
        return np.frombuffer(self._rows, dtype=np.int64) if self._rows else np.zeros(0, np.int64)

    def keep(self, rows: Rows) -> None:
        """Leave out articles of other rows, and number the rows by their places in this sorted array."""
        self._map = rows

    def sorted(self) -> tuple[Keys, Rows]:
        """Keys in order with their rows; of equal keys, titles that come twice, the first stays."""
        keys = np.frombuffer(self.keys, dtype=np.uint64) if self.keys else np.zeros(0, np.uint64)
        rows = self.rows
        if self._map is not None:
            places = np.minimum(np.searchsorted(self._map, rows), len(self._map) - 1)
            kept = self._map[places] == rows
            keys, rows = keys[kept], places[kept]
        unique, first = np.unique(keys, return_index=True)
        return unique, rows[first]


def _hash(title: str) -> int:
    """A hash of a title that is the same in every process; two of 60 million share one once in 10,000."""
    digest = hashlib.blake2b(title.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "little")


def _read_table(folder: Path, count: int) -> tuple[Keys, NDArray[np.int32]]:
    keys = storage.read_array(folder / "keys.npy", (count,), np.uint64)
    return keys.view(np.ndarray), storage.read_array(folder / "rows.npy", (count,), np.int32).view(np.ndarray)


def _read_header(folder: Path) -> dict[str, Any]:
    path = folder / HEADER
    try:
        header = json.loads(path.read_text("utf-8"))
        known = header["format"] == FORMAT and header["version"] == VERSION and bool(header["articles"])
    except OSError as reason:
        raise CorpusError(
            f"{folder}: has no links: {HEADER} cannot be read ({reason.strerror}); expected a folder that "
            "'isogloss wikipedia' made"
        ) from reason
    except (ValueError, KeyError, TypeError) as reason:
        raise CorpusError(f"{path}: is damaged ({reason}); make the links again") from reason
    if not known:
        raise CorpusError(f"{path}: is of another format or version; make the links again")
    return dict(header)
