"""What each kind of evidence is worth: events with one kind switched off at a time.

    python -m experiments.event_channels [folder] [--data FOLDER] [--quick]

The linker that comes with isogloss is used as it is; what is switched off is missing to it. Names, places and
news words are switched off in the vectors of texts as well. The last row is the similarity of texts, letters
and words, and time alone. Scores are BCubed F1 of all articles, and for blurbs of the held-out events of
:mod:`experiments.event_linker`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from unittest.mock import patch

from experiments._report import Table, options_parser, own_folder, reading, write_report
from experiments.event_data import Titles, events_folder, news_blurbs, olympic_titles, press_items
from experiments.event_linker import CachedEncoder, bcubed_of, held_out_rows
from isogloss.events import Article
from isogloss.events.annotate._annotator import Annotation, Annotator
from isogloss.events.ingest import sample_news
from isogloss.events.training import find_events
from isogloss.similarity import installed_encoder

NONE: frozenset[str] = frozenset()
TEXT_ONLY = frozenset({"encoder", "news words", "names", "places", "numbers", "dates"})
CHANNELS: dict[str, frozenset[str]] = {
    "everything": NONE,
    **{f"without {name}": frozenset({name}) for name in sorted(TEXT_ONLY)},
    "texts and time alone": TEXT_ONLY,
}


class PartialAnnotator(Annotator):
    """An annotator that leaves out some kinds of evidence."""

    def __init__(self, without: frozenset[str]) -> None:
        super().__init__()
        self.without = without

    def annotate(self, article: Article) -> Annotation:
        """The annotation of an article without these kinds."""
        found = super().annotate(article)
        entities = {
            name: weight
            for name, weight in found.entities.items()
            if not ("places" in self.without and name.startswith("geo:"))
            and not ("names" in self.without and name.startswith("name:"))
        }
        return replace(
            found,
            entities=entities,
            places=() if "places" in self.without else found.places,
            numbers=frozenset() if "numbers" in self.without else found.numbers,
            dates=frozenset() if "dates" in self.without else found.dates,
        )


@contextmanager
def news_words(*, known: bool) -> Iterator[None]:
    """Know news words, or none."""
    if known:
        yield
        return
    with patch("isogloss.events.link._profiles.news_concepts", lambda *_: Counter()):
        yield


def main(arguments: list[str] | None = None) -> Path:
    """Score every channel, and write the report."""
    parser = options_parser(__doc__)
    parser.add_argument("--data", type=Path, help="the folder of the shared data")
    options = parser.parse_args(arguments)
    folder, own = events_folder(options.data), sample_news()
    news = {
        "blurbs": news_blurbs(folder),
        "titles": olympic_titles(folder),
        "press items": press_items(folder),
        "sample news": Titles(list(own.articles), [own.events[article.id] for article in own.articles]),
    }
    if options.quick:
        news = {name: Titles(one.articles[:200], one.stories[:200]) for name, one in news.items()}
    installed = installed_encoder()
    encoder = None if installed is None else CachedEncoder(installed)
    rows = {}
    for channel, without in CHANNELS.items():
        with news_words(known="news words" not in without):
            rows[channel] = {
                name: _score(one, without, None if "encoder" in without else encoder, held=name == "blurbs")
                for name, one in news.items()
            }
    table = Table(
        "Channels switched off",
        ("", *news),
        [[channel, *(f"{score:.3f}" for score in found.values())] for channel, found in rows.items()],
    )
    table.show()
    lines = ["# What each channel is worth", "", *table.markdown(), ""]
    return write_report(own_folder(options.folder, "event_channels"), [*lines, *reading(__doc__, 3)], rows)


def _score(news: Titles, without: frozenset[str], encoder: CachedEncoder | None, *, held: bool) -> float:
    found = find_events(news.articles, annotator=PartialAnnotator(without), encoder=encoder)
    events = [found[article.id] for article in news.articles]
    rows = held_out_rows(news) if held else range(len(events))
    return bcubed_of(rows, news.stories, events).f1


if __name__ == "__main__":
    main()
