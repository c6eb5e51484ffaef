"""Sentence pairs with manual links: the Hansards, English-Czech and English-Japanese, of any size.

Manual links come first, then training text. ``held`` are the sentences on which nothing was chosen: the test
sentences of the Hansards, and two of every three Czech and Japanese sentences; settings were chosen on the
others and on the development sentences of the Hansards.
"""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Callable, Iterator
from itertools import chain, islice
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from isogloss.alignment import Gold, Links, read_gold

__all__ = ["SETS", "GoldText", "read_lines", "tokenise"]

_TOKEN = re.compile(r"\w+|[^\w\s]")


class GoldText(NamedTuple):
    """Tokenised lines of both sides, manual links of the first of them, and which of these are held out."""

    source: list[str]
    target: list[str]
    gold: Gold
    held: NDArray[np.int64]


def hansards(data: Path, n: int | None) -> GoldText:
    """English-French: the 447 test sentences, and up to 359,595 pairs."""
    folder = data / "alignment" / "hansards-en-fr"
    gold = read_gold(folder / "test.gold")
    source, target = (
        [*read_lines(folder / f"test.{side}"), *islice(read_lines(folder / f"train.{side}.gz"), n)]
        for side in ("en", "fr")
    )
    return GoldText(source, target, gold, np.arange(len(gold)))


def czech(data: Path, n: int | None) -> GoldText:
    """English-Czech: 2,500 sentences of news, and pairs of everyday sentences, news and help pages."""
    rows = [json.loads(line) for line in read_lines(data / "alignment" / "en-cs.czenali.jsonl.gz")]
    sure, possible = (
        Links.from_sets([map(tuple, row.get(kind, [])) for row in rows])  # type: ignore[misc]
        for kind in ("sure", "possible")
    )
    pairs = list(islice(_czech_text(data / "parallel"), n))
    source = [" ".join(row["src"]) for row in rows] + [tokenise(pair[0]) for pair in pairs]
    target = [" ".join(row["tgt"]) for row in rows] + [tokenise(pair[1]) for pair in pairs]
    return GoldText(source, target, Gold.join(sure, possible), _two_thirds(len(rows)))


def _czech_text(folder: Path) -> Iterator[tuple[str, str]]:
    tatoeba = (line.split("\t")[1:3] for line in islice(read_lines(folder / "tatoeba/en-cs.tsv.gz"), 1, None))
    files = (("ntrex/eng", "ntrex/ces"), ("lohelp/en", "lohelp/cs"))
    sides = [[read_lines(folder / f"{name}.txt.gz") for name in names] for names in files]
    for left, right in chain(tatoeba, *(zip(*pair, strict=True) for pair in sides)):
        if left.strip() and right.strip():
            yield left, right


def japanese(data: Path, n: int | None) -> GoldText:
    """English-Japanese: 1,232 sentences of encyclopedia articles, and 50,000 pairs of everyday sentences."""
    folder = data / "alignment" / "en-ja"
    gold = read_gold(folder / "kftt-all.gold.gz")
    source, target = (
        [
            *read_lines(folder / f"kftt-all.{side}.gz"),
            *islice(read_lines(folder / f"tanaka-train.{lang}.gz"), n),
        ]
        for side, lang in (("src", "en"), ("tgt", "ja"))
    )
    return GoldText(source, target, gold, _two_thirds(len(gold)))


SETS: dict[str, Callable[[Path, int | None], GoldText]] = {
    "English-French": hansards,
    "English-Czech": czech,
    "English-Japanese": japanese,
}


def _two_thirds(n: int) -> NDArray[np.int64]:
    """All but every third sentence."""
    return np.flatnonzero(np.arange(n) % 3)


def tokenise(text: str) -> str:
    """Words and signs with spaces between them."""
    return " ".join(_TOKEN.findall(text))


def read_lines(path: Path) -> Iterator[str]:
    """Lines of a plain or compressed file."""
    with gzip.open(path, "rt") if path.suffix == ".gz" else path.open() as file:
        for line in file:
            yield line.rstrip("\n")
