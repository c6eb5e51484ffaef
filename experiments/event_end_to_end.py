"""Clustering and linking end to end: labelled titles in nine languages, and press items with their bodies.

    python -m experiments.event_end_to_end [folder] [--data FOLDER] [--quick] [--seed N]

The stream is read once in the order of time with the library's defaults and the linker that comes with it,
which has seen none of these articles: it is trained on the sample news of isogloss. Events are brought up to
date after every 100 articles. Settings were chosen by the first 60 % of the titles in time; the rest is
reported beside them, and its figures were in sight while settings were chosen.

* *unlinked*: every cluster of one language is an event of its own. *Oracle links*: clusters are joined by the
  story that most of their articles tell, which no linking can do better on these clusters.
* Scores are BCubed F1 of all articles of a part; *monolingual* is the mean over languages of the score of
  each language alone, of clusters and of events.
* The press items are told in up to five languages. Each is read with its body and without; bodies must help.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from experiments._report import Table, claim, options_parser, own_folder, reading, timed, write_report
from experiments.event_data import Titles, events_folder, olympic_titles, press_items
from isogloss.events.training import bcubed, find_clusters, find_events, monolingual

DEVELOPMENT = 0.6
LANGUAGES = ("de", "en", "es", "fr", "it", "nl")
HEADER = ("", "precision", "recall", "F1", "monolingual F1")


class Part(NamedTuple):
    """Some of the articles: their languages, true stories, clusters and events."""

    languages: Sequence[str]
    stories: Sequence[str]
    clusters: Sequence[int]
    events: Sequence[int]

    def cut(self, start: int, stop: int) -> Part:
        """A stretch of it."""
        return Part(*(column[start:stop] for column in self))

    @property
    def oracle(self) -> list[str]:
        """For each article the story of most articles of its cluster."""
        counts: dict[int, Counter[str]] = {}
        for cluster, story in zip(self.clusters, self.stories, strict=True):
            counts.setdefault(cluster, Counter())[story] += 1
        best = {one: min(found, key=lambda s: (-found[s], s)) for one, found in counts.items()}
        return [best[cluster] for cluster in self.clusters]


def solve(titles: Titles) -> Part:
    """Clusters and events of a stream."""
    articles, stories = titles
    events, clusters = find_events(articles), find_clusters(articles)
    return Part(
        [article.lang for article in articles],
        stories,
        [clusters[article.id] for article in articles],
        [events[article.id] for article in articles],
    )


def rows(part: Part) -> dict[str, list[float]]:
    """Scores of clusters, of events, and with oracle links."""
    out = {}
    for name, found in (("unlinked", part.clusters), ("events", part.events), ("oracle links", part.oracle)):
        own = monolingual(part.stories, found, part.languages).macro.f1
        out[name] = [*bcubed(part.stories, found), own]
    return out


def as_table(title: str, found: dict[str, list[float]]) -> Table:
    """Scores to print."""
    return Table(title, HEADER, [[name, *(f"{value:.3f}" for value in row)] for name, row in found.items()])


def main(arguments: list[str] | None = None) -> Path:
    """Read the streams, score them, and write the report."""
    parser = options_parser(__doc__)
    parser.add_argument("--data", type=Path, help="the folder of the shared data")
    options = parser.parse_args(arguments)
    folder = events_folder(options.data)
    titles, press = olympic_titles(folder), press_items(folder, LANGUAGES)
    if options.quick:
        titles, press = (Titles(one.articles[:300], one.stories[:300]) for one in (titles, press))
    part = timed("titles", lambda: solve(titles))
    n = len(part.stories)
    cut = round(DEVELOPMENT * n)
    bare = Titles([replace(article, body="") for article in press.articles], press.stories)
    full, short = timed("press items", lambda: (solve(press), solve(bare)))
    found = {
        "titles, first 60 % (settings chosen here)": rows(part.cut(0, cut)),
        "titles, the rest": rows(part.cut(cut, n)),
        "titles, all": rows(part),
        "press items with bodies": rows(full),
        "press items, titles alone": rows(short),
    }
    tables = [as_table(title, scores) for title, scores in found.items()]
    for table in tables:
        table.show()
    rest = found["titles, the rest"]
    with_bodies, without = (found[name]["events"][2] for name in list(found)[3:])
    verdicts = [
        claim(rest["unlinked"][3] >= 0.72, f"monolingual F1 of .72 on the rest ({rest['unlinked'][3]:.3f})"),
        claim(rest["events"][2] >= 0.66, f"cross-lingual F1 of .66 on the rest ({rest['events'][2]:.3f})"),
        claim(with_bodies > without, f"bodies help: {without:.3f} to {with_bodies:.3f}"),
    ]
    lines = ["# Events end to end", "", *verdicts, ""]
    for table in tables:
        lines += [f"## {table.title}", "", *table.markdown(), ""]
    return write_report(own_folder(options.folder, "event_end_to_end"), [*lines, *reading(__doc__, 3)], found)


if __name__ == "__main__":
    main()
