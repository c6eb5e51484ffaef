"""News in five languages from articles to events: milliseconds by stage, articles a second, memory.

    python -m benchmarks events_end_to_end
    python -m benchmarks.events_end_to_end [--windows A,B,...] [--articles N] [--jobs N] [--dask N] [--model]
        [--encoder] [--full]

The articles are those of :mod:`benchmarks.event_stream`, 300 words each, but a story is told in all five
languages: words are those of the language, the names of its people are the same, in Russian in Cyrillic
letters. A window is ten days. Times are those of the last tenth of the articles, when the window is full,
the making of articles aside. Milliseconds by stage are CPU of the process that folds; those of an article
are CPU of all processes, and ``ms_cpu_here`` is the part of the process that folds. ``--full`` goes to a
window of 200,000 articles; ``--jobs`` analyses articles in a process pool, ``--dask`` on a Dask cluster that
is started on this machine; ``--articles`` beyond the window shows memory as it goes on, and ``--progress``
how fast each part of them was, without the measuring of stages, which costs a twentieth. The sentence
encoder is used only with ``--encoder``.
"""

from __future__ import annotations

import argparse
import json
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import partial
from itertools import islice
from typing import Any

import numpy as np
import psutil
from numpy.typing import NDArray

from benchmarks.event_stream import LANGUAGES, NewsMaker
from benchmarks.harness import Result, compare
from isogloss.events import Article, EventStream, infrequent_gc
from isogloss.events import stream as stream_module
from isogloss.events.ingest import sample_corpus
from isogloss.events.training import bcubed
from isogloss.similarity import LSISimilarity

WINDOW = 4_000
PART = 8_192
"""Articles that are made at a time, outside of what is measured."""

LAST = 1_024
"""Articles that are measured at least."""

NAMES, MENTIONS = 4, 12
SYLLABLES = ("ba", "do", "ka", "lin", "ma", "nor", "pe", "ri", "sta", "tu", "vel", "zo")
CYRILLIC = str.maketrans("abdeiklmnoprstuvz", "абдеиклмнопрстувз")


class WorldNews(NewsMaker):
    """An endless stream of stories, each told in all languages.

    Parameters
    ----------
    window : int
        Articles of ten days.
    seed : int
        Of the random numbers.
    """

    def __iter__(self) -> Iterator[tuple[Article, str]]:
        """Articles, and the story of each."""
        stories = self.stories[LANGUAGES[0]]
        while True:
            lang = LANGUAGES[self.number % len(LANGUAGES)]
            place = int(self.living * self.rng.random() ** 2)
            if self.rng.random() < 0.02:
                stories[place] = self._story()
            yield self._named(self._article(lang, stories[place]), stories[place]), str(stories[place][0])

    def _named(self, article: Article, story: tuple[int, NDArray[np.int64]]) -> Article:
        """The article with the names of its story, some in the title and more in the body."""
        names = _names(story[0], article.lang)
        title, body = article.title.split(), article.body.split()
        for text, count in ((title, 2), (body, MENTIONS)):
            for where in self.rng.integers(len(text), size=count).tolist():
                text[where] = names[int(self.rng.integers(NAMES))]
        return replace(article, title=" ".join(title).capitalize(), body=f"{' '.join(body)}.")


def _names(story: int, lang: str) -> list[str]:
    rng = np.random.default_rng(story)
    names = ["".join(rng.choice(SYLLABLES, 3)).capitalize() for _ in range(2 * NAMES)]
    pairs = [f"{one} {other}" for one, other in zip(names[::2], names[1::2], strict=True)]
    return [pair.lower().translate(CYRILLIC).title() for pair in pairs] if lang == "ru" else pairs


class Stages:
    """CPU seconds of the parts of a stream, which are wrapped for it.

    Parameters
    ----------
    stream : EventStream
        The stream; it does the same as before.
    """

    def __init__(self, stream: EventStream) -> None:
        self.seconds: dict[str, float] = defaultdict(float)
        for owner, name in (
            (stream.duplicates, "find"),
            (stream.annotator, "annotate"),
            (stream.profile_builder, "weigh"),
            (stream.links, "apply"),
            (stream.tracker, "update"),
        ):
            stage = f"{type(owner).__name__}.{name}"
            setattr(owner, name, self._timed(stage, getattr(owner, name)))
        stream_module.transition = self._timed("transition", stream_module.transition)

    def _timed(self, stage: str, work: Callable[..., Any]) -> Callable[..., Any]:
        def timed(*args: Any, **options: Any) -> Any:
            before = time.thread_time()
            try:
                return work(*args, **options)
            finally:
                self.seconds[stage] += time.thread_time() - before

        return timed

    def per_article(self, n: int) -> dict[str, float]:
        """Milliseconds of each stage, which are counted from zero again."""
        measured = {stage: round(1000 * seconds / n, 3) for stage, seconds in self.seconds.items()}
        self.seconds.clear()
        return measured


def resident_mb() -> float:
    """Memory of this process."""
    return float(psutil.Process().memory_info().rss) / 1e6


def all_cpu_seconds() -> float:
    """CPU of this process and of those that it started."""
    own = psutil.Process()
    times = [process.cpu_times() for process in (own, *own.children(recursive=True))]
    return float(sum(one.user + one.system for one in times))


def follow(stream: EventStream, news: Iterator[tuple[Article, str]], n: int) -> dict[str, float]:
    """Let some articles come, and give CPU milliseconds and the BCubed F1 of the events they are in."""
    cpu = here = wall = 0.0
    gold: dict[str, str] = {}
    for start in range(0, n, PART):
        pairs = list(islice(news, min(PART, n - start)))
        gold |= {article.id: story for article, story in pairs}
        before = all_cpu_seconds(), time.process_time(), time.perf_counter()
        stream.add([article for article, _ in pairs])
        cpu += all_cpu_seconds() - before[0]
        here += time.process_time() - before[1]
        wall += time.perf_counter() - before[2]
    return {
        "ms_cpu": round(1000 * cpu / n, 3),
        "ms_cpu_here": round(1000 * here / n, 3),
        "articles_per_second": round(n / wall),
        "f1": round(found_f1(stream, gold), 3),
    }


def found_f1(stream: EventStream, gold: dict[str, str]) -> float:
    """BCubed F1 of the events of those articles that are in one."""
    found = stream.assignment()
    known = [article for article in gold if article in found]
    return bcubed([gold[one] for one in known], [found[one] for one in known]).f1 if known else 0.0


def measure(window: int, total: int, stream: EventStream, progress: bool = False) -> dict[str, Any]:
    """Fill a window, go on to ``total`` articles, and tell of the last tenth."""
    news, last = iter(WorldNews(window)), max(LAST, window // 10)
    memory, step = [], max(1, total // 10)
    for start in range(0, total - last, step):
        stop = min(start + step, total - last)
        measured = follow(stream, news, stop - start)
        memory.append(round(resident_mb()))
        if progress:
            print(json.dumps({"articles": stop, **measured, "memory_mb": memory[-1]}), flush=True)
    stages = Stages(stream)
    measured = follow(stream, news, last)
    return {
        "window": window,
        "articles": total,
        **measured,
        "ms_cpu_by_stage": stages.per_article(last),
        "clusters": len(stream.clusters.clusters),
        "events": len(stream.tracker.ids.members),
        "memory_mb": [*memory, round(resident_mb())],
    }


def main() -> Result:
    """Compare a window with one of an eighth of its size: the ratio is how the cost of an article grows."""
    runs = {
        window: partial(follow, EventStream(encoder=None), iter(WorldNews(window)))
        for window in (WINDOW, WINDOW // 8)
    }
    for window, run in runs.items():
        run(window + window // 10)
    return compare(
        "events_end_to_end",
        ours=lambda: runs[WINDOW](256),
        peer=lambda: runs[WINDOW // 8](256),
        peer_name=f"the same with a window of {WINDOW // 8:,}, articles made in both",
        accuracy=lambda measured: measured["ms_cpu"],
        repeats=5,
        details={"window": WINDOW, "accuracy": "CPU milliseconds of one article, from text to event"},
    )


def by_windows(arguments: Sequence[str] | None = None) -> None:
    """Read the options and run."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--windows", default="1000,4000", help="articles of ten days, several by commas")
    parser.add_argument("--articles", type=int, help="in all; by default a fifth more than the window")
    parser.add_argument("--jobs", type=int, help="processes")
    parser.add_argument("--dask", type=int, default=0, help="worker processes of a Dask cluster")
    parser.add_argument("--model", action="store_true", help="with a common space of documents")
    parser.add_argument("--encoder", action="store_true", help="with sentence embeddings")
    parser.add_argument("--progress", action="store_true", help="a line for each part of the articles")
    parser.add_argument("--full", action="store_true", help="windows of 12,500, 50,000 and 200,000")
    options = parser.parse_args(arguments)
    model = LSISimilarity(100).fit(sample_corpus()) if options.model else None
    for window in map(int, ("12500,50000,200000" if options.full else options.windows).split(",")):
        with ExitStack() as stack:
            scheduler = stack.enter_context(dask_scheduler(options.dask)) if options.dask else ""
            stack.enter_context(infrequent_gc())
            stream = EventStream(
                model=model,
                encoder="auto" if options.encoder else None,
                n_jobs=options.jobs,
                scheduler=scheduler,
            )
            stack.enter_context(stream)
            stream.analyser.start()
            measured = measure(window, options.articles or window + window // 5, stream, options.progress)
        print(json.dumps({"jobs": options.jobs, "dask": options.dask, **measured}), flush=True)


@contextmanager
def dask_scheduler(n: int) -> Iterator[str]:
    """Start a Dask scheduler and ``n`` workers of one thread each, all in processes of their own."""
    from distributed import SubprocessCluster

    with SubprocessCluster(n_workers=n, threads_per_worker=1, dashboard_address=":0") as cluster:
        yield cluster.scheduler_address


if __name__ == "__main__":
    by_windows()
