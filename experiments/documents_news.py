"""News found by a model of software: the latent space, names and numbers, and both together.

    python -m experiments.documents_news [folder] [--data FOLDER] [--languages en,de,...] [--dimensions K]
        [--quick] [--seed N]

Hub CCA is fitted on the LibreOffice help, all words, and asked for documents and sentences of NTREX, news
that it has never seen the like of. Two fifths of the documents serve to learn the two weights of the
combination, the others are asked for: whole documents, and their sentences. The channel of names is fitted on
the same part, on texts and not on pairs. AMRR over ordered pairs of languages.
"""

from __future__ import annotations

import argparse
import gzip
from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import permutations
from pathlib import Path

import numpy as np

from experiments._report import Table, claim, options_parser, own_folder, reading, timed, write_report
from experiments.documents_data import Texts, as_corpus, data_folder, help_pages
from isogloss.similarity import CombinedSimilarity, DocumentModel, HubSimilarity

NTREX = {"en": "eng", "de": "deu", "it": "ita", "cs": "ces", "el": "ell", "nl": "nld"}
CHANNELS = ("latent", "names", "combined")


def news(folder: Path, languages: Sequence[str]) -> tuple[list[str], dict[str, list[str]]]:
    """The document that each sentence is from, and the sentences in each language."""
    place = folder / "parallel" / "ntrex"
    documents = _lines(place / "DOCUMENT_IDS.txt.gz")
    return documents, {name: _lines(place / f"{NTREX[name]}.txt.gz") for name in languages}


def _lines(path: Path) -> list[str]:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        return [line.strip() for line in lines]


def as_documents(documents: Sequence[str], sentences: Mapping[str, Sequence[str]]) -> Texts:
    """Sentences of the same document joined, documents in the order of their first sentence."""
    order = list(dict.fromkeys(documents))
    out: Texts = {}
    for name, column in sentences.items():
        joined: dict[str, list[str]] = defaultdict(list)
        for document, sentence in zip(documents, column, strict=True):
            joined[document].append(sentence)
        out[name] = [" ".join(joined[document]) for document in order]
    return out


def split(documents: Sequence[str], seed: int) -> set[str]:
    """The documents that weights are learned from."""
    order = sorted(set(documents))
    return set(np.random.default_rng(seed).permutation(order)[: round(0.4 * len(order))].tolist())


def amrr(both: CombinedSimilarity, texts: Texts) -> dict[str, float]:
    """AMRR of each channel and of the combination."""
    found: dict[str, list[float]] = defaultdict(list)
    for a, b in permutations(texts, 2):
        for channel, table in both.scores(texts[a], a, texts[b], b)._asdict().items():
            mates = np.diag(table)[:, None]
            ranks = (table > mates).sum(axis=1) + ((table == mates).sum(axis=1) + 1) / 2
            found[channel].append(float(np.mean(1 / ranks)))
    return {channel: float(np.mean(values)) for channel, values in found.items()}


def one_unit(
    model: DocumentModel, texts: Texts, learn: Sequence[bool]
) -> tuple[dict[str, float], list[float]]:
    """Weights learned on some rows, AMRR on the others."""
    known = {
        name: [t for t, here in zip(column, learn, strict=True) if here] for name, column in texts.items()
    }
    rest = {
        name: [t for t, here in zip(column, learn, strict=True) if not here] for name, column in texts.items()
    }
    both = CombinedSimilarity(model).fit(known)
    return amrr(both, rest), both.weights_.tolist()


def run(options: argparse.Namespace) -> Path:
    """The whole experiment."""
    languages = options.languages.split(",")
    folder = data_folder(options.data)
    ids, pages = help_pages(folder, languages)
    if options.quick:
        pages = {name: column[:400] for name, column in pages.items()}
        ids = ids[:400]
    k = 50 if options.quick else options.dimensions
    model = timed(
        "fitting", lambda: HubSimilarity(k, hub=languages[0], random_state=0).fit(as_corpus(pages, ids))
    )
    documents, sentences = news(folder, languages)
    learn = split(documents, options.seed)
    whole = as_documents(documents, sentences)
    results = {
        "documents": one_unit(model, whole, [d in learn for d in dict.fromkeys(documents)]),
        "sentences": one_unit(model, dict(sentences), [d in learn for d in documents]),
    }
    rows = [
        [unit, *(f"{found[c]:.3f}" for c in CHANNELS), *(f"{w:.2f}" for w in weights)]
        for unit, (found, weights) in results.items()
    ]
    table = Table("AMRR on news", ["unit", *CHANNELS, "weight of latent", "weight of names"], rows)
    table.show()
    said = [
        claim(
            found["combined"] >= max(found["latent"], found["names"]), f"{unit}: the combination is no worse"
        )
        for unit, (found, _) in results.items()
    ]
    lines = ["# News, far from what was learned", "", *said, "", *table.markdown(), "", *reading(__doc__, 4)]
    own = own_folder(options.folder, "documents_news")
    return write_report(own, lines, {unit: {"amrr": f, "weights": w} for unit, (f, w) in results.items()})


def main(arguments: Sequence[str] | None = None) -> None:
    """Read the options and run."""
    parser = options_parser(__doc__)
    parser.add_argument("--data", type=Path, help="folder with docs and parallel; ISOGLOSS_DATA by default")
    parser.add_argument("--languages", default=",".join(NTREX), help="the hub first")
    parser.add_argument("--dimensions", default=300, type=int)
    run(parser.parse_args(arguments))


if __name__ == "__main__":
    main()
