r"""A common space tuned by labelled links, beside the plain one.

    python -m experiments.documents_linked [folder] [--data FOLDER] [--dimensions 100] [--rows 50,100,...]
        [--rank 8] [--quick] [--seed N]

Pages of the LibreOffice help in English and four other languages. Hub CCA is fitted on three fifths of the
pages, without the words that two languages have in common ('strict'). From another fifth, the first half of
an English page and the second half of the same page in another language are labelled as linked, and each
first half with one of the ten most similar wrong second halves as not linked; numbers of pages are given by
``--rows``. The last fifth is asked for, halves again: mean reciprocal rank of the right second half over
pairs of languages with English, in both directions, and the log loss and the area under the ROC curve of
such pairs. The plain space has log odds that are linear in its cosine. As a control, hub CCA is fitted on
the labelled pages too, which knows them as whole.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss, roc_auc_score

from experiments._report import Table, claim, options_parser, own_folder, reading, timed, write_report
from experiments.documents_data import Texts, as_corpus, chosen, data_folder, halves, help_pages, parts
from isogloss.similarity import HubSimilarity, LinkedSimilarity, TextModel, TextPair, mate_ranks

NEAREST = 10
"""Among how many wrong halves one is drawn."""
LANGUAGES = ("en", "de", "it", "cs", "el")


class Scores(NamedTuple):
    """How well mates are found, and pairs told apart."""

    mrr: float
    auc: float
    loss: float


class Halves(NamedTuple):
    """First and second halves of the same pages, in two languages."""

    lang_a: str
    lang_b: str
    queries: list[str]
    targets: list[str]


def mates(texts: Texts, rows: NDArray[np.int64]) -> list[Halves]:
    """Halves of pages that English and another language have, both ways."""
    first, second = halves(texts, rows)
    out = []
    for other in LANGUAGES[1:]:
        for a, b in (("en", other), (other, "en")):
            both = [(x, y) for x, y in zip(first[a], second[b], strict=True) if x and y]
            out.append(Halves(a, b, [x for x, _ in both], [y for _, y in both]))
    return out


def labelled(
    model: TextModel, groups: Sequence[Halves], seed: int
) -> tuple[list[TextPair], NDArray[np.int64]]:
    """Mates, and each first half with one of the wrong second halves that the model finds most similar."""
    rng = np.random.default_rng(seed)
    pairs, labels = [], []
    for lang_a, lang_b, queries, targets in groups:
        scores = model.project(queries, lang_a) @ model.project(targets, lang_b).T
        np.fill_diagonal(scores, -np.inf)
        nearest = np.argsort(-scores, axis=1)[:, :NEAREST]
        for place, wrong in enumerate(rng.permuted(nearest, axis=1)[:, 0].tolist()):
            pairs += [TextPair(queries[place], lang_a, targets[t], lang_b) for t in (place, wrong)]
            labels += [1, 0]
    return pairs, np.array(labels)


def mean_rank(model: TextModel, groups: Sequence[Halves]) -> float:
    """Mean reciprocal rank of mates."""
    found = [
        np.mean(1.0 / mate_ranks(model.project(queries, a), model.project(targets, b)))
        for a, b, queries, targets in groups
    ]
    return float(np.mean(found))


def cosines(model: TextModel, pairs: Sequence[TextPair]) -> NDArray[np.float64]:
    """Cosines of pairs, each language projected at once."""
    sides = []
    for text, lang in ((0, 1), (2, 3)):
        points: list[NDArray[np.float32]] = [np.empty(0, dtype=np.float32)] * len(pairs)
        for code in {pair[lang] for pair in pairs}:
            rows = [row for row, pair in enumerate(pairs) if pair[lang] == code]
            projected = model.project([pairs[row][text] for row in rows], code)
            for row, point in zip(rows, projected, strict=True):
                points[row] = point
        sides.append(np.array(points, dtype=np.float64))
    return np.asarray(np.einsum("nk,nk->n", *sides))


def judged(mrr: float, labels: NDArray[np.int64], odds: NDArray[np.float64]) -> Scores:
    """Scores of log odds."""
    return Scores(mrr, float(roc_auc_score(labels, odds)), float(log_loss(labels, expit(odds))))


def run(options: argparse.Namespace) -> Path:
    """Fit, tune and judge."""
    _, texts = help_pages(data_folder(options.data), LANGUAGES)
    rows = parts(len(texts["en"]), options.seed)
    k, sizes = options.dimensions, [int(size) for size in options.rows.split(",")]
    if options.quick:
        k, sizes = 10, [30]
    corpus = as_corpus(chosen(texts, rows.train)).without_shared_words()
    hub = timed("hub CCA", lambda: HubSimilarity(k, hub="en", random_state=0).fit(corpus))
    order = np.random.default_rng(options.seed).permutation(rows.valid)
    asked = mates(texts, rows.test[:100] if options.quick else rows.test)
    test, truth = labelled(hub, asked, options.seed)
    found: dict[str, Scores] = {}
    for size in sizes:
        pairs, labels = labelled(hub, mates(texts, np.sort(order[:size])), options.seed)
        odds = LogisticRegression(C=1e3).fit(cosines(hub, pairs)[:, None], labels)
        plain = odds.decision_function(cosines(hub, test)[:, None])
        found[f"plain, {size} pages"] = judged(mean_rank(hub, asked), truth, plain)
        for rank in dict.fromkeys((0, options.rank)):
            model = LinkedSimilarity(hub, rank=rank, random_state=0)
            timed(f"{size} pages, rank {rank}", partial(model.fit, pairs, labels))
            name = f"tuned, {size} pages, rank {rank}, C={model.C_:g}"
            found[name] = judged(mean_rank(model, asked), truth, model.decision_function(test))
    both = np.sort(np.concatenate([rows.train, order[: sizes[-1]]]))
    wider = HubSimilarity(k, hub="en", random_state=0).fit(
        as_corpus(chosen(texts, both)).without_shared_words()
    )
    control = mean_rank(wider, asked)
    shown = Table(
        f"{k} dimensions",
        ["space", "MRR", "ROC AUC", "log loss"],
        [[name, *(f"{value:.4f}" for value in one)] for name, one in found.items()]
        + [[f"hub CCA of {sizes[-1]} pages more", f"{control:.4f}", "-", "-"]],
    )
    shown.show()
    plain_mrr = found[f"plain, {sizes[-1]} pages"].mrr
    best = max(one.mrr for name, one in found.items() if f", {sizes[-1]} pages, rank" in name)
    lines = [
        "# A space tuned by links",
        "",
        claim(best > plain_mrr, f"tuned by links of {sizes[-1]} pages, mates are found better ({best:.3f})"),
        claim(best > control, f"and better than with these pages in the corpus ({control:.3f})"),
        "",
        *shown.markdown(),
        "",
        *reading(__doc__, 5),
    ]
    data = {name: one._asdict() for name, one in found.items()}
    return write_report(own_folder(options.folder, "documents_linked"), lines, data | {"wider": control})


def main(arguments: Sequence[str] | None = None) -> None:
    """Read the options and run."""
    parser = options_parser(__doc__, data="docs/lohelp")
    parser.add_argument("--dimensions", default=100, type=int)
    parser.add_argument("--rows", default="50,100,200,400", help="pages with labelled halves")
    parser.add_argument("--rank", default=8, type=int)
    run(parser.parse_args(arguments))


if __name__ == "__main__":
    main()
