"""Watch feeds of every kind for some minutes; see whether anything stalls and whether their health is right.

    python tools/watch_feeds.py --folder watched --feeds 200 --minutes 3

The feeds are served by this process on this machine (``feed_site.py``): good, changing, growing, unchanged,
redirecting, slow, broken, huge, gone, busy, no feeds at all, and entity bombs. Their articles are stored as
``isogloss newsroom`` stores them. The last line is JSON; the code is 1 if something is not as it should be.
"""

import argparse
import json
import os
import sys
import threading
import time
from collections import Counter
from pathlib import Path

from feed_site import FAILING, FeedSite
from load_service import memory_of

from isogloss.feeds import ListedFeed
from isogloss.service.settings import FeedSettings, Settings
from isogloss.service.worker import FeedIngest, FeedThread
from isogloss.store import Store

FETCH_SECONDS = 5.0
INTERVAL_SECONDS = 20.0


def main():
    """Do what the command line asks."""
    options = parse()
    options.folder.mkdir(parents=True, exist_ok=True)
    place = options.folder / "feeds.db"
    if place.exists():
        sys.exit(f"{place} is there already; name another folder, or take it away")
    with FeedSite(options.feeds) as site, Store(place) as store:
        report = watch(site, store, options.minutes * 60)
    print(json.dumps(report))
    return int(bool(report["problems"]))


def parse():
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--folder", type=Path, required=True, help="folder of the store")
    parser.add_argument("--feeds", type=int, default=200, help="number of feeds")
    parser.add_argument("--minutes", type=float, default=3.0, help="minutes to watch them")
    return parser.parse_args()


def watch(site, store, seconds):
    """Watch the feeds of a site; return what was seen and what is wrong."""
    kinds = site.feeds()
    settings = Settings(
        feeds=FeedSettings(
            minutes=INTERVAL_SECONDS / 60,
            fetch_seconds=FETCH_SECONDS,
            fetch_bytes=1 << 20,
            host_pause_seconds=0.1,
        )
    )
    ingest = FeedIngest(store, settings, [ListedFeed(url) for url in kinds], private=True)
    visits, lock = Counter(), threading.Lock()

    def visited(visit):
        with lock:
            visits[visit.url] += 1

    thread = FeedThread(ingest, visited)
    before, began = memory_of(os.getpid()), time.monotonic()
    thread.start()
    time.sleep(seconds)
    alive = thread.alive
    stopping = time.monotonic()
    thread.stop()
    stopped = time.monotonic()
    health = {each.url: each for each in store.feed_health()}
    problems = [] if alive else ["the watcher died"]
    for url, kind in kinds.items():
        status = "failing" if kind in FAILING else "ok"
        if health[url].status != status:
            problems.append(f"{kind}: {url} is {health[url].status}: {health[url].error}")
    problems += [f"{host}: {most} requests at the same time" for host, most in site.most.items() if most > 1]
    counts = Counter()
    for url, kind in kinds.items():
        counts[kind] += visits[url]
    return {
        "feeds": len(kinds),
        "seconds": round(stopping - began, 1),
        "stopped_in": round(stopped - stopping, 2),
        "visits": dict(counts),
        "requests": site.requests.total(),
        "articles": store.counts()["article"],
        "revisions": store.counts()["revision"],
        "memory_mb": round(memory_of(os.getpid()) - before, 1),
        "problems": problems[:20],
    }


if __name__ == "__main__":
    sys.exit(main())
