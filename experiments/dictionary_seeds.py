r"""Dictionaries from small seeds, from spelling and from full dictionaries, with and without self-learning.

    python -m experiments.dictionary_seeds [folder] [--data FOLDER] [--quick] [--pairs NAME ...]

Each pair of languages is learned from the training words of MUSE, from words that are spelled alike, and from
716, 125, 60 and 25 of these, drawn at random. Each seed is used in four ways:

* rotation, InterBatteryFA: fitted to the seed alone.
* plain rounds: five rounds of self-learning that begin with the map of the seed.
* build: :func:`~isogloss.lexicon.build_space` with its defaults, which starts small seeds with rotations of
  frequent words and sampled similarities, and refuses a seed that is no better than chance.

Precision at one by CSLS on test words with a translation among the vectors, in per cent, both directions.
English-German was used to choose the sampled rounds; the other pairs were not.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

from experiments._report import Table, data_folder, options_parser, own_folder, reading, write_report
from isogloss.exceptions import DictionaryError
from isogloss.lexicon import (
    BilingualDictionary,
    WordSpace,
    WordVectors,
    build_space,
    evaluate_space,
    identical_words,
    read_dictionary,
    read_vectors,
    refine,
)
from isogloss.lexicon import _refinement as refinement

PAIRS = {
    "en-fr (pretrained)": ("pretrained", "en", "fr"),
    "en-de": ("trained", "en", "de"),
    "fr-it": ("trained", "fr", "it"),
    "de-it": ("trained", "de", "it"),
}
SIZES = (716, 125, 60, 25)
Vectors = Mapping[str, WordVectors]
Learner = Callable[[Vectors, BilingualDictionary], WordSpace]


def plain_rounds(vectors: Vectors, seed: BilingualDictionary) -> WordSpace:
    """Self-learning as it was: from the map of the seed, however small."""
    with mock.patch.object(refinement, "FEW_PAIRS", 0):
        return refine(vectors, [seed], rounds=5, model="ibfa").space


LEARNERS: dict[str, Learner] = {
    "rotation": lambda vectors, seed: WordSpace.learn(vectors, [seed], "procrustes"),
    "InterBatteryFA": lambda vectors, seed: WordSpace.learn(vectors, [seed], "ibfa"),
    "plain rounds": plain_rounds,
    "build": lambda vectors, seed: build_space(vectors, [seed]).space,
}


def precision(space: WordSpace, vectors: Vectors, test: BilingualDictionary) -> list[float]:
    """Of both directions, in per cent."""
    placed = space.place(vectors)
    return [
        100 * evaluate_space(placed, one, reachable_only=True).precision() for one in (test, test.inverse())
    ]


def outcome(learner: Learner, vectors: Vectors, seed: BilingualDictionary, test: BilingualDictionary) -> Any:
    """Precision, or None for a seed that was refused."""
    try:
        return precision(learner(vectors, seed), vectors, test)
    except DictionaryError:
        return None


def seeds(vectors: Vectors, train: BilingualDictionary, quick: bool) -> dict[str, BilingualDictionary]:
    """The seeds by name."""
    alike = identical_words(*vectors.values())
    found = {} if quick else {f"MUSE, {len(train.rows(*vectors.values())[0]):,} pairs": train}
    found[f"identical, {len(alike):,} pairs"] = alike
    rng = np.random.default_rng(1)
    for size in SIZES[1:2] if quick else SIZES:
        chosen = sorted(rng.choice(len(alike), size, replace=False))
        pairs = [alike.pairs[i] for i in chosen]
        found[f"identical, {size}"] = BilingualDictionary(alike.source, alike.target, pairs)
    return found


def compare(data: Path, kind: str, source: str, target: str, quick: bool) -> dict[str, dict[str, Any]]:
    """Every seed and every way of one pair of languages."""
    limit = 3_000 if quick else None
    vectors = {
        name: read_vectors(data / "vectors" / kind / f"{name}.npz", name, limit=limit)
        for name in (source, target)
    }
    path = data / "lexicon" / "muse" / f"{source}-{target}.tsv.gz"
    train, test = (read_dictionary(path, source, target, split=split) for split in ("train", "test"))
    found: dict[str, dict[str, Any]] = {}
    for name, seed in seeds(vectors, train, quick).items():
        found[name] = {}
        for how, learner in LEARNERS.items():
            found[name][how] = outcome(learner, vectors, seed, test)
            print(f"  {name}, {how}: {found[name][how]}", flush=True)
    return found


def table(title: str, found: Mapping[str, Mapping[str, Any]]) -> Table:
    """One pair of languages."""
    rows = [
        [name, *("refused" if one is None else " / ".join(f"{x:.1f}" for x in one) for one in ways.values())]
        for name, ways in found.items()
    ]
    return Table(title, ["seed", *LEARNERS], rows)


def main(arguments: Sequence[str] | None = None) -> Path:
    """Run the experiment and write the report."""
    parser = options_parser(__doc__, data="vectors and lexicon")
    parser.add_argument("--pairs", nargs="+", choices=list(PAIRS), default=list(PAIRS))
    options = parser.parse_args(arguments)
    data, folder = data_folder(options.data, "vectors"), own_folder(options.folder, "dictionary_seeds")
    lines, figures = ["# Dictionaries from small seeds", "", *reading(__doc__, 4)], {}
    for name in options.pairs[:1] if options.quick else options.pairs:
        print(name, flush=True)
        figures[name] = compare(data, *PAIRS[name], options.quick)
        one = table(name, figures[name])
        one.show()
        lines += [f"## {name}", "", *one.markdown(), ""]
    return write_report(folder, lines, figures)


if __name__ == "__main__":
    main()
