"""Send very many articles through a store that prunes old stories, and see whether memory stays as it is.

    python tools/endurance.py --folder endurance --articles 1000000

Articles are made up, come day by day in a time of their own, and are kept in SQLite, made into events and
pruned by the parts that the service is made of, all in one process; with --jobs, others look at their
words. Memory is that of the process, looked at after every twentieth of the articles. The last line is JSON;
the code is 1 if the second half took more memory than is allowed.
"""

import argparse
import json
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

from load_news import News
from load_service import make_model, memory_of
from rich.console import Console
from rich.progress import Progress

from isogloss import io
from isogloss.events import freeze_gc, parse_article
from isogloss.service.settings import Settings, StoreSettings, StreamSettings
from isogloss.service.worker import JournalProcessor, Retention, StreamFactory
from isogloss.store import Store
from isogloss.threads import bound_process

BEGIN = datetime(2025, 1, 1, tzinfo=UTC)
PART = 250
LOOKS = 20
ALLOWED = 10.0
"""Megabytes that the second half may take."""


def main():
    """Do what the command line asks."""
    options = parse()
    bound_process()
    options.folder.mkdir(parents=True, exist_ok=True)
    place = options.folder / "endurance.db"
    if place.exists():
        sys.exit(f"{place} is there already; name another folder, or take it away")
    looks = measure(options, place)
    growth = looks[-1]["mb"] - looks[len(looks) // 2 - 1]["mb"]
    print(json.dumps({"looks": looks, "second_half_mb": round(growth, 1), "allowed_mb": ALLOWED}))
    return int(growth > ALLOWED)


def parse():
    """The options."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--folder", type=Path, default=Path("endurance"), help="where the store is made")
    parser.add_argument("--articles", type=int, default=1_000_000)
    parser.add_argument("--per-day", type=int, default=10_000, help="articles of a day of the made-up time")
    parser.add_argument("--window-days", type=float, default=2.0, help="stream.window_days")
    parser.add_argument("--keep-days", type=int, default=4, help="store.keep_days")
    parser.add_argument("--jobs", type=int, default=2, help="worker.jobs")
    parser.add_argument("--seed", type=int, default=1)
    return parser.parse_args()


def measure(options, place):
    """Memory after every so many articles."""
    settings = Settings(
        store=StoreSettings(keep_days=options.keep_days, prune_without_asking=True),
        stream=StreamSettings(window_days=options.window_days, encoder=False),
    )
    model = options.folder / "similarity.isogloss"
    make_model(model)
    news, looks, every = News(options.seed), [], max(PART, options.articles // LOOKS // PART * PART)
    freeze_gc()
    with Store(place) as store, Progress(console=Console(stderr=True)) as progress:
        processor = JournalProcessor(
            store, StreamFactory(settings.stream, io.load(model), n_jobs=options.jobs)
        )
        retention = Retention(store, settings, clock=lambda: moment(options, count))
        task = progress.add_task("articles", total=options.articles)
        with processor.stream:
            for count in range(PART, options.articles + 1, PART):
                moments = (moment(options, n) for n in range(count - PART, count))
                articles = [parse_article(news.article(each), check_language=False) for each in moments]
                store.add(articles, now=moment(options, count))
                processor.process()
                if retention.due:
                    retention.run()
                progress.advance(task, PART)
                if count % every == 0:
                    looks.append(look(store, place, count, retention))
                    print(json.dumps(looks[-1]), file=sys.stderr)
    return looks


def moment(options, number):
    """When an article is from."""
    return BEGIN + timedelta(days=number / options.per_day)


def look(store, place, count, retention):
    """How large everything is."""
    counts = store.counts()
    return {
        "articles": count,
        "mb": round(memory_of("self"), 1),
        "stored": counts["article"],
        "events": counts["event"],
        "pruned": retention.pruned,
        "file_mb": round(place.stat().st_size / 2**20, 1),
    }


if __name__ == "__main__":
    sys.exit(main())
