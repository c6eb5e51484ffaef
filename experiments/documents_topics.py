r"""Topic models beside CL-LSI, hub CCA, OPCA and CL-ESA, with half of the languages missing.

    python -m experiments.documents_topics [folder] [--data FOLDER] [--seeds N] [--dimensions 100]
        [--quick] [--seed N]

Pages of the LibreOffice help in eight languages. From pages to learn from, half of the versions are taken
away, drawn at random, one at least of each page left; a fifth of the pages, whole, is asked for. Words that
two languages have in common are removed ('strict').

Each model is fitted to the pages and judged twice: by the mean reciprocal rank of mates over all ordered
pairs of languages (AMRR), and by how coherent its components are: normalised pointwise mutual information
of the ten strongest words of a component, in the pages that are asked for, mean over components and
languages. A component of a linear model has two ends, which count separately. CL-ESA has documents as
components, and none to judge.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

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
from experiments.documents_data import Texts, as_corpus, chosen, data_folder, help_pages, parts
from experiments.documents_tables import LANGUAGES
from isogloss.corpora import Corpus
from isogloss.similarity import (
    DocumentModel,
    ESASimilarity,
    HubSimilarity,
    LSISimilarity,
    OPCASimilarity,
    TopicSimilarity,
    evaluate,
)
from isogloss.topics import topic_coherence

METHODS: dict[str, Callable[[int], DocumentModel]] = {
    "topics, Hellinger": lambda k: TopicSimilarity(k, random_state=0),
    "topics, cosine": lambda k: TopicSimilarity(k, geometry="cosine", random_state=0),
    "topics, JPLSA": lambda k: TopicSimilarity(k, learning_method="map", random_state=0),
    "CL-LSI": lambda k: LSISimilarity(k, random_state=0),
    "CL-ESA": lambda k: ESASimilarity(10 * k, random_state=0),
    "OPCA": lambda k: OPCASimilarity(k, random_state=0),
    "hub CCA": lambda k: HubSimilarity(k, hub="en", random_state=0),
}
WITHOUT_TOPICS = ("CL-ESA",)


class Scores(NamedTuple):
    """What a model reached."""

    amrr: float
    p1: float
    coherence: float


def half_missing(texts: Texts, seed: int) -> Texts:
    """The texts with half of the versions taken away, one at least of each row left."""
    rng = np.random.default_rng(seed)
    here = np.array([[text is not None for text in column] for column in texts.values()])
    order = np.where(here, rng.random(here.shape), 2.0)
    kept = here & ((order < 0.5) | (order == order.min(axis=0)))
    return {
        name: [text if keep else None for text, keep in zip(column, row, strict=True)]
        for (name, column), row in zip(texts.items(), kept, strict=True)
    }


def coherence(model: DocumentModel, corpus: Corpus) -> float:
    """Mean NPMI of the strongest words of components, over languages."""
    found = []
    for name in model.languages:
        space = model.spaces_[name]
        pulls = (model.projectors_[name] * space.weighting.idf_[:, None]).T
        documents = space.of_corpus(corpus)
        ends = [pulls, -pulls] if (pulls < 0).any() else [pulls]
        found += [topic_coherence(end, documents).mean for end in ends]
    return float(np.mean(found))


def judged(name: str, k: int, train: Corpus, test: Corpus, seed: int) -> Scores:
    """A method fitted and scored."""
    model = timed(f"seed {seed}, {name}, {k}", lambda: METHODS[name](k).fit(train))
    report = evaluate(model, test)
    words = float("nan") if name in WITHOUT_TOPICS else coherence(model, test)
    return Scores(report.amrr, report.p1, words)


def table(scores: dict[str, list[Scores]], k: int) -> Table:
    """All methods, means over seeds."""
    rows = []
    for name, found in scores.items():
        mean = np.mean(found, axis=0)
        rows.append([name, *(f"{value:.3f}" if np.isfinite(value) else "-" for value in mean)])
    return Table(
        f"{k} components, half of the versions missing", ["method", "AMRR", "P@1", "coherence"], rows
    )


def draw(scores: dict[str, list[Scores]], path: Path) -> None:
    """Retrieval against coherence."""
    fig, ax = plt.subplots(figsize=(6, 4))
    for name, found in scores.items():
        mean = Scores(*np.mean(found, axis=0))
        if np.isfinite(mean.coherence):
            ax.plot(mean.coherence, mean.amrr, "o")
            ax.annotate(name, (mean.coherence, mean.amrr), xytext=(5, 4), textcoords="offset points")
    ax.set(xlabel="coherence (NPMI)", ylabel="AMRR")
    ax.margins(0.2)
    ax.grid(alpha=0.3)
    save_figure(fig, path)


def run(options: argparse.Namespace) -> Path:
    """Fit and judge all methods."""
    _, texts = help_pages(data_folder(options.data), LANGUAGES)
    k = 10 if options.quick else options.dimensions
    if options.quick:
        texts = {name: column[:200] for name, column in texts.items()}
    scores: dict[str, list[Scores]] = defaultdict(list)
    for seed in range(options.seed, options.seed + (1 if options.quick else options.seeds)):
        rows = parts(len(texts["en"]), seed)
        learned = chosen(texts, np.sort(np.concatenate(rows[:2])))
        train = as_corpus(half_missing(learned, seed)).without_shared_words()
        test = as_corpus(chosen(texts, rows.test))
        for name in METHODS:
            scores[name].append(judged(name, k, train, test, seed))
    shown = table(scores, k)
    shown.show()
    folder = own_folder(options.folder, "documents_topics")
    draw(scores, folder / "topics.png")
    means = {name: Scores(*np.mean(found, axis=0)) for name, found in scores.items()}
    topics, linear = means["topics, Hellinger"], [means["CL-LSI"], means["hub CCA"]]
    lines = [
        "# Topic models with half of the languages missing",
        "",
        claim(
            topics.coherence > max(one.coherence for one in linear),
            f"topics are more coherent ({topics.coherence:.3f}) than components of CL-LSI and hub CCA",
        ),
        claim(topics.amrr > means["CL-LSI"].amrr, f"topics retrieve better than CL-LSI ({topics.amrr:.3f})"),
        claim(topics.amrr > means["hub CCA"].amrr, "and better than hub CCA"),
        "",
        *shown.markdown(),
        "",
        "![Retrieval and coherence](topics.png)",
        "",
        *reading(__doc__, 5),
    ]
    return write_report(
        folder, lines, {name: [one._asdict() for one in found] for name, found in scores.items()}
    )


def main(arguments: Sequence[str] | None = None) -> None:
    """Read the options and run."""
    parser = options_parser(__doc__)
    parser.add_argument("--data", type=Path, help="folder with docs/lohelp; ISOGLOSS_DATA by default")
    parser.add_argument("--dimensions", default=100, type=int, help="components of every model")
    parser.add_argument("--seeds", default=1, type=int)
    run(parser.parse_args(arguments))


if __name__ == "__main__":
    main()
