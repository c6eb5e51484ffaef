"""The linker that comes with isogloss: training, and events on news that it was not trained on.

    python -m experiments.event_linker [folder] [--data FOLDER] [--output LINKER] [--quick]

Training pairs come from news whose licences allow the weights to be shipped: the sample news of isogloss,
press items of the FSFE (CC BY-SA 4.0) and blurbs of Wikipedia's "In the news" (CC BY-SA 3.0). So that the
linker learns what the density of a stream means, blurbs and press items are read again with their times
compressed, up to the density of a busy news agency. Press items have one text for each language by
construction, so pairs within a language are used only at their true density. A stream counts by its weight,
however many pairs it has.

The linker that is shipped learns from all events. For the scores, the events of every stream are divided into
two halves by their MD5 sums, and the articles of each half are scored in a stream of all, with a linker that
learned from the other half. Pairs between the halves, half of all negative ones, are left out then; so that
all three linkers expect as many links, a negative pair counts half where all events are used. The Olympic
titles are never trained on. The weights of the streams, the weight of ``alternatives`` and the rules of
agglomeration were chosen with the scores of all four streams and both halves in view.
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
    LabelledPairs,
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
    """Whether an event is of the second half."""
    return int(hashlib.md5(event.encode(), usedforsecurity=False).hexdigest(), 16) % 2 == 1


def held_out_rows(news: Titles, half: bool = True) -> list[int]:
    """Positions of the articles of the events of a half."""
    return [row for row, story in enumerate(news.stories) if held_out(story) == half]


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
        "blurbs": Stream(blurbs, 9000),
        "blurbs, 10 times as dense": Stream(compressed(blurbs, 10), 9000),
        "blurbs, 100 times as dense": Stream(compressed(blurbs, 100), 9000),
        "press items": Stream(press, 3000),
        "press items, titles": Stream(bare, 2000),
        "press items, 30 times as dense": Stream(compressed(press, 30), 2000, same_language=False),
        "press items, titles, 30 times as dense": Stream(compressed(bare, 30), 2000, same_language=False),
        "press items, 200 times as dense": Stream(compressed(press, 200), 2000, same_language=False),
    }


def pairs_of(stream: Stream, encoder: Encoder | None) -> LabelledPairs:
    """Labelled pairs of the clusters of a stream."""
    news = stream.news
    events = {article.id: story for article, story in zip(news.articles, news.stories, strict=True)}
    return labelled_pairs(news.articles, events, encoder=encoder, settings=LOOSE_CLUSTERS)


def train(pairs: dict[str, LabelledPairs], streams: dict[str, Stream], half: bool | None = None) -> Linker:
    """A linker trained on all events of all streams, or on one half of them."""
    parts = []
    for name, stream in streams.items():
        found = pairs[name]
        rows = np.array([half is None or held_out(a) == held_out(b) == half for a, b in found.events])
        if not stream.same_language:
            rows &= found.features[:, SAME_LANGUAGE] == 0
        labels = found.labels[rows]
        shares = np.where(labels == 1, 1.0, 0.5 if half is None else 1.0)
        weights = shares * (stream.weight / max(shares.sum(), 1.0))
        parts.append((found.columns(LINKER_FEATURES)[rows], labels, weights))
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


def scores_of_all(
    read: dict[str, Titles], linkers: dict[bool | None, Linker], encoder: Encoder | None
) -> dict[str, list[float]]:
    """Scores of each half by the linker of the other one, and of everything by that of all events."""
    found = {}
    for name, news in read.items():
        events = {half: events_of(news, linker, encoder) for half, linker in linkers.items()}
        for half, label in ((False, "first half"), (True, "second half")):
            found[f"{name}, {label}"] = scores(news, events[not half], held_out_rows(news, half))
        if name == "titles":
            cut = round(DEVELOPMENT * len(news.stories))
            found["titles, first 60 %"] = scores(news, events[None], range(cut))
            found["titles, the rest"] = scores(news, events[None], range(cut, len(news.stories)))
        found[f"{name}, all"] = scores(news, events[None], range(len(news.stories)))
    return found


def main(arguments: list[str] | None = None) -> Path:
    """Train, score, and write the report and, if asked for, the linker."""
    parser = options_parser(__doc__)
    parser.add_argument("--data", type=Path, help="the folder of the shared data")
    parser.add_argument("--output", type=Path, help="where to write the linker")
    options = parser.parse_args(arguments)
    folder, own = events_folder(options.data), sample_news()
    sample = Titles(list(own.articles), [own.events[article.id] for article in own.articles])
    news = {
        "blurbs": news_blurbs(folder),
        "titles": olympic_titles(folder),
        "press items": press_items(folder),
    }
    if options.quick:
        news = {name: Titles(one.articles[:300], one.stories[:300]) for name, one in news.items()}
    blurbs, press = news["blurbs"], news["press items"]
    streams, installed = training_streams(sample, blurbs, press), installed_encoder()
    encoder = None if installed is None else CachedEncoder(installed)
    pairs = timed("pairs", lambda: {name: pairs_of(stream, encoder) for name, stream in streams.items()})
    linkers = {half: train(pairs, streams, half) for half in (None, False, True)}
    read = news | {"sample news": sample}
    encoders = {"without the encoder": None} | ({"with the encoder": encoder} if encoder else {})
    found = {how: scores_of_all(read, linkers, using) for how, using in encoders.items()}
    tables = [
        Table(how, HEADER, [[name, *(f"{value:.3f}" for value in row)] for name, row in rows.items()])
        for how, rows in found.items()
    ]
    best = found[list(found)[-1]]
    held, whole = best["blurbs, second half"], best["titles, all"]
    summary = [
        claim(held[2] >= 0.82, f"F1 of .82 on held-out blurbs ({held[2]:.3f})"),
        claim(held[0] >= 0.88, f"precision of .88 on held-out blurbs ({held[0]:.3f})"),
        claim(whole[2] >= 0.68, f"F1 of .68 on titles across languages ({whole[2]:.3f})"),
        claim(whole[3] >= 0.75, f"F1 of .75 on titles within languages ({whole[3]:.3f})"),
    ]
    if options.output is not None:
        io.save(linkers[None], options.output)
    lines = ["# The linker", "", *summary, ""]
    for table in tables:
        table.show()
        lines += [f"## {table.title}", "", *table.markdown(), ""]
    return write_report(own_folder(options.folder, "event_linker"), [*lines, *reading(__doc__, 3)], found)


if __name__ == "__main__":
    main()
