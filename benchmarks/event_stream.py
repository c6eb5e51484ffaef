"""Clustering of a stream of news in five languages: milliseconds of CPU and memory as the window grows.

    python -m benchmarks event_stream
    python -m benchmarks.event_stream [--articles N] [--windows A,B,...] [--full]

Articles of 300 words are made up: words follow Zipf's law, and a share of them belongs to the story that the
article tells; stories begin all the time and differ in size. A window is ten days, so its articles set the
pace of the stream. The CPU seconds are those of clustering alone, over the last tenth of the articles, when
the window is full; the making of articles is not counted. ``--full`` runs one million articles at a window of
200,000 and shows memory as they come.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from itertools import islice

import numpy as np
import psutil
from numpy.typing import NDArray

from benchmarks.harness import Result, compare, cpu_seconds
from isogloss.events import Article
from isogloss.events.cluster import ClusterState, transition

LANGUAGES = ("en", "de", "es", "fr", "ru")
WORDS, LENGTH, TITLE, STORY_WORDS = 60_000, 300, 10, 40
START = datetime(2031, 1, 1, tzinfo=UTC)
WINDOW_DAYS = 10.0
WINDOW = 20_000
LIVING = 400
"""Stories of a language that are told at one time."""


class NewsMaker:
    """An endless stream of made-up news.

    Parameters
    ----------
    window : int
        Articles of ten days.
    seed : int
        Of the random numbers.
    """

    def __init__(self, window: int, seed: int = 7) -> None:
        self.rng = np.random.default_rng(seed)
        self.step = timedelta(days=WINDOW_DAYS / window)
        self.living = max(4, round(LIVING * window / 200_000))
        chance = 1 / np.arange(1, WORDS + 1)
        self.cumulative = np.cumsum(chance / chance.sum())
        self.words = {lang: self._vocabulary(lang) for lang in LANGUAGES}
        self.stories = {lang: [self._story() for _ in range(self.living)] for lang in LANGUAGES}
        self.number = 0

    def __iter__(self) -> Iterator[tuple[Article, str]]:
        """Articles, and the story of each."""
        while True:
            lang = LANGUAGES[self.number % len(LANGUAGES)]
            place = int(self.living * self.rng.random() ** 2)
            story = self.stories[lang][place]
            if self.rng.random() < 0.05:
                story = self.stories[lang][place] = self._story()
            yield self._article(lang, story), f"{lang} {story[0]}"

    def _article(self, lang: str, story: tuple[int, NDArray[np.int64]]) -> Article:
        self.number += 1
        body = np.searchsorted(self.cumulative, self.rng.random(LENGTH - TITLE))
        from_story = self.rng.random(len(body)) < 0.2
        body[from_story] = self.rng.choice(story[1], int(from_story.sum()))
        title = self.rng.choice(story[1][: STORY_WORDS // 2], TITLE)
        words = self.words[lang]
        texts = (" ".join(words[part].tolist()) for part in (title, body))
        return Article(str(self.number), lang, *texts, START + self.number * self.step)

    def _story(self) -> tuple[int, NDArray[np.int64]]:
        own = np.unique((WORDS ** self.rng.uniform(0.4, 1.0, STORY_WORDS)).astype(np.int64) - 1)
        return int(self.rng.integers(1 << 60)), self.rng.permutation(np.resize(own, STORY_WORDS))

    def _vocabulary(self, lang: str) -> NDArray[np.object_]:
        first = 0x430 if lang == "ru" else 0x61
        letters = [chr(first + i) for i in range(26)]
        lengths = self.rng.integers(3, 11, 2 * WORDS)
        drawn = self.rng.choice(letters, (2 * WORDS, 10))
        made = dict.fromkeys(
            "".join(row[:n]) for row, n in zip(drawn.tolist(), lengths.tolist(), strict=True)
        )
        return np.array(list(made)[:WORDS], dtype=object)


def run(state: ClusterState, articles: Sequence[Article]) -> float:
    """CPU milliseconds of one article, over some."""
    before = cpu_seconds()
    for article in articles:
        transition(state, article)
    return 1000 * (cpu_seconds() - before) / len(articles)


def resident_mb() -> float:
    """Memory of this process."""
    return float(psutil.Process().memory_info().rss) / 1e6


def measure(window: int, total: int, report_every: int) -> dict[str, object]:
    """Fill a window, then go on to ``total`` articles; the milliseconds are those of the last tenth."""
    state = ClusterState()
    news = (article for article, _ in NewsMaker(window))
    times, memory, done = [], [], 0
    while done < total:
        batch = list(islice(news, min(2_000, total - done)))
        times.append(run(state, batch))
        done += len(batch)
        if done % report_every < len(batch):
            memory.append((done, round(resident_mb())))
    last = times[-max(1, len(times) // 10) :]
    return {
        "window": window,
        "articles": done,
        "ms_per_article": round(float(np.mean(last)), 3),
        "clusters": len(state.clusters),
        "kept": len(state.members),
        "memory_mb": memory,
    }


def main() -> Result:
    """Compare a window with one of an eighth of its size: the ratio is how the cost of an article grows."""
    streams = {window: iter(NewsMaker(window)) for window in (WINDOW, WINDOW // 8)}
    states = {window: ClusterState() for window in streams}

    def go_on(window: int, n: int = 1_000) -> float:
        return run(states[window], [article for article, _ in islice(streams[window], n)])

    for window in streams:
        go_on(window, window + window // 10)
    return compare(
        "event_stream",
        ours=lambda: go_on(WINDOW),
        peer=lambda: go_on(WINDOW // 8),
        peer_name=f"the same with a window of {WINDOW // 8:,}, articles made in both",
        accuracy=float,
        repeats=5,
        details={"window": WINDOW, "accuracy": "CPU milliseconds of clustering one article"},
    )


def by_windows(arguments: Sequence[str] | None = None) -> None:
    """Read the options and run."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--windows", default="12500,25000,50000,100000,200000")
    parser.add_argument("--articles", type=int, help="in all; by default a tenth more than the window")
    parser.add_argument("--full", action="store_true", help="one million articles at a window of 200,000")
    options = parser.parse_args(arguments)
    windows = [200_000] if options.full else [int(window) for window in options.windows.split(",")]
    for window in windows:
        total = 1_000_000 if options.full else options.articles or window + window // 10
        print(json.dumps(measure(window, total, max(2_000, total // 10))), flush=True)


if __name__ == "__main__":
    by_windows()
