"""The text that a dictionary is made from: sentence pairs, or texts whose sentences are aligned first."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from isogloss.cli._console import Console
from isogloss.cli._output import counted
from isogloss.cli._progress import counting_steps
from isogloss.cli.align._input import open_text

if TYPE_CHECKING:
    from isogloss.corpora import WordPairs
    from isogloss.lexicon.aligned import TextSide

PASSES = 2
"""Passes of sentence alignment with a learned lexicon."""
MAX_BLANK = 0.2
"""Files with a greater share of blank lines have paragraphs, not sentences, on lines."""
LOOKED_AT = 20_000
"""Sentence pairs in which scripts and apostrophes are looked at."""


@dataclass(frozen=True)
class Reading:
    """Options for reading two texts."""

    form: str
    columns: str
    strict: bool
    max_tokens: int
    tokenised: bool | None
    by_line: bool | None
    """Whether lines with the same number are translations; None is to see whether there are as many."""
    jobs: int


@dataclass(frozen=True)
class PairedText:
    """Sentence pairs as words, how they were paired, and what to know about them."""

    words: WordPairs
    pairing: str
    warnings: tuple[str, ...] = ()


@contextmanager
def paired_text(
    source: Path, target: Path | None, codes: tuple[str, str], reading: Reading, console: Console
) -> Iterator[PairedText]:
    """The sentence pairs of one file, of two files with a sentence per line, or of two texts or folders."""
    form, languages = reading.form, ",".join(codes)
    options = (reading.strict, reading.max_tokens, reading.tokenised)
    if target is None or form not in ("auto", "lines"):
        yield PairedText(open_text(source, target, form, reading.columns, languages, *options), "in the file")
        return
    by_line = form == "lines" or reading.by_line
    if by_line is None:
        by_line = _looks_line_aligned(source, target)
    if by_line:
        yield PairedText(open_text(source, target, "lines", "0,1", None, *options), "line by line")
        return
    with TemporaryDirectory(prefix="isogloss-") as folder:
        table = Path(folder, "pairs.tsv")
        description, warnings = _align(source, target, codes, table, reading.jobs, console)
        yield PairedText(open_text(table, None, "columns", "0,1", None, *options), description, warnings)


def _looks_line_aligned(source: Path, target: Path) -> bool:
    """Whether two files have as many lines, and no blank lines between paragraphs."""
    from isogloss.io import read_lines

    if source.is_dir() or target.is_dir():
        return False
    lines = [[bool(line.strip()) for line in read_lines(path)] for path in (source, target)]
    blank = [1 - sum(side) / max(len(side), 1) for side in lines]
    return len(lines[0]) == len(lines[1]) and min(blank) <= MAX_BLANK


def _align(
    source: Path, target: Path, codes: tuple[str, str], table: Path, jobs: int, console: Console
) -> tuple[str, tuple[str, ...]]:
    """Align sentences and write the pairs as a table; say what was done, and what to look into."""
    from isogloss.alignment.sentences import (
        ReadText,
        SentenceOptions,
        Trust,
        align_documents,
        match_files,
        write_beads,
    )

    files, alone = match_files(source, target)
    documents = [
        (ReadText.of(left, codes[0]).text, ReadText.of(right, codes[1]).text) for left, right in files
    ]
    with counting_steps("aligning sentences", PASSES + 1, console) as begin:
        aligned = align_documents(
            documents,
            options=SentenceOptions(passes=PASSES, n_jobs=jobs),
            on_pass=lambda done, steps: begin(f"aligning sentences, pass {done} of {steps}"),
        )
    write_beads(aligned, table, "tsv", languages=codes)
    trust = Trust.of(aligned)
    sizes = " and ".join(f"{size:,}" for size in trust.sentences)
    description = f"{sizes} sentences of {counted(len(files), 'text')}, aligned by length and words"
    left = (f"{counted(len(alone), 'file')} without a partner left out",) if alone else ()
    return description, (*trust.warnings, *left)


def script_warnings(sides: tuple[TextSide, TextSide], codes: tuple[str, str]) -> Iterator[str]:
    """Sentences about sides that are written in more than one script."""
    from isogloss.text.raw import mixed_scripts

    for side, code in zip(sides, codes, strict=True):
        scripts = mixed_scripts("\n".join(side.texts[:LOOKED_AT]))
        if scripts:
            counts = " and ".join(f"{count:,} letters in {name}" for name, count in scripts.items())
            yield f"The {code} text is in more than one script ({counts}); its words are listed as written."
