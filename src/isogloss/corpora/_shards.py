"""Count documents shard by shard, so that an interrupted count can be resumed.

A shard holds the counts of the next few thousand documents, the words that are new in it, and the number of
documents read by its end. Shards of a language are numbered; each is written completely or not at all.
"""

from __future__ import annotations

import dataclasses
import json
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from scipy.sparse import csr_matrix

from isogloss.corpora._comparable import Tokenise
from isogloss.corpora._counting import CountedRows, WordCounter
from isogloss.corpora._processes import ProcessMap
from isogloss.corpora._strings import StringTable
from isogloss.corpora.readers import BadRecordError, Document, DocumentReader, DocumentReport, Part
from isogloss.exceptions import CorpusError
from isogloss.io import ARCHIVE_ERRORS, atomic_write

Align: TypeAlias = Callable[[str, str], str | None]
"""Returns the row of a document by its language and id; None if it belongs to no row."""

DOCS_PER_BATCH = 64
"""Documents that a process works on at a time."""

PARTS_PER_SHARD = 32
"""Parts of a file between two points from which an interrupted count can be resumed."""


class Shard(NamedTuple):
    """Some documents of a language."""

    keys: StringTable
    titles: StringTable
    words: StringTable
    rows: CountedRows
    read: int
    passed: Counter[str]
    parts: int
    """Parts of the file that had been read by its end; 0 if the file is read in one go."""
    bad: Counter[str]
    """Bad records in these parts; otherwise the reader counts them."""

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
    _parts_read: int = dataclasses.field(default=0, init=False, repr=False)

    def run(self) -> None:
        """Count the documents that have not been counted yet."""
        self.folder.mkdir(parents=True, exist_ok=True)
        self._resume()
        if parts := self._parts():
            self._run_parts(parts)
            return
        raw = self.reader.raw() if isinstance(self.reader, DocumentReader) else iter(self.reader)
        deque(islice(raw, self._read), maxlen=0)
        prepare = self.reader.preparer() if isinstance(self.reader, DocumentReader) else str
        with ProcessMap(_Count(prepare, self.tokenise), self.n_jobs) as count:
            while self._shard(islice(raw, self.shard_size), count):
                pass

    def _parts(self) -> Sequence[Part]:
        """Parts that processes read on their own, with an alignment that can be sent to them."""
        if not isinstance(self.reader, DocumentReader):
            return ()
        return self.reader.parts() if self.align is None or hasattr(self.align, "fingerprint") else ()

    def _run_parts(self, parts: Sequence[Part]) -> None:
        """Count the parts that have not been counted yet, about a shard of documents at a time."""
        assert isinstance(self.reader, DocumentReader)
        count = _Count(self.reader.preparer(), self.tokenise)
        report = self.reader.report = DocumentReport()
        with ProcessMap(_CountPart(count, self.language, self.align), self.n_jobs) as count_each:
            for first in range(self._parts_read, len(parts), PARTS_PER_SHARD):
                some = parts[first : first + PARTS_PER_SHARD]
                shard = _NewShard()
                for counted in count_each(some):
                    self._read += counted.report.documents
                    shard.passed.update(counted.passed + counted.report.passed)
                    shard.bad.update(counted.report.problems)
                    report.add_part(counted.report)
                    for document, counts in counted.documents:
                        self._add(document, counts, shard)
                    if self.progress is not None:
                        self.progress(self.language, self._read)
                self._parts_read = first + len(some)
                self._write(shard)

    def _resume(self) -> None:
        """Restore the position and the vocabulary from existing shards."""
        self._seen: set[str] = set()
        words: list[str] = []
        self._read = self._shards = 0
        self._parts_read = 0
        for shard in read_shards(self.folder):
            self._seen.update(shard.keys)
            words.extend(shard.words)
            self._read, self._shards, self._parts_read = shard.read, self._shards + 1, shard.parts
        self._counter, self._known = WordCounter(words), len(words)

    def _shard(self, documents: Iterator[Document], count: ProcessMap[list[Document], list[Counted]]) -> bool:
        """Count and write the next shard; return False when no documents are left."""
        before = self._read
        shard = _NewShard()
        aligned = self._aligned(documents, shard.passed)
        for counted in count(iter(lambda: list(islice(aligned, DOCS_PER_BATCH)), [])):
            for document, counts in counted:
                self._add(document, counts, shard)
        if self._read == before:
            return False
        self._write(shard)
        return True

    def _add(self, document: Document, counts: dict[str, int] | BadRecordError, shard: _NewShard) -> None:
        """Add a document to the shard, unless there is a reason to leave it out."""
        if isinstance(counts, BadRecordError):
            shard.passed[counts.problem] += 1
            self._note(document, counts)
        elif len(counts) < self.min_words:
            shard.passed["stubs"] += 1
        elif document.id in self._seen:
            shard.passed["duplicates"] += 1
        else:
            self._seen.add(document.id)
            shard.keys.append(document.id)
            shard.titles.append(document.title)
            self._counter.add(counts)

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

    def _write(self, shard: _NewShard) -> None:
        rows = self._counter.take()
        words = self._counter.words[self._known :]
        self._known += len(words)
        arrays: dict[str, Any] = {"indptr": rows.indptr, "indices": rows.indices, "data": rows.data}
        for name, strings in {"keys": shard.keys, "titles": shard.titles, "words": words}.items():
            table = StringTable.of(strings)
            arrays |= {f"{name}_text": table.text, f"{name}_offsets": table.offsets}
        header: dict[str, Any] = {"read": self._read, "passed": shard.passed}
        if self._parts_read:
            header |= {"parts": self._parts_read, "bad": shard.bad}
        with atomic_write(self.folder / f"{self._shards:06d}.npz") as file:
            np.savez(file, said=np.frombuffer(json.dumps(header).encode(), dtype=np.uint8), **arrays)
        self._shards += 1


@dataclasses.dataclass
class _NewShard:
    """What a shard will hold beside counts."""

    keys: list[str] = dataclasses.field(default_factory=list)
    titles: list[str] = dataclasses.field(default_factory=list)
    passed: Counter[str] = dataclasses.field(default_factory=Counter)
    bad: Counter[str] = dataclasses.field(default_factory=Counter)


def read_shards(folder: Path) -> Iterator[Shard]:
    """Yield the shards of a language in order."""
    for path in sorted(folder.glob("[0-9]*.npz")):
        try:
            with np.load(path, allow_pickle=False) as arrays:
                shard = _shard(arrays)
        except ARCHIVE_ERRORS as reason:
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
    bad = Counter[str](header.get("bad", {}))
    parts = int(header.get("parts", 0))
    return Shard(keys, titles, words, rows, int(header["read"]), Counter(header["passed"]), parts, bad)


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


class _CountedPart(NamedTuple):
    """The counts of a part of a file, those that were passed over, and the account of its reader."""

    documents: list[Counted]
    passed: Counter[str]
    report: DocumentReport


@dataclasses.dataclass(frozen=True)
class _CountPart:
    """Read a part of a file in a process, and count its documents."""

    count: _Count
    language: str
    align: Align | None

    def __call__(self, part: Part) -> _CountedPart:
        documents, report = part.read()
        passed = Counter[str]()
        if self.align is not None:
            rows = [(document, self.align(self.language, document.id)) for document in documents]
            documents = [dataclasses.replace(document, id=row) for document, row in rows if row is not None]
            if len(rows) > len(documents):
                passed["without links"] = len(rows) - len(documents)
        return _CountedPart(self.count(documents), passed, report)
