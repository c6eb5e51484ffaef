"""The linker that comes with isogloss: training, and events on news that it was not trained on.

    python -m experiments.event_linker [folder] [--data FOLDER] [--output LINKER] [--quick]

Training pairs come from news whose licences allow the weights to be shipped: the sample news of isogloss,
press items of the FSFE (CC BY-SA 4.0) and blurbs of Wikipedia's "In the news" (CC BY-SA 3.0). So that the
linker learns what the density of a stream means, blurbs and press items are read again with their times
compressed, up to the density of a busy news agency. Press items have one text for each language by
construction, so pairs within a language are used only at their true density. A stream counts by its weight,
however many pairs it has.

Half of the events of every stream (those whose MD5 sum is odd) are kept from training; their articles are
scored in a stream of all. The Olympic titles were never trained on. The weights of the streams, the weight of
``alternatives`` and the rules of agglomeration were chosen with the scores of all four streams in view: those
of the blurbs on held-out events, those of the titles on all titles.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from experiments._report import Table, claim, options_parser, own_folder, reading, timed, write_report
from experiments.event_data import Titles, events_folder, news_blurbs, olympic_titles, press_items
from isogloss import io
from isogloss.events.ingest import sample_news
from isogloss.events.link import FEATURES, LINKER_FEATURES, Linker
from isogloss.events.training import (
    LOOSE_CLUSTERS,
    ClusteringScores,
    bcubed,
    find_events,
    labelled_pairs,
)
from isogloss.similarity import Encoder, installed_encoder

DEVELOPMENT = 0.6
MIN_ARTICLES = 20
"""Articles of a language below which it does not count for the monolingual mean."""
SAME_LANGUAGE = FEATURES.index("sameLanguage")
HEADER = ("", "precision", "recall", "F1", "monolingual F1")


class Stream(NamedTuple):
    """News to train on: the articles, their total weight, and whether pairs within a language count."""

    news: Titles
    weight: float
    same_language: bool = True


class CachedEncoder:
    """An encoder that encodes a text once: the streams have most of their texts in common."""

    def __init__(self, encoder: Encoder) -> None:
        self.encoder, self.dimension, self.languages = encoder, encoder.dimension, encoder.languages
        self.known: dict[str, NDArray[np.float32]] = {}

    def encode(self, texts: Sequence[str], lang: str) -> NDArray[np.float32]:
        """One row for each text."""
        for text in texts:
            if text not in self.known:
                self.known[text] = self.encoder.encode([text], lang)[0]
        return np.array([self.known[text] for text in texts])


def held_out(event: str) -> bool:
    """Whether an event is kept from training for the scores."""
    return int(hashlib.md5(event.encode(), usedforsecurity=False).hexdigest(), 16) % 2 == 1


def held_out_rows(news: Titles) -> list[int]:
    """Positions of the articles of held-out events."""
    return [row for row, story in enumerate(news.stories) if held_out(story)]


def compressed(news: Titles, factor: float) -> Titles:
    """News with all times nearer to the first by a factor."""
    start = news.articles[0].time
    articles = [replace(one, time=start + (one.time - start) / factor) for one in news.articles]
    return Titles(articles, news.stories)


def titles_alone(news: Titles) -> Titles:
    """News without bodies; articles without a title are left out."""
    kept = [(a, s) for a, s in zip(news.articles, news.stories, strict=True) if a.title]
    return Titles([replace(article, body="") for article, _ in kept], [story for _, story in kept])


def training_streams(sample: Titles, blurbs: Titles, press: Titles) -> dict[str, Stream]:
    """The streams, and how much each counts."""
    bare = titles_alone(press)
    return {
        "sample news": Stream(sample, 8000),
        "sample news, titles": Stream(titles_alone(sample), 5000),
        "blurbs": Stream(blurbs, 4000),
        "blurbs, 10 times as dense": Stream(compressed(blurbs, 10), 3000),
        "blurbs, 100 times as dense": Stream(compressed(blurbs, 100), 2000),
        "press items": Stream(press, 3000),
        "press items, titles": Stream(bare, 2000),
        "press items, 30 times as dense": Stream(compressed(press, 30), 2000, same_language=False),
        "press items, titles, 30 times as dense": Stream(compressed(bare, 30), 2000, same_language=False),
        "press items, 200 times as dense": Stream(compressed(press, 200), 2000, same_language=False),
    }


class Pairs(NamedTuple):
    """Labelled pairs of a stream and their weights."""

    features: NDArray[np.float64]
    labels: NDArray[np.int64]
    weights: NDArray[np.float64]


def pairs_of(stream: Stream, encoder: Encoder | None) -> Pairs:
    """Labelled pairs of the clusters of a stream, without those of held-out events."""
    news = stream.news
    events = {article.id: story for article, story in zip(news.articles, news.stories, strict=True)}
    found = labelled_pairs(news.articles, events, encoder=encoder, settings=LOOSE_CLUSTERS)
    rows = np.array([not held_out(one) and not held_out(other) for one, other in found.events])
    if not stream.same_language:
        rows &= found.features[:, SAME_LANGUAGE] == 0
    n = int(rows.sum())
    features = found.columns(LINKER_FEATURES)
    return Pairs(features[rows], found.labels[rows], np.full(n, stream.weight / max(n, 1)))


def train(streams: dict[str, Stream], encoder: Encoder | None) -> Linker:
    """A linker trained on all streams."""
    parts = [pairs_of(stream, encoder) for stream in streams.values()]
    features, labels, weights = (np.concatenate(column) for column in zip(*parts, strict=True))
    return Linker().fit(features, labels, weights)


def events_of(news: Titles, linker: Linker, encoder: Encoder | None) -> list[int]:
    """The event of each article of a stream."""
    found = find_events(news.articles, linker, encoder=encoder)
    return [found[article.id] for article in news.articles]


def scores(news: Titles, events: Sequence[int], rows: Sequence[int]) -> list[float]:
    """BCubed scores of some articles among all, and the mean F1 of their larger languages alone."""
    by_language: dict[str, list[int]] = {}
    for row in rows:
        by_language.setdefault(news.articles[row].lang, []).append(row)
    minimum = min(MIN_ARTICLES, max(map(len, by_language.values())))
    large = [
        bcubed([news.stories[row] for row in own], [events[row] for row in own]).f1
        for own in by_language.values()
        if len(own) >= minimum
    ]
    return [*bcubed_of(rows, news.stories, events), float(np.mean(large))]


def bcubed_of(rows: Sequence[int], stories: Sequence[str], events: Sequence[int]) -> ClusteringScores:
    """BCubed scores of some articles; what is wrong in their events counts, whichever article it is."""
    both = Counter(zip(stories, events, strict=True))
    sizes, found = Counter(stories), Counter(events)
    shared = [both[stories[row], events[row]] for row in rows]
    precision = np.mean([n / found[events[row]] for n, row in zip(shared, rows, strict=True)])
    recall = np.mean([n / sizes[stories[row]] for n, row in zip(shared, rows, strict=True)])
    return ClusteringScores.of(float(precision), float(recall))


def main(arguments: list[str] | None = None) -> Path:
    """Train, score, and write the report and, if asked for, the linker."""
    parser = options_parser(__doc__)
    parser.add_argument("--data", type=Path, help="the folder of the shared data")
    parser.add_argument("--output", type=Path, help="where to write the linker")
    options = parser.parse_args(arguments)
    folder, own = events_folder(options.data), sample_news()
    sample = Titles(list(own.articles), [own.events[article.id] for article in own.articles])
    news = {"blurbs": news_blurbs(folder), "titles": olympic_titles(folder), "press": press_items(folder)}
    if options.quick:
        news = {name: Titles(one.articles[:300], one.stories[:300]) for name, one in news.items()}
    blurbs, titles, press = news.values()
    streams, installed = training_streams(sample, blurbs, press), installed_encoder()
    encoder = None if installed is None else CachedEncoder(installed)
    linker = timed("training", lambda: train(streams, encoder))
    cut = round(DEVELOPMENT * len(titles.stories))
    parts: dict[str, tuple[str, Sequence[int]]] = {
        "blurbs, held-out events": ("blurbs", held_out_rows(blurbs)),
        "blurbs, all": ("blurbs", range(len(blurbs.stories))),
        "titles, first 60 %": ("titles", range(cut)),
        "titles, the rest": ("titles", range(cut, len(titles.stories))),
        "titles, all": ("titles", range(len(titles.stories))),
        "sample news, held-out events": ("sample", held_out_rows(sample)),
        "sample news, all": ("sample", range(len(sample.stories))),
        "press items, held-out events": ("press", held_out_rows(press)),
        "press items, all": ("press", range(len(press.stories))),
    }
    encoders = {"without the encoder": None} | ({"with the encoder": encoder} if encoder else {})
    read = news | {"sample": sample}
    found = {}
    for how, using in encoders.items():
        events = {name: events_of(one, linker, using) for name, one in read.items()}
        found[how] = {part: scores(read[name], events[name], rows) for part, (name, rows) in parts.items()}
    tables = [
        Table(how, HEADER, [[name, *(f"{value:.3f}" for value in row)] for name, row in rows.items()])
        for how, rows in found.items()
    ]
    best = found[list(found)[-1]]
    held, whole = best["blurbs, held-out events"], best["titles, all"]
    said = [
        claim(held[2] >= 0.82, f"F1 of .82 on held-out blurbs ({held[2]:.3f})"),
        claim(held[0] >= 0.88, f"precision of .88 on held-out blurbs ({held[0]:.3f})"),
        claim(whole[2] >= 0.68, f"F1 of .68 on titles across languages ({whole[2]:.3f})"),
        claim(whole[3] >= 0.75, f"F1 of .75 on titles within languages ({whole[3]:.3f})"),
    ]
    if options.output is not None:
        io.save(linker, options.output)
    lines = ["# The linker", "", *said, ""]
    for table in tables:
        table.show()
        lines += [f"## {table.title}", "", *table.markdown(), ""]
    return write_report(own_folder(options.folder, "event_linker"), [*lines, *reading(__doc__, 3)], found)


if __name__ == "__main__":
    main()
