"""Events in two or more languages, drawn at random from the first part of the labelled titles, to be read.

    python -m experiments.event_reading [--data FOLDER] [--events N] [--seed N]

The first 60 % of the titles in time are read alone with the library's defaults. Of each event at most nine
titles are shown, with their labels; *partly* and *wrong* are for the reader to say.
"""

from __future__ import annotations

import argparse
import random
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

from experiments.event_data import events_folder, olympic_titles
from isogloss.events.training import find_events

DEVELOPMENT, SHOWN = 0.6, 9


def main(arguments: Sequence[str] | None = None) -> None:
    """Draw events and show their titles."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", type=Path, help="the folder of the shared data")
    parser.add_argument("--events", type=int, default=25, help="events to draw")
    parser.add_argument("--seed", type=int, default=0, help="of the drawing")
    options = parser.parse_args(arguments)
    articles, stories = olympic_titles(events_folder(options.data))
    n = round(DEVELOPMENT * len(articles))
    found, members = find_events(articles[:n]), defaultdict(list)
    for article, story in zip(articles[:n], stories[:n], strict=True):
        members[found[article.id]].append((article, story))
    linked = sorted(event for event, some in members.items() if len({one.lang for one, _ in some}) > 1)
    print(f"{len(linked)} events in two or more languages")
    for event in random.Random(options.seed).sample(linked, min(options.events, len(linked))):
        print(f"\nevent {event}: {len(members[event])} articles")
        for article, story in members[event][:SHOWN]:
            print(f"  {story:8} {article.lang} {article.time:%d %H:%M} {article.title}")


if __name__ == "__main__":
    main()
