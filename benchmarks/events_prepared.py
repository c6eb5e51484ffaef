"""Articles that other processes prepared: what the process that makes events still has to do itself.

    python -m benchmarks events_prepared
    python -m benchmarks.events_prepared [--store PLACE] [--preparers 0,1,2] [--before] [--jobs N]

The articles are those of :mod:`benchmarks.events_end_to_end`, 300 words each in five languages. The store is
a file of SQLite in a folder of its own, or one of PostgreSQL (``postgresql://...``), which must be empty. Who
prepares is a process of ``isogloss work --prepare``; all are up before the articles come. With ``--before``
articles are prepared before events are made, as they are by hosts that are fast enough. Figures are articles
a second from the moment that all articles wait to the end, CPU milliseconds of an article in the process that
makes events, and who prepared how many.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

from benchmarks.events_end_to_end import WINDOW, WorldNews
from benchmarks.harness import Result, compare
from isogloss.events import Article
from isogloss.service.worker import Follower, PreparingWorker, StreamMaker
from isogloss.store import Store

FIRST = 24
"""Articles that come first, so that every process has read its tables."""


def articles(n: int) -> list[Article]:
    """News, each article with a key of its own."""
    return [replace(article, source="made") for article, _ in islice(WorldNews(WINDOW), n)]


@contextmanager
def preparing(place: str) -> Iterator[None]:
    """A process of ``isogloss work --prepare``."""
    command = [sys.executable, "-c", "from isogloss.cli import main; main()", "work", "--prepare"]
    with subprocess.Popen(
        [*command, "--store", place], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        try:
            while process.stdout is not None and "preparing" not in process.stdout.readline():
                time.sleep(0.01)
            yield
        finally:
            process.terminate()


def fold(place: str, preparers: int, jobs: int, n: int, *, before: bool = False) -> dict[str, Any]:
    """Make events of some articles while others prepare them, or after they did."""
    made = articles(FIRST * max(1, preparers) + n)
    first, rest = made[:-n], made[-n:]
    with Store(place) as store, ExitStack() as stack:
        for _ in range(preparers):
            stack.enter_context(preparing(place))
            store.add(first[:FIRST])
            first = first[FIRST:]
            _wait(store)
        follower = stack.enter_context(_follower(store, jobs))
        follower.catch_up()
        store.add(rest)
        if before:
            PreparingWorker(store, StreamMaker().preparer()).prepare()
        counts, wall, cpu = store.tallies(), time.perf_counter(), time.process_time()
        follower.follow()
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        after = store.tallies()
    return {
        "store": place.partition(":")[0] if "://" in place else "sqlite",
        "preparers": "before" if before else preparers,
        "jobs": jobs,
        "articles_per_second": round(n / wall),
        "ms_cpu_here": round(1000 * cpu / n, 3),
        **{name: count - counts.get(name, 0) for name, count in after.items()},
    }


@contextmanager
def _follower(store: Store, jobs: int) -> Iterator[Follower]:
    follower = Follower(store, StreamMaker(n_jobs=jobs))
    with follower.stream as stream:
        stream.analyser.start()
        yield follower


def _wait(store: Store) -> None:
    """Wait until all that waits is prepared."""
    while len(store.prepared(0, 1 << 40)) < store.counts()["article"]:
        time.sleep(0.05)


def main() -> Result:
    """Compare the CPU of a fold whose articles are prepared with that of one that does it all."""
    made = articles(1_000)

    def follow(folder: str, *, prepared: bool) -> float:
        with Store(Path(tempfile.mkdtemp(dir=folder), "news.db")) as store:
            store.add(made)
            if prepared:
                PreparingWorker(store, StreamMaker().preparer()).prepare()
            before = time.process_time()
            Follower(store, StreamMaker()).catch_up()
            return 1000 * (time.process_time() - before) / len(made)

    with tempfile.TemporaryDirectory() as folder:
        return compare(
            "events_prepared",
            ours=lambda: follow(folder, prepared=True),
            peer=lambda: follow(folder, prepared=False),
            peer_name="the same without help; the time of others is in ours",
            accuracy=lambda milliseconds: milliseconds,
            repeats=3,
            details={"accuracy": "CPU milliseconds of an article in the fold alone"},
        )


def by_preparers(arguments: Sequence[str] | None = None) -> None:
    """Read the options and run."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--store", help="postgresql://...; by default a new file of SQLite")
    parser.add_argument("--preparers", default="0,1,2", help="how many, several by commas")
    parser.add_argument("--jobs", type=int, default=1, help="processes of the worker itself")
    parser.add_argument("--before", action="store_true", help="prepare before events are made")
    parser.add_argument("--articles", type=int, default=4_000, help="in all")
    options = parser.parse_args(arguments)
    for preparers in map(int, options.preparers.split(",")):
        with tempfile.TemporaryDirectory() as folder:
            place = options.store or str(Path(folder, "news.db"))
            told = fold(place, preparers, options.jobs, options.articles, before=options.before)
            print(json.dumps(told), flush=True)


if __name__ == "__main__":
    by_preparers()
