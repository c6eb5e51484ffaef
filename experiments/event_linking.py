"""Linking of stories on the labelled pairs of the thesis: tables 8.8 to 8.11.

    python -m experiments.event_linking [folder] [--data FOLDER] [--quick] [--seed N]

The 808 labelled pairs of clusters in English, German and Spanish come as vectors of 21 features, among them
those of section 7.2 under other names. Each table is the mean over ten repeats of ten-fold cross-validation,
with the standard deviation over folds, as the thesis gives it for one run.

* Groups of features: links of articles (CCA...), concepts (Concept..., Entity..., Keyword...), and the
  miscellaneous ones of the thesis: same location, difference of time, shared dates. 'All' adds what the file
  has beyond the thesis: sizes and density of the clusters, categories.
* Table 8.8 compares three similarity models and three numbers of dimensions. The file has the links of hub
  CCA at one size only, so only that row can be computed. The same holds for table 8.9.
* Table 8.9 divides pairs by whether both clusters together have 20 articles. The file lacks the number of
  articles; pairs with a mean size of 10 and more, as the file measures it, are the large ones here, so the
  rows cannot be compared with the published ones.
* The classifier is isogloss's: logistic regression on standardised features, with a constant for each feature
  that is missing. The names of the file are not those of isogloss, so no weight is bounded. The rows of one
  language in the file are not used: added to the training parts, they lowered the accuracy by about a point.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from experiments._report import Table, claim, options_parser, own_folder, reading, timed, write_report
from experiments.event_data import PUBLISHED_PAIRS, StoryPairs, events_folder, story_pairs
from isogloss.events.link import Linker
from isogloss.events.training import LinkScores, cross_validate_links

MISC = ("TimeDiff", "CoreTimeDiff", "ExtractedDateJaccardSim", "MatchingDateCount", "MatchingDateRatio")
PUBLISHED = {
    "hub CCA": (78.3, 78.2, 78.9, 78.4),
    "concepts": (88.5, 88.6, 88.6, 88.5),
    "misc": (54.8, 61.8, 58.2, 52.4),
    "hub CCA + concepts": (89.4, 89.4, 89.6, 89.4),
    "hub CCA + misc": (78.8, 78.9, 79.4, 79.0),
    "concepts + misc": (88.7, 88.8, 88.8, 88.7),
    "all": (89.2, 88.8, 90.1, 89.3),
    "large": (81.2, 80.5, 91.3, 85.6),
    "small": (77.8, 74.5, 57.5, 64.9),
    "500 topics": (78.2, 76.3, 81.6, 78.9),
    "en, de": (91.8, 91.7, 93.7, 92.5),
    "en, es": (87.7, 87.7, 88.5, 87.6),
    "es, de": (88.6, 89.7, 84.3, 85.9),
}
HEADER = ("", "accuracy", "precision", "recall", "F1", "published", "pairs")


def groups(names: list[str]) -> dict[str, list[str]]:
    """The features of each group."""
    links = [name for name in names if name.startswith("CCA")]
    concepts = [name for name in names if name.startswith(("Concept", "Entity", "Keyword"))]
    misc = [name for name in names if name in (*MISC, "HasSameLocation")]
    return {
        "hub CCA": links,
        "concepts": concepts,
        "misc": misc,
        "hub CCA + concepts": links + concepts,
        "hub CCA + misc": links + misc,
        "concepts + misc": concepts + misc,
        "all": list(names),
    }


def scores(data: StoryPairs, features: list[str], rows: np.ndarray, repeats: int) -> LinkScores:
    """Cross-validation on some features and rows."""
    columns = [data.names.index(name) for name in features]
    linker = Linker(features, log_features=())
    return cross_validate_links(
        linker,
        data.features[rows][:, columns],
        data.labels[rows],
        repeats=repeats,
        folds=3 if repeats == 1 else 10,
    )


def tables(data: StoryPairs, repeats: int) -> dict[str, dict[str, LinkScores]]:
    """All tables that the data allow."""
    every, parts = np.ones(len(data.labels), dtype=bool), groups(data.names)
    large = data.features[:, data.names.index("AvgStoryQ")] >= 10
    pairs = np.array(data.pairs)
    return {
        "8.8": {"500 topics": scores(data, parts["hub CCA"], every, repeats)},
        "8.9": {
            "large": scores(data, parts["hub CCA"], large, repeats),
            "small": scores(data, parts["hub CCA"], ~large, repeats),
        },
        "8.10": {name: scores(data, features, every, repeats) for name, features in parts.items()},
        "8.11": {
            shown: scores(data, parts["all"], pairs == pair, repeats)
            for pair, shown in PUBLISHED_PAIRS.items()
        },
    }


def as_table(number: str, found: dict[str, LinkScores]) -> Table:
    """A table beside the published figures."""
    rows = [
        [
            name,
            *(f"{mean:.1f} ± {sd:.1f}" for mean, sd in zip(one[:4], one.deviations, strict=True)),
            " / ".join(f"{value:.1f}" for value in PUBLISHED[name]),
            str(one.pairs),
        ]
        for name, one in found.items()
    ]
    return Table(f"Table {number}: per cent", HEADER, rows)


def main(arguments: list[str] | None = None) -> Path:
    """Compute the tables and write the report."""
    parser = options_parser(__doc__)
    parser.add_argument("--data", type=Path, help="the folder of the shared data")
    options = parser.parse_args(arguments)
    data = story_pairs(events_folder(options.data))
    found = timed("tables", lambda: tables(data, 1 if options.quick else 10))
    shown = [as_table(number, part) for number, part in found.items()]
    for table in shown:
        table.show()
    best, own = found["8.10"]["all"], found["8.10"]
    verdicts = [
        claim(best.accuracy >= 90.0, f"all features reach 90.0 % (here {best.accuracy:.1f} %)"),
        claim(
            own["concepts"].accuracy > own["hub CCA"].accuracy,
            "concepts alone tell more than links of articles alone",
        ),
        claim(
            own["hub CCA + concepts"].accuracy >= own["concepts"].accuracy,
            "links of articles add to concepts",
        ),
    ]
    lines = ["# Linking of stories", "", *verdicts, ""]
    for table in shown:
        lines += [f"## {table.title}", "", *table.markdown(), ""]
    lines += reading(__doc__, 3)
    data_out = {number: {name: one.as_dict() for name, one in part.items()} for number, part in found.items()}
    return write_report(own_folder(options.folder, "event_linking"), lines, data_out)


if __name__ == "__main__":
    main()
