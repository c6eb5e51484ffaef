"""What the experiments on documents share: where the data are, texts, halves of them, rows to ask for."""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from isogloss.corpora import Corpus, InMemoryCorpus
from isogloss.text import Tokeniser

Texts = dict[str, list[str | None]]


class Parts(NamedTuple):
    """Rows to learn from, to choose settings on, and to ask for once."""

    train: NDArray[np.int64]
    valid: NDArray[np.int64]
    test: NDArray[np.int64]


def data_folder(given: Path | None) -> Path:
    """The folder with ``docs`` and ``parallel``: as given, from ISOGLOSS_DATA, or beside the checkout."""
    beside = Path(__file__).resolve().parent.parent.parent / "shared" / "data"
    folder = given or Path(os.environ.get("ISOGLOSS_DATA", beside))
    if not (folder / "docs" / "lohelp").is_dir():
        raise SystemExit(f"no documents in {folder}; set ISOGLOSS_DATA or give --data")
    return folder


def help_pages(folder: Path, languages: Sequence[str]) -> tuple[list[str], Texts]:
    """Ids and texts, title first, of the help pages in some languages."""
    tables: dict[str, dict[str, str]] = {}
    for language in languages:
        with gzip.open(folder / "docs" / "lohelp" / f"{language}.jsonl.gz", "rt", encoding="utf-8") as lines:
            records = [json.loads(line) for line in lines]
        tables[language] = {record["id"]: f"{record['title']}\n{record['text']}" for record in records}
    ids = list(dict.fromkeys(key for table in tables.values() for key in table))
    return ids, {language: [table.get(key) for key in ids] for language, table in tables.items()}


def as_corpus(texts: Mapping[str, Sequence[str | None]], ids: Sequence[str] | None = None) -> Corpus:
    """Texts with the words that the default tokeniser of each language finds."""
    return InMemoryCorpus(texts, {language: Tokeniser(language) for language in texts}, ids=ids)


def parts(n: int, seed: int) -> Parts:
    """A fifth of the rows to choose on, the same for every seed; a fifth of all from the others to test."""
    order = np.random.default_rng(20_200).permutation(n)
    valid, others = order[: n // 5], np.sort(order[n // 5 :])
    shuffled = np.random.default_rng(seed).permutation(others)
    return Parts(np.sort(shuffled[n // 5 :]), np.sort(valid), np.sort(shuffled[: n // 5]))


def halves(texts: Mapping[str, Sequence[str | None]], rows: NDArray[np.int64]) -> tuple[Texts, Texts]:
    """First and second halves of the words of some rows."""
    out: tuple[Texts, Texts] = ({}, {})
    for language, column in texts.items():
        for half in out:
            half[language] = []
        for row in rows.tolist():
            text = column[row]
            words = None if text is None else text.split()
            middle = 0 if words is None else len(words) // 2
            out[0][language].append(None if words is None else " ".join(words[:middle]))
            out[1][language].append(None if words is None else " ".join(words[middle:]))
    return out


def chosen(texts: Mapping[str, Sequence[str | None]], rows: NDArray[np.int64]) -> Texts:
    """The texts of some rows."""
    return {language: [column[row] for row in rows.tolist()] for language, column in texts.items()}


def keep_apart(
    texts: Mapping[str, Sequence[str | None]], groups: Sequence[Sequence[str]], seed: int
) -> Texts:
    """The texts with one of several groups of languages left to each row, drawn at random."""
    n = len(next(iter(texts.values())))
    group = np.random.default_rng(seed).integers(len(groups), size=n)
    out = {language: list(column) for language, column in texts.items()}
    for number, languages in enumerate(groups):
        for language in languages:
            out[language] = [t if g == number else None for t, g in zip(out[language], group, strict=True)]
    return out


def thinned(texts: Mapping[str, Sequence[str | None]], languages: Sequence[str], seed: int) -> Texts:
    """The texts with half of the rows, drawn at random and the same ones, left to some languages."""
    n = len(next(iter(texts.values())))
    kept = np.random.default_rng(seed).integers(2, size=n) == 0
    out = {language: list(column) for language, column in texts.items()}
    for language in languages:
        out[language] = [text if keep else None for text, keep in zip(out[language], kept, strict=True)]
    return out
