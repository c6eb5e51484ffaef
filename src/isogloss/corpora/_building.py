"""Build comparable corpora from readers of documents; interrupted builds can be resumed.

Counting (:mod:`isogloss.corpora._shards`) leaves shards in ``FOLDER.partial``. Then the rows of all languages
are joined on their ids, the words of each language are sorted, and the shards are written into the mapped
files of the corpus. The folder gets its name when it is complete. Memory: the ids and the words of all
languages, and one shard.
"""

from __future__ import annotations

import dataclasses
import json
import shutil
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isogloss.corpora import _storage as storage
from isogloss.corpora._comparable import ComparableCorpus, Tokenise, settings_of, tokeniser_for
from isogloss.corpora._shards import Align, LanguageCounter, read_shards
from isogloss.corpora.readers import Document, DocumentReader
from isogloss.exceptions import CorpusError
from isogloss.io import PathLike, atomic_write
from isogloss.threads import count_threads


def build_corpus(
    readers: Mapping[str, Iterable[Document]],
    folder: PathLike,
    tokenise: Tokenise | Mapping[str, Tokenise],
    *,
    align: Align | None = None,
    min_words: int = 20,
    min_df: int = 1,
    min_languages: int = 1,
    n_jobs: int | None = None,
    shard_size: int = 5000,
    restart: bool = False,
    progress: Callable[[str, int], None] | None = None,
) -> ComparableCorpus:
    """Count the documents of several languages into a comparable corpus.

    Documents of different languages with the same id, or the same value of ``align``, form one row. Rows
    are in the order of their first documents, language by language.

    Parameters
    ----------
    readers : mapping of str to iterable of Document
        Documents of each language: a reader, or any iterable that yields the same documents each time.
    folder : path
        The corpus to create; it must not exist. ``FOLDER.partial`` holds the progress of the build, so that
        the same call resumes it after an interruption.
    tokenise : callable, or mapping of str to callable
        Returns the words of a text; one for all languages, or one for each.
    align : callable, optional
        ``align(language, id)`` returns the name of the row, or None to leave the document out, as
        :class:`~isogloss.corpora.Concepts` does.
    min_words : int
        Leave out documents with fewer different words (stubs).
    min_df : int
        Leave out words in fewer documents of their language.
    min_languages : int
        Leave out rows with fewer languages.
    n_jobs : int, optional
        Processes that prepare and tokenise texts; one by default, -1 for one per core.
    shard_size : int
        Documents between two points from which an interrupted build can be resumed.
    restart : bool
        Start over instead of resuming an interrupted build.
    progress : callable, optional
        Called with the language and the number of its documents read so far.

    Returns
    -------
    ComparableCorpus
        The new corpus, opened.

    Examples
    --------
    >>> documents = {
    ...     "en": [Document("house", "the old house"), Document("cat", "a cat")],
    ...     "de": [Document("house", "das alte haus")],
    ... }
    >>> build_corpus(documents, "corpus", str.split, min_words=2)
    ComparableCorpus(2 rows; en 2, de 1)
    """
    target = Path(folder).absolute()
    if target.exists():
        raise CorpusError(f"{folder}: already exists; remove it, or give another name")
    tokenisers = {storage.check_language(code): tokeniser_for(tokenise, code) for code in readers}
    partial = target.with_name(target.name + ".partial")
    plan = {"min_words": min_words, "shard_size": shard_size, "align": _described(align)}
    plan |= {code: [_described(readers[code]), _described(tokenisers[code])] for code in readers}
    _begin(partial, plan, restart)
    for code, reader in readers.items():
        LanguageCounter(
            partial / code,
            code,
            reader,
            tokenisers[code],
            align,
            min_words,
            shard_size,
            count_threads(n_jobs),
            progress,
        ).run()
    languages = [
        _Counted(partial / code, code, readers[code], settings_of(tokenisers[code])) for code in readers
    ]
    _join(languages, target, min_df, min_languages)
    shutil.rmtree(partial, ignore_errors=True)
    return ComparableCorpus(folder)


def _described(part: Any) -> Any:
    """Return what identifies a reader, tokeniser or alignment: its fingerprint, settings or name."""
    if part is None:
        return None
    if hasattr(part, "fingerprint"):
        return part.fingerprint()
    return settings_of(part) or getattr(part, "__qualname__", type(part).__qualname__)


def _begin(partial: Path, plan: dict[str, Any], restart: bool) -> None:
    """Return the folder for shards: a new one, or that of an interrupted build with the same options."""
    if restart or not any(partial.rglob("*.npz")):
        shutil.rmtree(partial, ignore_errors=True)
    plan = json.loads(json.dumps(plan, default=str))
    path = partial / "plan.json"
    if not path.exists():
        try:
            partial.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise CorpusError(f"{partial}: cannot be made ({error.strerror}); name another folder") from error
        with atomic_write(path) as file:
            file.write(json.dumps(plan).encode())
        return
    before = json.loads(path.read_bytes())
    changed = sorted(key for key in before.keys() | plan.keys() if before.get(key) != plan.get(key))
    if changed:
        raise CorpusError(
            f"{partial}: was left by an interrupted build that differs from this one in "
            f"{', '.join(changed)}; give the same files and options, or start over with "
            "restart=True (--restart)"
        )


@dataclasses.dataclass
class _Counted:
    """The shards of one language."""

    folder: Path
    code: str
    reader: Iterable[Document]
    settings: Any

    def __post_init__(self) -> None:
        self.keys: list[str] = []
        self.words: list[str] = []
        self.read, self.passed, self.bad = 0, Counter[str](), Counter[str]()
        self.in_parts = False
        for shard in read_shards(self.folder):
            self.keys.extend(shard.keys)
            self.words.extend(shard.words)
            self.read = shard.read
            self.passed.update(shard.passed)
            self.bad.update(shard.bad)
            self.in_parts = self.in_parts or shard.parts > 0

    def account(self) -> dict[str, Any]:
        """Counts of the records read, kept and left out."""
        passed, problems = self.passed, self.bad
        if isinstance(self.reader, DocumentReader) and not self.in_parts:
            passed, problems = passed + self.reader.report.passed, self.reader.report.problems
        return {
            "read": self.read,
            "left_out": dict(sorted(passed.items())),
            "bad": dict(sorted(problems.items())),
        }

    def write(self, place: Path, row_of: Mapping[str, int], min_df: int) -> dict[str, Any]:
        """Write the files of the language and return their description for the header."""
        folder = place / self.code
        folder.mkdir()
        rows = np.array([row_of.get(key, -1) for key in self.keys], dtype=np.int64)
        frequencies = sum((np.bincount(c.indices, minlength=len(self.words)) for _, c in self._kept(rows)),
                          start=np.zeros(len(self.words), dtype=np.int64))  # fmt: skip
        chosen = np.flatnonzero(frequencies >= min_df).tolist()
        columns = np.array(sorted(chosen, key=self.words.__getitem__), dtype=np.int64)
        entries = self._write_counts(folder, rows, columns)
        storage.write_strings(folder, "words", (self.words[column] for column in columns.tolist()))
        storage.write_strings(folder, "titles", self._titles(rows))
        documents = int((rows >= 0).sum())
        return {"documents": documents, "words": len(columns), "entries": entries,
                "tokeniser": self.settings, **self.account()}  # fmt: skip

    def _kept(self, rows: NDArray[np.int64]) -> Iterator[tuple[NDArray[np.int64], Any]]:
        """Yield row numbers and counts of the kept documents, shard by shard."""
        first = 0
        for shard in read_shards(self.folder):
            numbers = rows[first : first + len(shard.keys)]
            first += len(numbers)
            yield numbers[numbers >= 0], shard.counts(len(self.words))[numbers >= 0]

    def _write_counts(self, folder: Path, rows: NDArray[np.int64], columns: NDArray[np.int64]) -> int:
        here = np.sort(rows[rows >= 0])
        lengths = np.zeros(len(here), dtype=np.int64)
        for numbers, counts in self._kept(rows):
            lengths[np.searchsorted(here, numbers)] = np.diff(counts[:, columns].indptr)
        writer = storage.CountsWriter(folder, lengths)
        for numbers, counts in self._kept(rows):
            writer.put(np.searchsorted(here, numbers), counts[:, columns])
        writer.close()
        return int(lengths.sum())

    def _titles(self, rows: NDArray[np.int64]) -> list[str]:
        titles = [title for shard in read_shards(self.folder) for title in shard.titles]
        kept = np.flatnonzero(rows >= 0)
        return [titles[document] for document in kept[np.argsort(rows[kept])].tolist()]


def _join(languages: list[_Counted], target: Path, min_df: int, min_languages: int) -> None:
    """Join the ids of all languages and write the corpus."""
    present = Counter(key for language in languages for key in language.keys)
    names = [key for key, count in present.items() if count >= min_languages]
    row_of = {key: row for row, key in enumerate(names)}
    presence = np.zeros((len(names), len(languages)), dtype=bool)
    for column, language in enumerate(languages):
        presence[[row_of[key] for key in language.keys if key in row_of], column] = True
        if not presence[:, column].any():
            raise CorpusError(_nothing_left(language, min_languages))
    with storage.new_folder(target) as place:
        headers = {language.code: language.write(place, row_of, min_df) for language in languages}
        storage.write_array(place / "presence.npy", presence)
        storage.write_strings(place, "ids", names)
        storage.write_header(place, {"rows": len(names), "languages": headers})


def _nothing_left(language: _Counted, min_languages: int) -> str:
    account = language.account()
    left_out = account["left_out"] | account["bad"]
    reasons = ", ".join(f"{count} {kind}" for kind, count in left_out.items()) or "none left out"
    return (
        f"no document in {language.code!r} is left of {language.read} that were read ({reasons}; "
        f"{len(language.keys)} in rows with fewer languages than {min_languages}): check the files and ids, "
        "or lower min_words and min_languages"
    )
