"""Similarity of two news articles, compared with the grades that people gave.

    python -m experiments.event_pairs [folder] [--data FOLDER] [--quick]

The data are pairs of articles of SemEval-2022 task 8 with grades from 1, the same story, to 4, unrelated. The
similarity of two articles is the cosine of their sentence embeddings, centred by language, plus half of the
cosines of their texts and of their keywords; these weights were not fitted. The second column has weights of
all channels from ridge regression on the other folds of the pairs across languages, five times five folds.
Both are correlated with the negative grade (Pearson), pair of languages by pair of languages.
"""

from __future__ import annotations

import gzip
import json
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import RidgeCV
from sklearn.model_selection import KFold

from experiments._report import Table, claim, options_parser, own_folder, reading, write_report
from experiments.event_data import events_folder
from isogloss.events import Article
from isogloss.events.analyse import AnalysedArticle
from isogloss.events.annotate import Annotator
from isogloss.events.link import ArticleProfile, ClusterProfile, ProfileBuilder
from isogloss.events.link._features import pair_features
from isogloss.similarity import Encoder, installed_encoder

CHANNELS = (
    "encoderCosSim",
    "textCosSim",
    "keywordCosSim",
    "keywordJaccardSim",
    "entityCosSim",
    "entityJaccardSim",
    "sharedPlaces",
    "sharedNumbers",
    "sharedDates",
    "hasSameLocation",
)
UNFITTED = {"encoderCosSim": 1.0, "textCosSim": 0.5, "keywordCosSim": 0.5}
MIN_PAIRS = 15
"""Pairs of articles below which a pair of languages has no row."""
MOMENT = datetime(2020, 3, 1, tzinfo=UTC)
"""The time of all articles; the data have none."""


def main(arguments: list[str] | None = None) -> Path:
    """Compare, and write the report."""
    parser = options_parser(__doc__)
    parser.add_argument("--data", type=Path, help="the folder of the shared data")
    options = parser.parse_args(arguments)
    with gzip.open(
        events_folder(options.data) / "news-pairs.train.jsonl.gz", "rt", encoding="utf-8"
    ) as lines:
        records = [json.loads(line) for line in lines]
    records = [one for one in records if one["lang1"] != one["lang2"]]
    if options.quick:
        records = records[::4]
    features = channel_similarities(records, installed_encoder())
    grades = -np.array([one["scores"]["overall"] for one in records])
    plain = np.nan_to_num(features) @ [UNFITTED.get(name, 0.0) for name in CHANNELS]
    fitted = cross_fitted(features, grades)
    languages = np.array(["-".join(sorted((one["lang1"], one["lang2"]))) for one in records])
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
        ("languages", "pairs", "unfitted", "fitted on other folds"),
        [[name, str(n), f"{plain:.3f}", f"{fitted:.3f}"] for name, (n, plain, fitted) in found.items()],
    )
    table.show()
    _, overall, own = found["all"]
    said = [
        claim(overall >= 0.72, f"a correlation of .72 without fitting ({overall:.3f})"),
        claim(own >= 0.76, f"a correlation of .76 with weights of its own folds ({own:.3f})"),
    ]
    lines = ["# Similarity of two articles", "", *said, "", *table.markdown(), ""]
    return write_report(own_folder(options.folder, "event_pairs"), [*lines, *reading(__doc__, 3)], found)


def channel_similarities(records: list[dict[str, Any]], encoder: Encoder | None) -> NDArray[np.float64]:
    """The similarity of each pair by each channel; NaN where there is none."""
    annotator, builder = Annotator(), ProfileBuilder()
    known: dict[tuple[str, str], ArticleProfile] = {}
    texts = dict.fromkeys((one[f"lang{side}"], one[f"text{side}"]) for one in records for side in "12")
    vectors: dict[tuple[str, str], NDArray[np.float32] | None] = {}
    for number, (lang, text) in enumerate(texts):
        title, _, body = text.partition("  ")
        analysed = AnalysedArticle(
            Article(str(number), lang, title[:300], body or text, MOMENT), annotator, None, encoder
        )
        known[lang, text] = replace(builder.weigh(analysed.profile), rate=0.0)
        vectors[lang, text] = analysed.embedding
    centred = centre(vectors)
    rows = []
    for one in records:
        keys = [(one[f"lang{side}"], one[f"text{side}"]) for side in "12"]
        profiles = [replace(known[key], embedding=centred[key]) for key in keys]
        first, second = (ClusterProfile(n, own.lang, [own]) for n, own in enumerate(profiles, 1))
        features = pair_features(first, second, [])
        rows.append([features[name] for name in CHANNELS])
    return np.array(rows)


def centre(
    vectors: dict[tuple[str, str], NDArray[np.float32] | None],
) -> dict[tuple[str, str], NDArray[np.float16] | None]:
    """Embeddings minus the mean of their language, of length one."""
    by_language: dict[str, list[NDArray[np.float32]]] = {}
    for (lang, _), vector in vectors.items():
        if vector is not None:
            by_language.setdefault(lang, []).append(vector)
    means = {lang: np.mean(own, axis=0) for lang, own in by_language.items()}
    out: dict[tuple[str, str], NDArray[np.float16] | None] = {}
    for (lang, text), vector in vectors.items():
        moved = None if vector is None else vector - means[lang]
        out[lang, text] = None if moved is None else (moved / np.linalg.norm(moved)).astype(np.float16)
    return out


def cross_fitted(features: NDArray[np.float64], grades: NDArray[np.float64]) -> NDArray[np.float64]:
    """Grades predicted by ridge regression on other folds, the mean of five splits."""
    known = features[:, ~np.isnan(features).all(axis=0)]
    scaled = np.nan_to_num((known - np.nanmean(known, axis=0)) / np.maximum(np.nanstd(known, axis=0), 1e-9))
    out = np.zeros(len(grades))
    for seed in range(5):
        for train, test in KFold(5, shuffle=True, random_state=seed).split(scaled):
            model = RidgeCV(np.logspace(-2, 3, 12)).fit(scaled[train], grades[train])
            out[test] += model.predict(scaled[test]) / 5
    return out


def correlation(one: NDArray[np.float64], other: NDArray[np.float64]) -> float:
    """Pearson correlation."""
    return float(np.corrcoef(one, other)[0, 1])


if __name__ == "__main__":
    main()
