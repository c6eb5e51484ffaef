r"""Precision and recall of sentence alignment on damaged texts, with other packages and CPU time.

    python -m experiments.alignment_sentences [folder] [--data FOLDER] [--quick] [--sentences N]
        [--texts NAME ...] [--damages NAME ...] [--peers NAME ...]

Texts are the first sentence pairs of corpora, damaged in known ways (see ``alignment_sentences_data``). A
bead is right if it has exactly the sentences of the gold bead; lenient F1 counts pairs of sentences that are
in one bead instead. Only beads with sentences on both sides count. Neither we nor the peers see paragraphs,
except in the last row. CPU seconds are those of aligning sentences that are in memory.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

from experiments._report import Table, data_folder, options_parser, own_folder, write_report
from experiments.alignment_sentences_data import DAMAGES, REPORTED, Bead, DamagedText, damage, read_pairs
from isogloss.alignment.sentences import SentenceAlignment, SentenceOptions, align_sentences
from isogloss.text.raw import SplitText

SENTENCES = 300

Method = Callable[[DamagedText], set[Bead]]


class Counts(NamedTuple):
    """Beads that were found, are right, and are gold; the same of pairs of sentences; CPU seconds."""

    found: int = 0
    right: int = 0
    gold: int = 0
    found_pairs: int = 0
    right_pairs: int = 0
    gold_pairs: int = 0
    seconds: float = 0.0

    def plus(self, other: Counts) -> Counts:
        """The sums of both."""
        return Counts(*(a + b for a, b in zip(self, other, strict=True)))

    def figures(self) -> dict[str, float]:
        """Precision, recall, F1 and lenient F1 in per cent."""
        return {
            "precision": 100 * self.right / max(self.found, 1),
            "recall": 100 * self.right / max(self.gold, 1),
            "f1": 200 * self.right / max(self.found + self.gold, 1),
            "lenient_f1": 200 * self.right_pairs / max(self.found_pairs + self.gold_pairs, 1),
            "cpu_seconds": self.seconds,
        }


def ours(options: SentenceOptions, *, paragraphs: bool = False) -> Method:
    """Our aligner with some settings."""

    def align(text: DamagedText) -> set[Bead]:
        sides: list[Any] = [text.source, text.target]
        if paragraphs:
            numbers = text.source_paragraphs, text.target_paragraphs
            sides = [SplitText(tuple(s), tuple(p)) for s, p in zip(sides, numbers, strict=True)]
        return _beads(align_sentences(*sides, options=options))

    return align


def galechurch(text: DamagedText) -> set[Bead]:
    """The package galechurch with its defaults."""
    import galechurch as package

    beads = package.align(text.source, text.target).beads
    ranges = [(range(b.source_start, b.source_end), range(b.target_start, b.target_end)) for b in beads]
    return {(tuple(s), tuple(t)) for s, t in ranges if s and t}


def nltk(text: DamagedText) -> set[Bead]:
    """NLTK's version of Gale and Church, whose links are gathered into beads."""
    from nltk.translate.gale_church import align_blocks

    beads: list[tuple[set[int], set[int]]] = []
    for i, j in sorted(align_blocks(list(map(len, text.source)), list(map(len, text.target)))):
        if beads and (i in beads[-1][0] or j in beads[-1][1]):
            beads[-1][0].add(i)
            beads[-1][1].add(j)
        else:
            beads.append(({i}, {j}))
    return {(tuple(sorted(s)), tuple(sorted(t))) for s, t in beads}


PEERS: dict[str, Method] = {"galechurch": galechurch, "nltk": nltk}
OURS: dict[str, Method] = {
    "isogloss, lengths": ours(SentenceOptions(passes=0, same_words=False)),
    "isogloss, lengths and same words": ours(SentenceOptions(passes=0)),
    "isogloss": ours(SentenceOptions()),
    "isogloss, with paragraphs": ours(SentenceOptions(), paragraphs=True),
}


def measure(method: Method, text: DamagedText) -> Counts:
    """Run a method on a text."""
    start = time.process_time()
    found = method(text)
    seconds = time.process_time() - start
    pairs, gold_pairs = _links(found), _links(text.gold)
    exact = len(found), len(found & text.gold), len(text.gold)
    return Counts(*exact, len(pairs), len(pairs & gold_pairs), len(gold_pairs), seconds)


def _beads(aligned: SentenceAlignment) -> set[Bead]:
    return {(tuple(bead.source), tuple(bead.target)) for bead in aligned if bead.source and bead.target}


def _links(beads: set[Bead]) -> set[tuple[int, int]]:
    return {(i, j) for source, target in beads for i in source for j in target}


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Read the options."""
    parser = options_parser(__doc__, data="parallel/")
    parser.add_argument("--sentences", type=int, default=SENTENCES, help="sentence pairs of each text")
    parser.add_argument("--texts", nargs="+", default=list(REPORTED), help="corpora and languages")
    parser.add_argument("--damages", nargs="+", default=list(DAMAGES), choices=DAMAGES)
    parser.add_argument("--peers", nargs="*", default=list(PEERS), choices=list(PEERS))
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> Path:
    """Measure, print and write."""
    given = parse(arguments)
    data = data_folder(given.data, "parallel")
    methods = {name: PEERS[name] for name in given.peers if find_spec(name)} | OURS
    missing = [name for name in given.peers if not find_spec(name)]
    texts = given.texts[:1] if given.quick else given.texts
    by_damage: dict[str, dict[str, Counts]] = {}
    by_text: dict[str, dict[str, Counts]] = {}
    for name in texts:
        pairs = read_pairs(data, name, given.sentences)
        for kind in given.damages:
            text = damage(pairs, kind, seed=1)
            for method, align in methods.items():
                counts = measure(align, text)
                for table, key in ((by_damage, kind), (by_text, name)):
                    row = table.setdefault(key, {})
                    row[method] = row.get(method, Counts()).plus(counts)
    tables = [
        _means(by_damage, methods, f"{given.sentences} pairs each of {', '.join(texts)}"),
        _f1(by_damage, methods, "F1 by damage"),
        _f1(by_text, methods, "F1 by text"),
    ]
    lines = [f"{name} is not installed and was left out." for name in missing]
    for table in tables:
        table.show()
        lines += ["", f"## {table.title}", "", *table.markdown()]
    figures = {key: {m: c.figures() for m, c in row.items()} for key, row in (by_damage | by_text).items()}
    return write_report(own_folder(given.folder, "alignment_sentences"), lines, figures)


def _means(found: dict[str, dict[str, Counts]], methods: dict[str, Method], title: str) -> Table:
    """A row per method, over everything."""
    rows = []
    for method in methods:
        total = Counts()
        for row in found.values():
            total = total.plus(row[method])
        values = total.figures()
        rows.append([method, *(f"{values[k]:.1f}" for k in values)])
    return Table(title, ["method", "precision", "recall", "F1", "lenient F1", "CPU s"], rows)


def _f1(found: dict[str, dict[str, Counts]], methods: dict[str, Method], title: str) -> Table:
    """A row per method and a column per damage or text."""
    rows = [[m, *(f"{row[m].figures()['f1']:.1f}" for row in found.values())] for m in methods]
    return Table(title, ["method", *found], rows)


if __name__ == "__main__":
    main()
