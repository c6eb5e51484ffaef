"""Events in two or more languages, drawn at random from blurbs and Olympic titles, to be read.

    python -m experiments.event_reading [--data FOLDER] [--events N] [--seed N] [--labels]

Both collections are read whole with the library's defaults. Of an event with more than 14 articles, 14 are
drawn at random. Whether an event is right, partly right or wrong is for the reader to say, before the labels
are shown.
"""

from __future__ import annotations

import argparse
import random
from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path

from experiments.event_data import Titles, events_folder, news_blurbs, olympic_titles
from isogloss.events.training import find_events

SHOWN = 14


def main(arguments: Sequence[str] | None = None) -> None:
    """Draw events and show their titles."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", type=Path, help="the folder of the shared data")
    parser.add_argument("--events", type=int, default=25, help="events to draw of each collection")
    parser.add_argument("--seed", type=int, default=22, help="of the drawing")
    parser.add_argument("--labels", action="store_true", help="show the stories of each event, too")
    options = parser.parse_args(arguments)
    folder = events_folder(options.data)
    for name, news in (("blurbs", news_blurbs(folder)), ("titles", olympic_titles(folder))):
        show(name, news, options.events, random.Random(options.seed), labels=options.labels)


def show(name: str, news: Titles, n: int, draw: random.Random, *, labels: bool) -> None:
    """Draw events of a collection and show them."""
    found, members = find_events(news.articles), defaultdict(list)
    for article, story in zip(news.articles, news.stories, strict=True):
        members[found[article.id]].append((article, story))
    linked = sorted(event for event, some in members.items() if len({one.lang for one, _ in some}) > 1)
    print(f"{name}: {len(linked)} events in two or more languages")
    for event in draw.sample(linked, min(n, len(linked))):
        some = members[event]
        print(f"\nevent {event}: {len(some)} articles")
        shown = some if len(some) <= SHOWN else draw.sample(some, SHOWN)
        for article, _ in sorted(shown, key=lambda one: (one[0].time, one[0].id)):
            print(f"  {article.lang} {article.time:%d %H:%M} {article.title}")
        if labels:
            print(f"  stories: {dict(Counter(story for _, story in some).most_common())}")


if __name__ == "__main__":
    main()
