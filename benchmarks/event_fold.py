"""The fold of the event stream alone: articles that are annotated already, made up, straight to events.

    python -m benchmarks event_fold
    python -m benchmarks.event_fold [--windows A,B,...] [--articles N] [--latent D] [--parts N] [--progress]

Everything that runs in the one process that folds is measured: duplicates, weights of terms, clusters,
neighbours and profiles, events. Words are not looked at: numbers of terms, entities, keywords, places, dates
and numbers are drawn at random, of the sizes that real articles have, and their making is not measured.

The news is that of :class:`MadeNews`: many small stories that end, words of Zipf's law, names that unrelated
stories share, five languages. A window is ten days. Times are CPU of the last tenth of the articles, when
the window is full and old clusters expire as fast as new ones begin.
"""

from __future__ import annotations

import argparse
import heapq
import json
import time
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.event_stream import LANGUAGES, resident_mb
from benchmarks.events_end_to_end import Stages, found_f1
from benchmarks.harness import Result, compare
from isogloss.events import Article, EventStream
from isogloss.events.cluster import N_TERMS, Terms
from isogloss.events.link import UnweightedProfile
from isogloss.kernels import count_terms

START = datetime(2031, 1, 1, tzinfo=UTC)
WINDOW_DAYS = 10.0
WORDS, NAMES, MEANINGS, PLACES = 20_000, 20_000, 2_000, 2_000
EVEN = 30
"""How many of the most frequent meanings are about equally frequent."""

GRAMS = 10
"""Terms of a word at most: the word, and sequences of four letters."""

TITLE, BODY, LEAD = 8, 180, 55
"""Words of a title, of a body, and of the part of it in which names are looked for."""

OWN = 0.35
"""The part of a body that is words of its story. Clusters have 2.6 articles then, and 12 likely links; those
of the titles of ``experiments.event_end_to_end``, which are all about the same games, have 3.5 and 6."""

MEAN_SIZE = 9.7
"""Articles of a story, in all languages; most have fewer."""

WINDOW = 4_000
PART = 1_024
Counted = tuple[NDArray[np.int32], NDArray[np.float64]]


class Made(NamedTuple):
    """What is known of an article before the fold; see :class:`isogloss.events.analyse.AnalysedArticle`."""

    fingerprint: NDArray[np.uint32]
    terms: Terms
    profile: UnweightedProfile
    latent: NDArray[np.float32] | None
    embedding: NDArray[np.float32] | None = None


class Story(NamedTuple):
    """What the articles of a story share."""

    number: int
    words: NDArray[np.int64]
    names: NDArray[np.int64]
    places: tuple[str, ...]
    meanings: NDArray[np.int64]
    figures: tuple[str, ...]
    point: NDArray[np.float64]


class MadeNews:
    """An endless stream of annotated articles about made-up stories.

    Parameters
    ----------
    window : int
        Articles of ten days.
    latent : int
        Dimensions of a common space of documents; 0 for none.
    seed : int
        Of the random numbers.
    """

    def __init__(self, window: int, latent: int = 0, seed: int = 11) -> None:
        self.rng = np.random.default_rng(seed)
        self.rate = window / WINDOW_DAYS
        self.latent = latent
        self.words, self.letters = _vocabularies(self.rng)
        self.names = _spelled(self.rng, NAMES, 3, 0)
        self.words_drawn, self.names_drawn = _zipf(WORDS), _zipf(NAMES)
        self.meanings_drawn, self.places_drawn = _zipf(MEANINGS, EVEN), _zipf(PLACES)
        self.due: list[tuple[float, int, str, Story]] = []
        self.stories = self.number = 0
        self.next_story = 0.0
        self.prints: list[NDArray[np.uint32]] = []

    def __iter__(self) -> Iterator[tuple[Article, Made, str]]:
        """Articles, what is known of each, and its story."""
        while True:
            while not self.due or self.next_story <= self.due[0][0]:
                self._begin()
            day, _, lang, story = heapq.heappop(self.due)
            yield *self._article(day, lang, story), str(story.number)

    def _begin(self) -> None:
        """A story begins: a few articles, seldom hundreds, within days, in some languages."""
        self.stories += 1
        story = self._story()
        chosen = self.rng.permutation(len(LANGUAGES))[: self.rng.integers(1, len(LANGUAGES) + 1)]
        n = 1 + int(min(400, self.rng.pareto(1.3) * 3.64))
        days = self.next_story + self.rng.exponential(0.7, n).clip(max=5)
        for day, where in zip(days.tolist(), self.rng.choice(chosen, n).tolist(), strict=True):
            self.number += 1
            heapq.heappush(self.due, (day, self.number, LANGUAGES[where], story))
        self.next_story += float(self.rng.exponential(MEAN_SIZE / self.rate))

    def _story(self) -> Story:
        common = self._drawn(self.names_drawn, 2)
        return Story(
            self.stories,
            (WORDS ** self.rng.uniform(0.45, 1.0, 30)).astype(np.int64) - 1,
            np.concatenate([common, self.rng.integers(NAMES, size=3)]),
            tuple(f"P{place}" for place in self._drawn(self.places_drawn, int(self.rng.integers(1, 4)))),
            self._drawn(self.meanings_drawn, 14),
            tuple(str(n) for n in self.rng.integers(2, 2000, 3)),
            self.rng.standard_normal(self.latent),
        )

    def _drawn(self, cumulative: NDArray[np.float64], size: int) -> NDArray[np.int64]:
        return np.searchsorted(cumulative, self.rng.random(size))

    def _article(self, day: float, lang: str, story: Story) -> tuple[Article, Made]:
        rng, when = self.rng, START + timedelta(days=day)
        name = f"{lang}-{rng.integers(1 << 60):x}"
        title, body = self._drawn(self.words_drawn, TITLE), self._drawn(self.words_drawn, BODY)
        body[rng.random(BODY) < 0.2] = rng.choice(story.words)
        own = rng.random(BODY) < OWN
        body[own] = rng.choice(story.words, int(own.sum()))
        title[: TITLE // 2] = rng.choice(story.words, TITLE // 2)
        named = rng.choice(story.names, 4)
        names = self.names[named]
        heads = names[:2].ravel()
        words, letters = self.words[lang], self.letters[lang]
        terms = Terms(
            _counted(np.concatenate([words[title].ravel(), heads + 1])),
            _counted(np.concatenate([words[body, 0], names[:, 0] + 1])),
        )
        lead = _counted(np.concatenate([letters[body[:LEAD]].ravel(), names.ravel()]))
        entities = {
            f"E{one}": weight for one, weight in zip(named.tolist(), (2.1, 1.7, 1.0, 1.0), strict=True)
        }
        for one in self._drawn(self.names_drawn, 4).tolist():
            entities.setdefault(f"E{one}", 1.0)
        meanings = np.unique(
            np.concatenate([rng.choice(story.meanings, 12), self._drawn(self.meanings_drawn, 8)])
        )
        keywords = {f"meaning:{one}": 1.0 for one in meanings.tolist()}
        shared = np.concatenate([7 * named + 1, 7 * meanings + 4]) * 40_503 % N_TERMS
        head = np.concatenate([letters[title].ravel(), heads, *(shared,) * 2])
        annotated = {
            "entities": entities,
            "keywords": keywords,
            "places": tuple(dict.fromkeys(story.places[: rng.integers(0, 4)])),
            "numbers": tuple(sorted(set(story.figures[: rng.integers(0, 4)]))),
            "dates": (when.date(),) if rng.random() < 0.5 else (),
        }
        sentence = f"{name}: what is told first of the story, in a sentence of the usual length of sentences."
        heading = f"{name}: a title of the usual length of titles, no more"
        article = Article(name, lang, heading, "", when)
        profile = UnweightedProfile(
            name,
            lang,
            heading,
            when.timestamp(),
            sentence,
            when.date(),
            Terms(_counted(head), lead),
            annotated,
        )
        return article, Made(self._fingerprint(), terms, profile, self._point(story))

    def _fingerprint(self) -> NDArray[np.uint32]:
        """A new one, or that of one of the last articles: three of a hundred are reprints."""
        if self.prints and self.rng.random() < 0.03:
            return self.prints[int(self.rng.integers(len(self.prints)))]
        found = self.rng.integers(1 << 32, size=60, dtype=np.uint32)
        self.prints = [*self.prints[-63:], found]
        return found

    def _point(self, story: Story) -> NDArray[np.float32] | None:
        if not self.latent:
            return None
        point = story.point + 0.5 * self.rng.standard_normal(self.latent)
        return (point / np.linalg.norm(point)).astype(np.float32)


def _zipf(n: int, even: int = 0) -> NDArray[np.float64]:
    chance = 1 / np.arange(even + 1, even + n + 1)
    found: NDArray[np.float64] = np.cumsum(chance / chance.sum())
    return found


def _vocabularies(rng: np.random.Generator) -> tuple[dict[str, Any], dict[str, Any]]:
    """The terms of each word of each language: as the clusterer and as linking count them."""
    words, letters = {}, {}
    for seed, lang in enumerate(LANGUAGES, 1):
        spelled = _spellings(rng, WORDS)
        words[lang], letters[lang] = _terms(spelled, 7919 * seed), _terms(spelled, 0)
    return words, letters


def _spelled(rng: np.random.Generator, n: int, syllables: int, seed: int) -> NDArray[np.int32]:
    return _terms(_spellings(rng, n, syllables), seed)


def _spellings(rng: np.random.Generator, n: int, longest: int = 4) -> list[str]:
    syllables = [a + b + c for a in "bdfgklmnprstvz" for b in "aeiou" for c in ("", "", "n", "r", "s", "l")]
    order = rng.permutation(len(syllables))
    drawn = order[np.searchsorted(_zipf(len(syllables)), rng.random((n, longest)))]
    lengths = rng.integers(1, longest + 1, n)
    return [
        "".join(syllables[s] for s in row[:k])
        for row, k in zip(drawn.tolist(), lengths.tolist(), strict=True)
    ]


def _terms(words: Iterable[str], seed: int) -> NDArray[np.int32]:
    """The terms of each word, the word itself first; the word again where there are fewer than most."""
    listed = list(words)
    out = np.empty((len(listed), GRAMS), dtype=np.int32)
    ids, counts = np.empty(64, dtype=np.int32), np.empty(64)
    for row, word in zip(out, listed, strict=True):
        own = count_terms(f" {word} ".encode(), seed, 7, 0, N_TERMS, ids, counts)
        row[:] = ids[0] if own else 0
        n = count_terms(f" {word} ".encode(), seed, 7, 4, N_TERMS, ids, counts)
        row[1 : min(n, GRAMS)] = ids[: min(n, GRAMS) - 1]
    return out


def _counted(ids: NDArray[np.int32]) -> Counted:
    found, counts = np.unique(ids % N_TERMS, return_counts=True)
    return found.astype(np.int32), counts.astype(np.float64)


class _Given:
    """Hands over articles with what is known of them."""

    def run(self, articles: Iterable[tuple[Article, Made]]) -> Iterable[tuple[Article, Made]]:
        return articles

    def close(self) -> None:
        """Nothing was started."""


def new_stream() -> EventStream:
    """A stream that takes articles together with what is known of them."""
    stream = EventStream(encoder=None)
    stream.analyser = _Given()  # type: ignore[assignment]
    return stream


def follow(stream: EventStream, news: Iterator[tuple[Article, Made, str]], n: int) -> dict[str, Any]:
    """Let some articles come; CPU milliseconds of one, and the BCubed F1 of the events of them.

    ``making`` is what an article took to make, with the same work for each: it tells how fast the machine is.
    """
    cpu, gold, making = 0.0, {}, 0.0
    for start in range(0, n, PART):
        before = time.process_time()
        made = list(islice(news, min(PART, n - start)))
        making += time.process_time() - before
        gold |= {article.id: story for article, _, story in made}
        before = time.process_time()
        stream.add((article, known) for article, known, _ in made)  # type: ignore[misc]
        cpu += time.process_time() - before
    return {
        "ms": round(1000 * cpu / n, 3),
        "making": round(1000 * making / n, 3),
        "f1": round(found_f1(stream, gold), 4),
    }


def measure(
    window: int, total: int, latent: int = 0, parts: int = 10, progress: bool = False
) -> dict[str, Any]:
    """Fill a window, go on to ``total`` articles, and tell of the last."""
    stream, news = new_stream(), iter(MadeNews(window, latent))
    last = min(total // 2, max(PART, min(10_000, window // 10)))
    steps, memory, stages = max(1, total // parts), [], Stages(stream)
    for start in range(0, total - last, steps):
        n = min(steps, total - last - start)
        measured = follow(stream, news, n)
        memory.append(round(resident_mb()))
        if progress:
            kept = len(stream.links.articles)
            print(
                json.dumps(
                    {
                        "articles": start + n,
                        "kept": kept,
                        **measured,
                        "stages": stages.per_article(n),
                        "mb": memory[-1],
                    }
                ),
                flush=True,
            )
    stages.per_article(1)
    measured = follow(stream, news, last)
    return {
        "window": window,
        "articles": total,
        **measured,
        "stages": stages.per_article(last),
        "clusters": len(stream.clusters.clusters),
        "kept": len(stream.links.articles),
        "events": len(stream.tracker.ids.members),
        "memory_mb": [*memory, round(resident_mb())],
    }


def main() -> Result:
    """Compare a window with one of an eighth of its size: the ratio is how the cost of an article grows."""
    runs = {window: partial(follow, new_stream(), iter(MadeNews(window))) for window in (WINDOW, WINDOW // 8)}
    for window, run in runs.items():
        run(window + window // 10)
    return compare(
        "event_fold",
        ours=lambda: runs[WINDOW](256),
        peer=lambda: runs[WINDOW // 8](256),
        peer_name=f"the same with a window of {WINDOW // 8:,}, articles made in both",
        accuracy=lambda measured: measured["ms"],
        repeats=5,
        details={"window": WINDOW, "accuracy": "CPU milliseconds of one article in the process that folds"},
    )


def by_windows(arguments: Sequence[str] | None = None) -> None:
    """Read the options and run."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--windows", default="3000,12500", help="articles of ten days, several by commas")
    parser.add_argument("--articles", type=int, help="in all; by default half more than the window")
    parser.add_argument("--parts", type=int, default=10, help="how often memory is looked at")
    parser.add_argument("--progress", action="store_true", help="a line for each part, too")
    parser.add_argument("--latent", type=int, default=0, help="dimensions of a common space of documents")
    options = parser.parse_args(arguments)
    for window in map(int, options.windows.split(",")):
        total = options.articles or window + window // 2
        print(json.dumps(measure(window, total, options.latent, options.parts, options.progress)), flush=True)


if __name__ == "__main__":
    by_windows()
