"""Texts whose sentences are aligned in a known way: line-aligned corpora, damaged on purpose.

Lines of a corpus are the sentences. Of every corpus one or two languages besides English were used to choose
constants (``DEVELOPED``); the others are reported.
"""

from __future__ import annotations

import gzip
import random
import re
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

Bead = tuple[tuple[int, ...], tuple[int, ...]]
Lines = list[tuple[str, str]]

DEVELOPED = ("bible en-de", "ntrex en-ru", "ntrex en-ja", "tatoeba en-de")
REPORTED = (
    "bible en-cs",
    "bible en-hr",
    "bible en-es",
    "ntrex en-fi",
    "ntrex en-cs",
    "ntrex en-zh",
    "ntrex en-hi",
    "ntrex en-sw",
    "tatoeba en-cs",
    "tatoeba en-fi",
    "tatoeba en-ru",
)
"""Corpora and languages."""

DAMAGES = ("clean", "merged", "split", "deleted", "noisy", "chapter", "shuffled", "all")

NTREX = {"ru": "rus", "ja": "jpn", "fi": "fin", "cs": "ces", "zh": "zho-CN", "hi": "hin", "sw": "swa"}

PARAGRAPH = 5
"""Mean length of paragraphs, in sentences."""

_INSIDE = re.compile(r"(?<=[,;:\uff0c\u3001\uff1b\uff1a\u060c])\s*")


class DamagedText(NamedTuple):
    """Sentences of both sides, the number of the paragraph of each, and which correspond."""

    source: list[str]
    target: list[str]
    source_paragraphs: list[int]
    target_paragraphs: list[int]
    gold: set[Bead]


def read_pairs(data: Path, name: str, n: int) -> Lines:
    """The first sentence pairs of a corpus, for example of ``bible en-cs``."""
    corpus, _, languages = name.partition(" ")
    folder, other = data / "parallel" / corpus, languages.removeprefix("en-")
    if corpus == "tatoeba":
        rows = [line.rstrip("\n").split("\t") for line in _lines(folder / f"{languages}.tsv.gz")]
        pairs = [(row[1], row[2]) for row in rows if len(row) > 2]
    else:
        files = ("eng", NTREX[other]) if corpus == "ntrex" else ("en", other)
        pairs = list(zip(*(map(str.strip, _lines(folder / f"{file}.txt.gz")) for file in files), strict=True))
    return [pair for pair in pairs if all(pair)][:n]


def damage(pairs: Lines, kind: str, seed: int) -> DamagedText:
    """Damage a text in one way, or in all.

    A tenth of the sentences is merged with the next one or two on one side, cut in two at a mark inside, left
    out on one side, or replaced on both sides by sentences from elsewhere; a chapter of a tenth of the text
    is left out; or a tenth of the paragraphs changes places with the next one on one side. ``all`` does each
    of the first four to one sentence in forty.
    """
    rng = random.Random(f"{kind} {seed}")
    out = _Text(rng)
    chapter = range(len(pairs) // 3, len(pairs) // 3 + len(pairs) // 10)
    foreign = pairs[:]
    rng.shuffle(foreign)
    k = 0
    while k < len(pairs):
        out.maybe_end_paragraph()
        done = kind if kind != "all" else rng.choice(["merged", "split", "deleted", "noisy"])
        if kind == "chapter":
            done = "deleted" if k in chapter else ""
        elif rng.random() >= 0.1:
            done = ""
        k += out.add(pairs, k, done, foreign, side=1 if kind == "chapter" else rng.randrange(2))
    return out.shuffled() if kind == "shuffled" else out.text


class _Text:
    """A damaged text as it grows."""

    def __init__(self, rng: random.Random) -> None:
        self.rng, self.paragraph = rng, 0
        self.text = DamagedText([], [], [], [], set())

    def maybe_end_paragraph(self) -> None:
        self.paragraph += self.rng.random() < 1 / PARAGRAPH

    def add(self, pairs: Lines, k: int, kind: str, foreign: Lines, side: int) -> int:
        """Add a sentence pair, damaged on one side; return how many pairs were used."""
        if kind == "merged":
            many = pairs[k : k + (3 if self.rng.random() < 0.1 else 2)]
            sides = [[one[s] for one in many] for s in (0, 1)]
            sides[side] = [" ".join(sides[side])]
            self.put(*sides)
            return len(many)
        if kind == "split" and (parts := _cut(pairs[k][side])):
            sides = [[pairs[k][0]], [pairs[k][1]]]
            sides[side] = parts
            self.put(*sides)
        elif kind == "deleted":
            self.put([pairs[k][0]] if side else [], [] if side else [pairs[k][1]])
        elif kind == "noisy":
            self.put([foreign[k][0]], [])
            self.put([], [foreign[(k + len(pairs) // 2) % len(pairs)][1]])
        else:
            self.put([pairs[k][0]], [pairs[k][1]])
        return 1

    def put(self, source: Sequence[str], target: Sequence[str]) -> None:
        """Add a bead."""
        text, ends = self.text, (len(self.text.source), len(self.text.target))
        if source and target:
            text.gold.add(
                (tuple(range(ends[0], ends[0] + len(source))), tuple(range(ends[1], ends[1] + len(target))))
            )
        text.source.extend(source)
        text.target.extend(target)
        text.source_paragraphs.extend([self.paragraph] * len(source))
        text.target_paragraphs.extend([self.paragraph] * len(target))

    def shuffled(self) -> DamagedText:
        """With a tenth of the target paragraphs after the one that follows."""
        order = sorted(set(self.text.target_paragraphs))
        k = 0
        while k + 1 < len(order):
            if self.rng.random() < 0.1:
                order[k], order[k + 1] = order[k + 1], order[k]
                k += 1
            k += 1
        at = [j for p in order for j, q in enumerate(self.text.target_paragraphs) if p == q]
        new = {old: number for number, old in enumerate(at)}
        gold = {(s, tuple(new[j] for j in t)) for s, t in self.text.gold}
        target = [self.text.target[j] for j in at]
        return self.text._replace(
            target=target, target_paragraphs=[self.text.target_paragraphs[j] for j in at], gold=gold
        )


def _cut(sentence: str) -> list[str]:
    """A sentence in two parts, at the mark that is nearest to its middle; nothing if it has none."""
    places = [mark.end() for mark in _INSIDE.finditer(sentence) if 3 < mark.end() < len(sentence) - 3]
    if not places:
        return []
    at = min(places, key=lambda place: abs(place - len(sentence) / 2))
    return [sentence[:at].strip(), sentence[at:].strip()]


def _lines(path: Path) -> list[str]:
    with gzip.open(path, "rt", encoding="utf-8") as file:
        return list(file)
