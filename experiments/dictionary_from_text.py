"""Dictionaries from text: first translations of random headwords, to be judged, and rankings compared.

Usage: python -m experiments.dictionary_from_text DATA [--pair en cs] [--sample 100] [--rankings]

The text are the verses of DATA/parallel/bible. The sample is of the 2,000 most frequent headwords: each with
its first three translations and examples of the first, without any gold standard, for people to read.
Rankings are compared by the share of headwords of which the first translation is in DATA/lexicon/muse, which
was not made for these texts: only differences between rankings say something.
"""

from __future__ import annotations

import argparse
import gzip
import time
from collections import defaultdict
from pathlib import Path

import numpy as np

from isogloss.alignment import Aligner, Bitext
from isogloss.corpora import LinePairs, WordPairs
from isogloss.lexicon.aligned import (
    RANKINGS,
    AlignedDictionary,
    AlignedText,
    DictionaryRules,
    Entry,
    build_dictionary,
    fold_marks,
    read_sides,
    sentence_pairs,
)

MOST_FREQUENT = 2000


def align_verses(folder: Path, source: str, target: str) -> AlignedText:
    """The verses of two languages, with links of the default aligner."""
    text = WordPairs(LinePairs(folder / f"{source}.txt.gz", folder / f"{target}.txt.gz", on_bad="skip"))
    sides = read_sides(text.with_offsets())
    bitext = Bitext.from_pairs(sentence_pairs(*sides))
    return AlignedText.of(*sides, Aligner(n_jobs=1).fit(bitext).align(bitext))


def print_sample(dictionary: AlignedDictionary, number: int, seed: int) -> None:
    """Random headwords among the most frequent ones, for people to judge."""
    rng = np.random.default_rng(seed)
    chosen = rng.choice(min(MOST_FREQUENT, len(dictionary.source)), number, replace=False)
    for rank in sorted(chosen.tolist()):
        entry = dictionary.source[rank]
        shown = ", ".join(f"{one.text} {one.probability:.0%}" for one in entry.translations[:3])
        print(f"{rank + 1:5} {entry.headword} ({entry.frequency}): {shown}")
        for example in entry.translations[0].examples[:2] if entry.translations else ():
            for side in (dictionary.text.source, dictionary.text.target):
                print(f"        {side.texts[example.sentence]}")


def print_rankings(text: AlignedText, gold: dict[str, set[str]]) -> None:
    """Shares of headwords whose first translation is in a dictionary, by ranking."""
    for ranking in RANKINGS:
        dictionary = build_dictionary(text, DictionaryRules(ranking=ranking))
        known = [one for one in dictionary.source if one.translations and one.headword.lower() in gold]
        for most in (500, MOST_FREQUENT, len(dictionary.source)):
            least = dictionary.source[most - 1].frequency
            some = [one for one in known if one.frequency >= least]
            hits = [_agrees(one, dictionary.target, gold[one.headword.lower()]) for one in some]
            print(
                f"{ranking:12} {most:6} most frequent, {len(some):5} in the dictionary: {np.mean(hits):.3f}"
            )


def _agrees(entry: Entry, others: tuple[Entry, ...], gold: set[str]) -> bool:
    """Whether a form of the first translation is in the dictionary, its last two letters apart."""
    first = entry.translations[0]
    forms = [first.text] if first.entry is None else [form for form, _ in others[first.entry].forms]
    stems = {fold_marks(word.lower())[: max(4, len(word) - 2)] for word in gold}
    return any(fold_marks(form.lower()).startswith(tuple(stems)) for form in forms)


def read_gold(path: Path) -> dict[str, set[str]]:
    """Translations of each word."""
    found = defaultdict(set)
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        next(lines)
        for line in lines:
            _, source, target, _ = line.rstrip("\n").split("\t")
            found[source.lower()].add(target.lower())
    return dict(found)


def main() -> None:
    """Print what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("--pair", nargs=2, default=("en", "cs"), metavar=("SRC", "TGT"))
    parser.add_argument("--sample", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--rankings", action="store_true")
    options = parser.parse_args()
    text = align_verses(options.data / "parallel" / "bible", *options.pair)
    print(f"aligned: {time.process_time():.0f} CPU seconds")
    if options.rankings:
        print_rankings(
            text, read_gold(options.data / "lexicon" / "muse" / f"{'-'.join(options.pair)}.tsv.gz")
        )
    else:
        dictionary = build_dictionary(text)
        print(f"built: {time.process_time():.0f} CPU seconds")
        print_sample(dictionary, options.sample, options.seed)


if __name__ == "__main__":
    main()
