"""Count documents shard by shard, so that an interrupted count can be resumed.

A shard holds the counts of the next few thousand documents, the words that are new in it, and the number of
documents read by its end. Shards of a language are numbered; each is written completely or not at all.
"""

from __future__ import annotations

import dataclasses
import json
import zipfile
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from scipy.sparse import csr_matrix

from isogloss.corpora._comparable import Tokenise
from isogloss.corpora._counting import CountedRows, WordCounter
from isogloss.corpora._strings import StringTable
from isogloss.corpora.readers import BadRecordError, Document, DocumentReader
from isogloss.exceptions import CorpusError
from isogloss.io import atomic_write

Align: TypeAlias = Callable[[str, str], str | None]
"""Returns the row of a document by its language and id; None if it belongs to no row."""

DOCS_PER_BATCH = 64
"""Documents that a process works on at a time."""


class Shard(NamedTuple):
    """Some documents of a language."""

    keys: StringTable
    titles: StringTable
    words: StringTable
    rows: CountedRows
    read: int
    passed: Counter[str]

    def counts(self, n_words: int) -> Any:
        """The counts as a CSR matrix over the words of all shards."""
        shape = (len(self.keys), n_words)
        return csr_matrix((self.rows.data, self.rows.indices, self.rows.indptr), shape=shape)


@dataclasses.dataclass
class LanguageCounter:
    """Counts the documents of a language into shards."""

    folder: Path
    """The folder of the shards."""
    language: str
    """Its code."""
    reader: Iterable[Document]
    """The documents, in the same order each time."""
    tokenise: Tokenise
    """Returns the words of a text."""
    align: Align | None = None
    """Returns the row of a document; if None, the row is the document's id."""
    min_words: int = 20
    """Documents with fewer different words (stubs) are left out."""
    shard_size: int = 5000
    """Documents of a shard."""
    n_jobs: int = 1
    """Number of processes; with more than one, ``tokenise`` must be picklable."""
    progress: Callable[[str, int], None] | None = None
    """Called with the language and the number of documents read so far."""

    def run(self) -> None:
        """Count the documents that have not been counted yet."""
        self.folder.mkdir(parents=True, exist_ok=True)
        self._resume()
        raw = self.reader.raw() if isinstance(self.reader, DocumentReader) else iter(self.reader)
        deque(islice(raw, self._read), maxlen=0)
        prepare = self.reader.preparer() if isinstance(self.reader, DocumentReader) else str
        with _Workers(_Count(prepare, self.tokenise), self.n_jobs) as workers:
            while self._shard(islice(raw, self.shard_size), workers):
                pass

    def _resume(self) -> None:
        """Restore the position and the vocabulary from existing shards."""
        self._seen: set[str] = set()
        words: list[str] = []
        self._read = self._shards = 0
        for shard in read_shards(self.folder):
            self._seen.update(shard.keys)
            words.extend(shard.words)
            self._read, self._shards = shard.read, self._shards + 1
        self._counter, self._known = WordCounter(words), len(words)

    def _shard(self, documents: Iterator[Document], workers: _Workers) -> bool:
        """Count and write the next shard; return False when no documents are left."""
        before = self._read
        passed: Counter[str] = Counter()
        keys, titles = [], []
        for document, counts in workers.map(self._aligned(documents, passed)):
            if isinstance(counts, BadRecordError):
                passed[counts.problem] += 1
                self._note(document, counts)
            elif len(counts) < self.min_words:
                passed["stubs"] += 1
            elif document.id in self._seen:
                passed["duplicates"] += 1
            else:
                self._seen.add(document.id)
                keys.append(document.id)
                titles.append(document.title)
                self._counter.add(counts)
        if self._read == before:
            return False
        self._write(keys, titles, passed)
        return True

    def _note(self, document: Document, bad: BadRecordError) -> None:
        """Report a document that could not be prepared to the reader, which raises an error or skips it."""
        if isinstance(self.reader, DocumentReader):
            self.reader.refuse_or_note(bad.of(document), document.place)
            self.reader.report.documents -= 1

    def _aligned(self, documents: Iterator[Document], passed: Counter[str]) -> Iterator[Document]:
        """Yield the documents that belong to a row, with the row as their id."""
        for document in documents:
            self._read += 1
            if self.progress is not None:
                self.progress(self.language, self._read)
            key = document.id if self.align is None else self.align(self.language, document.id)
            if key is None:
                passed["without links"] += 1
            else:
                yield dataclasses.replace(document, id=key)

    def _write(self, keys: list[str], titles: list[str], passed: Counter[str]) -> None:
        rows = self._counter.take()
        words = self._counter.words[self._known :]
        self._known += len(words)
        arrays: dict[str, Any] = {"indptr": rows.indptr, "indices": rows.indices, "data": rows.data}
        for name, strings in {"keys": keys, "titles": titles, "words": words}.items():
            table = StringTable.of(strings)
            arrays |= {f"{name}_text": table.text, f"{name}_offsets": table.offsets}
        header = json.dumps({"read": self._read, "passed": passed}).encode()
        with atomic_write(self.folder / f"{self._shards:06d}.npz") as file:
            np.savez(file, said=np.frombuffer(header, dtype=np.uint8), **arrays)
        self._shards += 1


def read_shards(folder: Path) -> Iterator[Shard]:
    """Yield the shards of a language in order."""
    for path in sorted(folder.glob("[0-9]*.npz")):
        try:
            with np.load(path, allow_pickle=False) as arrays:
                shard = _shard(arrays)
        except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile) as reason:
            raise CorpusError(
                f"{path}: is damaged ({reason}); start over with restart=True (--restart)"
            ) from reason
        yield shard


def _shard(arrays: Any) -> Shard:
    header = json.loads(arrays["said"].tobytes())
    keys, titles, words = (
        StringTable(arrays[f"{name}_text"], arrays[f"{name}_offsets"]) for name in ("keys", "titles", "words")
    )
    rows = CountedRows(arrays["indptr"], arrays["indices"], arrays["data"])
    return Shard(keys, titles, words, rows, int(header["read"]), Counter(header["passed"]))


Counted: TypeAlias = tuple[Document, dict[str, int] | BadRecordError]
"""A document without its text, and its word counts or the reason why it has none."""


@dataclasses.dataclass(frozen=True)
class _Count:
    """Tokenise and count documents in a process."""

    prepare: Callable[[str], str]
    tokenise: Tokenise

    def __call__(self, documents: list[Document]) -> list[Counted]:
        return [(dataclasses.replace(each, text=""), self._counts(each.text)) for each in documents]

    def _counts(self, text: str) -> dict[str, int] | BadRecordError:
        try:
            return dict(Counter(self.tokenise(self.prepare(text))))
        except BadRecordError as bad:
            return bad


class _Workers:
    """Counts documents in order, in this process or in several."""

    def __init__(self, count: _Count, n_jobs: int) -> None:
        self._count = count
        self._n_jobs = n_jobs
        self._pool = ProcessPoolExecutor(n_jobs) if n_jobs > 1 else None

    def __enter__(self) -> _Workers:
        return self

    def __exit__(self, *error: object) -> None:
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)

    def map(self, documents: Iterator[Document]) -> Iterator[Counted]:
        """Yield counts in the order of the documents, computed a few batches ahead."""
        batches = iter(lambda: list(islice(documents, DOCS_PER_BATCH)), [])
        if self._pool is None:
            for batch in batches:
                yield from self._count(batch)
            return
        waiting: deque[Future[list[Counted]]] = deque()
        for batch in batches:
            waiting.append(self._pool.submit(self._count, batch))
            if len(waiting) > 2 * self._n_jobs:
                yield from waiting.popleft().result()
        for future in waiting:
            yield from future.result()
