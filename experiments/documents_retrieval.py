r"""Figure 8.3 of Rupnik's dissertation where it is hard: documents that have to find their other versions.

    python -m experiments.documents_retrieval [folder] [--data FOLDER] [--languages en,de,...]
        [--dimensions 100,300,500] [--seeds N] [--quick] [--seed N]

Pages of the LibreOffice help take the place of Wikipedia. They repeat names of menus and functions in all
languages, so plain retrieval is at its ceiling; three settings are not:

* 'strict': models do not see any word that two languages have in common;
* 'halves': strict, and the first half of a page has to find the second half of its translation;
* 'apart': strict, and in training no page has a language of each of two groups, so that pairs across them
  have no common document. 'Thinned' has as few documents of each language, but common ones.

A fifth of the pages, the same for all seeds, serves to choose settings (the ridge of hub CCA, the variant of
CL-LSI) and the weights of the combination; nobody learns from it. Another fifth, drawn anew for each seed
from the others, is asked for once. AMRR is the mean reciprocal rank, averaged over ordered pairs of
languages; figures are means over seeds.

'Thesis' models weigh words by TF-IDF, and hub CCA is as printed: the hub's correlations, no ridge, all
components alike, as many directions as components. The others use the defaults of the library. Names, and the
combination, see all words, because nothing of the channel of names survives 'strict'.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
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
from experiments.documents_data import (
    Texts,
    as_corpus,
    chosen,
    data_folder,
    halves,
    help_pages,
    keep_apart,
    parts,
    thinned,
)
from isogloss.similarity import (
    CCASimilarity,
    CombinedSimilarity,
    DocumentModel,
    HubSimilarity,
    KMeansSimilarity,
    LSISimilarity,
    RetrievalReport,
    compare,
)

LANGUAGES = "en,de,es,it,cs,el"
GROUPS = (("de", "es"), ("cs", "el"))
NEIGHBOURS = 10
Factory = Callable[[int], DocumentModel]
Results = dict[tuple[str, str, int], list[float]]


def models(ridge: float, inverse: bool) -> dict[str, Factory]:
    """Every model by its name, as a function of its size."""
    return {
        "k-means": lambda k: KMeansSimilarity(k, random_state=0),
        "CL-LSI, thesis": lambda k: LSISimilarity(k, inverse=True, scheme="tfidf", min_df=2, random_state=0),
        "CL-LSI": lambda k: LSISimilarity(k, inverse=inverse, random_state=0),
        "hub CCA, thesis": lambda k: HubSimilarity(
            k, agreement="hub", ridge=0, power=0, n_directions=k, scheme="tfidf", min_df=2, random_state=0
        ),
        "hub CCA, hub only": lambda k: HubSimilarity(k, agreement="hub", ridge=ridge, random_state=0),
        "hub CCA": lambda k: HubSimilarity(k, ridge=ridge, random_state=0),
    }


def projected(model: Any, texts: Mapping[str, Sequence[str | None]]) -> dict[str, Any]:
    """The texts that are there, as points."""
    return {
        language: model.project([text for text in column if text is not None], language)
        for language, column in texts.items()
    }


def presence(texts: Mapping[str, Sequence[str | None]]) -> Any:
    """Which row has which language."""
    return np.array([[text is not None for text in column] for column in texts.values()]).T


def ask(model: Any, texts: Texts, targets: Texts | None = None, *, csls: int = 0) -> RetrievalReport:
    """Mate retrieval of raw texts."""
    found = None if targets is None else projected(model, targets)
    return compare(projected(model, texts), found, presence=presence(texts), csls=csls)


def strict(texts: Texts) -> Any:
    """A corpus without words that two languages share."""
    return as_corpus(texts).without_shared_words()


def choose(texts: Texts, dimensions: int, seed: int, *, quick: bool) -> tuple[float, bool, Table]:
    """Settings that do best on the part for choosing, in the strict setting on halves."""
    rows = parts(len(next(iter(texts.values()))), seed)
    corpus, (first, second) = strict(chosen(texts, rows.train)), halves(texts, rows.valid)
    ridges = (2.0,) if quick else (1.0, 2.0, 4.0)
    hub = {
        r: ask(HubSimilarity(dimensions, ridge=r, random_state=0).fit(corpus), first, second) for r in ridges
    }
    lsi = {
        i: ask(LSISimilarity(dimensions, inverse=i, random_state=0).fit(corpus), first, second)
        for i in (False, True)
    }
    lines = [[f"hub CCA, ridge {r:g}", f"{found.amrr:.3f}"] for r, found in hub.items()]
    lines += [
        [f"CL-LSI, {'pseudo-inverse' if i else 'plain'}", f"{found.amrr:.3f}"] for i, found in lsi.items()
    ]
    best = max(hub, key=lambda r: hub[r].amrr), max(lsi, key=lambda i: lsi[i].amrr)
    return *best, Table("Chosen on the part for choosing", ["setting", "AMRR"], lines)


def sizes(texts: Texts, seed: int, factories: Mapping[str, Factory], dimensions: Sequence[int]) -> Results:
    """All models at all sizes, strict and on halves, for one seed."""
    rows = parts(len(next(iter(texts.values()))), seed)
    corpus, test = strict(chosen(texts, rows.train)), chosen(texts, rows.test)
    first, second = halves(texts, rows.test)
    out: Results = defaultdict(list)
    for name, factory in factories.items():
        for k in dimensions:
            model = timed(f"seed {seed}, {name}, {k}", lambda f=factory, k=k: f(k).fit(corpus))
            for csls, mark in ((0, ""), (NEIGHBOURS, " + CSLS")):
                out["strict", name + mark, k].append(ask(model, test, csls=csls).amrr)
                out["halves", name + mark, k].append(ask(model, first, second, csls=csls).amrr)
    return out


def far_apart(texts: Texts, seed: int, factory: Factory, k: int) -> dict[str, float]:
    """Mean MRR of pairs across the groups, after training on all pages, thinned ones, and ones kept apart."""
    rows = parts(len(next(iter(texts.values()))), seed)
    train, test = chosen(texts, rows.train), chosen(texts, rows.test)
    kinds = {
        "all": train,
        "thinned": thinned(train, [name for group in GROUPS for name in group], seed),
        "apart": keep_apart(train, GROUPS, seed),
    }
    out = {}
    for kind, learned in kinds.items():
        report = ask(factory(k).fit(strict(learned)), test)
        across = [report.pairs[pair].mrr for a in GROUPS[0] for b in GROUPS[1] for pair in ((a, b), (b, a))]
        out[kind] = float(np.mean(across))
    return out


def pairs_alone(
    texts: Texts, seed: int, factory: Factory, k: int, ridge: float
) -> dict[str, tuple[float, float]]:
    """CCA of a pair alone, and hub CCA of all languages on the same pair: mean MRR of both directions."""
    rows = parts(len(next(iter(texts.values()))), seed)
    train, (first, second) = chosen(texts, rows.train), halves(texts, rows.test)
    corpus = strict(train)
    together = ask(factory(k).fit(corpus), first, second)
    out = {}
    for a, b in (("en", "de"), GROUPS[0], GROUPS[1]):
        alone = CCASimilarity(k, ridge=ridge, random_state=0).fit(corpus.select(languages=[a, b]))
        own = ask(alone, {c: first[c] for c in (a, b)}, {c: second[c] for c in (a, b)})
        out[f"{a}-{b}"] = tuple(
            float(np.mean([report.pairs[a, b].mrr, report.pairs[b, a].mrr])) for report in (own, together)
        )
    return out


def added(texts: Texts, seed: int, factory: Factory, k: int, language: str) -> tuple[float, float]:
    """AMRR of a fit of all languages, and of one to which a language was added, over pairs with that one."""
    rows = parts(len(next(iter(texts.values()))), seed)
    corpus, test = strict(chosen(texts, rows.train)), chosen(texts, rows.test)
    others = [name for name in corpus.languages if name != language]
    grown = factory(k).fit(corpus.select(languages=others)).add_language(language, corpus)
    reports = [ask(model, test) for model in (factory(k).fit(corpus), grown)]
    whole, later = (
        float(np.mean([s.mrr for pair, s in report.pairs.items() if language in pair])) for report in reports
    )
    return whole, later


def channels(texts: Texts, seed: int, factory: Factory, k: int) -> dict[str, float]:
    """Names, the latent model and both, on halves with all words."""
    rows = parts(len(next(iter(texts.values()))), seed)
    model = factory(k).fit(as_corpus(chosen(texts, rows.train)))
    both = CombinedSimilarity(model).fit(_joined(*halves(texts, rows.valid)))
    first, second = halves(texts, rows.test)
    found: dict[str, list[float]] = defaultdict(list)
    for a in texts:
        for b in texts:
            here = [
                (x, y) for x, y in zip(first[a], second[b], strict=True) if x is not None and y is not None
            ]
            if a != b:
                scores = both.scores([x for x, _ in here], a, [y for _, y in here], b)
                for name, table in scores._asdict().items():
                    above = (table > np.diag(table)[:, None]).sum(axis=1)
                    found[name].append(float(np.mean(1 / (1 + above))))
    weights = dict(zip(("weight of latent", "weight of names"), both.weights_.tolist(), strict=True))
    return {name: float(np.mean(values)) for name, values in found.items()} | weights


def _joined(first: Texts, second: Texts) -> Texts:
    """First halves of the first half of languages, second halves of the others: mates that are not copies."""
    return {name: (first if number % 2 else second)[name] for number, name in enumerate(first)}


def size_tables(results: Results, dimensions: Sequence[int]) -> list[Table]:
    """A table for each setting."""
    names = list(dict.fromkeys(name for _, name, _ in results))
    titles = {"strict": "AMRR, strict", "halves": "AMRR, strict, halves of pages"}
    return [
        Table(
            title,
            ["model", *(f"{k} dimensions" for k in dimensions)],
            [[name, *(_mean_and_spread(results[setting, name, k]) for k in dimensions)] for name in names],
        )
        for setting, title in titles.items()
    ]


def _mean_and_spread(values: Sequence[float]) -> str:
    spread = f" ± {np.std(values, ddof=1) / np.sqrt(len(values)):.3f}" if len(values) > 1 else ""
    return f"{np.mean(values):.3f}{spread}"


def claims(results: Results, dimensions: Sequence[int], apart: Sequence[Mapping[str, float]]) -> list[str]:
    """What the figures say about what was asked for."""
    lines = []
    for setting in ("strict", "halves"):
        for rival in ("CL-LSI, thesis", "CL-LSI"):
            gains = [
                np.mean(results[setting, "hub CCA", k]) / np.mean(results[setting, rival, k]) - 1
                for k in dimensions
            ]
            said = ", ".join(f"{gain:+.1%}" for gain in gains)
            lines.append(claim(min(gains) > 0, f"{setting}: hub CCA above {rival} at every size ({said})"))
            lines.append(claim(min(gains) >= 0.1, f"{setting}: by a tenth or more at every size"))
    share = np.mean([one["apart"] for one in apart]) / np.mean([one["all"] for one in apart])
    lines.append(
        claim(share >= 0.85, f"pairs without a common page reach {share:.1%} of their AMRR with all")
    )
    return lines


def draw(results: Results, dimensions: Sequence[int], path: Path) -> None:
    """Figure 8.3 again, for both settings."""
    names = [name for name in dict.fromkeys(name for _, name, _ in results) if "CSLS" not in name]
    fig, axes = plt.subplots(1, 2, figsize=(11, 4.2))
    for ax, setting in zip(axes, ("strict", "halves"), strict=True):
        for name in names:
            ax.plot(
                dimensions, [np.mean(results[setting, name, k]) for k in dimensions], marker="o", label=name
            )
        ax.set(xlabel="dimensions", ylabel="AMRR", title=setting)
        ax.grid(alpha=0.3)
    axes[0].legend(fontsize=8)
    save_figure(fig, path)


def run(options: argparse.Namespace) -> Path:
    """The whole experiment."""
    languages = options.languages.split(",")
    _, texts = help_pages(data_folder(options.data), languages)
    if options.quick:
        texts = {name: column[:500] for name, column in texts.items()}
    dimensions = [20, 50] if options.quick else [int(k) for k in options.dimensions.split(",")]
    seeds = range(options.seed, options.seed + (1 if options.quick else options.seeds))
    middle = dimensions[len(dimensions) // 2]
    ridge, inverse, chosen_table = timed(
        "choosing", lambda: choose(texts, middle, options.seed, quick=options.quick)
    )
    factories = models(ridge, inverse)
    results: Results = defaultdict(list)
    for seed in seeds:
        for key, values in sizes(texts, seed, factories, dimensions).items():
            results[key] += values
    hub = factories["hub CCA"]
    apart = [timed(f"apart, seed {s}", lambda s=s: far_apart(texts, s, hub, middle)) for s in seeds]
    alone = timed("pairs alone", lambda: pairs_alone(texts, options.seed, hub, middle, ridge))
    grown = timed("adding", lambda: added(texts, options.seed, hub, middle, languages[-1]))
    both = timed("channels", lambda: channels(texts, options.seed, hub, middle))
    tables = [
        chosen_table,
        *size_tables(results, dimensions),
        *_more_tables(apart, alone, grown, both, middle),
    ]
    folder = own_folder(options.folder, "documents_retrieval")
    draw(results, dimensions, folder / "amrr.png")
    lines = ["# Documents that find their translations", "", *claims(results, dimensions, apart), ""]
    for table in tables:
        table.show()
        lines += [f"## {table.title}", "", *table.markdown(), ""]
    lines += ["![AMRR by dimensions](amrr.png)", "", *reading(__doc__, 5)]
    data = {f"{s} | {n} | {k}": v for (s, n, k), v in results.items()}
    return write_report(
        folder, lines, {"amrr": data, "apart": apart, "pairs": alone, "added": grown, "channels": both}
    )


def _more_tables(
    apart: Sequence[Mapping[str, float]],
    alone: Mapping[str, tuple[float, float]],
    grown: tuple[float, float],
    both: Mapping[str, float],
    k: int,
) -> list[Table]:
    means = [[kind, _mean_and_spread([one[kind] for one in apart])] for kind in apart[0]]
    return [
        Table(
            f"AMRR of pairs across two groups of languages, strict, {k} dimensions",
            ["training", "AMRR"],
            means,
        ),
        Table(
            f"CCA of a pair and hub CCA of all, halves, {k} dimensions",
            ["pair", "CCA", "hub CCA"],
            [[pair, f"{one:.3f}", f"{all_:.3f}"] for pair, (one, all_) in alone.items()],
        ),
        Table(
            f"A language added to a fitted model, strict, {k} dimensions",
            ["", "AMRR of its pairs"],
            [["fitted with the others", f"{grown[0]:.4f}"], ["added later", f"{grown[1]:.4f}"]],
        ),
        Table(
            f"Channels on halves with all words, {k} dimensions",
            ["channel", "AMRR"],
            [[name, f"{value:.3f}"] for name, value in both.items()],
        ),
    ]


def main(arguments: Sequence[str] | None = None) -> None:
    """Read the options and run."""
    parser = options_parser(__doc__)
    parser.add_argument("--data", type=Path, help="folder with docs/lohelp; ISOGLOSS_DATA by default")
    parser.add_argument("--languages", default=LANGUAGES, help="the hub first")
    parser.add_argument("--dimensions", default="100,300,500")
    parser.add_argument("--seeds", default=3, type=int)
    run(parser.parse_args(arguments))


if __name__ == "__main__":
    main()
