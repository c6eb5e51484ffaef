r"""Error rates on development text: what members, schedule and threshold of the aligner were chosen on.

    python -m experiments.alignment_choices [folder] [--data FOLDER] [--quick] [--texts NAME ...]

English-Czech and English-Japanese are scored on every third sentence with manual links, which no benchmark
scores, without further training text (AER). For other languages, 1,997 sentences of news and 3,000 everyday
sentences are aligned, and links that a dictionary is sure of are scored: pairs of words of the news that are
translations in MUSE and have no rival in their sentence pair. Of the links that touch their words, those
between them are right; the error is one minus the F-measure. Figures in per cent.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from experiments._report import Table, data_folder, options_parser, own_folder, write_report
from experiments.alignment_data import SETS, read_lines, tokenise
from isogloss.alignment import Aligner, Bitext, Gold, Links, score_links

SETTINGS: dict[str, dict[str, Any]] = {
    "default": {},
    "words": {"ensemble": ()},
    "words, 4 letters": {"ensemble": (4,)},
    "words, stems": {"ensemble": ("stems",)},
    "words, 4 letters, stems": {"ensemble": (4, "stems")},
    "words, 4 and 3 letters": {"ensemble": (4, 3)},
    "words, 5, 4 and 3 letters": {"ensemble": (5, 4, 3)},
    "1:3,hmm:5": {"schedule": "1:3,hmm:5"},
    "1:2,hmm:3": {"schedule": "1:2,hmm:3"},
    "1:5,hmm:3": {"schedule": "1:5,hmm:3"},
    "threshold .4": {"threshold": 0.4},
    "threshold .5": {"threshold": 0.5},
    "threshold .6": {"threshold": 0.6},
}
"""Parameters of the aligner by the name of the setting."""

NEWS = {"German": "de deu", "Spanish": "es spa", "Italian": "it ita", "Dutch": "nl nld",
        "Portuguese": "pt por", "Slovene": "sl slv"}  # fmt: skip
"""Languages with news, everyday sentences and a dictionary, and their codes in the names of files."""

EVERYDAY_PAIRS = 3_000
MIN_CHARS = 3
"""Shorter English words are left out of the sure links."""


class DevelopmentText(NamedTuple):
    """A text, and what scores its links."""

    bitext: Bitext
    gold: Gold | None
    rows: NDArray[np.int64]
    sure: list[list[tuple[int, int]]]

    def error(self, links: Links) -> float:
        """Per cent, by manual links or by the sure links of a dictionary."""
        if self.gold is None:
            return 100 * sure_error(links, self.sure)
        gold = Gold(self.gold.sure[self.rows], self.gold.possible[self.rows])
        return 100 * score_links(links[self.rows], gold).aer


def manual(data: Path, name: str) -> DevelopmentText:
    """Sentences with manual links alone, scored where benchmarks do not."""
    text = SETS[name](data, 1)
    n = len(text.gold)
    rows = np.setdiff1d(np.arange(n), text.held)
    return DevelopmentText(
        Bitext.from_pairs(zip(text.source[:n], text.target[:n], strict=True)), text.gold, rows, []
    )


def news(data: Path, language: str) -> DevelopmentText:
    """News with everyday sentences, and the links that a dictionary is sure of."""
    short, long = NEWS[language].split()
    folder = data / "parallel"
    sides = [list(read_lines(folder / f"ntrex/{name}.txt.gz")) for name in ("eng", long)]
    everyday = islice(read_lines(folder / f"tatoeba/en-{short}.tsv.gz"), 1, EVERYDAY_PAIRS + 1)
    extra = [line.split("\t")[1:3] for line in everyday]
    pairs = [(tokenise(e).lower(), tokenise(f).lower()) for e, f in [*zip(*sides, strict=True), *extra]]
    known: dict[str, set[str]] = {}
    for line in islice(read_lines(data / f"lexicon/muse/en-{short}.tsv.gz"), 1, None):
        _, english, other, *_ = line.lower().split("\t")
        known.setdefault(english, set()).add(other)
    sure = [sure_links(e.split(), f.split(), known) for e, f in pairs[: len(sides[0])]]
    return DevelopmentText(Bitext.from_pairs(pairs), None, np.arange(len(sure)), sure)


def sure_links(
    source: Sequence[str], target: Sequence[str], known: dict[str, set[str]]
) -> list[tuple[int, int]]:
    """Known translations that have no rival in a sentence pair.

    Examples
    --------
    >>> sure_links("the old dog saw the cat".split(), "le vieux chien vit le chat".split(),
    ...            {"the": {"le"}, "dog": {"chien"}, "cat": {"chat"}})
    [(2, 2), (5, 5)]
    """
    found = [
        (i, j)
        for i, word in enumerate(source)
        for j, other in enumerate(target)
        if other in known.get(word, ())
    ]
    rows, columns = Counter(i for i, _ in found), Counter(j for _, j in found)
    return [
        (i, j) for i, j in found if rows[i] == 1 and columns[j] == 1 and len(source[i]) >= MIN_CHARS
    ]  # fmt: skip


def sure_error(links: Links, sure: Sequence[Sequence[tuple[int, int]]]) -> float:
    """One minus the F-measure of the links that touch words of sure links."""
    right = touching = 0
    for row, wanted in zip(links.to_sets(), sure, strict=False):
        sources, targets = {i for i, _ in wanted}, {j for _, j in wanted}
        right += len(row & set(wanted))
        touching += sum(i in sources or j in targets for i, j in row)
    return 1 - 2 * right / max(1, touching + sum(map(len, sure)))


def main(arguments: Sequence[str] | None = None) -> Path:
    """Measure everything and write the report."""
    given = parse(arguments)
    data = data_folder(given.data, "alignment")
    lines, figures = ["# Choices of the aligner", "", *(__doc__ or "").splitlines()[4:], ""], {}
    settings = dict(islice(SETTINGS.items(), 2)) if given.quick else SETTINGS
    for name in given.texts:
        text = manual(data, name) if name in SETS else news(data, name)
        rows = []
        for setting, parameters in settings.items():
            aligner = Aligner(n_jobs=1, **parameters).fit(text.bitext)
            error = text.error(aligner.align(text.bitext))
            rows.append((setting, f"{error:.1f}", f"{aligner.threshold_:.2f}"))
            figures[f"{name}, {setting}"] = {"error": error, "threshold": aligner.threshold_}
        one = Table(name, ("", "error", "threshold"), rows)
        one.show()
        lines += [f"## {name}", "", *one.markdown(), ""]
    return write_report(own_folder(given.folder, "alignment_choices"), lines, cast(dict[str, Any], figures))


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """The options."""
    parser = options_parser(__doc__, data="alignment/, parallel/ and lexicon/")
    names = [name for name in SETS if name != "English-French"] + list(NEWS)
    parser.add_argument("--texts", nargs="+", choices=names, default=names)
    return parser.parse_args(arguments)


if __name__ == "__main__":
    main()
