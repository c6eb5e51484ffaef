r"""Dictionaries from vectors, from a small text, and from both together.

    python -m experiments.dictionary_combined [folder] [--data FOLDER] [--quick]

Vectors are joined from words that are spelled alike; the text is 5,000 everyday sentences with their
translations (Tatoeba), aligned with the defaults. Precision at one against all of MUSE, in per cent, among
the words that both know and among those that either knows; a word without an answer counts as wrong. The
weight of the vectors, in links, and the temperature of their scores were chosen on English-German.
"""

from __future__ import annotations

import gzip
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from unittest import mock

from experiments._report import Table, data_folder, options_parser, own_folder, reading, write_report
from isogloss.alignment import Aligner
from isogloss.lexicon import (
    AlignedLexicon,
    InducedDictionary,
    build_space,
    combine,
    find_seed,
    induce,
    read_dictionary,
    read_vectors,
)
from isogloss.lexicon import _combining as combining
from isogloss.text import Tokeniser

PAIRS = {"en-de": ("trained", "en", "de"), "en-fr (pretrained)": ("pretrained", "en", "fr")}
SENTENCES = 5_000
MIN_LINKS = 0.5
WEIGHTS, TEMPERATURES = (1.0, 2.0, 5.0, 10.0), (0.02, 0.05, 0.1)
Pairs = Sequence[tuple[str, str]]


def aligned_lexicon(data: Path, source: str, target: str, n: int) -> AlignedLexicon:
    """What the aligner learns from some sentences."""
    aligner = Aligner().fit(list(_sentences(data, source, target, n)))
    rows = [(row[0], row[1], row[4]) for row in aligner.translation_table_ if row[4] >= MIN_LINKS]
    return AlignedLexicon.from_rows(rows, source, target)


def _sentences(data: Path, source: str, target: str, n: int) -> Iterator[tuple[list[str], list[str]]]:
    sides = Tokeniser(source), Tokeniser(target)
    with gzip.open(data / f"parallel/tatoeba/{source}-{target}.tsv.gz", "rt", encoding="utf-8") as file:
        for line in islice(file, 1, n + 1):
            left, right = (split(text) for split, text in zip(sides, line.split("\t")[1:3], strict=True))
            if left and right:
                yield left, right


def induced(data: Path, kind: str, source: str, target: str) -> InducedDictionary:
    """Five translations of every word that has a vector."""
    vectors = {name: read_vectors(data / "vectors" / kind / f"{name}.npz", name) for name in (source, target)}
    space = build_space(vectors, [find_seed(*vectors.values()).dictionary], "ibfa").space
    placed = space.place(vectors)
    return induce(placed[source], placed[target], k=5)


def precision(pairs: Pairs, gold: Mapping[str, Collection[str]], words: Collection[str]) -> str:
    """Share of words whose first translation is right."""
    best: dict[str, str] = {}
    for source, target in pairs:
        best.setdefault(source, target)
    return f"{100 * sum(best.get(word) in gold[word] for word in words) / len(words):.1f}"


def compare(data: Path, kind: str, source: str, target: str, n: int) -> list[list[str]]:
    """A row for each way."""
    found, lexicon = induced(data, kind, source, target), aligned_lexicon(data, source, target, n)
    gold = read_dictionary(data / f"lexicon/muse/{source}-{target}.tsv.gz", source, target).translations
    known = {word for word, _ in found.pairs}, lexicon.counts.keys()
    asked = (
        [word for word in gold if word in known[0] and word in known[1]],
        [word for word in gold if word in known[0] or word in known[1]],
    )
    text = [(word, max(counts, key=lambda t: counts[t])) for word, counts in lexicon.counts.items()]
    both = combine(found, lexicon, k=1).pairs
    ways: dict[str, Pairs] = {"vectors": found.pairs, "text": text, "both": both}
    for weight in WEIGHTS:
        for temperature in TEMPERATURES:
            with mock.patch.multiple(combining, PRIOR_LINKS=weight, TEMPERATURE=temperature):
                ways[f"both, {weight:g} links, {temperature:g}"] = combine(found, lexicon, k=1).pairs
    return [[name, *(precision(pairs, gold, words) for words in asked)] for name, pairs in ways.items()]


def main(arguments: Sequence[str] | None = None) -> Path:
    """Run the experiment and write the report."""
    options = options_parser(__doc__, data="vectors, lexicon and parallel").parse_args(arguments)
    data, folder = data_folder(options.data, "vectors"), own_folder(options.folder, "dictionary_combined")
    lines, figures = ["# Dictionaries from vectors and text", "", *reading(__doc__, 4)], {}
    for name, pair in list(PAIRS.items())[: 1 if options.quick else None]:
        figures[name] = compare(data, *pair, SENTENCES // 10 if options.quick else SENTENCES)
        table = Table(name, ["", "words of both", "words of either"], figures[name])
        table.show()
        lines += [f"## {name}", "", *table.markdown(), ""]
    return write_report(folder, lines, figures)


if __name__ == "__main__":
    main()
