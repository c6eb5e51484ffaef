"""Similarity of two news articles, compared with the grades that people gave.

    python -m experiments.event_pairs [folder] [--data FOLDER] [--quick]

The data are pairs of articles of SemEval-2022 task 8 with grades from 1, the same story, to 4, unrelated. The
first column is the probability of :class:`isogloss.events.ArticleSimilarity`, of which nothing was fitted to
these pairs. The second has weights of all channels from ridge regression on the other folds of the pairs
across languages, five times five folds, whose penalty is chosen within the folds; embeddings are centred by
language first, and pairs of languages have constants of their own, which are shrunk as the weights are. Pairs
with an article in common are in the same fold. Both are correlated with the negative grade (Pearson), pair of
languages by pair of languages.
"""

from __future__ import annotations

import gzip
import json
from collections import defaultdict
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from sklearn.linear_model import RidgeCV
from sklearn.model_selection import GroupKFold

from experiments._report import Table, claim, options_parser, own_folder, reading, write_report
from experiments.event_data import events_folder
from isogloss.events import ArticleSimilarity
from isogloss.events.comparison import CHANNELS, ComparedArticle
from isogloss.events.comparison._channels import compare_channels

Key = tuple[str, str]
BANDS = ((1.0, 1.5), (1.5, 2.5), (2.5, 3.5), (3.5, 5.0))
"""Grades of which the mean probabilities are shown."""
MIN_PAIRS = 15
"""Pairs of articles below which a pair of languages has no row."""
SIMILARITY = ArticleSimilarity(encoder=None)
"""Compares articles that are analysed already."""
PAIR_WEIGHT = 0.5
"""Scale of the constants of pairs of languages: with smaller ones, they are shrunk more."""


def main(arguments: list[str] | None = None) -> Path:
    """Compare, and write the report."""
    parser = options_parser(__doc__)
    parser.add_argument("--data", type=Path, help="the folder of the shared data")
    options = parser.parse_args(arguments)
    with gzip.open(
        events_folder(options.data) / "news-pairs.train.jsonl.gz", "rt", encoding="utf-8"
    ) as lines:
        records = [json.loads(line) for line in lines]
    within = [one for one in records if one["lang1"] == one["lang2"]]
    records = [one for one in records if one["lang1"] != one["lang2"]]
    if options.quick:
        within, records = within[::20], records[::4]
    articles = represented([*within, *records])
    plain = np.array([probability(one, articles) for one in records])
    alike = np.array([probability(one, articles) for one in within])
    grades = -np.array([one["scores"]["overall"] for one in records])
    languages = np.array(["-".join(sorted((one["lang1"], one["lang2"]))) for one in records])
    similarities = channel_similarities(records, centre(articles))
    fitted = cross_fitted(similarities, grades, languages, article_groups(records))
    groups = {"all": np.ones(len(records), dtype=bool)} | {
        pair: languages == pair for pair in np.unique(languages) if (languages == pair).sum() >= MIN_PAIRS
    }
    found = {
        name: [
            int(rows.sum()),
            correlation(plain[rows], grades[rows]),
            correlation(fitted[rows], grades[rows]),
        ]
        for name, rows in groups.items()
    }
    table = Table(
        "Pearson correlation with the grades",
        ("languages", "pairs", "probability", "fitted on other folds"),
        [[name, str(n), f"{plain:.3f}", f"{fitted:.3f}"] for name, (n, plain, fitted) in found.items()],
    )
    table.show()
    _, overall, own = found["all"]
    same = correlation(alike, -np.array([one["scores"]["overall"] for one in within]))
    means = [float(plain[(-grades >= low) & (-grades < high)].mean()) for low, high in BANDS]
    summary = [
        claim(overall >= 0.72, f"a correlation of .72 without fitting ({overall:.3f})"),
        claim(own >= 0.76, f"a correlation of .76 with weights of its own folds ({own:.3f})"),
        f"{len(within)} pairs within a language: {same:.3f}",
        "mean probability of grades 1 to 1.5, to 2.5, to 3.5, to 4: "
        + ", ".join(f"{one:.2f}" for one in means),
    ]
    print("\n".join(summary))
    lines = ["# Similarity of two articles", "", *summary, "", *table.markdown(), ""]
    return write_report(own_folder(options.folder, "event_pairs"), [*lines, *reading(__doc__, 3)], found)


def represented(
    records: list[dict[str, Any]], encoder: Literal["auto"] | None = "auto"
) -> dict[Key, ComparedArticle]:
    """The articles of pairs, analysed; a title ends at the first two blanks."""
    similarity = ArticleSimilarity(encoder=encoder)
    return {
        key: similarity.represent(similarity.article(key[1].strip().replace("  ", "\n", 1), key[0]))
        for key in dict.fromkeys(key for one in records for key in keys_of(one))
    }


def keys_of(record: dict[str, Any]) -> tuple[Key, Key]:
    """Language and text of both articles."""
    return (record["lang1"], record["text1"]), (record["lang2"], record["text2"])


def probability(record: dict[str, Any], articles: dict[Key, ComparedArticle]) -> float:
    """The probability that a pair is one story."""
    one, other = keys_of(record)
    return SIMILARITY.compare(articles[one], articles[other]).probability


def channel_similarities(
    records: list[dict[str, Any]], articles: dict[Key, ComparedArticle]
) -> NDArray[np.float64]:
    """The similarity of each pair by each channel; NaN where there is none."""
    rows = []
    for one in records:
        first, second = keys_of(one)
        found = compare_channels(articles[first], articles[second])
        rows.append([found[name] for name in CHANNELS])
    return np.array(rows)


def centre(articles: dict[Key, ComparedArticle]) -> dict[Key, ComparedArticle]:
    """Articles with embeddings minus the mean of their language."""
    by_language: dict[str, list[NDArray[np.float32]]] = defaultdict(list)
    for (lang, _), article in articles.items():
        if article.sentences is not None:
            by_language[lang].append(article.sentences)
    means = {lang: np.vstack(own).mean(axis=0) for lang, own in by_language.items()}
    return {
        key: article
        if article.sentences is None
        else replace(article, sentences=article.sentences - means[key[0]])
        for key, article in articles.items()
    }


def article_groups(records: list[dict[str, Any]]) -> NDArray[np.int32]:
    """Numbers of groups of pairs that have articles in common."""
    numbers: dict[Key, int] = {}
    links = [
        (row, numbers.setdefault(key, len(numbers)))
        for row, one in enumerate(records)
        for key in keys_of(one)
    ]
    rows, columns = np.array(links).T
    size = len(records) + len(numbers)
    graph = coo_array((np.ones(len(links)), (rows, columns + len(records))), shape=(size, size))
    groups: NDArray[np.int32] = connected_components(graph, directed=False)[1][: len(records)]
    return groups


def cross_fitted(
    features: NDArray[np.float64],
    grades: NDArray[np.float64],
    languages: NDArray[np.str_],
    groups: NDArray[np.int32],
) -> NDArray[np.float64]:
    """Grades predicted by ridge regression on other folds, the mean of five splits."""
    known = features[:, ~np.isnan(features).all(axis=0)]
    pairs = PAIR_WEIGHT * (languages[:, None] == np.unique(languages))
    out = np.zeros(len(grades))
    for seed in range(5):
        for train, test in GroupKFold(5, shuffle=True, random_state=seed).split(known, groups=groups):
            mean, scale = np.nanmean(known[train], axis=0), np.maximum(np.nanstd(known[train], axis=0), 1e-9)
            scaled = np.nan_to_num((known - mean) / scale)
            design = np.hstack([scaled, np.isnan(known), pairs])
            model = RidgeCV(np.logspace(-2, 3, 12)).fit(design[train], grades[train])
            out[test] += model.predict(design[test]) / 5
    return out


def correlation(one: NDArray[np.float64], other: NDArray[np.float64]) -> float:
    """Pearson correlation."""
    return float(np.corrcoef(one, other)[0, 1])


if __name__ == "__main__":
    main()
