r"""Figure 8.3 of Rupnik's dissertation: mean reciprocal ranks as the common space grows.

    python -m experiments.documents_figure [folder] [--data FOLDER] [--languages en,de,es]
        [--dimensions 25,50,...] [--seeds N] [--quick] [--seed N]

The thesis learns from 300,000 pages of Wikipedia that are there in English, German and Spanish, asks for
15,000 and finds hub CCA above CL-LSI, and k-means far below; at 500 dimensions .732, .626 and .410. Here
pages of the LibreOffice help that have all three languages take their place, four fifths to learn from and
one to ask for, drawn anew for each seed. Models do not see words that two languages have in common
('strict'); on the right the first half of a page asks for the second half of its translation, which is
nearer to pages that are comparable and no more.

'Thesis' models weigh words by TF-IDF; hub CCA is as printed: the hub's correlations, no ridge, all
components alike, as many directions as components. The others use the defaults of the library. Nothing is
chosen here.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

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
from experiments.documents_tables import METHODS
from isogloss.similarity import compare

PUBLISHED = {"k-means": 0.410, "CL-LSI, thesis": 0.626, "hub CCA, thesis": 0.732}
SETTINGS = {"strict": "whole pages", "halves": "halves of pages"}
Results = dict[tuple[str, str, int], list[float]]


def complete(texts: Texts) -> Texts:
    """The rows that have every language."""
    rows = np.flatnonzero([None not in row for row in zip(*texts.values(), strict=True)])
    return chosen(texts, rows)


def sizes(texts: Texts, seed: int, dimensions: Sequence[int]) -> Results:
    """All methods at all sizes that the rows allow, for one seed."""
    n = len(next(iter(texts.values())))
    order = np.random.default_rng(seed).permutation(n)
    train, test = np.sort(order[n // 5 :]), np.sort(order[: n // 5])
    corpus = as_corpus(chosen(texts, train)).without_shared_words()
    pages, (first, second) = chosen(texts, test), halves(texts, test)
    present = np.ones((len(test), len(texts)), dtype=bool)
    out: Results = defaultdict(list)
    for name, method in METHODS.items():
        for k in (k for k in dimensions if k < len(train)):
            model = timed(f"seed {seed}, {name}, {k}", lambda m=method, k=k: m(k).fit(corpus))
            whole, one, other = (
                {code: model.project(column, code) for code, column in part.items()}
                for part in (pages, first, second)
            )
            out["strict", name, k].append(compare(whole, presence=present).amrr)
            out["halves", name, k].append(compare(one, other, presence=present).amrr)
    return out


def tables(results: Results, dimensions: Sequence[int]) -> list[Table]:
    """AMRR of every method and size, in both settings."""
    return [
        Table(
            f"AMRR, {said}",
            ["method", *(str(k) for k in dimensions), "thesis, 500"],
            [
                [
                    name,
                    *(f"{np.mean(results[setting, name, k]):.3f}" for k in dimensions),
                    f"{PUBLISHED[name]:.3f}" if name in PUBLISHED else "",
                ]
                for name in METHODS
            ],
        )
        for setting, said in SETTINGS.items()
    ]


def draw(results: Results, dimensions: Sequence[int], path: Path) -> None:
    """The figure, for both settings."""
    fig, axes = plt.subplots(1, 2, figsize=(11, 4.2))
    for ax, (setting, said) in zip(axes, SETTINGS.items(), strict=True):
        for name in METHODS:
            means = [np.mean(results[setting, name, k]) for k in dimensions]
            ax.plot(dimensions, means, marker="o", label=name)
        ax.set(xlabel="dimensions", ylabel="AMRR", title=said)
        ax.grid(alpha=0.3)
    axes[1].legend(fontsize=8)
    save_figure(fig, path)


def claims(results: Results, dimensions: Sequence[int]) -> list[str]:
    """What the thesis says of its figure, asked of this one."""
    lines = []
    for setting, said in SETTINGS.items():
        mean = {key[1:]: float(np.mean(values)) for key, values in results.items() if key[0] == setting}
        for kind in (", thesis", ""):
            gains = [mean["hub CCA" + kind, k] / mean["CL-LSI" + kind, k] - 1 for k in dimensions]
            shown = ", ".join(f"{gain:+.1%}" for gain in gains)
            lines.append(claim(min(gains) > 0, f"{said}: hub CCA{kind} above CL-LSI{kind} ({shown})"))
        last = [mean["k-means", k] < 0.8 * mean["CL-LSI, thesis", k] for k in dimensions]
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
    for seed in range(options.seed, options.seed + (1 if options.quick else options.seeds)):
        for key, values in sizes(texts, seed, dimensions).items():
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
    parser.add_argument("--dimensions", default="25,50,100,200,300,500,800")
    parser.add_argument("--seeds", default=2, type=int)
    run(parser.parse_args(arguments))


if __name__ == "__main__":
    main()
