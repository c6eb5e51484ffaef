"""Documents from JSON lines and line-aligned text, and what every reader of documents has in common."""

from __future__ import annotations

import abc
import dataclasses
import json
import os
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import IO, Any, Protocol

from isogloss.corpora._languages import same_language
from isogloss.corpora.readers._checking import OnBad, Problems
from isogloss.exceptions import CorpusError
from isogloss.io import PathLike, open_decompressed, read_lines

_BOM = b"\xef\xbb\xbf"


@dataclasses.dataclass(frozen=True, slots=True)
class Document:
    """A text with an id, and where it was read."""

    id: str
    text: str
    lang: str = ""
    title: str = ""
    place: str = dataclasses.field(default="", compare=False)


@dataclasses.dataclass
class DocumentReport(Problems):
    """The number of documents that a reader returned, what it skipped, and the bad records."""

    documents: int = 0
    passed: Counter[str] = dataclasses.field(default_factory=Counter)

    def add_part(self, part: DocumentReport) -> None:
        """Add the account of a part of the file."""
        self.documents += part.documents
        self.passed.update(part.passed)
        self.problems.update(part.problems)
        for sentence in part.examples:
            self.note(sentence)

    def __str__(self) -> str:
        parts = [f"{self.documents} documents"]
        parts += [f"{count} {kind}" for kind, count in sorted(self.passed.items())]
        if self.bad:
            parts.append(f"{self.bad} bad records left out ({self.kinds})")
        elif self.examples:
            parts.append("others left out")
        first = "; the first:" if self.examples else ""
        return "\n  ".join([", ".join(parts) + first, *self.examples])


class BadRecordError(Exception):
    """A problem of a record: its kind and a message."""

    def __init__(self, problem: str, what: str) -> None:
        super().__init__(problem, what)
        self.problem, self.what = problem, what

    def __str__(self) -> str:
        return self.what

    def of(self, document: Document) -> BadRecordError:
        """Return the same with the title of a document, or its id, in the sentence."""
        return BadRecordError(self.problem, f"{document.title or document.id!r:.80}: {self.what}")


class Part(Protocol):
    """A part of a file that can be read without the others; it can be sent to another process."""

    def read(self) -> tuple[list[Document], DocumentReport]:
        """The documents, as :meth:`DocumentReader.raw` yields them, and an account of this part."""


class DocumentReader(abc.ABC):
    """Documents from a file: iterate over it as often as you like.

    Parameters
    ----------
    path : path
        The file; gzip, bzip2 and xz are unpacked.
    lang : str
        The language of the documents.
    on_bad : {"raise", "skip"}
        Refuse the file, naming it and the line, or leave bad records out and count them.

    Attributes
    ----------
    report : DocumentReport
        An account of the last pass.
    """

    def __init__(self, path: PathLike, *, lang: str = "", on_bad: OnBad = "raise") -> None:
        if on_bad not in ("raise", "skip"):
            raise ValueError(f"on_bad={on_bad!r}; expected 'raise' or 'skip'")
        self.path, self.lang, self.on_bad = os.fspath(path), lang, on_bad
        self.report = DocumentReport()

    @abc.abstractmethod
    def raw(self) -> Iterator[Document]:
        """Documents whose texts :meth:`preparer` has not worked on; fills :attr:`report`."""

    def parts(self) -> Sequence[Part]:
        """Parts of the file, in order, that several processes can read; none if it is read in one go."""
        return ()

    def preparer(self) -> Callable[[str], str]:
        """The function that prepares a text for the tokeniser, for example by removing markup.

        Slow work belongs here: it can be sent to other processes. BadRecordError says that a text is no good.
        """
        return str

    def __iter__(self) -> Iterator[Document]:
        prepare = self.preparer()
        for document in self.raw():
            try:
                prepared = dataclasses.replace(document, text=prepare(document.text))
            except BadRecordError as bad:
                self._leave_out(bad.of(document), document.place)
                self.report.documents -= 1
            else:
                yield prepared

    def fingerprint(self) -> dict[str, Any]:
        """Return a fingerprint of this file, which changes with its contents."""
        try:
            status = os.stat(self.path)
        except OSError as reason:
            raise CorpusError(f"{self.path}: {reason.strerror}; check the path") from reason
        return {"reader": type(self).__name__, "file": os.path.basename(self.path), "lang": self.lang,
                "bytes": status.st_size, "changed": status.st_mtime_ns}  # fmt: skip

    def refuse_or_note(self, bad: BadRecordError, place: str) -> None:
        """Raise CorpusError about a bad record, or note it in the report, as ``on_bad`` says."""
        sentence = f"{place}: {bad.what}"
        if self.on_bad == "raise":
            raise CorpusError(
                f"{sentence}; correct the file, or leave such records out with on_bad='skip' "
                "(on the command line: without --strict)"
            )
        self.report.note(sentence)

    def _leave_out(self, bad: BadRecordError, place: str) -> None:
        self.refuse_or_note(bad, place)
        self.report.problems[bad.problem] += 1


class JsonLines(DocumentReader):
    r"""Documents from a file with one JSON object per line: ``{"id": ..., "text": ...}``.

    ``title`` and ``lang`` may be there too. With ``lang``, documents that say they are in another language
    are passed over. A record is bad when it is not a JSON object in UTF-8, has no id (a string or an integer)
    or no text (a string with something in it), repeats an id, or is longer than ``max_bytes``. Blank lines
    are ignored.

    Parameters
    ----------
    path : path
        The file; gzip, bzip2 and xz are unpacked.
    lang : str
        The language to read, and that of documents which do not say.
    on_bad : {"raise", "skip"}
        Refuse the file, naming it and the line, or leave bad records out and count them.
    max_bytes : int
        The longest line to read into memory.

    Examples
    --------
    >>> from pathlib import Path
    >>> _ = Path("en.jsonl").write_text('{"id": 1, "text": "a house"}\n{"id": 2}\n')
    >>> reader = JsonLines("en.jsonl", lang="en", on_bad="skip")
    >>> [(document.id, document.text) for document in reader]
    [('1', 'a house')]
    >>> print(reader.report)
    1 documents, 1 bad records left out (1 without text); the first:
      en.jsonl:2: field "text" is missing; every line needs "id" and "text"
    """

    def __init__(
        self, path: PathLike, *, lang: str = "", on_bad: OnBad = "raise", max_bytes: int = 1 << 28
    ) -> None:
        super().__init__(path, lang=lang, on_bad=on_bad)
        if max_bytes < 1:
            raise ValueError(f"max_bytes={max_bytes}; expected at least 1")
        self.max_bytes = max_bytes

    def raw(self) -> Iterator[Document]:
        """The documents of the language."""
        report = self.report = DocumentReport()
        seen: set[str] = set()
        with open_decompressed(self.path) as file:
            for number, line in numbered_lines(file, self.max_bytes):
                place = f"{self.path}:{number}"
                try:
                    document = _document(line, place, self.lang, self.max_bytes)
                    if self.lang and not same_language(document.lang, self.lang):
                        report.passed["in other languages"] += 1
                        continue
                    _note(document.id, seen)
                except BadRecordError as bad:
                    self._leave_out(bad, place)
                    continue
                report.documents += 1
                yield document


class AlignedLines(DocumentReader):
    r"""Line-aligned text: each line is a document whose id is its number; a blank line is a missing one.

    Examples
    --------
    >>> from pathlib import Path
    >>> _ = Path("en.txt").write_text("a house\n\na cat\n")
    >>> [(line.id, line.text) for line in AlignedLines("en.txt", lang="en")]
    [('1', 'a house'), ('3', 'a cat')]
    """

    def raw(self) -> Iterator[Document]:
        """The lines that are not blank."""
        report = self.report = DocumentReport()
        for number, line in enumerate(read_lines(self.path), 1):
            place = f"{self.path}:{number}"
            try:
                text = _decoded(line)
            except BadRecordError as bad:
                self._leave_out(bad, place)
                continue
            if text.strip():
                report.documents += 1
                yield Document(str(number), text, self.lang, place=place)
            else:
                report.passed["blank"] += 1


def _note(key: str, seen: set[str]) -> None:
    if key in seen:
        raise BadRecordError("duplicates", f"the id {key!r} has occurred before; expected every id once")
    seen.add(key)


def numbered_lines(file: IO[bytes], limit: int) -> Iterator[tuple[int, bytes | None]]:
    """Lines with something on them, with their numbers; None for one that is too long to read."""
    number = 0
    while line := file.readline(limit + 1):
        number += 1
        if len(line) > limit and not line.endswith(b"\n"):
            while line and not line.endswith(b"\n"):
                line = file.readline(limit)
            yield number, None
        elif text := line.removeprefix(_BOM if number == 1 else b"").strip():
            yield number, text


def _document(line: bytes | None, place: str, lang: str, limit: int) -> Document:
    if line is None:
        raise BadRecordError("too long", f"the line is longer than {limit:,} bytes; raise max_bytes")
    record = parsed_object(line)
    key = record.get("id")
    if isinstance(key, bool) or not isinstance(key, str | int) or key == "":
        message = "is missing" if "id" not in record else f"is {json.dumps(key)[:40]}"
        raise BadRecordError("without id", f'field "id" {message}; every line needs "id" and "text"')
    text = record.get("text")
    if not isinstance(text, str) or not text.strip():
        message = "is missing" if "text" not in record else f"is {json.dumps(text)[:40]}"
        raise BadRecordError("without text", f'field "text" {message}; every line needs "id" and "text"')
    return Document(str(key), text, str(record.get("lang") or lang), str(record.get("title") or ""), place)


def parsed_object(line: bytes) -> dict[str, Any]:
    """The object that a line of JSON is; BadRecordError says why it is none."""
    text = _decoded(line)
    try:
        record = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise BadRecordError("not JSON", f"is not JSON ({str(error)[:80]})") from error
    if not isinstance(record, dict):
        raise BadRecordError("not JSON", f"is a JSON {type(record).__name__}; expected an object")
    return record


def _decoded(line: bytes) -> str:
    try:
        return line.decode("utf-8")
    except UnicodeDecodeError as error:
        raise BadRecordError("not UTF-8", f"is not UTF-8 ({error.reason} at byte {error.start})") from error
