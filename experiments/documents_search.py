r"""A search that is as good as its evaluation: CSLS in the index, and weights of names from a realistic pool.

    python -m experiments.documents_search [folder] [--data FOLDER] [--dimensions K] [--seeds N] [--quick]
        [--seed N]

Pages of the LibreOffice help in the settings of ``documents_retrieval``: 'strict' (without words that two
languages share), 'halves' and 'apart', and the same three with all of their words. Hub CCA with its defaults.

*Evaluated* CSLS takes means over all queries, the mates included, as ``evaluate --csls 10`` does. *Searched*
CSLS is what :class:`~isogloss.similarity.CrossLingualSearch` finds, with queries that are not in the index: a
tenth of the pages at a time leaves the index of the language that asks.

Weights of names are learned from pages that are neither learned from nor asked for: from 100 of them among
each other, and from all (406) among each other. Nothing is chosen here.

A last table has sentences of Tatoeba, English and German: a third is learned from, 16,000 are in the index,
and 2,000 of these ask, while the means are taken over 250 to all of the others.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from experiments._report import Table, claim, options_parser, own_folder, reading, timed, write_report
from experiments.documents_data import Texts, as_corpus, chosen, data_folder, help_pages
from experiments.documents_defaults import lines_of
from experiments.documents_retrieval import LANGUAGES, counted, mates, mean_reciprocal
from experiments.documents_settings import ACROSS, Setting, presence, settings, there, without_shared
from isogloss.similarity import (
    CombinedSimilarity,
    CrossLingualSearch,
    HubnessSample,
    HubSimilarity,
    Index,
    NameChannel,
    compare,
)

NEIGHBOURS, FOLDS, FEW = 10, 10, 100
SAMPLES = (250, 1_000, 2_048, 4_096)
Points = Mapping[str, Any]
Means = dict[tuple[str, str], list[float]]


def evaluated(
    queries: Points, targets: Points, has: Any, pairs: Sequence[tuple[str, str]], csls: int
) -> float:
    """AMRR of some ordered pairs as ``evaluate`` finds it."""
    found = compare(queries, targets, presence=has, csls=csls).pairs
    return float(np.mean([found[pair].mrr for pair in pairs]))


def searched(
    queries: Points, targets: Points, has: Any, pairs: Sequence[tuple[str, str]], csls: int
) -> float:
    """AMRR of some ordered pairs as a search finds it."""
    codes, n = list(queries), len(has)
    rows = {code: np.flatnonzero(has[:, column]) for column, code in enumerate(codes)}
    fold = np.random.default_rng(0).permutation(n) % FOLDS
    found: dict[tuple[str, str], list[float]] = defaultdict(list)
    for a in codes:
        wanted = [b for b in codes if (a, b) in pairs]
        for part in range(FOLDS):
            stay = fold[rows[a]] != part
            indexes = {b: _index(rows[b], targets[b]) for b in wanted}
            search = CrossLingualSearch(
                indexes | {a: _index(rows[a][stay], queries[a][stay])}, neighbours=csls
            )
            for row, point in zip(rows[a][~stay], queries[a][~stay], strict=True):
                best = search.nearest(point, a, n, languages=wanted)
                for b in wanted:
                    if has[row, codes.index(b)]:
                        found[a, b].append(1 / (1 + best[b].ids.tolist().index(row)))
    return float(np.mean([np.mean(found[pair]) for pair in pairs]))


def _index(ids: Any, points: Any) -> Index:
    return Index(points.shape[1]).add(ids, points)


def retrieval(texts: Texts, asked: Mapping[str, Setting], k: int, label: str) -> tuple[Means, Means]:
    """AMRR of searches and of the channels, in each setting."""
    found, channels = defaultdict(list), defaultdict(list)
    for group in (("strict", "halves"), ("apart",)):
        model = HubSimilarity(k, hub="en", random_state=0).fit(as_corpus(asked[group[0]].train))
        for name in group:
            setting = asked[name]
            sides = [
                {code: model.project_corpus(side, code) for code in model.languages}
                for side in counted(setting)
            ]
            has, pairs = presence(setting.queries), [(a, b) for a in texts for b in texts if a != b]
            pairs = [pair for pair in pairs if name != "apart" or pair in ACROSS]
            place = f"{label}, {name}"
            for csls in (0, NEIGHBOURS):
                found[place, f"evaluated {csls}"].append(evaluated(sides[0], sides[-1], has, pairs, csls))
            found[place, "searched"].append(searched(sides[0], sides[-1], has, pairs, NEIGHBOURS))
            for one, value in named(model, setting, pairs).items():
                channels[place, one].append(value)
    return found, channels


def named(model: Any, setting: Setting, pairs: Sequence[tuple[str, str]]) -> dict[str, float]:
    """AMRR of both channels, and of weights from a few and from all pages."""
    known = [(text, code) for code, column in there(setting.valid).items() for text in column]
    names = NameChannel().fit([text for text, _ in known], lang=[code for _, code in known])
    few = {code: column[:FEW] for code, column in setting.valid.items()}
    fitted = {"100 pages": CombinedSimilarity(model, names).fit(few)}
    fitted["all pages"] = CombinedSimilarity(model, names).fit(setting.valid)
    out: dict[str, list[float]] = defaultdict(list)
    sides = [there(setting.queries), there(setting.targets or setting.queries)]
    points, tokens = (
        [{c: one.project(t, c) for c, t in side.items()} for side in sides] for one in (model, names)
    )
    for (a, b), (left, right) in mates(setting.queries).items():
        if (a, b) in pairs:
            tables = (
                points[0][a][left] @ points[1][b][right].T,
                (tokens[0][a][left] @ tokens[1][b][right].T).toarray(),
            )
            out["latent"].append(mean_reciprocal(tables[0]))
            out["names"].append(mean_reciprocal(tables[1]))
            for one, both in fitted.items():
                out[one].append(mean_reciprocal(both.combine(*tables).combined))
    return {one: float(np.mean(values)) for one, values in out.items()}


def sentences(folder: Path, k: int) -> list[list[str]]:
    """Rows of the table of sentences: AMRR of cosines, and of CSLS over samples."""
    lines = [line.split("\t") for line in lines_of(folder / "parallel" / "tatoeba" / "en-de.tsv.gz")]
    order = np.random.default_rng(0).permutation(len(lines))
    columns = {"en": [line[1] for line in lines], "de": [line[2] for line in lines]}
    learned, rest = order[: len(order) // 3], order[len(order) // 3 :][:16_000]
    model = HubSimilarity(k, hub="en", random_state=0).fit(as_corpus(chosen(columns, learned)))
    points = {code: model.project([column[row] for row in rest], code) for code, column in columns.items()}
    asks = min(2_000, len(rest) // 4)
    out = []
    for a, b in (("en", "de"), ("de", "en")):
        others = np.arange(asks, len(rest))
        cells = [f"{_mrr(points[a][:asks], points[b], np.zeros(len(rest))):.3f}"]
        for size in (*SAMPLES, len(others)):
            sample = HubnessSample.draw(others, points[a].__getitem__, neighbours=NEIGHBOURS, size=size)
            cells.append(f"{_mrr(points[a][:asks], points[b], sample.means(points[b])):.3f}")
        out.append([f"{a} to {b}", *cells])
    return out


def _mrr(queries: Any, targets: Any, means: Any) -> float:
    scores = queries @ targets.T - means / 2
    mate = scores[np.arange(len(scores)), np.arange(len(scores))][:, None]
    return float(np.mean(1 / ((scores > mate).sum(axis=1) + ((scores == mate).sum(axis=1) + 1) / 2)))


def run(options: argparse.Namespace) -> Path:
    """The whole experiment."""
    folder = data_folder(options.data)
    _, texts = help_pages(folder, LANGUAGES.split(","))
    if options.quick:
        texts = {name: column[:700] for name, column in texts.items()}
    k, seeds = (50, 1) if options.quick else (options.dimensions, options.seeds)
    found, channels = defaultdict(list), defaultdict(list)
    for label, some in (("strict words", without_shared(texts)), ("all words", texts)):
        for seed in range(options.seed, options.seed + seeds):
            one = timed(
                f"{label}, seed {seed}",
                lambda t=some, s=seed, n=label: retrieval(t, settings(t, s, None), k, n),
            )
            for sums, values in zip((found, channels), one, strict=True):
                for key, value in values.items():
                    sums[key] += value
    rows = timed("sentences", lambda: sentences(folder, k))
    return report(options, found, channels, rows)


def report(options: argparse.Namespace, found: Means, channels: Means, rows: list[list[str]]) -> Path:
    """Tables and verdicts."""
    tables = [
        _table("AMRR of searches", found, ["evaluated 0", "evaluated 10", "searched"]),
        _table("AMRR of channels", channels, ["latent", "names", "100 pages", "all pages"]),
        Table(
            "Sentences",
            ["pair", "cosines", *(f"CSLS, {size:,}" for size in SAMPLES), "CSLS, all others"],
            rows,
        ),
    ]
    places = list(dict.fromkeys(place for place, _ in found))
    said = [
        claim(_mean(found, place, "searched") > _mean(found, place, "evaluated 0"), f"{place}: CSLS helps")
        for place in places
    ]
    for place in places:
        best = [max(pair) for pair in zip(channels[place, "latent"], channels[place, "names"], strict=True)]
        worse = [own < other for own, other in zip(channels[place, "all pages"], best, strict=True)]
        said.append(claim(not any(worse), f"{place}: the combination is never below the better channel"))
    lines = ["# Search and its evaluation", "", *said, ""]
    for table in tables:
        table.show()
        lines += [f"## {table.title}", "", *table.markdown(), ""]
    lines += reading(__doc__, 4)
    data = {
        name: {", ".join(key): values for key, values in part.items()}
        for name, part in (("searches", found), ("channels", channels))
    }
    return write_report(own_folder(options.folder, "documents_search"), lines, data | {"sentences": rows})


def _mean(sums: Means, place: str, name: str) -> float:
    return float(np.mean(sums[place, name]))


def _table(title: str, sums: Means, columns: Sequence[str]) -> Table:
    places = list(dict.fromkeys(place for place, _ in sums))
    rows = [[place, *(f"{_mean(sums, place, name):.4f}" for name in columns)] for place in places]
    return Table(title, ["", *columns], rows)


def main(arguments: Sequence[str] | None = None) -> None:
    """Read the options and run."""
    parser = options_parser(__doc__)
    parser.add_argument("--data", type=Path, help="folder with docs and parallel; ISOGLOSS_DATA by default")
    parser.add_argument("--dimensions", default=300, type=int)
    parser.add_argument("--seeds", default=3, type=int)
    run(parser.parse_args(arguments))


if __name__ == "__main__":
    main()
