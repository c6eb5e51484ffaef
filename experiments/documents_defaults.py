r"""Whether the defaults of hub CCA hold on short texts with many gaps, against a plain hub CCA.

    python -m experiments.documents_defaults [folder] [--data FOLDER] [--rows N] [--corpora a,b,...]
        [--dimensions N] [--part dev|test] [--settings] [--quick] [--seed N]

The defaults were found on help pages and on verses of the Bible. These corpora are of other kinds: short
texts, of which each language but English has lost a further third at random:

* 'paragraphs': three successive paragraphs of the LibreOffice help in ten languages, the same words as the
  pages in texts of a tenth of their length;
* 'sentences': four sentences of Tatoeba; a language has the translations that there are, often of one or two,
  so that texts are comparable and no more;
* 'news': three sentences of NTREX in twelve languages, few rows, about as many things;
* 'verses': five verses of the Bible in eight languages;
* 'openings': the first 40 words of help pages in fifteen languages, some of which have a third of the pages.

Three fifths of the rows to learn from, a fifth to look for better settings on ('dev') and a fifth to ask
for ('test'); as many dimensions as asked for, or half of the rows to learn from. Words that two languages
share are removed. 'Plain' is hub CCA as in the thesis with TF-IDF: no ridge, all components alike.
'Weighted' adds squared correlations as weights and a ridge, of a tenth of the mean variance of reduced
directions or, 'strong', of a tenth absolutely: (1 - 0.1) C + 0.1 I.
"""

from __future__ import annotations

import argparse
import gzip
from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np

from experiments._report import (
    Table,
    claim,
    options_parser,
    own_folder,
    reading,
    save_figure,
    timed,
    write_report,
)
from experiments.documents_data import Texts, as_corpus, chosen, data_folder, help_pages
from isogloss.similarity import DocumentModel, HubSimilarity, LSISimilarity, evaluate

PARAGRAPHS = ("en", "de", "es", "fr", "it", "cs", "fi", "hu", "pl", "ru")
OPENINGS = ("en", "de", "es", "fr", "it", "cs", "fi", "hu", "pl", "ru", "sv", "da", "nl", "tr", "sl")
OPENING_WORDS = 40
VERSES = ("en", "de", "es", "it", "cs", "da", "hr", "pt")
NEWS = {
    "en": "eng",
    "de": "deu",
    "it": "ita",
    "cs": "ces",
    "el": "ell",
    "nl": "nld",
    "fr": "fra",
    "fi": "fin",
    "hu": "hun",
    "da": "dan",
    "ca": "cat",
    "hr": "hrv",
}
TATOEBA = ("de", "ru", "cs", "it", "es", "pt", "fr", "nl", "fi", "sl")
LOST = 1 / 3

Factory = Callable[[int, int], DocumentModel]


def thesis(k: int, n: int, **changes: Any) -> HubSimilarity:
    """Hub CCA as printed."""
    settings = {"agreement": "hub", "ridge": 0.0, "power": 0.0, "n_directions": k, "scheme": "tfidf"}
    return HubSimilarity(k, hub="en", random_state=0, **(settings | changes))


METHODS: dict[str, Factory] = {
    "CL-LSI, thesis": lambda k, n: LSISimilarity(k, inverse=True, scheme="tfidf", random_state=0),
    "CL-LSI": lambda k, n: LSISimilarity(k, random_state=0),
    "plain": thesis,
    "weighted": lambda k, n: thesis(k, n, ridge=0.1 * n / k, power=2.0),
    "weighted, strong": lambda k, n: thesis(k, n, ridge=0.1 * n, power=2.0),
    "the default": lambda k, n: HubSimilarity(k, hub="en", random_state=0),
}
SETTINGS: dict[str, dict[str, Any]] = {
    "ridge 1": {"ridge": 1.0},
    "ridge 4": {"ridge": 4.0},
    "ridge 8": {"ridge": 8.0},
    "power 1": {"power": 1.0},
    "power 3": {"power": 3.0},
    "log": {"scheme": "log"},
    "two documents": {"min_df": 2},
    "hub": {"agreement": "hub"},
    "800 directions": {"n_directions": 800},
}


def lines_of(path: Path) -> list[str]:
    """Lines of a file."""
    with gzip.open(path, "rt", encoding="utf-8") as file:
        return [line.rstrip("\n") for line in file]


def grouped(columns: dict[str, list[str]], groups: Sequence[Sequence[int]], whole: bool) -> Texts:
    """Texts of groups of lines; with ``whole`` a text lacks that lacks one of its lines."""
    out: Texts = {}
    for code, lines in columns.items():
        texts: list[str | None] = []
        for group in groups:
            there = [lines[row] for row in group if lines[row].strip()]
            texts.append(" ".join(there) if there and (len(there) == len(group) or not whole) else None)
        out[code] = texts
    return out


def successive(keys: Sequence[str], size: int) -> list[list[int]]:
    """Runs of so many lines with the same key."""
    of: dict[str, list[int]] = defaultdict(list)
    for row, key in enumerate(keys):
        of[key].append(row)
    return [
        rows[start : start + size] for rows in of.values() for start in range(0, len(rows) - size + 1, size)
    ]


def paragraphs(folder: Path) -> Texts:
    """Three successive paragraphs of a help page."""
    home = folder / "parallel" / "lohelp"
    pages = [key.partition("#")[0] for key in lines_of(home / "ids.txt.gz")]
    columns = {code: lines_of(home / f"{code}.txt.gz") for code in PARAGRAPHS}
    return grouped(columns, successive(pages, 3), whole=True)


def verses(folder: Path) -> Texts:
    """Five successive verses of a chapter."""
    home = folder / "parallel" / "bible"
    chapters = [key.partition(":")[0] for key in lines_of(home / "ids.txt.gz")]
    columns = {code: lines_of(home / f"{code}.txt.gz") for code in VERSES}
    return grouped(columns, successive(chapters, 5), whole=True)


def news(folder: Path) -> Texts:
    """Three successive sentences of a news item."""
    home = folder / "parallel" / "ntrex"
    items = lines_of(home / "DOCUMENT_IDS.txt.gz")
    columns = {code: lines_of(home / f"{name}.txt.gz") for code, name in NEWS.items()}
    return grouped(columns, successive(items, 3), whole=True)


def sentences(folder: Path) -> Texts:
    """Four English sentences each, with what other languages have of them; those of most languages first."""
    home = folder / "parallel" / "tatoeba"
    found: dict[str, dict[str, str]] = defaultdict(dict)
    for code in TATOEBA:
        for line in lines_of(home / f"en-{code}.tsv.gz"):
            _, english, other = line.split("\t")[:3]
            found[english][code] = other
    best = sorted(found, key=lambda english: (-len(found[english]), english))[:20_000]
    best = [best[row] for row in np.random.default_rng(0).permutation(len(best))]
    columns = {"en": best} | {code: [found[english].get(code, "") for english in best] for code in TATOEBA}
    return grouped(columns, successive([""] * len(best), 4), whole=False)


def openings(folder: Path) -> Texts:
    """The first words of help pages, titles first."""
    _, pages = help_pages(folder, OPENINGS)
    return {
        code: [None if text is None else " ".join(text.split()[:OPENING_WORDS]) for text in column]
        for code, column in pages.items()
    }


CORPORA: dict[str, Callable[[Path], Texts]] = {
    "paragraphs": paragraphs,
    "sentences": sentences,
    "news": news,
    "verses": verses,
    "openings": openings,
}


def with_gaps(texts: Texts, rows: int, seed: int) -> Texts:
    """At most so many rows, of which every language but English loses some more."""
    rng = np.random.default_rng(seed)
    n = len(texts["en"])
    kept = np.sort(rng.permutation(n)[:rows])
    out = chosen(texts, kept)
    for code in out:
        if code != "en":
            gone = rng.random(len(kept)) < LOST
            out[code] = [None if lost else text for text, lost in zip(out[code], gone, strict=True)]
    return out


def scores(texts: Texts, methods: dict[str, Factory], k: int, part: str, seed: int) -> dict[str, float]:
    """AMRR of methods on a part of a corpus."""
    n = len(texts["en"])
    order = np.random.default_rng(seed).permutation(n)
    train, dev, test = (np.sort(rows) for rows in np.split(order, [3 * n // 5, 4 * n // 5]))
    corpus = as_corpus(chosen(texts, train)).without_shared_words()
    asked = as_corpus(chosen(texts, dev if part == "dev" else test))
    out = {}
    for name, method in methods.items():
        model = timed(f"{name}, {k}", lambda m=method: m(k, len(train)).fit(corpus))
        out[name] = evaluate(model, asked).amrr
        print(f"{name}: {out[name]:.4f}", flush=True)
    return out


def methods_for(more: bool) -> dict[str, Factory]:
    """What is compared, with other settings of hub CCA if asked for."""
    others = {
        name: (lambda k, n, c=changes: HubSimilarity(k, hub="en", random_state=0, **c))
        for name, changes in SETTINGS.items()
    }
    return METHODS | others if more else METHODS


def run(options: argparse.Namespace) -> Path:
    """All corpora."""
    folder = data_folder(options.data)
    methods = methods_for(options.settings)
    found: dict[str, dict[str, float]] = {}
    for name in options.corpora.split(","):
        texts = with_gaps(CORPORA[name](folder), 150 if options.quick else options.rows, options.seed)
        k = min(10 if options.quick else options.dimensions, len(texts["en"]) * 3 // 10)
        print(f"{name}: {len(texts['en'])} rows, {k} dimensions", flush=True)
        found[name] = scores(texts, methods, k, options.part, options.seed)
    table = Table(
        f"AMRR, strict, {options.part}",
        ["method", *found],
        [[name, *(f"{found[corpus][name]:.3f}" for corpus in found)] for name in methods],
    )
    table.show()
    own = own_folder(options.folder, "documents_defaults")
    draw(found, own / "defaults.png")
    lines = ["# The defaults on other corpora", "", *claims(found), "", *table.markdown(), ""]
    return write_report(own, [*lines, "![AMRR](defaults.png)", "", *reading(__doc__, 5)], found)


def claims(found: dict[str, dict[str, float]]) -> list[str]:
    """Whether the defaults lose anywhere."""
    return [
        claim(
            values["the default"] > values[rival],
            f"{corpus}: the default above {rival} ({values['the default']:.3f}, {values[rival]:.3f})",
        )
        for corpus, values in found.items()
        for rival in METHODS
        if rival != "the default"
    ]


def draw(found: dict[str, dict[str, float]], path: Path) -> None:
    """Bars for each corpus."""
    fig, ax = plt.subplots(figsize=(9, 4))
    places, width = np.arange(len(found)), 0.8 / len(METHODS)
    for number, name in enumerate(METHODS):
        heights = [values[name] for values in found.values()]
        ax.bar(places + (number - len(METHODS) / 2 + 0.5) * width, heights, width=width, label=name)
    ax.set(xticks=places, ylabel="AMRR")
    ax.set_xticklabels(found)
    ax.grid(axis="y", alpha=0.3)
    ax.legend(fontsize=8)
    save_figure(fig, path)


def main(arguments: Sequence[str] | None = None) -> None:
    """Read the options and run."""
    parser = options_parser(__doc__)
    parser.add_argument("--data", type=Path, help="folder with parallel; ISOGLOSS_DATA by default")
    parser.add_argument("--corpora", default=",".join(CORPORA))
    parser.add_argument("--rows", default=4000, type=int, help="most rows of a corpus")
    parser.add_argument("--dimensions", default=500, type=int)
    parser.add_argument("--settings", action="store_true", help="other settings too; choose on 'dev' only")
    parser.add_argument("--part", choices=("dev", "test"), default="test")
    run(parser.parse_args(arguments))


if __name__ == "__main__":
    main()
