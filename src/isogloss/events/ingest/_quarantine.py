"""Quarantine: bad records, counted by reason, with the first few kept and all of them written to a file.

Imported by commands at start-up, so it imports nothing numerical.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import asdict, dataclass

from isogloss.exceptions import ArticleError
from isogloss.io import PathLike


@dataclass(frozen=True, slots=True)
class QuarantinedRecord:
    """A record that is not an article."""

    reason: str
    """Kind of problem, in a word or two."""
    what: str
    """Description of the problem."""
    file: str
    line: int
    """File and line of the record."""
    record: str
    """Its beginning."""


class Quarantine:
    """Collects bad records with their reasons.

    Memory is bounded: a count for each reason, and the first ``keep`` records.

    Parameters
    ----------
    path : path, optional
        A file to which records are appended as JSON lines.
    keep : int
        Records that stay in memory.
    max_record : int
        Characters of a record that are kept and written.
    max_bytes : int
        Maximum size of the file; further records are counted but not written.

    Attributes
    ----------
    reasons : Counter
        Number of records by reason.
    kept : list of QuarantinedRecord
        The first ones.

    Examples
    --------
    >>> quarantine = Quarantine("bad.jsonl")
    >>> quarantine.add("not JSON", "is not JSON", "news.jsonl", 3, b"{oops")
    >>> print(quarantine)
    1 record left out (1 not JSON); the first:
      news.jsonl:3: is not JSON
    >>> from pathlib import Path
    >>> json.loads(Path("bad.jsonl").read_text())["record"]
    '{oops'
    """

    def __init__(
        self,
        path: PathLike | None = None,
        *,
        keep: int = 20,
        max_record: int = 10_000,
        max_bytes: int = 1 << 30,
    ) -> None:
        self.path, self.keep, self.max_record, self.max_bytes = path, keep, max_record, max_bytes
        self.reasons: Counter[str] = Counter()
        self.kept: list[QuarantinedRecord] = []

    def add(self, reason: str, what: str, file: str, line: int, record: bytes | str | None = None) -> None:
        """Add a record."""
        self.reasons[reason] += 1
        start = (record or b"")[: self.max_record]
        text = start.decode("utf-8", "replace") if isinstance(start, bytes) else start
        entry = QuarantinedRecord(reason, what, file, line, text)
        if len(self.kept) < self.keep:
            self.kept.append(entry)
        if self.path is not None:
            self._write(entry, self.path)

    def _write(self, entry: QuarantinedRecord, path: PathLike) -> None:
        line = json.dumps(asdict(entry)).encode() + b"\n"
        try:
            with open(path, "ab") as file:
                if file.tell() + len(line) <= self.max_bytes:
                    file.write(line)
        except OSError as reason:
            message = f"{path}: cannot be written: {reason.strerror or reason}"
            raise ArticleError("quarantine not writable", message) from reason

    def __len__(self) -> int:
        return self.reasons.total()

    def __str__(self) -> str:
        if not self.reasons:
            return "no record left out"
        kinds = ", ".join(f"{count} {reason}" for reason, count in sorted(self.reasons.items()))
        summary = f"{len(self)} record{'s' * (len(self) != 1)} left out ({kinds}); the first:"
        return "\n  ".join([summary, *(f"{one.file}:{one.line}: {one.what}" for one in self.kept[:5])])
