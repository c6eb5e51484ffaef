"""The similarity of two articles: the line from the weighted channels to a probability, and how sure it is.

    python -m experiments.event_similarity [folder] [--data FOLDER] [--quick]

:class:`isogloss.events.ArticleSimilarity` weighs its channels with round numbers. Here the slope and the
constant of the log odds are fitted to pairs of articles whose licences allow it: the sample news of isogloss,
press items of the FSFE (CC BY-SA 4.0) and blurbs of Wikipedia's "In the news" (CC BY-SA 3.0), with bodies,
with the beginning of the body, and by titles alone. Half of the pairs are one story; of the others, half were
drawn at random, and half are the two most similar ones of 24. Latent points of the press items come from a
hub CCA of 400 other items, those of the other articles from that of the demo.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Callable
from dataclasses import replace
from math import isnan
from pathlib import Path
from typing import NamedTuple

import numpy as np
from sklearn.linear_model import LogisticRegression

from experiments._report import Table, options_parser, own_folder, reading, write_report
from experiments.event_data import Titles, events_folder, news_blurbs, press_items
from experiments.event_linker import titles_alone
from isogloss.corpora import InMemoryCorpus
from isogloss.events import ArticleSimilarity
from isogloss.events.comparison._similarity import CALIBRATIONS, WEIGHTS
from isogloss.events.ingest import sample_corpus, sample_news
from isogloss.similarity import HubSimilarity, TextModel
from isogloss.text import Tokeniser

LATENT_ITEMS = 400
LANGUAGES = ("en", "de", "nl", "it", "fr", "es", "el", "sq")
DRAWN = 25
"""Articles of other stories of which the most similar are pairs."""
KINDS = {"": "neither", "encoderCosSim": "encoder", "latentCosSim": "similarity model"}


class Pair(NamedTuple):
    """Similarities of a pair, whether it is one story, and whether it was drawn for its similarity."""

    channels: dict[str, float]
    same: bool
    similar: bool


def main(arguments: list[str] | None = None) -> Path:
    """Fit the lines, and write the report."""
    parser = options_parser(__doc__)
    parser.add_argument("--data", type=Path, help="the folder of the shared data")
    options = parser.parse_args(arguments)
    rng = random.Random(0)
    streams = {
        name: pairs_of(news, model, rng)
        for name, (news, model) in training_news(options.data, rng, quick=options.quick).items()
    }
    found, rows = {}, []
    for channel, kind in KINDS.items():
        weight = CALIBRATIONS[channel].weight
        known = {
            name: [pair for pair in pairs if not channel or not isnan(pair.channels[channel])]
            for name, pairs in streams.items()
        }
        score = scorer(WEIGHTS | ({channel: weight} if channel else {}))
        slope, constant, mean = fit_line(known, score)
        found[kind] = {"slope": slope, "constant": constant, "shipped": CALIBRATIONS[channel], **mean}
        rows.append(
            [
                kind,
                f"{slope:.2f} ({CALIBRATIONS[channel].slope})",
                f"{constant:.2f} ({CALIBRATIONS[channel].constant})",
                *(f"{one:.2f} / {two:.2f}" for one, two in mean.values()),
            ]
        )
    table = Table(
        "Line to the log odds, in brackets the shipped one, and mean probability of one story / of two",
        ("meaning by", "slope", "constant", *streams),
        rows,
    )
    table.show()
    lines = ["# Similarity of two articles: calibration", "", *table.markdown(), ""]
    return write_report(own_folder(options.folder, "event_similarity"), [*lines, *reading(__doc__, 3)], found)


def training_news(
    data: Path | None, rng: random.Random, *, quick: bool
) -> dict[str, tuple[Titles, TextModel]]:
    """The news to calibrate with, and the similarity model of each."""
    folder, own = events_folder(data), sample_news()
    sample = Titles(list(own.articles), [own.events[article.id] for article in own.articles])
    demo = HubSimilarity(60, random_state=0).fit(sample_corpus())
    press = press_items(folder)
    stories = sorted(set(press.stories))
    rng.shuffle(stories)
    learned = sorted(stories[:LATENT_ITEMS])
    texts: dict[str, dict[str, str]] = defaultdict(dict)
    for article, story in zip(press.articles, press.stories, strict=True):
        texts[story][article.lang] = article.text
    corpus = InMemoryCorpus(
        {lang: [texts[story].get(lang) for story in learned] for lang in LANGUAGES},
        {lang: Tokeniser(lang) for lang in LANGUAGES},
        ids=learned,
    )
    others, blurbs = _select(press, lambda story: story not in set(learned)), news_blurbs(folder)
    hub = HubSimilarity(60, random_state=0).fit(corpus)
    if quick:
        sample, blurbs, others = (
            Titles(one.articles[:80], one.stories[:80]) for one in (sample, blurbs, others)
        )
    return {
        "sample news": (_shortened(sample, rng), demo),
        "titles of sample news": (titles_alone(sample), demo),
        "blurbs": (_select(blurbs, lambda _: rng.random() < 0.6), demo),
        "press items": (_shortened(others, rng), hub),
        "titles of press items": (titles_alone(others), hub),
    }


def pairs_of(news: Titles, model: TextModel, rng: random.Random) -> list[Pair]:
    """Pairs of every article: up to three of its story, one of another at random, and two similar ones."""
    similarity = ArticleSimilarity(model=model)
    known = [similarity.represent(article) for article in news.articles]

    def pair(i: int, j: int, *, similar: bool = False) -> Pair:
        found = similarity.compare(known[i], known[j])
        return Pair(dict(found.channels), news.stories[i] == news.stories[j], similar)

    pairs = []
    for i, story in enumerate(news.stories):
        mates = [j for j, other in enumerate(news.stories) if other == story and j != i]
        cross = [j for j in mates if news.articles[j].lang != news.articles[i].lang]
        alike = [j for j in mates if news.articles[j].lang == news.articles[i].lang]
        pairs += [
            pair(i, j)
            for some, most in ((cross, 2), (alike, 1))
            for j in rng.sample(some, min(most, len(some)))
        ]
        drawn = rng.sample(range(len(known)), min(DRAWN, len(known)))
        others = [pair(i, j, similar=True) for j in drawn if news.stories[j] != story]
        pairs += [one._replace(similar=False) for one in others[:1]]
        score = scorer(WEIGHTS | {"encoderCosSim": 1.0})
        pairs += sorted(others[1:], key=lambda one: -score(one.channels))[:2]
    return pairs


def scorer(weights: dict[str, float]) -> Callable[[dict[str, float]], float]:
    """The weighted sum of the channels that are known."""
    return lambda channels: sum(
        weight * channels[name] for name, weight in weights.items() if not isnan(channels[name])
    )


def fit_line(
    streams: dict[str, list[Pair]], score: Callable[[dict[str, float]], float]
) -> tuple[float, float, dict[str, tuple[float, float]]]:
    """Slope and constant of the log odds, and the mean probabilities of each stream."""
    scores, same, weights = [], [], []
    for pairs in streams.values():
        counts = {kind: sum((one.same, one.similar) == kind for one in pairs) for kind in _SHARES}
        scores += [score(one.channels) for one in pairs]
        same += [one.same for one in pairs]
        weights += [_SHARES[one.same, one.similar] / counts[one.same, one.similar] for one in pairs]
    x = np.array(scores)[:, None]
    line = LogisticRegression(C=1e6).fit(x, same, sample_weight=1000.0 * np.array(weights))
    chance = iter(line.predict_proba(x)[:, 1].tolist())
    mean = {}
    for name, pairs in streams.items():
        own = [(one.same, next(chance)) for one in pairs]
        mean[name] = tuple(_mean([p for one, p in own if one is kind]) for kind in (True, False))
    return float(line.coef_[0, 0]), float(line.intercept_[0]), mean


def _mean(values: list[float]) -> float:
    return float(np.mean(values)) if values else float("nan")


_SHARES = {(True, False): 0.5, (False, False): 0.25, (False, True): 0.25}
"""Weight of pairs of one story, of random ones and of similar ones."""


def _select(news: Titles, wanted: Callable[[str], bool]) -> Titles:
    kept = [(a, s) for a, s in zip(news.articles, news.stories, strict=True) if wanted(s)]
    return Titles([article for article, _ in kept], [story for _, story in kept])


def _shortened(news: Titles, rng: random.Random) -> Titles:
    """News of which every second article has only the beginning of its body."""
    return Titles(
        [replace(one, body=one.body[:300]) if rng.random() < 0.5 else one for one in news.articles],
        news.stories,
    )


if __name__ == "__main__":
    main()
